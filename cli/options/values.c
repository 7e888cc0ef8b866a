/* Texts into values: defaults, numbers and their ranges. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/table.h"

enum { COMPARED_ROUNDS_MIN = 5 };

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static struct status out_of_range(const struct option_row *row, const char *text, const char *is) {
  char range[OPTION_RANGE_MAX];
  options_table_range(row, range);
  return status_make(STATUS_USAGE, "%s %s is %s; give %s", row->name, text, is, range);
}

static struct status read_whole(const struct option_row *row, struct options_whole *out) {
  char *end = NULL;
  if (out->text == NULL) return status_ok();
  errno = 0;
  out->value = strtoull(out->text, &end, 10);
  if (out->text[0] < '0' || out->text[0] > '9' || *end != '\0')
    return out_of_range(row, out->text, "not a whole number");
  const bool is_count = row->most <= UINT32_MAX;
  if (errno != 0 || (double)out->value > row->most)
    return out_of_range(row, out->text, is_count ? "too many" : "too large");
  return (double)out->value < row->least ? out_of_range(row, out->text, "too few") : status_ok();
}

static struct status read_number(const struct option_row *row, struct options_number *out) {
  char *end = NULL;
  out->value = NAN;
  if (out->text == NULL) return status_ok();
  out->value = strtod(out->text, &end);
  if (end != out->text && strcmp(end, "s") == 0 && strcmp(row->value, "SECONDS") == 0) ++end; /* 60s */
  if (end == out->text || *end != '\0' || isnan(out->value)) return out_of_range(row, out->text, "not a number");
  if (out->value > row->most) return out_of_range(row, out->text, "too large");
  return out->value < row->least ? out_of_range(row, out->text, "too small") : status_ok();
}

/* A number with the unit behind it. */
static struct status read_duration(const struct option_row *row, struct options_number *out) {
  static const struct {
    const char *name;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"min", 60}, {"h", 3600}};
  char *end = NULL;
  out->value = NAN;
  if (out->text == NULL) return status_ok();
  const double number = strtod(out->text, &end);
  for (size_t i = 0; i < sizeof units / sizeof *units && end != out->text; ++i) {
    if (strcmp(end, units[i].name) == 0) out->value = number * units[i].seconds;
  }
  if (out->value >= row->least && out->value <= row->most) return status_ok();
  return status_make(STATUS_USAGE, "%s %.60s is %s; give %g s to %g h, such as 90s, 30min or 2h", row->name,
                     out->text,
                     isnan(out->value)         ? "not a time"
                     : out->value < row->least ? "too short"
                                               : "too long",
                     row->least, row->most / 3600);
}

/* row->value is "this|that". */
static struct status check_choice(const struct option_row *row, const char *text) {
  if (text == NULL) return status_ok();
  const size_t length = strlen(text);
  for (const char *at = row->value; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL) {
    if (strcspn(at, "|") == length && strncmp(at, text, length) == 0) return status_ok();
  }
  return status_make(STATUS_USAGE, "%s %s is not one of %s", row->name, text, row->value);
}

/* row->value is "[=word]". */
static struct status check_word(const struct option_row *row, const char *text) {
  const char *word = row->value + strspn(row->value, "[=");
  const size_t length = strcspn(word, "]");
  if (text == NULL || text[0] == '\0' || (strlen(text) == length && strncmp(text, word, length) == 0))
    return status_ok();
  return status_make(STATUS_USAGE, "%s=%s is not understood; give %s or %s=%.*s", row->name, text, row->name,
                     row->name, (int)length, word);
}

static struct status read_value(const struct option_row *row, struct options *out) {
  void *member = (char *)out + row->offset;
  switch (row->kind) {
    case OPTION_WHOLE:
    case OPTION_COUNT: return read_whole(row, member);
    case OPTION_NUMBER: return read_number(row, member);
    case OPTION_DURATION: return read_duration(row, member);
    case OPTION_CHOICE: return check_choice(row, *(const char **)member);
    case OPTION_WORD: return check_word(row, *(const char **)member);
    case OPTION_TEXT:
    case OPTION_FLAG:
    case OPTION_LIST: break;
  }
  return status_ok();
}

