/* Applies every rule to a row, checks advice against evidence, and sorts the findings. */
#include "cli/analyse/diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "cli/analyse/evidence.h"

static bool (*const finders[FINDING_ID_COUNT])(const struct rules_row *, struct finding *) = {
#define FINDING_FINDER(file, name, severity, meaning, rule, remedy) file##_##name,
    FINDING_MAP(FINDING_FINDER)
#undef FINDING_FINDER
};

/* Pairs the row with its group's baseline, or the baseline with the group's widest row. */
static void pair_up(const struct record *records, const struct metrics *metrics, size_t index,
                    struct rules_row *row) {
  const struct scaling *s = row->scaling;
  if (!s->known) return;
  const size_t other = s->is_baseline ? s->widest_index : s->baseline_index;
  const uint64_t here_pairs = scaling_pairs(&records[index].attn_case.shape),
                 other_pairs = scaling_pairs(&records[other].attn_case.shape);
  if (here_pairs == other_pairs) return;
  const size_t narrow = here_pairs < other_pairs ? index : other, wide = narrow == index ? other : index;
  row->narrow = &records[narrow], row->narrow_metrics = &metrics[narrow];
  row->wide = &records[wide], row->wide_metrics = &metrics[wide];
}

static double weight(const struct finding *f) { return isfinite(f->saves_us) ? f->saves_us : 0; }

int diagnose_order(const struct finding *a, const struct finding *b) {
  const double a_us = weight(a), b_us = weight(b);
  const int a_severity = (int)finding_severity(a->id), b_severity = (int)finding_severity(b->id);
  if (a_us > b_us || a_us < b_us) return a_us > b_us ? -1 : 1;
  if (a_severity != b_severity) return b_severity - a_severity;
  return (int)a->id - (int)b->id;
}

static int compare(const void *a, const void *b) { return diagnose_order(a, b); }

void diagnose(const struct record *records, const struct metrics *metrics, const struct scaling *scaling,
              size_t count, size_t index, const struct device_info *device, const struct diagnose_evidence *elsewhere,
              struct findings *out) {
  out->count = 0;
  /* A user cannot change tiles, grid or registers of a library's kernel. */
  if (index >= count || device->kind == DEVICE_CPU || metrics_is_opaque(&records[index])) return;
  struct rules_row row = {.record = &records[index],
                          .shape = &records[index].attn_case.shape,
                          .metrics = &metrics[index],
                          .scaling = &scaling[index],
                          .device = device,
                          .here = {.records = records, .metrics = metrics, .count = count}};
  if (elsewhere != NULL) row.elsewhere = *elsewhere;
  pair_up(records, metrics, index, &row);
  roofs_of(row.record, row.metrics, device, &row.roofs);
  rules_prepare(&row);
  for (enum finding_id id = 0; id < FINDING_ID_COUNT; id++) {
    struct finding *f = &out->item[out->count];
    *f = (struct finding){.id = id, .pass = row.slowest_pass, .gain_ratio = NAN, .saves_us = NAN};
    const bool found = finders[id](&row, f), quoted = f->evidence[0] != '\0';
    if (found && !quoted) rules_cap_promise(&row, f);
    if (found && (quoted || evidence_supports(&row, f))) out->count++;
  }
  qsort(out->item, out->count, sizeof *out->item, compare);
}
