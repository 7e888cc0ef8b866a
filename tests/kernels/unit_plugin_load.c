#include <string.h>

#include "kernels/gpu_models.h"
#include "kernels/plugin_load.h"
#include "tests/unit.h"

static const char *supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                            const struct device_info *device) {
  (void)shape, (void)tuning, (void)device;
  return NULL;
}

static void plan(const struct attn_problem *shape, const struct attn_tuning *tuning, const struct device_info *device,
                 struct attn_plan *out) {
  (void)shape, (void)tuning, (void)device, (void)out;
}

static void run(const struct attn_problem *shape, const struct attn_plan *planned, const struct attn_buffers *buffers,
                unsigned threads) {
  (void)shape, (void)planned, (void)buffers, (void)threads;
}

static struct attn_variant sound_variant(void) {
  return (struct attn_variant){.name = "probe",
                               .summary = "s",
                               .limits = "l",
                               .runs_on = DEVICE_CPU,
                               .math = ATTN_MATH_FP32_HOST,
                               .supports = supports,
                               .plan = plan,
                               .run = run};
}

#define PLUGIN_SIZE(name, grows) (uint32_t)sizeof(struct name),
static struct attn_plugin sound_plugin(void) {
  static const struct attn_variant *const variants[1];
  return (struct attn_plugin){
      .abi = ATTN_PLUGIN_ABI, .bytes = {ATTN_PLUGIN_STRUCTS(PLUGIN_SIZE)}, .variant_count = 1, .variants = variants};
}

static void expect_refusal(const struct status *status, const char *fragment) {
  assert_int_equal(status->code, STATUS_USAGE);
  if (strstr(status->text, fragment) == NULL) fail_msg("\"%s\" lacks \"%s\"", status->text, fragment);
  assert_non_null(strstr(status->text, "--load a.so: "));
}

TEST(sound_descriptions_pass) {
  const struct attn_plugin plugin = sound_plugin();
  const struct attn_variant variant = sound_variant();
  assert_int_equal(plugin_check("a.so", &plugin).code, STATUS_OK);
  assert_int_equal(plugin_check_variant("a.so", &variant).code, STATUS_OK);
}

TEST(every_struct_size_is_compared) {
  for (size_t i = 0; i < ATTN_PLUGIN_STRUCT_COUNT; ++i) {
    struct attn_plugin plugin = sound_plugin();
    ++plugin.bytes[i];
    const struct status status = plugin_check("a.so", &plugin);
    expect_refusal(&status, "build it again");
  }
}

TEST(abi_and_counts_are_checked) {
  struct attn_plugin plugin = sound_plugin();
  plugin.abi = ATTN_PLUGIN_ABI + 1;
  struct status status = plugin_check("a.so", &plugin);
  expect_refusal(&status, "was built for plugin ABI 7 and this attnbench has 6");
  const uint32_t counts[] = {0, ATTN_PLUGIN_VARIANTS_MAX + 1, UINT32_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    plugin = sound_plugin();
    plugin.variant_count = counts[i];
    status = plugin_check("a.so", &plugin);
    expect_refusal(&status, "list 1 to");
  }
  plugin = sound_plugin();
  plugin.variants = NULL;
  status = plugin_check("a.so", &plugin);
  expect_refusal(&status, "NULL");
}

static char long_text[ATTN_PLUGIN_TEXT_MAX + 2];

TEST(names_and_texts_are_checked) {
  memset(long_text, 'a', sizeof long_text - 1);
  const char *const names[] = {NULL, "", "A", "a-b", "a b", "\xc3\xa9", "a23456789012345678901234567890123"};
  const char *const texts[] = {NULL, "", "two\nlines", "\xff", long_text};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    struct attn_variant variant = sound_variant();
    variant.name = names[i];
    const struct status status = plugin_check_variant("a.so", &variant);
    expect_refusal(&status, "name must be 1 to 32");
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    struct attn_variant variant = sound_variant();
    variant.summary = texts[i];
    struct status status = plugin_check_variant("a.so", &variant);
    expect_refusal(&status, "summary must");
    variant = sound_variant();
    variant.limits = texts[i];
    status = plugin_check_variant("a.so", &variant);
    if (texts[i] != NULL)
      expect_refusal(&status, "limits must");
    else
      assert_int_equal(status.code, STATUS_OK); /* its types and dimensions say it all */
  }
}

