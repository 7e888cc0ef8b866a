/* The fp64 reference on the CPU, and the comparison of an output with it. */
#include "kernels/cpu/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/threads.h"

enum { ORACLE_ROWS = 16, ORACLE_KEYS = 64, ORACLE_CHUNK = 256 };

/* One worker's memory: a tile of query rows of one head, all their scores, and one block of keys at a time. */
struct oracle_tile {
  double *q, *o; /* [tile_rows][width] */
  double *p;     /* [tile_rows][keys]: scores, then exponentials; behind them columns that are not used */
  double *kt;    /* [D][ORACLE_KEYS] */
  double *v;     /* [ORACLE_KEYS][width] */
  int32_t *list; /* [most]: blocks of keys, where the problem has lists */
  double sum[ORACLE_ROWS];
  struct attn_place first; /* its first row */
  struct attn_key_rows kv; /* of the sequence, in the head that it reads */
  struct attn_mask mask;
  struct attn_keys keys; /* that some of its rows see through the mask */
  struct attn_blocks blocks;
  struct attn_keys seen[ORACLE_ROWS]; /* by each row; none by those that pad the tile */
  struct reference_row row[ORACLE_ROWS];
};

struct oracle_job {
  const struct attn_problem *shape;
  const struct oracle_input *input;
  const struct oracle_output *output;
  double *scratch;
  struct attn_tensor tensor[ATTN_ROLE_COUNT];
  uint32_t tile_rows; /* allocated rows of a tile, a multiple of CPU_MATMUL_ROWS */
  uint32_t width;     /* the larger number of columns, of Q or of V, padded */
  uint32_t keys;      /* the most of a sequence, padded */
};

/* Of V and O. */
static uint32_t oracle_columns(const struct oracle_job *job) { return job->tensor[ATTN_O].view.columns; }

static struct oracle_job oracle_job_of(const struct attn_problem *shape, uint32_t tile_rows) {
  struct oracle_job job = {.shape = shape, .tile_rows = tile_rows, .keys = cpu_round_up(shape->Skv, ORACLE_KEYS)};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role)
    attn_tensor_of(shape, (enum attn_role)role, &job.tensor[role]);
  const uint32_t columns = oracle_columns(&job);
  job.width = cpu_round_up(shape->D > columns ? shape->D : columns, CPU_MATMUL_COLUMNS);
  return job;
}

static uint64_t oracle_worker_doubles(const struct oracle_job *job) {
  const uint64_t rows = job->tile_rows, width = job->width;
  return rows * (2 * width + job->keys) + CPU_MATMUL_COLUMNS + 2 * ORACLE_KEYS * width + attn_blocks_most(job->shape);
}

static struct oracle_tile oracle_tile_of(const struct oracle_job *job, unsigned worker) {
  struct oracle_tile tile = {.q = job->scratch + worker * oracle_worker_doubles(job)};
  const uint64_t rows = (uint64_t)job->tile_rows * job->width, block = (uint64_t)ORACLE_KEYS * job->width;
  tile.o = tile.q + rows;
  tile.kt = tile.o + rows;
  tile.v = tile.kt + block;
  tile.p = tile.v + block;
  tile.list = (int32_t *)(tile.p + (uint64_t)job->tile_rows * job->keys + CPU_MATMUL_COLUMNS);
  return tile;
}

/* ---- the definition, one tile of rows at a time -------------------------------------------------------------- */

