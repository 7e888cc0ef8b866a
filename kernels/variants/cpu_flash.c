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

enum { FLASH_ROWS = 64, FLASH_KEYS = 64, FLASH_D_MAX = 576 };

struct flash_job {
  const struct attn_problem *shape;
  const struct attn_buffers *buffers;
  struct attn_tensor q, k, v, o;
  struct attn_lists lists;
  uint32_t width; /* columns of Q and of V, padded */
};

struct flash_tile {
  float *q, *o;         /* [FLASH_ROWS][width]; q times softmax scale times log2(e) */
  float *kt;            /* [D][FLASH_KEYS] */
  float *v;             /* [FLASH_KEYS][width] */
  float *s;             /* [FLASH_ROWS][FLASH_KEYS] */
  float *maximum, *sum; /* [FLASH_ROWS]: running, in the base-2 domain */
  uint32_t b, h, kv_h;  /* of the views: b is 0 where sequences are packed */
  const int32_t *pages; /* the sequence's row of the page table; NULL: K and V are contiguous */
  struct attn_sequence sequence;
  struct attn_mask mask;
  uint32_t row, rows;        /* first row within its head, valid rows */
  struct attn_blocks blocks; /* of keys, of the rows' list */
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

/* q times keys is a score times log2(e), and so is what it becomes. */
static void flash_cap(const struct flash_job *job, struct flash_tile *tile) {
  const float cap = (float)M_LOG2E * job->shape->softcap;
  for (uint32_t i = 0; i < tile->rows * FLASH_KEYS && cap > 0; ++i) tile->s[i] = cap * tanhf(tile->s[i] / cap);
}

static void flash_mask(struct flash_tile *tile, uint32_t key, uint32_t count) {
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const struct attn_keys seen = attn_mask_row(&tile->mask, tile->row + r);
    float *s = tile->s + r * FLASH_KEYS;
    const uint32_t first = seen.first > key ? seen.first - key : 0, end = seen.end > key ? seen.end - key : 0;
    for (uint32_t j = 0; j < FLASH_KEYS && j < first; ++j) s[j] = -INFINITY;
    for (uint32_t j = end < count ? end : count; j < FLASH_KEYS; ++j) s[j] = -INFINITY;
  }
}

static void flash_softmax(const struct flash_job *job, struct flash_tile *tile) {
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const float rescale = flash_softmax_row(tile->s + r * FLASH_KEYS, tile->maximum + r, tile->sum + r);
    if (rescale == 1.0f) continue;
    for (uint32_t d = 0; d < job->width; ++d) tile->o[(uint64_t)r * job->width + d] *= rescale;
  }
}

/* The scale of a row of Q, K or V; 1 where it has none. */
static float flash_scale(const struct flash_job *job, const struct flash_tile *tile, enum attn_role role,
                         uint32_t token) {
  const struct attn_place place = {tile->sequence, role == ATTN_Q ? tile->h : tile->kv_h, token, false};
  if (!attn_is_scaled(job->shape, role)) return 1;
  return ((const float *)job->buffers->tensor[attn_scale_role(role)])[attn_scale_row(job->shape, role, &place)];
}

/* ---- one query tile ------------------------------------------------------------------------------------------ */

static void flash_load_keys(const struct flash_job *job, struct flash_tile *tile, uint32_t key, uint32_t count) {
  const struct attn_tensor *k = &job->k, *v = &job->v;
  const uint32_t first = tile->pages != NULL ? key : tile->sequence.k_first + key;
  float row[FLASH_D_MAX];
  for (uint32_t j = 0; j < count; ++j) {
    cpu_load_f32(job->buffers->k, k->dtype, attn_view_key(&k->view, tile->pages, tile->b, tile->kv_h, first + j),
                 k->view.columns, row);
    const float k_scale = flash_scale(job, tile, ATTN_K, key + j), v_scale = flash_scale(job, tile, ATTN_V, key + j);
    for (uint32_t d = 0; d < k->view.columns; ++d) tile->kt[d * FLASH_KEYS + j] = row[d] * k_scale;
    cpu_load_f32(job->buffers->v, v->dtype, attn_view_key(&v->view, tile->pages, tile->b, tile->kv_h, first + j),
                 v->view.columns, tile->v + j * job->width);
    for (uint32_t d = 0; d < v->view.columns; ++d) tile->v[j * job->width + d] *= v_scale;
  }
}

