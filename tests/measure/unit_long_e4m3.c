/* tags: long slow asan */
/* Kernels for e4m3 as they are: P rounded to e4m3 with a factor of 2^8, sums of 14 bits that are added to longer ones
 * now and then. Right ones are within the bounds of the check from 512 to 131072 keys, and wrong ones are not. The
 * tensor core is emulated: exact products, each cut to 13 bits below the leading bit of the largest term, added
 * exactly, and the sum cut to 14 bits. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/oracle.h"
#include "tests/unit.h"

enum { D = 64, TILE = 64, STEP = 32, HEADS = 3, NEVER = 1 << 30 };

/* ---- kernels --------------------------------------------------------------------------------------------------- */

struct kernel {
  const char *name;
  int bits;          /* of sums on tensor cores */
  uint32_t promoted; /* keys after which a sum is added to one of 24 bits */
  float p_factor;    /* P times this is rounded to e4m3 */
  bool permutes, drops, saturates;
  uint32_t from_keys; /* it is wrong from this many keys on */
};

static const struct kernel right[] = {
    {.name = "14 bits, promoted every 128 keys", .bits = 14, .promoted = 128, .p_factor = 256},
    {.name = "14 bits, promoted every 512 keys", .bits = 14, .promoted = 512, .p_factor = 256},
    {.name = "24 bits", .bits = 24, .promoted = NEVER, .p_factor = 256},
};
static const struct kernel wrong[] = {
    {.name = "14 bits, never promoted", .bits = 14, .promoted = NEVER, .p_factor = 256, .from_keys = 131072},
    {.name = "P without 2^8", .bits = 14, .promoted = 128, .p_factor = 1},
    {.name = "P times 2^9, saturating", .bits = 14, .promoted = 128, .p_factor = 512},
    {.name = "V permuted", .bits = 14, .promoted = 128, .p_factor = 256, .permutes = true},
    {.name = "a tile dropped", .bits = 14, .promoted = 128, .p_factor = 256, .drops = true},
};
enum { RIGHTS = sizeof right / sizeof *right, WRONGS = sizeof wrong / sizeof *wrong };

static double cut(double x, double scale) { return (double)(int64_t)(x * scale) / scale; }

static float add_step(int bits, float sum, const double *term) {
  double total = (double)sum, largest = fabs((double)sum);
  for (uint32_t i = 0; i < STEP; ++i) largest = fabs(term[i]) > largest ? fabs(term[i]) : largest;
  if (largest == 0 || bits == 24) {
    for (uint32_t i = 0; i < STEP; ++i) total += term[i];
    return (float)total;
  }
  const double scale = ldexp(1, bits - 1 - ilogb(largest));
  total = cut(total, scale);
  for (uint32_t i = 0; i < STEP; ++i) total += cut(term[i], scale);
  return total == 0 ? 0 : (float)cut(total, ldexp(1, bits - 1 - ilogb(total)));
}

/* ---- one row of a problem ------------------------------------------------------------------------------------- */

struct row {
  struct attn_problem problem;
  const char *name;
  float *score, *exact; /* [keys]: as sums of 14 bits and of 24 */
  float *v;             /* [keys][D]: numbers */
  double v_scale, o[D];
  float sink; /* minus infinity: it has none */
  struct reference_row facts;
};

static void numbers_of(const struct pattern *p, enum attn_role role, uint64_t row, float *out) {
  const struct pattern_line line = pattern_line_of(p, role, row);
  struct attn_tensor tensor;
  assert_true(attn_tensor_of(&p->problem, role, &tensor));
  for (uint32_t d = 0; d < D; ++d) out[d] = cpu_input(p, &tensor, &line, d);
}

static double scale_of(const struct pattern *p, enum attn_role role, uint64_t row) {
  return (double)pattern_line_of(p, role, row).quantum;
}

static float score_of(int bits, const float *q, const float *k, double scale) {
  float sum = 0;
  for (uint32_t d = 0; d < D; d += STEP) {
    double term[STEP];
    for (uint32_t i = 0; i < STEP; ++i) term[i] = (double)q[d + i] * (double)k[d + i];
    sum = add_step(bits, sum, term);
  }
  return (float)((double)sum * scale);
}

static const char *const kind_names[] = {
#define KIND_NAME(name) #name,
    PATTERN_KIND_MAP(KIND_NAME)
#undef KIND_NAME
};

static struct row row_of(uint32_t keys, bool sink, uint32_t launch, uint64_t index) {
  struct row row = {.problem = ATTN_DENSE(1, HEADS, HEADS, PATTERN_KINDS, keys, D, ATTN_E4M3, false),
                    .sink = -INFINITY};
  if (sink) row.problem.sink = true, row.problem.out_dtype = 1 + ATTN_F16;
  const struct pattern p = {.problem = row.problem, .seed = 5, .launch = launch};
  const uint64_t first = index / PATTERN_KINDS * keys;
  float q[D], k[D];
  row.name = launch == 0 ? "random" : kind_names[pattern_kind_of(&p, index)];
  row.score = malloc(keys * sizeof *row.score), row.exact = malloc(keys * sizeof *row.exact);
  row.v = malloc((size_t)keys * D * sizeof *row.v);
  assert_true(row.score != NULL && row.exact != NULL && row.v != NULL);
  numbers_of(&p, ATTN_Q, index, q);
  const double scale = scale_of(&p, ATTN_Q, index) * scale_of(&p, ATTN_K, first) / sqrt((double)D);
  row.v_scale = scale_of(&p, ATTN_V, first);
  if (sink) row.sink = pattern_line_of(&p, ATTN_SINK, index / PATTERN_KINDS).scale;
  for (uint32_t j = 0; j < keys; ++j) {
    numbers_of(&p, ATTN_K, first + j, k);
    numbers_of(&p, ATTN_V, first + j, row.v + (size_t)j * D);
    row.score[j] = score_of(14, q, k, scale);
    row.exact[j] = score_of(24, q, k, scale);
  }
  assert_int_equal(oracle_row(&row.problem, &p, index, row.o, &row.facts).code, STATUS_OK);
  return row;
}

