/* Reads all files with measurements: a journal, a JSON report (of attnbench or of scripts/sdpa_baseline.py), or a
 * table of times entered by hand. The kind of a file is recognised by its content, not by its name. */
#pragma once

#include "cli/record/journal.h"

enum measured_kind { MEASURED_JOURNAL, MEASURED_REPORT, MEASURED_TIMES };

/* STATUS_INPUT says what is wrong with the file, where, and what to give instead. A row with a time that cannot be
 * becomes `implausible` (plausible_judge). kind may be NULL. On success the caller frees with journal_free. */
struct status measured_load(const char *path, struct journal_data *out, enum measured_kind *kind);

/* The same for comparisons, which refuse times entered by hand, and edited reports unless may_be_edited. */
struct status measured_load_evidence(const char *path, bool may_be_edited, struct journal_data *out);

/* Narrows what was measured to some cases and variants (report --filter, --variants). */

/* The variants of all rows of several files, and which names of --variants have a row, in the order of the names. */
enum { KEEP_NAMES_MAX = 128, KEEP_NAME_MAX = 40 };
struct keep_seen {
  char variant[KEEP_NAMES_MAX][KEEP_NAME_MAX];
  size_t variant_count;
  bool is_met[KEEP_NAMES_MAX];
};

struct keep {
  const char *const *filters; /* as filter_parse reads them; a case has to meet all */
  size_t filter_count;
  const char *variants; /* with commas between them: a variant's name, or its name with tunables; NULL: all */
  /* NULL: each file must have every name of `variants` and keep a row. Else files are noted here, and
   * keep_check_variants says what none of them has. */
  struct keep_seen *seen;
};

/* Drops all other records, and lowers the number of cells of the run by as many. STATUS_USAGE when a filter is wrong,
 * or when nothing remains of the file; the message begins with `path`. */
struct status keep_records(const struct keep *, const char *path, struct journal_data *);
/* STATUS_USAGE for a name of `variants` that no row of the files has; the message says `path` for them. */
struct status keep_check_variants(const struct keep *, const char *path, const struct keep_seen *);
