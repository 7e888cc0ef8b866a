/* tags: long asan */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/check.h"
#include "kernels/cpu/arithmetic.h"
#include "kernels/device_ops.h"
#include "tests/unit.h"

enum { SEED = 7 };

static const struct attn_problem small =
    ATTN_DENSE(1, 2, 1, 9, 7, 4, ATTN_F16, false); /* O is 144 bytes: 112 of padding */
static const struct tolerance loose = {.relative = 0x1p-11, .absolute = 0x1p-25, .frobenius = 0.75};

/* ---- a variant that does what a test tells it ---------------------------------------------------------------- */

static void (*probe_action)(const struct attn_problem *, const struct attn_buffers *);
static unsigned probe_launches;

static void probe_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                       const struct device_info *device, struct attn_plan *plan) {
  (void)shape, (void)tuning, (void)device;
  plan->workspace_bytes = 100;
}

static void probe_run(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  (void)plan, (void)threads;
  ++probe_launches;
  if (probe_action) probe_action(shape, buffers);
}

static const struct attn_variant probe = {
    .name = "probe", .runs_on = DEVICE_CPU, .plan = probe_plan, .run = probe_run};

struct fixture {
  struct device *device;
  struct bench *bench;
};

static int open_small(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct attn_plan plan = {0};
  probe_plan(NULL, NULL, NULL, &plan);
  probe_action = NULL;
  probe_launches = 0;
  if (!f || device_open("cpu", &f->device).code != STATUS_OK) return -1;
  if (bench_open(f->device, &small, SEED, &f->bench).code != STATUS_OK) return -1;
  if (bench_bind(f->bench, &probe, &plan, facts).code != STATUS_OK) return -1;
  *state = f;
  return 0;
}

static int close_small(void **state) {
  struct fixture *f = *state;
  bench_close(f->bench);
  device_close(f->device);
  free(f);
  return 0;
}

static struct guard_result guard_after(struct fixture *f,
                                       void (*action)(const struct attn_problem *, const struct attn_buffers *)) {
  struct guard_result guard;
  probe_action = action;
  assert_int_equal(bench_launch(f->bench).code, STATUS_OK);
  assert_int_equal(bench_guard(f->bench, &guard).code, STATUS_OK);
  return guard;
}

static struct compare_result compare_after(struct fixture *f,
                                           void (*action)(const struct attn_problem *, const struct attn_buffers *)) {
  struct compare_result compare;
  probe_action = action;
  assert_int_equal(bench_poison(f->bench).code, STATUS_OK);
  assert_int_equal(bench_launch(f->bench).code, STATUS_OK);
  assert_int_equal(bench_compare(f->bench, &loose, &compare).code, STATUS_OK);
  return compare;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

TEST(unknown_devices_are_usage_errors) {
  static const char *const specs[] = {"",        "gpu",     "cpu:0",      "cuda:", "cuda:x",
                                      "cuda:-1", "cuda:1x", "cuda:99999", "cudax"};
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
    struct device *device = (struct device *)&probe;
    const struct status status = device_open(specs[i], &device);
    assert_int_equal(status.code, STATUS_USAGE);
    assert_non_null(strstr(status.text, "use cpu, cuda or cuda:N"));
    assert_null(device);
  }
}

TEST_WITH(cpu_describes_itself, open_small, close_small) {
  struct fixture *f = *state;
  const struct device_info *info = device_info(f->device);
  assert_int_equal(info->kind, DEVICE_CPU);
  assert_true(info->name[0] != '\0' && !strchr(info->name, '\n'));
  assert_true(info->sms >= 1);
  assert_true(info->l2_bytes >= 32768);
  assert_true(info->memory_bytes > UINT64_C(1) << 26);
  assert_true(device_memory_free(f->device) > 0);
  assert_true(device_event_overhead_us(f->device) == 0);
  assert_false(info->modelled);
}

TEST_WITH(health_is_unknown_on_a_cpu, open_small, close_small) {
  struct fixture *f = *state;
  struct device_health health;
  device_health_read(f->device, &health);
  assert_false(health.known);
  assert_true(isnan(health.sm_clock_mhz) && isnan(health.power_w) && isnan(health.temperature_c));
  device_range_push(f->device, "name");
  device_range_pop(f->device);
}

