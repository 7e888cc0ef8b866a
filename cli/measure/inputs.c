/* Writes what Q, K and V hold, for programs that compute attention without being loaded. */
#include "cli/measure/inputs.h"

#include <errno.h>
#include <string.h>

#include "cli/sweep/sweep.h"
#include "kernels/pattern.h"

/* One row of a tensor; returns its bytes. */
static size_t fill_row(const struct pattern *pattern, enum input_tensor tensor, uint64_t row, unsigned char *out) {
  const struct pattern_line line = pattern_line_of(pattern, tensor, row);
  const uint32_t columns = pattern->shape.D;
  const enum attn_dtype dtype = pattern->shape.dtype;
  for (uint32_t d = 0; d < columns; ++d) {
    const float value = pattern_value(pattern, tensor, &line, d);
    const uint16_t half = dtype == ATTN_F16 ? input_to_f16(value) : input_to_bf16(value);
    if (dtype == ATTN_F32) {
      memcpy(out + (size_t)d * sizeof value, &value, sizeof value);
    } else {
      memcpy(out + (size_t)d * sizeof half, &half, sizeof half);
    }
  }
  return columns * (dtype == ATTN_F32 ? sizeof(float) : sizeof(uint16_t));
}

static struct status write_tensor(const struct pattern *pattern, enum input_tensor tensor, FILE *out) {
  static unsigned char buffer[SWEEP_D_MAX * sizeof(float)];
  const struct attn_shape *s = &pattern->shape;
  const uint64_t rows = tensor == INPUT_Q ? pattern_rows(s) : (uint64_t)s->B * s->Hkv * s->Skv;
  for (uint64_t row = 0; row < rows; ++row) {
    const size_t bytes = fill_row(pattern, tensor, row, buffer);
    if (fwrite(buffer, 1, bytes, out) != bytes)
      return status_make(STATUS_OUTPUT, "stdout: cannot be written: %s", strerror(errno));
  }
  return status_ok();
}

struct status inputs_write(const struct attn_shape *shape, uint64_t seed, FILE *out) {
  struct pattern pattern = {.shape = *shape, .seed = seed};
  for (; pattern.launch < pattern_launches(shape); ++pattern.launch) {
    TRY(write_tensor(&pattern, INPUT_Q, out));
    TRY(write_tensor(&pattern, INPUT_K, out));
    TRY(write_tensor(&pattern, INPUT_V, out));
  }
  return status_ok();
}
