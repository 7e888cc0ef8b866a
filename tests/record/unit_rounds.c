#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/journal.h"
#include "tests/unit.h"

enum { CELLS = 3 };

/* One process's journal: cells B = 1..3 of one variant, hot times of us * B. */
struct process {
  struct journal_data data;
  struct record records[CELLS];
};

static void fill(struct process *out, double us) {
  memset(out, 0, sizeof *out);
  out->data = (struct journal_data){.has_device = true,
                                    .device = {.name = "GPU", .uuid = "GPU-1"},
                                    .run = {.version = "0.1.0", .git_commit = "abc", .sweep_hash = "0123", .seed = 7},
                                    .records = out->records,
                                    .record_count = CELLS,
                                    .wall_s = 2};
  for (uint32_t i = 0; i < CELLS; ++i) {
    struct record *record = &out->records[i];
    record_start(record);
    record->attn_case.shape = (struct attn_problem)ATTN_DENSE(i + 1, 8, 8, 512, 512, 64, ATTN_F16, false);
    axes_key(&record->attn_case.shape, record->attn_case.key);
    snprintf(record->variant, sizeof record->variant, "serial");
    record->time[TIME_HOT].done = true;
    record->time[TIME_HOT].us.median = us * (i + 1);
    record->time[TIME_HOT].throttle_reasons = 4;
    record->gpu_s = 0.5;
  }
}

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

TEST(processes_stand_in_the_order_they_ran) {
  static struct process into, next;
  fill(&into, 10);
  for (uint32_t round = 1; round < 7; ++round) {
    fill(&next, 10 + round);
    snprintf(next.records[1].left, RECORD_LEFT_MAX, "round %u", round);
    assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  }
  assert_string_equal(into.records[0].left, "");
  assert_string_equal(into.records[1].left, "round 1");
  for (uint32_t i = 0; i < CELLS; ++i) {
    const struct process_record *hot = &into.records[i].process[TIME_HOT];
    assert_int_equal(hot->count, 7);
    assert_int_equal(into.records[i].process[TIME_COLD].count, 0);
    for (uint32_t round = 0; round < 7; ++round) assert_true(hot->median_us[round] == (10.0 + round) * (i + 1));
    assert_true(isnan(hot->sm_clock_mhz[3]));
    assert_int_equal(hot->throttle_reasons[6], 4);
    assert_true(into.records[i].time[TIME_HOT].us.median == 10.0 * (i + 1));
    assert_true(into.records[i].gpu_s == 3.5);
  }
  assert_true(into.data.wall_s == 14);
}

/* The cell's hot time after rounds of these medians, whose first process had settled or not. */
static const struct time_record *after_rounds(bool settled, const double *us, size_t rounds) {
  static struct process into, next;
  fill(&into, us[0]);
  into.records[0].time[TIME_HOT].settled = settled;
  for (size_t i = 1; i < rounds; ++i) {
    fill(&next, us[i]);
    assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  }
  return &into.records[0].time[TIME_HOT];
}

TEST(a_time_is_settled_only_where_its_processes_agree) {
  static const double apart[] = {107, 20085, 107, 20083, 108}, alike[] = {107, 110, 106, 108, 112},
                      one_of_many[] = {107, 20085, 107, 107, 107, 108, 107, 106, 107, 107};
  const struct time_record *time = after_rounds(true, apart, 5);
  assert_true(!time->settled && time->settled_alone);
  time = after_rounds(true, alike, 5);
  assert_true(time->settled && !time->settled_alone);
  time = after_rounds(true, one_of_many, 10);
  assert_true(time->settled && !time->settled_alone);
  time = after_rounds(false, apart, 5);
  assert_true(!time->settled && !time->settled_alone);
  time = after_rounds(false, alike, 5);
  assert_true(!time->settled && !time->settled_alone);
}

TEST(cells_are_found_by_name_whatever_their_order) {
  static struct process into, next;
  fill(&into, 10);
  fill(&next, 11);
  const struct record first = next.records[0];
  next.records[0] = next.records[2];
  next.records[2] = first;
  assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  for (uint32_t i = 0; i < CELLS; ++i) assert_true(into.records[i].process[TIME_HOT].median_us[1] == 11.0 * (i + 1));
}

TEST(a_process_that_fails_a_cell_fails_it_for_good) {
  static struct process into, next;
  fill(&into, 10);
  fill(&next, 11);
  next.records[1].status = CELL_wrong;
  next.records[1].time[TIME_HOT].done = false;
  snprintf(next.records[1].reason, sizeof next.records[1].reason, "element 3");
  assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  fill(&next, 12);
  assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  assert_int_equal(into.records[1].status, CELL_wrong);
  assert_string_equal(into.records[1].reason, "round 1: element 3");
  assert_int_equal(into.records[0].process[TIME_HOT].count, 3);
}

TEST(what_is_skipped_must_stay_skipped) {
  static const struct {
    enum cell_status first, next, counts;
  } cases[] = {{CELL_skipped, CELL_skipped, CELL_skipped}, {CELL_skipped, CELL_ok, CELL_error},
               {CELL_planned, CELL_skipped, CELL_error},   {CELL_skipped, CELL_crashed, CELL_crashed},
               {CELL_timeout, CELL_ok, CELL_timeout},      {CELL_ok, CELL_skipped, CELL_error}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    static struct process into, next;
    fill(&into, 10);
    fill(&next, 11);
    into.records[0].status = cases[i].first;
    next.records[0].status = cases[i].next;
    assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
    assert_int_equal(into.records[0].status, cases[i].counts);
    if (cases[i].counts == CELL_error) assert_true(into.records[0].reason[0] != '\0');
  }
}

TEST(another_series_is_refused) {
  for (int i = 0; i < 8; ++i) {
    static struct process into, next;
    fill(&into, 10);
    fill(&next, 11);
    if (i == 0) snprintf(next.data.device.uuid, sizeof next.data.device.uuid, "GPU-2");
    if (i == 1) snprintf(next.data.run.sweep_hash, sizeof next.data.run.sweep_hash, "9");
    if (i == 2) next.data.run.seed = 8;
    if (i == 3) next.data.record_count = 2;
    if (i == 4) snprintf(next.records[1].variant, sizeof next.records[1].variant, "other");
    if (i == 5) next.records[2].time[TIME_HOT].done = false;
    if (i == 6) next.records[2].time[TIME_COLD].done = true;
    if (i == 7) snprintf(next.data.run.git_commit, sizeof next.data.run.git_commit, "abd");
    const struct status status = rounds_add(&into.data, &next.data, into.data.record_count);
    assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
    assert_true(status.text[0] != '\0');
  }
}

TEST(more_processes_than_are_kept_are_refused) {
  static struct process into, next;
  fill(&into, 10);
  fill(&next, 11);
  for (uint32_t round = 1; round < PROCESSES_MAX; ++round)
    assert_ok(rounds_add(&into.data, &next.data, into.data.record_count));
  const struct status status = rounds_add(&into.data, &next.data, into.data.record_count);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  assert_non_null(strstr(status.text, "at most 64 rounds"));
}
