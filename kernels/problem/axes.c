/* Reads and writes the members of a problem, as the rows of axes.def say. */
#include "kernels/problem/axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/problem/tensor.h"

#define AXIS_MEMBERS(first, second)                                                              \
  .offset = offsetof(struct attn_problem, first), .also = offsetof(struct attn_problem, second), \
  .member = {#first, #second}
#define AXIS_MEMBER(member) AXIS_MEMBERS(member, member)
#define AXIS_LIKE(member_)  .like = offsetof(struct attn_problem, member_)

static const struct attn_axis axes[AXIS_COUNT] = {
#define AXIS(id, presence, ...) [AXIS_##id] = {.name = #id, .written = AXIS_##presence, __VA_ARGS__},
#define ALIAS(id, ...)          [AXIS_##id] = {.name = #id, .written = AXIS_NEVER, __VA_ARGS__},
#include "kernels/problem/axes.def"
#undef AXIS
#undef ALIAS
};

const struct attn_axis *axes_at(size_t id) { return &axes[id]; }
enum axis_id axes_id_of(const struct attn_axis *axis) { return (enum axis_id)(axis - axes); }

const struct attn_axis *axes_find(const char *name, size_t length) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if (strlen(axes[i].name) == length && strncmp(axes[i].name, name, length) == 0) return &axes[i];
  }
  return NULL;
}

bool axes_parts(const struct attn_axis *alias, const struct attn_axis *part[2]) {
  part[0] = part[1] = NULL;
  for (size_t i = 0; i < AXIS_COUNT && axes_is_alias(alias); ++i) {
    if (axes_is_alias(&axes[i])) continue;
    if (axes[i].offset == alias->offset) part[0] = &axes[i];
    if (axes[i].offset == alias->also) part[1] = &axes[i];
  }
  return part[0] != NULL && part[1] != NULL;
}

/* The axis that stands for this one and another; NULL: none does. */
static const struct attn_axis *alias_of(const struct attn_axis *axis) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const struct attn_axis *part[2];
    if (axes_parts(&axes[i], part) && (part[0] == axis || part[1] == axis)) return &axes[i];
  }
  return NULL;
}

/* ---- members ------------------------------------------------------------------------------------------------- */

static int32_t *bound_at(struct attn_problem *p, size_t offset) { return (int32_t *)((char *)p + offset); }

static float *real_at(struct attn_problem *p, size_t offset) { return (float *)((char *)p + offset); }

/* The nearest number of thousandths, of which a float is off. */
static double in_thousandths(double value) { return round(value * 1000) / 1000; }

/* 0.5 stands for a mask that is neither full nor causal. */
static double causal_value(const struct attn_problem *problem) {
  return problem->right == 0 ? 1 : problem->right < 0 && problem->left < 0 ? 0 : 0.5;
}

static struct attn_batch *batch_at(struct attn_problem *p, size_t offset) {
  return (struct attn_batch *)((char *)p + offset);
}

static struct attn_sparse *sparse_at(struct attn_problem *p, size_t offset) {
  return (struct attn_sparse *)((char *)p + offset);
}

static uint32_t *whole_at(struct attn_problem *p, size_t offset) { return (uint32_t *)((char *)p + offset); }

struct axis_value axes_get(const struct attn_axis *axis, const struct attn_problem *problem) {
  const char *first = (const char *)problem + axis->offset, *second = (const char *)problem + axis->also;
  switch (axis->kind) {
    case AXIS_WHOLE:
      return (struct axis_value){.first = *(const uint32_t *)first, .second = *(const uint32_t *)second};
    case AXIS_DTYPE: return (struct axis_value){.first = *(const enum attn_dtype *)first};
    case AXIS_NAME: return (struct axis_value){.first = *(const unsigned *)first};
    case AXIS_FLAG: return (struct axis_value){.first = *(const bool *)first};
    case AXIS_CAUSAL: return (struct axis_value){.first = causal_value(problem)};
    case AXIS_REAL: return (struct axis_value){.first = in_thousandths((double)*(const float *)first)};
    case AXIS_BATCH: return (struct axis_value){.batch = *(const struct attn_batch *)first};
    case AXIS_SPARSE: return (struct axis_value){.sparse = *(const struct attn_sparse *)first};
    case AXIS_BOUNDS:
      return (struct axis_value){.first = *(const int32_t *)first, .second = *(const int32_t *)second};
  }
  return (struct axis_value){.first = NAN, .second = NAN};
}