TEST(bench_bytes_counts_tensors_redzones_and_reference) {
  /* Q and O: 72 elements, 144 bytes, 256 padded; K and V: 28 elements, 56 bytes, 256 padded. */
  /* Three launches, each with 18 rows of 4 doubles and their facts. LSE: 18 floats, 256 bytes padded. */
  struct attn_problem with_lse = small;
  with_lse.lse = true;
  assert_int_equal(bench_bytes(&small, 0), 4 * (256 + 8192) + 3 * 18 * (4 * 8 + sizeof(struct reference_row)));
  assert_int_equal(bench_bytes(&small, 257),
                   4 * (256 + 8192) + 3 * 18 * (4 * 8 + sizeof(struct reference_row)) + 512 + 8192);
  assert_int_equal(bench_bytes(&with_lse, 0), 5 * (256 + 8192) + 3 * 18 * (4 * 8 + sizeof(struct reference_row)));
}

TEST(bench_bytes_is_zero_on_overflow) {
  const uint32_t most = UINT32_MAX;
  const struct attn_problem huge[] = {ATTN_DENSE(most, most, 1, most, 1, most, ATTN_F32, false),
                                      ATTN_DENSE(most, 1, most, 1, most, 2, ATTN_F16, false),
                                      ATTN_DENSE(65536, 65536, 1, 65536, 1, 4096, ATTN_F32, false)};
  for (size_t i = 0; i < sizeof huge / sizeof huge[0]; ++i) assert_int_equal(bench_bytes(&huge[i], 0), 0);
  assert_int_equal(bench_bytes(&small, UINT64_MAX), 0);
  assert_int_equal(bench_bytes(&small, UINT64_MAX - 8192), 0);
}

TEST_WITH(refused_memory_is_an_error_not_a_crash, open_small, close_small) {
  struct fixture *f = *state;
  const struct attn_problem huge = ATTN_DENSE(65536, 1024, 1024, 1048576, 1, 64, ATTN_F32, false);
  struct bench *bench = f->bench;
  assert_int_equal(bench_open(f->device, &huge, SEED, &bench).code, STATUS_MEMORY);
  assert_null(bench);
}

/* ---- binding and launching ----------------------------------------------------------------------------------- */

TEST_WITH(launch_needs_a_bound_variant, open_small, close_small) {
  struct fixture *f = *state;
  struct bench *bench = NULL;
  double us, mhz;
  uint32_t launches;
  assert_int_equal(bench_open(f->device, &small, SEED, &bench).code, STATUS_OK);
  assert_int_equal(bench_launch(bench).code, STATUS_INTERNAL);
  assert_int_equal(bench_time_prepare(bench, &launches, &us).code, STATUS_INTERNAL);
  assert_int_equal(bench_sample(bench, TIME_HOT, 1, &us, &mhz).code, STATUS_INTERNAL);
  assert_int_equal(bench_sample_passes(bench, 1, &us).code, STATUS_INTERNAL);
  assert_int_equal(bench_delay(bench, TIME_HOT, 1).code, STATUS_INTERNAL);
  bench_close(bench);
}

TEST_WITH(cuda_variants_are_refused, open_small, close_small) {
  struct fixture *f = *state;
  const struct attn_variant cuda = {.name = "cuda_only", .runs_on = DEVICE_CUDA};
  struct attn_plan plan = {0};
  struct pass_facts facts[ATTN_PASSES_MAX];
  assert_int_equal(bench_bind(f->bench, &cuda, &plan, facts).code, STATUS_INTERNAL);
}

static unsigned other_launches;
static void other_run(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)threads;
  ++other_launches;
  memset(buffers->workspace, 7, plan->workspace_bytes);
}

TEST_WITH(two_bindings_share_the_tensors_and_keep_their_own_workspace, open_small, close_small) {
  struct fixture *f = *state;
  static const struct attn_variant other = {.name = "other", .runs_on = DEVICE_CPU, .run = other_run};
  struct attn_plan plan = {.workspace_bytes = 40};
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct guard_result guard;
  uint32_t launches;
  double us, mhz;
  assert_int_equal(bench_time_prepare(f->bench, &launches, &us).code, STATUS_OK);
  bench_swap(f->bench);
  assert_int_equal(bench_launch(f->bench).code, STATUS_INTERNAL); /* the inactive slot starts empty */
  assert_int_equal(bench_bind(f->bench, &other, &plan, facts).code, STATUS_OK);
  other_launches = probe_launches = 0;
  assert_int_equal(bench_launch(f->bench).code, STATUS_OK);
  assert_int_equal(bench_guard(f->bench, &guard).code, STATUS_OK);
  assert_int_equal(guard.redzone_bytes_changed, 0); /* 40 bytes of its own, not the probe's 100 */
  bench_swap(f->bench);
  assert_string_equal(f->bench->variant->name, "probe");
  assert_int_equal(f->bench->plan.workspace_bytes, 100);
  assert_int_equal(bench_sample(f->bench, TIME_HOT, 1, &us, &mhz).code, STATUS_OK);
  assert_int_equal(other_launches, 1);
  assert_int_equal(probe_launches, launches); /* prepared before the swap, and still */
}

