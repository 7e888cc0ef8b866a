/* Adds what a later round measured to a cell's record. */
#include "cli/record/record.h"

#include <stdio.h>
#include <string.h>

struct process_interval process_interval_of(const struct process_record *process) {
  if (process->count < 2) return (struct process_interval){.processes = 0};
  const struct stats stats = stats_of(process->median_us, process->count);
  return (struct process_interval){.processes = process->count,
                                   .median_us = stats.median,
                                   .low_us = stats.ci_low,
                                   .high_us = stats.ci_high,
                                   .confidence = stats_confidence(process->count)};
}

static bool agree(const struct process_record *process) {
  const struct process_interval interval = process_interval_of(process);
  return interval.processes == 0 || interval.high_us - interval.low_us <= PROCESS_APART_MOST * interval.low_us;
}

void process_settle(struct record *record) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    struct time_record *time = &record->time[mode];
    const bool alone = time->settled || time->settled_alone;
    time->settled = alone && agree(&record->process[mode]);
    time->settled_alone = alone && !time->settled;
  }
}

/* ---- adding -------------------------------------------------------------------------------------------------- */

uint32_t process_count(const struct record *record) {
  uint32_t count = 1;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (record->process[mode].count > count) count = record->process[mode].count;
  }
  return count;
}

static void put(struct process_record *process, const struct time_record *time) {
  const uint32_t i = process->count++;
#define PROCESS_PUT(type, name, from, element) process->name[i] = time->from;
  PROCESS_MAP(PROCESS_PUT)
#undef PROCESS_PUT
}

static void put_times(struct record *record, const struct record *next) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (!record->time[mode].done) continue;
    if (record->process[mode].count == 0) put(&record->process[mode], &record->time[mode]);
    put(&record->process[mode], &next->time[mode]);
  }
  process_settle(record);
}

/* Makes the cell fail because of a round that is not `ok`. A status without an exit code, such as skipped, becomes
 * `error`. */
static void put_failure(struct record *record, uint32_t round, const struct record *next) {
  const bool asks_for_nothing = cell_status_exit_code(next->status) == EXIT_CODE_OK;
  record->status = asks_for_nothing ? CELL_error : next->status;
  snprintf(record->reason, sizeof record->reason, "round %u: %s%s", round,
           asks_for_nothing ? "not measured any more: " : "", next->reason);
}

static struct status check_times(const struct record *record, const struct record *next) {
  bool any = false;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    any = any || record->time[mode].done;
    if (record->time[mode].done == next->time[mode].done || next->status != CELL_ok) continue;
    return status_make(STATUS_INPUT, "has %s %s time, unlike its first round", next->time[mode].done ? "a" : "no",
                       time_mode_name((enum time_mode)mode));
  }
  return any ? status_ok() : status_make(STATUS_INPUT, "its first round has no times");
}

static struct status check_round(const struct record *record, uint32_t round) {
  const uint32_t expected = process_count(record);
  if (record->status != CELL_ok)
    return status_make(STATUS_INPUT, "the cell is %s already", cell_status_name(record->status));
  if (round != expected) return status_make(STATUS_INPUT, "round %u is the next one", expected);
  if (round < PROCESSES_MAX) return status_ok();
  return status_make(STATUS_INPUT, "at most %d rounds are kept", PROCESSES_MAX);
}

struct status process_add(struct record *record, uint32_t round, const struct record *next) {
  struct status status = check_round(record, round);
  if (!status_failed(&status)) status = check_times(record, next);
  if (status_failed(&status))
    return status_make(status.code, "round %u of cell %s of %s: %s", round, record->attn_case.key, record->variant,
                       status.text);
  record->wall_s += next->wall_s;
  record->gpu_s += next->gpu_s;
  if (record->left[0] == '\0') memcpy(record->left, next->left, sizeof record->left);
  if (next->status == CELL_ok) {
    put_times(record, next);
  } else {
    put_failure(record, round, next);
  }
  return status;
}
