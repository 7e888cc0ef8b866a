/* Checks that the derived values of a report are those that its measured values give. */
#include <math.h>

#include "cli/report/report.h"

/* A value that a report quotes, and the one that its measured values give. */
struct follows {
  const cJSON *item; /* NULL, or no number: it is not there */
  double value;      /* NAN: not known */
};

bool derived_follows(const cJSON *item, double value) {
  return !cJSON_IsNumber(item) || isnan(value) || !(fabs(item->valuedouble - value) > 1e-6 * fabs(value));
}

static struct status check_follows(const struct json_doc *doc, const struct follows *follows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!derived_follows(follows[i].item, follows[i].value))
      return json_error(doc, follows[i].item, false, "does not follow from what else the file says, which gives %.9g",
                        follows[i].value);
  }
  return status_ok();
}
#define CHECK_FOLLOWS(doc, follows) check_follows(doc, follows, sizeof(follows) / sizeof *(follows))

/* The rates and roofs of one mode. All versions had these formulas, so older reports are checked too. */
static struct status check_rates(const struct json_doc *doc, const cJSON *item, const struct mode_metrics *metrics,
                                 enum time_mode mode) {
  const char *name = time_mode_name(mode);
  const cJSON *roof = json_get(json_get(item, "roof"), name);
  const struct follows follows[] = {{json_get(json_get(item, "tflop_per_s"), name), metrics->tflop_per_s},
                                    {json_get(json_get(item, "gb_per_s"), name), metrics->gb_per_s},
                                    {json_get(roof, "ratio"), metrics->roof_ratio},
                                    {json_get(roof, "floor_us"), metrics->floor_us},
                                    {json_get(roof, "floor_ratio"), metrics->floor_ratio}};
  return metrics->known ? CHECK_FOLLOWS(doc, follows) : status_ok();
}

static struct status check_row(const struct json_doc *doc, const cJSON *item, const struct journal_data *data,
                               const struct record *record) {
  struct metrics metrics;
  metrics_of(record, cards_info(data, record), &metrics);
  const struct follows follows[] = {{json_get(item, "flops"), metrics.flops},
                                    {json_get(item, "bytes"), metrics.bytes},
                                    {json_get(item, "flop_per_byte"), metrics.flop_per_byte}};
  TRY(CHECK_FOLLOWS(doc, follows));
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (record->status == CELL_ok) TRY(check_rates(doc, item, &metrics.mode[mode], mode));
  }
  return status_ok();
}

static struct status check_sum(const struct json_doc *doc, const struct journal_data *data) {
  const cJSON *gpu = json_get(json_get(doc->root, "run"), "gpu_s");
  double gpu_s = 0;
  for (size_t i = 0; i < data->record_count; ++i) {
    if (data->records[i].gpu_s > 0) gpu_s += data->records[i].gpu_s;
  }
  return check_follows(doc, &(struct follows){gpu, gpu_s}, 1);
}

struct status derived_check(const struct json_doc *doc, const struct journal_data *data) {
  size_t i = 0;
  TRY(check_sum(doc, data));
  for (const cJSON *item = json_get(doc->root, "results")->child; item != NULL; item = item->next, ++i)
    TRY(check_row(doc, item, data, &data->records[i]));
  return status_ok();
}
