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
    TRY(find_axis(text, length, &out->axis));
    if (strchr("=<>!", text[length + sign]) != NULL && text[length + sign] != '\0')
      return status_make(STATUS_USAGE,
                         "--filter: \"%s\" has no test that is known; write =, !=, <, <=, > or >=", text);
    return add_values(text + length + sign, out);
  }
  return status_make(STATUS_USAGE,
                     "--filter: \"%s\" is not KEY=VALUE, a dtype, a mask or the key of a case; for example S=512, "
                     "S>=512, S=128,200 or causal",
                     text);
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
