/* cpu_flash: FlashAttention's tiled online softmax (Milakov and Gimelshein 2018; Dao et al. 2022) in fp32 on the CPU.
 *
 * A task is one 64-row query tile of one head; it walks the keys in tiles of 64 and never holds more than a 64 x 64
 * block of scores. Per thread, in bytes, with W = D padded to 16: Q and O tiles 2 * 64 * 4W, K transposed and V
 * 2 * 64 * 4W, scores 16 KiB, softmax state 0.5 KiB: 80.5 KiB at D = 64, inside a core's L2. Both matrix products run
 * on cpu_matmul_f32. It cannot win on tiny problems, where starting threads costs more than the work. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/threads.h"
#include "kernels/variant.h"

enum { FLASH_ROWS = 64, FLASH_KEYS = 64, FLASH_D_MAX = 256 };

struct flash_job {
  const struct attn_shape *shape;
  const struct attn_buffers *buffers;
  uint32_t width;
};

struct flash_tile {
  float *q, *o;              /* [FLASH_ROWS][width]; q times softmax scale times log2(e) */
  float *kt;                 /* [D][FLASH_KEYS] */
  float *v;                  /* [FLASH_KEYS][width] */
  float *s;                  /* [FLASH_ROWS][FLASH_KEYS] */
  float *maximum, *sum;      /* [FLASH_ROWS]: running, in the base-2 domain */
  uint64_t first, kv_row;    /* linear rows of Q and of K, V */
  uint32_t row, rows, depth; /* first row within its head, valid rows, keys that its last row attends */
};

static uint64_t flash_worker_floats(uint32_t width) {
  return 4 * (uint64_t)FLASH_ROWS * width + FLASH_ROWS * FLASH_KEYS + 2 * FLASH_ROWS;
}

/* ---- softmax ------------------------------------------------------------------------------------------------- */

/* 2^x for x <= 0, zero below -127. Adding 1.5 * 2^23 leaves round(x) in the low bits; the rest, within +-1/2, goes
 * through a minimax polynomial (relative error 2e-9 before rounding). */
static inline __attribute__((always_inline)) void flash_exp2(cpu_f32x8 *inout) {
  const float magic = 0x1.8p23f;
  const cpu_f32x8 x = *inout;
  const cpu_i32x8 small = x < -127.0f,
                  lowest = (cpu_i32x8)(cpu_f32x8){-127, -127, -127, -127, -127, -127, -127, -127};
  const cpu_f32x8 clamped = (cpu_f32x8)((small & lowest) | (~small & (cpu_i32x8)x));
  const cpu_f32x8 shifted = clamped + magic, f = clamped - (shifted - magic);
  const cpu_i32x8 exponent = (cpu_i32x8)(((cpu_i32x8)shifted + 127) << 23);
  cpu_f32x8 p = f * 0x1.41d334p-13f + 0x1.5f456ap-10f;
  p = p * f + 0x1.3b2dbcp-7f;
  p = p * f + 0x1.c6aed4p-5f;
  p = p * f + 0x1.ebfbdap-3f;
  p = p * f + 0x1.62e430p-1f;
  *inout = (p * f + 1.0f) * (cpu_f32x8)exponent;
}

/* One row of scores to 2^(s - maximum) in place; returns the factor for what was summed under the old maximum. Masked
 * scores are -infinity and the maximum starts finite, so no difference is ever NaN. */
CPU_SIMD static float flash_softmax_row(float *s, float *maximum, float *sum) {
  cpu_f32x8 largest = *(cpu_f32x8 *)s, total = {0};
  for (uint32_t j = 8; j < FLASH_KEYS; j += 8) {
    const cpu_f32x8 x = *(cpu_f32x8 *)(s + j);
    const cpu_i32x8 greater = x > largest;
    largest = (cpu_f32x8)((greater & (cpu_i32x8)x) | (~greater & (cpu_i32x8)largest));
  }
  const float old = *maximum;
  for (uint32_t lane = 0; lane < 8; ++lane) *maximum = fmaxf(*maximum, largest[lane]);
  for (uint32_t j = 0; j < FLASH_KEYS; j += 8) {
    cpu_f32x8 x = *(cpu_f32x8 *)(s + j) - *maximum;
    flash_exp2(&x);
    *(cpu_f32x8 *)(s + j) = x;
    total += x;
  }
  const float rescale = exp2f(old - *maximum);
  const float pairs[4] = {total[0] + total[4], total[1] + total[5], total[2] + total[6], total[3] + total[7]};
  *sum = *sum * rescale + ((pairs[0] + pairs[2]) + (pairs[1] + pairs[3]));
  return rescale;
}

