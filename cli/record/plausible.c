/* Holds times against what the device needs at least, and against launches on changed inputs. */
#include "cli/record/journal.h"

#include <math.h>
#include <stdio.h>

#include "kernels/floor.h"
#include "kernels/problem/work.h"

/* A clock's error and a burst above the clock that was read. */
static const double floor_slack = 0.97;

static bool fills_at_most(double share, const struct attn_problem *shape, const struct device_info *device) {
  return device->kind == DEVICE_CUDA && work_bytes(shape) <= share * (double)device->l2_bytes;
}

/* Tensor cores have done the work of a shape with fewer operations for each byte before L2 has read it. */
static const double read_bound_most = 200;

static bool is_read_bound(const struct attn_problem *shape) {
  return work_flops(shape) < read_bound_most * work_bytes(shape);
}

/* A hot launch finds its inputs in caches, and so does one whose inputs were rewritten: in 631 rows of an H200 with D
 * up to 256 it takes at most 1.03 times as long and 2 us. In 125 rows of wider heads `one_query`, a few blocks that
 * wait for one load after the other, takes up to 1.27 times as long, `d_split` 1.1. L2 has two halves, and what was
 * rewritten lies in one of them: `decode_general`, where it fills three eighths of L2 and reads the keys eight times,
 * takes 1.38 times as long on an H100. Tensors that are too large for the caches may be read from memory, which a
 * factor of 4 allows for; and a CPU's times are restless. */
static double changed_most_us(const struct attn_problem *shape, const struct device_info *device, double hot_us) {
  if (!fills_at_most(0.5, shape, device)) return 4.0 * hot_us + 8.0;
  const bool may_wait = shape->D > 256 || (is_read_bound(shape) && !fills_at_most(0.25, shape, device));
  return (may_wait ? 1.5 : 1.25) * hot_us + 2.0;
}

bool plausible_skips_work(const struct record *record, const struct device_info *device) {
  const struct time_record *hot = &record->time[TIME_HOT];
  return hot->done && record->check.changed_us > changed_most_us(&record->attn_case.shape, device, hot->us.median);
}

static bool explain_floor(struct record *record, const struct device_info *device, enum time_mode mode, double us,
                          double sm_clock_mhz) {
  const double floor = floor_us(&record->attn_case.shape, device, mode, sm_clock_mhz);
  if (us >= floor_slack * floor) return false;
  snprintf(
      record->reason, sizeof record->reason,
      "%s median of %.3g us is below %.3g us, the least that this GPU's tensor cores or memory need for this shape",
      time_mode_name(mode), us, floor);
  return true;
}

/* Of the first process, or of a later one. */
static bool explain_floors(struct record *record, const struct device_info *device, enum time_mode mode) {
  const struct time_record *time = &record->time[mode];
  const struct process_record *process = &record->process[mode];
  if (time->done && explain_floor(record, device, mode, time->us.median, time->sm_clock_mhz)) return true;
  for (uint32_t i = 1; i < process->count; ++i) {
    if (explain_floor(record, device, mode, process->median_us[i], process->sm_clock_mhz[i])) return true;
  }
  return false;
}

static bool explain_changed(struct record *record, const struct device_info *device) {
  if (!plausible_skips_work(record, device)) return false;
  snprintf(
      record->reason, sizeof record->reason,
      "hot median is %.3g us, but %.3g us where the inputs change before every launch: launches on inputs that were "
      "seen before skip work",
      record->time[TIME_HOT].us.median, record->check.changed_us);
  return true;
}

void plausible_judge(struct record *record, const struct device_info *device) {
  if (record->status == CELL_ok &&
      (explain_floors(record, device, TIME_HOT) || explain_floors(record, device, TIME_COLD) ||
       explain_floors(record, device, TIME_STEADY) || explain_changed(record, device)))
    record->status = CELL_implausible;
}

void plausible_judge_all(struct journal_data *data) {
  for (size_t i = 0; i < data->record_count && data->has_device; ++i)
    plausible_judge(&data->records[i], cards_info(data, &data->records[i]));
}
