/* The one reader of everything that holds measurements: a journal, a report in JSON whoever wrote it (attnbench,
 * scripts/sdpa_baseline.py), a table of times entered by hand. What the file is, its content says, not its name. */
#ifndef ATTNBENCH_CLI_REPORT_MEASURED_H
#define ATTNBENCH_CLI_REPORT_MEASURED_H

#include "cli/record/journal.h"

enum measured_kind { MEASURED_JOURNAL, MEASURED_REPORT, MEASURED_TIMES };

/* STATUS_INPUT says what is wrong with the file, where, and what to give instead. kind may be NULL. On success the
 * caller frees with journal_free. */
struct status measured_load(const char *path, struct journal_data *out, enum measured_kind *kind);

/* The same for a comparison, which times entered by hand are no evidence for. */
struct status measured_load_evidence(const char *path, struct journal_data *out);

#endif
