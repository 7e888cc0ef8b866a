/* Reads and validates a sweep file. */
#include "cli/sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/sweep/reading.h"

enum { SWEEP_FORMAT = 1 };

/* ---- texts --------------------------------------------------------------------------------------------------- */

static struct status read_format(const struct json_doc *doc) {
  const cJSON *item;
  uint64_t format;
  TRY(json_need(doc, doc->root, "attnbench_sweep", "add \"attnbench_sweep\": 1", &item));
  return json_whole(doc, item, SWEEP_FORMAT, SWEEP_FORMAT, &format);
}

static bool is_name(const char *text) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.=-";
  const size_t length = strlen(text);
  return length >= 1 && length <= SWEEP_NAME_MAX && strspn(text, allowed) == length;
}

static struct status read_name(const struct json_doc *doc, struct sweep *out) {
  const cJSON *item;
  TRY(json_need(doc, doc->root, "name", "add one, such as \"name\": \"mine\"", &item));
  if (!cJSON_IsString(item) || !is_name(item->valuestring))
    return json_refuse(doc, item, "give 1 to %d characters of A-Z a-z 0-9 _ . = -", SWEEP_NAME_MAX);
  snprintf(out->name, sizeof out->name, "%s", item->valuestring);
  return status_ok();
}

static bool is_one_line(const char *text) {
  for (; *text; ++text) {
    if ((unsigned char)*text < 0x20 || *text == 0x7f) return false;
  }
  return true;
}

static struct status read_about(const struct json_doc *doc, struct sweep *out) {
  const cJSON *item = json_get(doc->root, "about");
  if (!item) return status_ok();
  if (!cJSON_IsString(item)) return json_refuse(doc, item, "give a sentence in double quotes");
  const size_t length = strlen(item->valuestring);
  if (length > SWEEP_ABOUT_MAX)
    return json_error(doc, item, false, "has %zu bytes; shorten it to at most %d", length, SWEEP_ABOUT_MAX);
  if (!is_one_line(item->valuestring)) return json_error(doc, item, false, "holds a control character; remove it");
  snprintf(out->about, sizeof out->about, "%s", item->valuestring);
  return status_ok();
}

/* ---- variants ------------------------------------------------------------------------------------------------ */

static struct status read_variant(const struct json_doc *doc, const cJSON *item, struct sweep *out) {
  struct variant_spec *spec = &out->variants[out->variant_count];
  char problem[VARIANT_SPEC_PROBLEM_MAX];
  if (!cJSON_IsString(item)) return json_refuse(doc, item, "give a variant as a string, such as \"wmma\"");
  if (!variant_spec_read(item->valuestring, spec, problem)) return json_error(doc, item, false, "%s", problem);
  for (size_t i = 0; i < out->variant_count; ++i) {
    if (strcmp(out->variants[i].text, spec->text) != 0) continue;
    return json_error(doc, item, false, "is \"%s\", which variants[%zu] is already; remove one of the two",
                      spec->text, i);
  }
  ++out->variant_count;
  return status_ok();
}

static struct status read_variants(const struct json_doc *doc, struct sweep *out) {
  const cJSON *list = json_get(doc->root, "variants"), *item = NULL;
  if (!list) return status_ok();
  if (!cJSON_IsArray(list) || !list->child)
    return json_refuse(doc, list, "list at least one variant, or remove the key to run every one");
  TRY(owned_array(&out->variants, SWEEP_VARIANTS_MAX, sizeof *out->variants, "variants"));
  cJSON_ArrayForEach(item, list) {
    if (out->variant_count == SWEEP_VARIANTS_MAX)
      return json_error(doc, item, false, "is one variant too many; list at most %d", SWEEP_VARIANTS_MAX);
    TRY(read_variant(doc, item, out));
  }
  return status_ok();
}

/* ---- tuned ----------------------------------------------------------------------------------------------------- */

/* A string under this key of the entry. */
static struct status read_text_at(const struct json_doc *doc, const cJSON *entry, const char *key,
                                  const cJSON **out) {
  *out = json_get(entry, key);
  if (cJSON_IsString(*out)) return status_ok();
  return json_error(doc, *out != NULL ? *out : entry, false,
                    "needs \"case\", a case's key, and \"variant\", a variant with its tunables, both strings");
}