void axes_set(const struct attn_axis *axis, struct axis_value value, struct attn_problem *out) {
  switch (axis->kind) {
    case AXIS_WHOLE:
      *whole_at(out, axis->also) = (uint32_t)value.second;
      *whole_at(out, axis->offset) = (uint32_t)value.first;
      break;
    case AXIS_DTYPE: *(enum attn_dtype *)((char *)out + axis->offset) = (enum attn_dtype)value.first; break;
    case AXIS_NAME: *(unsigned *)((char *)out + axis->offset) = (unsigned)value.first; break;
    case AXIS_FLAG: *(bool *)((char *)out + axis->offset) = value.first != 0; break;
    case AXIS_CAUSAL:
      out->left = -1;
      out->right = value.first == 1 ? 0 : -1;
      break;
    case AXIS_REAL: *real_at(out, axis->offset) = (float)value.first; break;
    case AXIS_BATCH: *batch_at(out, axis->offset) = value.batch; break;
    case AXIS_SPARSE: *sparse_at(out, axis->offset) = value.sparse; break;
    case AXIS_BOUNDS:
      *bound_at(out, axis->offset) = (int32_t)value.first;
      *bound_at(out, axis->also) = (int32_t)value.second;
      break;
  }
}

void axes_complete(struct attn_problem *problem) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    uint32_t *member = whole_at(problem, axes[i].offset);
    if (axes[i].like != 0 && *member == 0) *member = *whole_at(problem, axes[i].like);
  }
  const unsigned out_dtype = problem->out_dtype;
  problem->out_dtype = 0;
  if (out_dtype != 1 + (unsigned)attn_out_dtype(problem)) problem->out_dtype = out_dtype;
  if (attn_dtype_is_scaled(problem->dtype)) problem->kv_dtype = 0;
}

uint32_t axes_least(const struct attn_axis *axis) {
  return axis->like != 0 || axis->required || axes_is_alias(axis) ? 1 : 0;
}

/* Gives the axis its default: the first type, no bound, no number, or what the axis is like. */
static void set_default(const struct attn_axis *axis, struct attn_problem *problem) {
  switch (axis->kind) {
    case AXIS_WHOLE:
      if (axis->like != 0) *whole_at(problem, axis->offset) = *whole_at(problem, axis->like);
      if (axes_least(axis) == 0) *whole_at(problem, axis->offset) = 0;
      break;
    case AXIS_DTYPE:
    case AXIS_NAME:
    case AXIS_FLAG:
    case AXIS_BATCH:
    case AXIS_SPARSE:
    case AXIS_REAL: axes_set(axis, (struct axis_value){.first = 0}, problem); break;
    case AXIS_CAUSAL:
    case AXIS_BOUNDS: axes_set(axis, (struct axis_value){.first = -1, .second = -1}, problem); break;
  }
}

static struct attn_problem default_problem(void) {
  struct attn_problem problem = {.B = 0};
  for (size_t i = 0; i < AXIS_COUNT; ++i) set_default(&axes[i], &problem);
  return problem;
}

static struct axis_value default_of(const struct attn_axis *axis, struct attn_problem problem) {
  set_default(axis, &problem);
  return axes_get(axis, &problem);
}

bool axes_value_same(const struct axis_value *a, const struct axis_value *b) {
  return a->first == b->first && a->second == b->second && attn_batch_same(&a->batch, &b->batch) &&
         attn_sparse_same(&a->sparse, &b->sparse);
}

bool axes_is_default(const struct attn_axis *axis, const struct attn_problem *problem) {
  const struct axis_value usual = default_of(axis, *problem), value = axes_get(axis, problem);
  if (axis->kind == AXIS_BOUNDS) return value.first < 0 && value.second <= 0; /* full or causal */
  return !axis->required && axes_value_same(&value, &usual);
}

bool axes_needs_words(const struct attn_axis *axis, const struct attn_problem *problem) {
  if (axis->kind == AXIS_DTYPE) return attn_is_scaled(problem, ATTN_K); /* the other types are what they are */
  return axis->convention != NULL && !axes_is_default(axis, problem);
}

bool axes_is_written(const struct attn_axis *axis, const struct attn_problem *problem) {
  switch (axis->written) {
    case AXIS_ALWAYS: return true;
    case AXIS_UNLESS_DEFAULT: return !axes_is_default(axis, problem);
    case AXIS_NEVER: break;
  }
  return false;
}

