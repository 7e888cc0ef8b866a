/* Expands the shapes and grids of a sweep file into its cases. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"
#include "cli/sweep/reading.h"

/* ---- blocks: one entry of "shapes" or "grid", with the defaults merged in ------------------------------------ */

struct block {
  const cJSON *entry;
  const cJSON *first[AXIS_COUNT]; /* the axis's first or only value; NULL when it is not given */
  bool is_list[AXIS_COUNT];       /* the values after the first are its next siblings */
  size_t count;                   /* cases that it expands to; at most SWEEP_CASES_MAX */
};

static struct status check_value(const struct json_doc *doc, const struct attn_axis *axis, const cJSON *item) {
  struct axis_value value;
  return axis_json_read(doc, axis, item, &value);
}

static struct status too_many_cases(const struct json_doc *doc, const cJSON *entry) {
  return json_error(doc, entry, false, "brings the sweep above %d cases; give fewer values or split the sweep",
                    SWEEP_CASES_MAX);
}

static struct status read_list(const struct json_doc *doc, const struct attn_axis *axis, const cJSON *list,
                               struct block *block) {
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
  block->first[axes_id_of(axis)] = list->child;
  block->is_list[axes_id_of(axis)] = true;
  return status_ok();
}

/* Two names for the same members: an entry gives one of them, which replaces the other one of the defaults. */
static struct status drop_excluded(const struct json_doc *doc, const struct attn_axis *axis, struct block *block) {
  for (unsigned other = 0; other < AXIS_COUNT; ++other) {
    if (!axes_excludes(axis, axes_at(other))) continue;
    const cJSON *item = json_get(block->entry, axes_at(other)->name);
    if (item != NULL)
      return json_error(doc, item, true, "cannot stand beside %s, which sets the same thing; remove one of the two",
                        axis->name);
    block->first[other] = NULL;
    block->is_list[other] = false;
  }
  return status_ok();
}

static struct status read_axis(const struct json_doc *doc, const struct attn_axis *axis, bool lists_allowed,
                               struct block *block) {
  const cJSON *item = json_get(block->entry, axis->name);
  const bool is_list = item != NULL && axis_json_is_list(axis, item);
  if (!item) return status_ok();
  TRY(drop_excluded(doc, axis, block));
  if (is_list && lists_allowed) return read_list(doc, axis, item, block);
  if (is_list) return json_error(doc, item, false, "is an array; give one value (arrays belong in \"grid\")");
  TRY(check_value(doc, axis, item));
  block->first[axes_id_of(axis)] = item;
  block->is_list[axes_id_of(axis)] = false;
  return status_ok();
}

/* H and S stand for a pair; one that both of the pair override would be read and mean nothing. */
static struct status check_alias(const struct json_doc *doc, const struct block *block,
                                 const struct attn_axis *alias) {
  const struct attn_axis *part[2];
  const cJSON *item = json_get(block->entry, alias->name);
  if (!item || !axes_parts(alias, part)) return status_ok();
  if (!block->first[axes_id_of(part[0])] || !block->first[axes_id_of(part[1])]) return status_ok();
  return json_error(doc, item, true, "has no effect, because %s and %s are both given; remove one of the three",
                    part[0]->name, part[1]->name);
}

static struct status check_keys(const struct json_doc *doc, const cJSON *entry) {
  const char *names[AXIS_COUNT + 1] = {NULL};
  for (unsigned axis = 0; axis < AXIS_COUNT; ++axis) names[axis] = axes_at(axis)->name;
  return json_check_keys(doc, entry, names);
}

/* `defaults` may be NULL. */
static struct status read_block(const struct json_doc *doc, const cJSON *entry, bool lists_allowed,
                                const struct block *defaults, struct block *out) {
  if (defaults) *out = *defaults;
  if (!defaults) memset(out, 0, sizeof *out);
  out->entry = entry;
  out->count = 1;
  if (!cJSON_IsObject(entry))
    return json_refuse(doc, entry, "give an object such as {\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}");
  TRY(check_keys(doc, entry));
  for (unsigned axis = 0; axis < AXIS_COUNT; ++axis) TRY(read_axis(doc, axes_at(axis), lists_allowed, out));
  for (unsigned axis = 0; axis < AXIS_COUNT; ++axis) TRY(check_alias(doc, out, axes_at(axis)));
  return status_ok();
}

/* ---- expansion ----------------------------------------------------------------------------------------------- */

struct expansion {
  const struct json_doc *doc;
  struct sweep *sweep;
  const cJSON **source; /* the entry that each case comes from */
  struct block defaults;
};

/* The problem of one value per axis, which were checked when they were read. */
static struct status problem_at(const struct json_doc *doc, const cJSON *entry, const cJSON *const at[AXIS_COUNT],
                                struct attn_problem *out) {
  struct axis_values values = {.given = {false}};
  char why[AXIS_WHY_MAX];
  for (unsigned axis = 0; axis < AXIS_COUNT; ++axis) {
    values.given[axis] = at[axis] != NULL;
    if (at[axis] != NULL) TRY(axis_json_read(doc, axes_at(axis), at[axis], &values.value[axis]));
  }
  const char *missing = axes_build(&values, out);
  if (missing != NULL)
    return json_error(doc, entry, false, "has no \"%s\"; add it there or in \"defaults\"", missing);
  return axes_problem_is_sound(out, why) ? status_ok() : json_error(doc, entry, false, "%s", why);
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
    *made = (struct attn_case){.key = ""};
    TRY(problem_at(expansion->doc, block->entry, at, &made->shape));
    axes_key(&made->shape, made->key);
    expansion->source[sweep->case_count++] = block->entry;
  }
  return status_ok();
}