static void flash_mask(const struct flash_job *job, struct flash_tile *tile, uint32_t key) {
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const uint32_t attended = attn_keys_of_row(job->shape, tile->row + r);
    const uint32_t valid = attended <= key ? 0 : attended - key;
    for (uint32_t j = valid; j < FLASH_KEYS; ++j) tile->s[r * FLASH_KEYS + j] = -INFINITY;
  }
}

static void flash_softmax(const struct flash_job *job, struct flash_tile *tile) {
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const float rescale = flash_softmax_row(tile->s + r * FLASH_KEYS, tile->maximum + r, tile->sum + r);
    if (rescale == 1.0f) continue;
    for (uint32_t d = 0; d < job->width; ++d) tile->o[(uint64_t)r * job->width + d] *= rescale;
  }
}

/* ---- one query tile ------------------------------------------------------------------------------------------ */

static void flash_load_keys(const struct flash_job *job, struct flash_tile *tile, uint32_t key, uint32_t count) {
  const uint32_t D = job->shape->D;
  float row[FLASH_D_MAX];
  for (uint32_t j = 0; j < count; ++j) {
    const uint64_t first = (tile->kv_row + key + j) * D;
    cpu_load_f32(job->buffers->k, job->shape->dtype, first, D, row);
    for (uint32_t d = 0; d < D; ++d) tile->kt[d * FLASH_KEYS + j] = row[d];
    cpu_load_f32(job->buffers->v, job->shape->dtype, first, D, tile->v + j * job->width);
  }
}

static void flash_step(const struct flash_job *job, struct flash_tile *tile, uint32_t key) {
  const uint32_t left = tile->depth - key, count = left < FLASH_KEYS ? left : FLASH_KEYS;
  const uint32_t D = job->shape->D, width = job->width, rows = cpu_round_up(tile->rows, CPU_MATMUL_ROWS);
  flash_load_keys(job, tile, key, count);
  memset(tile->s, 0, sizeof(float) * FLASH_ROWS * FLASH_KEYS);
  cpu_matmul_f32(rows, FLASH_KEYS, D, tile->q, width, tile->kt, FLASH_KEYS, tile->s, FLASH_KEYS);
  flash_mask(job, tile, key);
  flash_softmax(job, tile);
  cpu_matmul_f32(rows, width, count, tile->s, FLASH_KEYS, tile->v, width, tile->o, width);
}

static struct flash_tile flash_tile_open(const struct flash_job *job, uint64_t index, unsigned worker) {
  const struct attn_shape *s = job->shape;
  const uint64_t block = (uint64_t)FLASH_ROWS * job->width, floats = flash_worker_floats(job->width);
  float *memory = (float *)job->buffers->workspace + worker * floats;
  memset(memory, 0, floats * sizeof *memory);
  struct flash_tile tile = {.q = memory, .o = memory + block, .kt = memory + 2 * block, .v = memory + 3 * block};
  tile.s = tile.v + block;
  tile.maximum = tile.s + FLASH_ROWS * FLASH_KEYS;
  tile.sum = tile.maximum + FLASH_ROWS;
  const uint32_t tiles = (s->Sq - 1) / FLASH_ROWS + 1;
  const uint64_t head = index / tiles, batch = head / s->Hq;
  tile.row = (uint32_t)(index % tiles) * FLASH_ROWS;
  tile.rows = s->Sq - tile.row < FLASH_ROWS ? s->Sq - tile.row : FLASH_ROWS;
  tile.depth = attn_keys_of_row(s, tile.row + tile.rows - 1);
  tile.first = head * s->Sq + tile.row;
  tile.kv_row = (batch * s->Hkv + head % s->Hq / (s->Hq / s->Hkv)) * s->Skv;
  return tile;
}

