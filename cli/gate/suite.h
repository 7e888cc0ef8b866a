/* All cases of a comparison together. */
#ifndef ATTNBENCH_CLI_GATE_SUITE_H
#define ATTNBENCH_CLI_GATE_SUITE_H

#include "cli/gate/judge.h"

/* The geometric mean over the rows with a time on both sides that are not improved, of each process. How many rows
 * those are. */
size_t suite_observe(const struct compare *, struct compare_evidence *out);

/* Is a row of this verdict one of them? A case that became much faster stands for itself: in the mean it would pay
 * for a slowdown of all others. */
bool suite_counts(enum compare_verdict);

/* Fills compare->suite, once the rows are judged. A slowdown that all cases share stands out here, since the noise of
 * the cases averages out; with the exact test of cli/gate/rank.h, over processes as for a row. */
void suite_judge(struct compare *);

/* The settings by which observations of the suite are judged. */
struct compare_settings suite_settings(const struct compare *);

#endif
