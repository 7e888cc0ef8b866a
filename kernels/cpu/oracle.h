/* The oracle: attention in fp64 straight from the definition in problem/attention.h. Inputs are the values that the
 * dtype holds; everything after them is double: scores, two-pass softmax (maximum first, then exponentials and their
 * sum), weighted sum. No online rescaling, no reassociation: each sum runs in the order of its index, so a row's bits
 * do not depend on threads, tiles or machine (libm's exp aside).
 *
 * Beside O it gives what the rounding errors of a right kernel's row are proportional to, however much its terms
 * cancel: see bounds.h. A row that may see a NaN is NaN throughout. */
#ifndef ATTNBENCH_KERNELS_CPU_ORACLE_H
#define ATTNBENCH_KERNELS_CPU_ORACLE_H

#include "kernels/bounds.h"
#include "kernels/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host memory by enum attn_role, laid out as the problem's views say; where an input is NULL its elements are made
 * from the pattern as they are needed. */
struct oracle_input {
  const void *tensor[ATTN_ROLE_COUNT];
  const struct pattern *pattern;
  bool unrounded; /* made as they are before they are divided by scales and rounded; of the pattern alone */
};

/* Each for the rows of queries, by their numbers, or, where a sample is given, for its rows; NULL: not wanted. */
struct oracle_output {
  double *o; /* [rows][columns of V] */
  struct reference_row *rows;
  void *rounded; /* O as the problem has it: its type and its view; without a sample alone */
  float *lse;    /* of the rows */
  const struct pattern_sample *sample;
};

/* Scratch memory that oracle_compute needs with this many threads. */
uint64_t oracle_scratch_bytes(const struct attn_problem *, unsigned threads);

/* The whole output. scratch holds oracle_scratch_bytes(shape, threads) bytes, 64-byte aligned. */
void oracle_compute(const struct attn_problem *, const struct oracle_input *, const struct oracle_output *,
                    void *scratch, unsigned threads);

/* The same with scratch of its own. STATUS_MEMORY when there is none. */
struct status oracle_run(const struct attn_problem *, const struct oracle_input *, const struct oracle_output *,
                         unsigned threads);

/* One query row, straight from the pattern: `row` is its number (attn_place), o gets as many doubles as V has
 * columns. The same bits as oracle_run's row. Work and memory are those of the row: Skv * D. */
struct status oracle_row(const struct attn_problem *, const struct pattern *, uint64_t row, double *o,
                         struct reference_row *out);

enum { ORACLE_QUANTISED_ROWS = 32 };

/* The error of quantisation over ORACLE_QUANTISED_ROWS rows of the pattern, or all of fewer. */
struct status oracle_quantisation(const struct attn_problem *, const struct pattern *, unsigned threads,
                                  struct quantisation *out);

#ifdef __cplusplus
}
#endif
#endif