static void row_free(struct row *row) {
  free(row->score);
  free(row->exact);
  free(row->v);
}

/* ---- flash attention ------------------------------------------------------------------------------------------- */

struct state {
  float sum_of_out[D], part[D], most, sum;
};

static void rescale(struct state *s, float most) {
  const float factor = expf(s->most - most);
  s->most = most;
  s->sum *= factor;
  for (uint32_t d = 0; d < D; ++d) s->sum_of_out[d] *= factor, s->part[d] *= factor;
}

static void promote(struct state *s) {
  for (uint32_t d = 0; d < D; ++d) s->sum_of_out[d] += s->part[d];
  memset(s->part, 0, sizeof s->part);
}

static void add_tile(const struct kernel *k, const struct row *row, const float *score, uint32_t first,
                     struct state *s) {
  double p[TILE];
  float most = s->most;
  for (uint32_t j = 0; j < TILE; ++j) most = fmaxf(most, score[first + j]);
  if (most > s->most) rescale(s, most);
  for (uint32_t j = 0; j < TILE; ++j) {
    const float weight = expf(score[first + j] - s->most);
    s->sum += weight;
    p[j] = (double)input_from_e4m3(input_to_e4m3(weight * k->p_factor));
  }
  for (uint32_t j = 0; j < TILE; j += STEP) {
    for (uint32_t d = 0; d < D; ++d) {
      double term[STEP];
      for (uint32_t i = 0; i < STEP; ++i) {
        const uint32_t key = first + j + (k->permutes ? i ^ 8 : i);
        term[i] = p[j + i] * (double)row->v[(size_t)key * D + d];
      }
      s->part[d] = add_step(k->bits, s->part[d], term);
    }
  }
}

/* The error of a row against its bounds. */
static double ratio_of(const struct kernel *k, const struct row *row) {
  const uint32_t keys = row->problem.Skv;
  const float *score = k->bits == 14 ? row->score : row->exact;
  struct tolerance tolerance = compare_tolerance(attn_out_dtype(&row->problem));
  struct compare_partial found;
  struct compare_row sums = {0};
  struct state s = {.most = score[0]};
  tolerance.step_keys = 16;
  for (uint32_t j = 0; j < keys; j += TILE) {
    if (k->drops && j == keys / 2) continue;
    add_tile(k, row, score, j, &s);
    if ((j + TILE) % k->promoted == 0) promote(&s);
  }
  promote(&s);
  s.sum += expf(row->sink - s.most);
  const struct compare_bound bound = compare_bound_of(&tolerance, &row->problem, keys, &row->facts);
  compare_start(&found);
  for (uint32_t d = 0; d < D; ++d) {
    const enum attn_dtype dtype = attn_out_dtype(&row->problem);
    const float o = s.sum_of_out[d] * (float)row->v_scale / (s.sum * k->p_factor);
    compare_element(&found, &sums, &bound, d, (double)attn_dtype_value(dtype, attn_dtype_bits(dtype, o)), row->o[d]);
  }
  compare_row_end(&found, &sums, &bound, 0);
  return fmax(found.result.max_bound_ratio, found.result.max_row_ratio);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

struct worst {
  double ratio;
  const char *where;
};

static void judge(const struct kernel *k, const struct row *row, struct worst *worst) {
  const double ratio = ratio_of(k, row);
  if (ratio > worst->ratio) *worst = (struct worst){ratio, row->name};
}

/* Every `stride`-th row of launches with adversarial inputs, and a random one. A wrong kernel has to be seen in
 * one. */
static void check_length(uint32_t keys, bool sink, uint64_t stride) {
  struct worst seen[RIGHTS + WRONGS] = {{0, ""}};
  const uint32_t launches = sink ? 4 : 1; /* with each kind of sink in each head */
  for (uint64_t i = 0; i <= launches * HEADS * PATTERN_KINDS; i += stride) {
    const uint64_t launch = (i + HEADS * PATTERN_KINDS - 1) / (HEADS * PATTERN_KINDS);
    struct row row = row_of(keys, sink, (uint32_t)launch, i > 0 ? (i - 1) % (HEADS * PATTERN_KINDS) : 0);
    for (size_t k = 0; k < RIGHTS + WRONGS; ++k) judge(k < RIGHTS ? &right[k] : &wrong[k - RIGHTS], &row, &seen[k]);
    row_free(&row);
  }
  for (size_t k = 0; k < RIGHTS + WRONGS; ++k) {
    const struct kernel *kernel = k < RIGHTS ? &right[k] : &wrong[k - RIGHTS];
    print_message("%7u keys: %-34s %8.3g of the bound (%s)\n", (unsigned)keys, kernel->name, seen[k].ratio,
                  seen[k].where);
    if (k < RIGHTS ? !(seen[k].ratio < 0.9) : keys >= kernel->from_keys && !(seen[k].ratio > 1.2))
      fail_msg("%s: %g of the bound", kernel->name, seen[k].ratio);
  }
}

TEST(rows_of_512_keys_are_judged) { check_length(512, false, 1); }

TEST(rows_of_512_keys_and_a_sink_are_judged) { check_length(512, true, 1); }

TEST(rows_of_8192_keys_are_judged) { check_length(8192, false, 3); }

TEST(rows_of_131072_keys_are_judged) { check_length(131072, false, 4); }