/* ---- of one option ------------------------------------------------------------------------------------------- */

/* Does the row give the verb its default? A verb without an option of this name takes another verb's default, since,
 * for example, the report of a plan also has a seed. */
static bool fills(const struct option_row *row, enum verb verb) {
  return option_is_of(row, verb) || options_table_find(verb, row->name, strlen(row->name)) == NULL;
}

static void apply_defaults(struct options *out) {
  EACH_OPTION(row, VERB_COUNT) {
    if (row->default_value == NULL || !fills(row, out->verb)) continue;
    const char **text = options_table_text(row, out);
    if (*text == NULL) *text = row->default_value;
  }
}

static void apply_computed_defaults(struct options *out) {
  if (out->verb == VERB_RUN && out->rounds.text == NULL) out->rounds.text = out->baseline != NULL ? "5" : "1";
  out->rounds_in_steps = (out->verb == VERB_AB || out->verb == VERB_GATE) && out->rounds.text == NULL;
  if (out->rounds_in_steps) out->rounds.text = "7";
  if (out->verb == VERB_GATE && out->controls.text == NULL) out->controls.text = out->from == NULL ? "3" : "0";
}

static struct status check_rounds(const struct options *o) {
  if (o->baseline != NULL && o->rounds.value < COMPARED_ROUNDS_MIN)
    return status_make(STATUS_USAGE, "--rounds %s is too few; a comparison needs %d to 64", o->rounds.text,
                       COMPARED_ROUNDS_MIN);
  if (o->verb == VERB_GATE && o->from == NULL && o->processes.value < 2 * o->rounds.value)
    return status_make(STATUS_USAGE, "--processes %s is too few for two sides of --rounds %s; give at least %d",
                       o->processes.text, o->rounds.text, (int)(2 * o->rounds.value));
  return status_ok();
}

static struct status check_controls(const struct options *o) {
  if (o->verb != VERB_GATE || o->from == NULL || o->controls.value == 0) return status_ok();
  return status_make(STATUS_USAGE, "--controls: a slowdown is put into cells of a sweep; give --sweep, not --from");
}

static struct status read_threshold_for(const char *text, struct options_threshold *out) {
  static const char name[] = "--threshold";
  const struct option_row *row = options_table_find(VERB_COMPARE, name, strlen(name));
  const char *equals = strrchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
  struct options_number percent = {.text = equals != NULL ? equals + 1 : NULL};
  const struct status status = read_number(row, &percent);
  if (length == 0 || length >= sizeof out->glob || status_failed(&status))
    return status_make(STATUS_USAGE,
                       "--threshold-for %.160s is not GLOB=PERCENT; give a glob of KEY/VARIANT and a threshold of %g "
                       "to %g percent, such as '*/wmma=5'",
                       text, row->least, row->most);
  memcpy(out->glob, text, length);
  out->glob[length] = '\0';
  out->percent = percent.value;
  return status_ok();
}

/* Replaces the name of a shipped sweep by its path, unless a file has that name. So an output over that file is
 * refused, and another program that gets the option reads the same file. */
static void find_sweep(struct options *out) {
  if (out->sweep != NULL && shipped_find(out->sweep, out->shipped_sweep)) out->sweep = out->shipped_sweep;
}

struct status options_values(struct options *out) {
  find_sweep(out);
  apply_defaults(out);
  apply_computed_defaults(out);
  EACH_OPTION(row, VERB_COUNT) {
    if (fills(row, out->verb)) TRY(read_value(row, out));
  }
  TRY(options_shard(out));
  TRY(check_rounds(out));
  TRY(check_controls(out));
  for (size_t i = 0; i < out->threshold_for.count; ++i)
    TRY(read_threshold_for(out->threshold_for.item[i], &out->threshold_for_value[i]));
  return status_ok();
}