TEST(missing_hooks_are_named) {
  struct attn_variant variant = sound_variant();
  variant.supports = NULL;
  struct status status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "supports is NULL");
  variant = sound_variant();
  variant.plan = NULL;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "plan is NULL");
  variant = sound_variant();
  variant.run = NULL;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "run is NULL");
  variant = sound_variant();
  variant.runs_on = DEVICE_CUDA;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "run must be NULL");
  variant.run = NULL; /* bind is NULL too: an object built without nvcc can still be planned */
  assert_int_equal(plugin_check_variant("a.so", &variant).code, STATUS_OK);
  variant.runs_on = (enum device_kind)7;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "runs_on must");
}

static const char *library_name(void) { return "lib 1"; }
static struct status library_open(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                  const struct device_info *device, void *stream, void **of, uint64_t *bytes) {
  (void)shape, (void)tuning, (void)device, (void)stream, (void)of, (void)bytes;
  return status_ok();
}
static struct status library_attach(void *of, const struct attn_buffers *buffers) {
  (void)of, (void)buffers;
  return status_ok();
}
static struct status library_enqueue(void *of) {
  (void)of;
  return status_ok();
}
static void library_close(void *of) { (void)of; }
static struct status bind(const struct attn_problem *shape, const struct attn_plan *planned,
                          const struct attn_buffers *buffers, struct attn_pass_args args[ATTN_PASSES_MAX]) {
  (void)shape, (void)planned, (void)buffers, (void)args;
  return status_ok();
}

static const struct attn_vendor library = {.missing = library_name,
                                           .library = library_name,
                                           .open = library_open,
                                           .attach = library_attach,
                                           .enqueue = library_enqueue,
                                           .close = library_close};

TEST(a_library_needs_all_of_its_hooks_and_no_others) {
  struct attn_variant variant = sound_variant();
  variant.runs_on = DEVICE_CUDA, variant.run = NULL, variant.vendor = &library;
  assert_int_equal(plugin_check_variant("a.so", &variant).code, STATUS_OK);
  for (size_t i = 0; i < offsetof(struct attn_vendor, collect) / sizeof(void *); ++i) {
    struct attn_vendor lacks = library;
    memset((char *)&lacks + i * sizeof(void *), 0, sizeof(void *));
    variant.vendor = &lacks;
    const struct status status = plugin_check_variant("a.so", &variant);
    expect_refusal(&status, "all of missing, library, open");
  }
  static const struct pick_table *const picks = (const void *)&library;
  variant.vendor = NULL, variant.picks = picks;
  struct status status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "picks must be NULL");
  variant.picks = NULL, variant.vendor = &library, variant.bind = bind;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "bind must be NULL beside vendor");
  variant.bind = NULL, variant.runs_on = DEVICE_CPU, variant.run = run;
  status = plugin_check_variant("a.so", &variant);
  expect_refusal(&status, "vendor is for CUDA variants");
}

TEST(what_a_hook_returns_is_made_a_status) {
  struct status wild = {.code = (enum status_code)77};
  memset(wild.text, '\xe9', sizeof wild.text); /* no end, and no UTF-8 */
  struct status made = plugin_status(&wild);
  assert_int_equal(made.code, STATUS_DEVICE);
  assert_true(strlen(made.text) < STATUS_TEXT_MAX);
  assert_int_equal(strspn(made.text, "?."), strlen(made.text));
  const struct status refusal = status_make(STATUS_UNSUPPORTED, "D must be 64");
  made = plugin_status(&refusal);
  assert_int_equal(made.code, STATUS_UNSUPPORTED);
  assert_string_equal(made.text, "D must be 64");
  const struct status exits = status_make(STATUS_INTERRUPTED, "stop");
  assert_int_equal(plugin_status(&exits).code, STATUS_DEVICE);
  wild.code = STATUS_OK;
  assert_string_equal(plugin_status(&wild).text, "");
}