void axes_reset(const struct attn_axis *axis, struct attn_problem *problem) {
  if (!axis->required && !axes_is_alias(axis)) axes_set(axis, default_of(axis, *problem), problem);
}

bool axes_excludes(const struct attn_axis *a, const struct attn_axis *b) {
  return a != b && a->offset == b->offset && a->also == b->also;
}

/* ---- values as texts ----------------------------------------------------------------------------------------- */

enum { WHOLE_READ_MOST = 999999999 }; /* beyond every limit, and within a uint32_t */

static const char *read_whole(const char *text, double *out) {
  char *end = NULL;
  if (*text < '0' || *text > '9') return NULL;
  const unsigned long long value = strtoull(text, &end, 10);
  *out = (double)value;
  return value <= WHOLE_READ_MOST ? end : NULL;
}

/* "50", "0.125"; of more than three digits behind the dot none is left. */
static const char *read_real(const char *text, struct axis_value *out) {
  double whole = 0, thousandths = 0;
  const char *end = read_whole(text, &whole);
  if (end != NULL && end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
    ++end;
    for (double unit = 100; *end >= '0' && *end <= '9' && unit >= 1; unit /= 10) thousandths += unit * (*end++ - '0');
  }
  *out = (struct axis_value){.first = whole + thousandths / 1000};
  return end;
}

static void write_real(double value, char out[AXIS_VALUE_TEXT_MAX]) {
  const uint64_t thousandths = (uint64_t)round(value * 1000);
  char digits[4] = "";
  snprintf(digits, sizeof digits, "%03u", (unsigned)(thousandths % 1000));
  for (size_t last = 3; last > 0 && digits[last - 1] == '0'; --last) digits[last - 1] = '\0';
  snprintf(out, AXIS_VALUE_TEXT_MAX, "%" PRIu64 "%s%s", thousandths / 1000, digits[0] != '\0' ? "." : "", digits);
}

/* "1023:0"; -1 is no bound. */
static const char *read_bound(const char *text, double *out) {
  const bool is_none = text[0] == '-' && text[1] == '1';
  *out = -1;
  return is_none ? text + 2 : read_whole(text, out);
}

static const char *read_bounds(const struct attn_axis *axis, const char *text, struct axis_value *out) {
  const char *end = read_bound(text, &out->first);
  return end != NULL && *end == axis->pair ? read_bound(end + 1, &out->second) : NULL;
}

static const char *read_wholes(const struct attn_axis *axis, const char *text, struct axis_value *out) {
  const char *end = read_whole(text, &out->first);
  out->second = out->first;
  if (end == NULL || axis->pair == 0 || *end != axis->pair) return end;
  return read_whole(end + 1, &out->second);
}

/* What follows `word` in the text; NULL: it does not begin with it. */
static const char *behind(const char *text, const char *word) {
  const size_t length = strlen(word);
  return strncmp(text, word, length) == 0 ? text + length : NULL;
}

static const char *read_boolean(const char *text, struct axis_value *out) {
  const char *is_true = behind(text, "true"), *end = is_true != NULL ? is_true : behind(text, "false");
  *out = (struct axis_value){.first = is_true != NULL};
  return end;
}

static const char *read_dtype(const char *text, struct axis_value *out) {
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT; ++i) {
    const char *end = behind(text, attn_dtype_name((enum attn_dtype)i));
    *out = (struct axis_value){.first = i};
    if (end != NULL) return end;
  }
  return NULL;
}

static const char *read_name(const struct attn_axis *axis, const char *text, struct axis_value *out) {
  for (unsigned i = 0; i < AXIS_NAMES_MAX && axis->names[i] != NULL; ++i) {
    const char *end = behind(text, axis->names[i]);
    *out = (struct axis_value){.first = i};
    if (end != NULL) return end;
  }
  return NULL;
}

const char *axes_value_read(const struct attn_axis *axis, const char *text, struct axis_value *out) {
  switch (axis->kind) {
    case AXIS_WHOLE: return read_wholes(axis, text, out);
    case AXIS_DTYPE: return read_dtype(text, out);
    case AXIS_NAME: return read_name(axis, text, out);
    case AXIS_FLAG:
    case AXIS_CAUSAL: return read_boolean(text, out);
    case AXIS_REAL: return read_real(text, out);
    case AXIS_BATCH: *out = (struct axis_value){.first = 0}; return attn_batch_read(text, &out->batch);
    case AXIS_SPARSE: *out = (struct axis_value){.first = 0}; return attn_sparse_read(text, &out->sparse);
    case AXIS_BOUNDS: return read_bounds(axis, text, out);
  }
  return NULL;
}

