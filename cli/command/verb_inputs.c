/* attnbench inputs: what the tensors of a case hold, on stdout, for programs that compute attention without being
 * loaded. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/command/commands.h"
#include "kernels/pattern.h"

static void fill_row(const struct pattern *pattern, const struct attn_tensor *tensor, uint64_t row, void *out) {
  const struct pattern_line line = pattern_line_of(pattern, tensor->role, row);
  for (uint32_t d = 0; d < tensor->view.columns; ++d)
    attn_dtype_store(tensor->dtype, out, d, pattern_bits(pattern, tensor, &line, d));
}

static struct status write_rows(const struct pattern *pattern, const struct attn_tensor *tensor, void *buffer,
                                FILE *out) {
  const size_t bytes = (size_t)tensor->view.columns * attn_dtype_bytes(tensor->dtype);
  for (uint64_t row = 0; row < attn_view_rows(&tensor->view); ++row) {
    fill_row(pattern, tensor, row, buffer);
    if (fwrite(buffer, 1, bytes, out) != bytes)
      return status_make(STATUS_OUTPUT, "stdout: cannot be written: %s", strerror(errno));
  }
  return status_ok();
}

static struct status write_tensor(const struct pattern *pattern, enum attn_role role, FILE *out) {
  struct attn_tensor tensor;
  if (!attn_tensor_of(&pattern->problem, role, &tensor) || !attn_is_input(&tensor)) return status_ok();
  OWNED_ARRAY(unsigned char, buffer, (size_t)tensor.view.columns *attn_dtype_bytes(tensor.dtype), "bytes of a row");
  return write_rows(pattern, &tensor, buffer, out);
}

/* Writes the input tensors of every launch of a check of this problem (kernels/pattern.h), launch 0 first. The
 * tensors of a launch come in the order of enum attn_role (problem/tensor.h), and their rows in the order of the row
 * numbers. Elements have the dtype of their tensor and the machine's byte order; there is no padding. */
static struct status write_case(const struct attn_problem *problem, uint64_t seed, FILE *out) {
  struct pattern pattern = {.problem = *problem, .seed = seed};
  for (; pattern.launch < pattern_launches(problem); ++pattern.launch) {
    for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) TRY(write_tensor(&pattern, (enum attn_role)role, out));
  }
  return status_ok();
}

static struct status write_cases(const struct options *options, const struct sweep *sweep, FILE *out) {
  for (size_t i = 0; i < sweep->case_count; ++i) TRY(write_case(&sweep->cases[i].shape, options->seed.value, out));
  return status_ok();
}

struct status verb_inputs(const struct options *options) {
  OWNED(sweep_free) struct sweep sweep = {.case_count = 0};
  if (isatty(STDOUT_FILENO))
    return status_make(
        STATUS_USAGE,
        "attnbench inputs writes raw numbers, which a terminal cannot show; send them to a file or a pipe");
  TRY(sweep_source_load(options, &sweep));
  OUTPUT_TRY("-", out, write_cases(options, &sweep, out));
  return status_ok();
}
