/* Measures all rounds of the cells of a run. */
#pragma once

#include "cli/command/run.h"

/* Measures the cells of a run that run_begin started in options->rounds rounds, ends the journal and reads it into
 * *out. *measured is the failure that stopped the measuring, if any, STATUS_INTERRUPTED for a signal; the journal
 * then holds all measurements before it. */
struct status take_rounds(struct run *, struct journal_data *out, struct status *measured);

/* Measures the cells in `only` again, in as many fresh processes as the run has rounds. The measurements go to a
 * journal of their own, named as the run's with ".again" and `number` behind. It is kept when the run's journal is
 * kept. */
struct status take_again(struct run *, uint32_t number, const char *const *only, size_t only_count,
                         struct journal_data *out);

/* Measures the sweep in options->processes fresh processes, as `ab` does. The journal is removed unless --journal
 * names it. The caller frees *out. */
struct status take_processes(const struct options *, const struct invocation *, struct journal_data *out);