void axes_value_write(const struct attn_axis *axis, struct axis_value value, char out[AXIS_VALUE_TEXT_MAX]) {
  const char *text = value.first == 1 ? "true" : "false";
  switch (axis->kind) {
    case AXIS_WHOLE:
      snprintf(out, AXIS_VALUE_TEXT_MAX, "%" PRIu32, (uint32_t)value.first);
      if (value.first == value.second) return;
      snprintf(out, AXIS_VALUE_TEXT_MAX, "%" PRIu32 "%c%" PRIu32, (uint32_t)value.first, axis->pair,
               (uint32_t)value.second);
      return;
    case AXIS_DTYPE: text = attn_dtype_name((enum attn_dtype)value.first); break;
    case AXIS_NAME: text = axis->names[(unsigned)value.first]; break;
    case AXIS_REAL: write_real(value.first, out); return;
    case AXIS_BATCH: attn_batch_write(&value.batch, out); return;
    case AXIS_SPARSE: attn_sparse_write(&value.sparse, out); return;
    case AXIS_BOUNDS:
      snprintf(out, AXIS_VALUE_TEXT_MAX, "%" PRId32 "%c%" PRId32, (int32_t)value.first, axis->pair,
               (int32_t)value.second);
      return;
    case AXIS_FLAG:
    case AXIS_CAUSAL: break;
  }
  snprintf(out, AXIS_VALUE_TEXT_MAX, "%s", text);
}

bool axes_value_is_allowed(const struct attn_axis *axis, struct axis_value value) {
  const double least = axis->kind == AXIS_BOUNDS ? -1 : (double)axes_least(axis);
  if (axis->kind == AXIS_REAL) return value.first >= 0 && value.first <= axis->most;
  if (axis->kind == AXIS_SPARSE) return attn_sparse_is_sound(&value.sparse);
  return axis->most == 0 ||
         (value.first >= least && value.first <= axis->most && value.second >= least && value.second <= axis->most);
}

bool axes_is_ordered(const struct attn_axis *axis) { return axis->kind == AXIS_WHOLE || axis->kind == AXIS_REAL; }

/* "bhsd", "bshd" or "qkv". */
static void write_names(const struct attn_axis *axis, const char *quote, char out[AXIS_WANTED_MAX]) {
  size_t used = 0;
  for (unsigned i = 0; i < AXIS_NAMES_MAX && axis->names[i] != NULL; ++i) {
    const bool is_last = i + 1 == AXIS_NAMES_MAX || axis->names[i + 1] == NULL;
    used += (size_t)snprintf(out + used, AXIS_WANTED_MAX - used, "%s%s%s%s",
                             i == 0    ? ""
                             : is_last ? " or "
                                       : ", ",
                             quote, axis->names[i], quote);
  }
}

void axes_value_wanted(const struct attn_axis *axis, const char *quote, char out[AXIS_WANTED_MAX]) {
  switch (axis->kind) {
    case AXIS_WHOLE:
      snprintf(out, AXIS_WANTED_MAX, "a whole number from %" PRIu32 " to %" PRIu32, axes_least(axis), axis->most);
      break;
    case AXIS_DTYPE: attn_dtype_list(ATTN_DTYPES_ALL, quote, " or ", out); break;
    case AXIS_NAME: write_names(axis, quote, out); break;
    case AXIS_REAL:
      snprintf(out, AXIS_WANTED_MAX, "0, or a number from 0.001 to %" PRIu32 " in steps of 0.001", axis->most);
      break;
    case AXIS_BATCH:
      snprintf(out, AXIS_WANTED_MAX, "%suniform%s, groups such as %s2q2k_4q512s4k%s, or %sragged:SEED%s", quote,
               quote, quote, quote, quote, quote);
      break;
    case AXIS_SPARSE:
      snprintf(out, AXIS_WANTED_MAX,
               "%sdense%s, %s128:0.25%s for blocks of 128 tokens, or %s128:sliding=3+global=1%s", quote, quote, quote,
               quote, quote, quote);
      break;
    case AXIS_BOUNDS:
      snprintf(out, AXIS_WANTED_MAX, "%s, each a whole number from 0 to %" PRIu32 ", or -1 for no bound",
               quote[0] != '\0' ? "[LEFT, RIGHT]" : "LEFT:RIGHT", axis->most);
      break;
    case AXIS_FLAG:
    case AXIS_CAUSAL: snprintf(out, AXIS_WANTED_MAX, "true or false"); break;
  }
}

