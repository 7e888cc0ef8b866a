#include <stdlib.h>
#include <string.h>

#include "cli/sweep/variant_spec.h"
#include "kernels/gpu_models.h"
#include "kernels/problem/axes.h"
#include "tests/unit.h"

static struct variant_spec spec_of(const char *text) {
  struct variant_spec spec;
  assert_int_equal(variant_spec_parse(text, "a test", STATUS_USAGE, &spec).code, STATUS_OK);
  return spec;
}

static struct variant_spec spec_with(const struct attn_tunable *tunables, struct attn_variant *variant) {
  struct variant_spec spec = {.variant = variant, .text = "own"};
  *variant = (struct attn_variant){.name = "own", .tunables = tunables};
  spec.tuning = variant_default_tuning(variant);
  return spec;
}

/* Each once, the first one the base, each a text that reads back, none that the filter refuses. */
static void check_list(const struct variant_spec *base, const struct tunings_filter *filter,
                       const struct tunings *list, bool reads_back) {
  assert_true(list->count >= 1 && list->count <= TUNINGS_MAX);
  assert_string_equal(list->items[0].text, base->text);
  assert_memory_equal(&list->items[0].tuning, &base->tuning, sizeof base->tuning);
  for (size_t i = 0; i < list->count; ++i) {
    const struct variant_spec *item = &list->items[i];
    struct variant_spec again;
    char problem[VARIANT_SPEC_PROBLEM_MAX];
    for (size_t j = 0; j < i; ++j) assert_string_not_equal(item->text, list->items[j].text);
    if (i > 0 && filter->takes != NULL) assert_true(filter->takes(filter->context, &item->tuning));
    for (size_t t = 0; t < variant_tunable_count(base->variant); ++t)
      assert_true(item->tuning.value[t] >= base->variant->tunables[t].min &&
                  item->tuning.value[t] <= base->variant->tunables[t].max);
    if (!reads_back) continue;
    assert_true(variant_spec_read(item->text, &again, problem));
    assert_memory_equal(&again.tuning, &item->tuning, sizeof again.tuning);
  }
}

static const struct tunings_filter unknown = {.takes = NULL};

TEST(a_few_values_are_all_tried) {
  const struct variant_spec base = spec_of("mma_swizzle");
  struct tunings list;
  assert_int_equal(tunings_of(&base, &unknown, &list).code, STATUS_OK);
  check_list(&base, &unknown, &list, true);
  assert_int_equal(list.count, 2 * 2 * 2 * 3);
  assert_int_equal(list.left_out, 0);
  free(list.items);
}

TEST(what_is_given_is_kept) {
  const struct variant_spec base = spec_of("mma_swizzle:swizzle=1,stages=3");
  struct tunings list;
  assert_true(variant_spec_gives(&base, 0) && !variant_spec_gives(&base, 1) && variant_spec_gives(&base, 3));
  assert_int_equal(tunings_of(&base, &unknown, &list).code, STATUS_OK);
  check_list(&base, &unknown, &list, true);
  assert_int_equal(list.count, 4);
  for (size_t i = 0; i < list.count; ++i) {
    assert_true(list.items[i].tuning.value[0] == 1 && list.items[i].tuning.value[3] == 3);
    assert_non_null(strstr(list.items[i].text, "swizzle=1"));
  }
  free(list.items);
}

struct asked {
  const struct attn_variant *variant;
  struct attn_problem shape;
};

static bool takes(const void *context, const struct attn_tuning *tuning) {
  const struct asked *asked = context;
  return variant_supports(asked->variant, &asked->shape, tuning, &gpu_model_find("h200")->info) == NULL;
}

