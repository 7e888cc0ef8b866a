#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/hash.h"
#include "cli/base/json.h"
#include "cli/record/journal.h"
#include "kernels/gpu_models.h"
#include "tests/unit.h"
#include "tests/unit_scratch.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];

static int make_folder(void **state) {
  (void)state;
  scratch_name(folder);
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/run.journal", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static const struct run_info some_run = {.version = "0.1.0",
                                         .git_commit = "0123abc",
                                         .cuda = "13.0",
                                         .cjson = "1.7.15",
                                         .started_utc = "2026-11-20T11:04:00Z",
                                         .command = "attnbench --sweep 'a b.json'",
                                         .sweep_path = "shapes/v3.json",
                                         .sweep_name = "v3",
                                         .sweep_about = "about \"it\"",
                                         .sweep_hash = "0123456789abcdef",
                                         .has_baseline = true,
                                         .baseline = {.B = 1, .Hq = 8},
                                         .filter = "B=1",
                                         .seed = UINT64_MAX,
                                         .cell_count = 3,
                                         .gate = {.known = true,
                                                  .threshold_percent = 3,
                                                  .case_count = 1,
                                                  .cases = {{.glob = "*/wmma", .threshold_percent = 5.5}}},
                                         .planned_gpu = "h200"};

static struct record cell(uint32_t B, const char *variant) {
  struct record record = {.status = CELL_skipped, .reason = "D must be 64"};
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(B, 8, 8, 512, 512, 64, ATTN_F16, false);
  axes_key(&record.attn_case.shape, record.attn_case.key);
  snprintf(record.variant, sizeof record.variant, "%s", variant);
  snprintf(record.variant_name, sizeof record.variant_name, "%s", variant);
  return record;
}

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void write_journal_of(const struct run_info *run, size_t cells, bool ended) {
  struct journal *journal;
  unlink(path);
  assert_ok(journal_create(path, run, &journal));
  const struct device_line device = {.info = gpu_model_find("l4")->info, .event_overhead_us = 1.25};
  assert_ok(journal_device(journal, &device));
  assert_ok(journal_planned_device(journal, &gpu_model_find("h200")->info));
  for (size_t i = 0; i < cells; ++i) {
    const struct record record = cell((uint32_t)i + 1, "serial");
    assert_ok(journal_append(journal, &record));
  }
  if (ended) assert_ok(journal_end(journal, "complete", 6.5));
  journal_close(journal);
}

static void write_journal(size_t cells, bool ended) { write_journal_of(&some_run, cells, ended); }

static char *slurp(size_t *length) {
  char *text;
  assert_ok(json_read_file(path, 1 << 24, &text, length));
  return text;
}