TEST(tunables_are_checked) {
  static const struct {
    struct attn_tunable tunables[ATTN_TUNABLES_MAX + 2];
    const char *fragment;
  } rows[] = {
      {{{"a", 1, 4, 5, "h"}}, "default_value"},
      {{{"a", 1, 4, 0, "h"}}, "default_value"},
      {{{"A", 1, 4, 1, "h"}}, "tunable's name"},
      {{{"a", 1, 4, 1, NULL}}, "tunable's help"},
      {{{"a", 1, 4, 1, "h"}, {"a", 1, 4, 1, "h"}}, "one name"},
      {{{"a", 0, 0, 0, "h"},
        {"b", 0, 0, 0, "h"},
        {"c", 0, 0, 0, "h"},
        {"d", 0, 0, 0, "h"},
        {"e", 0, 0, 0, "h"},
        {"f", 0, 0, 0, "h"},
        {"g", 0, 0, 0, "h"},
        {"h", 0, 0, 0, "h"},
        {"i", 0, 0, 0, "h"}},
       "8 tunables are the most"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_variant variant = sound_variant();
    variant.tunables = rows[i].tunables;
    const struct status status = plugin_check_variant("a.so", &variant);
    expect_refusal(&status, rows[i].fragment);
  }
}

/* ---- plans --------------------------------------------------------------------------------------------------- */

static const struct attn_variant on_cpu = {.runs_on = DEVICE_CPU}, launched = {.runs_on = DEVICE_CUDA};

static struct attn_plan sound_plan(void) {
  struct attn_plan out = {.pass_count = 1, .tile_q = 1, .tile_kv = 1, .splits = 1, .stages = 1};
  out.pass[0] = (struct attn_pass){
      .name = "main", .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .row_threads = 32};
  return out;
}

static void expect_plan_problem(const struct attn_plan *planned, const char *fragment) {
  const char *problem = plugin_plan_problem(&launched, planned, &gpu_model_find("h200")->info);
  if (problem == NULL || strstr(problem, fragment) == NULL) fail_msg("%s: not \"%s\"", problem, fragment);
}

TEST(plans_within_the_limits_pass) {
  const struct device_info *gpu = &gpu_model_find("h200")->info;
  const struct device_info cpu = {.kind = DEVICE_CPU};
  struct attn_plan planned = sound_plan();
  assert_null(plugin_plan_problem(&launched, &planned, gpu));
  planned.pass[0].grid[0] = INT32_MAX;
  planned.pass[0].grid[1] = planned.pass[0].grid[2] = 65535;
  planned.pass[0].block[1] = 32;
  planned.pass[0].dynamic_smem_bytes = gpu->smem_per_block_bytes;
  planned.pass_count = 2;
  planned.pass[1] = planned.pass[0];
  planned.pass[1].name = "second";
  planned.pass[1].grid[0] = 32;
  planned.pass[1].cluster[0] = 16;
  assert_null(plugin_plan_problem(&launched, &planned, gpu));
  planned = (struct attn_plan){0};
  assert_null(plugin_plan_problem(&on_cpu, &planned, &cpu));
}

TEST(every_axis_that_a_plan_may_walk_passes) {
  const unsigned axes[] = {ATTN_COVERS_B, ATTN_COVERS_H, ATTN_COVERS_Q, ATTN_COVERS_SPLIT, ATTN_COVERS_D};
  for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i) {
    struct attn_plan planned = sound_plan();
    planned.pass[0].covers[0] = axes[i];
    assert_null(plugin_plan_problem(&launched, &planned, &gpu_model_find("h200")->info));
  }
}

TEST(clusters_divide_the_grid_of_a_device_that_has_them) {
  struct attn_plan planned = sound_plan();
  planned.pass[0].grid[0] = 6;
  planned.pass[0].cluster[0] = 2;
  assert_null(plugin_plan_problem(&launched, &planned, &gpu_model_find("h200")->info));
  const char *problem = plugin_plan_problem(&launched, &planned, &gpu_model_find("a100")->info);
  assert_non_null(problem);
  assert_non_null(strstr(problem, "compute capability 9.0"));
  planned.pass[0].cluster[0] = 4;
  expect_plan_problem(&planned, "multiple of the cluster");
}

TEST(a_pass_may_work_on_no_rows_beside_one_that_does) {
  struct attn_plan planned = sound_plan();
  planned.pass_count = 2;
  planned.pass[1] = planned.pass[0];
  planned.pass[0].name = "reset";
  planned.pass[0].row_threads = 0;
  assert_null(plugin_plan_problem(&launched, &planned, &gpu_model_find("h200")->info));
  planned.pass[1].row_threads = 0;
  expect_plan_problem(&planned, "row_threads is 0 in every pass");
}

