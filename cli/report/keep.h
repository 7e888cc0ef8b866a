/* Narrows what was measured to some cases and variants (report --filter, --variants). */
#pragma once

#include "cli/record/journal.h"

struct keep {
  const char *const *filters; /* as filter_parse reads them; a case has to meet all */
  size_t filter_count;
  const char *variants;   /* with commas between them: a variant's name, or its name with tunables; NULL: all */
  bool is_one_of_several; /* then a file may have none of the rows, which others have */
};

/* Drops the records of other cells; the run then had as many cells fewer. STATUS_USAGE: a filter is wrong, or the
 * file, whose path is for the message, has none of the variants or rows. */
struct status keep_records(const struct keep *, const char *path, struct journal_data *);
