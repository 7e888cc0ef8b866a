/* Rows that say the same of one variant, folded into one entry with the worst row's words. For the text report. */
#ifndef ATTNBENCH_CLI_REPORT_FOLD_H
#define ATTNBENCH_CLI_REPORT_FOLD_H

#include "cli/report/report.h"

struct fold {
  uint32_t kind;       /* the caller's: a finding id, a status */
  const char *variant; /* of the first row */
  const char *text;    /* rows fold only when it is equal; may be NULL */
  size_t count;        /* rows folded */
  uint32_t severity;
  const struct report_row *worst; /* of findings the one that stands for most microseconds; else the slowest; without
                                     times the one that fills the fewest SMs */
  const struct finding *finding;  /* of the worst row; NULL when it is not about findings */
};

struct folds {
  struct fold *item;
  size_t count, room;
};

/* One entry per finding id and variant, of the findings that a row shows, worst first: by microseconds, then
 * severity. The caller frees. */
struct status fold_findings(const struct report *, struct folds *out);
/* One entry per status, variant and reason of rows that are neither ok nor planned; of wrong rows, whose reasons
 * differ in their figures, one per variant. The caller frees. */
struct status fold_reasons(const struct report *, struct folds *out);
/* One entry per variant and what it picked (record.picked). The caller frees. */
struct status fold_picks(const struct report *, struct folds *out);
void fold_free(struct folds *);

#endif