static void overwrite(const char *text, size_t length) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *says) {
  struct journal_data data;
  const struct status status = journal_load(path, &data);
  assert_int_equal(status.code, STATUS_INPUT);
  if (strstr(status.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", status.text, says);
}

TEST(what_was_written_is_read_back) {
  struct journal_data data;
  write_journal(3, true);
  assert_ok(journal_load(path, &data));
  assert_string_equal(data.run.command, some_run.command);
  assert_string_equal(data.run.sweep_about, some_run.sweep_about);
  assert_true(data.run.seed == UINT64_MAX);
  assert_true(data.run.has_baseline);
  assert_int_equal(data.run.baseline.Hq, 8);
  assert_memory_equal(&data.run.gate, &some_run.gate, sizeof data.run.gate);
  assert_true(data.has_device && data.has_planned_device);
  assert_string_equal(data.device.name, gpu_model_find("l4")->info.name);
  assert_string_equal(data.planned_device.name, gpu_model_find("h200")->info.name);
  assert_true(data.event_overhead_us == 1.25);
  assert_int_equal(data.record_count, 3);
  assert_string_equal(data.records[2].attn_case.key, "B3.H8.Hkv8.Sq512.Skv512.D64.f16.full");
  assert_string_equal(data.state, "complete");
  assert_true(data.wall_s == 6.5);
  journal_free(&data);
}

TEST(a_journal_without_end_is_partial) {
  struct journal_data data;
  write_journal(2, false);
  assert_ok(journal_load(path, &data));
  assert_string_equal(data.state, "partial");
  assert_int_equal(data.record_count, 2);
  journal_free(&data);
}

TEST(a_torn_last_line_is_dropped_wherever_it_tears) {
  size_t length, whole;
  write_journal(1, false);
  char *one = slurp(&whole);
  free(one);
  write_journal(2, false);
  char *text = slurp(&length);
  for (size_t cut = whole; cut < length; ++cut) {
    struct journal_data data;
    overwrite(text, cut);
    assert_ok(journal_load(path, &data));
    assert_int_equal(data.record_count, 1);
    assert_string_equal(data.state, "partial");
    journal_free(&data);
  }
  free(text);
}

TEST(a_torn_header_says_that_nothing_was_measured) {
  overwrite("{\"journal\":\"attnb", 17);
  assert_refused("nothing was measured");
  overwrite("", 0);
  assert_refused("nothing was measured");
}

TEST(damage_inside_names_its_line) {
  size_t length;
  write_journal(3, true);
  char *text = slurp(&length), says[160];
  snprintf(says, sizeof says, "%s:5: ", path);
  char *line = text;
  for (int i = 0; i < 4; ++i) line = strchr(line, '\n') + 1;
  const size_t line_length = (size_t)(strchr(line, '\n') - line);
  for (size_t i = 0; i < line_length; i += 7) {
    const char saved = line[i];
    line[i] = '\x01';
    overwrite(text, length);
    assert_refused(says);
    line[i] = saved;
  }
  free(text);
}

TEST(lines_out_of_place_are_refused) {
  static const struct {
    int first, second; /* lines to write, by number in a good journal; 0 ends */
    const char *says;
  } orders[] = {{4, 1, ":1: "}, {1, 1, "second header"}, {2, 1, "attnbench.journal/1"}};
  size_t length;
  write_journal(1, true);
  char *text = slurp(&length), *lines[8] = {0}, made[32768];
  size_t count = 0;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) lines[++count] = line;
  assert_int_equal(count, 5);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    const int size = snprintf(made, sizeof made, "%s\n%s\n", lines[orders[i].first], lines[orders[i].second]);
    overwrite(made, (size_t)size);
    assert_refused(orders[i].says);
  }
  overwrite(made, (size_t)snprintf(made, sizeof made, "%s\n%s\n%s\n", lines[1], lines[2], lines[2]));
  assert_refused("second device");
  overwrite(made, (size_t)snprintf(made, sizeof made, "%s\n%s\n%s\n", lines[1], lines[5], lines[4]));
  assert_refused("after the end line");
  overwrite(made, (size_t)snprintf(made, sizeof made, "%s\n%s\n%s\n", lines[1], lines[4], lines[4]));
  assert_refused("appears twice");
  free(text);
}

/* ---- checksums ------------------------------------------------------------------------------------------------ */

/* One drawn bit of every byte. */
TEST(a_flipped_bit_is_seen_wherever_it_is) {
  uint64_t seed = 27;
  size_t length;
  write_journal(2, true);
  char *text = slurp(&length);
  for (size_t i = 0; i < length; ++i) {
    struct journal_data data;
    const char flip = (char)(1 << random_below(&seed, 8));
    text[i] ^= flip;
    const struct status status = journal_parse(path, text, length, &data);
    text[i] ^= flip;
    if (status.code != STATUS_INPUT) fail_msg("byte %zu with its bits 0x%02x turned: \"%s\"", i, flip, status.text);
  }
  free(text);
}

/* Removes the checksums of lines `first` to `last`, from 1. */
static void strip_checksums(int first, int last) {
  size_t length;
  char *text = slurp(&length), *out = malloc(length + 1), *to = out;
  int number = 1;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), ++number) {
    char *checksum = strstr(line, ",\"checksum\":\"");
    assert_non_null(checksum);
    if (number >= first && number <= last) memcpy(checksum, "}", 2);
    to += sprintf(to, "%s\n", line);
  }
  overwrite(out, (size_t)(to - out));
  free(text);
  free(out);
}

