/* Planted faults on the GPU: one naive kernel, each variant breaks it in one way. The first five give wrong output;
 * the others damage memory, the context, the process or the run. */
#include <csignal>
#include <cstdlib>

#include "kernels/tiles/attn_params.cuh"
#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#endif

namespace attn {

enum gpu_fault {
  GPU_FAULT_SKIP_HEAD,
  GPU_FAULT_LAST_TILE,
  GPU_FAULT_MASK,
  GPU_FAULT_MISSING_MERGE,
  GPU_FAULT_STALE,
  GPU_FAULT_REDZONE,
  GPU_FAULT_ILLEGAL,
  GPU_FAULT_TRAP,
  GPU_FAULT_HANG,
  GPU_FAULT_MISALIGNED,
  GPU_FAULT_NAN,
  GPU_FAULT_INPUT,
  GPU_FAULT_RACE,
  GPU_FAULT_NONE, /* what goes wrong is done by cards.c */
  GPU_FAULT_WORKSPACE,
  GPU_FAULT_ABORT, /* from here on: of the process, while the kernel is bound */
  GPU_FAULT_CRASH,
  GPU_FAULT_EXIT,
  GPU_FAULT_KILLED,
};

constexpr uint32_t kFaultThreads = 128; /* one query row each */
constexpr uint32_t kFaultDim = 64;

#ifdef __CUDACC__

struct FaultParams {
  Params p;
  enum gpu_fault fault;
};

/* Launches of the stale variant so far in this process. */
__device__ unsigned int gpu_fault_launches;

__device__ uint32_t faulty_keys(const FaultParams &f, uint32_t row) {
  const uint32_t keys = visible_keys(f.p, row);
  if (f.fault == GPU_FAULT_LAST_TILE) return min(keys, (f.p.Skv - 1) / 64 * 64);
  if (f.fault == GPU_FAULT_MASK) return f.p.causal ? min(keys + 1, f.p.Skv) : keys - 1;
  if (f.fault == GPU_FAULT_MISSING_MERGE) return min(keys, f.p.Skv / 2);
  return keys;
}

__device__ void misbehave(const FaultParams &f, uint64_t elements) {
  if (f.fault == GPU_FAULT_REDZONE) static_cast<__half *>(f.p.o)[elements] = __float2half(1.0f);
  if (f.fault == GPU_FAULT_ILLEGAL) *reinterpret_cast<volatile int *>(16) = 1;
  if (f.fault == GPU_FAULT_TRAP) asm volatile("trap;");
  if (f.fault == GPU_FAULT_MISALIGNED) *reinterpret_cast<volatile int *>(static_cast<char *>(f.p.o) + 1) = 1;
  if (f.fault == GPU_FAULT_INPUT) const_cast<__half *>(static_cast<const __half *>(f.p.q))[0] = __float2half(0.5f);
  while (f.fault == GPU_FAULT_HANG) __nanosleep(1000);
}

/* Of two blocks that race for the same rows, each with half of the keys. */
__device__ uint32_t racing_half(const FaultParams &f) { return f.fault == GPU_FAULT_RACE ? blockIdx.x % 2 : 0; }

__global__ void gpu_fault_kernel(const __grid_constant__ FaultParams f) {
  const Params &p = f.p;
  const uint32_t tile = f.fault == GPU_FAULT_RACE ? blockIdx.x / 2 : blockIdx.x;
  const uint32_t row = tile * kFaultThreads + threadIdx.x, h = blockIdx.y, b = blockIdx.z;
  if (row == 0 && h == 0 && b == 0) misbehave(f, uint64_t{p.B} * p.Hq * p.Sq * p.D);
  if (row >= p.Sq || (f.fault == GPU_FAULT_SKIP_HEAD && h == p.Hq - 1)) return;
  if (f.fault == GPU_FAULT_STALE && gpu_fault_launches > 0) return;
  const __half *q = static_cast<const __half *>(p.q) + row_offset(b, p.Hq, h, p.Sq, row, p.D);
  const __half *k = static_cast<const __half *>(p.k) + row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, p.D);
  const __half *v = static_cast<const __half *>(p.v) + row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, p.D);
  __half *o = static_cast<__half *>(p.o) + row_offset(b, p.Hq, h, p.Sq, row, p.D);
  const uint32_t all = faulty_keys(f, row), half = racing_half(f), middle = min(all, p.Skv / 2);
  const uint32_t keys = f.fault == GPU_FAULT_RACE && half == 0 ? middle : all;
  float out[kFaultDim] = {}, largest = minus_infinity(), total = 0;
  for (uint32_t j = half * middle; j < keys; ++j) {
    float score = 0;
    for (uint32_t d = 0; d < kFaultDim; ++d) score += __half2float(q[d]) * __half2float(k[size_t{j} * kFaultDim + d]);
    const float next = fmaxf(largest, score * p.scale_log2);
    const float shrink = exp2f(largest - next), weight = exp2f(score * p.scale_log2 - next);
    total = total * shrink + weight;
    for (uint32_t d = 0; d < kFaultDim; ++d) {
      out[d] = out[d] * shrink + weight * __half2float(v[size_t{j} * kFaultDim + d]);
    }
    largest = next;
  }
  for (uint32_t d = 0; d < kFaultDim; ++d) o[d] = __float2half(total > 0 ? out[d] / total : 0.0f);
  if (f.fault == GPU_FAULT_NAN && row == 0) o[0] = __float2half(total - total + __int_as_float(0x7fc00000));
}