void axes_default_text(const struct attn_axis *axis, char out[AXIS_VALUE_TEXT_MAX]) {
  const struct attn_problem defaults = default_problem();
  const struct attn_axis *other = alias_of(axis);
  for (size_t i = 0; i < AXIS_COUNT && axis->like != 0; ++i) {
    if (axes[i].offset == axis->like) other = &axes[i];
  }
  out[0] = '\0';
  if (other != NULL) {
    snprintf(out, AXIS_VALUE_TEXT_MAX, "%s", other->name);
  } else if (!axis->required && !axes_is_alias(axis)) {
    axes_value_write(axis, axes_get(axis, &defaults), out);
  }
}

static bool is_word(const char *text, const char *word) { return word != NULL && strcmp(text, word) == 0; }

bool axes_word_read(const char *text, const struct attn_axis **axis, struct axis_value *out) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const bool is_named = axes[i].kind == AXIS_DTYPE || axes[i].kind == AXIS_NAME;
    const char *end = is_named && axes[i].key == NULL ? axes_value_read(&axes[i], text, out) : NULL;
    const bool is_yes = is_word(text, axes[i].yes), is_no = is_word(text, axes[i].no);
    *axis = &axes[i];
    if (end != NULL && *end == '\0') return true;
    *out = (struct axis_value){.first = is_yes};
    if (is_yes || is_no) return true;
  }
  return false;
}

/* ---- problems ------------------------------------------------------------------------------------------------ */

/* What to ask for: the alias where neither of its two axes is given, else the axis itself. */
static const char *missing_name(const struct axis_values *values, const struct attn_axis *axis) {
  const struct attn_axis *alias = alias_of(axis);
  if (alias == NULL) return axis->name;
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if (&axes[i] != alias && values->given[i] && alias_of(&axes[i]) == alias) return axis->name;
  }
  return alias->name;
}

/* Sets what follows from a list of sequences; false where there is none. */
static bool set_listed(const struct axis_values *values, struct attn_problem *out) {
  const struct attn_batch *batch = &values->value[AXIS_batch].batch;
  if (!values->given[AXIS_batch] || batch->groups == 0) return false;
  const struct attn_group extent = attn_batch_extent(batch);
  out->B = extent.count;
  out->Sq = extent.Sq;
  out->Skv = extent.Skv;
  return true;
}

const char *axes_build(const struct axis_values *values, struct attn_problem *out) {
  *out = default_problem();
  const bool is_listed = set_listed(values, out);
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const struct attn_axis *alias = alias_of(&axes[i]);
    if (values->given[i]) axes_set(&axes[i], values->value[i], out);
    if (!axes[i].required || (axes[i].listed && is_listed) || values->given[i] ||
        (alias != NULL && values->given[axes_id_of(alias)]))
      continue;
    return missing_name(values, &axes[i]);
  }
  axes_complete(out);
  return NULL;
}

bool axes_same_problem(const struct attn_problem *a, const struct attn_problem *b) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const struct axis_value left = axes_get(&axes[i], a), right = axes_get(&axes[i], b);
    if (!axes_value_same(&left, &right)) return false;
  }
  return true;
}

/* Every product is below 2^64: at most 2^16 x 2^10 x 2^20 x 2^13 by the limits. */
static bool tensors_are_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(p, (enum attn_role)role, &tensor) || tensor.elements <= ATTN_TENSOR_ELEMENTS_MAX) continue;
    snprintf(why, AXIS_WHY_MAX,
             "has the case %s, whose %s has %" PRIu64 " elements, more than 2^40; make B, H, S or D smaller", key,
             attn_role_name(tensor.role), tensor.elements);
    return false;
  }
  return true;
}

/* What one tensor of all three asks for. */
static bool packing_is_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  bool is_alike = p->Hq == p->Hkv && p->D == p->Dv;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    is_alike = is_alike && group.Sq == group.Skv;
  }
  if (p->layout != ATTN_QKV || is_alike) return true;
  snprintf(why, AXIS_WHY_MAX, "has the case %s; give Sq = Skv, Hq = Hkv and D = Dv where layout is qkv", key);
  return false;
}

