/* What one more fresh process measured of a cell, and how it is added to the cell's record: the evidence of several
 * processes. A cell's processes are numbered as they ran; the first, number 0, is the one that made the record. */
#ifndef ATTNBENCH_CLI_RECORD_PROCESS_H
#define ATTNBENCH_CLI_RECORD_PROCESS_H

#include "cli/record/record.h"

/* One mode of one process. */
struct process_time {
  bool done;
  double median_us;
  double sm_clock_mhz;       /* NAN when unknown */
  uint64_t throttle_reasons; /* union over the process's batches */
};

struct process_sample {
  enum cell_status status;
  char reason[RECORD_REASON_MAX];
  struct process_time mode[TIME_MODE_COUNT];
  double wall_s, gpu_s; /* as a record's; a record's cover all its processes */
};

/* The journal's line of a later process: which cell, which process, what it saw. */
struct again_line {
  char key[CASE_KEY_MAX], variant[VARIANT_SPEC_MAX];
  uint32_t round; /* number of the process, from 1 */
  struct process_sample sample;
};

struct process_sample process_sample_of(const struct record *);
struct again_line again_line_of(const struct record *, uint32_t round);

/* Processes that measured the cell so far; 1 for a record that only its first process knows. */
uint32_t process_count(const struct record *);

/* Adds process number `round`. Fails closed: a process that found the cell wrong, or did not measure it, makes the
 * record so, with "round N: " before the reason. STATUS_INPUT, and the record as it was, when that process cannot
 * have been: the record is not ok or has no times, processes are missing or repeated, a mode has no time, or there
 * are too many. */
struct status process_add(struct record *, uint32_t round, const struct process_sample *);

/* One JSON object without newline, malloc'ed, the caller's; NULL without memory. And the reverse. */
char *again_line_to_text(const struct again_line *);
struct status again_line_from_text(const char *text, size_t length, struct again_line *out);

#endif
