/* The schemas in results/ list the words and the fields that the program writes: they must be the program's own, or a
 * report that is right is refused, and one that is wrong is not. The page of the format names every field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analyse/diagnose.h"
#include "cli/base/json.h"
#include "cli/gate/compare.h"
#include "cli/record/field_tables.h"
#include "tests/unit.h"

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
static const char *stop_word(uint32_t i) { return stats_stop_name(STATS_GO_ON + 1 + i); }

/* A profiler counts cold or hot launches. */
static const char *cache_word(uint32_t index) { return index <= TIME_HOT ? time_mode_name(index) : NULL; }

static const struct {
  const char *file, *definition, *property;
  const char *(*word)(uint32_t index); /* NULL past the last */
} enumerations[] = {
    {REPORT, "finding", "id", finding_word},
    {REPORT, "finding", "severity", severity_word},
    {REPORT, "scaling", "verdict", scaling_word},
    {REPORT, "shape", "dtype", dtype_word},
    {REPORT, "time", "stop", stop_word},
    {REPORT, "counters", "cache", cache_word},
    {REPORT, "result", "status", cell_status_name},
    {REPORT, "result", "math", record_math_name},
    {COMPARE, "side", "status", cell_status_name},
    {COMPARE, "row", "mode", time_mode_name},
    {COMPARE, "row", "verdict", verdict_at},
    {COMPARE, "suite", "verdict", verdict_at},
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
  if (cJSON_GetArraySize(list) != (int)words)
    fail_msg("%s: %s.%s lists %d words, the program has %u", enumerations[i].file, enumerations[i].definition,
             enumerations[i].property, cJSON_GetArraySize(list), (unsigned)words);
}

TEST(every_enumeration_is_the_programs) {
  for (size_t i = 0; i < sizeof enumerations / sizeof *enumerations; ++i) {
    struct json_doc doc;
    const struct status status = json_load(enumerations[i].file, JSON_FILE_BYTES_MAX, &doc);
    if (status_failed(&status)) fail_msg("%s", status.text);
    check(i, &doc);
    json_free(&doc);
  }
}

/* ---- fields -------------------------------------------------------------------------------------------------- */

#define PAGE "results/format.md"

/* Where the schema has the fields of each table. Some objects have derived fields too. */
static const struct {
  const char *path; /* from the schema's root */
  const struct field *fields;
} objects[] = {
    {"properties.tool", record_tool_fields},    {"properties.run", record_run_fields},
    {"properties.run", record_run_mode_fields}, {"properties.sweep", record_sweep_fields},
    {"$defs.device", record_device_fields},     {"$defs.result", record_fields},
};

struct places {
  struct json_doc schema;
  char *page;
  size_t count; /* fields that were looked at */
};

/* The schema of an object, behind what says that it may be null or in an array. */
static const cJSON *object_schema(const struct places *places, const cJSON *schema) {
  const cJSON *reference = json_get(schema, "$ref"), *choices = json_get(schema, "anyOf"), *choice;
  if (reference != NULL) {
    assert_memory_equal(reference->valuestring, "#/$defs/", strlen("#/$defs/"));
    return json_get(json_get(places->schema.root, "$defs"), strrchr(reference->valuestring, '/') + 1);
  }
  cJSON_ArrayForEach(choice, choices) {
    const cJSON *type = json_get(choice, "type");
    if (!cJSON_IsString(type) || strcmp(type->valuestring, "null") != 0) return object_schema(places, choice);
  }
  if (json_get(schema, "items") != NULL) return object_schema(places, json_get(schema, "items"));
  return schema;
}

static void check_field(struct places *places, const char *table, const cJSON *schema, const struct field *field);

static void check_fields(struct places *places, const char *table, const cJSON *schema, const struct field *fields) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    if (field->kind == FIELD_PART) {
      check_fields(places, table, schema, field->fields);
    } else if (field->kind != FIELD_GONE && !field->read_only) {
      check_field(places, table, schema, field);
    }
  }
}

static int count_rows(const struct field *fields) {
  int count = 0;
  for (const struct field *field = fields; field->key != NULL; ++field) {
    if (field->kind == FIELD_PART) count += count_rows(field->fields);
    count += field->kind != FIELD_PART && field->kind != FIELD_GONE && !field->read_only;
  }
  return count;
}

