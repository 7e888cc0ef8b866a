/* emulated_reference: the GPU's fp64 reference as a variant, on the emulated GPU. Every row that it computes, and all
 * that it says of the row, must be what the CPU's oracle says. */
#include "tests/emulated/cuda.cuh"

#include <vector>

#include "kernels/cpu/oracle.h"
#include "kernels/cuda/reference.cuh"
#include "kernels/variant.h"

namespace {

const char *supports(const attn_problem *, const attn_tuning *, const struct device_info *) { return nullptr; }

void plan(const attn_problem *, const attn_tuning *, const struct device_info *, attn_plan *) {}

template <attn_dtype kDtype>
auto kernel_of(bool is_mixed) {
  return is_mixed ? attn::reference_kernel<kDtype, ATTN_E4M3> : attn::reference_kernel<kDtype, kDtype>;
}

void (*kernel_for(const attn_problem &p))(attn::reference_args) {
  const bool is_mixed = attn_kv_dtype(&p) != p.dtype;
  switch (p.dtype) {
    case ATTN_F16: return kernel_of<ATTN_F16>(is_mixed);
    case ATTN_BF16: return kernel_of<ATTN_BF16>(is_mixed);
    case ATTN_F32: return kernel_of<ATTN_F32>(is_mixed);
    case ATTN_E4M3: break;
  }
  return kernel_of<ATTN_E4M3>(is_mixed);
}

void write_row(const attn_problem &p, const attn_buffers &buffers, uint64_t row, const double *o, double lse) {
  const attn_view view = attn_view_of(&p, ATTN_O);
  const attn_dtype dtype = attn_out_dtype(&p);
  for (uint32_t d = 0; d < view.columns; ++d)
    attn_dtype_store(dtype, buffers.o, attn_view_row(&view, row) + d, attn_dtype_bits(dtype, (float)o[d]));
  if (buffers.lse != nullptr) buffers.lse[row] = (float)lse;
}

void run(const attn_problem *problem, const attn_plan *, const attn_buffers *buffers, unsigned threads) {
  const attn_view view = attn_view_of(problem, ATTN_O);
  const uint64_t count = attn_view_rows(&view);
  std::vector<double> gpu_o(count * view.columns), cpu_o(count * view.columns);
  std::vector<reference_row> gpu(count), cpu(count);
  oracle_input input = {};
  std::copy_n(buffers->tensor, (int)ATTN_ROLE_COUNT, input.tensor);
  const attn::reference_args args =
      attn::reference_args_of(*problem, input.tensor, gpu_o.data(), gpu.data(), {count, 1, count, 0});
  const dim3 grid = attn::reference_grid(args);
  const auto kernel = kernel_for(*problem);
  emulated::run({{grid.x, grid.y, 1}, {32 * attn::kReferenceWarps, 1, 1}, 1, 0, count}, [&] { kernel(args); });
  const oracle_output output = {cpu_o.data(), cpu.data(), nullptr, nullptr, nullptr};
  const struct status status = oracle_run(problem, &input, &output, threads);
  if (status_failed(&status)) emulated::fail("%s", status.text);
  for (uint64_t row = 0; row < count; ++row) {
    const uint64_t first = row * view.columns;
    const char *what = attn::disagreement(&cpu_o[first], cpu[row], &gpu_o[first], gpu[row], view.columns);
    if (what != nullptr) emulated::fail("row %llu has another %s than the CPU's", (unsigned long long)row, what);
    write_row(*problem, *buffers, row, &gpu_o[first], gpu[row].lse);
  }
}

}  // namespace

extern "C" const attn_variant attn_variant_emulated_reference = {
    .name = "emulated_reference",
    .summary = "the GPU's fp64 reference on an emulated GPU, held against the CPU's",
    .limits = nullptr,
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP64_HOST,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_SPARSE | ATTN_TAKES_E4M3 | ATTN_TAKES_PAGE |
             ATTN_TAKES_V_IN_K,
    .dtypes = ATTN_DTYPES_FLOAT | ATTN_DTYPE_BIT(ATTN_E4M3),
    .dtypes_why = nullptr,
    .dims = {},
    .tunables = nullptr,
    .supports = supports,
    .plan = plan,
    .bind = nullptr,
    .run = run,
    .vendor = nullptr,
    .picks = nullptr,
    .runs_anywhere = false,
};
