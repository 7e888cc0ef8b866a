/* The library of wrong kernels on the CPU: variant "wrong", its bug a tunable. */
#include "tests/faults/wrong.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cpu/threads.h"
#include "tests/faults/fault.h"

enum { GAP_US = 100, FAITHFUL_LAUNCHES = 12, REMEMBERED = 256 };

static void wrong_task(void *context, uint64_t index, unsigned worker) {
  (void)worker;
  wrong_attention(context, index);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* What a kernel can remember from launch to launch. */
struct memory {
  unsigned launches;
  double end_us;
  const void *o;
  float first[3];
};

static bool is_filled(const struct wrong_job *job) {
  const float o = wrong_load(job->buffers.o, attn_out_dtype(&job->shape), 0);
  return o == o;
}

static bool is_known(const struct wrong_job *job, const struct memory *memory) {
  const void *const data[] = {job->buffers.q, job->buffers.k, job->buffers.v};
  for (int i = 0; i < 3; ++i) {
    if (wrong_load(data[i], job->shape.dtype, 0) != memory->first[i]) return false;
  }
  return true;
}

/* ---- a kernel that looks its output up ----------------------------------------------------------------------- */

struct kept {
  uint64_t hash; /* of Q, K and V */
  void *o;
};
static struct kept kept[REMEMBERED];
static unsigned kept_count;

static uint64_t bytes_of(const struct wrong_job *job, enum attn_role role) {
  struct attn_tensor tensor;
  return attn_tensor_of(&job->shape, role, &tensor) ? attn_tensor_bytes(&tensor) : 0;
}

/* Of whole words: what is left over is the same at every launch of a small shape. */
static uint64_t hash_of(uint64_t hash, const void *data, uint64_t bytes) {
  const uint64_t *words = data;
  for (uint64_t i = 0; i < bytes / 8; ++i) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

static uint64_t hash_inputs(const struct wrong_job *job) {
  const struct attn_problem *s = &job->shape;
  const uint64_t q = hash_of(s->Sq, job->buffers.q, bytes_of(job, ATTN_Q));
  return hash_of(hash_of(q, job->buffers.k, bytes_of(job, ATTN_K)), job->buffers.v, bytes_of(job, ATTN_V));
}

static bool recalls(const struct wrong_job *job) {
  const uint64_t hash = hash_inputs(job);
  for (unsigned i = 0; i < REMEMBERED; ++i) {
    if (kept[i].o == NULL || kept[i].hash != hash) continue;
    memcpy(job->buffers.o, kept[i].o, bytes_of(job, ATTN_O));
    return true;
  }
  return false;
}

static void keep(const struct wrong_job *job) {
  const uint64_t bytes = bytes_of(job, ATTN_O);
  struct kept *place = &kept[kept_count++ % REMEMBERED];
  free(place->o);
  *place = (struct kept){hash_inputs(job), malloc(bytes)};
  if (place->o != NULL) memcpy(place->o, job->buffers.o, bytes);
}

/* ---- a kernel that keeps P: the Q and K that it was made of ---------------------------------------------------- */

static void keep_scores(struct wrong_job *job, unsigned launches) {
  static void *q, *k;
  const uint64_t q_bytes = bytes_of(job, ATTN_Q), k_bytes = bytes_of(job, ATTN_K);
  if (launches + 1 == FAITHFUL_LAUNCHES) {
    free(q);
    free(k);
    q = malloc(q_bytes);
    k = malloc(k_bytes);
    if (q != NULL) memcpy(q, job->buffers.q, q_bytes);
    if (k != NULL) memcpy(k, job->buffers.k, k_bytes);
  }
  if (launches < FAITHFUL_LAUNCHES || q == NULL || k == NULL) return;
  job->buffers.q = q;
  job->buffers.k = k;
}

/* ---- launches ------------------------------------------------------------------------------------------------ */

static bool skips(const struct wrong_job *job, const struct memory *memory, double start_us) {
  switch (job->bug) {
    case WRONG_first_only: return memory->launches > 0;
    case WRONG_every_second: return memory->launches % 2 == 1;
    case WRONG_skips_seventh: return memory->launches % 7 == 6;
    case WRONG_skips_filled: return is_filled(job);
    case WRONG_skips_known: return is_filled(job) && is_known(job, memory);
    case WRONG_skips_pointers: return memory->launches >= 4 && memory->o == job->buffers.o && is_filled(job);
    case WRONG_skips_hot: return start_us - memory->end_us < GAP_US && is_filled(job);
    case WRONG_remembers: return recalls(job);
    default: return false;
  }
}

static void remember(const struct wrong_job *job, struct memory *memory) {
  const void *const data[] = {job->buffers.q, job->buffers.k, job->buffers.v};
  for (int i = 0; i < 3; ++i) memory->first[i] = wrong_load(data[i], job->shape.dtype, 0);
  memory->o = job->buffers.o;
}

static void wrong_run(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  static struct memory memories[WRONG_COUNT];
  struct wrong_job job = wrong_job_of(shape, buffers, (enum wrong_bug)plan->tuning.value[0]);
  struct memory *memory = &memories[job.bug];
  const double start_us = now_us();
  if (!skips(&job, memory, start_us)) {
    struct wrong_job task = job;
    if (job.bug == WRONG_counts_launches && memory->launches >= FAITHFUL_LAUNCHES) task.bug = WRONG_scale_none;
    if (job.bug == WRONG_keeps_p) keep_scores(&task, memory->launches);
    if (job.bug == WRONG_lse_later && memory->launches >= FAITHFUL_LAUNCHES) task.buffers.lse = NULL;
    const uint64_t rows = wrong_rows(&task), raced = wrong_raced_row(shape, memory->launches);
    cpu_parallel_for(threads, rows, wrong_task, &task);
    task.bug = WRONG_scale_none;
    if (job.bug == WRONG_races && raced < rows) wrong_task(&task, raced, 0);
    wrong_misuse(&job);
    remember(&job, memory);
    if (job.bug == WRONG_remembers) keep(&job);
  }
  ++memory->launches;
  memory->end_us = now_us();
}

static const char *wrong_supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                  const struct device_info *device) {
  (void)shape;
  (void)tuning;
  (void)device;
  return NULL;
}

static void wrong_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                       const struct device_info *device, struct attn_plan *plan) {
  (void)shape;
  (void)tuning;
  (void)device;
  plan->tile_q = 1;
  plan->tile_kv = WRONG_TILE;
  plan->splits = WRONG_SPLITS;
  plan->stages = 1;
}

static const struct attn_tunable tunables[] = {
    {.name = "bug", .max = WRONG_COUNT - 1, .help = "number in tests/faults/wrong.h; 0: none"},
    {.name = NULL},
};

const struct attn_variant attn_variant_wrong = {
    .name = "wrong",
    .summary = "planted faults: an attention with one bug of many",
    .limits = "CPU",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP32_HOST,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_OUT_DTYPE | ATTN_TAKES_SCALES | ATTN_TAKES_PAGE |
             ATTN_TAKES_V_IN_K | ATTN_TAKES_SPARSE,
    .dtypes = ATTN_DTYPES_ALL,
    .dims = {.most = WRONG_D_MAX},
    .tunables = tunables,
    .supports = wrong_supports,
    .plan = wrong_plan,
    .run = wrong_run,
};
