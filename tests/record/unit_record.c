#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/field_tables.h"
#include "kernels/gpu_models.h"
#include "tests/unit.h"

static struct stats some_stats(double us) {
  return (struct stats){.n = 31,
                        .min = us,
                        .p25 = us + 0.1,
                        .median = us + 1.0 / 3,
                        .p75 = us + 2,
                        .p95 = us + 3,
                        .max = us + 1e9,
                        .mad = DBL_MIN / 4,
                        .ci_low = us + 0.2,
                        .ci_high = us + 0.7};
}

static void fill_pass(struct record *record, uint32_t i, const char *name) {
  struct pass_record *pass = &record->pass[i];
  snprintf(pass->name, sizeof pass->name, "%s", name);
  pass->pass = (struct attn_pass){.grid = {UINT32_MAX, 8 + i, 2},
                                  .block = {128, 1, 1},
                                  .cluster = {2, 1, 1},
                                  .dynamic_smem_bytes = 62464,
                                  .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q | ATTN_COVERS_SPLIT},
                                  .row_threads = 64};
  pass->facts = (struct pass_facts){.kernel_name = "void kernel<64, \"x\">(args)",
                                    .registers = 96,
                                    .static_smem_bytes = 16,
                                    .local_bytes = 8,
                                    .resident_blocks = 3};
  pass->cold_us = i == 0 ? NAN : 10.1;
}

/* Every field set to something that would show if it were lost, swapped or rounded. */
static void fill_record(struct record *record) {
  memset(record, 0, sizeof *record);
  record->attn_case.shape = (struct attn_problem)ATTN_DENSE(2, 32, 8, 512, 1024, 128, ATTN_BF16, true);
  record->attn_case.shape.lse = true;
  axes_key(&record->attn_case.shape, record->attn_case.key);
  snprintf(record->variant, sizeof record->variant, "split_kv:splits=4");
  snprintf(record->variant_name, sizeof record->variant_name, "split_kv");
  snprintf(record->reason, sizeof record->reason, "line\none, \"quoted\" \\ \x1b tab\t");
  record->math = ATTN_MATH_FP32_HOST;
  record->status = CELL_timeout;
  record->check = (struct check_record){
      .done = true,
      .oracle = {.name = "gpu_fp64", .rows_verified = UINT64_MAX, .max_difference = 0x1.fffffffffffffp-700},
      .tolerance = {.relative = 0.1, .absolute = DBL_MIN, .frobenius = 1.0 / 3},
      .compare = {.elements = UINT64_MAX - 1,
                  .nan_count = 1,
                  .inf_count = 2,
                  .bad_count = (UINT64_C(1) << 53) + 1,
                  .first_bad = UINT64_MAX,
                  .max_abs_error = DBL_MAX,
                  .max_bound_ratio = INFINITY,
                  .rel_frobenius = NAN,
                  .lse = {.rows = 5,
                          .bad_rows = 4,
                          .not_finite = 3,
                          .first_bad = 2,
                          .max_abs_error = 0.1,
                          .max_bound_ratio = 1.0 / 3}},
      .guard = {.redzone_bytes_changed = 3, .input_elements_changed = 4, .first = "workspace"},
      .after_timing = true,
      .known = true,
      .launches = 4,
      .launch = 2,
      .hard_ratio = 0.25,
      .timed_samples = 6,
      .timed_wrong = 5,
      .seconds = 0.1};
  record->check.compare.rows = 9, record->check.compare.bad_rows = 8;
  record->check.compare.max_row_ratio = 0.75, record->check.compare.norm_ratio = 1.5;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode)
    record->time[mode] = (struct time_record){.done = true,
                                              .us = some_stats(10.0 + (double)mode),
                                              .stop = mode == TIME_HOT ? STATS_STOP_BUDGET : STATS_STOP_INTERVAL,
                                              .launches_per_sample = 20,
                                              .settled = true,
                                              .warmup_s = 0.1,
                                              .elapsed_s = 0.7,
                                              .sm_clock_mhz = 1979.9999999999998,
                                              .power_w = NAN,
                                              .temperature_c = -0.0,
                                              .throttle_reasons = 0x3ff};
  record->speedup = (struct speedup_record){
      .reference = "wmma",
      .reason = "why",
      .mode[TIME_HOT] = {.done = true, .rounds = 15, .ratio = 1.0 / 3, .ci_low = 0.3, .ci_high = 0.4}};
  record->plan = (struct attn_plan){
      .pass_count = 2, .workspace_bytes = UINT64_C(1) << 63, .tile_q = 64, .tile_kv = 32, .splits = 4, .stages = 3};
  fill_pass(record, 0, "split");
  fill_pass(record, 1, "combine");
  record->wall_s = 0.1 + 0.2;
  record->gpu_s = DBL_TRUE_MIN;
}