/* Row `row` of a tensor as its type holds it, its elements `stride` apart. */
static void oracle_load_numbers(const struct oracle_job *job, enum attn_role role, uint64_t row, double *out,
                                uint64_t stride) {
  const struct attn_tensor *tensor = &job->tensor[role];
  const void *data = job->input->tensor[role];
  const uint32_t columns = tensor->view.columns;
  float chunk[ORACLE_CHUNK];
  if (!data) {
    const struct pattern_line line = pattern_line_of(job->input->pattern, role, row);
    for (uint32_t d = 0; d < columns; ++d)
      out[d * stride] = (double)(job->input->unrounded ? pattern_value(job->input->pattern, role, &line, d)
                                                       : cpu_input(job->input->pattern, tensor, &line, d));
    return;
  }
  for (uint32_t d = 0; d < columns; d += ORACLE_CHUNK) {
    const uint32_t left = columns - d, count = left < ORACLE_CHUNK ? left : ORACLE_CHUNK;
    cpu_load_f32(data, tensor->dtype, attn_view_row(&tensor->view, row) + d, count, chunk);
    for (uint32_t i = 0; i < count; ++i) out[(d + i) * stride] = (double)chunk[i];
  }
}

/* What the numbers of a row of Q, K or V are to be multiplied by. */
static double oracle_scale(const struct oracle_job *job, enum attn_role role, uint64_t row) {
  const enum attn_rows rows = attn_role_rows(role);
  double scale = 1;
  if (!attn_is_scaled(job->shape, role) || job->input->unrounded) return scale;
  const struct attn_place place = attn_place_of(job->shape, rows, row);
  oracle_load_numbers(job, attn_scale_role(role), attn_scale_row(job->shape, role, &place), &scale, 1);
  return scale;
}

/* Row `row` of a tensor, its elements `stride` apart: numbers times their scale. */
static void oracle_load(const struct oracle_job *job, enum attn_role role, uint64_t row, double *out,
                        uint64_t stride) {
  const double scale = oracle_scale(job, role, row);
  oracle_load_numbers(job, role, row, out, stride);
  for (uint32_t d = 0; d < job->tensor[role].view.columns && scale != 1; ++d) out[d * stride] *= scale;
}

/* The list of a tile's rows, which lie in one block of queries. */
static struct attn_blocks oracle_blocks(const struct oracle_job *job, const struct oracle_tile *tile) {
  const struct attn_problem *s = job->shape;
  const struct attn_place *first = &tile->first;
  const struct attn_lists lists =
      attn_lists_of(s, job->input->tensor[ATTN_BLOCK_COUNTS], job->input->tensor[ATTN_BLOCK_INDICES]);
  struct attn_blocks blocks = attn_blocks_of(&lists, first->sequence.b, first->h, first->token);
  if (!attn_is_sparse(s) || lists.counts != NULL) return blocks;
  const uint64_t row = ((uint64_t)first->sequence.b * s->Hq + first->h) * lists.q_blocks + first->token / lists.block;
  const struct pattern_line line = pattern_line_of(job->input->pattern, ATTN_BLOCK_INDICES, row);
  blocks =
      (struct attn_blocks){tile->list, pattern_block(job->input->pattern, ATTN_BLOCK_COUNTS, &line, 0), lists.block};
  for (uint32_t i = 0; i < blocks.count; ++i)
    tile->list[i] = (int32_t)pattern_block(job->input->pattern, ATTN_BLOCK_INDICES, &line, i);
  return blocks;
}

/* p[r][j] = q_r . k_j for the keys of this range. */
static void oracle_scores(const struct oracle_job *job, struct oracle_tile *tile, struct attn_keys keys) {
  const uint32_t D = job->shape->D;
  for (uint32_t j = keys.first; j < keys.end; j += ORACLE_KEYS) {
    const uint32_t left = keys.end - j, count = left < ORACLE_KEYS ? left : ORACLE_KEYS;
    if (count < ORACLE_KEYS) memset(tile->kt, 0, sizeof(double) * D * ORACLE_KEYS);
    for (uint32_t x = 0; x < count; ++x)
      oracle_load(job, ATTN_K, attn_key_row_at(&tile->kv, j + x), tile->kt + x, ORACLE_KEYS);
    /* Columns behind the last key get zeros added. */
    cpu_matmul_f64(job->tile_rows, cpu_round_up(count, CPU_MATMUL_COLUMNS), D, tile->q, job->width, tile->kt,
                   ORACLE_KEYS, tile->p + j, job->keys);
  }
}

