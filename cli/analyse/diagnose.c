/* Runs every rule over every row and orders what they found. */
#include "cli/analyse/diagnose.h"

#include "cli/analyse/rules.h"

static const struct {
  const char *name;
  enum finding_severity severity;
  const char *help;
  bool (*find)(const struct diagnose_row *, struct finding *);
} rules[FINDING_ID_COUNT] = {
#define FINDING_RULE(name, severity, help) {#name, FINDING_##severity, help, diagnose_##name},
    FINDING_MAP(FINDING_RULE)
#undef FINDING_RULE
};

_Static_assert((int)FINDING_ID_COUNT < (int)FINDINGS_MAX, "every finding can appear once, and one more be tried");

const char *finding_name(enum finding_id id) { return rules[id].name; }
enum finding_severity finding_severity(enum finding_id id) { return rules[id].severity; }
const char *finding_help(enum finding_id id) { return rules[id].help; }

const char *finding_severity_name(enum finding_severity severity) {
  static const char *const names[] = {"note", "warning", "severe"};
  return names[severity];
}

/* Pairs the row with its group's baseline, or the baseline with the group's widest row. */
static void pair_up(const struct record *records, const struct metrics *metrics, size_t index,
                    struct diagnose_row *row) {
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

/* A vendor's kernel is measured, not advised: nobody here can change its tiles, grid or registers. */
static bool is_vendors(const struct record *record) {
  return record->plan.pass_count > 0 && (record->pass[0].pass.covers[0] & ATTN_COVERS_UNKNOWN) != 0;
}

void diagnose(const struct record *records, const struct metrics *metrics, const struct scaling *scaling,
              size_t count, size_t index, const struct device_info *device, struct findings *out) {
  out->count = 0;
  if (index >= count || is_vendors(&records[index])) return;
  struct diagnose_row row = {.record = &records[index],
                             .shape = &records[index].attn_case.shape,
                             .metrics = &metrics[index],
                             .scaling = &scaling[index],
                             .device = device};
  pair_up(records, metrics, index, &row);
  for (int severity = FINDING_SEVERE; severity >= FINDING_NOTE; severity--)
    for (enum finding_id id = 0; id < FINDING_ID_COUNT; id++) {
      struct finding *f = &out->item[out->count];
      *f = (struct finding){.id = id};
      if ((int)rules[id].severity == severity && rules[id].find(&row, f)) out->count++;
    }
}
