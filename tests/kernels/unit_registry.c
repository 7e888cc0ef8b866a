#include <stdio.h>
#include <string.h>

#include "kernels/variant.h"
#include "tests/unit.h"

TEST(every_variant_is_found_by_its_name) {
  assert_true(variant_count() >= 7);
  for (size_t i = 0; i < variant_count(); ++i) assert_ptr_equal(variant_find(variant_at(i)->name), variant_at(i));
}

TEST(unknown_names_and_indices_are_null) {
  assert_null(variant_find("nothing"));
  assert_null(variant_find(""));
  assert_null(variant_find("WMMA"));
  assert_null(variant_at(variant_count()));
}

TEST(names_are_keys) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  for (size_t i = 0; i < variant_count(); ++i) {
    const char *name = variant_at(i)->name;
    assert_true(strlen(name) > 0);
    assert_int_equal(strspn(name, allowed), strlen(name));
  }
}

TEST(default_tuning_holds_every_default_inside_its_range) {
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    const struct attn_tuning tuning = variant_default_tuning(variant);
    for (size_t t = 0; t < ATTN_TUNABLES_MAX; ++t) {
      if (t >= variant_tunable_count(variant)) {
        assert_int_equal(tuning.value[t], 0);
        continue;
      }
      assert_int_equal(tuning.value[t], variant->tunables[t].default_value);
      assert_in_range(tuning.value[t] - variant->tunables[t].min, 0,
                      variant->tunables[t].max - variant->tunables[t].min);
    }
  }
}

TEST(the_pipe_may_follow_the_type) {
  const struct attn_variant *d_split = variant_find("d_split"), *one_query = variant_find("one_query");
  assert_int_equal(variant_math(d_split, ATTN_F32), ATTN_MATH_FP32);
  assert_int_equal(variant_math(d_split, ATTN_F16), ATTN_MATH_TENSOR);
  assert_int_equal(variant_math(d_split, ATTN_BF16), ATTN_MATH_TENSOR);
  assert_int_equal(variant_math(one_query, ATTN_F16), ATTN_MATH_FP32);
}

static struct attn_plan seen;

static void keep_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                      const struct device_info *device, struct attn_plan *plan) {
  (void)shape, (void)tuning, (void)device;
  seen = *plan;
  plan->pass_count = 1;
}

TEST(plan_arrives_zeroed_with_clusters_of_one) {
  const struct attn_variant variant = {.name = "probe", .plan = keep_plan};
  const struct attn_problem shape = {.B = 1, .Hq = 1, .Hkv = 1, .Sq = 1, .Skv = 1, .D = 1, .Dv = 1};
  const struct attn_tuning tuning = {{0}};
  const struct device_info device = {.kind = DEVICE_CPU};
  struct attn_plan plan;
  memset(&plan, 0xff, sizeof plan);
  variant_plan(&variant, &shape, &tuning, &device, &plan);
  for (size_t pass = 0; pass < ATTN_PASSES_MAX; ++pass) {
    for (size_t axis = 0; axis < 3; ++axis) {
      assert_int_equal(seen.pass[pass].cluster[axis], 1);
      assert_int_equal(seen.pass[pass].grid[axis], 0);
    }
    assert_null(seen.pass[pass].name);
  }
  assert_int_equal(seen.pass_count, 0);
  assert_int_equal(seen.workspace_bytes, 0);
  assert_int_equal(plan.pass_count, 1);
}

TEST(dtypes_have_names_and_sizes) {
  static const struct {
    const char *name;
    uint32_t bytes;
  } rows[ATTN_DTYPE_COUNT] = {
      [ATTN_F16] = {"f16", 2}, [ATTN_BF16] = {"bf16", 2}, [ATTN_F32] = {"f32", 4}, [ATTN_E4M3] = {"e4m3", 1}};
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT; ++i) {
    assert_string_equal(attn_dtype_name((enum attn_dtype)i), rows[i].name);
    assert_int_equal(attn_dtype_bytes((enum attn_dtype)i), rows[i].bytes);
  }
}

static const char *takes_small_heads(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                     const struct device_info *device) {
  (void)tuning;
  (void)device;
  return shape->D <= 64 ? NULL : "D must be at most 64";
}

TEST(a_shape_with_lse_is_refused_by_variants_that_do_not_write_it) {
  struct attn_variant variant = {.name = "some", .supports = takes_small_heads};
  struct attn_problem shape = ATTN_DENSE(1, 1, 1, 1, 1, 64, ATTN_F16, false);
  const struct attn_tuning tuning = {{0}};
  const struct device_info device = {.kind = DEVICE_CPU};
  assert_null(variant_supports(&variant, &shape, &tuning, &device));
  shape.lse = true;
  assert_non_null(strstr(variant_supports(&variant, &shape, &tuning, &device), "lse must be false"));
  variant.takes = ATTN_TAKES_LSE;
  assert_null(variant_supports(&variant, &shape, &tuning, &device));
  shape.D = shape.Dv = 65;
  assert_string_equal(variant_supports(&variant, &shape, &tuning, &device), "D must be at most 64");
}

TEST(head_dimensions_are_told_as_they_are_declared) {
  static const struct {
    struct attn_dims dims;
    const char *text;
  } rows[] = {{{.least = 256, .most = 8192, .multiple = 8}, "D 256 to 8192 and a multiple of 8"},
              {{.least = 256}, "D at least 256"},
              {{.most = 128}, "D at most 128"},
              {{.multiple = 16}, "D a multiple of 16"},
              {{.one_of = {64, 128, 256}}, "D 64, 128 or 256"},
              {{.least = 0}, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const struct attn_variant variant = {.name = "some", .dims = rows[i].dims};
    char limits[ATTN_LIMITS_MAX];
    variant_limits(&variant, limits);
    assert_string_equal(limits, rows[i].text);
  }
}

TEST(added_variants_are_found_until_the_room_is_full) {
  static char names[ATTN_VARIANTS_ADDED_MAX + 1][16];
  static struct attn_variant variants[ATTN_VARIANTS_ADDED_MAX + 1];
  const size_t built_in = variant_count();
  const struct attn_variant taken = {.name = variant_at(0)->name};
  assert_false(variant_add(&taken));
  for (size_t i = 0; i <= ATTN_VARIANTS_ADDED_MAX; ++i) {
    snprintf(names[i], sizeof names[i], "added_%zu", i);
    variants[i].name = names[i];
    assert_int_equal(variant_add(&variants[i]), i < ATTN_VARIANTS_ADDED_MAX);
  }
  assert_false(variant_add(&variants[0]));
  assert_int_equal(variant_count(), built_in + ATTN_VARIANTS_ADDED_MAX);
  assert_ptr_equal(variant_at(built_in), &variants[0]);
  assert_ptr_equal(variant_find("added_15"), &variants[15]);
  assert_null(variant_find("added_16"));
  assert_true(variant_is_stand_in(&variants[0]) && !variant_is_stand_in(variant_at(0)));
  assert_null(variant_at(variant_count()));
}