static double oracle_size(const double *x, uint32_t count) {
  double squares = 0;
  for (uint32_t i = 0; i < count; ++i) squares += x[i] * x[i];
  return sqrt(squares / count);
}

/* Product q.k to that which gives the capped score. */
static double oracle_capped(double dot, double softmax_scale, double softcap) {
  return softcap > 0 ? softcap / softmax_scale * tanh(softmax_scale * dot / softcap) : dot;
}

/* The sink of a head; minus infinity, which adds nothing, where there is none. */
static double oracle_sink(const struct oracle_job *job, uint32_t h) {
  double sink = -INFINITY;
  if (job->shape->sink) oracle_load(job, ATTN_SINK, h, &sink, 1);
  return sink;
}

/* Whether rounding decides that a weight, not yet divided by the sum, is one of the largest. */
static bool oracle_is_doubtful(double p) { return fabs(p - COMPARE_TOP_WEIGHT) <= COMPARE_TOP_DOUBT; }

/* Products q.k of row r of a tile to exp(score - maximum) for the keys that it sees, and to zero for the others that
 * the tile sees; returns their sum and the sink's, NaN where one of them is. Fills in what is known of the row
 * without V. */
static double oracle_softmax(const struct oracle_job *job, struct oracle_tile *tile, uint32_t r) {
  double *p = tile->p + (uint64_t)r * job->keys;
  struct reference_row *row = &tile->row[r];
  const double softmax_scale = 1 / sqrt((double)job->shape->D), sink = oracle_sink(job, tile->first.h);
  const bool has_sink = sink > -INFINITY;
  double maximum = sink / softmax_scale, minimum = has_sink ? maximum : INFINITY, sum = 0;
  bool has_key = false;
  for (uint32_t i = 0; i < tile->blocks.count; ++i) {
    const struct attn_keys seen = attn_blocks_keys(&tile->blocks, i, tile->seen[r]);
    for (uint32_t j = seen.first; j < seen.end; ++j) {
      p[j] = oracle_capped(p[j], softmax_scale, (double)job->shape->softcap);
      maximum = fmax(maximum, p[j]);
      minimum = fmin(minimum, p[j]);
      has_key = true;
    }
  }
  const bool is_empty = !has_key && !has_sink;
  row->largest = is_empty ? 0 : softmax_scale * fmax(fabs(maximum), fabs(minimum));
  if (has_sink) row->sink = sum = exp(sink - softmax_scale * maximum);
  for (uint32_t i = 0; i < tile->blocks.count; ++i) {
    const struct attn_keys seen = attn_blocks_keys(&tile->blocks, i, tile->seen[r]);
    const struct attn_keys all = attn_blocks_keys(&tile->blocks, i, tile->keys);
    for (uint32_t j = all.first; j < all.end; ++j) {
      p[j] = j >= seen.first && j < seen.end ? exp(softmax_scale * (p[j] - maximum)) : 0;
      sum += p[j];
      row->rest += p[j] < COMPARE_TOP_WEIGHT ? p[j] : 0;
      row->doubt += oracle_is_doubtful(p[j]) ? p[j] : 0;
    }
  }
  row->top = has_key ? 1 : 0;
  row->lse = is_empty ? -INFINITY : softmax_scale * maximum + log(sum);
  return sum;
}

/* What the `count` values in tile->v add to each row's sums of p^2 |v|^2 and |v|^2. p is not yet divided by its sum.
 */
static void oracle_spread(const struct oracle_job *job, struct oracle_tile *tile, uint32_t key, uint32_t count) {
  for (uint32_t x = 0; x < count; ++x) {
    const double *v = tile->v + (uint64_t)x * job->width;
    double square = 0;
    for (uint32_t d = 0; d < oracle_columns(job); ++d) square += v[d] * v[d];
    for (uint32_t r = 0; r < job->tile_rows; ++r) {
      const double p = tile->p[(uint64_t)r * job->keys + key + x];
      tile->row[r].spread_square += p * p * square;
      tile->row[r].rest_square += p < COMPARE_TOP_WEIGHT ? p * p * square : 0;
      tile->row[r].doubt_square += oracle_is_doubtful(p) ? p * p * square : 0;
      if (key + x >= tile->seen[r].first && key + x < tile->seen[r].end) tile->row[r].value_square += square;
    }
  }
}