enum { LINE_MAX_BYTES = 1 << 14 };

/* The record as one line. Nothing is left to free when an assertion about it fails. */
static void write_line(const struct record *record, char out[LINE_MAX_BYTES]) {
  char *line = record_to_line(record);
  const int length = line != NULL ? snprintf(out, LINE_MAX_BYTES, "%s", line) : -1;
  free(line);
  assert_in_range(length, 1, LINE_MAX_BYTES - 1);
  assert_null(strchr(out, '\n'));
}

static void read_back(const struct record *record, struct record *out) {
  static char line[LINE_MAX_BYTES];
  write_line(record, line);
  const struct status status = record_from_line(line, strlen(line), out);
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void assert_same_bits(double a, double b) { assert_memory_equal(&a, &b, sizeof a); }

TEST(round_trip_keeps_every_field) {
  static struct record record, back;
  fill_record(&record);
  static char first[LINE_MAX_BYTES], second[LINE_MAX_BYTES];
  read_back(&record, &back);
  write_line(&record, first);
  write_line(&back, second);
  assert_string_equal(first, second);

  assert_int_equal(back.status, CELL_timeout);
  assert_int_equal(back.math, ATTN_MATH_FP32_HOST);
  assert_string_equal(back.reason, record.reason);
  assert_memory_equal(&back.attn_case, &record.attn_case, sizeof back.attn_case);
  assert_int_equal(back.plan.pass_count, 2);
  assert_true(back.plan.workspace_bytes == UINT64_C(1) << 63);
  assert_true(back.check.oracle.rows_verified == UINT64_MAX);
  assert_true(back.check.compare.first_bad == UINT64_MAX);
  assert_true(back.check.compare.elements == UINT64_MAX - 1);
  assert_true(back.check.compare.bad_count == (UINT64_C(1) << 53) + 1);
  assert_true(back.time[TIME_COLD].throttle_reasons == 0x3ff);
  assert_string_equal(back.speedup.reference, "wmma");
  assert_string_equal(back.speedup.reason, "why");
  assert_false(back.speedup.mode[TIME_COLD].done);
  assert_memory_equal(&back.speedup.mode[TIME_HOT].ratio, &record.speedup.mode[TIME_HOT].ratio, 3 * sizeof(double));
  assert_true(back.pass[1].pass.grid[0] == UINT32_MAX);
  assert_int_equal(back.pass[1].pass.covers[2], ATTN_COVERS_Q | ATTN_COVERS_SPLIT);
  assert_int_equal(back.time[TIME_HOT].stop, STATS_STOP_BUDGET);
  assert_int_equal(back.time[TIME_COLD].stop, STATS_STOP_INTERVAL);
}

TEST(doubles_survive_bit_for_bit) {
  static const double values[] = {0.1,
                                  1.0 / 3,
                                  0.1 + 0.2,
                                  DBL_MIN,
                                  DBL_TRUE_MIN,
                                  DBL_MAX,
                                  -0.0,
                                  1e22,
                                  123456789.123456789,
                                  9007199254740993.0,
                                  -2.2250738585072011e-308,
                                  5e-324,
                                  1e15,
                                  1e17 + 16};
  static struct record record, back;
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    fill_record(&record);
    record.check.compare.rel_frobenius = record.time[TIME_HOT].us.p95 = record.check.tolerance.relative = values[i];
    read_back(&record, &back);
    assert_same_bits(back.check.compare.rel_frobenius, values[i]);
    assert_same_bits(back.time[TIME_HOT].us.p95, values[i]);
    assert_same_bits(back.check.tolerance.relative, values[i]);
  }
}