TEST(a_journal_without_checksums_is_read) {
  struct journal_data data;
  write_journal(3, true);
  strip_checksums(1, 7);
  assert_ok(journal_load(path, &data));
  assert_int_equal(data.record_count, 3);
  journal_free(&data);
}

TEST(a_line_that_lost_its_checksum_is_damaged) {
  write_journal(3, true);
  strip_checksums(5, 5);
  assert_refused(":5: has no checksum");
  write_journal(3, true);
  strip_checksums(7, 7);
  assert_refused(":7: has no checksum");
  write_journal(3, true);
  strip_checksums(1, 1);
  assert_refused(":2: has a checksum, and the lines before it have none");
}

/* Continues the journal with the cell of B = 3. */
static void continue_journal(void) {
  const struct journal_resumed resumed = {
      .started_utc = "2026-11-20T12:04:00Z", .command = "attnbench", .cell_count = 3};
  struct journal *journal;
  struct journal_data data;
  assert_ok(journal_resume(path, &journal, &data));
  journal_free(&data);
  const struct record record = cell(3, "serial");
  assert_ok(journal_append_resumed(journal, &resumed));
  assert_ok(journal_append(journal, &record));
  journal_close(journal);
}

static void assert_cells(size_t count) {
  struct journal_data data;
  assert_ok(journal_load(path, &data));
  assert_int_equal(data.record_count, count);
  journal_free(&data);
}

TEST(a_journal_without_checksums_may_be_continued_with_them) {
  write_journal(2, false);
  strip_checksums(1, 5);
  continue_journal();
  assert_cells(3);
}

/* Gives lines `first` to `last` checksums that cover only the line. */
static void cover_only_lines(int first, int last) {
  size_t length;
  char *text = slurp(&length), *line = text;
  for (int number = 1; *line != '\0'; ++number) {
    char end[CHECKSUM_END_MAX];
    const size_t whole = strcspn(line, "\n"), covered = whole - checksum_bytes(&checksum_line);
    checksum_end(&checksum_line, hash_add(HASH_EMPTY, line, covered), end);
    if (number >= first && number <= last) memcpy(line + covered, end, strlen(end));
    line += whole + 1;
  }
  overwrite(text, length);
  free(text);
}

TEST(a_journal_whose_checksums_cover_only_lines_is_read_and_continued) {
  write_journal(2, false);
  cover_only_lines(1, 5);
  assert_cells(2);
  continue_journal();
  assert_cells(3);
}

TEST(a_checksum_that_covers_less_than_those_before_it_or_more_is_refused) {
  write_journal(3, true);
  cover_only_lines(5, 5);
  assert_refused(":5: does not match its checksum; the line was changed after it was written, or is of another run");
  write_journal(3, true);
  cover_only_lines(2, 4);
  assert_refused(":5: has a checksum that covers the header too");
}

