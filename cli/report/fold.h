/* Groups rows with the same message about one variant into one entry, which shows the worst row. For the text report.
 */
#pragma once

#include "cli/report/report.h"

struct fold {
  uint32_t kind;       /* a finding id (fold_findings) or a status (fold_reasons) */
  const char *variant; /* of the first row */
  const char *text;    /* only rows with equal text share an entry; may be NULL */
  size_t count;        /* rows in the entry */
  uint32_t severity;
  const struct report_row *worst; /* of findings the one with the most microseconds; else the slowest; without times
                                     the one that fills the fewest SMs */
  const struct finding *finding;  /* of the worst row; NULL unless from fold_findings */
};

struct folds {
  struct fold *item;
  size_t count, room;
};

/* Each fills *out, which must be empty. Fails only for lack of memory. The caller frees with fold_free, also after a
 * failure. */

/* One entry per finding id and variant, over the findings that the report shows. The worst come first, by
 * microseconds, then by severity. */
struct status fold_findings(const struct report *, struct folds *out);
/* One entry per status, variant and reason, over the rows that are neither ok nor planned. Wrong rows have one entry
 * per variant, since the numbers in their reasons differ. */
struct status fold_reasons(const struct report *, struct folds *out);
/* One entry per variant and text, over the rows that have one; `label` is the text's place in struct record. */
struct status fold_labels(const struct report *, size_t label, struct folds *out);
void fold_free(struct folds *);
