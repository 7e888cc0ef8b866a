/* Manifests of compiled kernels: what is read, what is planned from it, what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sweep/manifest.h"
#include "kernels/gpu_models.h"
#include "kernels/plugin_load.h"
#include "tests/unit.h"
#include "tests/unit_scratch.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];

static const char sound[] =
    "{\"attnbench_kernel\": 1, \"name\": \"filed\", \"about\": \"a test\", \"math\": \"tensor\","
    " \"compute_capability\": \"9.0\", \"dtypes\": [\"f16\", \"bf16\"], \"D\": [64, 128], \"causal\": [false],"
    " \"constants\": {\"BLOCK_M\": 128, \"WARPS\": 4},"
    " \"requires\": [{\"that\": \"Sq % 16 == 0\", \"because\": \"Sq must be a multiple of 16\"}],"
    " \"tile_q\": \"BLOCK_M\", \"tile_kv\": 64, \"stages\": 3, \"workspace_bytes\": \"B * Hq * Sq * 4\","
    " \"launches\": [{\"file\": \"k.cubin\", \"entry\": \"kernel\","
    " \"arguments\": [\"q\", \"k\", \"v\", \"o\", \"workspace\", {\"i32\": \"Sq - Skv\"}, {\"i64\": \"Hq * Sq * D\"},"
    " {\"f32\": \"scale_log2\"}, {\"f64\": 0.5}, {\"i8\": \"causal\"}, {\"zeros\": 12}, \"lse\"],"
    " \"grid\": [\"ceil_div(Sq, BLOCK_M)\", \"B * Hq\"], \"block\": \"32 * WARPS\", \"shared_memory\": 49152,"
    " \"axis_covers\": [\"Q\", \"B*H\"], \"row_threads\": 128}]}";

static int make_files(void **state) {
  (void)state;
  scratch_name(folder);
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/k.json", folder);
  char name[PATH_MAX + 16];
  snprintf(name, sizeof name, "%s/k.cubin", folder);
  FILE *file = fopen(name, "w");
  if (file != NULL) fclose(file);
  snprintf(name, sizeof name, "%s/link.cubin", folder);
  return file != NULL && symlink("k.cubin", name) == 0 ? 0 : -1;
}

static int remove_files(void **state) {
  (void)state;
  static const char *const names[] = {"k.json", "k.cubin", "link.cubin"};
  for (size_t i = 0; i < 3; ++i) {
    char name[PATH_MAX + 16];
    snprintf(name, sizeof name, "%s/%s", folder, names[i]);
    unlink(name);
  }
  return rmdir(folder);
}

static struct manifest manifest;

/* The sound text with one part of it replaced. */
static struct status parse_with(const char *part, const char *instead) {
  static char text[1 << 16];
  const char *at = strstr(sound, part);
  if (at == NULL) fail_msg("the sound manifest has no %s", part);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - sound), sound, instead, at + strlen(part));
  return manifest_parse(path, text, strlen(text), &manifest);
}

static void expect_refused(const char *part, const char *instead, const char *why) {
  const struct status status = parse_with(part, instead);
  if (status.code != STATUS_INPUT || strstr(status.text, why) == NULL)
    fail_msg("%s -> %s: %d \"%s\" lacks \"%s\"", part, instead, status.code, status.text, why);
  if (strncmp(status.text, path, strlen(path)) != 0) fail_msg("\"%s\" names no place", status.text);
}

static const struct attn_variant *added(void) {
  const struct attn_variant *variant = variant_find("filed");
  if (variant != NULL) return variant;
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(sound, file);
  fclose(file);
  assert_int_equal(manifest_variant_add(path).code, STATUS_OK);
  return variant_find("filed");
}

/* The sound manifest under another name, with tensor maps among its arguments. */
static const struct attn_variant *added_with_maps(void) {
  static const char old_name[] = "\"filed\"", old_list[] = "\"q\", \"k\", \"v\",";
  const struct attn_variant *variant = variant_find("mapped");
  if (variant != NULL) return variant;
  const char *name = strstr(sound, old_name), *list = strstr(sound, old_list);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "%.*s\"mapped\"%.*s%s%s", (int)(name - sound), sound, (int)(list - name - strlen(old_name)),
          name + strlen(old_name),
          "{\"i8\": 7}, {\"tensor_map\": \"q\", \"box\": [\"BLOCK_M\", 64], \"swizzle\": 128},"
          " {\"tensor_map\": \"k\", \"box\": [1, \"Skv / 4\", \"D\"]},",
          list + strlen(old_list));
  fclose(file);
  assert_int_equal(manifest_variant_add(path).code, STATUS_OK);
  return variant_find("mapped");
}

static const struct attn_problem shape = ATTN_DENSE(2, 8, 4, 512, 1000, 64, ATTN_F16, false);

