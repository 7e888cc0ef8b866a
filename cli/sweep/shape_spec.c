/* Reads shapes of the command line into a sweep. */
#include "cli/sweep/cells.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"

enum { VALUES_MAX = 256, TOKEN_MAX = AXIS_VALUE_TEXT_MAX + 32 };

/* A value with the name that it was given by. */
struct entry {
  const struct attn_axis *axis;
  struct axis_value value;
};

/* Lists of values by axis. Two names for the same members, such as causal and window, share one list. */
struct spec {
  const char *text;
  struct entry entry[AXIS_COUNT][VALUES_MAX];
  size_t count[AXIS_COUNT];
};

/* ---- values -------------------------------------------------------------------------------------------------- */

static enum axis_id list_of(const struct attn_axis *axis) {
  enum axis_id id = 0;
  while (axes_at(id) != axis && !axes_excludes(axes_at(id), axis)) ++id;
  return id;
}

static struct status add_value(struct spec *spec, const struct attn_axis *axis, struct axis_value value) {
  size_t *count = &spec->count[list_of(axis)];
  if (*count == VALUES_MAX)
    return status_make(STATUS_USAGE, "--shape %s: more than %d values of %s; give fewer, or several --shape",
                       spec->text, VALUES_MAX, axis->name);
  spec->entry[list_of(axis)][(*count)++] = (struct entry){axis, value};
  return status_ok();
}

/* Says what the axis takes instead of `text`. One number of a window may be its left side. */
static struct status not_a_value(const struct spec *spec, const struct attn_axis *axis, const char *text) {
  char wanted[AXIS_WANTED_MAX], meant[TOKEN_MAX + 24] = "";
  const char *dtype = axis->kind == AXIS_DTYPE ? attn_dtype_called(text) : NULL;
  const bool is_left = axis->kind == AXIS_BOUNDS && *text != '\0' && text[strspn(text, "0123456789")] == '\0';
  axes_value_wanted(axis, "", wanted);
  if (dtype != NULL) snprintf(meant, sizeof meant, "did you mean %s? Give", dtype);
  if (is_left) snprintf(meant, sizeof meant, "did you mean %.*s:0? Give", TOKEN_MAX, text);
  return status_make(STATUS_USAGE, "--shape %s: \"%s\" is not a value of %s; %s %s", spec->text, text, axis->name,
                     meant[0] != '\0' ? meant : "give", wanted);
}

/* Reads a value and moves on behind it. */
static struct status read_one(const struct spec *spec, const struct attn_axis *axis, const char **at,
                              struct axis_value *out) {
  const char *end = axes_value_read(axis, *at, out);
  if (end == NULL || !axes_value_is_allowed(axis, *out)) return not_a_value(spec, axis, *at);
  *at = end;
  return status_ok();
}

/* Of a text that begins with a value. A whole number may go on as a range. */
static struct status bad_value(const struct spec *spec, const struct attn_axis *axis, const char *text) {
  if (axis->kind != AXIS_WHOLE) return not_a_value(spec, axis, text);
  return status_make(
      STATUS_USAGE, "--shape %s: \"%s\" is not a value of %s; write 512, 512:4096:*2 or 512:4096:+512%s%s",
      spec->text, text, axis->name, axis->example != NULL ? ", or " : "", axis->example != NULL ? axis->example : "");
}

/* ":LAST:*FACTOR" or ":LAST:+STEP" behind the first number. */
static struct status read_range(struct spec *spec, const struct attn_axis *axis, const char *text, uint64_t first,
                                const char *at) {
  struct axis_value last, step;
  if (axes_value_read(axis, at, &last) == NULL) return bad_value(spec, axis, text);
  TRY(read_one(spec, axis, &at, &last));
  const bool is_factor = at[0] == ':' && at[1] == '*';
  if (!is_factor && !(at[0] == ':' && at[1] == '+')) return bad_value(spec, axis, text);
  at += 2;
  if (axes_value_read(axis, at, &step) == NULL) return bad_value(spec, axis, text);
  TRY(read_one(spec, axis, &at, &step));
  const uint64_t end = (uint64_t)last.first, by = (uint64_t)step.first;
  const bool is_plain = last.first == last.second && step.first == step.second;
  if (*at != '\0' || !is_plain || end < first || (is_factor && by < 2)) return bad_value(spec, axis, text);
  for (uint64_t value = first; value <= end; value = is_factor ? value * by : value + by)
    TRY(add_value(spec, axis, (struct axis_value){.first = (double)value, .second = (double)value}));
  return status_ok();
}

