/* Reads shapes of the command line into a sweep. */
#include "cli/sweep/shape_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/reading.h"

enum { VALUES_MAX = 256, TOKEN_MAX = 64 };

/* In the order of expansion. */
enum axis { AXIS_B, AXIS_H, AXIS_S, AXIS_D, AXIS_DTYPE, AXIS_MASK, AXIS_LSE, AXIS_COUNT };

static const struct {
  const char *key;
  uint32_t most; /* 0: not a number */
  char pair;     /* between the two numbers of a pair; 0: there are none */
} axes[AXIS_COUNT] = {
    [AXIS_B] = {"B", SWEEP_B_MAX, 0}, [AXIS_H] = {"H", SWEEP_H_MAX, '/'}, [AXIS_S] = {"S", SWEEP_S_MAX, 'x'},
    [AXIS_D] = {"D", SWEEP_D_MAX, 0}, [AXIS_DTYPE] = {"dtype", 0, 0},     [AXIS_MASK] = {"causal", 0, 0},
    [AXIS_LSE] = {"lse", 0, 0}};

/* A number, a pair of them, a dtype, or a boolean. */
struct value {
  uint32_t first, second;
};

struct spec {
  const char *text;
  struct value value[AXIS_COUNT][VALUES_MAX];
  size_t count[AXIS_COUNT];
};

/* ---- values -------------------------------------------------------------------------------------------------- */

static struct status add_value(struct spec *spec, enum axis axis, uint32_t first, uint32_t second) {
  if (spec->count[axis] == VALUES_MAX) {
    return status_make(STATUS_USAGE, "--shape %s: more than %d values of %s; give fewer, or several --shape",
                       spec->text, VALUES_MAX, axes[axis].key);
  }
  spec->value[axis][spec->count[axis]++] = (struct value){first, second};
  return status_ok();
}

/* Reads digits and moves on behind them. */
static struct status read_number(const struct spec *spec, enum axis axis, const char **at, uint32_t *out) {
  const size_t length = strspn(*at, "0123456789");
  const unsigned long number = length > 0 && length < 10 ? strtoul(*at, NULL, 10) : 0;
  if (number < 1 || number > axes[axis].most) {
    return status_make(STATUS_USAGE, "--shape %s: \"%s\" is not a value of %s; give whole numbers from 1 to %" PRIu32,
                       spec->text, *at, axes[axis].key, axes[axis].most);
  }
  *out = (uint32_t)number;
  *at += length;
  return status_ok();
}

static struct status bad_value(const struct spec *spec, enum axis axis, const char *text) {
  return status_make(STATUS_USAGE, "--shape %s: \"%s\" is not a value of %s; write 512, 512:4096:*2, 512:4096:+512%s",
                     spec->text, text, axes[axis].key,
                     axis == AXIS_H   ? ", or 32/8 for 32 query heads and 8 KV heads"
                     : axis == AXIS_S ? ", or 1x4096 for 1 query row and 4096 keys"
                                      : "");
}

/* ":LAST:*FACTOR" or ":LAST:+STEP" behind the first number. */
static struct status read_range(struct spec *spec, enum axis axis, const char *text, uint32_t first, const char *at) {
  uint32_t last = 0, step = 0;
  TRY(read_number(spec, axis, &at, &last));
  const bool is_factor = at[0] == ':' && at[1] == '*';
  if (!is_factor && !(at[0] == ':' && at[1] == '+')) return bad_value(spec, axis, text);
  at += 2;
  TRY(read_number(spec, axis, &at, &step));
  if (*at != '\0' || last < first || (is_factor && step < 2)) return bad_value(spec, axis, text);
  for (uint64_t value = first; value <= last; value = is_factor ? value * step : value + step)
    TRY(add_value(spec, axis, (uint32_t)value, (uint32_t)value));
  return status_ok();
}

static struct status read_value(struct spec *spec, enum axis axis, const char *text) {
  const char *at = text;
  uint32_t first = 0, second = 0;
  TRY(read_number(spec, axis, &at, &first));
  if (*at == '\0') return add_value(spec, axis, first, first);
  if (*at == ':') return read_range(spec, axis, text, first, at + 1);
  if (*at != axes[axis].pair) return bad_value(spec, axis, text);
  ++at;
  TRY(read_number(spec, axis, &at, &second));
  return *at == '\0' ? add_value(spec, axis, first, second) : bad_value(spec, axis, text);
}

/* ---- words between commas -------------------------------------------------------------------------------------- */

/* A dtype, a mask or lse stands without its key; false: it is none of them. */
static bool read_word(const char *text, enum axis *axis, uint32_t *value) {
  static const struct {
    const char *word;
    enum axis axis;
    uint32_t value;
  } words[] = {{"full", AXIS_MASK, 0},        {"causal", AXIS_MASK, 1}, {"causal=false", AXIS_MASK, 0},
               {"causal=true", AXIS_MASK, 1}, {"lse", AXIS_LSE, 1},     {"lse=false", AXIS_LSE, 0},
               {"lse=true", AXIS_LSE, 1}};
  enum attn_dtype dtype = ATTN_F16;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strcmp(text, words[i].word) != 0) continue;
    *axis = words[i].axis;
    *value = words[i].value;
    return true;
  }
  if (!case_key_read_dtype(strncmp(text, "dtype=", 6) == 0 ? text + 6 : text, &dtype)) return false;
  *axis = AXIS_DTYPE;
  *value = (uint32_t)dtype;
  return true;
}

static bool find_axis(const char *text, size_t length, enum axis *out) {
  for (enum axis axis = 0; axis < AXIS_DTYPE; ++axis) {
    if (strlen(axes[axis].key) != length || strncmp(axes[axis].key, text, length) != 0) continue;
    *out = axis;
    return true;
  }
  return false;
}

