/* Chooses a variant by the rules of a table, and hands over to it. */
#include "kernels/pick.h"

#include <stdio.h>
#include <string.h>

#include "kernels/problem/axes.h"
#include "kernels/problem/sequence.h"

static uint64_t ceil_div(uint64_t n, uint64_t d) { return n / d + (n % d != 0); }

static uint64_t shared_percent(const struct attn_problem *s) {
  const uint32_t ratio = s->Hq / s->Hkv;
  uint64_t all = 0, shared = 0;
  for (uint32_t i = 0; i < attn_group_count(s); ++i) {
    const struct attn_group group = attn_group_of(s, i);
    const uint64_t keys = (uint64_t)group.count * group.Skv;
    all += keys;
    if (ratio > 1 && (uint64_t)group.Sq * ratio <= 64) shared += keys;
  }
  return all > 0 ? 100 * shared / all : 0;
}

static uint64_t packed_tiles(const struct attn_problem *s) {
  const uint64_t ratio = s->Hq / s->Hkv;
  const bool can_pack = ratio >= 2 && ratio <= 64 && (ratio & (ratio - 1)) == 0;
  return can_pack ? (uint64_t)s->B * s->Hkv * ceil_div(s->Sq * ratio, 128) : 0;
}

static uint64_t feature_of(enum pick_feature feature, const struct attn_problem *s,
                           const struct device_info *device) {
  const uint64_t sms = device->sms > 0 ? device->sms : 1, heads = (uint64_t)s->B * s->Hq;
  switch (feature) {
    case PICK_CC: return 10 * device->cc_major + device->cc_minor;
    case PICK_DTYPE_BYTES: return attn_dtype_bytes(s->dtype);
    case PICK_D: return s->D;
    case PICK_SQ: return s->Sq;
    case PICK_SKV: return s->Skv;
    case PICK_RAGGED: return attn_is_ragged(s);
    case PICK_CAUSAL: return attn_is_causal(s);
    case PICK_GROUP_ROWS: return (uint64_t)s->Sq * (s->Hq / s->Hkv);
    case PICK_SHARED_PERCENT: return shared_percent(s);
    case PICK_PACKED_PERCENT: return ceil_div(100 * packed_tiles(s), sms);
    case PICK_KV_PERCENT: return ceil_div(100 * (uint64_t)s->B * s->Hkv, sms);
    case PICK_PAGE: return s->page;
    case PICK_ROWS_PER_SM: return ceil_div(heads * s->Sq, sms);
    case PICK_TILES_PERCENT: return ceil_div(100 * heads * ceil_div(s->Sq, 64), sms);
    case PICK_DRAM_PER_SM: return (uint64_t)(device->dram_gb_per_s / (double)sms);
    case PICK_NOTHING: break;
  }
  return 0;
}

static bool holds(const struct pick_rule *rule, const struct attn_problem *shape, const struct device_info *device) {
  for (size_t i = 0; i < PICK_LIMITS_MAX; ++i) {
    const struct pick_limit *limit = &rule->when[i];
    const uint64_t value = feature_of(limit->feature, shape, device);
    if (value < limit->least || value > limit->most) return false;
  }
  return true;
}

static size_t tunable_index(const struct attn_variant *variant, const char *name) {
  size_t index = 0;
  while (index < variant_tunable_count(variant) && strcmp(variant->tunables[index].name, name) != 0) ++index;
  return index;
}

const struct attn_variant *pick_variant(const struct pick_rule *rule, struct attn_tuning *tuning) {
  const struct attn_variant *variant = variant_find(rule->variant);
  if (variant == NULL) return NULL;
  *tuning = variant_default_tuning(variant);
  for (size_t i = 0; i < PICK_SETTINGS_MAX && rule->set[i].tunable != NULL; ++i) {
    const size_t index = tunable_index(variant, rule->set[i].tunable);
    if (index == variant_tunable_count(variant)) return NULL;
    tuning->value[index] = rule->set[i].value;
  }
  return variant;
}

void pick_spec(const struct pick_rule *rule, char out[PICK_SPEC_MAX]) {
  size_t used = (size_t)snprintf(out, PICK_SPEC_MAX, "%s", rule->variant);
  for (size_t i = 0; i < PICK_SETTINGS_MAX && rule->set[i].tunable != NULL && used < PICK_SPEC_MAX; ++i)
    used += (size_t)snprintf(out + used, PICK_SPEC_MAX - used, "%c%s=%d", i > 0 ? ',' : ':', rule->set[i].tunable,
                             rule->set[i].value);
}

static bool takes(const struct pick_rule *rule, const struct attn_problem *shape, const struct device_info *device) {
  struct attn_tuning tuning;
  const struct attn_variant *variant = pick_variant(rule, &tuning);
  return variant != NULL && variant->runs_on == device->kind &&
         variant_supports(variant, shape, &tuning, device) == NULL;
}

const struct pick_rule *pick_rule_for(const struct pick_table *table, const struct attn_problem *shape,
                                      const struct device_info *device) {
  for (size_t i = 0; i < table->count; ++i) {
    const struct pick_rule *rule = &table->rules[i];
    if (holds(rule, shape, device) && takes(rule, shape, device)) return rule;
  }
  return NULL;
}

/* ---- the hooks ------------------------------------------------------------------------------------------------- */

const char *pick_supports(const struct pick_table *table, const struct attn_problem *shape,
                          const struct device_info *device) {
  static char refusal[160];
  if (pick_rule_for(table, shape, device) != NULL) return NULL;
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    struct attn_problem plain = *shape;
    axes_reset(axis, &plain);
    if (axis->takes == 0 || pick_rule_for(table, &plain, device) == NULL) continue;
    snprintf(refusal, sizeof refusal,
             "%s must be left out: no variant that it picks from takes it for this shape here", axis->name);
    return refusal;
  }
  return "no variant that it picks from takes this shape here: look at D and Skv in the limits of `attnbench list`";
}

void pick_plan(const struct pick_table *table, const struct attn_problem *shape, const struct device_info *device,
               struct attn_plan *plan) {
  struct attn_tuning tuning;
  const struct pick_rule *rule = pick_rule_for(table, shape, device);
  const struct attn_variant *variant = pick_variant(rule, &tuning);
  variant_plan(variant, shape, &tuning, device, plan);
  plan->picked = variant;
  plan->picked_by = rule;
}

struct status pick_bind(const struct attn_problem *shape, const struct attn_plan *plan,
                        const struct attn_buffers *buffers, struct attn_pass_args args[ATTN_PASSES_MAX]) {
  if (plan->picked != NULL && plan->picked->bind != NULL) return plan->picked->bind(shape, plan, buffers, args);
  return status_make(STATUS_INTERNAL, "the plan picked no variant that can be bound; plan it in this process");
}

void pick_run(const struct attn_problem *shape, const struct attn_plan *plan, const struct attn_buffers *buffers,
              unsigned threads) {
  plan->picked->run(shape, plan, buffers, threads);
}
