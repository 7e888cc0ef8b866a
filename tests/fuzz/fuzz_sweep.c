/* libFuzzer entry: any bytes as a sweep file. Besides memory errors it looks for a failure without a message and for
 * an accepted sweep that breaks the promises of cli/sweep/sweep.h. */
#include "cli/sweep/sweep.h"

#include "tests/fuzz/fuzz.h"

static void check_case(const struct attn_case *made) {
  const struct attn_problem *shape = &made->shape;
  char key[AXIS_KEY_MAX];
  axes_key(shape, key);
  expect(strcmp(key, made->key) == 0);
  expect(shape->B >= 1 && shape->B <= ATTN_B_MAX);
  expect(shape->Hkv >= 1 && shape->Hq <= ATTN_H_MAX && shape->Hq % shape->Hkv == 0);
  expect(shape->Sq >= 1 && shape->Sq <= ATTN_S_MAX && shape->Skv >= 1 && shape->Skv <= ATTN_S_MAX);
  expect(shape->D >= 1 && shape->D <= ATTN_D_MAX && (unsigned)shape->dtype < ATTN_DTYPE_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct sweep sweep;
  const struct status status = sweep_parse("fuzz.json", (const char *)data, size, &sweep);
  if (status_failed(&status)) {
    expect(strncmp(status.text, "fuzz.json:", 10) == 0);
    return 0;
  }
  expect(sweep.case_count >= 1 && sweep.case_count <= SWEEP_CASES_MAX);
  expect(sweep.variant_count <= SWEEP_VARIANTS_MAX && strlen(sweep.name) >= 1);
  for (size_t i = 0; i < sweep.case_count; ++i) check_case(&sweep.cases[i]);
  sweep_free(&sweep);
  return 0;
}