/* A type of its own is for what e4m3 is not rounded to, scales are for e4m3. */
static bool types_are_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  const bool has_scales = attn_is_scaled(p, ATTN_K);
  const char *axis = p->out_dtype != 0 && !attn_dtype_is_scaled(p->dtype) ? "out_dtype where dtype is not e4m3"
                     : p->scales != ATTN_SCALES_HEAD && !has_scales
                         ? "scales where neither dtype nor kv_dtype is e4m3"
                     : p->kv_dtype != 0 && p->layout == ATTN_QKV ? "kv_dtype where layout is qkv"
                                                                 : NULL;
  if (axis == NULL) return true;
  snprintf(why, AXIS_WHY_MAX, "has the case %s; leave out %s", key, axis);
  return false;
}

static bool batch_is_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  const struct attn_group extent = attn_batch_extent(&p->batch);
  const bool agrees = extent.count == p->B && extent.Sq == p->Sq && extent.Skv == p->Skv;
  if (!attn_is_ragged(p)) return true;
  if (p->batch.groups > 0 && !agrees) {
    snprintf(why, AXIS_WHY_MAX,
             "has the case %s, whose batch has B = %" PRIu32 ", Sq = %" PRIu32 " and Skv = %" PRIu32
             "; leave out B, S, Sq and Skv where batch lists the sequences",
             key, extent.count, extent.Sq, extent.Skv);
  } else if (p->batch.drawn != 0 && p->B > ATTN_DRAWN_MAX) {
    snprintf(why, AXIS_WHY_MAX, "has the case %s; give B of at most %d where a batch is drawn", key, ATTN_DRAWN_MAX);
  } else if (attn_tokens(p, ATTN_ROWS_QUERIES) > ATTN_TOKENS_MAX ||
             attn_tokens(p, ATTN_ROWS_KEYS) > ATTN_TOKENS_MAX) {
    snprintf(why, AXIS_WHY_MAX, "has the case %s, whose sequences have more than 2^31 - 1 tokens; give fewer", key);
  } else if (p->layout == ATTN_BSHD) {
    snprintf(why, AXIS_WHY_MAX, "has the case %s; leave out layout: the tokens of a batch are [tokens][H][D]", key);
  } else {
    return true;
  }
  return false;
}

/* Keys of the shortest sequence. */
static uint32_t least_keys(const struct attn_problem *p) {
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    if (group.Skv < least) least = group.Skv;
  }
  return least;
}

/* What is wrong with pages, and with V in K; NULL: nothing. */
static const char *pages_wrong(const struct attn_problem *p) {
  if (p->v_in_k && p->Dv > p->D) return "give Dv of at most D where v_in_k is true";
  if (p->v_in_k && p->layout == ATTN_QKV) return "leave out layout or v_in_k: qkv has a V of its own";
  if (p->v_in_k && attn_is_scaled(p, ATTN_K)) return "leave out v_in_k or e4m3: K and V have scales of their own";
  if (p->layout == ATTN_HND && !attn_is_paged(p)) return "give page where layout is hnd: it is an order of pages";
  if (p->prefix > 0 && !attn_is_paged(p)) return "give page where there is a prefix: sequences share pages";
  if (!attn_is_paged(p)) return NULL;
  if (attn_is_sparse(p)) return "leave out sparse or page: lists are of blocks of contiguous keys";
  if (p->layout == ATTN_QKV) return "leave out layout or page: in qkv Q, K and V are one tensor";
  if (p->prefix % p->page != 0) return "give a prefix that is a multiple of page: whole pages are shared";
  if (p->prefix > least_keys(p)) return "give a prefix of at most the keys of the shortest sequence";
  if (p->prefix > 0 && attn_is_scaled(p, ATTN_K) && p->scales != ATTN_SCALES_TENSOR)
    return "give scales tensor beside a prefix: sequences that share keys share their scales";
  if (attn_pages_of(p).all > ATTN_PAGES_MAX) return "give a larger page: the cache has more than 2^31 - 1 pages";
  return NULL;
}

static bool pages_are_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  const char *wrong = pages_wrong(p);
  if (wrong != NULL) snprintf(why, AXIS_WHY_MAX, "has the case %s; %s", key, wrong);
  return wrong == NULL;
}

/* What is counted goes through all lists. */
static bool lists_are_sound(const struct attn_problem *p, const char *key, char why[AXIS_WHY_MAX]) {
  const uint64_t lists = (uint64_t)p->B * p->Hq * attn_blocks_in(p, p->Sq);
  if (lists * attn_blocks_in(p, p->Skv) <= ATTN_BLOCK_PAIRS_MAX) return true;
  snprintf(
      why, AXIS_WHY_MAX,
      "has the case %s, with more than 2^26 pairs of a block of queries and a block of keys; give a larger block",
      key);
  return false;
}