/* The same cells, measured at another time. */
TEST(a_line_of_another_run_is_refused) {
  size_t length, other_length;
  write_journal(3, true);
  char *text = slurp(&length), *other;
  struct run_info later = some_run;
  snprintf(later.started_utc, sizeof later.started_utc, "2026-11-20T11:05:00Z");
  write_journal_of(&later, 3, true);
  other = slurp(&other_length);
  assert_int_equal(length, other_length);
  for (int number = 1; number <= 7; ++number) {
    const char *line = text;
    for (int i = 1; i < number; ++i) line = strchr(line, '\n') + 1;
    const size_t at = (size_t)(line - text), bytes = strcspn(line, "\n");
    char kept[4096];
    assert_true(bytes < sizeof kept);
    memcpy(kept, line, bytes);
    memcpy(text + at, other + at, bytes);
    overwrite(text, length);
    assert_refused("or is of another run");
    memcpy(text + at, kept, bytes);
  }
  overwrite(text, length);
  assert_cells(3);
  free(text);
  free(other);
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

static struct record timed_cell(uint32_t B, double us) {
  struct record record = cell(B, "serial");
  record.status = CELL_ok;
  record.reason[0] = '\0';
  record.time[TIME_HOT] = (struct time_record){
      .done = true, .launches_per_sample = 1, .elapsed_s = 1, .sm_clock_mhz = 1980, .power_w = NAN};
  record.check = (struct check_record){
      .done = true,
      .right = true,
      .after_timing = true,
      .oracle = {.name = "cpu_fp64", .rows_verified = B * 8 * 512},
      .tolerance = {.frobenius = 1e-3},
      .compare = {
          .elements = B * 8 * 512 * 64, .first_bad = UINT64_MAX, .max_abs_error = 1e-5, .max_bound_ratio = 0.1}};
  record.time[TIME_HOT].us = (struct stats){
      .n = 30, .min = us, .p25 = us, .median = us, .p75 = us, .p95 = us, .max = us, .ci_low = us, .ci_high = us};
  record.wall_s = 2;
  return record;
}

/* Two cells, `rounds` later rounds of both, the last one with `last` for its second cell. */
static void write_rounds(uint32_t rounds, const struct record *last) {
  struct journal *journal;
  unlink(path);
  assert_ok(journal_create(path, &some_run, &journal));
  for (uint32_t B = 1; B <= 2; ++B) {
    const struct record record = timed_cell(B, 10.0 * B);
    assert_ok(journal_append(journal, &record));
  }
  for (uint32_t round = 1; round <= rounds; ++round) {
    for (uint32_t B = 1; B <= 2; ++B) {
      const struct record record = timed_cell(B, 10.0 * B + round / 3.0);
      assert_ok(journal_append_round(journal, round, B == 2 && round == rounds && last != NULL ? last : &record));
    }
  }
  journal_close(journal);
}

TEST(later_rounds_become_the_processes_of_a_record) {
  struct journal_data data;
  write_rounds(4, NULL);
  assert_ok(journal_load(path, &data));
  assert_int_equal(data.record_count, 2);
  for (uint32_t i = 0; i < 2; ++i) {
    const struct process_record *hot = &data.records[i].process[TIME_HOT];
    assert_int_equal(data.records[i].process[TIME_COLD].count, 0);
    assert_int_equal(hot->count, 5);
    assert_true(hot->median_us[0] == data.records[i].time[TIME_HOT].us.median);
    assert_true(hot->median_us[4] == 10.0 * (i + 1) + 4 / 3.0);
    assert_true(hot->sm_clock_mhz[4] == 1980);
  }
  journal_free(&data);
}

TEST(a_later_round_that_fails_makes_the_cell_fail) {
  static const struct {
    enum cell_status seen, counts;
  } cases[] = {{CELL_wrong, CELL_wrong},
               {CELL_crashed, CELL_crashed},
               {CELL_timeout, CELL_timeout},
               {CELL_skipped, CELL_error},
               {CELL_error, CELL_error}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct journal_data data;
    struct record last = timed_cell(2, 1);
    last.status = cases[i].seen;
    last.time[TIME_HOT].done = false;
    snprintf(last.reason, sizeof last.reason, "element 7");
    write_rounds(3, &last);
    assert_ok(journal_load(path, &data));
    assert_int_equal(data.records[0].status, CELL_ok);
    assert_int_equal(data.records[1].status, cases[i].counts);
    assert_ptr_equal(strstr(data.records[1].reason, "round 3: "), data.records[1].reason);
    assert_non_null(strstr(data.records[1].reason, "element 7"));
    journal_free(&data);
  }
}

TEST(a_torn_later_round_is_dropped) {
  size_t length;
  write_rounds(2, NULL);
  char *text = slurp(&length);
  for (size_t cut = 1; text[length - 1 - cut] != '\n'; ++cut) {
    struct journal_data data;
    overwrite(text, length - cut);
    assert_ok(journal_load(path, &data));
    assert_int_equal(data.records[0].process[TIME_HOT].count, 3);
    assert_int_equal(data.records[1].process[TIME_HOT].count, 2);
    journal_free(&data);
  }
  free(text);
}

TEST(later_rounds_out_of_place_are_refused) {
  static const struct {
    const char *lines, *says; /* by number in a journal of two cells and two later rounds */
  } orders[] = {{"126", ":3: round 2 of cell B1"},
                {"12344", ":5: round 1 of cell B1"},
                {"1244", "round 2 is the next one"},
                {"143", ":2: again: cell B1"},
                {"125", "has no first round"}};
  size_t length;
  write_rounds(2, NULL);
  char *text = slurp(&length), *lines[8] = {0}, made[65536];
  size_t count = 0;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) lines[++count] = line;
  assert_int_equal(count, 7);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    int size = 0;
    for (const char *c = orders[i].lines; *c != '\0'; ++c)
      size += snprintf(made + size, sizeof made - (size_t)size, "%s\n", lines[*c - '0']);
    overwrite(made, (size_t)size);
    assert_refused(orders[i].says);
  }
  free(text);
}

