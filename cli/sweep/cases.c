/* Expands the shapes and grids of a sweep file into its cases. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/reading.h"

/* ---- axes: the keys of a shape ------------------------------------------------------------------------------- */

/* In the order of expansion: the last one varies fastest. */
enum axis {
  AXIS_B,
  AXIS_H,
  AXIS_HQ,
  AXIS_HKV,
  AXIS_S,
  AXIS_SQ,
  AXIS_SKV,
  AXIS_D,
  AXIS_DTYPE,
  AXIS_CAUSAL,
  AXIS_LSE,
  AXIS_COUNT
};

static const char *const axis_keys[AXIS_COUNT + 1] = {
    [AXIS_B] = "B",         [AXIS_H] = "H",           [AXIS_HQ] = "Hq",   [AXIS_HKV] = "Hkv",
    [AXIS_S] = "S",         [AXIS_SQ] = "Sq",         [AXIS_SKV] = "Skv", [AXIS_D] = "D",
    [AXIS_DTYPE] = "dtype", [AXIS_CAUSAL] = "causal", [AXIS_LSE] = "lse",
};

/* Largest value of the axes that are whole numbers; 0 for the others. */
static const uint32_t axis_max[AXIS_COUNT] = {
    [AXIS_B] = SWEEP_B_MAX, [AXIS_H] = SWEEP_H_MAX,  [AXIS_HQ] = SWEEP_H_MAX,  [AXIS_HKV] = SWEEP_H_MAX,
    [AXIS_S] = SWEEP_S_MAX, [AXIS_SQ] = SWEEP_S_MAX, [AXIS_SKV] = SWEEP_S_MAX, [AXIS_D] = SWEEP_D_MAX,
};

static struct status check_value(const struct json_doc *doc, enum axis axis, const cJSON *item) {
  uint64_t value = 0;
  enum attn_dtype dtype;
  char shown[JSON_VALUE_TEXT_MAX];
  if (axis_max[axis] > 0) return json_whole(doc, item, 1, axis_max[axis], &value);
  json_describe(item, shown);
  if (axis == AXIS_CAUSAL || axis == AXIS_LSE) {
    return cJSON_IsBool(item) ? status_ok() : json_error(doc, item, false, "is %s; give true or false", shown);
  }
  if (cJSON_IsString(item) && case_key_read_dtype(item->valuestring, &dtype)) return status_ok();
  return json_error(doc, item, false, "is %s; give \"f16\", \"bf16\" or \"f32\"", shown);
}

/* ---- blocks: one entry of "shapes" or "grid", with the defaults merged in ------------------------------------ */

struct block {
  const cJSON *entry;
  const cJSON *first[AXIS_COUNT]; /* the axis's first or only value; NULL when it is not given */
  bool is_list[AXIS_COUNT];       /* the values after the first are its next siblings */
  size_t count;                   /* cases that it expands to; at most SWEEP_CASES_MAX */
};

static struct status too_many_cases(const struct json_doc *doc, const cJSON *entry) {
  return json_error(doc, entry, false, "brings the sweep above %d cases; give fewer values or split the sweep",
                    SWEEP_CASES_MAX);
}

static struct status read_list(const struct json_doc *doc, enum axis axis, const cJSON *list, struct block *block) {
  const cJSON *item = NULL;
  size_t values = 0;
  if (!list->child) return json_error(doc, list, false, "is an empty array; give at least one value");
  cJSON_ArrayForEach(item, list) {
    TRY(check_value(doc, axis, item));
    ++values;
  }
  /* Both factors are below 2^20 (a file has at most 1 MiB), so the product is exact. */
  if (block->count * values > SWEEP_CASES_MAX) return too_many_cases(doc, block->entry);
  block->count *= values;
  block->first[axis] = list->child;
  block->is_list[axis] = true;
  return status_ok();
}

static struct status read_axis(const struct json_doc *doc, enum axis axis, bool lists_allowed, struct block *block) {
  const cJSON *item = json_get(block->entry, axis_keys[axis]);
  if (!item) return status_ok();
  if (cJSON_IsArray(item) && lists_allowed) return read_list(doc, axis, item, block);
  if (cJSON_IsArray(item)) {
    return json_error(doc, item, false, "is an array; give one value (arrays belong in \"grid\")");
  }
  TRY(check_value(doc, axis, item));
  block->first[axis] = item;
  block->is_list[axis] = false;
  return status_ok();
}

