/* The rows from which gates are drawn: every timed cell and mode of a report of several processes, in the order of
 * case, variant and mode. */
#pragma once

#include "cli/gate/compare.h"

struct population {
  const struct journal_data *data;
  uint32_t processes;
  uint32_t family;          /* rows of a comparison of two such reports, timed or not */
  struct compare_row *rows; /* of the report compared with itself, not judged; .base summarises all processes */
  size_t row_count;
  struct compare_process *measured; /* of the rows, `processes` each */
};

/* STATUS_NOT_COMPARABLE when the report has fewer than 2 x rounds processes, cells with unequal numbers of processes,
 * a process without a time, or no times. The message begins with `path`. The report must outlive *out; free with
 * population_close. */
struct status population_open(const char *path, const struct journal_data *, const struct compare_settings *,
                              uint32_t rounds, struct population *out);
void population_close(struct population *);