static struct attn_case *find_case(const struct sweep *sweep, const char *text) {
  struct attn_problem shape;
  char key[AXIS_KEY_MAX];
  if (!axes_key_read(text, &shape)) return NULL;
  axes_key(&shape, key);
  for (size_t i = 0; i < sweep->case_count; ++i) {
    if (strcmp(sweep->cases[i].key, key) == 0) return &sweep->cases[i];
  }
  return NULL;
}

static struct status read_tuning(const struct json_doc *doc, const cJSON *entry, struct sweep *out) {
  const cJSON *key, *variant;
  struct variant_spec spec;
  char problem[VARIANT_SPEC_PROBLEM_MAX];
  if (!cJSON_IsObject(entry))
    return json_error(doc, entry, false, "is not an object; write {\"case\": KEY, \"variant\": NAME:KEY=VALUE}");
  TRY(JSON_CHECK_KEYS(doc, entry, "case", "variant"));
  TRY(read_text_at(doc, entry, "case", &key));
  TRY(read_text_at(doc, entry, "variant", &variant));
  struct attn_case *tuned = find_case(out, key->valuestring);
  if (tuned == NULL) return json_error(doc, key, false, "is no case of this sweep; give the key of one of its cases");
  if (tuned->tuned[0] != '\0') return json_error(doc, key, false, "has an entry already; remove one of the two");
  if (!variant_spec_read(variant->valuestring, &spec, problem)) return json_error(doc, variant, false, "%s", problem);
  snprintf(tuned->tuned, sizeof tuned->tuned, "%s", spec.text);
  return status_ok();
}

static struct status read_tuned(const struct json_doc *doc, struct sweep *out) {
  const cJSON *list = json_get(doc->root, "tuned"), *entry = NULL;
  if (!list) return status_ok();
  if (!cJSON_IsArray(list) || !list->child)
    return json_error(doc, list, false, "is not an array with entries; list some, or remove the key");
  cJSON_ArrayForEach(entry, list) TRY(read_tuning(doc, entry, out));
  return status_ok();
}

/* ---- baseline ------------------------------------------------------------------------------------------------ */

/* An absent key leaves *out as it is. */
static struct status read_whole_at(const struct json_doc *doc, const cJSON *object, const char *key, uint64_t max,
                                   uint32_t *out) {
  const cJSON *item = json_get(object, key);
  uint64_t value = *out;
  if (item != NULL) TRY(json_whole(doc, item, 1, max, &value));
  *out = (uint32_t)value;
  return status_ok();
}

static bool baseline_matches(const struct sweep *sweep) {
  const struct sweep_baseline *wanted = &sweep->baseline;
  for (size_t i = 0; i < sweep->case_count; ++i) {
    const struct attn_problem *shape = &sweep->cases[i].shape;
    if ((!wanted->B || wanted->B == shape->B) && (!wanted->Hq || wanted->Hq == shape->Hq)) return true;
  }
  return false;
}

static struct status read_baseline(const struct json_doc *doc, struct sweep *out) {
  const cJSON *item = json_get(doc->root, "baseline");
  if (!item) return status_ok();
  if (!cJSON_IsObject(item) || !item->child)
    return json_error(doc, item, false, "is not an object with values; give it \"B\", \"H\" or both, or remove it");
  TRY(JSON_CHECK_KEYS(doc, item, "B", "H"));
  TRY(read_whole_at(doc, item, "B", ATTN_B_MAX, &out->baseline.B));
  TRY(read_whole_at(doc, item, "H", ATTN_H_MAX, &out->baseline.Hq));
  out->has_baseline = baseline_matches(out);
  if (out->has_baseline) return status_ok();
  return json_error(doc, item, false, "matches no case; give the \"B\" and \"H\" of a case in this sweep");
}

/* ---- only ------------------------------------------------------------------------------------------------------ */

static bool is_any_cell(const struct sweep *sweep, const char *glob) {
  for (size_t i = 0; i < sweep->case_count * sweep->variant_count; ++i) {
    const struct variant_spec *spec = &sweep->variants[i % sweep->variant_count];
    if (cell_name_matches(glob, sweep->cases[i / sweep->variant_count].key, spec->text)) return true;
  }
  return false;
}