static bool takes_null(const cJSON *schema) {
  const cJSON *list = json_get(schema, "type"), *item;
  if (json_get(schema, "anyOf") != NULL) return true;
  cJSON_ArrayForEach(item, list) {
    if (strcmp(item->valuestring, "null") == 0) return true;
  }
  cJSON_ArrayForEach(item, json_get(schema, "enum")) {
    if (cJSON_IsNull(item)) return true;
  }
  return false;
}

/* Written as null when it is not known. */
static bool may_be_null(const struct field *field) {
  return field->kind == FIELD_INDEX || field->kind == FIELD_LABEL || field->kind == FIELD_NAME ||
         (field->known != NULL && !field->left_out) || field->null_reason != NULL;
}

static bool has_table(const struct field *field) {
  return field->kind == FIELD_OBJECT || field->kind == FIELD_OPTIONAL || field->kind == FIELD_ARRAY;
}

static void check_field(struct places *places, const char *table, const cJSON *schema, const struct field *field) {
  const cJSON *entry = json_get(json_get(schema, "properties"), field->key);
  char words[80], path[80];
  ++places->count;
  if (entry == NULL && json_get(schema, "patternProperties") != NULL && strstr(field->key, "_reason") != NULL) return;
  if (entry == NULL) fail_msg("%s: %s has no \"%s\"; add it", REPORT, table, field->key);
  if (may_be_null(field) && !takes_null(entry))
    fail_msg("%s: %s.%s is null where it is not known; say so", REPORT, table, field->key);
  if (field->kind == FIELD_HOOKED) return; /* an axis: unit_problem looks for it in shapes/README.md */
  snprintf(words, sizeof words, "`%s`", field->key);
  snprintf(path, sizeof path, ".%s`", field->key);
  if (strstr(places->page, words) == NULL && strstr(places->page, path) == NULL)
    fail_msg("%s does not say what `%s` of %s is", PAGE, field->key, table);
  if (!has_table(field)) return;
  const cJSON *object = object_schema(places, entry);
  check_fields(places, field->key, object, field->fields);
  const int properties = cJSON_GetArraySize(json_get(object, "properties"));
  if (!field->open && properties != count_rows(field->fields))
    fail_msg("%s: %s has %d properties, the program %d", REPORT, field->key, properties, count_rows(field->fields));
}

static const cJSON *at_path(const cJSON *object, const char *path) {
  char key[64];
  const size_t length = strcspn(path, ".");
  snprintf(key, sizeof key, "%.*s", (int)length, path);
  const cJSON *child = json_get(object, key);
  return path[length] == '.' ? at_path(child, path + length + 1) : child;
}

TEST(every_field_is_in_the_schema_and_on_the_page) {
  struct places places = {.count = 0};
  size_t length;
  assert_int_equal(json_load(REPORT, JSON_FILE_BYTES_MAX, &places.schema).code, STATUS_OK);
  assert_int_equal(json_read_file(PAGE, JSON_FILE_BYTES_MAX, &places.page, &length).code, STATUS_OK);
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) {
    const cJSON *schema = object_schema(&places, at_path(places.schema.root, objects[i].path));
    assert_non_null(schema);
    check_fields(&places, objects[i].path, schema, objects[i].fields);
  }
  assert_true(places.count > 150);
  json_free(&places.schema);
  free(places.page);
}

/* ---- what a table may not hold ------------------------------------------------------------------------------- */

/* A field that a file may lack needs a value that says so; 0 and false would pass for measured. */
static void check_absence(const char *table, const struct field *fields) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    const bool is_plain = field->kind == FIELD_U32 || field->kind == FIELD_U64 || field->kind == FIELD_ENUM ||
                          field->kind == FIELD_BITS;
    if (is_plain && field->optional) fail_msg("%s.%s is optional and would be read as 0", table, field->key);
    if (field->kind == FIELD_BOOL && field->optional) fail_msg("%s.%s would be read as false", table, field->key);
    if (field->kind == FIELD_PART || has_table(field)) check_absence(field->key, field->fields);
  }
}

TEST(what_may_be_absent_has_a_value_for_unknown) {
  check_absence("result", record_fields);
  check_absence("device", record_device_fields);
}