static float element(const void *data, enum attn_dtype dtype, uint64_t index) {
  return attn_dtype_value(dtype, attn_dtype_load(dtype, data, index));
}

static uint64_t elements_of(const struct attn_problem *s, enum attn_role role) {
  struct attn_tensor tensor;
  assert_true(attn_tensor_of(s, role, &tensor));
  return tensor.elements;
}

static void read_inputs(const struct attn_problem *s, const struct attn_buffers *b) {
  for (enum attn_role t = ATTN_Q; t <= ATTN_V; ++t) {
    const struct pattern pattern = {.problem = *s, .seed = SEED};
    struct attn_tensor tensor;
    assert_true(attn_tensor_of(s, t, &tensor));
    for (uint64_t i = 0; i < tensor.elements; ++i) {
      const struct pattern_line line = pattern_line_of(&pattern, t, i / tensor.view.columns);
      const float wanted = cpu_input(&pattern, &tensor, &line, (uint32_t)(i % tensor.view.columns));
      assert_true(element(b->tensor[t], tensor.dtype, i) == wanted);
    }
    assert_int_equal((uintptr_t)b->tensor[t] % DEVICE_ALIGN_BYTES, 0);
  }
  assert_int_equal((uintptr_t)b->workspace % DEVICE_ALIGN_BYTES, 0);
}

TEST_WITH(inputs_are_those_of_the_seed, open_small, close_small) {
  struct fixture *f = *state;
  guard_after(f, read_inputs);
  assert_int_equal(probe_launches, 1);
}

/* ---- poison and compare -------------------------------------------------------------------------------------- */

TEST_WITH(unwritten_output_is_all_nan, open_small, close_small) {
  struct fixture *f = *state;
  const struct compare_result c = compare_after(f, NULL);
  assert_int_equal(c.elements, 72);
  assert_int_equal(c.nan_count, 72);
  assert_int_equal(c.bad_count, 72);
  assert_int_equal(c.first_bad, 0);
}

static void expect_poison(const struct attn_problem *shape, const struct attn_buffers *b) {
  (void)shape;
  for (unsigned i = 0; i < 100; ++i) assert_int_equal(((const unsigned char *)b->workspace)[i], 0xFF);
  for (unsigned i = 0; i < 144; ++i) assert_int_equal(((const unsigned char *)b->o)[i], 0xFF);
}

TEST_WITH(poison_covers_output_and_workspace, open_small, close_small) { compare_after(*state, expect_poison); }

/* The right answer, from cpu_ref run inside the probe. */
static void write_right_output(const struct attn_problem *shape, const struct attn_buffers *b) {
  const struct attn_variant *cpu_ref = variant_find("cpu_ref");
  struct attn_plan plan;
  const struct device_info one_thread = {.sms = 1};
  const struct attn_tuning tuning = {{0}};
  struct attn_buffers buffers = *b;
  variant_plan(cpu_ref, shape, &tuning, &one_thread, &plan);
  buffers.workspace = malloc(plan.workspace_bytes);
  assert_non_null(buffers.workspace);
  cpu_ref->run(shape, &plan, &buffers, 1);
  free(buffers.workspace);
}

static void write_three_bad_elements(const struct attn_problem *shape, const struct attn_buffers *b) {
  write_right_output(shape, b);
  cpu_store(b->o, shape->dtype, 41, NAN);
  cpu_store(b->o, shape->dtype, 17, -INFINITY);
  cpu_store(b->o, shape->dtype, 50, element(b->o, shape->dtype, 50) + 2.0f);
}

