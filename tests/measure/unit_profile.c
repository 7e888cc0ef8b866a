#include <signal.h>
#include <string.h>

#include "cli/measure/profile.h"
#include "tests/unit.h"

/* Launches of the two probes below, in order: 'a' and 'b'. */
static char launched[64];
static size_t launch_count;

static const struct attn_variant *cpu_ref;

static const char *takes_all(const struct attn_problem *shape, const struct attn_tuning *tuning,
                             const struct device_info *device) {
  (void)shape, (void)tuning, (void)device;
  return NULL;
}

static void plan_as_ref(const struct attn_problem *shape, const struct attn_tuning *tuning,
                        const struct device_info *device, struct attn_plan *plan) {
  cpu_ref->plan(shape, tuning, device, plan);
}

static void note(char which) {
  if (launch_count < sizeof launched - 1) launched[launch_count++] = which;
}

static void run_a(const struct attn_problem *shape, const struct attn_plan *plan, const struct attn_buffers *buffers,
                  unsigned threads) {
  note('a');
  cpu_ref->run(shape, plan, buffers, threads);
}

static void run_b(const struct attn_problem *shape, const struct attn_plan *plan, const struct attn_buffers *buffers,
                  unsigned threads) {
  note('b');
  cpu_ref->run(shape, plan, buffers, threads);
}

static void run_wrong(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  (void)plan, (void)threads;
  note('w');
  memset(buffers->o, 0, (size_t)shape->B * shape->Hq * shape->Sq * shape->D * attn_dtype_bytes(shape->dtype));
}

#define PROBE(id, run_)                                                                            \
  {                                                                                                \
    .name = id, .summary = "s", .limits = "l", .runs_on = DEVICE_CPU, .math = ATTN_MATH_FP32_HOST, \
    .supports = takes_all, .plan = plan_as_ref, .run = run_                                        \
  }
static const struct attn_variant probes[] = {PROBE("probe_a", run_a), PROBE("probe_b", run_b),
                                             PROBE("probe_wrong", run_wrong)};

static struct attn_case some_case = {.shape = ATTN_DENSE(1, 2, 2, 8, 8, 16, ATTN_F32, false)};

static struct device *device;

static int open_device(void **state) {
  (void)state;
  cpu_ref = variant_find("cpu_ref");
  axes_key(&some_case.shape, some_case.key);
  for (size_t i = 0; i < sizeof probes / sizeof *probes; ++i) {
    if (!variant_add(&probes[i])) return -1;
  }
  const struct status status = device_open("cpu", &device);
  return status_failed(&status) ? -1 : 0;
}

static int close_device(void **state) {
  (void)state;
  device_close(device);
  return 0;
}

static struct cell cell_of(const char *name) {
  struct cell cell = {.attn_case = &some_case};
  const struct status status = variant_spec_parse(name, "test", STATUS_INTERNAL, &cell.spec);
  assert_int_equal(status.code, STATUS_OK);
  return cell;
}

static struct profile *open_profile(size_t room) {
  struct profile *profile;
  const struct status status = profile_open(device, room, &profile);
  assert_int_equal(status.code, STATUS_OK);
  memset(launched, 0, sizeof launched);
  launch_count = 0;
  return profile;
}

static void prepare(struct profile *profile, const char *name, struct record *record) {
  const struct cell cell = cell_of(name);
  const struct status status = profile_prepare(profile, &cell, 1, record);
  assert_int_equal(status.code, STATUS_OK);
}

TEST(a_capture_holds_exactly_n_launches_of_each_cell_in_order) {
  struct profile *profile = open_profile(2);
  struct record record;
  prepare(profile, "probe_b", &record);
  assert_int_equal(record.status, CELL_ok);
  assert_true(record.check.done && record.check.right && !record.check.after_timing);
  prepare(profile, "probe_a", &record);
  assert_int_equal(profile_warm_up(profile).code, STATUS_OK);
  const size_t before = launch_count;
  assert_int_equal(profile_capture(profile, 3).code, STATUS_OK);
  assert_string_equal(launched + before, "bbbaaa");
  signal(SIGTERM, SIG_DFL);
  profile_close(profile);
}

TEST(a_warm_up_launches_each_cell_once) {
  struct profile *profile = open_profile(2);
  struct record record;
  prepare(profile, "probe_a", &record);
  prepare(profile, "probe_b", &record);
  const size_t before = launch_count;
  assert_int_equal(profile_warm_up(profile).code, STATUS_OK);
  assert_string_equal(launched + before, "ab");
  profile_close(profile);
}

TEST(what_is_wrong_or_skipped_is_never_launched_in_the_span) {
  struct profile *profile = open_profile(3);
  struct record record;
  prepare(profile, "probe_wrong", &record);
  assert_int_equal(record.status, CELL_wrong);
  assert_true(strlen(record.reason) > 0);
  prepare(profile, "scalar", &record);
  assert_int_equal(record.status, CELL_skipped);
  prepare(profile, "probe_a", &record);
  const size_t before = launch_count;
  assert_int_equal(profile_capture(profile, 1).code, STATUS_OK);
  assert_string_equal(launched + before, "a");
  signal(SIGTERM, SIG_DFL);
  profile_close(profile);
}

TEST(memory_is_counted_for_all_cells_that_can_run) {
  struct cell items[] = {cell_of("probe_a"), cell_of("probe_b"), cell_of("scalar")};
  struct cells cells = {.items = items, .count = 3};
  uint64_t need = 0, have = 0;
  assert_true(profile_fits(device, &cells, &need, &have));
  struct attn_plan plan = {0};
  cpu_ref->plan(&some_case.shape, &items[0].spec.tuning, device_info(device), &plan);
  assert_int_equal(need, 2 * bench_bytes(&some_case.shape, plan.workspace_bytes));
  struct attn_case huge = some_case;
  huge.shape.B = huge.shape.Hq = huge.shape.Hkv = huge.shape.Sq = huge.shape.Skv = 65536;
  items[0].attn_case = items[1].attn_case = &huge;
  assert_false(profile_fits(device, &cells, &need, &have) && have != UINT64_MAX);
}

UNIT_FIXTURE(open_device, close_device)