TEST(a_manifest_is_a_variant_that_plans_without_a_gpu) {
  const struct attn_variant *variant = added();
  const struct device_info *gpu = &gpu_model_find("h200")->info;
  const struct attn_tuning tuning = {{0}};
  struct attn_plan plan;
  assert_non_null(variant);
  assert_true(variant_is_added(variant));
  char limits[ATTN_LIMITS_MAX];
  variant_limits(variant, limits);
  assert_string_equal(limits, "f16, bf16; D 64, 128; full; compute capability 9.0");
  assert_int_equal(plugin_check_variant("k.json", variant).code, STATUS_OK);
  assert_null(variant_supports(variant, &shape, &tuning, gpu));
  variant_plan(variant, &shape, &tuning, gpu, &plan);
  assert_null(plugin_plan_problem(variant, &plan, gpu));
  const struct attn_pass *pass = &plan.pass[0];
  assert_true(plan.pass_count == 1 && plan.tile_q == 128 && plan.tile_kv == 64 && plan.stages == 3 &&
              plan.splits == 1);
  assert_int_equal(plan.workspace_bytes, 2 * 8 * 512 * 4);
  assert_true(pass->grid[0] == 4 && pass->grid[1] == 16 && pass->grid[2] == 1);
  assert_true(pass->block[0] == 128 && pass->block[1] == 1 && pass->cluster[0] == 1);
  assert_true(pass->covers[0] == ATTN_COVERS_Q && pass->covers[1] == (ATTN_COVERS_B | ATTN_COVERS_H));
  assert_true(pass->dynamic_smem_bytes == 49152 && pass->row_threads == 128 && pass->image->argument_count == 12);
}

TEST(arguments_are_what_the_kernel_takes) {
  static struct attn_pass_args args[ATTN_PASSES_MAX];
  const struct attn_variant *variant = added();
  const struct attn_tuning tuning = {{0}};
  struct attn_plan plan;
  int pointee[5];
  float lse;
  const struct attn_buffers buffers = {
      .q = &pointee[0], .k = &pointee[1], .v = &pointee[2], .o = &pointee[3], .lse = &lse, .workspace = &pointee[4]};
  variant_plan(variant, &shape, &tuning, &gpu_model_find("h200")->info, &plan);
  memset(args, 0xee, sizeof args);
  assert_int_equal(variant->bind(&shape, &plan, &buffers, args).code, STATUS_OK);
  const struct attn_image *image = plan.pass[0].image;
  const void *pointer;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
  static const unsigned char zeros[12];
  static const uint32_t bytes[] = {8, 8, 8, 8, 8, 4, 8, 4, 8, 1, 12, 8};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; ++i) assert_int_equal(image->argument[i].bytes, bytes[i]);
  for (size_t i = 0; i < 5; ++i) {
    memcpy(&pointer, args[0].bytes + image->argument[i].offset, sizeof pointer);
    assert_ptr_equal(pointer, &pointee[i]);
  }
  memcpy(&i32, args[0].bytes + image->argument[5].offset, 4);
  memcpy(&i64, args[0].bytes + image->argument[6].offset, 8);
  memcpy(&f32, args[0].bytes + image->argument[7].offset, 4);
  memcpy(&f64, args[0].bytes + image->argument[8].offset, 8);
  assert_true(i32 == 512 - 1000 && i64 == 8 * 512 * 64 && f64 == 0.5);
  assert_true(f32 == (float)(1.4426950408889634 / 8));
  assert_int_equal(args[0].bytes[image->argument[9].offset], 0);
  assert_memory_equal(args[0].bytes + image->argument[10].offset, zeros, 12);
  memcpy(&pointer, args[0].bytes + image->argument[11].offset, sizeof pointer);
  assert_ptr_equal(pointer, &lse);
  assert_int_equal(variant->takes, ATTN_TAKES_LSE);
}

