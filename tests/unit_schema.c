/* The schemas in results/ list the words that the program writes: every enumeration must be the program's own, or a
 * report that is right is refused, and one that is wrong is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/analyse/diagnose.h"
#include "cli/base/json.h"
#include "cli/gate/compare.h"
#include "cli/record/field_tables.h"

#define REPORT  "results/report.schema.json"
#define COMPARE "results/compare.schema.json"

static const char *finding_word(uint32_t i) { return i < FINDING_ID_COUNT ? finding_name((enum finding_id)i) : NULL; }

static const char *severity_word(uint32_t i) {
  return i <= FINDING_SEVERE ? finding_severity_name((enum finding_severity)i) : NULL;
}

static const char *scaling_word(uint32_t i) {
  return i < SCALING_VERDICT_COUNT ? scaling_verdict_name((enum scaling_verdict)i) : NULL;
}

static const char *dtype_word(uint32_t i) {
  return i < ATTN_DTYPE_COUNT ? attn_dtype_name((enum attn_dtype)i) : NULL;
}

/* Sampling that goes on is in no report. */
static const char *stop_word(uint32_t i) { return record_stop_name(STATS_GO_ON + 1 + i); }

static const struct {
  const char *file, *definition, *property;
  const char *(*word)(uint32_t index); /* NULL past the last */
} enumerations[] = {
    {REPORT, "finding", "id", finding_word},
    {REPORT, "finding", "severity", severity_word},
    {REPORT, "scaling", "verdict", scaling_word},
    {REPORT, "shape", "dtype", dtype_word},
    {REPORT, "time", "stop", stop_word},
    {REPORT, "counters", "cache", record_mode_name},
    {REPORT, "result", "status", record_status_name},
    {REPORT, "result", "math", record_math_name},
    {COMPARE, "side", "status", record_status_name},
    {COMPARE, "row", "mode", record_mode_name},
    {COMPARE, "row", "verdict", verdict_at},
};

static bool has_word(const cJSON *list, const char *word) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (strcmp(item->valuestring, word) == 0) return true;
  }
  return false;
}

static void check(size_t i, const struct json_doc *doc) {
  const cJSON *definition = json_get(json_get(doc->root, "$defs"), enumerations[i].definition);
  const cJSON *list = json_get(json_get(json_get(definition, "properties"), enumerations[i].property), "enum");
  uint32_t words = 0;
  assert_non_null(list);
  for (; enumerations[i].word(words) != NULL; ++words) {
    if (has_word(list, enumerations[i].word(words))) continue;
    fail_msg("%s: %s.%s lacks \"%s\"", enumerations[i].file, enumerations[i].definition, enumerations[i].property,
             enumerations[i].word(words));
  }
  if (cJSON_GetArraySize(list) != (int)words) {
    fail_msg("%s: %s.%s lists %d words, the program has %u", enumerations[i].file, enumerations[i].definition,
             enumerations[i].property, cJSON_GetArraySize(list), (unsigned)words);
  }
}

static void every_enumeration_is_the_programs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof enumerations / sizeof *enumerations; ++i) {
    struct json_doc doc;
    const struct status status = json_load(enumerations[i].file, JSON_FILE_BYTES_MAX, &doc);
    if (status_failed(&status)) fail_msg("%s", status.text);
    check(i, &doc);
    json_free(&doc);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_enumeration_is_the_programs)};
  return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
