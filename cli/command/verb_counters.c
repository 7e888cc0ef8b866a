/* report --counters: a report's rows with the counters of a profiler. */
#include <stdlib.h>

#include "cli/base/json.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/record/counters.h"
#include "cli/report/measured.h"

#define COUNTERS_BYTES_MAX (UINT32_C(64) << 20)

static struct status read_counters(const char *path, struct journal_data *into) {
  struct json_doc doc;
  TRY(json_load(path, COUNTERS_BYTES_MAX, &doc));
  const struct status status = counters_read(&doc, into);
  json_free(&doc);
  return status;
}

/* One report with what a profiler counted of its rows. */
struct status verb_counters(const struct options *options, struct outcome *outcome) {
  struct journal_data data;
  if (options->reports.count > 1) {
    return status_make(STATUS_USAGE, "--counters: belongs to one report; name one instead of %zu",
                       options->reports.count);
  }
  TRY(outputs_probe(options));
  TRY(measured_load(options->reports.item[0], &data, NULL));
  struct status status = read_counters(options->counters, &data);
  if (!status_failed(&status)) status = outputs_write(options, &data, outcome);
  journal_free(&data);
  return status;
}
