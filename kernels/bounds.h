/* The comparison of an output with its reference, which fills struct compare_result; CPU and GPU share this code.
 * results/check.md derives the bounds.
 *
 * For every row call compare_bound_of(), then compare_element() for each element, then compare_row_end(), and
 * compare_lse() where the problem has LSE. compare_merge() partial results in any order, then compare_finish() once.
 */
#ifndef ATTNBENCH_KERNELS_BOUNDS_H
#define ATTNBENCH_KERNELS_BOUNDS_H

#include <math.h>
#include <string.h>

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The quantities of one query row that its error bounds depend on. The oracle computes them. */
struct reference_row {
  double spread_square; /* sum_j p_j^2 |v_j|^2 */
  double largest;       /* largest |score| over the keys that it sees, after the softmax scale and the soft cap */
  double lse;           /* log-sum-exp of its scores; minus infinity without any */
  double q_size;        /* root mean square of the elements of its Q */
  double value_square;  /* sum_j |v_j|^2 over the keys that it sees */
  double top;           /* weight p_j of a key with the largest score; a sink's score counts as one */
  double rest;          /* sum_j p_j over the keys whose score is not the largest */
  double rest_square;   /* sum_j p_j^2 |v_j|^2 over these */
  double sink;          /* the sink's part of the sum; 0 without one */
  /* What `rest` and `rest_square` have of keys so near COMPARE_TOP_WEIGHT that rounding decides whether they count.
   * Only the CPU's oracle fills them in. */
  double doubt, doubt_square;
};

/* exp(score - largest) of a key whose score is the largest, but for the rounding of fp64. */
#define COMPARE_TOP_WEIGHT (1 - 0x1p-30)
/* What rounding of fp64 may move it, of scores up to a thousand. */
#define COMPARE_TOP_DOUBT 0x1p-42

struct compare_bound {
  double unit;         /* roundoff of this row, relative to its output: U of results/check.md */
  double element, row; /* bounds of an element and of the row's norm, without the terms in the output itself */
  double absolute;     /* added to each element's bound */
  double columns;      /* elements of a row of O */
  double spread;       /* the root of reference_row.spread_square */
  double drift;        /* what truncation takes of the part of O that is more than its spread, relative to it */
  double lse;          /* bound of the row's log-sum-exp, without the term in the log-sum-exp itself */
};

/* The roundings that are relative to the log-sum-exp: of the maximum plus the logarithm, of its product with ln 2,
 * and of ln 2. */
#define COMPARE_LSE_ROUNDINGS 3.0

/* The error of an element in units of compare_bound.unit times the root mean square of the row's spread. */
#define COMPARE_ELEMENT_SPREAD 4.0

/* What one step of a sum on tensor cores may lose, in units of 2^-24 of what the sum holds: where its terms have one
 * sign, and where they cancel. results/check.md derives both. */
#define COMPARE_STEP_MEAN   5.0
#define COMPARE_STEP_SPREAD 1.5

/* Keys whose products a tensor core of this compute capability adds to an accumulator in one step. */
static inline double compare_step_keys(uint32_t cc_major) { return cc_major >= 9 ? 16 : 8; }

/* ---- e4m3 ------------------------------------------------------------------------------------------------------ */

/* Weights that are rounded to e4m3 are scaled so that the largest is COMPARE_E4M3_SCALE, which is exact. The others
 * are off by this much of themselves, or by this much of the largest where they are subnormal. A kernel that scales
 * them otherwise has to stay within the bound of this scaling. */
#define COMPARE_E4M3_SCALE    0x1p8
#define COMPARE_E4M3_ROUNDING 0x1p-4
#define COMPARE_E4M3_FLUSH    (0x1p-10 / COMPARE_E4M3_SCALE)

/* What a step of an e4m3 sum on tensor cores may lose, which adds the products of this many keys (or columns of K):
 * units in the last place of the sum that it holds, of which it has 14 bits, where its terms have one sign and where
 * they cancel. */
#define COMPARE_E4M3_STEP        32.0
#define COMPARE_E4M3_UNIT        0x1p-13
#define COMPARE_E4M3_STEP_MEAN   17.0
#define COMPARE_E4M3_STEP_SPREAD 2.0

/* After so many keys at the latest, a sum over keys is to be added to one of 24 bits. */
#define COMPARE_E4M3_PROMOTED 512.0