static struct status read_value(struct spec *spec, const struct attn_axis *axis, const char *given) {
  char text[TOKEN_MAX];
  const char *at = text;
  struct axis_value value;
  kilo_expand(axis, given, text, sizeof text);
  TRY(read_one(spec, axis, &at, &value));
  if (*at == '\0') return add_value(spec, axis, value);
  const bool is_range = *at == ':' && axis->kind == AXIS_WHOLE && value.first == value.second;
  return is_range ? read_range(spec, axis, text, (uint64_t)value.first, at + 1) : bad_value(spec, axis, text);
}

/* ---- words between commas -------------------------------------------------------------------------------------- */

/* The alias that writes this axis, such as H for Hkv; NULL: it is written by its own name. */
static const struct attn_axis *alias_of(const struct attn_axis *axis) {
  for (unsigned alias = 0; alias < AXIS_COUNT; ++alias) {
    const struct attn_axis *part[2];
    if (axes_parts(axes_at(alias), part) && (part[0] == axis || part[1] == axis)) return axes_at(alias);
  }
  return NULL;
}

/* "B H S D", to be told to whoever wrote something else. */
static bool is_written(const struct attn_axis *axis) { return alias_of(axis) == NULL; }

static struct status by_alias(const struct spec *spec, const char *text, const struct attn_axis *axis) {
  const struct attn_axis *alias = alias_of(axis);
  return status_make(STATUS_USAGE, "--shape %s: \"%s\" is not understood; --shape has %s in %s: write %s=%s",
                     spec->text, text, axis->name, alias->name, alias->name, alias->example);
}

const char *shape_spec_nearest(const char *text) {
  const char *names[3 * AXIS_COUNT + ATTN_DTYPE_COUNT + 1] = {NULL};
  char word[32];
  size_t count = 0;
  if (attn_dtype_called(text) != NULL) return attn_dtype_called(text);
  snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
  const char *synonym = synonym_of(word);
  if (synonym != NULL && axes_find(synonym, strlen(synonym)) != NULL) return synonym;
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    if (strcasecmp(axis->name, word) == 0) return axis->name;
    if (strlen(axis->name) > 2) names[count++] = axis->name; /* one letter is near to any other */
    if (axis->no != NULL) names[count++] = axis->no;
    if (axis->yes != NULL) names[count++] = axis->yes;
  }
  for (unsigned dtype = 0; dtype < ATTN_DTYPE_COUNT; ++dtype)
    names[count++] = attn_dtype_name((enum attn_dtype)dtype);
  return strlen(word) > 2 ? json_nearest(word, names) : NULL;
}

static struct status bad_word(const struct spec *spec, const char *text) {
  char keys[128] = "", words[128] = "", dtypes[ATTN_DTYPE_LIST_MAX];
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    if (is_written(axis)) text_append(keys, sizeof keys, " %s", axis->name);
    if (axis->no != NULL) text_append(words, sizeof words, ", %s", axis->no);
    if (axis->yes != NULL) text_append(words, sizeof words, ", %s", axis->yes);
    for (size_t i = 0; axis->kind == AXIS_NAME && axis->key == NULL && i < AXIS_NAMES_MAX; ++i)
      if (axis->names[i] != NULL) text_append(words, sizeof words, ", %s", axis->names[i]);
  }
  attn_dtype_list(ATTN_DTYPES_ALL, "", ", ", dtypes);
  const char *nearest = shape_spec_nearest(text);
  return status_make(
      STATUS_USAGE,
      "--shape %s: \"%s\" is not understood%s%s%s keys are%s, as in B=1,H=32/8,S=1x4096,D=128; %s%s stand alone",
      spec->text, text, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
      nearest != NULL ? "? The" : "; the", keys, dtypes, words);
}

/* Reads one word between commas. *axis is the axis of the last key; a value without a key belongs to it. */
static struct status read_token(struct spec *spec, const char *text, const struct attn_axis **axis) {
  const char *equals = strchr(text, '=');
  const struct attn_axis *of_word;
  struct axis_value word;
  if (axes_word_read(text, &of_word, &word)) return add_value(spec, of_word, word);
  const struct attn_axis *named = equals != NULL ? axes_find(text, (size_t)(equals - text)) : NULL;
  if (named == NULL && *axis != NULL && axes_value_read(*axis, text, &word) != NULL)
    return read_value(spec, *axis, text);
  if (named == NULL) return bad_word(spec, text);
  if (!is_written(named)) return by_alias(spec, text, named);
  *axis = named;
  if (named->required && spec->count[list_of(named)] > 0)
    return status_make(STATUS_USAGE, "--shape %s: %s is given twice; list its values with commas", spec->text,
                       named->name);
  return read_value(spec, named, equals + 1);
}

