/* Reads filters and applies them to problems. */
#include "cli/sweep/cells.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"

enum { VALUE_MAX = 1024, NAMES_MAX = 256 };

/* The longer first. */
static const struct {
  const char *sign;
  unsigned orders;
} tests[] = {{">=", FILTER_MORE | FILTER_EQUAL},
             {"<=", FILTER_LESS | FILTER_EQUAL},
             {"!=", FILTER_LESS | FILTER_MORE},
             {"=", FILTER_EQUAL},
             {"<", FILTER_LESS},
             {">", FILTER_MORE}};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

/* ---- reading --------------------------------------------------------------------------------------------------- */

static struct status find_axis(const char *text, size_t length, const struct attn_axis **out) {
  const char *names[AXIS_COUNT + 1] = {NULL};
  char name[32], list[NAMES_MAX] = "";
  *out = axes_find(text, length);
  if (*out != NULL) return status_ok();
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    names[id] = axes_at(id)->name;
    text_append(list, sizeof list, " %s", names[id]);
  }
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  const char *synonym = synonym_of(name);
  const char *nearest =
      synonym != NULL && axes_find(synonym, strlen(synonym)) != NULL ? synonym : json_nearest(name, names);
  return status_make(STATUS_USAGE, "--filter: \"%s\" is not a key%s%s%s; keys are%s", name,
                     nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?)" : "", list);
}

static struct status add_value(const char *given, struct filter *out) {
  char wanted[AXIS_WANTED_MAX], text[VALUE_MAX];
  kilo_expand(out->axis, given, text, sizeof text);
  const char *end = axes_value_read(out->axis, text, &out->value[out->count++]);
  if (end != NULL && *end == '\0') return status_ok();
  axes_value_wanted(out->axis, "", wanted);
  return status_make(STATUS_USAGE, "--filter: %s=%s is not understood; give %s", out->axis->name, text, wanted);
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
  const bool is_order = out->orders != FILTER_EQUAL && out->orders != (FILTER_LESS | FILTER_MORE);
  if (!is_order || (out->count == 1 && axes_is_ordered(out->axis))) return status_ok();
  return status_make(STATUS_USAGE,
                     "--filter: %s cannot be ordered with < and >; that takes one number, as in S>=1024",
                     out->axis->name);
}

/* Where a second test begins in a text like "D=64,S>=512" or "causal,bf16"; NULL: nowhere. `of`: the axis of the
 * first test, several values of which may stand between commas; NULL: not known. */
static const char *second_test(const char *text, const struct attn_axis *of) {
  const struct attn_axis *axis;
  struct axis_value value;
  for (const char *at = strchr(text, ','); at != NULL; at = strchr(at, ',')) {
    char part[VALUE_MAX];
    snprintf(part, sizeof part, "%.*s", (int)strcspn(at + 1, ","), at + 1);
    const char *end = of != NULL ? axes_value_read(of, part, &value) : NULL;
    const bool is_value = end != NULL && *end == '\0';
    ++at;
    if (strpbrk(part, "=<>!") != NULL || (!is_value && axes_word_read(part, &axis, &value))) return at;
  }
  return NULL;
}

static struct status tests_joined(const char *text, const char *second) {
  char first[VALUE_MAX];
  snprintf(first, sizeof first, "%.*s", (int)(second - 1 - text), text);
  return status_make(STATUS_USAGE, "--filter %s: give each test a --filter of its own: --filter '%s' --filter '%s'",
                     text, first, second);
}

static struct status not_a_test(const char *text) {
  const char *nearest = shape_spec_nearest(text);
  return status_make(
      STATUS_USAGE,
      "--filter: \"%s\" is not KEY=VALUE, a dtype, a mask or the key of a case%s%s%s for example S=512, "
      "S>=512, S=128,200 or causal",
      text, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "? Or" : ";");
}

struct status filter_parse(const char *text, struct filter *out) {
  const size_t length = strcspn(text, "=<>!");
  *out = (struct filter){.orders = FILTER_EQUAL};
  if (text[length] == '\0') {
    out->count = 1;
    if (axes_word_read(text, &out->axis, &out->value[0])) return status_ok();
    *out = (struct filter){.count = 0};
    if (axes_key_read(text, &out->problem)) return status_ok();
  }
  for (size_t i = 0; i < TEST_COUNT; ++i) {
    const size_t sign = strlen(tests[i].sign);
    if (strncmp(text + length, tests[i].sign, sign) != 0) continue;
    out->orders = tests[i].orders;
    const char *second = memchr(text, ',', length);
    if (second != NULL) return tests_joined(text, second + 1);
    TRY(find_axis(text, length, &out->axis));
    second = second_test(text, out->axis);
    if (second != NULL) return tests_joined(text, second);
    if (strchr("=<>!", text[length + sign]) != NULL && text[length + sign] != '\0')
      return status_make(STATUS_USAGE,
                         "--filter: \"%s\" has no test that is known; write =, !=, <, <=, > or >=", text);
    return add_values(text + length + sign, out);
  }
  const char *second = second_test(text, NULL);
  return second != NULL ? tests_joined(text, second) : not_a_test(text);
}

/* ---- applying -------------------------------------------------------------------------------------------------- */

/* NAN, as causal is of a window, is in no order with anything. */
static unsigned order_of(double a, double b) {
  return (a < b ? FILTER_LESS : 0) | (a == b ? FILTER_EQUAL : 0) | (a > b ? FILTER_MORE : 0);
}

bool filter_keeps(const struct filter *filter, const struct attn_problem *problem) {
  if (filter->axis == NULL) return axes_same_problem(&filter->problem, problem);
  const struct axis_value value = axes_get(filter->axis, problem);
  const bool is_unequal = filter->orders == (FILTER_LESS | FILTER_MORE);
  const unsigned orders = is_unequal ? FILTER_EQUAL : filter->orders;
  bool met = false;
  for (size_t i = 0; i < filter->count && !met; ++i)
    met = orders == FILTER_EQUAL ? axes_value_same(&value, &filter->value[i])
                                 : (order_of(value.first, filter->value[i].first) & orders) != 0 &&
                                       (order_of(value.second, filter->value[i].second) & orders) != 0;
  return met != is_unequal;
}