TEST(shapes_and_devices_that_do_not_fit_are_refused_with_a_sentence) {
  const struct attn_variant *variant = added();
  const struct attn_tuning tuning = {{0}};
  static const struct {
    struct attn_problem shape;
    const char *gpu, *why;
  } rows[] = {
      {ATTN_DENSE(1, 8, 8, 512, 512, 64, ATTN_F32, false), "h200", "dtype must be f16 or bf16"},
      {ATTN_DENSE(1, 8, 8, 512, 512, 80, ATTN_F16, false), "h200", "D is none"},
      {ATTN_DENSE(1, 8, 8, 512, 512, 64, ATTN_F16, true), "h200", "causal"},
      {ATTN_DENSE(1, 8, 8, 520, 512, 64, ATTN_F16, false), "h200", "multiple of 16"},
      {ATTN_DENSE(1, 8, 8, 512, 512, 64, ATTN_F16, false), "a100", "compute capability"},
      {ATTN_DENSE(65536, 1024, 8, 1u << 20, 512, 64, ATTN_F16, false), "h200", "is out of range for this shape"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const char *why = variant_supports(variant, &rows[i].shape, &tuning, &gpu_model_find(rows[i].gpu)->info);
    /* The last one's grid.y is 2^26, which the check of a launch finds. */
    if (i + 1 == sizeof rows / sizeof *rows) {
      struct attn_plan plan;
      assert_null(why);
      variant_plan(variant, &rows[i].shape, &tuning, &gpu_model_find("h200")->info, &plan);
      assert_non_null(plugin_plan_problem(variant, &plan, &gpu_model_find("h200")->info));
    } else if (why == NULL || strstr(why, rows[i].why) == NULL) {
      fail_msg("%zu: %s", i, why);
    }
  }
}

TEST(every_part_of_a_manifest_is_checked) {
  static const struct {
    const char *part, *instead, *why;
  } rows[] = {
      {"{\"attnbench_kernel\": 1,", "[1,", ""},
      {"\"attnbench_kernel\": 1", "\"attnbench_kernel\": 2", "the only value is 1"},
      {"\"name\": \"filed\"", "\"name\": \"Filed-1\"", "1 to 32 characters"},
      {"\"name\": \"filed\"", "\"Name\": \"filed\"", "did you mean"},
      {"\"name\": \"filed\",", "\"name\": \"filed\", \"name\": \"x\",", "twice"},
      {"\"about\": \"a test\"", "\"about\": \"two\\nlines\"", "ASCII"},
      {"\"math\": \"tensor\"", "\"math\": \"fp64\"", "\"wgmma\""},
      {"\"9.0\"", "9.0", "such as \"9.0\""},
      {"\"9.0\"", "\"9\"", "such as \"9.0\""},
      {"\"9.0\"", "\"sm_90\"", "such as \"9.0\""},
      {"[\"f16\", \"bf16\"]", "[\"f17\"]", "dtypes[0]"},
      {"[\"f16\", \"bf16\"]", "[]", "1 to 4 values"},
      {"[64, 128]", "[0]", "D[0]"},
      {"[64, 128]", "64", "1 to 16 values"},
      {"\"causal\": [false]", "\"causal\": [0]", "true, false"},
      {"\"causal\": [false],", "", "has no \"causal\""},
      {"\"BLOCK_M\": 128", "\"BLOCK_M\": 1.5", "a fraction"},
      {"\"BLOCK_M\": 128", "\"BLOCK M\": 128", "is not a name"},
      {"\"BLOCK_M\": 128", "\"4M\": 128", "is not a name"},
      {"\"WARPS\": 4", "\"Sq\": 4", "has a meaning already"},
      {"\"WARPS\": 4", "\"min\": 4", "has a meaning already"},
      {"\"WARPS\": 4", "\"BLOCK_M\": 4", "has a meaning already"},
      {"\"Sq % 16 == 0\"", "\"Sq % 16 = 0\"", "requires[0].that"},
      {"\"because\": \"Sq must be a multiple of 16\"", "\"because\": \"\"", "sentence"},
      {"\"BLOCK_M\", \"tile_kv\"", "\"BLOCKM\", \"tile_kv\"", "\"BLOCKM\", which is no value"},
      {"\"tile_kv\": 64, ", "", "no \"tile_kv\""},
      {"\"k.cubin\"", "\"other.cubin\"", "no such file"},
      {"\"k.cubin\"", "\"../k.cubin\"", "without a folder"},
      {"\"k.cubin\"", "\"/etc/passwd\"", "without a folder"},
      {"\"k.cubin\"", "\".cubin\"", "without a folder"},
      {"\"k.cubin\"", "\"k.json\"", ".cubin, .fatbin or .ptx"},
      {"\"k.cubin\"", "\"link.cubin\"", "put it there, not a link to it"},
      {"\"kernel\",", "\"\",", "the kernel's symbol"},
      {"\"q\", \"k\"", "\"Q\", \"k\"", "arguments[0]"},
      {"{\"i32\": \"Sq - Skv\"}", "{\"i32\": 1, \"i64\": 2}", "arguments[5]"},
      {"{\"i32\": \"Sq - Skv\"}", "{\"u32\": 1}", "arguments[5]"},
      {"{\"i32\": \"Sq - Skv\"}", "{}", "arguments[5]"},
      {"{\"i32\": \"Sq - Skv\"}", "{\"i32\": true}", "whole number or a formula"},
      {"\"scale_log2\"", "\"scale2\"", "1/sqrt(D)"},
      {"{\"zeros\": 12}", "{\"zeros\": 5000}", "from 1 to 4096"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"workspace\", \"box\": [1, 1]}", "the tensor that is mapped"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\"}", "has no \"box\""},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\", \"box\": [64]}", "the sides of a box"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\", \"box\": [1, 1, 1, 64, 64]}", "the sides of a box"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\", \"box\": [\"X\", 64]}", "box[0]"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\", \"box\": [64, 64], \"swizzle\": 48}", "0 (none), 32, 64 or 128"},
      {"{\"zeros\": 12}", "{\"tensor_map\": \"q\", \"box\": [64, 64], \"swizle\": 64}", "did you mean"},
      {"{\"zeros\": 12}",
       "{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]"
       "},"
       "{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]"
       "},"
       "{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]},{\"tensor_map\":\"q\",\"box\":[1,8]"
       "}",
       "one tensor map too many"},
      {"\"grid\": [\"ceil_div(Sq, BLOCK_M)\", \"B * Hq\"]", "\"grid\": [1, 1, 1, 1]", "1 to 3 values"},
      {"\"grid\": [\"ceil_div(Sq, BLOCK_M)\", \"B * Hq\"],", "", "has no \"grid\""},
      {"\"grid\": [\"ceil_div(Sq, BLOCK_M)\"", "\"grid\": [\"ceil_div(Sq)\"", "comma"},
      {"\"block\": \"32 * WARPS\"", "\"block\": -1", "from 0"},
      {"[\"Q\", \"B*H\"]", "[\"Q\", \"B*X\"]", "axis_covers[1]"},
      {"[\"Q\", \"B*H\"]", "[\"Q\", \"B*\"]", "axis_covers[1]"},
      {"[\"Q\", \"B*H\"]", "[\"Q\", \"?\"]", "axis_covers[1]"},
      {"[\"Q\", \"B*H\"]", "[\"Q\", \"B*H*Hkv\"]", "not both"},
      {"[\"Q\", \"B*H\"]", "[\"Hkv\", \"B*H\"]", "not both"},
      {", \"row_threads\": 128", "", "go together"},
      {"\"stages\": 3", "\"stages\": 3, \"extra\": 1", "extra"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) expect_refused(rows[i].part, rows[i].instead, rows[i].why);
}

/* A cut text must be refused wherever it is cut, and must not be read behind its end. */
TEST(a_manifest_cut_anywhere_is_refused) {
  for (size_t length = 0; length < sizeof sound - 1; ++length) {
    char *text = malloc(length + 1);
    assert_non_null(text);
    memcpy(text, sound, length);
    text[length] = '\0';
    assert_int_equal(manifest_parse(path, text, length, &manifest).code, STATUS_INPUT);
    free(text);
  }
}

TEST(a_kernel_that_is_not_described_is_planned_all_the_same) {
  const struct status status = parse_with(", \"axis_covers\": [\"Q\", \"B*H\"], \"row_threads\": 128", "");
  assert_int_equal(status.code, STATUS_OK);
  assert_false(manifest.launch[0].is_described);
  assert_int_equal(manifest.launch[0].covers[2], ATTN_COVERS_UNKNOWN);
}

TEST(a_grid_of_kv_heads_can_be_described) {
  const struct status status = parse_with("[\"Q\", \"B*H\"]", "[\"Q*B\", \"Hkv\", \"-\"]");
  assert_int_equal(status.code, STATUS_OK);
  assert_int_equal(manifest.launch[0].covers[0], ATTN_COVERS_Q | ATTN_COVERS_B);
  assert_int_equal(manifest.launch[0].covers[1], ATTN_COVERS_HKV);
  assert_int_equal(manifest.launch[0].covers[2], ATTN_COVERS_NOTHING);
}

TEST(tensor_maps_are_aligned_arguments_and_need_a_box_that_can_be) {
  const struct attn_variant *variant = added_with_maps();
  const struct device_info *gpu = &gpu_model_find("h200")->info;
  const struct attn_tuning tuning = {{0}};
  struct attn_plan plan;
  assert_null(variant_supports(variant, &shape, &tuning, gpu));
  variant_plan(variant, &shape, &tuning, gpu, &plan);
  assert_null(plugin_plan_problem(variant, &plan, gpu));
  const struct attn_image_argument *argument = plan.pass[0].image->argument;
  assert_true(argument[0].offset == 0 && argument[0].bytes == 1);
  assert_true(argument[1].offset == 64 && argument[1].bytes == 128);
  assert_true(argument[2].offset == 192 && argument[3].offset == 320);
  struct attn_problem wide = shape;
  wide.Skv = 1028; /* a box of 257 rows */
  const char *why = variant_supports(variant, &wide, &tuning, gpu);
  assert_non_null(why);
  assert_non_null(strstr(why, "the box of a tensor map of its manifest is out of range"));
}

UNIT_FIXTURE(make_files, remove_files)