/* H and S stand for a pair; one that both of the pair override would be read and mean nothing. */
static struct status check_pair(const struct json_doc *doc, const struct block *block, enum axis both) {
  const enum axis q = both + 1, kv = both + 2;
  const cJSON *item = json_get(block->entry, axis_keys[both]);
  if (!item || !block->first[q] || !block->first[kv]) return status_ok();
  return json_error(doc, item, true, "has no effect, because %s and %s are both given; remove one of the three",
                    axis_keys[q], axis_keys[kv]);
}

/* `defaults` may be NULL. */
static struct status read_block(const struct json_doc *doc, const cJSON *entry, bool lists_allowed,
                                const struct block *defaults, struct block *out) {
  if (defaults) *out = *defaults;
  if (!defaults) memset(out, 0, sizeof *out);
  out->entry = entry;
  out->count = 1;
  if (!cJSON_IsObject(entry)) {
    char shown[JSON_VALUE_TEXT_MAX];
    json_describe(entry, shown);
    return json_error(doc, entry, false, "is %s; give an object such as {\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}",
                      shown);
  }
  TRY(json_check_keys(doc, entry, axis_keys));
  for (unsigned i = 0; i < AXIS_COUNT; ++i) TRY(read_axis(doc, (enum axis)i, lists_allowed, out));
  TRY(check_pair(doc, out, AXIS_H));
  return check_pair(doc, out, AXIS_S);
}

/* Every axis needs a value, from itself or from the axis that stands for its pair; dtype, causal and lse have
 * defaults. */
static struct status check_complete(const struct json_doc *doc, const struct block *block) {
  static const struct {
    enum axis axis, instead, partner;
  } needed[] = {{AXIS_B, AXIS_B, AXIS_B},    {AXIS_HQ, AXIS_H, AXIS_HKV}, {AXIS_HKV, AXIS_H, AXIS_HQ},
                {AXIS_SQ, AXIS_S, AXIS_SKV}, {AXIS_SKV, AXIS_S, AXIS_SQ}, {AXIS_D, AXIS_D, AXIS_D}};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; ++i) {
    const enum axis axis = needed[i].axis, instead = needed[i].instead;
    if (block->first[axis] || block->first[instead]) continue;
    const char *key = axis_keys[block->first[needed[i].partner] ? axis : instead];
    return json_error(doc, block->entry, false, "has no \"%s\"; add it there or in \"defaults\"", key);
  }
  return status_ok();
}

/* ---- expansion ----------------------------------------------------------------------------------------------- */

struct expansion {
  const struct json_doc *doc;
  struct sweep *sweep;
  const cJSON **source; /* the entry that each case comes from */
  struct block defaults;
};

static uint32_t whole_at(const cJSON *const at[AXIS_COUNT], enum axis axis, enum axis instead) {
  return (uint32_t)(at[axis] ? at[axis] : at[instead])->valuedouble;
}

static struct attn_shape shape_at(const cJSON *const at[AXIS_COUNT]) {
  struct attn_shape shape = {
      .B = whole_at(at, AXIS_B, AXIS_B),
      .Hq = whole_at(at, AXIS_HQ, AXIS_H),
      .Hkv = whole_at(at, AXIS_HKV, AXIS_H),
      .Sq = whole_at(at, AXIS_SQ, AXIS_S),
      .Skv = whole_at(at, AXIS_SKV, AXIS_S),
      .D = whole_at(at, AXIS_D, AXIS_D),
      .dtype = ATTN_F16,
      .causal = at[AXIS_CAUSAL] && cJSON_IsTrue(at[AXIS_CAUSAL]),
      .lse = at[AXIS_LSE] && cJSON_IsTrue(at[AXIS_LSE]),
  };
  if (at[AXIS_DTYPE]) case_key_read_dtype(at[AXIS_DTYPE]->valuestring, &shape.dtype);
  return shape;
}