/* What a hyperbolic tangent may be off by: relative to itself, and besides however small it is. */
struct compare_tanh {
  double relative, absolute;
};
/* Kernels for 16-bit types use the GPU's own instruction, tanh.approx.f32, which is off by 2^-11 at most, or
 * 1 - 2 / (1 + e^2x) in fp32, which rounds numbers near 1. f32 has to be right to a few roundings. */
static inline ATTN_HD struct compare_tanh compare_tanh_of(enum attn_dtype dtype) {
  struct compare_tanh error = {0x1p-22, 0};
  switch (dtype) {
    case ATTN_F16:
    case ATTN_BF16:
    case ATTN_E4M3: error.relative = 0x1p-11, error.absolute = 0x1p-22; break;
    case ATTN_F32: break;
  }
  return error;
}

/* What a sum over keys, or over D, may lose by being cut: the relative units for terms of one sign and for terms that
 * cancel, by results/check.md. */
struct compare_cuts {
  double mean, spread;
};

/* Of a sum of `terms` products of Q and K, or of P and V where they are e4m3. Other sums over D are bounded by their
 * fp32 roundings. */
static inline ATTN_HD struct compare_cuts compare_cuts_of(const struct tolerance *t, bool is_e4m3, double terms) {
  struct compare_cuts cuts = {0, 0};
  if (t->step_keys > 0 && is_e4m3) {
    cuts.mean = COMPARE_E4M3_STEP_MEAN * COMPARE_E4M3_UNIT * ceil(terms / COMPARE_E4M3_STEP);
    cuts.spread = COMPARE_E4M3_STEP_SPREAD * COMPARE_E4M3_UNIT * ceil(terms / COMPARE_E4M3_STEP);
  } else if (t->step_keys > 0) {
    cuts.mean = COMPARE_STEP_MEAN * 0x1p-24 * ceil(terms / t->step_keys);
    cuts.spread = COMPARE_STEP_SPREAD * 0x1p-24 * ceil(terms / t->step_keys);
  }
  return cuts;
}

/* The error of a weight that is not the largest, relative to it and to the largest: it is rounded to e4m3, and its
 * score is a sum of few bits. */
static inline ATTN_HD double compare_e4m3_weight(const struct tolerance *t, const struct attn_problem *p,
                                                 const struct reference_row *row) {
  const double steps = ceil((double)p->D / COMPARE_E4M3_STEP), size = row->largest + row->q_size;
  return COMPARE_E4M3_ROUNDING +
         (t->step_keys > 0 ? COMPARE_E4M3_STEP_SPREAD * COMPARE_E4M3_UNIT * sqrt(steps) * size : 0);
}

/* The bounds of one row, which sees `keys` keys. */
static inline ATTN_HD struct compare_bound compare_bound_of(const struct tolerance *t, const struct attn_problem *p,
                                                            uint32_t keys, const struct reference_row *row) {
  const bool is_e4m3 = p->dtype == ATTN_E4M3;
  const double depth = (double)p->D, columns = (double)attn_columns(p, ATTN_O), spread = sqrt(row->spread_square);
  const double steps = 8 + 2 * sqrt((double)keys) + 2 * sqrt(depth) * (1 + row->largest);
  /* An absolute error of a score is a relative error of its weight. */
  const struct compare_tanh tanh_error = compare_tanh_of(p->dtype);
  const double cap_error = p->softcap > 0 ? tanh_error.relative * row->largest : 0;
  const double weight = is_e4m3 ? compare_e4m3_weight(t, p, row) : 0;
  const double fp32 = t->relative + 0x1p-24 * steps + cap_error;
  const double lse_steps = 8 + 2 * sqrt((double)keys) + 2 * sqrt(depth) * (row->q_size + row->largest);
  /* Nothing beside the error of a 16-bit output, but a log-sum-exp is fp32. Scores that
   * are off by more than `relative` would make the output wrong. */
  const double cap_rounding = p->softcap > 0 ? tanh_error.absolute * p->softcap : 0,
               lse_cap = cap_rounding < t->relative ? cap_rounding : t->relative;
  /* Without a sink some weight is 1, and those below the smallest number of the type are nothing beside it. With one,
   * all weights may be that small, and each of them may be rounded to 0. */
  const double beside_sink = p->sink ? t->absolute * sqrt((double)keys * row->value_square) : 0;
  const double flushed = is_e4m3 ? COMPARE_E4M3_FLUSH * row->top * sqrt((double)keys * row->value_square) : 0;
  const double promoted = is_e4m3 && (double)keys > COMPARE_E4M3_PROMOTED ? COMPARE_E4M3_PROMOTED : (double)keys;
  const struct compare_cuts cut = compare_cuts_of(t, is_e4m3, promoted);
  /* The sum over D behind a score is cut in the same way. */
  const struct compare_cuts score = compare_cuts_of(t, is_e4m3, depth);
  const double score_cut = score.mean * row->largest + score.spread * row->q_size;
  /* What all scores of a row lose alike changes no weight against another, but all of them against the sink: by half
   * of this, since the output counts twice. */
  const double against_sink = is_e4m3 ? score_cut * row->sink / 2 : 0;
  const double unit = fp32 + weight * row->rest + against_sink;
  const double error = (fp32 + cut.spread) * spread + weight * sqrt(row->rest_square) + beside_sink + flushed;
  /* Their products with V may be below the smallest normal fp32 number, where sums may flush each of them to 0. */
  const double absolute = t->absolute + (p->sink ? 0x1p-126 * sqrt((double)keys) : 0);
  /* Outliers of V are in a few columns, and so are the errors of their weights. */
  const double even = COMPARE_ELEMENT_SPREAD / sqrt(columns), share = p->outliers > 0 && even < 1 ? 1 : even;
  const struct compare_bound bound = {
      unit,    share * error, error,    absolute,
      columns, spread,        cut.mean, 0x1p-24 * lse_steps + score_cut + cap_error + lse_cap};
  return bound;
}