TEST(an_existing_file_is_not_touched) {
  struct journal *journal;
  size_t length;
  overwrite("precious", 8);
  const struct status status = journal_create(path, &some_run, &journal);
  assert_int_equal(status.code, STATUS_OUTPUT);
  assert_non_null(strstr(status.text, path));
  assert_null(journal);
  char *text = slurp(&length);
  assert_string_equal(text, "precious");
  free(text);
}

/* A full disk is played by the file size limit of this process. */
TEST(a_failed_append_leaves_whole_lines_and_stays_failed) {
  struct journal *journal;
  struct rlimit old;
  struct stat info;
  const struct record record = cell(1, "serial");
  unlink(path);
  assert_ok(journal_create(path, &some_run, &journal));
  assert_ok(journal_append(journal, &record));
  assert_int_equal(stat(path, &info), 0);
  getrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight = {.rlim_cur = (rlim_t)info.st_size + 10, .rlim_max = old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  const struct record second = cell(2, "serial");
  const struct status status = journal_append(journal, &second);
  setrlimit(RLIMIT_FSIZE, &old);
  assert_int_equal(status.code, STATUS_OUTPUT);
  assert_non_null(strstr(status.text, "File too large"));
  assert_int_equal(journal_append(journal, &second).code, STATUS_OUTPUT);
  journal_close(journal);

  struct journal_data data;
  struct stat after;
  assert_int_equal(stat(path, &after), 0);
  assert_int_equal(after.st_size, info.st_size);
  assert_ok(journal_load(path, &data));
  assert_int_equal(data.record_count, 1);
  journal_free(&data);
}

TEST(a_run_of_too_many_cells_gets_no_journal) {
  struct run_info run = some_run;
  struct journal *journal;
  unlink(path);
  run.cell_count = JOURNAL_CELLS_MAX;
  struct status status = journal_create(path, &run, &journal);
  assert_false(status_failed(&status));
  journal_close(journal);
  unlink(path);
  ++run.cell_count;
  status = journal_create(path, &run, &journal);
  assert_int_equal(status.code, STATUS_USAGE);
  assert_non_null(strstr(status.text, "262145 cells are too many"));
  assert_null(journal);
  assert_int_not_equal(access(path, F_OK), 0);
}

static off_t size_now(void) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return info.st_size;
}

/* A file with a hole is as long as one that was written. */
TEST(a_full_journal_takes_its_end_and_no_more_cells) {
  struct journal *journal;
  const struct record record = cell(1, "wmma");
  const off_t full = JOURNAL_BYTES_MAX - 65536;
  off_t line = 0;
  for (int too_much = 0; too_much < 2; ++too_much) {
    unlink(path);
    assert_ok(journal_create(path, &some_run, &journal));
    const off_t before = size_now();
    assert_ok(journal_append(journal, &record));
    line = size_now() - before;
    assert_int_equal(truncate(path, full - line + too_much), 0);
    if (too_much > 0) break;
    assert_ok(journal_append(journal, &record));
    journal_close(journal);
  }
  struct status status = journal_append(journal, &record);
  assert_int_equal(status.code, STATUS_OUTPUT);
  assert_non_null(strstr(status.text, "is full: a journal of more than 268435456 bytes"));
  status = journal_end(journal, "interrupted", 1);
  assert_false(status_failed(&status));
  journal_close(journal);
  unlink(path);
}

/* ---- files that are lost --------------------------------------------------------------------------------------- */