/* The keys from `key` to before `end`, or a tile of them. */
static void flash_step(const struct flash_job *job, struct flash_tile *tile, uint32_t key, uint32_t end) {
  const uint32_t left = end - key, count = left < FLASH_KEYS ? left : FLASH_KEYS;
  const uint32_t D = job->shape->D, width = job->width, rows = cpu_round_up(tile->rows, CPU_MATMUL_ROWS);
  flash_load_keys(job, tile, key, count);
  memset(tile->s, 0, sizeof(float) * FLASH_ROWS * FLASH_KEYS);
  cpu_matmul_f32(rows, FLASH_KEYS, D, tile->q, width, tile->kt, FLASH_KEYS, tile->s, FLASH_KEYS);
  flash_cap(job, tile);
  flash_mask(tile, key, count);
  flash_softmax(job, tile);
  cpu_matmul_f32(rows, width, count, tile->s, FLASH_KEYS, tile->v, width, tile->o, width);
}

static struct flash_tile flash_tile_open(const struct flash_job *job, uint64_t index, unsigned worker) {
  const struct attn_problem *s = job->shape;
  const uint64_t block = (uint64_t)FLASH_ROWS * job->width, floats = flash_worker_floats(job->width);
  float *memory = (float *)job->buffers->workspace + worker * floats;
  memset(memory, 0, floats * sizeof *memory);
  struct flash_tile tile = {.q = memory, .o = memory + block, .kt = memory + 2 * block, .v = memory + 3 * block};
  tile.s = tile.v + block;
  tile.maximum = tile.s + FLASH_ROWS * FLASH_KEYS;
  tile.sum = tile.maximum + FLASH_ROWS;
  const uint32_t tiles = attn_row_tiles(s->sparse.block, s->Sq, FLASH_ROWS);
  const uint64_t head = index / tiles;
  tile.sequence = attn_sequence_of(s, (uint32_t)(head / s->Hq));
  tile.mask = attn_mask_of_sequence(s, &tile.sequence);
  tile.b = attn_is_ragged(s) ? 0 : tile.sequence.b;
  if (attn_is_paged(s)) tile.pages = job->buffers->page_table + tile.sequence.b * attn_view_of_table(s).tokens;
  tile.h = (uint32_t)(head % s->Hq);
  tile.kv_h = attn_kv_head(s, tile.h);
  /* No rows: the tiles of the longest sequence, of a shorter one. */
  const struct attn_row_tile rows =
      attn_row_tile_of(s->sparse.block, tile.sequence.Sq, FLASH_ROWS, (uint32_t)(index % tiles));
  tile.row = rows.first;
  tile.rows = rows.rows;
  if (tile.rows > 0) tile.blocks = attn_blocks_of(&job->lists, tile.sequence.b, tile.h, tile.row);
  return tile;
}

/* Row r of a tile among the tokens of a view. */
static uint32_t flash_token(const struct flash_tile *tile, uint32_t r) {
  return tile->sequence.q_first + tile->row + r;
}

static void flash_load_queries(const struct flash_job *job, struct flash_tile *tile) {
  const uint32_t D = job->shape->D;
  const float scale = (float)(M_LOG2E / sqrt((double)D)) * flash_scale(job, tile, ATTN_Q, 0);
  for (uint32_t r = 0; r < tile->rows; ++r) {
    float *q = tile->q + (uint64_t)r * job->width;
    const uint64_t first = attn_view_token(&job->q.view, tile->b, tile->h, flash_token(tile, r));
    cpu_load_f32(job->buffers->q, job->q.dtype, first, D, q);
    for (uint32_t d = 0; d < D; ++d) q[d] *= scale;
    tile->maximum[r] = job->buffers->sink ? (float)M_LOG2E * job->buffers->sink[tile->h] : -FLT_MAX;
    tile->sum[r] = job->buffers->sink ? 1 : 0;
  }
}

