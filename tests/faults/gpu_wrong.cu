/* The library of wrong kernels on the GPU: variant "gpu_wrong", its bug a tunable; a thread per query row. */
#include "kernels/tiles/attn_params.cuh"
#include "tests/faults/wrong.h"
#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#endif

namespace attn {

constexpr uint32_t kWrongThreads = 64;

#ifdef __CUDACC__

struct WrongParams {
  wrong_job job;
};

/* What a kernel can remember from launch to launch, by bug. */
struct WrongMemory {
  unsigned int launches, skip;
  unsigned long long end_ns;
  const void *o;
  float first[3];
};
__device__ WrongMemory wrong_memory[WRONG_COUNT];

__device__ unsigned long long wrong_now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ float wrong_first(const wrong_job &job, int tensor) {
  const void *const data[] = {job.buffers.q, job.buffers.k, job.buffers.v};
  return wrong_load(data[tensor], job.shape.dtype, 0);
}

__device__ bool wrong_skips(const wrong_job &job, const WrongMemory &m) {
  const float o = wrong_load(job.buffers.o, attn_out_dtype(&job.shape), 0);
  const bool filled = o == o;
  switch (job.bug) {
    case WRONG_first_only: return m.launches > 0;
    case WRONG_every_second: return m.launches % 2 == 1;
    case WRONG_skips_seventh: return m.launches % 7 == 6;
    case WRONG_skips_filled: return filled;
    case WRONG_skips_known:
      return filled && wrong_first(job, 0) == m.first[0] && wrong_first(job, 1) == m.first[1] &&
             wrong_first(job, 2) == m.first[2];
    case WRONG_skips_pointers: return m.launches >= 4 && m.o == job.buffers.o && filled;
    case WRONG_skips_hot: return filled && wrong_now_ns() - m.end_ns < 5000;
    default: return false;
  }
}

__global__ void gpu_wrong_start_kernel(const __grid_constant__ WrongParams p) {
  WrongMemory &m = wrong_memory[p.job.bug];
  m.skip = wrong_skips(p.job, m);
}

__global__ void gpu_wrong_kernel(const __grid_constant__ WrongParams p) {
  const WrongMemory &m = wrong_memory[p.job.bug];
  const uint64_t row = uint64_t{blockIdx.x} * kWrongThreads + threadIdx.x;
  if (row >= wrong_rows(&p.job) || m.skip != 0) return;
  wrong_job job = p.job;
  if (job.bug == WRONG_counts_launches && m.launches >= 12) job.bug = WRONG_scale_none;
  if (job.bug == WRONG_races && row == wrong_raced_row(&p.job.shape, m.launches)) job.bug = WRONG_scale_none;
  if (job.bug == WRONG_lse_later && m.launches >= 12) job.buffers.lse = nullptr;
  wrong_attention(&job, row);
}

__global__ void gpu_wrong_end_kernel(const __grid_constant__ WrongParams p) {
  const wrong_job &job = p.job;
  WrongMemory &m = wrong_memory[job.bug];
  for (int i = 0; i < 3 && m.skip == 0; ++i) m.first[i] = wrong_first(job, i);
  wrong_misuse(&job);
  m.o = job.buffers.o;
  m.end_ns = wrong_now_ns();
  ++m.launches;
}

static const void *wrong_kernels(int pass) {
  const void *const kernels[] = {handle(gpu_wrong_start_kernel), handle(gpu_wrong_kernel),
                                 handle(gpu_wrong_end_kernel)};
  return kernels[pass];
}

static struct status gpu_wrong_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                    attn_pass_args args[ATTN_PASSES_MAX]) {
  const WrongParams params = {wrong_job_of(shape, buffers, static_cast<enum wrong_bug>(plan->tuning.value[0]))};
  for (int pass = 0; pass < 3; ++pass) put_args(args[pass], params);
  return status_ok();
}
#define GPU_WRONG_BIND attn::gpu_wrong_bind

#else
static const void *wrong_kernels(int) { return nullptr; }
#define GPU_WRONG_BIND nullptr
#endif

static const char *gpu_wrong_supports(const attn_problem *, const attn_tuning *, const device_info *device) {
  return check_device(*device, 0);
}

static void gpu_wrong_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  static const char *const names[] = {"start", "main", "end"};
  const attn_view o = attn_view_of(shape, ATTN_O);
  const uint64_t rows = attn_view_rows(&o);
  plan->pass_count = 3;
  plan->tile_q = 1, plan->tile_kv = WRONG_TILE, plan->splits = WRONG_SPLITS, plan->stages = 1;
  for (int pass = 0; pass < 3; ++pass) {
    const bool main = pass == 1;
    plan->pass[pass].name = names[pass];
    plan->pass[pass].kernel = wrong_kernels(pass);
    set_grid(plan->pass[pass], main ? static_cast<uint32_t>((rows + kWrongThreads - 1) / kWrongThreads) : 1,
             main ? ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q : ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING, 1,
             ATTN_COVERS_NOTHING);
    set_block(plan->pass[pass], main ? kWrongThreads : 1, main ? 1 : 0, 0);
  }
}

static const attn_tunable wrong_tunables[] = {
    {.name = "bug", .max = WRONG_COUNT - 1, .help = "number in tests/faults/wrong.h; 0: none"},
    {.name = nullptr},
};

}  // namespace attn

extern "C" const struct attn_variant attn_variant_gpu_wrong = {
    .name = "gpu_wrong",
    .summary = "planted faults: an attention with one bug of many",
    .limits = nullptr,
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR, /* it has none, but with them the widest bounds */
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_OUT_DTYPE | ATTN_TAKES_SCALES | ATTN_TAKES_PAGE |
             ATTN_TAKES_V_IN_K | ATTN_TAKES_SPARSE,
    .dtypes = ATTN_DTYPES_ALL,
    .dims = {.most = WRONG_D_MAX},
    .tunables = attn::wrong_tunables,
    .supports = attn::gpu_wrong_supports,
    .plan = attn::gpu_wrong_plan,
    .bind = GPU_WRONG_BIND,
    .run = nullptr,
};