/* o += p x v for the keys of this range and, where it is wanted, the spread. */
static void oracle_weigh(const struct oracle_job *job, struct oracle_tile *tile, struct attn_keys keys) {
  const uint32_t width = job->width;
  for (uint32_t j = keys.first; j < keys.end; j += ORACLE_KEYS) {
    const uint32_t left = keys.end - j, count = left < ORACLE_KEYS ? left : ORACLE_KEYS;
    for (uint32_t x = 0; x < count; ++x)
      oracle_load(job, ATTN_V, attn_key_row_at(&tile->kv, j + x), tile->v + (uint64_t)x * width, 1);
    cpu_matmul_f64(job->tile_rows, width, count, tile->p + j, job->keys, tile->v, width, tile->o, width);
    if (job->output->rows) oracle_spread(job, tile, j, count);
  }
}

/* Neighbouring rows of one head of one sequence, in one block of queries. */
static void oracle_tile_compute(const struct oracle_job *job, struct oracle_tile *tile, struct attn_place first,
                                uint32_t rows) {
  const struct attn_problem *s = job->shape;
  const uint64_t q_row = attn_query_row(s, &first.sequence, first.h, first.token);
  tile->first = first;
  tile->kv = attn_key_rows_of(s, &first.sequence, attn_kv_head(s, first.h));
  tile->mask = attn_mask_of_sequence(s, &first.sequence);
  tile->keys = attn_mask_rows(&tile->mask, first.token, rows);
  tile->blocks = oracle_blocks(job, tile);
  memset(tile->q, 0, sizeof(double) * (uint64_t)((double *)tile->list - tile->q));
  memset(tile->row, 0, sizeof tile->row);
  memset(tile->seen, 0, sizeof tile->seen);
  for (uint32_t r = 0; r < rows; ++r) {
    double *q = tile->q + (uint64_t)r * job->width;
    oracle_load(job, ATTN_Q, q_row + r, q, 1);
    tile->row[r].q_size = oracle_size(q, s->D);
    tile->seen[r] = attn_mask_row(&tile->mask, first.token + r);
  }
  for (uint32_t i = 0; i < tile->blocks.count; ++i)
    oracle_scores(job, tile, attn_blocks_keys(&tile->blocks, i, tile->keys));
  for (uint32_t r = 0; r < rows; ++r) tile->sum[r] = oracle_softmax(job, tile, r);
  for (uint32_t i = 0; i < tile->blocks.count; ++i)
    oracle_weigh(job, tile, attn_blocks_keys(&tile->blocks, i, tile->keys));
}

/* ---- output -------------------------------------------------------------------------------------------------- */

/* Row r of the tile as row `place` of the output. */
static void oracle_write_row(const struct oracle_job *job, const struct oracle_tile *tile, uint32_t r,
                             uint64_t place) {
  const struct oracle_output *out = job->output;
  const struct attn_tensor *tensor = &job->tensor[ATTN_O];
  const double *o = tile->o + (uint64_t)r * job->width, sum = tile->sum[r];
  const uint32_t columns = oracle_columns(job);
  const uint64_t first = out->rounded ? attn_view_row(&tensor->view, place) : 0;
  for (uint32_t d = 0; d < columns; ++d) {
    const double value = sum == 0 ? 0 : isnan(sum) ? NAN : o[d] / sum; /* 0: a row without keys */
    if (out->o) out->o[place * columns + d] = value;
    if (out->rounded) cpu_store(out->rounded, tensor->dtype, first + d, (float)value);
  }
  if (out->lse) out->lse[place] = (float)tile->row[r].lse;
  if (!out->rows) return;
  out->rows[place] = tile->row[r];
  if (isnan(sum)) {
    out->rows[place].top = out->rows[place].rest = out->rows[place].rest_square = NAN;
    if (job->shape->sink) out->rows[place].sink = NAN;
  }
  if (!(sum > 0)) return;
  out->rows[place].spread_square /= sum * sum;
  out->rows[place].rest_square /= sum * sum;
  out->rows[place].top /= sum;
  out->rows[place].rest /= sum;
  out->rows[place].sink /= sum;
  out->rows[place].doubt /= sum;
  out->rows[place].doubt_square /= sum * sum;
}

