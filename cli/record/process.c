/* Adds what a later round measured to a cell's record. */
#include "cli/record/process.h"

#include <stdio.h>
#include <string.h>

#include "cli/record/field_tables.h"

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* The times of a later round in journals of version 0.1.0. This table does not grow. */
static const struct field old_time_fields[] = {
    FIELD("median_us", F64, struct time_record, us.median, .required = true),
    FIELD("sm_clock_mhz", F64, struct time_record, sm_clock_mhz),
    FIELD("throttle_reasons", BITS, struct time_record, throttle_reasons, .name = record_throttle_name),
    {0},
};

static const struct field line_fields[] = {
    FIELD_TEXT_OF("key", struct process_line, key),
    FIELD_TEXT_OF("variant", struct process_line, variant),
    FIELD_LABEL_OF("card", struct process_line, card, .left_out = true),
    FIELD("round", U32, struct process_line, round, .min = 1, .max = PROCESSES_MAX - 1),
    FIELD("status", ENUM, struct process_line, sample.status, .name = record_status_name),
    FIELD_LABEL_OF("reason", struct process_line, sample.reason),
    FIELD("time", OBJECT, struct process_line, sample.time, .fields = record_times_fields, .optional = true),
    FIELD("wall_s", F64, struct process_line, sample.wall_s, .required = true),
    FIELD("gpu_s", F64, struct process_line, sample.gpu_s, .required = true),
    FIELD_IF("cold", struct process_line, sample.time[TIME_COLD], sample.time[TIME_COLD].done, old_time_fields,
             .read_only = true),
    FIELD_IF("hot", struct process_line, sample.time[TIME_HOT], sample.time[TIME_HOT].done, old_time_fields,
             .read_only = true),
    {0},
};

char *process_line_to_text(const struct process_line *line) { return fields_to_line(line_fields, line); }

struct status process_line_from_text(const char *text, size_t length, struct process_line *out) {
  *out = (struct process_line){.round = 0};
  return fields_from_line("again", text, length, line_fields, out);
}

struct process_sample process_sample_of(const struct record *record) {
  struct process_sample sample = {.status = record->status, .wall_s = record->wall_s, .gpu_s = record->gpu_s};
  memcpy(sample.reason, record->reason, sizeof sample.reason);
  memcpy(sample.time, record->time, sizeof sample.time);
  return sample;
}

struct process_line process_line_of(const struct record *record, uint32_t round) {
  struct process_line line = {.round = round, .sample = process_sample_of(record)};
  memcpy(line.key, record->attn_case.key, sizeof line.key);
  memcpy(line.variant, record->variant, sizeof line.variant);
  memcpy(line.card, record->card, sizeof line.card);
  return line;
}

struct process_interval process_interval_of(const struct process_record *process) {
  if (process->count < 2) return (struct process_interval){.processes = 0};
  const struct stats stats = stats_of(process->median_us, process->count);
  return (struct process_interval){.processes = process->count,
                                   .median_us = stats.median,
                                   .low_us = stats.ci_low,
                                   .high_us = stats.ci_high,
                                   .confidence = stats_confidence(process->count)};
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

static void put_times(struct record *record, const struct process_sample *sample) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (!record->time[mode].done) continue;
    if (record->process[mode].count == 0) put(&record->process[mode], &record->time[mode]);
    put(&record->process[mode], &sample->time[mode]);
  }
}

/* A round that says less than "right, and timed" counts against the cell: none of its reasons makes it a success. */
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
    if (record->time[mode].done == sample->time[mode].done || sample->status != CELL_ok) continue;
    return status_make(STATUS_INPUT, "has %s %s time, unlike its first round", sample->time[mode].done ? "a" : "no",
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
