/* Reads filters and applies them to shapes. */
#include "cli/sweep/filter.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/sweep/case_key.h"

enum field { FIELD_NUMBER, FIELD_DTYPE, FIELD_BOOLEAN };

enum { VALUE_MAX = 1024 };

struct filter_key {
  const char *name;
  enum field field;
  size_t offset[2]; /* of uint32_t members of struct attn_shape; of a boolean the first, of a bool */
};

static const struct filter_key keys[] = {
    {"B", FIELD_NUMBER, {offsetof(struct attn_shape, B), offsetof(struct attn_shape, B)}},
    {"H", FIELD_NUMBER, {offsetof(struct attn_shape, Hq), offsetof(struct attn_shape, Hkv)}},
    {"Hq", FIELD_NUMBER, {offsetof(struct attn_shape, Hq), offsetof(struct attn_shape, Hq)}},
    {"Hkv", FIELD_NUMBER, {offsetof(struct attn_shape, Hkv), offsetof(struct attn_shape, Hkv)}},
    {"S", FIELD_NUMBER, {offsetof(struct attn_shape, Sq), offsetof(struct attn_shape, Skv)}},
    {"Sq", FIELD_NUMBER, {offsetof(struct attn_shape, Sq), offsetof(struct attn_shape, Sq)}},
    {"Skv", FIELD_NUMBER, {offsetof(struct attn_shape, Skv), offsetof(struct attn_shape, Skv)}},
    {"D", FIELD_NUMBER, {offsetof(struct attn_shape, D), offsetof(struct attn_shape, D)}},
    {"dtype", FIELD_DTYPE, {0, 0}},
    {"causal", FIELD_BOOLEAN, {offsetof(struct attn_shape, causal), 0}},
    {"lse", FIELD_BOOLEAN, {offsetof(struct attn_shape, lse), 0}},
};
enum { KEY_COUNT = sizeof keys / sizeof *keys, KEY_DTYPE = KEY_COUNT - 3 };

/* The longer first. */
static const struct {
  const char *sign;
  enum filter_test test;
} tests[] = {{">=", FILTER_AT_LEAST}, {"<=", FILTER_AT_MOST}, {"!=", FILTER_UNEQUAL},
             {"=", FILTER_EQUAL},     {"<", FILTER_LESS},     {">", FILTER_MORE}};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

/* ---- reading --------------------------------------------------------------------------------------------------- */

static struct status find_key(const char *text, size_t length, const struct filter_key **out) {
  const char *names[KEY_COUNT + 1] = {0};
  char name[32];
  for (size_t i = 0; i < KEY_COUNT; ++i) {
    names[i] = keys[i].name;
    *out = &keys[i];
    if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) return status_ok();
  }
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  const char *nearest = json_nearest(name, names);
  return status_make(
      STATUS_USAGE, "--filter: \"%s\" is not a key%s%s%s; keys are B H Hq Hkv S Sq Skv D dtype causal lse", name,
      nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?)" : "");
}

static bool read_boolean(const char *text, uint32_t *out) {
  *out = strcmp(text, "true") == 0;
  return *out != 0 || strcmp(text, "false") == 0;
}

static bool read_dtype(const char *text, uint32_t *out) {
  enum attn_dtype dtype = ATTN_F16;
  const bool is_one = case_key_read_dtype(text, &dtype);
  *out = (uint32_t)dtype;
  return is_one;
}

static bool read_number(const char *text, uint32_t *out) {
  char *end;
  const unsigned long value = strtoul(text, &end, 10);
  *out = (uint32_t)value;
  return *text >= '0' && *text <= '9' && *end == '\0' && value <= UINT32_MAX;
}

static struct status add_value(const char *text, struct filter *out) {
  static const struct {
    bool (*read)(const char *text, uint32_t *out);
    const char *wanted;
  } readers[] = {[FIELD_NUMBER] = {read_number, "not a whole number"},
                 [FIELD_DTYPE] = {read_dtype, "not a value; write one of f16, bf16, f32"},
                 [FIELD_BOOLEAN] = {read_boolean, "not a value; write one of true, false"}};
  const enum field field = out->key->field;
  if (!readers[field].read(text, &out->value[out->count]))
    return status_make(STATUS_USAGE, "--filter: %s=%s is %s", out->key->name, text, readers[field].wanted);
  ++out->count;
  return status_ok();
}