static void flash_load_queries(const struct flash_job *job, struct flash_tile *tile) {
  const uint32_t D = job->shape->D;
  const float scale = (float)(M_LOG2E / sqrt((double)D));
  for (uint32_t r = 0; r < tile->rows; ++r) {
    float *q = tile->q + (uint64_t)r * job->width;
    cpu_load_f32(job->buffers->q, job->shape->dtype, (tile->first + r) * D, D, q);
    for (uint32_t d = 0; d < D; ++d) q[d] *= scale;
    tile->maximum[r] = -FLT_MAX;
  }
}

static void flash_store(const struct flash_job *job, const struct flash_tile *tile) {
  const uint32_t D = job->shape->D;
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const float inverse = tile->sum[r] > 0 ? 1 / tile->sum[r] : 0; /* 0: a row without keys */
    for (uint32_t d = 0; d < D; ++d) {
      cpu_store(job->buffers->o, job->shape->dtype, (tile->first + r) * D + d,
                tile->o[(uint64_t)r * job->width + d] * inverse);
    }
  }
}

/* A row without keys has a sum of 0, whose logarithm is the minus infinity that it is to have. */
static void flash_store_lse(const struct flash_job *job, const struct flash_tile *tile) {
  for (uint32_t r = 0; r < tile->rows && job->buffers->lse; ++r)
    job->buffers->lse[tile->first + r] = (float)M_LN2 * (tile->maximum[r] + log2f(tile->sum[r]));
}

static void flash_task(void *context, uint64_t index, unsigned worker) {
  const struct flash_job *job = context;
  struct flash_tile tile = flash_tile_open(job, index, worker);
  flash_load_queries(job, &tile);
  for (uint32_t key = 0; key < tile.depth; key += FLASH_KEYS) flash_step(job, &tile, key);
  flash_store(job, &tile);
  flash_store_lse(job, &tile);
}

/* ---- the variant --------------------------------------------------------------------------------------------- */

static const char *cpu_flash_supports(const struct attn_shape *shape, const struct attn_tuning *tuning,
                                      const struct device_info *device) {
  (void)tuning;
  (void)device;
  return shape->D <= FLASH_D_MAX ? NULL : "D is above 256, the largest head dimension of cpu_flash";
}

static void cpu_flash_plan(const struct attn_shape *shape, const struct attn_tuning *tuning,
                           const struct device_info *device, struct attn_plan *plan) {
  (void)tuning;
  const uint64_t floats = flash_worker_floats(cpu_round_up(shape->D, CPU_MATMUL_COLUMNS));
  plan->workspace_bytes = (device->sms ? device->sms : 1) * floats * sizeof(float);
  plan->tile_q = FLASH_ROWS;
  plan->tile_kv = FLASH_KEYS;
  plan->splits = 1;
  plan->stages = 1;
}

static void cpu_flash_run(const struct attn_shape *shape, const struct attn_plan *plan,
                          const struct attn_buffers *buffers, unsigned threads) {
  struct flash_job job = {.shape = shape, .buffers = buffers, .width = cpu_round_up(shape->D, CPU_MATMUL_COLUMNS)};
  const uint64_t tiles = (shape->Sq - 1) / FLASH_ROWS + 1;
  const uint64_t room = plan->workspace_bytes / (flash_worker_floats(job.width) * sizeof(float));
  cpu_parallel_for(threads < room ? threads : (unsigned)room, (uint64_t)shape->B * shape->Hq * tiles, flash_task,
                   &job);
}

const struct attn_variant attn_variant_cpu_flash = {
    .name = "cpu_flash",
    .summary = "tiled online softmax on the CPU in fp32, multithreaded and vectorised",
    .limits = "CPU; f16, bf16, f32; D <= 256",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP32_HOST,
    .writes_lse = true,
    .supports = cpu_flash_supports,
    .plan = cpu_flash_plan,
    .run = cpu_flash_run,
};