TEST_WITH(right_output_has_no_bad_element, open_small, close_small) {
  struct fixture *f = *state;
  const struct compare_result c = compare_after(f, write_right_output);
  assert_int_equal(c.bad_count, 0);
  assert_true(c.first_bad == UINT64_MAX);
  assert_true(c.max_bound_ratio > 0 && c.max_bound_ratio <= 1);
  assert_true(c.rel_frobenius > 0 && c.rel_frobenius < 0x1p-11);
}

TEST_WITH(bad_elements_are_counted_and_the_first_is_named, open_small, close_small) {
  struct fixture *f = *state;
  const struct compare_result c = compare_after(f, write_three_bad_elements);
  assert_int_equal(c.nan_count, 1);
  assert_int_equal(c.inf_count, 1);
  assert_int_equal(c.bad_count, 3);
  assert_int_equal(c.first_bad, 17);
  assert_true(fabs(c.max_abs_error - 2) < 0.01);
  assert_true(c.max_bound_ratio > 100);
  assert_true(c.rel_frobenius > 0.01);
}

/* A row of one element, compared with this bound. */
static struct compare_result compare_single(const struct tolerance *t, double o, double reference, double spread,
                                            double largest) {
  const struct reference_row facts = {.spread_square = spread * spread, .largest = largest};
  const struct attn_problem one = ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F32, false);
  const struct compare_bound bound = compare_bound_of(t, &one, 1, &facts);
  struct compare_partial p;
  struct compare_row row = {0};
  compare_start(&p);
  compare_element(&p, &row, &bound, 5, o, reference);
  compare_row_end(&p, &row, &bound, 5);
  compare_finish(&p, t);
  return p.result;
}