static struct status read_tokens(struct spec *spec) {
  const struct attn_axis *axis = NULL;
  for (const char *at = spec->text;; ++at) {
    char token[TOKEN_MAX];
    at += strspn(at, " ");
    const size_t length = strcspn(at, ",");
    snprintf(token, sizeof token, "%.*s", (int)length, at);
    if (length == 0 || length >= sizeof token) return bad_word(spec, token);
    TRY(read_token(spec, token, &axis));
    at += length;
    if (*at == '\0') return status_ok();
  }
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

static bool has_case(const struct sweep *sweep, const char *key) {
  for (size_t i = 0; i < sweep->case_count; ++i) {
    if (strcmp(sweep->cases[i].key, key) == 0) return true;
  }
  return false;
}

static struct status add_case(const char *spec, const struct attn_problem *shape, struct sweep *out) {
  struct attn_case made = {.shape = *shape};
  char why[AXIS_WHY_MAX];
  axes_key(shape, made.key);
  if (!axes_problem_is_sound(shape, why)) return status_make(STATUS_USAGE, "--shape %s: %s", spec, why);
  if (has_case(out, made.key)) return status_ok();
  if (out->case_count == SWEEP_CASES_MAX)
    return status_make(STATUS_USAGE, "--shape %s: more than %d cases; give fewer values", spec, SWEEP_CASES_MAX);
  out->cases[out->case_count++] = made;
  return status_ok();
}

/* The problem made of value at[i] of each list i. */
static struct status problem_of(const struct spec *spec, const size_t at[AXIS_COUNT], struct attn_problem *out) {
  struct axis_values values = {.given = {false}};
  for (unsigned list = 0; list < AXIS_COUNT; ++list) {
    if (spec->count[list] == 0) continue;
    const struct entry *entry = &spec->entry[list][at[list]];
    values.given[axes_id_of(entry->axis)] = true;
    values.value[axes_id_of(entry->axis)] = entry->value;
  }
  const char *missing = axes_build(&values, out);
  if (missing == NULL) return status_ok();
  return status_make(STATUS_USAGE, "--shape %s: has no %s; write for example B=1,H=8,S=512,D=64", spec->text,
                     missing);
}

/* Advances to the next combination of values, the last axis fastest; false after the last one. */
static bool advance(const struct spec *spec, size_t at[AXIS_COUNT]) {
  for (unsigned axis = AXIS_COUNT; axis-- > 0;) {
    if (++at[axis] < spec->count[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

static struct status add_cases(const struct spec *spec, struct sweep *out) {
  size_t at[AXIS_COUNT] = {0};
  do {
    struct attn_problem problem;
    TRY(problem_of(spec, at, &problem));
    TRY(add_case(spec->text, &problem, out));
  } while (advance(spec, at));
  return status_ok();
}

/* Whoever writes "causal,window=1023:0" may mean one mask. */
static void note_masks(const struct spec *spec, struct sweep *out) {
  const enum axis_id masks = list_of(axes_at(AXIS_window));
  bool has_causal = false, has_window = false;
  for (size_t i = 0; i < spec->count[masks]; ++i) {
    const struct entry *entry = &spec->entry[masks][i];
    has_window = has_window || entry->axis->kind == AXIS_BOUNDS;
    has_causal = has_causal || (entry->axis->kind == AXIS_CAUSAL && entry->value.first == 1);
  }
  if (has_causal && has_window)
    text_append(out->about, sizeof out->about,
                " (causal and window are cases of their own; a window LEFT:0 alone is causal)");
}

static struct status add_spec(const char *text, struct sweep *out) {
  struct attn_problem shape;
  struct spec spec = {.text = text};
  if (strchr(text, '=') == NULL && axes_key_read(text, &shape)) return add_case(text, &shape, out);
  TRY(read_tokens(&spec));
  note_masks(&spec, out);
  return add_cases(&spec, out);
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

static struct status add_specs(const char *const *specs, size_t count, struct sweep *out) {
  for (size_t i = 0; i < count; ++i) {
    text_append(out->about, sizeof out->about, "%s%s", i > 0 ? " " : "", specs[i]);
    TRY(add_spec(specs[i], out));
  }
  sweep_hash_cases(out);
  return status_ok();
}

struct status shape_spec_sweep(const char *const *specs, size_t count, struct sweep *out) {
  *out = (struct sweep){.path = SHAPE_SPEC_PATH, .name = "shape"};
  TRY(owned_array(&out->cases, SWEEP_CASES_MAX, sizeof *out->cases, "cases"));
  const struct status status = add_specs(specs, count, out);
  if (status_failed(&status)) sweep_free(out);
  return status;
}