TEST(what_is_not_finite_is_left_out_and_then_nan) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  static struct record record, back;
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    fill_record(&record);
    record.check.compare.max_abs_error = values[i];
    record.check.compare.lse = (struct lse_result){.rows = 0}; /* has a key of that name too */
    char *line = record_to_line(&record);
    assert_null(strstr(line, "\"max_abs_error"));
    free(line);
    read_back(&record, &back);
    assert_true(isnan(back.check.compare.max_abs_error));
  }
}

TEST(static_strings_map_back_to_static_storage) {
  static const char *const tensors[] = {"q", "k", "v", "o", "workspace"};
  static struct record record, first, second;
  fill_record(&record);
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
    record.check.guard.first = tensors[i];
    read_back(&record, &first);
    read_back(&record, &second);
    assert_string_equal(first.check.guard.first, tensors[i]);
    assert_ptr_equal(first.check.guard.first, second.check.guard.first);
    assert_ptr_equal(first.check.oracle.name, second.check.oracle.name);
  }
  record.check.guard.first = NULL;
  record.check.oracle.name = "an oracle nobody knows";
  read_back(&record, &first);
  assert_null(first.check.guard.first);
  assert_string_equal(first.check.oracle.name, "other");
}

TEST(what_was_not_done_stays_undone) {
  static struct record record, back;
  fill_record(&record);
  record.check.done = record.time[TIME_COLD].done = record.time[TIME_HOT].done = false;
  record.plan.pass_count = 0;
  read_back(&record, &back);
  assert_false(back.check.done || back.time[TIME_COLD].done || back.time[TIME_HOT].done);
  assert_int_equal(back.plan.pass_count, 0);
  assert_true(isnan(back.time[TIME_HOT].sm_clock_mhz));
}

TEST(malformed_utf8_is_replaced_and_still_fits) {
  static struct record record, back;
  fill_record(&record);
  memset(record.reason, 0xff, sizeof record.reason - 1);
  record.reason[sizeof record.reason - 1] = '\0';
  memcpy(record.reason, "\xc3\xa9", 2);
  read_back(&record, &back);
  assert_int_equal(strlen(back.reason), sizeof back.reason - 1);
  assert_memory_equal(back.reason, "\xc3\xa9???", 5);
}

/* ---- strictness ---------------------------------------------------------------------------------------------- */

static struct record tree_record;

static struct status read_tree(const cJSON *root) {
  char *line = cJSON_PrintUnformatted(root);
  const struct status status = record_from_line(line, strlen(line), &tree_record);
  cJSON_free(line);
  return status;
}

static bool is_unknown(const cJSON *item) {
  if (item == NULL || cJSON_IsNull(item)) return true;
  if (!cJSON_IsObject(item)) return false;
  for (const cJSON *child = item->child; child != NULL; child = child->next) {
    if (!is_unknown(child)) return false;
  }
  return true;
}

/* The place in `to` of what is `wanted` in `from`: both are of one layout. */
static const cJSON *same_place(const cJSON *from, const cJSON *to, const cJSON *wanted) {
  if (from == wanted || to == NULL) return to;
  for (const cJSON *child = from->child, *in_array = to->child; child != NULL; child = child->next) {
    const cJSON *found = same_place(child, child->string != NULL ? json_get(to, child->string) : in_array, wanted);
    if (found != NULL) return found;
    if (in_array != NULL) in_array = in_array->next;
  }
  return NULL;
}

/* "<key>_reason" beside a null explains it; nothing is read from it. */
static bool explains_null(const cJSON *object, const cJSON *item) {
  char key[64];
  snprintf(key, sizeof key, "%s", item->string);
  char *suffix = strstr(key, "_reason");
  if (suffix == NULL) return false;
  *suffix = '\0';
  return cJSON_IsNull(json_get(object, key));
}