TEST(bounds_are_relative_to_spread_and_reference) {
  const struct tolerance t = {.relative = 0.01, .absolute = 0.001, .frobenius = 1};
  static const struct {
    double o, reference, spread;
    bool element, row; /* beyond its bound: 0.01 (4 spread + 2 reference) + 0.001, of a row without the 4 */
  } cases[] = {
      {1.03, 1.0, 1.0, false, false}, {1.032, 1.0, 1.0, false, true}, {1.0609, 1.0, 1.0, false, true},
      {1.062, 1.0, 1.0, true, true},  {0.938, 1.0, 1.0, true, true},  {0.0009, 0, 0, false, false},
      {0.0011, 0, 0, true, true},     {NAN, 1.0, 1e3, true, false},   {INFINITY, 1.0, 1e300, true, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const struct compare_result r = compare_single(&t, cases[i].o, cases[i].reference, cases[i].spread, 0);
    assert_int_equal(r.bad_count, cases[i].element);
    assert_int_equal(r.bad_rows, cases[i].element || cases[i].row);
    assert_int_equal(r.max_row_ratio > 1, cases[i].row);
    assert_true(r.first_bad == (r.bad_rows ? 5 : UINT64_MAX));
  }
}

/* An error of the score is one of P: what fp32 makes of it grows with the scores. */
TEST(bounds_grow_with_the_scores) {
  const struct tolerance f32 = compare_tolerance(ATTN_F32), *t = &f32;
  assert_int_equal(compare_single(t, 1 + 4e-6, 1, 1, 1).bad_rows, 1);
  assert_int_equal(compare_single(t, 1 + 4e-6, 1, 1, 100).bad_rows, 0);
  assert_true(compare_tolerance(ATTN_F16).relative == 0x1p-11 && compare_tolerance(ATTN_BF16).relative == 0x1p-8);
}

static void add_row(struct compare_partial *p, uint64_t row) {
  const struct reference_row facts = {.spread_square = 1, .largest = 1};
  const struct attn_problem four = ATTN_DENSE(1, 1, 1, 1, 10, 4, ATTN_F32, false);
  const struct compare_bound bound = compare_bound_of(&loose, &four, 10, &facts);
  struct compare_row sums = {0};
  for (uint64_t d = 0; d < 4; ++d) {
    const double reference = (double)(row * 4 + d), o = reference + (row % 9 == 8 ? 0.5 : 1e-6);
    compare_element(p, &sums, &bound, row * 4 + d, o, reference);
  }
  compare_row_end(p, &sums, &bound, row * 4);
}

TEST(partial_results_merge_to_the_whole) {
  struct compare_partial whole, part[2];
  compare_start(&whole);
  compare_start(&part[0]);
  compare_start(&part[1]);
  for (uint64_t row = 0; row < 100; ++row) {
    add_row(&whole, row);
    add_row(&part[row % 2], row);
  }
  compare_merge(&part[1], &part[0]);
  compare_finish(&whole, &loose);
  compare_finish(&part[1], &loose);
  const struct compare_result *a = &whole.result, *b = &part[1].result;
  assert_int_equal(a->elements, 400);
  assert_int_equal(b->rows, 100);
  assert_int_equal(a->bad_rows, 11);
  assert_int_equal(b->bad_rows, 11);
  assert_int_equal(a->bad_count, b->bad_count);
  assert_int_equal(a->first_bad, 32);
  assert_int_equal(b->first_bad, 32);
  assert_true(a->max_abs_error == b->max_abs_error && a->max_bound_ratio == b->max_bound_ratio);
  assert_true(a->max_row_ratio == b->max_row_ratio && fabs(a->norm_ratio - b->norm_ratio) < 1e-9);
  assert_true(fabs(a->rel_frobenius - b->rel_frobenius) < 1e-12);
}

/* ---- guard --------------------------------------------------------------------------------------------------- */

static void write_beyond_o(const struct attn_problem *s, const struct attn_buffers *b) {
  memset((unsigned char *)b->o + elements_of(s, ATTN_O) * 2, 0, 16);
}
static void write_before_o(const struct attn_problem *s, const struct attn_buffers *b) {
  (void)s;
  ((unsigned char *)b->o)[-1] ^= 1;
}
static void write_far_beyond_k(const struct attn_problem *s, const struct attn_buffers *b) {
  (void)s;
  ((unsigned char *)(uintptr_t)b->k)[256 + 4095] ^= 0x80;
}
static void write_beyond_workspace(const struct attn_problem *s, const struct attn_buffers *b) {
  (void)s;
  memset((unsigned char *)b->workspace + 100, 0xFF, 8);
}
static void write_beside_v_and_o(const struct attn_problem *s, const struct attn_buffers *b) {
  ((unsigned char *)(uintptr_t)b->v)[-4096] ^= 1;
  write_before_o(s, b);
}

TEST_WITH(writes_into_redzones_are_seen_and_repaired, open_small, close_small) {
  struct fixture *f = *state;
  static const struct {
    void (*action)(const struct attn_problem *, const struct attn_buffers *);
    uint64_t least, most;
    const char *first;
  } cases[] = {
      {NULL, 0, 0, NULL},
      {write_beyond_o, 16, 16, "o"},
      {write_before_o, 1, 1, "o"},
      {write_far_beyond_k, 1, 1, "k"},
      {write_beyond_workspace, 6, 8, "workspace"}, /* some of the pattern may be 0xff */
      {write_beside_v_and_o, 2, 2, "v"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const struct guard_result hit = guard_after(f, cases[i].action), clean = guard_after(f, NULL);
    assert_in_range(hit.redzone_bytes_changed, cases[i].least, cases[i].most);
    if (cases[i].first) assert_string_equal(hit.first, cases[i].first);
    if (!cases[i].first) assert_null(hit.first);
    assert_int_equal(hit.input_elements_changed, 0);
    assert_int_equal(clean.redzone_bytes_changed, 0);
    assert_null(clean.first);
  }
}

static void change_three_inputs(const struct attn_problem *s, const struct attn_buffers *b) {
  ((uint16_t *)(uintptr_t)b->q)[0] ^= 1;
  ((uint16_t *)(uintptr_t)b->q)[elements_of(s, ATTN_Q) - 1] ^= 0x8000;
  ((uint16_t *)(uintptr_t)b->v)[5] ^= 2;
}

TEST_WITH(changed_inputs_are_counted_and_repaired, open_small, close_small) {
  struct fixture *f = *state;
  const struct guard_result hit = guard_after(f, change_three_inputs), clean = guard_after(f, NULL);
  assert_int_equal(hit.input_elements_changed, 3);
  assert_int_equal(hit.redzone_bytes_changed, 0);
  assert_int_equal(clean.input_elements_changed, 0);
}

/* ---- timing -------------------------------------------------------------------------------------------------- */

TEST_WITH(hot_samples_average_the_prepared_launches, open_small, close_small) {
  struct fixture *f = *state;
  uint32_t launches = 0;
  double estimate_us = -1, us[3], mhz = 0;
  probe_action = write_right_output;
  assert_int_equal(bench_time_prepare(f->bench, &launches, &estimate_us).code, STATUS_OK);
  assert_true(estimate_us > 0 && launches >= 1 && launches * estimate_us >= 1999);
  probe_launches = 0;
  assert_int_equal(bench_sample(f->bench, TIME_HOT, 3, us, &mhz).code, STATUS_OK);
  assert_int_equal(probe_launches, 3 * launches);
  for (unsigned i = 0; i < 3; ++i) assert_true(us[i] > 0 && us[i] < 1e6);
  assert_true(isnan(mhz));
}

TEST_WITH(cold_samples_are_single_launches, open_small, close_small) {
  struct fixture *f = *state;
  double us[4] = {0}, mhz = 0;
  assert_int_equal(bench_sample(f->bench, TIME_COLD, 4, us, &mhz).code, STATUS_OK);
  assert_int_equal(probe_launches, 4);
  for (unsigned i = 0; i < 4; ++i) assert_true(us[i] > 0);
  assert_true(isnan(mhz));
}

enum { CHANGES_SEEN = 400 };
static uint64_t seen_hash[CHANGES_SEEN];
static unsigned seen_count;

static void note_inputs_and_compute(const struct attn_problem *s, const struct attn_buffers *b) {
  const void *const data[] = {b->q, b->k, b->v};
  const uint32_t rows[] = {s->B * s->Hq * s->Sq, s->B * s->Hkv * s->Skv, s->B * s->Hkv * s->Skv};
  uint64_t hash = 0;
  for (int t = 0; t < 3; ++t) {
    for (uint32_t i = 0; i < rows[t] * s->D; ++i) hash = input_mix(hash ^ ((const uint16_t *)data[t])[i]);
  }
  if (seen_count < CHANGES_SEEN) seen_hash[seen_count++] = hash;
  write_right_output(s, b);
}

static unsigned unlike_inputs(void) {
  unsigned unlike = 0;
  for (unsigned i = 0; i < seen_count; ++i) {
    unsigned earlier = 0;
    for (unsigned j = 0; j < i; ++j) earlier += seen_hash[j] == seen_hash[i];
    unlike += earlier == 0;
  }
  return unlike;
}

/* A kernel that remembers what it has seen meets nothing twice but inputs that were not changed between two samples,
 * and a right kernel is right on all of them. */
TEST_WITH(changed_inputs_never_come_back_and_their_output_is_known, open_small, close_small) {
  struct fixture *f = *state;
  const struct attn_problem shape = ATTN_DENSE(1, 4, 2, 5, 7, 16, ATTN_F16, true);
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct attn_plan plan = {0};
  struct bench *bench;
  struct oracle_result oracle;
  struct witness_result witness;
  struct guard_result guard;
  double us[64], mhz;
  probe_plan(NULL, NULL, NULL, &plan);
  assert_int_equal(bench_open(f->device, &shape, SEED, &bench).code, STATUS_OK);
  assert_int_equal(bench_bind(bench, &probe, &plan, facts).code, STATUS_OK);
  assert_int_equal(bench_reference(bench, &oracle).code, STATUS_OK);
  probe_action = note_inputs_and_compute;
  seen_count = 0;
  assert_int_equal(bench_sample(bench, TIME_COLD, 64, us, &mhz).code, STATUS_OK);
  assert_in_range(unlike_inputs(), 20, 44); /* the other half of the samples poisons O instead */
  seen_count = 0;
  assert_int_equal(bench_time_prepare(bench, &(uint32_t){0}, &us[0]).code, STATUS_OK);
  seen_count = 0;
  assert_int_equal(bench_sample_changed(bench, 1.0, us).code, STATUS_OK);
  assert_true(seen_count > 20);
  assert_int_equal(unlike_inputs(), seen_count);
  assert_int_equal(bench_witness(bench, &witness).code, STATUS_OK);
  assert_true(witness.samples > 64);
  assert_int_equal(witness.wrong, 0);
  assert_int_equal(bench_guard(bench, &guard).code, STATUS_OK);
  assert_int_equal(guard.input_elements_changed, 0);
  bench_close(bench);
}

TEST_WITH(a_delay_is_behind_every_timed_launch_of_its_mode_and_binding, open_small, close_small) {
  struct fixture *f = *state;
  const double delay_us = 3000;
  uint32_t launches;
  double estimate_us, us, mhz;
  assert_int_equal(bench_delay(f->bench, TIME_COLD, -1).code, STATUS_INTERNAL);
  assert_int_equal(bench_delay(f->bench, TIME_COLD, NAN).code, STATUS_INTERNAL);
  assert_int_equal(bench_delay(f->bench, TIME_COLD, delay_us).code, STATUS_OK);
  assert_int_equal(bench_time_prepare(f->bench, &launches, &estimate_us).code, STATUS_OK);
  assert_true(estimate_us < delay_us);
  assert_int_equal(bench_sample(f->bench, TIME_COLD, 1, &us, &mhz).code, STATUS_OK);
  assert_true(us >= delay_us);
  assert_int_equal(bench_sample(f->bench, TIME_HOT, 1, &us, &mhz).code, STATUS_OK);
  assert_true(us < delay_us);
  bench_swap(f->bench);
  bench_swap(f->bench);
  assert_int_equal(bench_sample(f->bench, TIME_COLD, 1, &us, &mhz).code, STATUS_OK);
  assert_true(us >= delay_us);
  assert_int_equal(bench_delay(f->bench, TIME_COLD, 0).code, STATUS_OK);
  assert_int_equal(bench_sample(f->bench, TIME_COLD, 1, &us, &mhz).code, STATUS_OK);
  assert_true(us < delay_us);
}

TEST_WITH(passes_of_a_single_pass_plan_are_refused, open_small, close_small) {
  struct fixture *f = *state;
  double us;
  assert_int_equal(bench_sample_passes(f->bench, 1, &us).code, STATUS_INTERNAL);
}

TEST_WITH(reference_is_the_oracle_and_computed_once, open_small, close_small) {
  struct fixture *f = *state;
  for (unsigned i = 0; i < 2; ++i) {
    struct oracle_result oracle = {0};
    assert_int_equal(bench_reference(f->bench, &oracle).code, STATUS_OK);
    assert_string_equal(oracle.name, "cpu_fp64");
    assert_int_equal(oracle.rows_verified, 18);
    assert_true(oracle.max_difference == 0);
  }
}

/* ---- the CPU variants ---------------------------------------------------------------------------------------- */

static struct check_record check_bound(struct device *device, struct bench *bench,
                                       const struct attn_variant *variant) {
  const struct attn_problem *s = &bench->shape;
  const struct attn_tuning tuning = variant_default_tuning(variant);
  struct attn_plan plan;
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct check_record check = {0};
  char reason[RECORD_REASON_MAX];
  variant_plan(variant, s, &tuning, device_info(device), &plan);
  assert_int_equal(bench_bind(bench, variant, &plan, facts).code, STATUS_OK);
  assert_int_equal(check_output(bench, &check).code, STATUS_OK);
  assert_int_equal(check_hard(bench, s, &check).code, STATUS_OK);
  assert_int_equal(check.launches, pattern_launches(s));
  check_explain(&check, s, reason);
  if (!check.right)
    fail_msg("%s on Hq%u Hkv%u Sq%u Skv%u D%u %s causal %d: %s", variant->name, s->Hq, s->Hkv, s->Sq, s->Skv, s->D,
             attn_dtype_name(s->dtype), s->right == 0, reason);
  return check;
}

/* Both CPU variants, or those that take the shape, on one bench; returns how many. */
static unsigned check_variants(struct device *device, const struct attn_problem *shape) {
  static const char *const names[] = {"cpu_ref", "cpu_flash"};
  struct bench *bench = NULL;
  unsigned checked = 0;
  assert_int_equal(bench_open(device, shape, SEED, &bench).code, STATUS_OK);
  for (size_t i = 0; i < 2; ++i) {
    const struct attn_variant *variant = variant_find(names[i]);
    const struct attn_tuning tuning = variant_default_tuning(variant);
    if (variant_supports(variant, shape, &tuning, device_info(device))) continue;
    check_bound(device, bench, variant);
    ++checked;
  }
  bench_close(bench);
  return checked;
}

TEST_WITH(cpu_variants_match_the_oracle, open_small, close_small) {
  struct fixture *f = *state;
  static const struct {
    uint32_t Sq, Skv;
  } lengths[] = {{1, 1}, {63, 63}, {64, 64}, {65, 65}, {127, 127}, {777, 777}, {1, 200}, {130, 70}, {64, 129}};
  static const uint32_t dims[] = {4, 64, 128};
  for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l) {
    for (unsigned i = 0; i < 3 * ATTN_DTYPE_COUNT * 2; ++i) {
      const enum attn_dtype dtype = (enum attn_dtype)(i / 2 % ATTN_DTYPE_COUNT);
      const uint32_t batch = lengths[l].Sq < 500 ? 2 : 1;
      const struct attn_problem shape = ATTN_DENSE(batch, 2, 1 + (uint32_t)l % 2, lengths[l].Sq, lengths[l].Skv,
                                                   dims[i / (2 * ATTN_DTYPE_COUNT)], dtype, i % 2 == 1);
      assert_int_equal(check_variants(f->device, &shape), 2);
    }
  }
}

/* Scales of each kind, an output of each type, with all that moves rows, and K and V alone. */
TEST_WITH(cpu_variants_take_e4m3_in_all_its_forms, open_small, close_small) {
  struct fixture *f = *state;
  static const struct {
    enum attn_scales scales;
    unsigned out_dtype, kv_dtype;
    enum attn_layout layout;
    uint32_t drawn, Hkv, Sq, Skv;
  } rows[] = {{ATTN_SCALES_TENSOR, 0, 0, ATTN_BHSD, 0, 4, 200, 200},
              {ATTN_SCALES_BLOCK, 1 + ATTN_F32, 0, ATTN_BSHD, 0, 2, 30, 300},
              {ATTN_SCALES_BLOCK, 1 + ATTN_F16, 0, ATTN_QKV, 0, 4, 257, 257},
              {ATTN_SCALES_BLOCK, 0, 0, ATTN_BHSD, 1, 2, 100, 400},
              {ATTN_SCALES_HEAD, 0, 0, ATTN_BHSD, 1, 1, 100, 200},
              {ATTN_SCALES_HEAD, 0, 1, ATTN_BHSD, 0, 2, 70, 200},
              {ATTN_SCALES_BLOCK, 0, 1, ATTN_BSHD, 0, 1, 70, 200}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_problem s = ATTN_DENSE(2, 4, rows[i].Hkv, rows[i].Sq, rows[i].Skv, 40,
                                       rows[i].kv_dtype ? ATTN_BF16 : ATTN_E4M3, i % 2 != 0);
    s.scales = rows[i].scales, s.out_dtype = rows[i].out_dtype, s.kv_dtype = rows[i].kv_dtype;
    s.layout = rows[i].layout, s.batch.drawn = rows[i].drawn, s.lse = i % 2 == 0, s.sink = i % 3 == 0;
    s.outliers = i % 3 == 1 ? 0.01f : 0;
    assert_int_equal(check_variants(f->device, &s), 2);
  }
}

TEST_WITH(cpu_variants_take_odd_head_dimensions, open_small, close_small) {
  struct fixture *f = *state;
  static const uint32_t dims[] = {1, 3, 17, 72, 255, 256};
  for (size_t i = 0; i < sizeof dims / sizeof dims[0]; ++i) {
    const struct attn_problem shape = ATTN_DENSE(1, 6, 2, 70, 90, dims[i], ATTN_F32, true);
    assert_int_equal(check_variants(f->device, &shape), 2);
  }
  assert_int_equal(
      check_variants(f->device, &(struct attn_problem)ATTN_DENSE(1, 1, 1, 16, 16, 8192, ATTN_F32, false)), 1);
}

/* Far inside the checker's tolerance, which would not see a polynomial that is wrong in its last digits. */
TEST_WITH(cpu_flash_is_exact_to_fp32_rounding, open_small, close_small) {
  struct fixture *f = *state;
  const struct attn_problem shape = ATTN_DENSE(1, 1, 1, 128, 300, 32, ATTN_F32, false);
  struct bench *bench = NULL;
  assert_int_equal(bench_open(f->device, &shape, SEED, &bench).code, STATUS_OK);
  const struct check_record check = check_bound(f->device, bench, variant_find("cpu_flash"));
  assert_true(check.compare.rel_frobenius < 4e-7);
  bench_close(bench);
}

TEST_WITH(cpu_flash_refuses_large_head_dimensions, open_small, close_small) {
  struct fixture *f = *state;
  const struct attn_variant *flash = variant_find("cpu_flash"), *ref = variant_find("cpu_ref");
  const struct attn_tuning tuning = {{0}};
  const struct attn_problem shape = ATTN_DENSE(1, 1, 1, 16, 16, 577, ATTN_F32, false);
  assert_string_equal(variant_supports(flash, &shape, &tuning, device_info(f->device)), "D must be at most 576");
  assert_null(variant_supports(ref, &shape, &tuning, device_info(f->device)));
}
