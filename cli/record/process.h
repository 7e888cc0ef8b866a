/* What one more round (a fresh process) measured of a cell, and how it is added to the cell's record: the evidence of
 * several rounds. A cell's rounds are numbered as they ran; the first, number 0, is the one that made the record. */
#ifndef ATTNBENCH_CLI_RECORD_PROCESS_H
#define ATTNBENCH_CLI_RECORD_PROCESS_H

#include "cli/record/record.h"

struct process_sample {
  enum cell_status status;
  char reason[RECORD_REASON_MAX];
  struct time_record time[TIME_MODE_COUNT];
  double wall_s, gpu_s; /* as a record's; a record's cover all its rounds */
};

/* The journal's line of a later round: which cell, which round, what it saw. */
struct process_line {
  char key[CASE_KEY_MAX], variant[VARIANT_SPEC_MAX], card[RECORD_CARD_MAX];
  uint32_t round; /* from 1 */
  struct process_sample sample;
};

struct process_sample process_sample_of(const struct record *);

/* Rounds that measured the cell so far; 1 for a record that only its first round knows. */
uint32_t process_count(const struct record *);

/* The median over the processes that measured a mode, and an interval of it that holds from process to process:
 * launches of one process share its memory layout and clocks, so the interval of its own median (record.time) does
 * not. */
struct process_interval {
  uint32_t processes; /* 0: fewer than two measured it, and there is no such interval */
  double median_us, low_us, high_us;
  double confidence; /* at least 0.95 from six processes on, less below: then it is their whole range */
};
struct process_interval process_interval_of(const struct process_record *);

/* Adds round number `round`. Fails closed: a round that found the cell wrong, or did not measure it, makes the record
 * so, with "round N: " before the reason. STATUS_INPUT, and the record as it was, when that round cannot have been:
 * the record is not ok or has no times, rounds are missing or repeated, a mode has no time, or there are too many. */
struct status process_add(struct record *, uint32_t round, const struct process_sample *);

struct process_line process_line_of(const struct record *, uint32_t round);
/* One JSON object without newline, malloc'ed, the caller's; NULL without memory. And the reverse. */
char *process_line_to_text(const struct process_line *);
struct status process_line_from_text(const char *text, size_t length, struct process_line *out);

#endif
