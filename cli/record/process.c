/* Adds what a later process measured to a cell's record. */
#include "cli/record/process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/record/field_tables.h"

static const struct field time_fields[] = {
    FIELD("median_us", F64, struct process_time, median_us),
    FIELD("sm_clock_mhz", F64, struct process_time, sm_clock_mhz),
    FIELD("throttle_reasons", U64, struct process_time, throttle_reasons),
    {0},
};

static const struct field again_fields[] = {
    FIELD_TEXT_OF("key", struct again_line, key),
    FIELD_TEXT_OF("variant", struct again_line, variant),
    FIELD("round", U32, struct again_line, round, .min = 1, .max = PROCESSES_MAX - 1),
    FIELD("status", ENUM, struct again_line, sample.status, .name = record_status_name),
    FIELD_TEXT_OF("reason", struct again_line, sample.reason),
    FIELD("cold", OPTIONAL, struct again_line, sample.mode[TIME_COLD], .fields = time_fields,
          .flag_offset = offsetof(struct process_time, done)),
    FIELD("hot", OPTIONAL, struct again_line, sample.mode[TIME_HOT], .fields = time_fields,
          .flag_offset = offsetof(struct process_time, done)),
    FIELD("wall_s", F64, struct again_line, sample.wall_s),
    FIELD("gpu_s", F64, struct again_line, sample.gpu_s),
    {0},
};

char *again_line_to_text(const struct again_line *line) { return fields_to_line(again_fields, line); }

struct status again_line_from_text(const char *text, size_t length, struct again_line *out) {
  *out = (struct again_line){.round = 0};
  return fields_from_line("again", text, length, again_fields, out);
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

static struct process_time time_of(const struct time_record *time) {
  return (struct process_time){.done = time->done,
                               .median_us = time->done ? time->us.median : (double)NAN,
                               .sm_clock_mhz = time->sm_clock_mhz,
                               .throttle_reasons = time->throttle_reasons};
}

struct process_sample process_sample_of(const struct record *record) {
  struct process_sample sample = {.status = record->status, .wall_s = record->wall_s, .gpu_s = record->gpu_s};
  memcpy(sample.reason, record->reason, sizeof sample.reason);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) sample.mode[mode] = time_of(&record->time[mode]);
  return sample;
}

struct again_line again_line_of(const struct record *record, uint32_t round) {
  struct again_line line = {.round = round, .sample = process_sample_of(record)};
  memcpy(line.key, record->attn_case.key, sizeof line.key);
  memcpy(line.variant, record->variant, sizeof line.variant);
  return line;
}

/* ---- adding -------------------------------------------------------------------------------------------------- */

uint32_t process_count(const struct record *record) {
  uint32_t count = 1;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (record->process[mode].count > count) count = record->process[mode].count;
  }
  return count;
}

static void put(struct process_record *process, const struct process_time *time) {
  const uint32_t i = process->count++;
  process->median_us[i] = time->median_us;
  process->sm_clock_mhz[i] = time->sm_clock_mhz;
  process->throttle_reasons[i] = time->throttle_reasons;
}

static void put_times(struct record *record, const struct process_sample *sample) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct process_time first = time_of(&record->time[mode]);
    if (!first.done) continue;
    if (record->process[mode].count == 0) put(&record->process[mode], &first);
    put(&record->process[mode], &sample->mode[mode]);
  }
}

/* A process that says less than "right, and timed" counts against the cell: none of its reasons makes it a success.
 */
static void put_failure(struct record *record, uint32_t round, const struct process_sample *sample) {
  const bool asks_for_nothing = cell_status_exit_code(sample->status) == EXIT_CODE_OK;
  record->status = asks_for_nothing ? CELL_error : sample->status;
  snprintf(record->reason, sizeof record->reason, "round %u: %s%s", round,
           asks_for_nothing ? "not measured any more: " : "", sample->reason);
}

static struct status check_times(const struct record *record, const struct process_sample *sample) {
  bool any = false;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    any = any || record->time[mode].done;
    if (record->time[mode].done == sample->mode[mode].done || sample->status != CELL_ok) continue;
    return status_make(STATUS_INPUT, "has %s %s time, unlike its first round", sample->mode[mode].done ? "a" : "no",
                       time_mode_name((enum time_mode)mode));
  }
  return any ? status_ok() : status_make(STATUS_INPUT, "its first round has no times");
}

static struct status check_round(const struct record *record, uint32_t round) {
  const uint32_t next = process_count(record);
  if (record->status != CELL_ok) {
    return status_make(STATUS_INPUT, "the cell is %s already", cell_status_name(record->status));
  }
  if (round != next) return status_make(STATUS_INPUT, "round %u is the next one", next);
  if (round < PROCESSES_MAX) return status_ok();
  return status_make(STATUS_INPUT, "at most %d rounds are kept", PROCESSES_MAX);
}

struct status process_add(struct record *record, uint32_t round, const struct process_sample *sample) {
  struct status status = check_round(record, round);
  if (!status_failed(&status)) status = check_times(record, sample);
  if (status_failed(&status)) {
    return status_make(status.code, "round %u of cell %s of %s: %s", round, record->attn_case.key, record->variant,
                       status.text);
  }
  record->wall_s += sample->wall_s;
  record->gpu_s += sample->gpu_s;
  if (sample->status == CELL_ok) {
    put_times(record, sample);
  } else {
    put_failure(record, round, sample);
  }
  return status;
}