/* Second pass: counts launches after all rows of the first pass are done. */
__global__ void gpu_fault_count_kernel(const __grid_constant__ FaultParams) { ++gpu_fault_launches; }

static const void *fault_kernel() { return handle(gpu_fault_kernel); }
static const void *count_kernel() { return handle(gpu_fault_count_kernel); }

template <enum gpu_fault kFault>
static struct status gpu_fault_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                                    attn_pass_args args[ATTN_PASSES_MAX]) {
  const FaultParams params = {params_of(*shape, *buffers), kFault};
  if (kFault == GPU_FAULT_ABORT) abort();
  if (kFault == GPU_FAULT_CRASH) raise(SIGSEGV);
  if (kFault == GPU_FAULT_EXIT) exit(0);
  if (kFault == GPU_FAULT_KILLED) raise(SIGKILL);
  put_args(args[0], params);
  put_args(args[1], params);
  return status_ok();
}
#define GPU_FAULT_BIND(fault) attn::gpu_fault_bind<attn::fault>

#else
static const void *fault_kernel() { return nullptr; }
static const void *count_kernel() { return nullptr; }
#define GPU_FAULT_BIND(fault) nullptr
#endif

static const char *gpu_fault_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (shape->dtype != ATTN_F16 || shape->D != kFaultDim) return "planted GPU faults take f16 with D = 64 only";
  if (const char *why_not = check_grid_hb(*shape)) return why_not;
  return check_device(*device, 0);
}

template <enum gpu_fault kFault>
static void gpu_fault_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 2;
  plan->tile_q = kFaultThreads, plan->tile_kv = 1, plan->splits = 1, plan->stages = 1;
  plan->pass[0].name = "main";
  plan->pass[0].kernel = fault_kernel();
  const uint32_t tiles = ceil_div(shape->Sq, kFaultThreads);
  if (kFault == GPU_FAULT_WORKSPACE) plan->workspace_bytes = uint64_t{1} << 50;
  set_grid(plan->pass[0], kFault == GPU_FAULT_RACE ? 2 * tiles : tiles, ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H,
           shape->B, ATTN_COVERS_B);
  set_block(plan->pass[0], kFaultThreads, kFaultThreads, 0);
  plan->pass[1].name = "count";
  plan->pass[1].kernel = count_kernel();
  set_grid(plan->pass[1], 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(plan->pass[1], 1, 1, 0);
}

}  // namespace attn

#define GPU_FAULT(id, fault, text)                                     \
  extern "C" const struct attn_variant attn_variant_gpu_fault_##id = { \
      .name = "gpu_fault_" #id,                                        \
      .summary = "planted fault: " text,                               \
      .limits = "f16; D 64",                                           \
      .runs_on = DEVICE_CUDA,                                          \
      .math = ATTN_MATH_FP32,                                          \
      .tunables = nullptr,                                             \
      .supports = attn::gpu_fault_supports,                            \
      .plan = attn::gpu_fault_plan<attn::fault>,                       \
      .bind = GPU_FAULT_BIND(fault),                                   \
      .run = nullptr,                                                  \
  }

GPU_FAULT(skip_head, GPU_FAULT_SKIP_HEAD, "the last head is never written");
GPU_FAULT(last_tile, GPU_FAULT_LAST_TILE, "the last tile of up to 64 keys is dropped");
GPU_FAULT(mask_off_by_one, GPU_FAULT_MASK, "causal rows attend one key too many, full rows one too few");
GPU_FAULT(missing_merge, GPU_FAULT_MISSING_MERGE, "of two KV halves only the first one's result is written");
GPU_FAULT(stale, GPU_FAULT_STALE, "only the first launch in the process writes");
GPU_FAULT(redzone, GPU_FAULT_REDZONE, "one element is written behind O");
GPU_FAULT(illegal, GPU_FAULT_ILLEGAL, "an illegal address is written");
GPU_FAULT(trap, GPU_FAULT_TRAP, "the kernel traps");
GPU_FAULT(hang, GPU_FAULT_HANG, "the kernel never ends");
GPU_FAULT(misaligned, GPU_FAULT_MISALIGNED, "a misaligned address is written");
GPU_FAULT(nan, GPU_FAULT_NAN, "one element of each head is NaN");
GPU_FAULT(input, GPU_FAULT_INPUT, "one element of Q is changed");
GPU_FAULT(race, GPU_FAULT_RACE, "two blocks write the same rows");
GPU_FAULT(lost, GPU_FAULT_NONE, "the card is lost while it runs");
GPU_FAULT(oom, GPU_FAULT_NONE, "its workspace is refused");
GPU_FAULT(workspace, GPU_FAULT_WORKSPACE, "plans a workspace that no device has");
GPU_FAULT(abort, GPU_FAULT_ABORT, "calls abort()");
GPU_FAULT(crash, GPU_FAULT_CRASH, "raises SIGSEGV");
GPU_FAULT(exit, GPU_FAULT_EXIT, "calls exit(0)");
GPU_FAULT(killed, GPU_FAULT_KILLED, "is killed, as where memory runs out");