static struct status read_only(const struct json_doc *doc, struct sweep *out) {
  const cJSON *list = json_get(doc->root, "only"), *item = NULL;
  if (list == NULL) return status_ok();
  if (!cJSON_IsArray(list) || list->child == NULL || out->variant_count == 0)
    return json_error(doc, list, false,
                      "is not an array of globs of KEY/VARIANT beside \"variants\"; give both, or remove it");
  cJSON_ArrayForEach(item, list) {
    if (out->only_count == SWEEP_ONLY_MAX)
      return json_error(doc, item, false, "is one too many; give at most %d", SWEEP_ONLY_MAX);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= CELL_GLOB_MAX || !is_any_cell(out, item->valuestring))
      return json_refuse(doc, item, "give a glob that matches a KEY/VARIANT of this sweep, such as \"*.D64.*/wmma\"");
    snprintf(out->only[out->only_count++], CELL_GLOB_MAX, "%s", item->valuestring);
  }
  return status_ok();
}

bool sweep_has_cell(const struct sweep *sweep, const char *key, const char *variant) {
  for (uint32_t i = 0; i < sweep->only_count; ++i) {
    if (cell_name_matches(sweep->only[i], key, variant)) return true;
  }
  return sweep->only_count == 0;
}

/* ---- the whole file ------------------------------------------------------------------------------------------ */

void sweep_hash_cases(struct sweep *sweep) {
  hash_bytes("", 0, sweep->hash);
  for (size_t i = 0; i < sweep->case_count; ++i) {
    char text[sizeof sweep->hash + AXIS_KEY_MAX];
    snprintf(text, sizeof text, "%s %s", sweep->hash, sweep->cases[i].key);
    hash_bytes(text, strlen(text), sweep->hash);
  }
}

/* A report or a manifest, whose keys would only be called unknown. */
static struct status refuse_other_files(const struct json_doc *doc) {
  const cJSON *schema = json_get(doc->root, "schema");
  if (json_get(doc->root, "attnbench_sweep") != NULL) return status_ok();
  if (cJSON_IsString(schema) && strncmp(schema->valuestring, "attnbench.", strlen("attnbench.")) == 0)
    return json_error(doc, doc->root, false, "is no sweep but a file of %s; attnbench report FILE shows a report",
                      json_quote(schema->valuestring).text);
  if (json_get(doc->root, "attnbench_kernel") != NULL)
    return json_error(doc, doc->root, false, "is no sweep but the manifest of a kernel; give it to --load");
  return status_ok();
}

static struct status read_document(const struct json_doc *doc, struct sweep *out) {
  if (!cJSON_IsObject(doc->root))
    return json_error(doc, doc->root, false, "is not an object; a sweep begins with {\"attnbench_sweep\": 1, ...");
  TRY(refuse_other_files(doc));
  TRY(JSON_CHECK_KEYS(doc, doc->root, "attnbench_sweep", "name", "about", "defaults", "shapes", "grid", "variants",
                      "only", "tuned", "baseline", "gate", "$schema"));
  TRY(read_format(doc));
  TRY(read_name(doc, out));
  TRY(read_about(doc, out));
  TRY(cases_read(doc, out));
  TRY(read_variants(doc, out));
  TRY(read_only(doc, out));     /* wants the cases and the variants */
  TRY(read_tuned(doc, out));    /* wants the cases */
  TRY(read_baseline(doc, out)); /* wants the cases */
  return gate_settings_read(doc, out);
}

struct status sweep_parse(const char *path, const char *text, size_t length, struct sweep *out) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  memset(out, 0, sizeof *out);
  if (length > JSON_FILE_BYTES_MAX)
    return status_make(STATUS_INPUT, "%s: has %zu bytes, more than the limit of %d; split it", path, length,
                       JSON_FILE_BYTES_MAX);
  TRY(json_parse(path, text, length, &doc));
  snprintf(out->path, sizeof out->path, "%s", path);
  hash_bytes(text, length, out->hash);
  const struct status status = read_document(&doc, out);
  if (status_failed(&status)) sweep_free(out);
  return status;
}

struct status sweep_load(const char *path, struct sweep *out) {
  OWNED(owned_free) char *text = NULL;
  size_t length = 0;
  memset(out, 0, sizeof *out);
  TRY(json_read_file(path, JSON_FILE_BYTES_MAX, &text, &length));
  return sweep_parse(path, text, length, out);
}

void sweep_free(struct sweep *sweep) {
  free(sweep->cases);
  free(sweep->variants);
  memset(sweep, 0, sizeof *sweep);
}