static void flash_store(const struct flash_job *job, const struct flash_tile *tile) {
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const float inverse = tile->sum[r] > 0 ? 1 / tile->sum[r] : 0; /* 0: a row without keys */
    const uint64_t first = attn_view_token(&job->o.view, tile->b, tile->h, flash_token(tile, r));
    for (uint32_t d = 0; d < job->o.view.columns; ++d)
      cpu_store(job->buffers->o, job->o.dtype, first + d, tile->o[(uint64_t)r * job->width + d] * inverse);
  }
}

/* A row without keys and sink has a sum of 0, whose logarithm is the minus infinity that it is to have. */
static void flash_store_lse(const struct flash_job *job, const struct flash_tile *tile) {
  float *lse = job->buffers->lse;
  const uint64_t first = attn_query_row(job->shape, &tile->sequence, tile->h, tile->row);
  for (uint32_t r = 0; r < tile->rows && lse; ++r)
    lse[first + r] = (float)M_LN2 * (tile->maximum[r] + log2f(tile->sum[r]));
}

static void flash_task(void *context, uint64_t index, unsigned worker) {
  const struct flash_job *job = context;
  struct flash_tile tile = flash_tile_open(job, index, worker);
  flash_load_queries(job, &tile);
  for (uint32_t i = 0; i < tile.blocks.count; ++i) {
    const struct attn_keys keys = attn_blocks_keys(&tile.blocks, i, attn_mask_rows(&tile.mask, tile.row, tile.rows));
    for (uint32_t key = keys.first; key < keys.end; key += FLASH_KEYS) flash_step(job, &tile, key, keys.end);
  }
  flash_store(job, &tile);
  flash_store_lse(job, &tile);
}

/* ---- the variant --------------------------------------------------------------------------------------------- */

static struct flash_job flash_job_of(const struct attn_problem *shape, const struct attn_buffers *buffers) {
  struct flash_job job = {.shape = shape, .buffers = buffers};
  attn_tensor_of(shape, ATTN_Q, &job.q);
  attn_tensor_of(shape, ATTN_K, &job.k);
  attn_tensor_of(shape, ATTN_V, &job.v);
  attn_tensor_of(shape, ATTN_O, &job.o);
  if (buffers != NULL) job.lists = attn_lists_of(shape, buffers->block_counts, buffers->block_indices);
  const uint32_t columns = job.v.view.columns;
  job.width = cpu_round_up(shape->D > columns ? shape->D : columns, CPU_MATMUL_COLUMNS);
  return job;
}

static const char *cpu_flash_supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                      const struct device_info *device) {
  (void)shape, (void)tuning, (void)device;
  return NULL;
}

static void cpu_flash_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                           const struct device_info *device, struct attn_plan *plan) {
  (void)tuning;
  const uint64_t floats = flash_worker_floats(flash_job_of(shape, NULL).width);
  plan->workspace_bytes = (device->sms ? device->sms : 1) * floats * sizeof(float);
  plan->tile_q = FLASH_ROWS;
  plan->tile_kv = FLASH_KEYS;
  plan->splits = 1;
  plan->stages = 1;
}

static void cpu_flash_run(const struct attn_problem *shape, const struct attn_plan *plan,
                          const struct attn_buffers *buffers, unsigned threads) {
  struct flash_job job = flash_job_of(shape, buffers);
  const uint64_t tiles = attn_row_tiles(shape->sparse.block, shape->Sq, FLASH_ROWS);
  const uint64_t room = plan->workspace_bytes / (flash_worker_floats(job.width) * sizeof(float));
  cpu_parallel_for(threads < room ? threads : (unsigned)room, (uint64_t)shape->B * shape->Hq * tiles, flash_task,
                   &job);
}

const struct attn_variant attn_variant_cpu_flash = {
    .name = "cpu_flash",
    .summary = "tiled online softmax on the CPU in fp32, multithreaded and vectorised",
    .limits = "CPU",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP32_HOST,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_E4M3 | ATTN_TAKES_PAGE | ATTN_TAKES_V_IN_K |
             ATTN_TAKES_SPARSE,
    .dtypes = ATTN_DTYPES_FLOAT | ATTN_DTYPE_BIT(ATTN_E4M3),
    .dims = {.most = FLASH_D_MAX},
    .supports = cpu_flash_supports,
    .plan = cpu_flash_plan,
    .run = cpu_flash_run,
};
