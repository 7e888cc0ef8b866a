#include <stdlib.h>
#include <string.h>

#include "cli/record/record.h"
#include "kernels/gpu_models.h"
#include "kernels/pick.h"
#include "tests/unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct device_info cpu = {.kind = DEVICE_CPU, .sms = 2, .name = "a CPU"};

static const struct device_info *device_of(const char *name) {
  return strcmp(name, "cpu") == 0 ? &cpu : &gpu_model_find(name)->info;
}

static const struct pick_table *table(void) { return variant_find("auto")->picks; }

static struct attn_problem shape_of(const char *key) {
  struct attn_problem shape;
  assert_true(axes_key_read(key, &shape));
  return shape;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

TEST(every_rule_names_a_variant_and_its_tunables) {
  for (size_t i = 0; i < table()->count; ++i) {
    const struct pick_rule *rule = &table()->rules[i];
    struct attn_tuning tuning;
    char spec[PICK_SPEC_MAX];
    const struct attn_variant *variant = pick_variant(rule, &tuning);
    pick_spec(rule, spec);
    if (variant == NULL) fail_msg("rule %zu, %s: no such variant or tunable", i, spec);
    assert_null(variant->picks);
    assert_null(variant->vendor);
    assert_true(strlen(rule->why) > 10 && strchr(rule->why, '\n') == NULL);
    for (size_t t = 0; t < variant_tunable_count(variant); ++t)
      assert_true(tuning.value[t] >= variant->tunables[t].min && tuning.value[t] <= variant->tunables[t].max);
    struct variant_spec read;
    assert_int_equal(variant_spec_parse(spec, "rule", STATUS_USAGE, &read).code, STATUS_OK);
    assert_ptr_equal(read.variant, variant);
    assert_memory_equal(&read.tuning, &tuning, sizeof tuning);
  }
}

static const struct {
  const char *key, *device, *spec;
} expected[] = {
    {"B8.H16.S512.D64.f16.full", "h200", "wgmma"},
    {"B8.H16.S512.D64.f16.full", "h20", "wgmma"},
    {"B1.H32.Hkv8.Sq1.Skv4096.D128.f16.full", "h200", "decode"},
    {"B64.H32.Hkv32.Sq1.Skv256.D64.bf16.full", "a100", "decode"},
    {"B1.H32.Hkv8.Sq16.Skv4096.D64.f16.full", "h200", "decode"},
    {"B1.H8.Sq4.Skv300.D256.f16.full", "h200", "decode"},
    {"B1.H32.Hkv8.Sq1.Skv128.D64.f16.full", "h200", "cluster_split"},
    {"B1.H32.Hkv8.Sq16.Skv1024.D64.f16.full", "h200", "cluster_split"},
    {"B1.H32.Hkv8.Sq16.Skv1024.D128.f16.causal", "h200", "decode"},
    {"B17.H32.Hkv8.Sq16.Skv4096.D128.f16.causal", "h100", "decode_general"},
    {"B17.H32.Hkv8.Sq16.Skv1024.D128.f16.causal", "h100", "wgmma_paged"},
    {"B24.H32.Hkv8.Sq8.Skv4096.D128.f16.causal", "h100", "wgmma_paged"},
    {"B8.H32.Hkv8.Sq16.Skv20000.D128.f16.causal", "h100", "wgmma_paged"},
    {"B4.H32.Hkv8.Sq16.Skv4096.D128.f16.causal", "h100", "wgmma"},
    {"B4.H32.Hkv8.Sq8.Skv4096.D128.f16.causal", "h100", "decode"},
    {"B16.H64.Hkv8.Sq64.Skv4096.D128.bf16.causal", "h100", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq128.Skv4096.D128.bf16.causal", "h100", "wgmma"},
    {"B16.H32.Hkv8.Sq192.Skv4096.D128.bf16.causal", "h100", "wgmma_general"},
    {"B208.H32.Hkv8.Sq192.Skv4096.D128.bf16.causal.batch8q192s4k_200q1s4k", "h100", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq16.Skv300.D64.f16.causal", "h100", "decode_general"},
    {"B16.H32.Hkv8.Sq16.Skv300.D64.f16.causal.batch16q16s300", "h100", "wgmma_paged"},
    {"B8.H16.S512.D256.f16.full", "a100", "mma_swizzle"},
    {"B1.H32.Hkv8.S1024.D64.f16.causal", "h200", "wgmma"},
    {"B1.H32.Hkv8.Sq17.Skv4096.D64.f16.full", "h200", "cluster_split"},
    {"B8.H16.S512.D64.f16.full", "a100", "mma_swizzle"},
    {"B8.H16.S512.D64.f16.full", "l4", "mma_swizzle"},
    {"B8.H16.S512.D64.f16.full", "rtx5090", "mma_swizzle"},
    {"B1.H8.Sq64.Skv2048.D64.f16.full", "a100", "split_kv"},
    {"B1.H8.Sq64.Skv511.D64.f16.full", "a100", "mma_swizzle"},
    {"B27.H1.Sq64.Skv1024.D64.f16.full", "a100", "split_kv"},    /* 27 tiles of 108 SMs: 25 % */
    {"B28.H1.Sq64.Skv1024.D64.f16.full", "a100", "mma_swizzle"}, /* 26 % */
    {"B28.H1.Sq64.Skv2048.D64.f16.full", "a100", "split_kv"},
    {"B1.H1.S4.D4.f16.full", "h200", "one_query"},
    {"B1.H2.S1.D64.f16.full", "h200", "one_query"},
    {"B1.H2.S9.D64.f16.full", "h200", "cluster_split"},
    {"B1.H8.S512.D64.f16.full", "h200", "cluster_split"},
    {"B1.H9.S512.D64.f16.full", "h20", "wgmma"}, /* 72 tiles of 78 SMs */
    {"B1.H8.S512.D64.f16.full", "b200", "mma_swizzle"},
    {"B8.H8.S128.D64.f16.full", "h200", "wgmma"},
    {"B8.H8.S128.D64.bf16.causal", "h200", "cluster_split"},
    {"B16.H16.S100.D64.f16.full", "h200", "cluster_split"},
    {"B1.H32.Hkv8.S128.D128.f16.full", "h200", "wgmma"},
    {"B1.H32.Hkv8.S128.D128.f16.causal", "h200", "cluster_split"},
    {"B4.H16.S2048.D192.bf16.causal", "h200", "wgmma"},
    {"B4.H16.S2048.D72.bf16.causal", "a100", "scalar_quad:vec=1"},
    {"B4.H16.S2048.D71.bf16.causal", "h200", "scalar_quad"},
    {"B8.H16.S512.D64.f32.full", "h200", "scalar_quad:vec=1"},
    {"B1.H8.S512.D64.f32.full", "h200", "scalar_quad:rows=32,vec=1"},
    {"B1.H2.S48.D64.f32.full", "h200", "one_query"},
    {"B1.H4.S64.D2048.f32.full", "h200", "d_split"},
    {"B1.H1.S16.D2048.f32.full", "h200", "d_split"},
    {"B1.H4.S64.D2048.f16.full", "a100", "d_split"},
    {"B1.H4.S64.D256.f16.full", "h200", "wgmma"},
    {"B34.H32.Hkv8.S2048.D128.bf16.causal.batch2q2k_32q1s1k.page16", "h200", "wgmma_paged"},
    {"B34.H32.Hkv8.S2048.D128.bf16.causal.batch2q2k_32q1s1k", "h200", "wgmma_paged"},
    {"B34.H32.S2048.D128.bf16.causal.batch2q2k_32q1s1k", "h200", "wgmma_general"}, /* no heads share keys */
    {"B2.H32.Hkv8.S2048.D128.bf16.causal.batch2q2k", "h200", "wgmma_general"},
    {"B16.H32.Hkv8.Sq16.Skv4096.D128.bf16.causal.batch16q16s4k.page16", "h200", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq4.Skv4096.D128.bf16.causal.batch16q4s4k.page16", "h200", "decode_general"},
    {"B34.H32.Hkv8.S2048.D128.bf16.causal.batch2q2k_32q1s1k.page1", "h200", "decode_general"},
    {"B3.H32.Hkv8.Sq1.Skv64.D128.bf16.full.page16", "h200", "decode"},
    {"B3.H32.Hkv8.Sq1.Skv64.D128.bf16.full.page1", "h200", "decode_general"},
    {"B1.H32.Hkv8.Sq1.Skv16384.D128.bf16.full.page16", "h200", "decode"},
    {"B16.H32.Hkv8.Sq1.Skv4096.D128.bf16.full.page16", "h200", "decode_general"},
    {"B16.H32.Hkv8.Sq1.Skv4096.D128.bf16.full.page64", "h200", "decode"},
    {"B36.H32.Hkv8.Sq1.Skv4096.D128.bf16.full", "h200", "decode_general"}, /* 288 KV heads of 132 SMs */
    {"B36.H32.Hkv8.Sq1.Skv4096.D128.bf16.full", "h100", "decode"},
    {"B36.H32.Hkv8.Sq1.Skv1024.D128.bf16.full", "h200", "decode"},
    {"B2.H32.Hkv32.Sq1.Skv16384.D128.bf16.full", "h200", "decode"},
    {"B3.H32.Hkv32.Sq1.Skv16384.D128.bf16.full", "h200", "decode_general"}, /* 96 */
    {"B17.H32.Hkv8.Sq1.Skv4096.D256.bf16.full", "h200", "decode_general"},
    {"B16.H32.S300.D64.f16.causal", "h200", "wgmma_general"},
    {"B16.H32.S333.D64.f16.causal", "h200", "wgmma"},
    {"B5.H32.Hkv8.Sq4.Skv300.D128.bf16.causal.batch3q4s300_q1s16_q1.page16", "h200", "wgmma_paged"},
    {"B32.H32.Hkv8.Sq1.Skv1024.D128.bf16.causal.batch32q1s1k.page16", "h200", "decode_general"},
    {"B16.H32.Hkv8.Sq16.Skv4096.D128.f16.causal", "h200", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq32.Skv4096.D128.f16.full", "h200", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq64.Skv4096.D128.f16.full", "h200", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq64.Skv1024.D128.f16.full", "h200", "wgmma_paged"},
    {"B16.H32.Hkv8.Sq64.Skv1024.D128.f16.full", "h100", "wgmma"},
    {"B16.H32.Hkv8.Sq64.Skv1024.D128.f16.causal", "h200", "wgmma"},
    {"B4.H32.Hkv8.Sq64.Skv1024.D128.f16.full", "h200", "wgmma"},
    {"B24.H32.Hkv8.Sq8.Skv4096.D128.f16.causal", "h200", "decode_general"},
    {"B32.H32.Hkv8.Sq8.Skv4096.D128.f16.causal", "h200", "wgmma_paged"},
    {"B24.H32.Hkv8.Sq16.Skv4096.D128.f16.causal", "a100", "decode_general"},
    {"B16.H32.Hkv32.Sq32.Skv4096.D128.f16.full", "h200", "wgmma"}, /* no heads share keys */
    {"B16.H24.Hkv8.Sq32.Skv4096.D128.f16.full", "h200", "wgmma"},  /* three heads do not fill a tile of 128 rows */
    {"B17.H32.Hkv8.Sq8.Skv4096.D128.f16.causal", "h200", "decode_general"}, /* 136 tiles of 132 SMs */
    {"B4.H32.Hkv8.Sq16.Skv20000.D128.f16.causal", "h200", "decode_general"},
    {"B1.H32.Hkv8.Sq16.Skv20000.D128.f16.causal", "h200", "decode_general"},
    {"B1.H32.Hkv8.Sq16.Skv20000.D128.f16.causal", "h100", "decode"},
    {"B1.H32.Hkv8.Sq8.Skv20000.D128.f16.causal", "h200", "decode"},
    {"B16.H32.Hkv8.Sq4.Skv4096.D128.f16.causal", "h200", "decode"},
    {"B1.H4.S1024.D2048.f16.full", "h200", "one_query"},
    {"B1.H4.S64.D64.f16.full", "cpu", "cpu_flash"},
    {"B1.H4.S64.D577.f16.full", "cpu", "cpu_ref"},
};

TEST(picks_are_those_that_were_measured) {
  for (size_t i = 0; i < COUNT(expected); ++i) {
    const struct attn_problem shape = shape_of(expected[i].key);
    const struct pick_rule *rule = pick_rule_for(table(), &shape, device_of(expected[i].device));
    char spec[PICK_SPEC_MAX] = "nothing";
    if (rule != NULL) pick_spec(rule, spec);
    if (strcmp(spec, expected[i].spec) != 0)
      fail_msg("%s on %s: %s, expected %s", expected[i].key, expected[i].device, spec, expected[i].spec);
  }
}

/* ---- any table ---------------------------------------------------------------------------------------------------
 */

TEST(the_first_rule_whose_limits_hold_and_whose_variant_takes_the_shape_is_taken) {
  static const struct pick_rule rules[] = {
      {"wgmma", .when = {{PICK_SKV, 100, 200}, {PICK_CAUSAL, 1, 1}}, .why = "limits"},
      {"d_split", .why = "D"},
      {"cp_async", .set = {{"stages", 3}}, .when = {{PICK_GROUP_ROWS, 0, 64}, {PICK_CC, 90, 90}}, .why = "short"},
      {"wmma", .why = "rest"},
  };
  static const struct pick_table own = {"a test", rules, COUNT(rules)};
  static const struct {
    const char *key;
    size_t rule;
  } cases[] = {{"B1.H8.Hkv2.S100.D64.f16.causal", 0},    {"B1.H8.Hkv2.S200.D64.f16.causal", 0},
               {"B1.H8.Hkv2.S201.D64.f16.causal", 3},    {"B1.H8.Hkv2.S100.D64.f16.full", 3},
               {"B1.H8.Hkv2.S128.D512.f16.full", 1},     {"B1.H8.Hkv2.Sq16.Skv99.D64.f16.full", 2},
               {"B1.H8.Hkv2.Sq17.Skv99.D64.f16.full", 3}};
  for (size_t i = 0; i < COUNT(cases); ++i) {
    const struct attn_problem shape = shape_of(cases[i].key);
    assert_ptr_equal(pick_rule_for(&own, &shape, device_of("h200")), &rules[cases[i].rule]);
  }
  const struct attn_problem f32 = shape_of("B1.H8.S64.D64.f32.full");
  assert_null(pick_rule_for(&own, &f32, device_of("h200")));
  assert_non_null(strstr(pick_supports(&own, &f32, device_of("h200")), "no variant"));
}

/* ---- the plan and the record
 * ---------------------------------------------------------------------------------------
 */

TEST(a_plan_is_that_of_what_was_picked) {
  const struct attn_variant *picker = variant_find("auto");
  const struct attn_tuning none = {{0}};
  for (size_t i = 0; i < COUNT(expected); ++i) {
    const struct attn_problem shape = shape_of(expected[i].key);
    const struct device_info *device = device_of(expected[i].device);
    struct variant_spec spec;
    struct attn_plan plan, own;
    assert_null(variant_supports(picker, &shape, &none, device));
    assert_int_equal(variant_spec_parse(expected[i].spec, "expected", STATUS_USAGE, &spec).code, STATUS_OK);
    variant_plan(picker, &shape, &none, device, &plan);
    variant_plan(spec.variant, &shape, &spec.tuning, device, &own);
    assert_ptr_equal(plan.picked, spec.variant);
    own.picked = plan.picked, own.picked_by = plan.picked_by;
    assert_memory_equal(&plan, &own, sizeof plan);
  }
}

TEST(a_record_says_what_was_picked_and_keeps_it) {
  struct attn_case attn_case = {.shape = shape_of("B1.H8.S512.D64.f32.full")};
  struct variant_spec spec;
  struct record record, read;
  axes_key(&attn_case.shape, attn_case.key);
  assert_int_equal(variant_spec_parse("auto", "a test", STATUS_USAGE, &spec).code, STATUS_OK);
  plan_record(&attn_case, &spec, device_of("h200"), &record);
  assert_int_equal(record.status, CELL_planned);
  assert_string_equal(record.variant, "auto");
  assert_string_equal(record.picked, "scalar_quad:rows=32,vec=1");
  assert_int_equal(record.math, ATTN_MATH_FP32);
  assert_non_null(strstr(record.picked_why, "less than a wave"));
  assert_non_null(strstr(record.picked_why, "table "));
  char *line = record_to_line(&record);
  assert_int_equal(record_from_line(line, strlen(line), &read).code, STATUS_OK);
  assert_string_equal(read.picked, record.picked);
  assert_string_equal(read.picked_why, record.picked_why);
  free(line);
}

TEST(a_record_of_a_kernel_has_no_pick) {
  struct attn_case attn_case = {.shape = shape_of("B1.H8.S512.D64.f16.full")};
  struct variant_spec spec;
  struct record record;
  axes_key(&attn_case.shape, attn_case.key);
  assert_int_equal(variant_spec_parse("wgmma", "a test", STATUS_USAGE, &spec).code, STATUS_OK);
  plan_record(&attn_case, &spec, device_of("h200"), &record);
  char *line = record_to_line(&record);
  assert_null(strstr(line, "picked"));
  free(line);
}
