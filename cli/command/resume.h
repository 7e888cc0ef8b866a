/* Continuing a run from its journal (--resume): is it the same run, and what of it is done? */
#pragma once

#include "cli/options/options.h"
#include "cli/record/journal.h"
#include "cli/sweep/cells.h"

/* Fills what a journal keeps of this run so that it can be continued. `reference` is the spec text, "" for none. */
struct status resume_describe(const struct options *, const struct selection *, const char *reference,
                              struct run_setup *out);

/* Is `now` (run, device and policy are looked at) the run that began in `earlier`? STATUS_NOT_COMPARABLE says what
 * differs; with is_anyway it is written to `differs` ("device, seed"; "" when nothing does) instead, unless the rows
 * could not stand in one report. */
struct status resume_check(const char *path, const struct journal_data *earlier, const struct journal_data *now,
                           bool is_anyway, char differs[RECORD_DIFFERS_MAX]);

/* What is done of a cell: how many rounds measured it, and whether it was right and timed in all of them, so that
 * another round can add to it. A cell that was left out, or whose worker was killed from outside, counts as not
 * measured. */
struct resume_cell {
  bool is_known; /* the journal has it */
  uint32_t done;
  bool is_timed;
  char card[RECORD_CARD_MAX]; /* that measured it, of a run with --devices */
};
struct status resume_mark(const struct journal_data *earlier, const struct cells *, struct resume_cell *out);

/* How many cells the journal and this run have together. */
uint64_t resume_count(const struct journal_data *earlier, const struct cells *, const struct resume_cell *);
/* STATUS_INPUT when that many are more than the journal's run set out to measure, though the run is the same. */
struct status resume_check_count(const char *path, const struct journal_data *earlier, uint64_t count);
/* The seconds that the run took so far. Of a part that was killed it is the time that its cells took. */
double resume_spent_s(const struct journal_data *earlier);