bool cases_are_sound(const struct attn_shape *shape, char problem[CASES_PROBLEM_MAX]) {
  const struct {
    uint32_t value, most;
  } limits[] = {{shape->B, SWEEP_B_MAX},  {shape->Hq, SWEEP_H_MAX},  {shape->Hkv, SWEEP_H_MAX},
                {shape->Sq, SWEEP_S_MAX}, {shape->Skv, SWEEP_S_MAX}, {shape->D, SWEEP_D_MAX}};
  char key[CASE_KEY_MAX];
  case_key(shape, key);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    if (limits[i].value >= 1 && limits[i].value <= limits[i].most) continue;
    snprintf(problem, CASES_PROBLEM_MAX,
             "has the case %s; B is at most %d, H %d, S %d and D %d, and none of them is below 1", key, SWEEP_B_MAX,
             SWEEP_H_MAX, SWEEP_S_MAX, SWEEP_D_MAX);
    return false;
  }
  /* At most 2^16 x 2^10 x 2^20 x 2^13 = 2^59 by these limits. */
  const uint64_t q = (uint64_t)shape->B * shape->Hq * shape->Sq * shape->D;
  const uint64_t kv = (uint64_t)shape->B * shape->Hkv * shape->Skv * shape->D;
  if (shape->Hq % shape->Hkv != 0) {
    snprintf(problem, CASES_PROBLEM_MAX,
             "has %" PRIu32 " query heads for %" PRIu32 " KV heads; make Hq a multiple of Hkv", shape->Hq,
             shape->Hkv);
    return false;
  }
  if (q <= SWEEP_TENSOR_ELEMENTS_MAX && kv <= SWEEP_TENSOR_ELEMENTS_MAX) return true;
  snprintf(problem, CASES_PROBLEM_MAX,
           "has the case %s, whose %s has %" PRIu64 " elements, more than 2^40; make B, H, S or D smaller", key,
           q > SWEEP_TENSOR_ELEMENTS_MAX ? "Q" : "K", q > SWEEP_TENSOR_ELEMENTS_MAX ? q : kv);
  return false;
}

static struct status check_shape(const struct json_doc *doc, const cJSON *entry, const struct attn_shape *shape) {
  char problem[CASES_PROBLEM_MAX];
  return cases_are_sound(shape, problem) ? status_ok() : json_error(doc, entry, false, "%s", problem);
}

/* Moves the odometer on by one, the last axis first. */
static void advance(const struct block *block, const cJSON *at[AXIS_COUNT]) {
  for (unsigned axis = AXIS_COUNT; axis-- > 0;) {
    if (!block->is_list[axis]) continue;
    at[axis] = at[axis]->next;
    if (at[axis]) return;
    at[axis] = block->first[axis];
  }
}

static struct status expand_block(struct expansion *expansion, const struct block *block) {
  struct sweep *sweep = expansion->sweep;
  const cJSON *at[AXIS_COUNT];
  if (block->count > SWEEP_CASES_MAX - sweep->case_count) return too_many_cases(expansion->doc, block->entry);
  memcpy(at, block->first, sizeof at);
  for (size_t i = 0; i < block->count; ++i, advance(block, at)) {
    struct attn_case *made = &sweep->cases[sweep->case_count];
    *made = (struct attn_case){.shape = shape_at(at)};
    case_key(&made->shape, made->key);
    expansion->source[sweep->case_count++] = block->entry;
    TRY(check_shape(expansion->doc, block->entry, &made->shape));
  }
  return status_ok();
}

/* A case by its key, all of it: what "defaults" says is not for it. */
static struct status add_key(struct expansion *expansion, const cJSON *entry) {
  struct sweep *sweep = expansion->sweep;
  struct attn_case made = {.key = ""};
  char shown[JSON_VALUE_TEXT_MAX];
  if (case_key_read(entry->valuestring, &made.shape)) case_key(&made.shape, made.key);
  json_describe(entry, shown);
  if (strcmp(made.key, entry->valuestring) != 0) {
    return json_error(
        expansion->doc, entry, false,
        "is %s; give an object such as {\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}, or the key of a case "
        "as a report has it, such as \"B1.H8.Hkv8.Sq512.Skv512.D64.f16.full\"",
        shown);
  }
  if (sweep->case_count == SWEEP_CASES_MAX) return too_many_cases(expansion->doc, entry);
  TRY(check_shape(expansion->doc, entry, &made.shape));
  expansion->source[sweep->case_count] = entry;
  sweep->cases[sweep->case_count++] = made;
  return status_ok();
}

static struct status expand_entry(struct expansion *expansion, const cJSON *entry, bool lists_allowed) {
  struct block block;
  if (cJSON_IsString(entry) && !lists_allowed) return add_key(expansion, entry);
  TRY(read_block(expansion->doc, entry, lists_allowed, &expansion->defaults, &block));
  TRY(check_complete(expansion->doc, &block));
  return expand_block(expansion, &block);
}

