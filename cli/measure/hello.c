/* The first line of a worker: its device and what sits in its process. */
#include "cli/measure/worker.h"
#include "cli/record/field_tables.h"

struct hello_line {
  struct device_line device;
  uint32_t device_count;
  char profiled[PROFILED_TEXT_MAX];
};

static const struct field hello_fields[] = {
    FIELD("device", OBJECT, struct hello_line, device, .fields = record_device_fields),
    FIELD("device_count", U32, struct hello_line, device_count, .min = 1),
    FIELD_TEXT_OF("profiled", struct hello_line, profiled),
    {0},
};

char *hello_to_line(const struct worker_hello *hello) {
  struct hello_line line = {
      .device = {.info = hello->device, .policy = hello->policy, .event_overhead_us = hello->event_overhead_us},
      .device_count = hello->device_count};
  snprintf(line.profiled, sizeof line.profiled, "%s", hello->profiled);
  return fields_to_line(hello_fields, &line);
}

struct status hello_from_line(const char *text, size_t length, struct worker_hello *out) {
  struct hello_line line = {0};
  const struct status status = fields_from_line("worker", text, length, hello_fields, &line);
  *out = (struct worker_hello){.device = line.device.info,
                               .policy = line.device.policy,
                               .event_overhead_us = line.device.event_overhead_us,
                               .device_count = line.device_count};
  snprintf(out->profiled, sizeof out->profiled, "%s", line.profiled);
  return status;
}

struct status hello_failure(const cJSON *root) {
  const cJSON *failed = json_get(root, "failed"), *code = json_get(failed, "code"), *text = json_get(failed, "text");
  if (!cJSON_IsNumber(code) || !cJSON_IsString(text)) return status_ok();
  const bool is_known = code->valuedouble > STATUS_OK && code->valuedouble < STATUS_COUNT;
  return status_make(is_known ? (enum status_code)code->valuedouble : STATUS_INTERNAL, "%s",
                     text->valuestring[0] != '\0' ? text->valuestring : "the worker failed without a reason");
}
