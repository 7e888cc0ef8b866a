/* Variants that are a vendor's library: what is said of them without a GPU. */
#include "cli/record/field_tables.h"
#include "cli/record/record.h"
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

/* One KV head; `batch` as in a sweep, or "". */
static void refuses(const char *batch, bool causal, struct attn_problem shape, const char *gpu, const char *why) {
  const struct attn_variant *variant = variant_find("cudnn");
  const struct attn_tuning tuning = variant_default_tuning(variant);
  if (batch[0] != '\0') {
    assert_non_null(attn_batch_read(batch, &shape.batch));
    const struct attn_group extent = attn_batch_extent(&shape.batch);
    shape.B = extent.count, shape.Sq = extent.Sq, shape.Skv = extent.Skv;
  }
  if (causal) shape.right = 0;
  const char *said = variant_supports(variant, &shape, &tuning, &gpu_model_find(gpu)->info);
  if (why == NULL ? said != NULL : said == NULL || strstr(said, why) == NULL)
    fail_msg("\"%s\": %s", batch, said != NULL ? said : "taken");
}

TEST(cudnn_refuses_sequences_whose_rows_see_no_key_and_types_of_other_gpus) {
  struct attn_problem dense = ATTN_DENSE(2, 4, 1, 64, 64, 64, ATTN_BF16, false), lse = dense, e4m3 = dense;
  refuses("2q33s70_q5s9", false, dense, "h200", NULL);
  refuses("2q33s70_q0s9_q0s0", true, dense, "h200", NULL);
  refuses("2q33s70_q9s5", false, dense, "h200", NULL);
  refuses("2q33s70_q9s5", true, dense, "h200", "Sq must be at most Skv");
  refuses("2q33s70_q9s0", false, dense, "h200", "must have keys");
  lse.lse = true;
  refuses("", false, lse, "h200", NULL);
  refuses("2q33s70", false, lse, "h200", "lse must be left out of a ragged batch");
  e4m3.kv_dtype = 1;
  refuses("", false, e4m3, "h200", "kv_dtype must be left out");
  e4m3.kv_dtype = 0, e4m3.dtype = ATTN_E4M3;
  refuses("", false, e4m3, "h200", "needs compute capability 10.0");
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
