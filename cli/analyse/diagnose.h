/* The diagnosis: findings that say why a row is slow. A finding has a measured fact, its meaning and one concrete
 * change. Pure: it works on a saved report as on a fresh one. */
#pragma once

#include "cli/analyse/finding.h"
#include "cli/analyse/scaling.h"

/* Rows of another report of the same device, in which measurements of an advised change are looked up too. */
struct diagnose_evidence {
  const struct record *records;
  const struct metrics *metrics;
  size_t count;
  const char *source; /* the file of that report */
};

/* Writes the findings of row `index`. records[i], metrics[i] and scaling[i] (scaling_of) describe one row. `device`
 * is that of the row.
 *
 * A row of a scaling group is compared with the group's baseline. Advice is checked against rows of the same case
 * that made the advised change: a faster row is quoted with its time, and with a slower one the finding is left out.
 * `elsewhere`, which may be NULL, has further such rows.
 *
 * Every finding appears at most once, about the pass where it is worst. Rows without a launch plan get no findings
 * about geometry, and only rows with status `ok` get findings about time. A row of a CPU has no findings. Where a row
 * has counters (record.counters), findings quote them and their profiler instead of values of the models;
 * bank_conflicts and uncoalesced need counters; convert_bound needs the row of the same variant with K and V of 16
 * bits, here or elsewhere. */
void diagnose(const struct record *records, const struct metrics *metrics, const struct scaling *scaling,
              size_t count, size_t index, const struct device_info *, const struct diagnose_evidence *elsewhere,
              struct findings *out);

/* The order of findings, of one row or of several: most saved microseconds first, then highest severity, then the
 * order of FINDING_MAP. Negative when `a` comes first. */
int diagnose_order(const struct finding *a, const struct finding *b);
