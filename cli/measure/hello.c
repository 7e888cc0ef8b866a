/* The first line of a worker: its device and what sits in its process. */
#include "cli/measure/worker.h"

#include "cli/record/field_tables.h"

const struct field hello_fields[] = {
    FIELD("device", OBJECT, struct worker_hello, device, .fields = record_device_fields),
    FIELD("device_count", U32, struct worker_hello, device_count, .min = 1),
    FIELD_TEXT_OF("profiled", struct worker_hello, profiled),
    {0},
};

struct status hello_failure(const cJSON *root) {
  const cJSON *failed = json_get(root, "failed"), *code = json_get(failed, "code"), *text = json_get(failed, "text");
  if (!cJSON_IsNumber(code) || !cJSON_IsString(text)) return status_ok();
  const bool is_known = code->valuedouble > STATUS_OK && code->valuedouble < STATUS_COUNT;
  return status_make(is_known ? (enum status_code)code->valuedouble : STATUS_INTERNAL, "%s",
                     text->valuestring[0] != '\0' ? text->valuestring : "the worker failed without a reason");
}
