/* Variants that are a vendor's library: what is said of them without a GPU. */
#include "cli/record/field_tables.h"
#include "cli/record/plan.h"
#include "cli/report/views.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static const struct attn_variant *vendor_at(size_t *index) {
  for (; *index < variant_count(); ++*index) {
    if (variant_at(*index)->vendor != NULL) return variant_at((*index)++);
  }
  return NULL;
}

TEST(a_vendor_has_hooks_instead_of_kernels) {
  const struct attn_variant *variant;
  size_t index = 0, seen = 0;
  for (; (variant = vendor_at(&index)) != NULL; ++seen) {
    const char *missing = variant->vendor->missing();
    assert_true(variant->bind == NULL && variant->run == NULL);
    assert_true(missing == NULL || strlen(missing) > 20);
    assert_true(missing != NULL || (variant->vendor->open != NULL && variant->vendor->enqueue != NULL));
    assert_true(missing != NULL || strpbrk(variant->vendor->library(), "0123456789") != NULL);
  }
  assert_true(seen > 0);
}

TEST(a_vendor_is_planned_without_launches) {
  size_t index = 0;
  const struct attn_variant *variant = vendor_at(&index);
  struct attn_case attn_case = {.shape = ATTN_DENSE(1, 8, 8, 512, 512, 64, ATTN_F16, true)};
  struct variant_spec spec = {.variant = variant};
  struct record record;
  plan_record(&attn_case, &spec, &gpu_model_find("h200")->info, &record);
  assert_int_equal(record.status, CELL_planned);
  assert_int_equal(record.plan.pass_count, 0);
  assert_non_null(strstr(record.reason, "its library chooses"));
  attn_case.shape.Sq = 513;
  plan_record(&attn_case, &spec, &gpu_model_find("h200")->info, &record);
  assert_int_equal(record.status, CELL_skipped);
}

/* One block on 132 SMs, a grid that does not grow with B*H: everything that a kernel of ours would be told. */
TEST(a_kernel_read_back_gets_no_advice_and_is_not_called_serial) {
  static struct rows rows;
  struct row_spec spec = {.B = 8,
                          .H = 16,
                          .S = 512,
                          .D = 64,
                          .threads = 128,
                          .registers = 255,
                          .resident_blocks = 1,
                          .cold_us = 900,
                          .hot_us = 900};
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_true(rows.findings[0].count > 0);
  assert_false(rows.metrics[0].pass[0].covers_bh);
  for (int axis = 0; axis < 3; ++axis) spec.covers[axis] = ATTN_COVERS_UNKNOWN;
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_int_equal(rows.findings[0].count, 0);
  assert_true(rows.metrics[0].pass[0].covers_bh);
}

TEST(an_unknown_axis_is_a_question_mark) {
  char text[FIELDS_SET_TEXT_MAX];
  fields_set_text(ATTN_COVERS_UNKNOWN, attn_cover_name, text);
  assert_string_equal(text, "?");
}