static struct status add_values(const char *text, struct filter *out) {
  for (const char *at = text;; ++at) {
    char value[VALUE_MAX];
    const size_t length = strcspn(at, ",");
    snprintf(value, sizeof value, "%.*s", (int)length, at);
    if (out->count == FILTER_VALUES_MAX)
      return status_make(STATUS_USAGE, "--filter %s: more than %d values", text, FILTER_VALUES_MAX);
    TRY(add_value(value, out));
    at += length;
    if (*at == '\0') break;
  }
  const bool is_order = out->test >= FILTER_LESS;
  if (!is_order || (out->count == 1 && out->key->field == FIELD_NUMBER)) return status_ok();
  return status_make(STATUS_USAGE,
                     "--filter: %s cannot be ordered with < and >; that takes one number, as in S>=1024",
                     out->key->name);
}

/* "causal", "full", "lse", "f16": the word says which key it is of. */
static bool read_word(const char *text, struct filter *out) {
  static const struct {
    const char *word;
    size_t key;
    uint32_t value;
  } words[] = {{"full", KEY_DTYPE + 1, 0}, {"causal", KEY_DTYPE + 1, 1}, {"lse", KEY_DTYPE + 2, 1}};
  out->test = FILTER_EQUAL;
  out->count = 1;
  out->key = &keys[KEY_DTYPE];
  if (read_dtype(text, &out->value[0])) return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strcmp(text, words[i].word) != 0) continue;
    out->key = &keys[words[i].key];
    out->value[0] = words[i].value;
    return true;
  }
  return false;
}

struct status filter_parse(const char *text, struct filter *out) {
  const size_t length = strcspn(text, "=<>!");
  *out = (struct filter){.count = 0};
  if (text[length] == '\0') {
    if (read_word(text, out)) return status_ok();
    *out = (struct filter){.count = 0};
    if (case_key_read(text, &out->shape)) return status_ok();
  }
  for (size_t i = 0; i < TEST_COUNT; ++i) {
    const size_t sign = strlen(tests[i].sign);
    if (strncmp(text + length, tests[i].sign, sign) != 0) continue;
    out->test = tests[i].test;
    TRY(find_key(text, length, &out->key));
    return add_values(text + length + sign, out);
  }
  return status_make(
      STATUS_USAGE,
      "--filter: \"%s\" is not KEY=VALUE, a dtype, a mask or the key of a case; for example S=512, S>=512, "
      "S=128,200 or causal",
      text);
}

/* ---- applying -------------------------------------------------------------------------------------------------- */

static bool meets(enum filter_test test, uint32_t a, uint32_t b) {
  switch (test) {
    case FILTER_LESS: return a < b;
    case FILTER_AT_MOST: return a <= b;
    case FILTER_MORE: return a > b;
    case FILTER_AT_LEAST: return a >= b;
    case FILTER_EQUAL:
    case FILTER_UNEQUAL: break;
  }
  return a == b;
}

/* Does the shape meet this one value? */
static bool meets_value(const struct filter *filter, const struct attn_shape *shape, uint32_t wanted) {
  if (filter->key->field == FIELD_DTYPE) return (uint32_t)shape->dtype == wanted;
  if (filter->key->field == FIELD_BOOLEAN)
    return *(const bool *)((const char *)shape + filter->key->offset[0]) == (wanted != 0);
  for (size_t i = 0; i < 2; ++i) {
    uint32_t value;
    memcpy(&value, (const char *)shape + filter->key->offset[i], sizeof value);
    if (!meets(filter->test, value, wanted)) return false;
  }
  return true;
}

static bool is_same_case(const struct attn_shape *a, const struct attn_shape *b) {
  return a->B == b->B && a->Hq == b->Hq && a->Hkv == b->Hkv && a->Sq == b->Sq && a->Skv == b->Skv && a->D == b->D &&
         a->dtype == b->dtype && a->causal == b->causal && a->lse == b->lse;
}

bool filter_keeps(const struct filter *filter, const struct attn_shape *shape) {
  bool met = false;
  if (filter->key == NULL) return is_same_case(&filter->shape, shape);
  for (size_t i = 0; i < filter->count && !met; ++i) met = meets_value(filter, shape, filter->value[i]);
  return met != (filter->test == FILTER_UNEQUAL);
}
