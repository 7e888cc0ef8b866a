/* Narrows what was measured to some cases and variants (report --filter, --variants). */
#pragma once

#include "cli/record/journal.h"

struct keep {
  const char *const *filters; /* as filter_parse reads them; a case has to meet all */
  size_t filter_count;
  const char *variants;   /* with commas between them: a variant's name, or its name with tunables; NULL: all */
  bool is_one_of_several; /* files: nothing needs to remain of this one */
};

/* Drops all other records, and lowers the number of cells of the run by as many. STATUS_USAGE when a filter is wrong,
 * or when nothing remains of the file; the message begins with `path`. */
struct status keep_records(const struct keep *, const char *path, struct journal_data *);