/* The bounds of an output of this type, for sums that are rounded. bench_tolerance() is for a kernel. */
struct tolerance compare_tolerance(enum attn_dtype out_dtype);

struct compare_partial {
  struct compare_result result; /* rel_frobenius and norm_ratio are not used before finish */
  double error_squares, reference_squares, bound_squares;
};

/* The running sums of one row. */
struct compare_row {
  double error_squares, reference_squares;
  uint64_t bad;
};

static inline ATTN_HD void compare_start(struct compare_partial *p) {
  memset(p, 0, sizeof *p);
  p->result.first_bad = UINT64_MAX;
  p->result.lse.first_bad = UINT64_MAX;
}

/* The bound of what truncation takes of an output of this size, where sums of random signs come to `random`. */
static inline ATTN_HD double compare_drift(const struct compare_bound *b, double size, double random) {
  return size > random ? b->drift * (size - random) : 0;
}

static inline ATTN_HD double compare_ratio(double error, double bound) {
  return error == 0 ? 0 : bound > 0 ? error / bound : 1.7976931348623157e308;
}

static inline ATTN_HD void compare_note_bad(uint64_t *first_bad, uint64_t index) {
  if (index < *first_bad) *first_bad = index;
}

/* Element `index` of the output against its fp64 reference. A NaN or infinity is bad and enters neither the maxima
 * nor the norms. Exceeding a bound of zero gives the largest finite ratio. */
static inline ATTN_HD void compare_element(struct compare_partial *p, struct compare_row *row,
                                           const struct compare_bound *b, uint64_t index, double o,
                                           double reference) {
  struct compare_result *r = &p->result;
  const double largest = 1.7976931348623157e308, magnitude = o < 0 ? -o : o;
  const double size = reference < 0 ? -reference : reference;
  int bad = 1;
  ++r->elements;
  row->reference_squares += reference * reference;
  if (o != o) {
    ++r->nan_count;
  } else if (magnitude > largest) {
    ++r->inf_count;
  } else {
    const double difference = o - reference, error = difference < 0 ? -difference : difference;
    const double drift = compare_drift(b, size, COMPARE_ELEMENT_SPREAD * b->spread / sqrt(b->columns));
    const double bound = b->element + 2 * b->unit * size + drift + b->absolute, ratio = compare_ratio(error, bound);
    if (error > r->max_abs_error) r->max_abs_error = error;
    if (ratio > r->max_bound_ratio) r->max_bound_ratio = ratio;
    row->error_squares += error * error;
    bad = !(error <= bound);
  }
  if (!bad) return;
  ++r->bad_count;
  ++row->bad;
  compare_note_bad(&r->first_bad, index);
}

/* Element `index` of a row that sees a NaN. Of most types no such output is defined. That of e4m3 is NaN: what reads
 * its NaN as a number, such as 480, is wrong. */
