/* Adds the measurements of further rounds to a cell's record. A round is a fresh process that measures the cell once
 * more. Rounds are numbered in the order in which they ran; round 0 made the record. */
#pragma once

#include "cli/record/record.h"

/* The number of rounds in the record; 1 for a record of the first round alone. */
uint32_t process_count(const struct record *);

/* The median over the processes that measured a mode, and its confidence interval. Launches of one process share its
 * memory layout and clocks, so the interval of one process (record.time) does not cover the variation between
 * processes; this interval does. */
struct process_interval {
  uint32_t processes; /* 0: fewer than two processes, and no interval */
  double median_us, low_us, high_us;
  double confidence; /* at least 0.95 from six processes on; lower with fewer, whose range the interval is */
};
struct process_interval process_interval_of(const struct process_record *);

/* Adds the result `next` of round number `round`: its status, reason, times, wall_s and gpu_s. When that round found
 * the cell wrong or did not measure it, the record gets its status, and its reason after "round N: ". STATUS_INPUT
 * leaves the record unchanged: the record is not ok or has no times, `round` is not the next number, the modes that
 * were timed differ from the first round's, or there would be more than PROCESSES_MAX rounds. */
struct status process_add(struct record *, uint32_t round, const struct record *next);