TEST(a_library_plans_no_passes) {
  const struct attn_variant variant = {.runs_on = DEVICE_CUDA, .vendor = &library};
  const struct device_info *gpu = &gpu_model_find("h200")->info;
  struct attn_plan planned = {.tile_q = 128};
  assert_null(plugin_plan_problem(&variant, &planned, gpu));
  planned = sound_plan();
  const char *problem = plugin_plan_problem(&variant, &planned, gpu);
  assert_non_null(problem);
  assert_non_null(strstr(problem, "beside vendor"));
}

TEST(producers_and_rows_share_the_block) {
  struct attn_plan planned = sound_plan();
  planned.pass[0].block[0] = 160, planned.pass[0].row_threads = 128, planned.pass[0].producer_threads = 32;
  assert_null(plugin_plan_problem(&launched, &planned, &gpu_model_find("h200")->info));
  planned.pass[0].producer_threads = 33;
  expect_plan_problem(&planned, "row_threads and producer_threads");
  planned.pass[0].producer_threads = UINT32_MAX;
  expect_plan_problem(&planned, "row_threads and producer_threads");
}

TEST(pass_counts_fit_the_device) {
  const struct device_info cpu = {.kind = DEVICE_CPU};
  struct attn_plan planned = sound_plan();
  assert_non_null(plugin_plan_problem(&on_cpu, &planned, &cpu));
  planned.pass_count = 0;
  expect_plan_problem(&planned, "pass_count is 0");
  planned.pass_count = ATTN_PASSES_MAX + 1;
  expect_plan_problem(&planned, "at most 4");
  planned.pass_count = UINT32_MAX;
  assert_non_null(plugin_plan_problem(&on_cpu, &planned, &cpu));
  planned = sound_plan();
  planned.pass[1] = planned.pass[0];
  planned.pass_count = 2;
  expect_plan_problem(&planned, "one name");
  planned = sound_plan();
  planned.picked = &on_cpu;
  expect_plan_problem(&planned, "picked");
  planned = sound_plan();
  planned.splits = 0;
  expect_plan_problem(&planned, "splits");
}

TEST(every_limit_of_a_pass_is_checked) {
  static const struct {
    size_t offset;
    uint32_t value;
    const char *fragment;
  } rows[] = {
      {offsetof(struct attn_pass, grid[0]), 0, "grid.x"},
      {offsetof(struct attn_pass, grid[0]), UINT32_MAX, "grid.x"},
      {offsetof(struct attn_pass, grid[1]), 0, "grid.y"},
      {offsetof(struct attn_pass, grid[1]), 65536, "grid.y"},
      {offsetof(struct attn_pass, grid[2]), 65536, "grid.z"},
      {offsetof(struct attn_pass, block[0]), 0, "threads of a block"},
      {offsetof(struct attn_pass, block[1]), 33, "threads of a block"},
      {offsetof(struct attn_pass, block[2]), UINT32_MAX, "threads of a block"},
      {offsetof(struct attn_pass, cluster[0]), 0, "cluster"},
      {offsetof(struct attn_pass, cluster[1]), 17, "cluster"},
      {offsetof(struct attn_pass, dynamic_smem_bytes), UINT32_MAX, "dynamic_smem_bytes"},
      {offsetof(struct attn_pass, row_threads), 0, "row_threads"},
      {offsetof(struct attn_pass, row_threads), 33, "row_threads"},
      {offsetof(struct attn_pass, covers[0]), ATTN_COVERS_UNKNOWN, "covers"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_plan planned = sound_plan();
    memcpy((char *)&planned.pass[0] + rows[i].offset, &rows[i].value, sizeof rows[i].value);
    expect_plan_problem(&planned, rows[i].fragment);
  }
  const char *const names[] = {NULL, "", "Main", "a1", "abcdefghijklmnopqrstuvwx"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    struct attn_plan planned = sound_plan();
    planned.pass[0].name = names[i];
    expect_plan_problem(&planned, "pass's name");
  }
}

TEST(built_in_variants_are_launched_by_their_own_handle) {
  struct attn_plan planned = sound_plan();
  const void *handle = NULL;
  planned.pass[0].kernel = &planned;
  assert_int_equal(plugin_launch_handle(variant_at(0), &planned.pass[0], &handle).code, STATUS_OK);
  assert_ptr_equal(handle, &planned);
}
