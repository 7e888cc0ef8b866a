/* Two attnbench programs, measured by whole fresh processes in turns on one device, in random order within each pair,
 * and the verdict on the second. Shared by `ab` and by the positive controls of `gate --selftest`. */
#ifndef ATTNBENCH_CLI_COMMAND_PAIRS_H
#define ATTNBENCH_CLI_COMMAND_PAIRS_H

#include "cli/gate/compare.h"
#include "cli/options/options.h"

enum { PAIRS_BASE, PAIRS_CANDIDATE, PAIRS_SIDES };

struct pairs {
  const struct options *options;
  const char *program[PAIRS_SIDES];
  char folder[512];    /* of journals and messages */
  bool is_kept;        /* pairs_close leaves the folder; with --keep it does so in any case */
  bool goes_on;        /* the folder may have pairs of processes that ended: those are not measured again */
  uint64_t order_seed; /* of the order of the two within each pair */
  double stall_s;
  struct journal_data data[PAIRS_SIDES]; /* as far as measured; for the caller to read and to relabel */
};

/* Makes the folder (options->keep, else a temporary one; with options->resume_kept it may be that of the same
 * comparison, cut off) and asks both programs who they are. options->base and
 * ->candidate name them, NULL is this program; the rest of the options, which must outlive the pairs, goes into every
 * process's command line. Afterwards pairs_close, also after a failure. */
struct status pairs_open(const struct options *, struct pairs *out);

/* options->rounds.value processes of each. Options of the gate that are not for these cells are refused after the
 * first process. A failure names the program and what it said; STATUS_INTERRUPTED when a signal asked to
 * stop. */
struct status pairs_measure(struct pairs *);

/* Judges what pairs_measure measured, what fails or does not decide in fresh processes again. On success the caller
 * frees *out, which points into the pairs, with compare_free. */
struct status pairs_judge(const struct pairs *, struct compare *out);

void pairs_close(struct pairs *);

#endif