static void put_text(const char *to, const char *text) {
  FILE *file = fopen(to, "wb");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void remove_it(void) { assert_int_equal(unlink(path), 0); }

static void replace_it(void) {
  char other[PATH_MAX + 32];
  snprintf(other, sizeof other, "%s.other", path);
  put_text(other, "precious");
  assert_int_equal(rename(other, path), 0);
}

static void truncate_it(void) { assert_int_equal(truncate(path, 10), 0); }

static void write_over_it(void) {
  char text[65536];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  put_text(path, text);
}

TEST(a_lost_journal_is_noticed_at_the_next_line_and_saved) {
  static const struct {
    void (*lose)(void);
    const char *says;
  } ways[] = {{remove_it, "was removed"},
              {replace_it, "was replaced by another file"},
              {truncate_it, "was truncated"},
              {write_over_it, "was written over"}};
  const struct record first = cell(1, "serial"), second = cell(2, "serial"), third = cell(3, "serial");
  char saved[PATH_MAX + 32], where[PATH_MAX + 64];
  snprintf(saved, sizeof saved, "%s.saved1", path);
  snprintf(where, sizeof where, "saved in %s", saved);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    struct journal *journal;
    struct journal_data data;
    bool is_moved;
    unlink(path);
    assert_ok(journal_create(path, &some_run, &journal));
    assert_ok(journal_append(journal, &first));
    assert_string_equal(journal_path(journal, &is_moved), path);
    assert_false(is_moved);
    ways[i].lose();
    const struct status status = journal_append(journal, &second);
    assert_int_equal(status.code, STATUS_OUTPUT);
    if (strstr(status.text, ways[i].says) == NULL || strstr(status.text, where) == NULL)
      fail_msg("\"%s\" does not say \"%s\" and \"%s\"", status.text, ways[i].says, where);
    assert_string_equal(journal_path(journal, &is_moved), saved);
    assert_true(is_moved);
    assert_ok(journal_append(journal, &third));
    assert_ok(journal_end(journal, "interrupted", 1));
    assert_ok(journal_read_back(journal, &data));
    assert_int_equal(data.record_count, 3);
    journal_free(&data);
    journal_close(journal);
    assert_ok(journal_load(saved, &data));
    assert_int_equal(data.record_count, 3);
    journal_free(&data);
    assert_int_equal(unlink(saved), 0);
  }
}

TEST(a_lost_journal_that_cannot_be_saved_says_so_and_stays_failed) {
  struct journal *journal;
  char inner[PATH_MAX + 32], file[PATH_MAX + 64];
  bool is_moved;
  const struct record record = cell(1, "serial");
  snprintf(inner, sizeof inner, "%s/inner", folder);
  snprintf(file, sizeof file, "%s/run.journal", inner);
  assert_int_equal(mkdir(inner, 0777), 0);
  assert_ok(journal_create(file, &some_run, &journal));
  assert_int_equal(unlink(file), 0);
  assert_int_equal(rmdir(inner), 0);
  const struct status status = journal_append(journal, &record);
  assert_int_equal(status.code, STATUS_OUTPUT);
  assert_non_null(strstr(status.text, "was removed while the run wrote it, and what was measured cannot be saved"));
  assert_string_equal(journal_path(journal, &is_moved), "");
  assert_int_equal(journal_append(journal, &record).code, STATUS_OUTPUT);
  journal_close(journal);
}

TEST(a_foreign_command_line_does_not_spoil_the_journal) {
  struct run_info run = some_run;
  struct journal *journal;
  struct journal_data data;
  unlink(path);
  memset(run.command, 0xfe, sizeof run.command - 1);
  snprintf(run.sweep_path, sizeof run.sweep_path, "\x1b[31m\n\"\\.json");
  assert_ok(journal_create(path, &run, &journal));
  journal_close(journal);
  assert_ok(journal_load(path, &data));
  assert_string_equal(data.run.sweep_path, run.sweep_path);
  assert_int_equal(strlen(data.run.command), sizeof run.command - 1);
  journal_free(&data);
}

UNIT_FIXTURE(make_folder, remove_folder)