/* Takes each key of `object` and below away in turn. Either it is missed by name, or nothing is known of it: it is
 * absent or null in what is written of the record, never a 0. Counts both. The first member is put back as the last,
 * so that after one round the order is as it was. */
static void remove_each(const cJSON *root, cJSON *object, size_t *missed, size_t *unknown) {
  for (int i = cJSON_GetArraySize(object); i > 0; --i) {
    cJSON *item = object->child;
    char key[64];
    if (cJSON_IsObject(item)) remove_each(root, item, missed, unknown);
    if (cJSON_IsArray(item) && cJSON_IsObject(item->child)) remove_each(root, item->child, missed, unknown);
    const bool only_explains = explains_null(object, item);
    cJSON_DetachItemViaPointer(object, item);
    const struct status status = read_tree(root);
    snprintf(key, sizeof key, "%s", item->string);
    const bool is_missed = status.code == STATUS_INPUT && strstr(status.text, key) != NULL;
    if (!is_missed) {
      assert_string_equal(status.text, "");
      char *line = record_to_line(&tree_record);
      cJSON *written = cJSON_Parse(line);
      const cJSON *place = same_place(root, written, object);
      if (place != NULL && !only_explains && !is_unknown(json_get(place, key)))
        fail_msg("%s was absent and is now %s", key, line);
      cJSON_Delete(written);
      free(line);
    }
    ++*(is_missed ? missed : unknown);
    cJSON_AddItemToObject(object, key, item);
  }
}

/* Numbers that cJSON's own printer keeps exactly. */
static cJSON *plain_tree(void) {
  static struct record record;
  fill_record(&record);
  record.check.oracle.rows_verified = record.check.compare.elements = record.check.compare.bad_count = 7;
  record.check.compare.first_bad = record.plan.workspace_bytes = 7;
  record.check.compare.max_abs_error = 7;
  record.time[TIME_COLD].throttle_reasons = record.time[TIME_HOT].throttle_reasons = 7;
  char *line = record_to_line(&record);
  cJSON *root = cJSON_Parse(line);
  free(line);
  assert_non_null(root);
  const struct status status = read_tree(root);
  assert_string_equal(status.text, "");
  return root;
}

TEST(a_missing_field_is_named_or_unknown) {
  size_t missed = 0, unknown = 0;
  cJSON *root = plain_tree();
  remove_each(root, root, &missed, &unknown);
  assert_true(missed > 40);
  assert_true(unknown > 50);
  cJSON_Delete(root);
}

/* As remove_each, with a value of a type that no field has. */
static size_t spoil_each(const cJSON *root, cJSON *object) {
  size_t count = 0;
  for (cJSON *item = object->child; item != NULL; item = item->next, ++count) {
    if (cJSON_IsObject(item)) count += spoil_each(root, item);
    if (cJSON_IsArray(item) && cJSON_IsObject(item->child)) count += spoil_each(root, item->child);
    cJSON saved = *item;
    item->type = cJSON_Array;
    item->child = cJSON_CreateTrue();
    const struct status status = read_tree(root);
    cJSON_Delete(item->child);
    item->type = saved.type;
    item->child = saved.child;
    assert_int_equal(status.code, STATUS_INPUT);
    if (strstr(status.text, item->string) == NULL) fail_msg("\"%s\" does not name %s", status.text, item->string);
  }
  return count;
}

TEST(an_ill_typed_field_is_named) {
  cJSON *root = plain_tree();
  assert_true(spoil_each(root, root) > 90);
  cJSON_Delete(root);
}