bool axes_problem_is_sound(const struct attn_problem *p, char why[AXIS_WHY_MAX]) {
  char key[AXIS_KEY_MAX], wanted[AXIS_WANTED_MAX];
  axes_key(p, key);
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if (axes_is_alias(&axes[i]) || axes_value_is_allowed(&axes[i], axes_get(&axes[i], p))) continue;
    axes_value_wanted(&axes[i], "", wanted);
    snprintf(why, AXIS_WHY_MAX, "has the case %s; give %s for %s", key, wanted, axes[i].name);
    return false;
  }
  if (p->Hq % p->Hkv != 0) {
    snprintf(why, AXIS_WHY_MAX, "has %" PRIu32 " query heads for %" PRIu32 " KV heads; make Hq a multiple of Hkv",
             p->Hq, p->Hkv);
    return false;
  }
  return batch_is_sound(p, key, why) && packing_is_sound(p, key, why) && pages_are_sound(p, key, why) &&
         lists_are_sound(p, key, why) && types_are_sound(p, key, why) && tensors_are_sound(p, key, why);
}

unsigned axes_takes_of(const struct attn_problem *problem) {
  unsigned takes = 0;
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if (!axes_is_default(&axes[i], problem)) takes |= axes[i].takes;
  }
  return takes;
}

const char *axes_refusal(const struct attn_problem *problem, unsigned takes) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if ((axes[i].takes & ~takes) != 0 && !axes_is_default(&axes[i], problem)) return axes[i].refusal;
  }
  return NULL;
}

void axes_takes_names(unsigned takes, char out[AXIS_TAKES_MAX]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < AXIS_COUNT && used < AXIS_TAKES_MAX; ++i) {
    if ((axes[i].takes & takes) == 0) continue;
    used += (size_t)snprintf(out + used, AXIS_TAKES_MAX - used, "%s%s", used > 0 ? ", " : "", axes[i].name);
  }
}

size_t axes_numbers(const struct attn_problem *problem, struct axis_number out[AXIS_NUMBERS_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const struct axis_value value = axes_get(&axes[i], problem);
    if (axes_is_alias(&axes[i])) continue;
    switch (axes[i].kind) {
      case AXIS_WHOLE:
      case AXIS_FLAG:
      case AXIS_NAME:
      case AXIS_CAUSAL: out[count++] = (struct axis_number){axes[i].name, (int64_t)value.first}; break;
      case AXIS_BOUNDS:
        out[count++] = (struct axis_number){axes[i].member[0], (int64_t)value.first};
        out[count++] = (struct axis_number){axes[i].member[1], (int64_t)value.second};
        break;
      case AXIS_DTYPE:
      case AXIS_SPARSE:
        out[count++] = (struct axis_number){"block_size", problem->sparse.block};
        out[count++] = (struct axis_number){"blocks_most", attn_blocks_most(problem)};
        break;
      case AXIS_BATCH:
      case AXIS_REAL: break;
    }
  }
  return count;
}

/* Does another axis say what this one does, and more? A window does of causal. */
static bool is_said_better(const struct attn_axis *axis, const struct attn_problem *problem) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const bool is_more = axes[i].written == AXIS_UNLESS_DEFAULT && axes_excludes(&axes[i], axis);
    if (is_more && !axes_is_default(&axes[i], problem)) return true;
  }
  return false;
}

static bool is_trait(const struct attn_axis *axis) { return !axis->required && !axes_is_alias(axis); }

int axes_compare_traits(const struct attn_problem *a, const struct attn_problem *b) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const struct axis_value left = axes_get(&axes[i], a), right = axes_get(&axes[i], b);
    if (!is_trait(&axes[i])) continue;
    if (left.first != right.first) return left.first < right.first ? -1 : 1;
    if (left.second != right.second) return left.second < right.second ? -1 : 1;
    if (!attn_batch_same(&left.batch, &right.batch)) return memcmp(&left.batch, &right.batch, sizeof left.batch);
    if (!attn_sparse_same(&left.sparse, &right.sparse))
      return memcmp(&left.sparse, &right.sparse, sizeof left.sparse);
  }
  return 0;
}

