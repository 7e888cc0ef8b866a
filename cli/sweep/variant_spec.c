/* Reads a variant spec, and names the nearest variant or tunable where one is unknown. */
#include "cli/sweep/variant_spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "name:key=value,key=value" being read, left to right. */
struct spec_reader {
  const char *text;
  char *problem; /* VARIANT_SPEC_PROBLEM_MAX bytes */
  struct variant_spec *out;
  bool given[ATTN_TUNABLES_MAX];
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct spec_reader *reader, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(reader->problem, VARIANT_SPEC_PROBLEM_MAX, format, args);
  va_end(args);
  return false;
}

static bool unknown_variant(struct spec_reader *reader, const char *name) {
  const char *names[SWEEP_VARIANTS_MAX + 1] = {NULL};
  for (size_t i = 0; i < variant_count() && i < SWEEP_VARIANTS_MAX; ++i) names[i] = variant_at(i)->name;
  const char *nearest = json_nearest(name, names);
  if (!nearest)
    return refuse(
        reader,
        "has %s, which is not a variant; `attnbench list` shows those that are built in, --load adds your own",
        json_quote(name).text);
  return refuse(reader, "has %s, which is not a variant; did you mean \"%s\"?", json_quote(name).text, nearest);
}

static bool unknown_tunable(struct spec_reader *reader, const char *key) {
  const struct attn_variant *variant = reader->out->variant;
  const char *names[ATTN_TUNABLES_MAX + 1] = {NULL};
  const size_t count = variant_tunable_count(variant);
  if (count == 0)
    return refuse(reader, "has %s, but %s has no tunables; write \"%s\" alone", json_quote(reader->text).text,
                  variant->name, variant->name);
  for (size_t i = 0; i < count; ++i) names[i] = variant->tunables[i].name;
  const char *nearest = json_nearest(key, names);
  return refuse(reader, "has %s, but %s has no tunable %s; did you mean \"%s\"?", json_quote(reader->text).text,
                variant->name, json_quote(key).text, nearest ? nearest : names[0]);
}

/* A plain decimal integer: no space, no plus sign, no leading zero. */
static bool parse_integer(const char *text, int64_t *out) {
  const char *digits = text + (*text == '-');
  const size_t length = strspn(digits, "0123456789");
  if (length == 0 || length > 10 || digits[length] != '\0' || (*digits == '0' && length > 1)) return false;
  *out = strtoll(text, NULL, 10);
  return true;
}

/* One "key=value"; writes over it. */
static bool read_setting(struct spec_reader *reader, char *setting) {
  const struct attn_tunable *tunables = reader->out->variant->tunables;
  const size_t count = variant_tunable_count(reader->out->variant);
  char *equals = strchr(setting, '=');
  size_t index = 0;
  int64_t value = 0;
  if (!equals)
    return refuse(reader, "has %s; write a tunable as key=value after \"%s:\"", json_quote(reader->text).text,
                  reader->out->variant->name);
  *equals = '\0';
  while (index < count && strcmp(tunables[index].name, setting) != 0) ++index;
  if (index == count) return unknown_tunable(reader, setting);
  if (reader->given[index])
    return refuse(reader, "has %s, which sets %s twice; remove one of the two", json_quote(reader->text).text,
                  setting);
  if (!parse_integer(equals + 1, &value) || value < tunables[index].min || value > tunables[index].max)
    return refuse(reader, "has %s, whose %s must be a whole number from %" PRId32 " to %" PRId32 "; change it",
                  json_quote(reader->text).text, setting, tunables[index].min, tunables[index].max);
  reader->given[index] = true;
  reader->out->tuning.value[index] = (int32_t)value;
  return true;
}

/* False when it does not fit. */
static bool write_canonical(const bool given[ATTN_TUNABLES_MAX], struct variant_spec *out) {
  const size_t count = variant_tunable_count(out->variant);
  int used = snprintf(out->text, sizeof out->text, "%s", out->variant->name);
  char separator = ':';
  for (size_t i = 0; i < count; ++i) {
    if (!given[i]) continue;
    used += snprintf(out->text + used, sizeof out->text - (size_t)used, "%c%s=%" PRId32, separator,
                     out->variant->tunables[i].name, out->tuning.value[i]);
    if ((size_t)used >= sizeof out->text) return false;
    separator = ',';
  }
  return true;
}

bool variant_spec_read(const char *text, struct variant_spec *out, char problem[VARIANT_SPEC_PROBLEM_MAX]) {
  struct spec_reader reader = {.text = text, .problem = problem, .out = out};
  char copy[VARIANT_SPEC_MAX];
  memset(out, 0, sizeof *out);
  if (strlen(text) >= sizeof copy)
    return refuse(&reader, "has %s, which is longer than %d bytes; shorten it", json_quote(text).text,
                  VARIANT_SPEC_MAX - 1);
  memcpy(copy, text, strlen(text) + 1);
  char *rest = strchr(copy, ':');
  if (rest) *rest++ = '\0';
  out->variant = variant_find(copy);
  if (!out->variant) return unknown_variant(&reader, copy);
  out->tuning = variant_default_tuning(out->variant);
  while (rest) {
    char *setting = rest;
    rest = strchr(setting, ',');
    if (rest) *rest++ = '\0';
    if (!read_setting(&reader, setting)) return false;
  }
  return write_canonical(reader.given, out); /* the given text with its settings in another order: it fits */
}

bool variant_spec_gives(const struct variant_spec *spec, size_t tunable) {
  const char *name = spec->variant->tunables[tunable].name;
  const size_t length = strlen(name);
  for (const char *at = strpbrk(spec->text, ":,"); at != NULL; at = strpbrk(at + 1, ":,")) {
    if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=') return true;
  }
  return false;
}

bool variant_spec_with(const struct variant_spec *base, const struct attn_tuning *tuning, struct variant_spec *out) {
  bool given[ATTN_TUNABLES_MAX] = {false};
  for (size_t i = 0; i < variant_tunable_count(base->variant); ++i)
    given[i] = variant_spec_gives(base, i) || tuning->value[i] != base->variant->tunables[i].default_value;
  *out = (struct variant_spec){.variant = base->variant, .tuning = *tuning};
  return write_canonical(given, out);
}

struct status variant_spec_parse(const char *text, const char *where, enum status_code code,
                                 struct variant_spec *out) {
  char problem[VARIANT_SPEC_PROBLEM_MAX];
  if (variant_spec_read(text, out, problem)) return status_ok();
  return status_make(code, "%s %s", where, problem);
}

size_t variant_spec_length(const char *text) {
  size_t length = strcspn(text, ",");
  while (text[length] == ',') {
    const char *next = text + length + 1;
    const size_t part = strcspn(next, ",");
    if (memchr(next, '=', part) == NULL || memchr(next, ':', part) != NULL) break;
    length += 1 + part;
  }
  return length;
}
