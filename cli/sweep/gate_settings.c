/* The "gate" of a sweep: how much slower its cases may get. */
#include <stdio.h>
#include <string.h>

#include "cli/sweep/reading.h"

static struct status read_percent(const struct json_doc *doc, const cJSON *item, double *out) {
  *out = cJSON_IsNumber(item) ? item->valuedouble : 0;
  if (*out >= SWEEP_GATE_PERCENT_MIN && *out <= SWEEP_GATE_PERCENT_MAX) return status_ok();
  return json_refuse(doc, item, "give a number of percent from %g to %g", SWEEP_GATE_PERCENT_MIN,
                     SWEEP_GATE_PERCENT_MAX);
}

/* By one of the sweep's own variants, or of all when it names none: with default tunables, so that a glob with
 * tunables of its own is not looked at. */
static bool glob_matches(const struct sweep *sweep, const char *glob) {
  const size_t variants = sweep->variant_count > 0 ? sweep->variant_count : variant_count();
  if (sweep->variant_count == 0 && strchr(glob, ':') != NULL) return true;
  for (size_t i = 0; i < sweep->case_count * variants; ++i) {
    const char *variant =
        sweep->variant_count > 0 ? sweep->variants[i % variants].text : variant_at(i % variants)->name;
    if (cell_name_matches(glob, sweep->cases[i / variants].key, variant)) return true;
  }
  return false;
}

static struct status read_case(const struct json_doc *doc, const cJSON *item, struct sweep *out) {
  struct sweep_gate *gate = &out->gate;
  struct sweep_gate_case *to = &gate->cases[gate->case_count];
  if (gate->case_count == SWEEP_GATE_CASES_MAX)
    return json_error(doc, item, true, "is one too many; give at most %d", SWEEP_GATE_CASES_MAX);
  if (strlen(item->string) >= sizeof to->glob)
    return json_error(doc, item, true, "is longer than %zu bytes", sizeof to->glob - 1);
  for (uint32_t i = 0; i < gate->case_count; ++i) {
    if (strcmp(gate->cases[i].glob, item->string) == 0)
      return json_error(doc, item, true, "appears twice; remove one");
  }
  if (!glob_matches(out, item->string))
    return json_error(doc, item, true,
                      "matches no KEY/VARIANT of this sweep; give a glob such as \"*/wmma\" or \"B1.H8.*\"");
  snprintf(to->glob, sizeof to->glob, "%s", item->string);
  ++gate->case_count;
  return read_percent(doc, item, &to->threshold_percent);
}

static struct status read_cases(const struct json_doc *doc, const cJSON *object, struct sweep *out) {
  if (object == NULL) return status_ok();
  if (!cJSON_IsObject(object))
    return json_error(doc, object, false, "is not an object; give {\"GLOB\": percent, ...}, or remove it");
  for (const cJSON *item = object->child; item != NULL; item = item->next) TRY(read_case(doc, item, out));
  return status_ok();
}

struct status gate_settings_read(const struct json_doc *doc, struct sweep *out) {
  const cJSON *gate = json_get(doc->root, "gate"), *threshold = json_get(gate, "threshold_percent");
  if (gate == NULL) return status_ok();
  if (!cJSON_IsObject(gate) || gate->child == NULL)
    return json_error(doc, gate, false,
                      "is not an object with values; give it \"threshold_percent\", \"cases\" or both, or remove it");
  TRY(JSON_CHECK_KEYS(doc, gate, "threshold_percent", "cases"));
  if (threshold != NULL) TRY(read_percent(doc, threshold, &out->gate.threshold_percent));
  TRY(read_cases(doc, json_get(gate, "cases"), out));
  out->gate.known = true;
  return status_ok();
}
