#include <stdio.h>
#include <string.h>

#include "cli/sweep/sweep.h"
#include "cli/sweep/variant_spec.h"
#include "tests/unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

TEST(specs_become_canonical) {
  struct variant_spec spec;
  struct status status = variant_spec_parse("split_kv", "--variants", STATUS_USAGE, &spec);
  assert_false(status_failed(&status));
  assert_string_equal(spec.text, "split_kv");
  const struct attn_tuning defaults = variant_default_tuning(spec.variant);
  assert_memory_equal(&spec.tuning, &defaults, sizeof defaults);
  status = variant_spec_parse("split_kv:splits=4", "--variants", STATUS_USAGE, &spec);
  assert_false(status_failed(&status));
  assert_string_equal(spec.text, "split_kv:splits=4");
  assert_int_equal(spec.tuning.value[0], 4);
}

TEST(several_tunables_are_written_in_table_order) {
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if (variant_tunable_count(variant) < 2) continue;
    const struct attn_tunable *a = &variant->tunables[0], *b = &variant->tunables[1];
    char given[VARIANT_SPEC_MAX], expected[VARIANT_SPEC_MAX];
    struct variant_spec spec;
    snprintf(given, sizeof given, "%s:%s=%d,%s=%d", variant->name, b->name, b->max, a->name, a->min);
    snprintf(expected, sizeof expected, "%s:%s=%d,%s=%d", variant->name, a->name, a->min, b->name, b->max);
    const struct status status = variant_spec_parse(given, "x", STATUS_INPUT, &spec);
    assert_false(status_failed(&status));
    assert_string_equal(spec.text, expected);
  }
}

TEST(bad_specs_say_what_to_write) {
  static const struct {
    const char *text, *expected;
  } rows[] = {
      {"split_kw", "--variants has \"split_kw\", which is not a variant; did you mean \"split_kv\"?"},
      {"WMMA", "did you mean \"wmma\"?"},
      {"", "has \"\", which is not a variant; `attnbench list` shows those that are built in, --load adds your own"},
      {"flash_attention_3", "shows those that are built in, --load adds your own"},
      {"wmma ", "did you mean \"wmma\"?"},
      {"cpu_ref:x=1", "cpu_ref has no tunables; write \"cpu_ref\" alone"},
      {"cpu_ref:", "write a tunable as key=value"},
      {"cp_async:", "write a tunable as key=value after \"cp_async:\""},
      {"cp_async:stages", "write a tunable as key=value"},
      {"cp_async:stages=", "stages must be a whole number from 2 to 3"},
      {"cp_async:stages=4", "stages must be a whole number from 2 to 3"},
      {"cp_async:stages=1", "stages must be a whole number from 2 to 3"},
      {"cp_async:stages=02", "stages must be a whole number"},
      {"cp_async:stages=+2", "stages must be a whole number"},
      {"cp_async:stages= 2", "stages must be a whole number"},
      {"cp_async:stages=2.0", "stages must be a whole number"},
      {"cp_async:stages=0x2", "stages must be a whole number"},
      {"cp_async:stages=99999999999999999999", "stages must be a whole number"},
      {"cp_async:stages=4294967298", "stages must be a whole number"},
      {"cp_async:stages=2,stages=3", "sets stages twice"},
      {"cp_async:stages=2,", "write a tunable as key=value"},
      {"cp_async:stage=2", "no tunable \"stage\"; did you mean \"stages\"?"},
      {"cp_async:stages=2:stages=2", "stages must be a whole number"},
      {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
       "which is longer than 95 bytes; shorten it"},
      {"a\x1b[2J", "has \"a\\u001b[2J\""},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct variant_spec spec;
    const struct status status = variant_spec_parse(rows[i].text, "--variants", STATUS_USAGE, &spec);
    assert_int_equal(status.code, STATUS_USAGE);
    assert_int_equal(strncmp(status.text, "--variants ", 11), 0);
    if (!strstr(status.text, rows[i].expected)) fail_msg("\"%s\" lacks \"%s\"", status.text, rows[i].expected);
  }
}

/* A misspelt member would be left out in silence. */
TEST(members_of_groups_are_variants) {
  static const char *const members[] = {
#define MEMBER(group, variant) #variant,
#include "kernels/groups.def"
#undef MEMBER
  };
  for (size_t i = 0; i < sizeof members / sizeof *members; ++i) assert_non_null(variant_find(members[i]));
  assert_int_equal(variant_group_find("ladder"), VARIANT_GROUP_ladder);
  assert_int_equal(variant_group_find("wmma"), VARIANT_GROUP_COUNT);
}
