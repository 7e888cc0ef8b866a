/* All cases of a comparison together. */
#pragma once

#include "cli/gate/judge.h"

/* Sums of logarithms over rows, for each process of both sides. */
struct suite_sums {
  size_t rows;    /* to begin with: 0 */
  bool has_clock; /* no row is bound by DRAM */
  struct suite_sum {
    uint32_t count;
    double log_us[RANK_MAX], log_mhz[RANK_MAX];
  } base, now;
};
/* Adds a row that is judged, unless it is improved, implausible, by_hosts or without a ratio. */
void suite_add(const struct compare_row *, const struct compare_evidence *, struct suite_sums *);

/* Fills compare->suite from the sums over all rows, with the same test over processes as for a row (judge_timed). A
 * slowdown that all cases share is easier to detect here, since the noise of the cases averages out. */
void suite_judge(const struct suite_sums *, struct compare *);

/* Collects, for each process, the geometric mean over the rows that suite_add counts. Returns their number. */
size_t suite_observe(const struct compare *, struct compare_evidence *out);
