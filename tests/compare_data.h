/* Reports in memory for the tests of the comparison: cells that were measured by some processes. Cases are told apart
 * by their batch. Included by one test program each. */
#ifndef ATTNBENCH_TESTS_COMPARE_DATA_H
#define ATTNBENCH_TESTS_COMPARE_DATA_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/compare.h"
#include "kernels/gpu_models.h"

static inline void data_record(struct record *out, uint32_t batch, const char *variant, enum cell_status status) {
  memset(out, 0, sizeof *out);
  out->status = status;
  out->attn_case.shape = (struct attn_problem)ATTN_DENSE(batch, 8, 8, 512, 512, 64, ATTN_F16, false);
  axes_key(&out->attn_case.shape, out->attn_case.key);
  snprintf(out->variant, sizeof out->variant, "%s", variant);
  snprintf(out->variant_name, sizeof out->variant_name, "%s", variant);
  if (status != CELL_ok) snprintf(out->reason, sizeof out->reason, "because");
}

/* `cells` cells of one variant, none of them timed. */
static inline struct journal_data data_report(size_t cells) {
  struct journal_data data = {.has_device = true, .device = gpu_model_find("h200")->info, .record_count = cells};
  snprintf(data.device.driver, sizeof data.device.driver, "580.159.04");
  snprintf(data.state, sizeof data.state, "complete");
  data.policy = (struct device_policy){.known = true,
                                       .mig = "off",
                                       .ecc = "on",
                                       .power_limit_w = 700,
                                       .application_sm_clock_mhz = 1980,
                                       .application_memory_clock_mhz = 3201,
                                       .max_sm_clock_mhz = 1980,
                                       .max_memory_clock_mhz = 3201,
                                       .host_kernel = "Linux 6"};
  snprintf(data.run.sweep_name, sizeof data.run.sweep_name, "v3");
  snprintf(data.run.sweep_hash, sizeof data.run.sweep_hash, "0123456789abcdef");
  snprintf(data.run.version, sizeof data.run.version, "0.1.0");
  snprintf(data.run.git_commit, sizeof data.run.git_commit, "0123abc");
  snprintf(data.run.started_utc, sizeof data.run.started_utc, "2026-11-20T11:04:00Z");
  data.run.cell_count = cells;
  data.run.seed = 1;
  data.records = calloc(cells + 1, sizeof *data.records);
  for (size_t i = 0; i < cells && data.records != NULL; ++i) {
    data_record(&data.records[i], (uint32_t)i + 1, "wmma", CELL_ok);
  }
  return data;
}

/* One more process of a cell and mode. */
static inline void data_observe(struct record *record, enum time_mode mode, double us, double mhz) {
  struct process_record *process = &record->process[mode];
  process->median_us[process->count] = us;
  process->sm_clock_mhz[process->count++] = mhz;
  record->time[mode].done = true;
  record->time[mode].settled = true;
  record->time[mode].us.n = 30;
  record->time[mode].us.median = process->median_us[0];
  record->time[mode].sm_clock_mhz = process->sm_clock_mhz[0];
}

/* Both modes of all cells: `rounds` processes that take turns in being 0.1 % above and below `us`. */
static inline void data_measure(struct journal_data *data, double us, unsigned rounds) {
  for (size_t i = 0; i < data->record_count * TIME_MODE_COUNT; ++i) {
    for (unsigned round = 0; round < rounds; ++round) {
      data_observe(&data->records[i / TIME_MODE_COUNT], (enum time_mode)(i % TIME_MODE_COUNT),
                   us * (round % 2 == 0 ? 1.001 : 0.999), 1980);
    }
  }
}

#endif
