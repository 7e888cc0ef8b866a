/* The kernels for Hopper as variants of the CPU device, on the emulated GPU: `--load` of this object adds
 * emulated_wgmma. How many SMs the GPU has follows from the problem, so that persistent kernels take one item or
 * many, and blocks can be more than there is work for. */
#include <string.h>

#include "kernels/plugin.h"
#include "tests/emulated/emulator.cuh"

extern "C" const struct attn_variant attn_variant_wgmma, attn_variant_wgmma_general, attn_variant_wgmma_paged,
    attn_variant_wgmma_fp8, attn_variant_decode_general, attn_variant_mla, attn_variant_emulated_reference;

namespace {

/* A kernel's argument, by value: one that is at least as large is passed in the same place, whatever it is. */
struct Argument {
  alignas(64) unsigned char bytes[4096];
};

/* Different for problems that differ, and always the same. */
uint64_t mixed(const attn_problem &p) {
  uint64_t x = 0x9e3779b97f4a7c15ull;
  for (const uint64_t member : {p.B, p.Hq, p.Hkv, p.Sq, p.Skv, p.D, p.Dv, (uint32_t)p.dtype, (uint32_t)p.left})
    x = (x ^ member) * 0xd6e8feb86659fd93ull, x ^= x >> 32;
  return x;
}

/* More than a decoding problem of a test has work for, now and then. */
uint32_t sms(const attn_problem &p) {
  const uint64_t drawn = mixed(p);
  return p.Sq <= 64 && drawn % 3 == 0 ? 132 : 2 + (uint32_t)(drawn % 2);
}

device_info h200(const attn_problem &p) {
  device_info info = {};
  info.kind = DEVICE_CUDA;
  info.cc_major = 9;
  info.sms = sms(p);
  info.threads_per_sm = 2048, info.blocks_per_sm = 32, info.regs_per_sm = 65536, info.threads_per_block = 1024;
  info.smem_per_sm_bytes = 233472, info.smem_per_block_bytes = emulated::SMEM_MAX, info.smem_reserved_bytes = 1024;
  info.l2_bytes = 50 << 20;
  return info;
}

template <const attn_variant &kVariant>
const char *supports(const attn_problem *problem, const attn_tuning *tuning, const device_info *) {
  const device_info info = h200(*problem);
  return kVariant.supports(problem, tuning, &info);
}

attn_plan inner_plan(const attn_variant &variant, const attn_problem &problem, const attn_tuning &tuning) {
  const device_info info = h200(problem);
  attn_plan plan = {};
  for (attn_pass &pass : plan.pass) pass.cluster[0] = pass.cluster[1] = pass.cluster[2] = 1;
  plan.tuning = tuning;
  variant.plan(&problem, &tuning, &info, &plan);
  return plan;
}

template <const attn_variant &kVariant>
void plan(const attn_problem *problem, const attn_tuning *tuning, const device_info *, attn_plan *out) {
  const attn_plan inner = inner_plan(kVariant, *problem, *tuning);
  out->workspace_bytes = inner.workspace_bytes, out->zeroed_bytes = inner.zeroed_bytes;
}

template <const attn_variant &kVariant>
void run(const attn_problem *problem, const attn_plan *planned, const attn_buffers *buffers, unsigned) {
  const attn_plan inner = inner_plan(kVariant, *problem, planned->tuning);
  static attn_pass_args args[ATTN_PASSES_MAX];
  const struct status status = kVariant.bind(problem, &inner, buffers, args);
  if (status_failed(&status)) emulated::fail("%s", status.text);
  for (uint32_t i = 0; i < inner.pass_count; ++i) {
    const attn_pass &pass = inner.pass[i];
    const auto kernel = reinterpret_cast<void (*)(Argument)>(const_cast<void *>(pass.kernel));
    Argument argument;
    memcpy(&argument, args[i].bytes, sizeof argument);
    emulated::run({{pass.grid[0], pass.grid[1], pass.grid[2]},
                   {pass.block[0], pass.block[1], pass.block[2]},
                   pass.cluster[0],
                   pass.dynamic_smem_bytes,
                   mixed(*problem)},
                  [&] { kernel(argument); });
  }
}

template <const attn_variant &kVariant>
attn_variant on_emulated_gpu(const char *name) {
  attn_variant variant = kVariant;
  variant.name = name;
  variant.summary = "a kernel for Hopper on an emulated GPU";
  /* Where sums are cut the bounds are those of tensor cores. */
  variant.runs_on = DEVICE_CPU, variant.math = emulated::cuts() ? ATTN_MATH_WGMMA : ATTN_MATH_FP32_HOST;
  variant.supports = supports<kVariant>, variant.plan = plan<kVariant>, variant.bind = nullptr,
  variant.run = run<kVariant>;
  return variant;
}

const attn_variant wgmma = on_emulated_gpu<attn_variant_wgmma>("emulated_wgmma");
const attn_variant wgmma_general = on_emulated_gpu<attn_variant_wgmma_general>("emulated_wgmma_general");
const attn_variant wgmma_paged = on_emulated_gpu<attn_variant_wgmma_paged>("emulated_wgmma_paged");
const attn_variant wgmma_fp8 = on_emulated_gpu<attn_variant_wgmma_fp8>("emulated_wgmma_fp8");
const attn_variant decode_general = on_emulated_gpu<attn_variant_decode_general>("emulated_decode_general");
const attn_variant mla = on_emulated_gpu<attn_variant_mla>("emulated_mla");
const attn_variant *const variants[] = {
    &wgmma, &wgmma_general, &wgmma_paged, &wgmma_fp8, &decode_general, &mla, &attn_variant_emulated_reference};

}  // namespace

extern "C" {
ATTN_PLUGIN(variants, NULL);
}
