/* Folds equal findings and reasons of several rows into one. */
#include "cli/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"

/* Microseconds; 0 when nothing was timed. */
static double slowness(const struct report_row *row) {
  const struct time_record *time = &row->record->time[record_mode(row->record)];
  return time->done ? time->us.median : 0;
}

static double sm_ratio(const struct report_row *row) {
  return metrics_of_main_pass(row->record, &row->metrics)->sm_ratio;
}

/* Timed rows: the slower is the worse. Else the one that fills fewer SMs, then the one with more work. */
static bool is_worse(const struct report_row *a, const struct report_row *b) {
  const double a_us = slowness(a), b_us = slowness(b);
  const double a_filled = sm_ratio(a), b_filled = sm_ratio(b);
  if (a_us > b_us || a_us < b_us) return a_us > b_us;
  if (a_filled > b_filled || a_filled < b_filled) return a_filled < b_filled;
  return a->metrics.flops > b->metrics.flops;
}

/* Findings: by the microseconds that they stand for, then as rows. */
static bool is_worse_fold(const struct fold *a, const struct fold *b) {
  const int order = a->finding != NULL && b->finding != NULL ? diagnose_order(a->finding, b->finding) : 0;
  return order != 0 ? order < 0 : is_worse(a->worst, b->worst);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static struct status add(struct folds *folds, struct fold fold) {
  for (size_t i = 0; i < folds->count; ++i) {
    struct fold *item = &folds->item[i];
    const bool same =
        item->kind == fold.kind && same_text(item->variant, fold.variant) && same_text(item->text, fold.text);
    if (!same) continue;
    ++item->count;
    if (is_worse_fold(&fold, item)) {
      item->worst = fold.worst;
      item->finding = fold.finding;
    }
    return status_ok();
  }
  TRY(owned_grow(&folds->item, folds->count, &folds->room, sizeof *folds->item, "entries of a report"));
  fold.count = 1;
  folds->item[folds->count++] = fold;
  return status_ok();
}

/* Findings worst first, reasons by status; ties by the variants' names. */
static int compare(const void *a, const void *b) {
  const struct fold *left = a, *right = b;
  if (left->finding == NULL && left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
  if (is_worse_fold(left, right)) return -1;
  if (is_worse_fold(right, left)) return 1;
  return strcmp(left->variant, right->variant);
}

static void sort(struct folds *folds) {
  if (folds->count > 0) qsort(folds->item, folds->count, sizeof *folds->item, compare);
}

struct status fold_findings(const struct report *report, bool with_twins, struct folds *out) {
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    if (row->is_twin && !with_twins) continue;
    for (size_t f = 0; f < row->findings.count && (f < FINDINGS_SHOWN_PER_ROW || report->all_findings); ++f) {
      const struct finding *finding = &row->findings.item[f];
      TRY(add(out, (struct fold){.kind = finding->id,
                                 .variant = row->record->variant,
                                 .severity = finding_severity(finding->id),
                                 .worst = row,
                                 .finding = finding}));
    }
  }
  sort(out);
  return status_ok();
}

struct status fold_bounds(const struct report *report, bool is_whole, struct folds *out) {
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    const struct bound_by *bound = &row->bound_by;
    if (!row->leads_case || !bound->known) continue;
    TRY(add(out, (struct fold){.kind = bound->limit,
                               .variant = row->record->variant,
                               .text = is_whole ? bound->text : time_mode_name(bound->mode),
                               .worst = row}));
  }
  return status_ok();
}

struct status fold_reasons(const struct report *report, struct folds *out) {
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = report->rows[i].record;
    if (record->status == CELL_ok || record->status == CELL_planned) continue;
    TRY(add(out, (struct fold){.kind = record->status,
                               .variant = record->variant,
                               .text = record->status == CELL_wrong ? NULL : record->reason,
                               .worst = &report->rows[i]}));
  }
  sort(out);
  return status_ok();
}

struct status fold_labels(const struct report *report, size_t label, struct folds *out) {
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = report->rows[i].record;
    const char *text = (const char *)record + label;
    if (text[0] == '\0') continue;
    TRY(add(out, (struct fold){.variant = record->variant, .text = text, .worst = &report->rows[i]}));
  }
  sort(out);
  return status_ok();
}

void fold_free(struct folds *folds) {
  free(folds->item);
  *folds = (struct folds){0};
}