/* Of the longest sequence; shorter ones leave tiles out. */
static uint32_t oracle_tiles_per_head(const struct attn_problem *shape) {
  return attn_row_tiles(shape->sparse.block, shape->Sq, ORACLE_ROWS);
}

static void oracle_task(void *context, uint64_t index, unsigned worker) {
  const struct oracle_job *job = context;
  const uint32_t tiles = oracle_tiles_per_head(job->shape), Hq = job->shape->Hq;
  const uint64_t head = index / tiles;
  struct attn_place first = {.sequence = attn_sequence_of(job->shape, (uint32_t)(head / Hq)),
                             .h = (uint32_t)(head % Hq)};
  const struct attn_row_tile rows =
      attn_row_tile_of(job->shape->sparse.block, first.sequence.Sq, ORACLE_ROWS, (uint32_t)(index % tiles));
  if (rows.rows == 0) return;
  first.token = rows.first;
  const uint64_t q_row = attn_query_row(job->shape, &first.sequence, first.h, first.token);
  struct oracle_tile tile = oracle_tile_of(job, worker);
  oracle_tile_compute(job, &tile, first, rows.rows);
  for (uint32_t r = 0; r < rows.rows; ++r) oracle_write_row(job, &tile, r, q_row + r);
}

/* One row of a sample: its neighbours are not wanted. */
static void oracle_row_task(void *context, uint64_t index, unsigned worker) {
  const struct oracle_job *job = context;
  struct oracle_tile tile = oracle_tile_of(job, worker);
  const uint64_t row = pattern_sample_row(job->output->sample, index);
  oracle_tile_compute(job, &tile, attn_place_of(job->shape, ATTN_ROWS_QUERIES, row), 1);
  oracle_write_row(job, &tile, 0, index);
}

uint64_t oracle_scratch_bytes(const struct attn_problem *shape, unsigned threads) {
  const struct oracle_job job = oracle_job_of(shape, ORACLE_ROWS);
  return threads * oracle_worker_doubles(&job) * sizeof(double);
}

void oracle_compute(const struct attn_problem *shape, const struct oracle_input *input,
                    const struct oracle_output *output, void *scratch, unsigned threads) {
  const bool sampled = output->sample && output->sample->stride > 1;
  struct oracle_job job = oracle_job_of(shape, sampled ? CPU_MATMUL_ROWS : ORACLE_ROWS);
  job.input = input;
  job.output = output;
  job.scratch = scratch;
  if (sampled) {
    cpu_parallel_for(threads, output->sample->count, oracle_row_task, &job);
  } else {
    cpu_parallel_for(threads, (uint64_t)shape->B * shape->Hq * oracle_tiles_per_head(shape), oracle_task, &job);
  }
}

static struct status oracle_no_memory(uint64_t bytes) {
  return status_make(STATUS_MEMORY, "oracle: %.1f MB of scratch memory were refused; use a smaller shape",
                     (double)bytes / 1e6);
}

struct status oracle_run(const struct attn_problem *shape, const struct oracle_input *input,
                         const struct oracle_output *output, unsigned threads) {
  const uint64_t bytes = oracle_scratch_bytes(shape, threads);
  void *scratch = malloc(bytes);
  if (!scratch) return oracle_no_memory(bytes);
  oracle_compute(shape, input, output, scratch, threads);
  free(scratch);
  return status_ok();
}