/* One trait; empty where there is nothing to say. */
static void write_trait(const struct attn_axis *axis, const struct attn_problem *problem, char *out, size_t size) {
  const struct axis_value value = axes_get(axis, problem);
  const char *word = value.first != 0 ? axis->trait : axis->no_trait;
  char text[AXIS_VALUE_TEXT_MAX];
  axes_value_write(axis, value, text);
  switch (axis->kind) {
    case AXIS_WHOLE:
    case AXIS_REAL:
    case AXIS_NAME:
    case AXIS_BATCH:
    case AXIS_SPARSE:
    case AXIS_BOUNDS: snprintf(out, size, "%s %s", axis->name, text); break;
    case AXIS_DTYPE: snprintf(out, size, "%s", text); break;
    case AXIS_FLAG:
    case AXIS_CAUSAL: snprintf(out, size, "%s", word != NULL ? word : ""); break;
  }
}

void axes_traits(const struct attn_problem *problem, char out[AXIS_TRAITS_MAX]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < AXIS_COUNT && used < AXIS_TRAITS_MAX; ++i) {
    char trait[AXIS_VALUE_TEXT_MAX + AXIS_VALUE_TEXT_MAX] = "";
    if (!axes_is_written(&axes[i], problem) || is_said_better(&axes[i], problem)) continue;
    if (is_trait(&axes[i])) write_trait(&axes[i], problem, trait, sizeof trait);
    if (trait[0] == '\0') continue;
    used += (size_t)snprintf(out + used, AXIS_TRAITS_MAX - used, "%s%s", used > 0 ? ", " : "", trait);
  }
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

static void write_part(const struct attn_axis *axis, const struct attn_problem *problem, char *out, size_t size) {
  const struct axis_value value = axes_get(axis, problem);
  const char *word = value.first != 0 ? axis->yes : axis->no; /* NULL for what is no boolean */
  char text[AXIS_VALUE_TEXT_MAX];
  axes_value_write(axis, value, text);
  if (axis->key != NULL) {
    snprintf(out, size, "%s%s", axis->key, text);
  } else {
    snprintf(out, size, "%s", word != NULL ? word : text);
  }
}

void axes_key(const struct attn_problem *problem, char out[AXIS_KEY_MAX]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < AXIS_COUNT && used < AXIS_KEY_MAX - 1; ++i) {
    if (!axes_is_written(&axes[i], problem) || is_said_better(&axes[i], problem)) continue;
    if (used > 0) out[used++] = '.';
    write_part(&axes[i], problem, out + used, AXIS_KEY_MAX - used);
    used += strlen(out + used);
  }
}

/* The axis whose value a part of a key begins with its letters; an alias comes first. */
static const struct attn_axis *axis_of_part(const char *text, struct axis_value *out) {
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    const char *value = axes[i].key != NULL ? behind(text, axes[i].key) : NULL;
    const char *end = value != NULL ? axes_value_read(&axes[i], value, out) : NULL;
    if (end != NULL && *end == '\0') return &axes[i];
  }
  return NULL;
}

/* False where the part is no axis, or one that cannot be beside those that are there. */
static bool read_part(const char *text, struct axis_values *values) {
  struct axis_value value;
  const struct attn_axis *axis = axis_of_part(text, &value);
  if (axis == NULL && !axes_word_read(text, &axis, &value)) return false;
  for (size_t i = 0; i < AXIS_COUNT; ++i) {
    if (values->given[i] && (&axes[i] == axis || axes_excludes(&axes[i], axis))) return false;
  }
  values->given[axes_id_of(axis)] = true;
  values->value[axes_id_of(axis)] = value;
  return true;
}

/* S stands for both lengths or for neither. */
static bool lengths_are_clear(const struct axis_values *values) {
  return !values->given[AXIS_S] || (!values->given[AXIS_Sq] && !values->given[AXIS_Skv]);
}

/* A part ends before a dot and a letter: a dot before a digit is one of a number. */
static char *end_of_part(char *text) {
  while (*text != '\0' && !(text[0] == '.' && !(text[1] >= '0' && text[1] <= '9'))) ++text;
  return text;
}

bool axes_key_read(const char *text, struct attn_problem *out) {
  struct axis_values values = {.given = {false}};
  char copy[AXIS_KEY_MAX];
  if (strlen(text) >= sizeof copy) return false;
  memcpy(copy, text, strlen(text) + 1);
  for (char *part = copy, *next; part != NULL; part = next) {
    char *end = end_of_part(part);
    next = *end != '\0' ? end + 1 : NULL;
    *end = '\0';
    if (!read_part(part, &values)) return false;
  }
  return lengths_are_clear(&values) && axes_build(&values, out) == NULL;
}