TEST(only_what_the_variant_takes_is_tried) {
  static const struct {
    const char *variant, *key;
    size_t least, most;
  } cases[] = {{"wgmma", "B1.H8.S512.D64.f16.full", 20, 60},
               {"wgmma", "B1.H8.S512.D256.f16.full", 4, 8},
               {"wgmma", "B1.H8.S512.D64.f32.full", 1, 1},
               {"cp_async", "B1.H8.S512.D128.f16.full", 2, 2},
               {"scalar_quad", "B1.H8.S512.D64.f32.full", 32, 32},
               {"split_kv", "B1.H8.S512.D64.f16.full", 65, 65},
               {"d_split", "B1.H4.S64.D2048.f32.full", 100, TUNINGS_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct variant_spec base = spec_of(cases[i].variant);
    struct asked asked = {.variant = base.variant};
    const struct tunings_filter filter = {takes, &asked};
    struct tunings list;
    assert_true(axes_key_read(cases[i].key, &asked.shape));
    assert_int_equal(tunings_of(&base, &filter, &list).code, STATUS_OK);
    check_list(&base, &filter, &list, true);
    if (list.count < cases[i].least || list.count > cases[i].most)
      fail_msg("%s at %s: %zu tunings", cases[i].variant, cases[i].key, list.count);
    free(list.items);
  }
}

TEST(long_ranges_give_their_ends_and_powers_of_two) {
  static const struct attn_tunable tunables[] = {{"n", INT32_MIN, INT32_MAX, 7, "anything"}, {NULL, 0, 0, 0, NULL}};
  const int32_t wanted[] = {7, 0, INT32_MIN, INT32_MAX, 1, -1, 1024, 1 << 30};
  struct attn_variant variant;
  const struct variant_spec base = spec_with(tunables, &variant);
  struct tunings list;
  assert_int_equal(tunings_of(&base, &unknown, &list).code, STATUS_OK);
  check_list(&base, &unknown, &list, false);
  for (size_t w = 0; w < sizeof wanted / sizeof *wanted; ++w) {
    bool found = false;
    for (size_t i = 0; i < list.count; ++i) found = found || list.items[i].tuning.value[0] == wanted[w];
    if (!found) fail_msg("%d is not tried", wanted[w]);
  }
  assert_string_equal(list.items[1].text, "own:n=0");
  free(list.items);
}

static bool even_only(const void *context, const struct attn_tuning *tuning) {
  (void)context;
  return tuning->value[0] % 2 == 0;
}

TEST(too_many_are_thinned_out_evenly_and_the_same_each_time) {
  static const struct attn_tunable many[] = {{"a", 0, 99, 2, "a"}, {"b", 0, 99, 0, "b"}, {NULL, 0, 0, 0, NULL}};
  static const struct attn_tunable wide[] = {
      {"a", 0, INT32_MAX, 1, "a"}, {"b", 0, INT32_MAX, 1, "b"}, {"c", 0, INT32_MAX, 1, "c"},
      {"d", 0, INT32_MAX, 1, "d"}, {"e", 0, INT32_MAX, 1, "e"}, {"f", 0, INT32_MAX, 1, "f"},
      {"g", 0, INT32_MAX, 1, "g"}, {"h", 0, INT32_MAX, 1, "h"}, {NULL, 0, 0, 0, NULL}};
  const struct tunings_filter filter = {.takes = even_only};
  struct attn_variant variant;
  struct tunings first, second;
  struct variant_spec base = spec_with(many, &variant);
  assert_int_equal(tunings_of(&base, &filter, &first).code, STATUS_OK);
  assert_int_equal(tunings_of(&base, &filter, &second).code, STATUS_OK);
  check_list(&base, &filter, &first, false);
  assert_int_equal(first.count, TUNINGS_MAX);
  assert_int_equal(first.count + first.left_out, 50 * 100);
  assert_memory_equal(first.items, second.items, first.count * sizeof *first.items);
  assert_true(first.items[TUNINGS_MAX - 1].tuning.value[1] > 90);
  free(first.items);
  free(second.items);
  base = spec_with(wide, &variant);
  for (size_t i = 0; i < 2; ++i) {
    const struct tunings_filter *wide_filter = i == 0 ? &filter : &unknown;
    assert_int_equal(tunings_of(&base, wide_filter, &first).code, STATUS_OK);
    check_list(&base, wide_filter, &first, false);
    assert_true(first.count > 100);
    free(first.items);
  }
}