TEST(lines_that_are_no_record_are_refused) {
  static const struct {
    const char *from, *to, *says;
  } edits[] = {
      {"\"B\":2", "\"B\":3", "does not name its shape"},
      {"\"B\":2", "\"B\":0", "shape.B"},
      {"\"B\":2", "\"B\":2.5", "shape.B"},
      {"\"B\":2", "\"B\":-2", "shape.B"},
      {"\"B\":2", "\"B\":2,\"B\":2", "twice"},
      {"\"wall_s\"", "\"walls\":1,\"wall_s\"", "walls"},
      {"\"status\":\"timeout\"", "\"status\":\"fine\"", "fine"},
      {"\"dtype\":\"bf16\"", "\"dtype\":\"f8\"", "f8"},
      {"\"grid\":[4294967295,8,2]", "\"grid\":[1,8]", "grid"},
      {"\"grid\":[4294967295,8,2]", "\"grid\":[4294967296,8,2]", "grid"},
      {"\"axis_covers\":[\"H\",\"B\",\"Q*split\"]", "\"axis_covers\":[2,1,128]", "axis_covers[2]"},
      {"\"name\":\"split\"", "\"name\":\"a_name_that_is_longer_than_the_room_for_it\"", "name"},
  };
  static struct record record, out;
  fill_record(&record);
  char *line = record_to_line(&record), text[16384];
  for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
    const char *at = strstr(line, edits[i].from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - line), line, edits[i].to, at + strlen(edits[i].from));
    const struct status status = record_from_line(text, strlen(text), &out);
    assert_int_equal(status.code, STATUS_INPUT);
    if (strstr(status.text, edits[i].says) == NULL) fail_msg("%s: %s", edits[i].to, status.text);
  }
  free(line);
}

TEST(every_cut_of_a_line_is_refused) {
  static struct record record, out;
  fill_record(&record);
  char *line = record_to_line(&record);
  for (size_t length = 0; length < strlen(line); ++length)
    assert_int_equal(record_from_line(line, length, &out).code, STATUS_INPUT);
  free(line);
}

/* ---- devices and names --------------------------------------------------------------------------------------- */

TEST(device_lines_round_trip) {
  for (size_t i = 0; i < gpu_model_count(); ++i) {
    struct device_line device = {.info = gpu_model_at(i)->info, .event_overhead_us = 1.2345678901234567}, back = {0};
    snprintf(device.info.uuid, sizeof device.info.uuid, "GPU-1234");
    snprintf(device.info.driver, sizeof device.info.driver, "580.95.05");
    device.info.sm_clock_max_mhz = 1.0 / 3;
    device.info.driver_version = 13000;
    char *text = fields_to_line(record_device_fields, &device), *again;
    assert_non_null(text);
    const struct status status = fields_from_line("device", text, strlen(text), record_device_fields, &back);
    assert_string_equal(status.text, "");
    assert_same_bits(back.event_overhead_us, 1.2345678901234567);
    assert_same_bits(back.info.sm_clock_max_mhz, 1.0 / 3);
    assert_string_equal(back.info.uuid, "GPU-1234");
    again = fields_to_line(record_device_fields, &back);
    assert_string_equal(text, again);
    free(text);
    free(again);
  }
}

TEST(a_policy_round_trips_and_one_that_is_not_known_leaves_no_trace) {
  const struct device_line plain = {.info = gpu_model_find("h200")->info, .event_overhead_us = 1};
  struct device_line device = plain, back = {0};
  device.policy = (struct device_policy){.known = true,
                                         .mig = "on",
                                         .ecc = "on",
                                         .power_limit_w = 650.25,
                                         .application_sm_clock_mhz = 1980,
                                         .application_memory_clock_mhz = NAN,
                                         .max_sm_clock_mhz = 1.0 / 3,
                                         .max_memory_clock_mhz = 3201,
                                         .compute_mode = "exclusive_process",
                                         .virtualization = "passthrough",
                                         .host_cpu = "a \"CPU\""};
  char *text = fields_to_line(record_device_fields, &device),
       *plain_text = fields_to_line(record_device_fields, &plain);
  assert_null(strstr(plain_text, "policy"));
  struct status status = fields_from_line("device", plain_text, strlen(plain_text), record_device_fields, &back);
  assert_string_equal(status.text, "");
  assert_false(back.policy.known);
  back = (struct device_line){0};
  status = fields_from_line("device", text, strlen(text), record_device_fields, &back);
  assert_string_equal(status.text, "");
  assert_true(back.policy.known);
  assert_string_equal(back.policy.mig, "on");
  assert_string_equal(back.policy.compute_mode, "exclusive_process");
  assert_string_equal(back.policy.persistence, "");
  assert_string_equal(back.policy.host_cpu, "a \"CPU\"");
  assert_same_bits(back.policy.max_sm_clock_mhz, 1.0 / 3);
  assert_true(isnan(back.policy.application_memory_clock_mhz));
  char *again = fields_to_line(record_device_fields, &back);
  assert_string_equal(text, again);
  free(text);
  free(plain_text);
  free(again);
}