static inline ATTN_HD void compare_undefined(struct compare_partial *p, const struct attn_problem *problem,
                                             uint64_t index, double o) {
  if (problem->dtype != ATTN_E4M3 || o != o) return;
  ++p->result.bad_count;
  compare_note_bad(&p->result.first_bad, index);
}

/* The row's norm, once all its elements are in `row`. `index` is its first element's. */
static inline ATTN_HD void compare_row_end(struct compare_partial *p, const struct compare_row *row,
                                           const struct compare_bound *b, uint64_t index) {
  struct compare_result *r = &p->result;
  const double error = sqrt(row->error_squares), size = sqrt(row->reference_squares);
  const double drift = compare_drift(b, size, (1 + COMPARE_ELEMENT_SPREAD / sqrt(b->columns)) * b->spread);
  const double bound = b->row + 2 * b->unit * size + drift + b->absolute * sqrt(b->columns);
  const double ratio = compare_ratio(error, bound), tiny = b->absolute * b->absolute * b->columns;
  ++r->rows;
  if (ratio > r->max_row_ratio) r->max_row_ratio = ratio;
  p->error_squares += row->error_squares;
  p->reference_squares += row->reference_squares;
  p->bound_squares += b->row * b->row + b->unit * b->unit * row->reference_squares + drift * drift + tiny;
  if (row->bad == 0 && error <= bound) return;
  ++r->bad_rows;
  if (row->bad == 0) compare_note_bad(&r->first_bad, index);
}

/* The log-sum-exp of row `index` of [B][Hq][Sq]. Minus infinity is right for a row that attends no key, and for no
 * other. */
static inline ATTN_HD void compare_lse(struct compare_partial *p, const struct compare_bound *b, uint64_t index,
                                       double lse, double reference) {
  struct lse_result *r = &p->result.lse;
  const double largest = 1.7976931348623157e308;
  const bool is_number = lse >= -largest && lse <= largest, is_empty = reference < -largest;
  bool right = is_empty && lse < -largest;
  ++r->rows;
  r->not_finite += !right && !is_number;
  if (is_number && !is_empty) {
    const double difference = lse - reference, error = difference < 0 ? -difference : difference;
    const double bound = b->lse + COMPARE_LSE_ROUNDINGS * 0x1p-24 * (reference < 0 ? -reference : reference);
    const double ratio = compare_ratio(error, bound);
    if (error > r->max_abs_error) r->max_abs_error = error;
    if (ratio > r->max_bound_ratio) r->max_bound_ratio = ratio;
    right = error <= bound;
  }
  if (right) return;
  ++r->bad_rows;
  compare_note_bad(&r->first_bad, index);
}

static inline ATTN_HD void compare_merge_lse(struct lse_result *a, const struct lse_result *b) {
  a->rows += b->rows;
  a->bad_rows += b->bad_rows;
  a->not_finite += b->not_finite;
  compare_note_bad(&a->first_bad, b->first_bad);
  if (b->max_abs_error > a->max_abs_error) a->max_abs_error = b->max_abs_error;
  if (b->max_bound_ratio > a->max_bound_ratio) a->max_bound_ratio = b->max_bound_ratio;
}

static inline ATTN_HD void compare_merge(struct compare_partial *into, const struct compare_partial *from) {
  struct compare_result *a = &into->result;
  const struct compare_result *b = &from->result;
  a->elements += b->elements;
  a->rows += b->rows;
  a->nan_count += b->nan_count;
  a->inf_count += b->inf_count;
  a->bad_count += b->bad_count;
  a->bad_rows += b->bad_rows;
  compare_note_bad(&a->first_bad, b->first_bad);
  compare_merge_lse(&a->lse, &b->lse);
  if (b->max_abs_error > a->max_abs_error) a->max_abs_error = b->max_abs_error;
  if (b->max_bound_ratio > a->max_bound_ratio) a->max_bound_ratio = b->max_bound_ratio;
  if (b->max_row_ratio > a->max_row_ratio) a->max_row_ratio = b->max_row_ratio;
  into->error_squares += from->error_squares;
  into->reference_squares += from->reference_squares;
  into->bound_squares += from->bound_squares;
}

/* Fills rel_frobenius (over the finite elements; a zero reference with any error gives the error's own norm) and
 * norm_ratio. */
void compare_finish(struct compare_partial *, const struct tolerance *);

#ifdef __cplusplus
}
#endif
#endif
