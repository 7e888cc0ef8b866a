/* emulated_reference: the GPU's fp64 reference as a variant, on the emulated GPU. Every row that it computes, and all
 * that it says of the row, must be what the CPU's oracle says. The witness of timed launches must change the inputs
 * as pattern.h says, find the outputs of changed inputs right, and find one wrong element. */
#include "tests/emulated/cuda.cuh"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/oracle.h"
#include "kernels/cuda/reference.cuh"
#include "kernels/cuda/witness.cuh"
#include "kernels/variant.h"

namespace {

const char *supports(const attn_problem *, const attn_tuning *, const struct device_info *) { return nullptr; }

void plan(const attn_problem *, const attn_tuning *, const struct device_info *, attn_plan *) {}

void write_row(const attn_problem &p, const attn_buffers &buffers, uint64_t row, const double *o, double lse) {
  const attn_view view = attn_view_of(&p, ATTN_O);
  const attn_dtype dtype = attn_out_dtype(&p);
  for (uint32_t d = 0; d < view.columns; ++d)
    attn_dtype_store(dtype, buffers.o, attn_view_row(&view, row) + d, attn_dtype_bits(dtype, (float)o[d]));
  if (buffers.lse != nullptr) buffers.lse[row] = (float)lse;
}

/* The elements of a tensor in memory of its own, laid out as the tensor is. */
struct Copy {
  attn_dtype dtype;
  attn_view view;
  std::vector<uint32_t> memory; /* large enough for elements of any type */