static struct status bad_word(const struct spec *spec, const char *text) {
  return status_make(
      STATUS_USAGE,
      "--shape %s: \"%s\" is not understood; the keys are B H S D, as in B=1,H=32/8,S=1x4096,D=128, and "
      "f16, bf16, f32, full, causal and lse stand alone",
      spec->text, text);
}

/* *axis is that of the last key: a value without one belongs to it. */
static struct status read_token(struct spec *spec, const char *text, enum axis *axis) {
  const char *equals = strchr(text, '=');
  enum axis of_word;
  uint32_t word = 0;
  if (read_word(text, &of_word, &word)) return add_value(spec, of_word, word, word);
  if (equals == NULL && *axis < AXIS_DTYPE && *text >= '0' && *text <= '9') return read_value(spec, *axis, text);
  if (equals == NULL || !find_axis(text, (size_t)(equals - text), axis)) return bad_word(spec, text);
  if (spec->count[*axis] > 0) {
    return status_make(STATUS_USAGE, "--shape %s: %s is given twice; list its values with commas", spec->text,
                       axes[*axis].key);
  }
  return read_value(spec, *axis, equals + 1);
}

static struct status check_complete(const struct spec *spec) {
  for (enum axis axis = 0; axis < AXIS_DTYPE; ++axis) {
    if (spec->count[axis] > 0) continue;
    return status_make(STATUS_USAGE, "--shape %s: has no %s; write for example B=1,H=8,S=512,D=64", spec->text,
                       axes[axis].key);
  }
  return status_ok();
}

static struct status read_tokens(struct spec *spec) {
  enum axis axis = AXIS_COUNT;
  for (const char *at = spec->text;; ++at) {
    char token[TOKEN_MAX];
    const size_t length = strcspn(at, ",");
    snprintf(token, sizeof token, "%.*s", (int)length, at);
    if (length == 0 || length >= sizeof token) return bad_word(spec, token);
    TRY(read_token(spec, token, &axis));
    at += length;
    if (*at == '\0') break;
  }
  TRY(check_complete(spec));
  if (spec->count[AXIS_DTYPE] == 0) TRY(add_value(spec, AXIS_DTYPE, ATTN_F16, 0));
  if (spec->count[AXIS_MASK] == 0) TRY(add_value(spec, AXIS_MASK, 0, 0));
  return spec->count[AXIS_LSE] == 0 ? add_value(spec, AXIS_LSE, 0, 0) : status_ok();
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

static bool has_case(const struct sweep *sweep, const char *key) {
  for (size_t i = 0; i < sweep->case_count; ++i) {
    if (strcmp(sweep->cases[i].key, key) == 0) return true;
  }
  return false;
}

static struct status add_case(const char *spec, const struct attn_shape *shape, struct sweep *out) {
  struct attn_case made = {.shape = *shape};
  char problem[CASES_PROBLEM_MAX];
  case_key(shape, made.key);
  if (!cases_are_sound(shape, problem)) return status_make(STATUS_USAGE, "--shape %s: %s", spec, problem);
  if (has_case(out, made.key)) return status_ok();
  if (out->case_count == SWEEP_CASES_MAX)
    return status_make(STATUS_USAGE, "--shape %s: more than %d cases; give fewer values", spec, SWEEP_CASES_MAX);
  out->cases[out->case_count++] = made;
  return status_ok();
}

static struct attn_shape shape_of(const struct spec *spec, const size_t at[AXIS_COUNT]) {
  const struct value heads = spec->value[AXIS_H][at[AXIS_H]], lengths = spec->value[AXIS_S][at[AXIS_S]];
  return (struct attn_shape){.B = spec->value[AXIS_B][at[AXIS_B]].first,
                             .Hq = heads.first,
                             .Hkv = heads.second,
                             .Sq = lengths.first,
                             .Skv = lengths.second,
                             .D = spec->value[AXIS_D][at[AXIS_D]].first,
                             .dtype = (enum attn_dtype)spec->value[AXIS_DTYPE][at[AXIS_DTYPE]].first,
                             .causal = spec->value[AXIS_MASK][at[AXIS_MASK]].first != 0,
                             .lse = spec->value[AXIS_LSE][at[AXIS_LSE]].first != 0};
}

/* Moves the odometer on by one, the last axis first; false when it is through. */
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
    const struct attn_shape shape = shape_of(spec, at);
    TRY(add_case(spec->text, &shape, out));
  } while (advance(spec, at));
  return status_ok();
}

static struct status add_spec(const char *text, struct sweep *out) {
  struct attn_shape shape;
  struct spec spec = {.text = text};
  if (strchr(text, '=') == NULL && case_key_read(text, &shape)) return add_case(text, &shape, out);
  TRY(read_tokens(&spec));
  return add_cases(&spec, out);
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

static struct status add_specs(const char *const *specs, size_t count, struct sweep *out) {
  for (size_t i = 0; i < count; ++i) {
    const size_t used = strlen(out->about);
    snprintf(out->about + used, sizeof out->about - used, "%s%s", i > 0 ? " " : "", specs[i]);
    TRY(add_spec(specs[i], out));
  }
  sweep_hash_cases(out);
  return status_ok();
}

struct status shape_spec_sweep(const char *const *specs, size_t count, struct sweep *out) {
  *out = (struct sweep){.path = SHAPE_SPEC_PATH, .name = "shape"};
  out->cases = malloc(SWEEP_CASES_MAX * sizeof *out->cases);
  if (out->cases == NULL) return status_make(STATUS_MEMORY, "no memory for the cases of --shape");
  const struct status status = add_specs(specs, count, out);
  if (status_failed(&status)) sweep_free(out);
  return status;
}