TEST(modes_are_named_once_each) {
  static const struct {
    const char *text;
    int cold, hot; /* -1: refused */
  } cases[] = {{"hot,cold", 1, 1}, {"cold,hot", 1, 1},   {"hot", 0, 1},   {"cold", 1, 0},
               {"", -1, 0},        {"steady,hot", 0, 1}, {"hot,", -1, 0}, {"warm", -1, 0},
               {"hot,hot", -1, 0}, {"ho", -1, 0},        {",cold", -1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    bool modes[TIME_MODE_COUNT];
    const struct status status = time_mode_parse_list(cases[i].text, modes);
    assert_true(status_failed(&status) || modes[TIME_STEADY] == (strstr(cases[i].text, "steady") != NULL));
    assert_int_equal(status.code, cases[i].cold < 0 ? STATUS_USAGE : STATUS_OK);
    if (cases[i].cold < 0) continue;
    assert_int_equal(modes[TIME_COLD], cases[i].cold);
    assert_int_equal(modes[TIME_HOT], cases[i].hot);
  }
}

TEST(statuses_have_names_and_exit_codes) {
  assert_string_equal(cell_status_name(CELL_oom_predicted), "oom_predicted");
  assert_int_equal(cell_status_exit_code(CELL_ok), EXIT_CODE_OK);
  assert_int_equal(cell_status_exit_code(CELL_wrong), EXIT_CODE_WRONG);
  assert_int_equal(cell_status_exit_code(CELL_planned), EXIT_CODE_OK);
  assert_int_equal(cell_status_exit_code(CELL_crashed), EXIT_CODE_COVERAGE);
  assert_string_equal(time_mode_name(TIME_COLD), "cold");
  assert_string_equal(time_mode_name(TIME_HOT), "hot");
}

TEST(a_comma_locale_changes_nothing) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  static struct record record, back;
  static char plain[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
  const char *set = NULL;
  fill_record(&record);
  write_line(&record, plain);
  for (size_t i = 0; i < sizeof locales / sizeof *locales && set == NULL; ++i) set = setlocale(LC_ALL, locales[i]);
  write_line(&record, line);
  const struct status status = record_from_line(line, strlen(line), &back);
  setlocale(LC_ALL, "C");
  if (status_failed(&status)) fail_msg("%s", status.text);
  assert_string_equal(plain, line);
  assert_same_bits(back.wall_s, record.wall_s);
  if (set == NULL) skip(); /* no such locale here */
}

TEST(a_cell_is_found_among_sorted_records) {
  enum { RECORDS = 3, MISSING = 5 };
  static const char *const names[RECORDS][2] = {{"B2", "b"}, {"B1", "b"}, {"B2", "a"}};
  struct record records[RECORDS];
  for (size_t i = 0; i < RECORDS; ++i) {
    record_start(&records[i]);
    snprintf(records[i].attn_case.key, sizeof records[i].attn_case.key, "%s", names[i][0]);
    snprintf(records[i].variant, sizeof records[i].variant, "%s", names[i][1]);
  }
  const struct record **sorted = record_sorted(records, RECORDS);
  assert_non_null(sorted);
  for (size_t i = 0; i < RECORDS; ++i)
    assert_ptr_equal(record_find(sorted, RECORDS, names[i][0], names[i][1]), &records[i]);
  static const char *const missing[MISSING][2] = {{"B0", "b"}, {"B1", "a"}, {"B1", "c"}, {"B2", "ab"}, {"B3", "a"}};
  for (size_t i = 0; i < MISSING; ++i) assert_null(record_find(sorted, RECORDS, missing[i][0], missing[i][1]));
  assert_null(record_find(sorted, 0, "B1", "b"));
  free(sorted);
}