  Copy(attn_dtype type, const attn_view &of, const void *from) : dtype(type), view(of) {
    uint64_t end = 0;
    for (uint64_t row = 0; row < attn_view_rows(&view); ++row)
      end = std::max(end, attn_view_row(&view, row) + view.columns);
    memory.resize(end);
    for (uint64_t row = 0; row < attn_view_rows(&view); ++row)
      for (uint32_t d = 0; d < view.columns; ++d) set(row, d, attn_dtype_load(dtype, from, at(row, d)));
  }
  uint64_t at(uint64_t row, uint32_t d) const { return attn_view_row(&view, row) + d; }
  uint32_t get(uint64_t row, uint32_t d) const { return attn_dtype_load(dtype, memory.data(), at(row, d)); }
  void set(uint64_t row, uint32_t d, uint32_t bits) { attn_dtype_store(dtype, memory.data(), at(row, d), bits); }
};

/* What element d of a row has to be after a swap and these flips. */
uint32_t changed(const attn_problem &p, attn_role role, const Copy &before, uint64_t flips, uint64_t row,
                 uint32_t d) {
  const bool has_flips = pattern_flips(role) || role == ATTN_O;
  const uint64_t pair = has_flips ? pattern_flip_pair(&p, role, row) : PATTERN_NO_PAIR;
  const uint32_t sign =
      pattern_is_flipped(flips, pattern_flip_of(&p, role), pair, d) ? attn_dtype_sign(before.dtype) : 0;
  return before.get(pattern_partner(&p, role, row), d) ^ sign;
}

template <typename Kernel>
void launch(const attn::witness_runs &runs, const Kernel &kernel) {
  constexpr uint32_t kWarps = 2;
  const uint32_t blocks = (uint32_t)std::clamp<uint64_t>(runs.count / kWarps, 1, 64);
  emulated::run({{blocks, 1, 1}, {32 * kWarps, 1, 1}, 1, 0, runs.count}, kernel);
}

template <typename Call>
void with_dtype(attn_dtype dtype, const Call &call) {
  switch (dtype) {
    case ATTN_F16: return call(std::integral_constant<attn_dtype, ATTN_F16>{});
    case ATTN_BF16: return call(std::integral_constant<attn_dtype, ATTN_BF16>{});
    case ATTN_F32: return call(std::integral_constant<attn_dtype, ATTN_F32>{});
    case ATTN_E4M3: return call(std::integral_constant<attn_dtype, ATTN_E4M3>{});
  }
}

/* Runs of some rows, whatever a GPU would take. */
attn::witness_runs runs_of(const attn_view &view, uint64_t rows, uint64_t chance) {
  const attn::witness_runs one = attn::witness_runs_of(1, view.columns);
  const uint32_t of_run = 1 + (uint32_t)(input_mix(chance) % 32);
  return {of_run, one.slabs, (rows + of_run - 1) / of_run * one.slabs};
}

void check_changes(const attn_problem &p, const attn_buffers &buffers, uint64_t flips) {
  for (int role = 0; role < ATTN_ROLE_COUNT; ++role) {
    attn_tensor tensor;
    if (!attn_tensor_of(&p, (attn_role)role, &tensor) || tensor.output || tensor.is_alias) continue;
    const Copy before(tensor.dtype, tensor.view, buffers.tensor[role]);
    Copy after = before;
    const attn::witness_runs runs = runs_of(tensor.view, attn_view_rows(&tensor.view), flips >> role);
    with_dtype(tensor.dtype, [&](auto t) {
      launch(runs, [&] { attn::change_kernel<t.value>(after.memory.data(), p, tensor, flips, runs); });
    });
    for (uint64_t row = 0; row < attn_view_rows(&tensor.view); ++row)
      for (uint32_t d = 0; d < tensor.view.columns; ++d)
        if (after.get(row, d) != changed(p, tensor.role, before, flips, row, d))
          emulated::fail("the change of %s is wrong in row %llu, column %u", attn_role_name(tensor.role),
                         (unsigned long long)row, d);
  }
}

/* `o`, `rows`: the reference of the outputs in `buffers`, which are right. Inputs that are timed have no NaN. */
void check_looks(const attn_problem &p, const attn_buffers &buffers, const std::vector<double> &o,
                 const std::vector<reference_row> &rows, uint64_t flips) {
  if (std::any_of(o.begin(), o.end(), [](double x) { return std::isnan(x); })) return;
  attn_tensor tensor;
  attn_tensor_of(&p, ATTN_O, &tensor);
  const uint64_t count = attn_view_rows(&tensor.view);
  const Copy before(tensor.dtype, tensor.view, buffers.o);
  Copy output = before;
  std::vector<float> lse(buffers.lse != nullptr ? count : 0);
  attn::compare_args args = {output.memory.data(),
                             tensor.view,
                             buffers.lse != nullptr ? lse.data() : nullptr,
                             o.data(),
                             rows.data(),
                             p,
                             {count, 1, count, 0},
                             compare_tolerance(tensor.dtype),
                             {p, 1, 0, flips, true}};
  for (uint64_t row = 0; row < count; ++row) {
    for (uint32_t d = 0; d < tensor.view.columns; ++d) output.set(row, d, changed(p, ATTN_O, before, flips, row, d));
    if (buffers.lse != nullptr) lse[row] = buffers.lse[pattern_partner(&p, ATTN_O, row)];
  }
  const attn::witness_runs runs = runs_of(tensor.view, count, flips);
  unsigned long long wrong = 0, last = 0, look = 0;
  const auto sees = [&](const attn::verified_outputs &verified) {
    with_dtype(tensor.dtype, [&](auto t) {
      ++look;
      launch(runs, [&] { attn::witness_kernel<t.value>(args, verified, runs, look, &wrong, &last); });
    });
    return std::exchange(wrong, 0) > 0;
  };
  const attn::verified_outputs verified = {before.memory.data(), buffers.lse};
  if (sees(verified)) emulated::fail("the witness takes right outputs for wrong");
  if (sees({nullptr, nullptr})) emulated::fail("the witness takes outputs within their bounds for wrong");
  const std::vector<double> unlike(o.size(), 1e300);
  args.o = unlike.data();
  if (sees(verified)) emulated::fail("the witness asks for bounds where the bits are right");
  args.o = o.data();
  uint64_t row = 0;
  for (uint64_t n = 0; n < 8; ++n) {
    row = input_mix(flips + n) % count;
    const uint32_t d = (uint32_t)(input_mix(flips - n) % tensor.view.columns), bits = output.get(row, d);
    output.set(row, d, ~0u); /* NaN */
    if (!sees(verified) || last != look) emulated::fail("the witness does not see a wrong element");
    output.set(row, d, bits);
  }
  if (buffers.lse == nullptr) return;
  lse[row] = NAN;
  if (!sees(verified)) emulated::fail("the witness does not see a wrong log-sum-exp");
}

void launch_reference(const attn::reference_args &args, bool splits) {
  const attn::reference_launch how = attn::reference_launch_of(args, splits);
  with_dtype(args.shape.dtype, [&](auto t) {
    const auto kernel = splits ? attn::reference_kernel_of<t.value, true>(args.shape)
                               : attn::reference_kernel_of<t.value, false>(args.shape);
    emulated::run({{how.grid.x, how.grid.y, 1}, {how.threads, 1, 1}, 1, 0, args.sample.count}, [&] { kernel(args); });
  });
}

void run(const attn_problem *problem, const attn_plan *, const attn_buffers *buffers, unsigned threads) {
  const attn_view view = attn_view_of(problem, ATTN_O);
  const uint64_t count = attn_view_rows(&view);
  std::vector<double> gpu_o(count * view.columns), cpu_o(count * view.columns);
  std::vector<reference_row> gpu(count), cpu(count);
  oracle_input input = {};
  std::copy_n(buffers->tensor, (int)ATTN_ROLE_COUNT, input.tensor);
  const oracle_output output = {cpu_o.data(), cpu.data(), nullptr, nullptr, nullptr};
  const struct status status = oracle_run(problem, &input, &output, threads);
  if (status_failed(&status)) emulated::fail("%s", status.text);
  const attn::reference_args args =
      attn::reference_args_of(*problem, input.tensor, gpu_o.data(), gpu.data(), {count, 1, count, 0});
  for (const bool splits : {true, false}) {
    std::fill(gpu.begin(), gpu.end(), reference_row{});
    launch_reference(args, splits);
    for (uint64_t row = 0; row < count; ++row) {
      const uint64_t first = row * view.columns;
      const char *what = attn::disagreement(&cpu_o[first], cpu[row], &gpu_o[first], gpu[row], view.columns);
      if (what != nullptr)
        emulated::fail("row %llu has another %s than the CPU's, computed by %s", (unsigned long long)row, what,
                       splits ? "several warps" : "one warp");
      write_row(*problem, *buffers, row, &gpu_o[first], gpu[row].lse);
    }
  }
  static unsigned calls = 0;
  if (calls++ % 4 > 0)
    return; /* these take as long as the reference; launch 0, whose inputs are timed, comes first */
  const uint64_t flips = pattern_fresh_flips(1, count);
  check_changes(*problem, *buffers, flips);
  check_looks(*problem, *buffers, gpu_o, gpu, flips);
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
