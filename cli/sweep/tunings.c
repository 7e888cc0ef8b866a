/* Lists the tunings that a search tries. */
#include "cli/sweep/variant_spec.h"

#include "cli/base/owned.h"

/* Most values of one tunable, and combinations that are looked at: a call of supports() each. */
enum { VALUES_MAX = 512, ASKED_MAX = 1 << 20 };

/* The values of one tunable that are tried. */
struct values {
  int32_t value[VALUES_MAX];
  size_t count;
};

struct walk {
  const struct variant_spec *base;
  const struct tunings_filter *filter;
  struct values axis[ATTN_TUNABLES_MAX];
  size_t axis_count;
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void add_value(struct values *axis, int64_t value, const struct attn_tunable *t) {
  if (value < t->min || value > t->max || axis->count == VALUES_MAX) return;
  for (size_t i = 0; i < axis->count; ++i) {
    if (axis->value[i] == (int32_t)value) return;
  }
  axis->value[axis->count++] = (int32_t)value;
}

/* All values of a tunable, the default first, so that combination 0 is the base. */
static void all_values(const struct attn_tunable *t, struct values *out) {
  *out = (struct values){.count = 0};
  add_value(out, t->default_value, t);
  for (int64_t value = t->min; value <= t->max; ++value) add_value(out, value, t);
}

/* The limits, the default, zero and powers of two, which are the usual sizes and counts. */
static void some_values(const struct attn_tunable *t, struct values *out) {
  *out = (struct values){.count = 0};
  const int64_t ends[] = {t->default_value, 0, t->min, t->max};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) add_value(out, ends[i], t);
  for (int64_t power = 1; power <= INT32_MAX; power *= 2) {
    add_value(out, power, t);
    add_value(out, -power, t);
  }
}

static uint64_t combinations(const struct walk *walk) {
  uint64_t product = 1;
  for (size_t i = 0; i < walk->axis_count; ++i) {
    if (__builtin_mul_overflow(product, (uint64_t)walk->axis[i].count, &product)) return UINT64_MAX;
  }
  return product;
}

/* Reduces the longest axis to some_values, and then to every other one of these, until there are at most `most`
 * combinations. */
static void thin_out(struct walk *walk, uint64_t most) {
  bool is_coarse[ATTN_TUNABLES_MAX] = {false};
  while (combinations(walk) > most) {
    size_t longest = 0;
    for (size_t i = 1; i < walk->axis_count; ++i) {
      if (walk->axis[i].count > walk->axis[longest].count) longest = i;
    }
    struct values *axis = &walk->axis[longest];
    const size_t before = axis->count;
    if (!is_coarse[longest]) some_values(&walk->base->variant->tunables[longest], axis);
    is_coarse[longest] = true;
    if (axis->count < before) continue;
    for (size_t i = 0; 2 * i < before; ++i) axis->value[i] = axis->value[2 * i];
    axis->count = (before + 1) / 2;
  }
}

static void open_axes(struct walk *walk) {
  const struct attn_variant *variant = walk->base->variant;
  walk->axis_count = variant_tunable_count(variant);
  for (size_t i = 0; i < walk->axis_count; ++i) {
    const struct attn_tunable *t = &variant->tunables[i];
    const bool is_long = (int64_t)t->max - t->min >= VALUES_MAX;
    if (variant_spec_gives(walk->base, i)) {
      walk->axis[i] = (struct values){.value = {walk->base->tuning.value[i]}, .count = 1};
    } else if (is_long) {
      some_values(t, &walk->axis[i]);
    } else {
      all_values(t, &walk->axis[i]);
    }
  }
}

/* ---- combinations ---------------------------------------------------------------------------------------------- */

static struct attn_tuning tuning_at(const struct walk *walk, uint64_t index) {
  struct attn_tuning tuning = walk->base->tuning;
  for (size_t i = 0; i < walk->axis_count; ++i) {
    tuning.value[i] = walk->axis[i].value[index % walk->axis[i].count];
    index /= walk->axis[i].count;
  }
  return tuning;
}

static bool takes(const struct walk *walk, const struct attn_tuning *tuning) {
  return walk->filter->takes == NULL || walk->filter->takes(walk->filter->context, tuning);
}

static uint64_t count_taken(const struct walk *walk, uint64_t total) {
  uint64_t taken = 0;
  for (uint64_t i = 1; i < total; ++i) {
    const struct attn_tuning tuning = tuning_at(walk, i);
    taken += takes(walk, &tuning);
  }
  return taken;
}

/* Fills the items with the base and with as many of the `taken` other combinations as fit, spread evenly. */
static void collect(const struct walk *walk, uint64_t total, uint64_t taken, struct tunings *out) {
  const uint64_t room = taken < TUNINGS_MAX - 1 ? taken : TUNINGS_MAX - 1;
  uint64_t seen = 0, kept = 0;
  out->items[out->count++] = *walk->base;
  for (uint64_t i = 1; i < total && kept < room; ++i) {
    const struct attn_tuning tuning = tuning_at(walk, i);
    if (!takes(walk, &tuning)) continue;
    const bool is_due = seen++ * room / taken >= kept;
    kept += is_due;
    if (is_due && variant_spec_with(walk->base, &tuning, &out->items[out->count])) ++out->count;
  }
  out->left_out = taken + 1 - out->count;
}

struct status tunings_of(const struct variant_spec *base, const struct tunings_filter *filter, struct tunings *out) {
  struct walk walk = {.base = base, .filter = filter};
  *out = (struct tunings){.count = 0};
  TRY(owned_array(&out->items, TUNINGS_MAX, sizeof *out->items, "tunings"));
  open_axes(&walk);
  thin_out(&walk, filter->takes == NULL ? TUNINGS_MAX : ASKED_MAX);
  const uint64_t total = combinations(&walk);
  collect(&walk, total, filter->takes == NULL ? total - 1 : count_taken(&walk, total), out);
  return status_ok();
}