static struct status expand_list(struct expansion *expansion, const char *key, bool lists_allowed) {
  const struct json_doc *doc = expansion->doc;
  const cJSON *list = json_get(doc->root, key), *entry = NULL;
  if (!list) return status_ok();
  if (!cJSON_IsArray(list) || !list->child) {
    char shown[JSON_VALUE_TEXT_MAX];
    json_describe(list, shown);
    return json_error(doc, list, false, "is %s; give an array of at least one object, or remove the key",
                      cJSON_IsArray(list) ? "an empty array" : shown);
  }
  cJSON_ArrayForEach(entry, list) TRY(expand_entry(expansion, entry, lists_allowed));
  return status_ok();
}

/* ---- duplicates ---------------------------------------------------------------------------------------------- */

static int compare_cases(const void *a, const void *b) {
  const struct attn_case *const *left = a, *const *right = b;
  const int order = strcmp((*left)->key, (*right)->key);
  return order ? order : (*left > *right) - (*left < *right);
}

static struct status duplicate_error(const struct expansion *expansion, const struct attn_case *first,
                                     const struct attn_case *second) {
  const struct attn_case *cases = expansion->sweep->cases;
  const cJSON *entry = expansion->source[second - cases], *earlier = expansion->source[first - cases];
  if (entry == earlier) {
    return json_error(expansion->doc, entry, false, "has the case %s twice; remove the repeated value", second->key);
  }
  return json_error(expansion->doc, entry, false,
                    "has the case %s, which line %zu has already; remove one of the two", second->key,
                    json_line(expansion->doc, earlier));
}

/* Names the repetition that comes first in the file. */
static struct status check_duplicates(const struct expansion *expansion) {
  const struct sweep *sweep = expansion->sweep;
  const struct attn_case *first = NULL, *second = NULL;
  const struct attn_case **sorted = malloc(sweep->case_count * sizeof *sorted);
  if (!sorted) return status_make(STATUS_MEMORY, "%s: no memory for its cases; free some", expansion->doc->path);
  for (size_t i = 0; i < sweep->case_count; ++i) sorted[i] = &sweep->cases[i];
  qsort(sorted, sweep->case_count, sizeof *sorted, compare_cases);
  for (size_t i = 1; i < sweep->case_count; ++i) {
    if (strcmp(sorted[i - 1]->key, sorted[i]->key) != 0 || (second && sorted[i] > second)) continue;
    first = sorted[i - 1];
    second = sorted[i];
  }
  free(sorted);
  return second ? duplicate_error(expansion, first, second) : status_ok();
}

static struct status expand_all(struct expansion *expansion) {
  const struct json_doc *doc = expansion->doc;
  const cJSON *defaults = json_get(doc->root, "defaults");
  if (!json_get(doc->root, "shapes") && !json_get(doc->root, "grid")) {
    return json_error(doc, doc->root, false, "has neither \"shapes\" nor \"grid\"; add one with at least one shape");
  }
  if (defaults) TRY(read_block(doc, defaults, false, NULL, &expansion->defaults));
  TRY(expand_list(expansion, "shapes", false));
  TRY(expand_list(expansion, "grid", true));
  return check_duplicates(expansion);
}

struct status cases_read_shape(const struct json_doc *doc, const cJSON *defaults, const cJSON *entry,
                               struct attn_shape *out) {
  struct block base = {0}, block = {0};
  TRY(defaults ? read_block(doc, defaults, false, NULL, &base) : status_ok());
  TRY(read_block(doc, entry, false, &base, &block));
  TRY(check_complete(doc, &block));
  *out = shape_at(block.first);
  return check_shape(doc, entry, out);
}

struct status cases_read(const struct json_doc *doc, struct sweep *out) {
  struct expansion expansion = {.doc = doc, .sweep = out};
  struct status status = status_make(STATUS_MEMORY, "%s: no memory for its cases; free some", doc->path);
  /* The limit is small enough to reserve, so nothing grows while it is pointed into. */
  expansion.source = malloc(SWEEP_CASES_MAX * sizeof *expansion.source);
  out->cases = malloc(SWEEP_CASES_MAX * sizeof *out->cases);
  if (expansion.source && out->cases) status = expand_all(&expansion);
  free(expansion.source);
  return status;
}
