/* Compares two attnbench programs on one device. Each pair runs one fresh process of the base and one of the
 * candidate, in random order. Used by `ab` and by the positive controls of `gate --selftest`. */
#pragma once

#include "cli/gate/witness.h"
#include "cli/options/options.h"

enum { PAIRS_BASE, PAIRS_CANDIDATE, PAIRS_SIDES };

struct pairs {
  const struct options *options;
  const char *program[PAIRS_SIDES];
  char version[PAIRS_SIDES][128]; /* what each answers to --version */
  char folder[512];               /* holds the journals and the messages of the processes */
  bool is_kept;                   /* pairs_close does not remove the folder; neither does it with --keep */
  bool goes_on;                   /* --resume: complete pairs in the folder are not measured again */
  uint64_t order_seed;            /* of the order of the two programs within each pair */
  double stall_s;
  struct journal_data data[PAIRS_SIDES]; /* measured so far; the caller may read and relabel it */
  uint32_t measured;                     /* pairs of the first measurement */
  struct witness witness;                /* of these processes, but for those that an earlier run measured */
};

/* Makes the folder and checks that both programs are attnbench. The folder is options->keep, else a temporary one;
 * with options->resume_kept it may hold the interrupted measurement of the same comparison. options->base and
 * options->candidate name the programs, and NULL stands for this program. The other options go into the command line
 * of every process. The options must outlive the pairs. Call pairs_close afterwards, also after a failure. */
struct status pairs_open(const struct options *, struct pairs *out);

/* Measures options->rounds.value pairs; with options->rounds_in_steps 3, then 5 and so on, until every verdict is
 * clear (compare_is_clear) or that many are measured. After the first process, options of the gate that match none of
 * the cells are refused. A failure names the program and quotes its message; STATUS_INTERRUPTED when a signal asked
 * to stop. */
struct status pairs_measure(struct pairs *);

/* Judges the measurements, and measures rows that fail or are undecided again in fresh processes (confirm_add). On
 * success the caller frees *out, which points into the pairs, with compare_free. */
struct status pairs_judge(const struct pairs *, struct compare *out);

void pairs_close(struct pairs *);

/* FOLDER/ab.json describes the comparison whose journals the folder of `ab --keep FOLDER` holds, so that --resume can
 * continue it. */

/* The comparison that the options ask for. programs[0] is the base and programs[1] the candidate. */
struct kept {
  const char *folder;
  const struct options *options;
  const char *const *programs;
  uint64_t order_seed; /* of the order of the two programs within each pair (order_draw) */
};

/* Whether the folder holds an ab.json. */
bool kept_is_there(const char *folder);

/* Writes ab.json; STATUS_OUTPUT when that fails. */
struct status kept_write(const struct kept *);

/* Reads ab.json and checks that it describes the same comparison; then sets order_seed to that of the file.
 * STATUS_NOT_COMPARABLE says what differs, STATUS_INPUT what cannot be read. */
struct status kept_resume(struct kept *);
