/* Our kernels with a spin behind their last instruction, for --load: slowdowns of known size that are inside the
 * launch. scripts/proof/gate_trials.py asks whether the gate finds them.
 *
 * `steady_NAME` and `slowed_NAME` launch the same compiled kernel. A warp of the first never spins; one of the second
 * spins as many SM clocks as the file beside this object says, named like it with ".cycles" appended, in lines
 *
 *   KEY NAME CYCLES        B1.H8.Hkv8.Sq512.Skv512.D64.f16.full mma_swizzle 450
 *
 * What the file does not name, or all where there is none, does not spin. `cpu_flash` spins nanoseconds of the CPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernels/plugin.h"
#include "kernels/tiles/attn_params.cuh"

#define VARIANT(name) extern "C" const attn_variant attn_variant_##name;
#include "tests/slowed/slowed.def"
#undef VARIANT
extern "C" const attn_variant attn_variant_cpu_flash; /* attnbench's own */

namespace {

constexpr size_t kKeyMax = 96, kPathMax = 4096;

void write_key(const attn_problem &s, char *out, size_t size) {
  snprintf(out, size, "B%u.H%u.Hkv%u.Sq%u.Skv%u.D%u.%s.%s", s.B, s.Hq, s.Hkv, s.Sq, s.Skv, s.D,
           attn_dtype_name(s.dtype), attn_is_causal(&s) ? "causal" : "full");
}

FILE *open_cycles() {
  Dl_info info;
  char path[kPathMax];
  if (dladdr(reinterpret_cast<const void *>(&attn_plugin), &info) == 0) return nullptr;
  snprintf(path, sizeof path, "%s.cycles", info.dli_fname);
  return fopen(path, "r");
}

uint32_t cycles_of(const attn_problem &shape, const char *variant) {
  char wanted[kKeyMax], key[kKeyMax], name[kKeyMax];
  unsigned cycles = 0, found = 0;
  write_key(shape, wanted, sizeof wanted);
  FILE *file = open_cycles();
  while (file != nullptr && fscanf(file, "%95s %95s %u", key, name, &cycles) == 3) {
    if (strcmp(key, wanted) == 0 && strcmp(name, variant) == 0) found = cycles;
  }
  if (file != nullptr) fclose(file);
  return found;
}

/* params_of, which every bind() calls, takes the number from here. */
template <const attn_variant *Original, bool Slowed>
status bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
            attn_pass_args args[ATTN_PASSES_MAX]) {
  attn::slow_cycles_of_bind = Slowed ? cycles_of(*shape, Original->name) : 0;
  return Original->bind(shape, plan, buffers, args);
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

template <const attn_variant *Original, bool Slowed>
void run(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers, unsigned threads) {
  static attn_problem last; /* reading the file takes longer than a kernel */
  static int64_t delay_ns = 0;
  Original->run(shape, plan, buffers, threads);
  if (Slowed && memcmp(&last, shape, sizeof last) != 0) {
    last = *shape;
    delay_ns = cycles_of(*shape, Original->name);
  }
  for (const int64_t start = now_ns(); Slowed && now_ns() - start < delay_ns;) continue;
}

template <const attn_variant *Original, bool Slowed>
attn_variant made(const char *name) {
  attn_variant variant = *Original;
  variant.name = name;
  if (variant.math == ATTN_MATH_FP32_OR_TENSOR) variant.math = ATTN_MATH_FP32; /* of ours alone */
  if (variant.bind != nullptr) variant.bind = bind<Original, Slowed>;
  if (variant.run != nullptr) variant.run = run<Original, Slowed>;
  return variant;
}

#define VARIANT(name)                                                                    \
  const attn_variant steady_##name = made<&attn_variant_##name, false>("steady_" #name); \
  const attn_variant slowed_##name = made<&attn_variant_##name, true>("slowed_" #name);
#include "tests/slowed/slowed.def"
#undef VARIANT

const attn_variant steady_cpu_flash = made<&attn_variant_cpu_flash, false>("steady_cpu_flash");
const attn_variant slowed_cpu_flash = made<&attn_variant_cpu_flash, true>("slowed_cpu_flash");

#define VARIANT(name) &steady_##name, &slowed_##name,
const attn_variant *const variants[] = {
#include "tests/slowed/slowed.def"
    &steady_cpu_flash,
    &slowed_cpu_flash,
};
#undef VARIANT

}  // namespace

ATTN_PLUGIN(variants, ATTN_PLUGIN_LAUNCH_HANDLE);