/* One row from a pattern. */
static struct status oracle_row_of(const struct attn_problem *shape, const struct oracle_input *input, uint64_t row,
                                   double *o, struct reference_row *out) {
  const struct oracle_output output = {.o = o, .rows = out};
  struct oracle_job job = oracle_job_of(shape, CPU_MATMUL_ROWS);
  job.input = input;
  job.output = &output;
  job.scratch = malloc(oracle_worker_doubles(&job) * sizeof(double));
  if (!job.scratch) return oracle_no_memory(oracle_worker_doubles(&job) * sizeof(double));
  struct oracle_tile tile = oracle_tile_of(&job, 0);
  oracle_tile_compute(&job, &tile, attn_place_of(shape, ATTN_ROWS_QUERIES, row), 1);
  oracle_write_row(&job, &tile, 0, 0);
  free(job.scratch);
  return status_ok();
}

struct status oracle_row(const struct attn_problem *shape, const struct pattern *pattern, uint64_t row, double *o,
                         struct reference_row *out) {
  const struct oracle_input input = {.pattern = pattern};
  return oracle_row_of(shape, &input, row, o, out);
}

/* ---- the error of quantisation --------------------------------------------------------------------------------- */

struct quantised_row {
  struct status status;
  double squares, max;
};

struct quantised_job {
  const struct attn_problem *shape;
  const struct pattern *pattern;
  uint64_t count;
  struct quantised_row row[ORACLE_QUANTISED_ROWS];
};

static struct status quantised_difference(const struct quantised_job *job, uint64_t row, double *o, double *exact,
                                          struct quantised_row *out) {
  const struct oracle_input rounded = {.pattern = job->pattern},
                            floats = {.pattern = job->pattern, .unrounded = true};
  struct reference_row unused;
  TRY(oracle_row_of(job->shape, &rounded, row, o, &unused));
  TRY(oracle_row_of(job->shape, &floats, row, exact, &unused));
  for (uint32_t d = 0; d < job->shape->Dv; ++d) {
    const double difference = fabs(o[d] - exact[d]);
    out->squares += difference * difference;
    out->max = fmax(out->max, difference);
  }
  return status_ok();
}

/* The first row, the last, and random ones between. */
static void quantised_task(void *context, uint64_t index, unsigned worker) {
  struct quantised_job *job = context;
  const uint64_t rows = pattern_rows(job->shape), columns = job->shape->Dv;
  const bool is_all = job->count == rows;
  const uint64_t row = is_all ? index : index == 0 ? 0 : index == 1 ? rows - 1 : input_mix(index) % rows;
  double *o = malloc(2 * columns * sizeof *o);
  (void)worker;
  job->row[index].status = o != NULL ? quantised_difference(job, row, o, o + columns, &job->row[index])
                                     : oracle_no_memory(2 * columns * sizeof *o);
  free(o);
}

struct status oracle_quantisation(const struct attn_problem *shape, const struct pattern *pattern, unsigned threads,
                                  struct quantisation *out) {
  const uint64_t rows = pattern_rows(shape);
  struct quantised_job job = {.shape = shape, .pattern = pattern};
  *out = (struct quantisation){.rows = 0, .rmse = NAN, .max = NAN};
  if (!attn_is_scaled(shape, ATTN_K)) return status_ok();
  job.count = rows < ORACLE_QUANTISED_ROWS ? rows : ORACLE_QUANTISED_ROWS;
  cpu_parallel_for(threads, job.count, quantised_task, &job);
  *out = (struct quantisation){.rows = job.count, .rmse = 0, .max = 0};
  for (uint64_t i = 0; i < job.count; ++i) {
    TRY(job.row[i].status);
    out->rmse += job.row[i].squares / (double)(job.count * shape->Dv);
    out->max = fmax(out->max, job.row[i].max);
  }
  out->rmse = sqrt(out->rmse);
  return status_ok();
}