/* A case by its key, all of it: what "defaults" says is not for it. */
static struct status add_key(struct expansion *expansion, const cJSON *entry) {
  struct sweep *sweep = expansion->sweep;
  struct attn_case made = {.key = ""};
  char why[AXIS_WHY_MAX];
  if (axes_key_read(entry->valuestring, &made.shape)) axes_key(&made.shape, made.key);
  if (strcmp(made.key, entry->valuestring) != 0)
    return json_refuse(expansion->doc, entry,
                       "give an object such as {\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}, or the key of a case as "
                       "a report has it, such as \"B1.H8.Hkv8.Sq512.Skv512.D64.f16.full\"");
  if (sweep->case_count == SWEEP_CASES_MAX) return too_many_cases(expansion->doc, entry);
  if (!axes_problem_is_sound(&made.shape, why)) return json_error(expansion->doc, entry, false, "%s", why);
  expansion->source[sweep->case_count] = entry;
  sweep->cases[sweep->case_count++] = made;
  return status_ok();
}

static struct status expand_entry(struct expansion *expansion, const cJSON *entry, bool lists_allowed) {
  struct block block;
  if (cJSON_IsString(entry) && !lists_allowed) return add_key(expansion, entry);
  TRY(read_block(expansion->doc, entry, lists_allowed, &expansion->defaults, &block));
  return expand_block(expansion, &block);
}

static struct status expand_list(struct expansion *expansion, const char *key, bool lists_allowed) {
  const struct json_doc *doc = expansion->doc;
  const cJSON *list = json_get(doc->root, key), *entry = NULL;
  if (!list) return status_ok();
  if (!cJSON_IsArray(list) || !list->child)
    return json_refuse(doc, list, "give an array of at least one object, or remove the key");
  cJSON_ArrayForEach(entry, list) TRY(expand_entry(expansion, entry, lists_allowed));
  return status_ok();
}

/* ---- duplicates ---------------------------------------------------------------------------------------------- */

static int compare_cases(const void *a, const void *b) {
  const struct attn_case *const *left = a, *const *right = b;
  return SORTING_FIRST(strcmp((*left)->key, (*right)->key), SORTING_ORDER(*left, *right));
}

static struct status duplicate_error(const struct expansion *expansion, const struct attn_case *first,
                                     const struct attn_case *second) {
  const struct attn_case *cases = expansion->sweep->cases;
  const cJSON *entry = expansion->source[second - cases], *earlier = expansion->source[first - cases];
  if (entry == earlier)
    return json_error(expansion->doc, entry, false, "has the case %s twice; remove the repeated value", second->key);
  return json_error(expansion->doc, entry, false,
                    "has the case %s, which line %zu has already; remove one of the two", second->key,
                    json_line(expansion->doc, earlier));
}

/* Names the repetition that comes first in the file. */
static struct status check_duplicates(const struct expansion *expansion) {
  const struct sweep *sweep = expansion->sweep;
  const struct attn_case *first = NULL, *second = NULL;
  OWNED_ARRAY(const struct attn_case *, sorted, sweep->case_count, "cases");
  for (size_t i = 0; i < sweep->case_count; ++i) sorted[i] = &sweep->cases[i];
  qsort(sorted, sweep->case_count, sizeof *sorted, compare_cases);
  for (size_t i = 1; i < sweep->case_count; ++i) {
    if (strcmp(sorted[i - 1]->key, sorted[i]->key) != 0 || (second && sorted[i] > second)) continue;
    first = sorted[i - 1];
    second = sorted[i];
  }
  return second ? duplicate_error(expansion, first, second) : status_ok();
}

static struct status expand_all(struct expansion *expansion) {
  const struct json_doc *doc = expansion->doc;
  const cJSON *defaults = json_get(doc->root, "defaults");
  if (!json_get(doc->root, "shapes") && !json_get(doc->root, "grid"))
    return json_error(doc, doc->root, false, "has neither \"shapes\" nor \"grid\"; add one with at least one shape");
  if (defaults) TRY(read_block(doc, defaults, false, NULL, &expansion->defaults));
  TRY(expand_list(expansion, "shapes", false));
  TRY(expand_list(expansion, "grid", true));
  return check_duplicates(expansion);
}

struct status cases_read_shape(const struct json_doc *doc, const cJSON *defaults, const cJSON *entry,
                               struct attn_problem *out) {
  struct block base = {0}, block = {0};
  TRY(defaults ? read_block(doc, defaults, false, NULL, &base) : status_ok());
  TRY(read_block(doc, entry, false, &base, &block));
  return problem_at(doc, entry, block.first, out);
}

struct status cases_read(const struct json_doc *doc, struct sweep *out) {
  /* The limit is small enough to reserve, so nothing grows while it is pointed into. */
  OWNED_ARRAY(const cJSON *, source, SWEEP_CASES_MAX, "cases");
  TRY(owned_array(&out->cases, SWEEP_CASES_MAX, sizeof *out->cases, "cases"));
  struct expansion expansion = {.doc = doc, .sweep = out, .source = source};
  return expand_all(&expansion);
}
