/* tags: asan */
/* Launch geometry of every CUDA variant in the registry over a grid of shapes, devices and tunables. No GPU. */
#include <string.h>
#include <time.h>

#include "kernels/gpu_models.h"
#include "kernels/occupancy.h"
#include "kernels/variant.h"
#include "tests/unit.h"

enum { GRID_X_MAX = INT32_MAX, GRID_YZ_MAX = 65535, WARP_THREADS = 32, SENTENCE_MIN = 10 };
enum { FLOAT_DTYPES = ATTN_E4M3 }; /* f16, bf16 and f32 come first */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One variant on one device with one shape and tuning. */
struct point {
  const struct attn_variant *variant;
  const struct gpu_model *model;
  struct attn_problem shape;
  struct attn_tuning tuning;
};

static uint32_t ceil_div(uint32_t n, uint32_t d) { return n / d + (n % d != 0); }

static void fail_at(const struct point *p, const char *what) {
  const struct attn_problem *s = &p->shape;
  fail_msg("%s(%d) on %s, B%u Hq%u Hkv%u Sq%u Skv%u D%u %s%s: not (%s)", p->variant->name, p->tuning.value[0],
           p->model->name, s->B, s->Hq, s->Hkv, s->Sq, s->Skv, s->D, attn_dtype_name(s->dtype),
           s->right == 0 ? " causal" : "", what);
}
#define CHECK(point, condition) ((condition) ? (void)0 : fail_at(point, #condition))

/* ---- the grid of points -------------------------------------------------------------------------------------- */

static const uint32_t batches[] = {1, 3, 65536};
static const uint32_t heads[][2] = {{1, 1}, {8, 8}, {8, 2}, {1024, 1}};
static const uint32_t lengths[] = {1, 63, 64, 65, 127, 777, 1048576};
static const uint32_t dims[] = {1, 4, 64, 72, 128, 129, 520, 8192};

enum {
  SHAPE_COUNT =
      (int)(COUNT(batches) * COUNT(heads) * COUNT(lengths) * COUNT(lengths) * COUNT(dims) * FLOAT_DTYPES * 2)
};

static size_t take_digit(size_t *index, size_t base) {
  const size_t digit = *index % base;
  *index /= base;
  return digit;
}

static struct attn_problem shape_at(size_t index) {
  struct attn_problem s = {0};
  s.left = -1, s.right = take_digit(&index, 2) == 1 ? 0 : -1;
  s.dtype = (enum attn_dtype)take_digit(&index, FLOAT_DTYPES);
  s.D = s.Dv = dims[take_digit(&index, COUNT(dims))];
  s.Skv = lengths[take_digit(&index, COUNT(lengths))];
  s.Sq = lengths[take_digit(&index, COUNT(lengths))];
  const size_t head = take_digit(&index, COUNT(heads));
  s.Hq = heads[head][0], s.Hkv = heads[head][1];
  s.B = batches[take_digit(&index, COUNT(batches))];
  return s;
}

enum { TUNING_DEFAULT, TUNING_MIN, TUNING_MAX, TUNING_COUNT };

static struct attn_tuning tuning_at(const struct attn_variant *variant, int which) {
  struct attn_tuning tuning = variant_default_tuning(variant);
  for (size_t i = 0; which != TUNING_DEFAULT && i < variant_tunable_count(variant); i++)
    tuning.value[i] = which == TUNING_MIN ? variant->tunables[i].min : variant->tunables[i].max;
  return tuning;
}

/* Every shape with every variant, GPU and tuning would take minutes. Each of these combinations has the shapes of one
 * remainder, so that neighbouring GPUs and tunings have others. STEP has no factor in common with a base of the
 * digits. */
enum { STEP = 11 };

static void for_each_shape(const struct attn_variant *variant, const struct gpu_model *model, int tuning,
                           size_t first, void (*check)(const struct point *)) {
  struct point p = {.variant = variant, .model = model, .tuning = tuning_at(variant, tuning)};
  for (size_t i = first % STEP; i < SHAPE_COUNT; i += STEP) {
    p.shape = shape_at(i);
    check(&p);
  }
}

static void for_each_point(void (*check)(const struct point *)) {
  size_t combination = 0;
  for (size_t v = 0; v < variant_count(); v++) {
    const struct attn_variant *variant = variant_at(v);
    const int tunings = variant_tunable_count(variant) > 0 ? TUNING_COUNT : 1;
    /* A vendor chooses its launches itself, and the plan of a pick is another variant's (unit_pick). */
    if (variant->runs_on != DEVICE_CUDA || variant->vendor || variant->picks) continue;
    for (size_t m = 0; m < gpu_model_count(); m++)
      for (int t = 0; t < tunings; t++) for_each_shape(variant, gpu_model_at(m), t, combination++, check);
  }
}

static const char *refusal(const struct point *p) {
  return variant_supports(p->variant, &p->shape, &p->tuning, &p->model->info);
}

static struct attn_plan plan_of(const struct point *p) {
  struct attn_plan plan;
  variant_plan(p->variant, &p->shape, &p->tuning, &p->model->info, &plan);
  return plan;
}

/* ---- properties of one pass ---------------------------------------------------------------------------------- */

static void check_name(const struct point *p, const struct attn_pass *pass) {
  CHECK(p, pass->name != NULL && pass->name[0] != '\0');
  CHECK(p, strspn(pass->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(pass->name));
}

static void check_grid(const struct point *p, const struct attn_pass *pass) {
  CHECK(p, pass->grid[0] >= 1 && pass->grid[0] <= GRID_X_MAX);
  CHECK(p, pass->grid[1] >= 1 && pass->grid[1] <= GRID_YZ_MAX);
  CHECK(p, pass->grid[2] >= 1 && pass->grid[2] <= GRID_YZ_MAX);
  for (size_t axis = 0; axis < 3; axis++) {
    CHECK(p, pass->cluster[axis] >= 1 && pass->grid[axis] % pass->cluster[axis] == 0);
    CHECK(p, pass->grid[axis] == 1 || pass->covers[axis] != ATTN_COVERS_NOTHING);
  }
}

static void check_block(const struct point *p, const struct attn_pass *pass) {
  const struct device_info *device = &p->model->info;
  const uint64_t threads = (uint64_t)pass->block[0] * pass->block[1] * pass->block[2];
  CHECK(p, threads >= 1 && threads <= device->threads_per_block);
  CHECK(p, threads % WARP_THREADS == 0);
  CHECK(p, pass->row_threads + pass->producer_threads <= threads);
  CHECK(p, pass->dynamic_smem_bytes <= device->smem_per_block_bytes);
  CHECK(p, occupancy_of(device, (uint32_t)threads, 0, pass->dynamic_smem_bytes).resident_blocks >= 1);
}

/* Least size of an axis that covers these dimensions of the problem. `packed`: a KV head's query heads share q tiles.
 */
static uint64_t items_covered(const struct point *p, const struct attn_plan *plan, unsigned covers, bool packed) {
  uint64_t items = 1;
  if (covers & ATTN_COVERS_B) items *= p->shape.B;
  if (covers & ATTN_COVERS_H) items *= p->shape.Hq;
  if (covers & ATTN_COVERS_HKV) items *= p->shape.Hkv;
  if (covers & ATTN_COVERS_Q)
    items *= ceil_div(packed ? p->shape.Sq * (p->shape.Hq / p->shape.Hkv) : p->shape.Sq, plan->tile_q);
  if (covers & ATTN_COVERS_SPLIT) items *= plan->splits;
  return items;
}

/* The tunable `persistent`: blocks that loop over the items of x, down to one wave of them. Those of decode_general
 * and mla always do. */
static bool is_persistent(const struct point *p) {
  if (strcmp(p->variant->name, "decode_general") == 0 || strcmp(p->variant->name, "mla") == 0) return true;
  for (size_t i = 0; i < variant_tunable_count(p->variant); i++)
    if (strcmp(p->variant->tunables[i].name, "persistent") == 0) return p->tuning.value[i] != 0;
  return false;
}

/* Query tiles that a block computes one after the other: the specimen's blocks take 256 rows, 128 at a time. */
static uint64_t tiles_of_a_block(const struct point *p) { return strcmp(p->variant->name, "serial") == 0 ? 2 : 1; }

static void check_axis(const struct point *p, const struct attn_plan *plan, const struct attn_pass *pass,
                       size_t axis) {
  const bool packed = ((pass->covers[0] | pass->covers[1] | pass->covers[2]) & ATTN_COVERS_HKV) != 0;
  const uint64_t items = items_covered(p, plan, pass->covers[axis], packed);
  const struct device_info *device = &p->model->info;
  const uint32_t resident = occupancy_of(device, pass->block[0], 0, pass->dynamic_smem_bytes).resident_blocks;
  if (axis != 0 || !is_persistent(p)) {
    CHECK(p, pass->grid[axis] * tiles_of_a_block(p) >= items);
  } else {
    CHECK(p, pass->grid[axis] <= items && pass->grid[axis] <= (uint64_t)device->sms * resident);
    CHECK(p, pass->grid[axis] == items || pass->grid[axis] >= device->sms);
  }
}

static void check_cover(const struct point *p, const struct attn_plan *plan, const struct attn_pass *pass) {
  unsigned seen = 0;
  for (size_t axis = 0; axis < 3; axis++) {
    check_axis(p, plan, pass, axis);
    CHECK(p, (seen & pass->covers[axis]) == 0);
    seen |= pass->covers[axis];
  }
  CHECK(p, seen & ATTN_COVERS_Q);
}

/* ---- properties of a plan ------------------------------------------------------------------------------------ */

static void check_refusal_is_a_sentence(const struct point *p) {
  const char *reason = refusal(p);
  CHECK(p, reason == NULL || strlen(reason) >= SENTENCE_MIN);
}

static void check_launchable(const struct point *p) {
  if (refusal(p)) return;
  const struct attn_plan plan = plan_of(p);
  CHECK(p, plan.pass_count >= 1 && plan.pass_count <= ATTN_PASSES_MAX);
  for (uint32_t i = 0; i < plan.pass_count; i++) {
    check_name(p, &plan.pass[i]);
    check_grid(p, &plan.pass[i]);
    check_block(p, &plan.pass[i]);
    for (uint32_t j = 0; j < i; j++) CHECK(p, strcmp(plan.pass[i].name, plan.pass[j].name) != 0);
  }
}

static void check_complete(const struct point *p) {
  if (refusal(p)) return;
  const struct attn_plan plan = plan_of(p);
  CHECK(p, plan.tile_q >= 1 && plan.tile_kv >= 1);
  CHECK(p, plan.splits >= 1 && plan.splits <= ceil_div(p->shape.Skv, plan.tile_kv));
  CHECK(p, plan.stages >= 1);
  CHECK(p, memcmp(&plan.tuning, &p->tuning, sizeof plan.tuning) == 0);
  CHECK(p, plan.pass_count > 1 || plan.splits > 1 || plan.workspace_bytes == plan.zeroed_bytes);
  CHECK(p, plan.zeroed_bytes % 256 == 0 && plan.zeroed_bytes <= plan.workspace_bytes);
  bool computes = false;
  for (uint32_t i = 0; i < plan.pass_count; i++) {
    check_cover(p, &plan, &plan.pass[i]);
    computes = computes || plan.pass[i].row_threads > 0;
  }
  CHECK(p, computes);
}

static void check_deterministic(const struct point *p) {
  if (refusal(p)) return;
  struct attn_plan first, second;
  memset(&first, 0x00, sizeof first);
  memset(&second, 0xff, sizeof second);
  variant_plan(p->variant, &p->shape, &p->tuning, &p->model->info, &first);
  variant_plan(p->variant, &p->shape, &p->tuning, &p->model->info, &second);
  CHECK(p, memcmp(&first, &second, sizeof first) == 0);
}

TEST(refusals_are_sentences) { for_each_point(check_refusal_is_a_sentence); }

TEST(plans_stay_within_the_devices_limits) { for_each_point(check_launchable); }

TEST(plans_cover_every_query_tile_and_split) { for_each_point(check_complete); }

TEST(plans_are_the_same_bytes_each_time) { for_each_point(check_deterministic); }

/* ---- exact expectations -------------------------------------------------------------------------------------- */

static struct point point_of(const char *variant, const char *model, struct attn_problem shape) {
  struct point p = {.variant = variant_find(variant), .model = gpu_model_find(model), .shape = shape};
  assert_non_null(p.variant);
  assert_non_null(p.model);
  p.tuning = variant_default_tuning(p.variant);
  return p;
}

static struct attn_problem square(uint32_t B, uint32_t H, uint32_t S, uint32_t D, enum attn_dtype dtype) {
  return (struct attn_problem)ATTN_DENSE(B, H, H, S, S, D, dtype, false);
}

static void assert_grid(const struct attn_pass *pass, uint32_t x, uint32_t y, uint32_t z) {
  assert_int_equal(pass->grid[0], x);
  assert_int_equal(pass->grid[1], y);
  assert_int_equal(pass->grid[2], z);
}

TEST(serial_grid_ignores_batch_and_heads) {
  static const uint32_t bh[][2] = {{1, 8}, {4, 16}, {8, 16}};
  for (size_t i = 0; i < COUNT(bh); i++) {
    const struct point p = point_of("serial", "l4", square(bh[i][0], bh[i][1], 512, 64, ATTN_F16));
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], 2, 1, 1);
    assert_int_equal(plan.pass[0].block[0], 128);
    assert_int_equal(plan.pass[0].covers[0], ATTN_COVERS_Q);
    assert_int_equal(plan.tile_q, 128); /* K and V are read for 128 rows at a time: 4 times, not twice */
  }
}

TEST(scalar_grid_is_heads_batches_q_tiles) {
  static const struct {
    uint32_t B, H, S, tiles;
  } rows[] = {{1, 1, 4, 1}, {1, 1, 64, 1}, {1, 1, 65, 2}, {1, 1, 128, 2}, {8, 4, 128, 2}, {16, 8, 512, 8}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct point p = point_of("scalar", "l4", square(rows[i].B, rows[i].H, rows[i].S, 64, ATTN_F16));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], rows[i].H, rows[i].B, rows[i].tiles);
    assert_int_equal(plan.pass[0].block[0], 256);
    assert_int_equal(plan.pass[0].row_threads, 64);
  }
}

TEST(scalar_takes_four_keys_of_dimension_four) {
  for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
    const struct point p = point_of("scalar", "l4", square(1, 1, 4, 4, (enum attn_dtype)dtype));
    assert_null(refusal(&p));
  }
}

enum { QUAD_ROWS, QUAD_VEC, QUAD_PAD, QUAD_PERSISTENT, QUAD_BOUNDS };

TEST(scalar_quad_has_the_grid_of_scalar_and_no_idle_thread) {
  const struct attn_problem shape = square(3, 5, 200, 64, ATTN_F16);
  const struct point scalar = point_of("scalar", "l4", shape);
  struct point p = point_of("scalar_quad", "l4", shape);
  assert_memory_equal(plan_of(&p).pass[0].grid, plan_of(&scalar).pass[0].grid, sizeof(uint32_t[3]));
  assert_int_equal(plan_of(&p).pass[0].row_threads, 256);
  p.tuning.value[QUAD_ROWS] = 32;
  assert_grid(&plan_of(&p).pass[0], 5, 3, 7);
  assert_int_equal(plan_of(&p).pass[0].row_threads, 256);
  p.tuning.value[QUAD_ROWS] = 48;
  assert_string_equal(refusal(&p), "rows must be 32 or 64");
}

TEST(scalar_quad_takes_wide_copies_only_of_whole_words) {
  static const struct {
    uint32_t D;
    enum attn_dtype dtype;
    bool takes;
  } rows[] = {{64, ATTN_F16, true}, {4, ATTN_F16, false}, {4, ATTN_F32, true},  {72, ATTN_BF16, true},
              {1, ATTN_F32, false}, {2, ATTN_F32, false}, {8, ATTN_BF16, true}, {127, ATTN_F16, false}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("scalar_quad", "l4", square(1, 1, 64, rows[i].D, rows[i].dtype));
    assert_null(refusal(&p));
    p.tuning.value[QUAD_VEC] = 1;
    assert_int_equal(refusal(&p) == NULL, rows[i].takes);
  }
}

TEST(scalar_quad_padding_is_sixteen_bytes_a_row) {
  static const uint32_t tile_rows[][2] = {{64, 64 + 2 * 64}, {32, 32 + 2 * 64}};
  for (size_t i = 0; i < COUNT(tile_rows); i++) {
    struct point p = point_of("scalar_quad", "h200", square(1, 8, 512, 128, ATTN_F32));
    p.tuning.value[QUAD_ROWS] = (int32_t)tile_rows[i][0];
    const uint32_t padded = plan_of(&p).pass[0].dynamic_smem_bytes;
    p.tuning.value[QUAD_PAD] = 0;
    assert_int_equal(plan_of(&p).pass[0].dynamic_smem_bytes, tile_rows[i][1] * 128 * 4);
    assert_int_equal(padded - plan_of(&p).pass[0].dynamic_smem_bytes, tile_rows[i][1] * 16);
  }
}

TEST(scalar_quad_persistent_launches_one_wave_or_one_block_per_item) {
  static const struct {
    uint32_t B, H, S, D;
    enum attn_dtype dtype;
    uint32_t blocks;
  } rows[] = {
      {1, 8, 512, 64, ATTN_F16, 64},        /* 64 items, fewer than a wave */
      {16, 8, 512, 64, ATTN_F16, 132 * 4},  /* 1024 items */
      {16, 8, 512, 128, ATTN_F16, 132 * 3}, /* more registers, fewer blocks */
      {16, 8, 512, 128, ATTN_F32, 132},
      {65536, 1, 64, 64, ATTN_F16, 132 * 4}, /* more batches than grid.y holds */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p =
        point_of("scalar_quad", "h200", square(rows[i].B, rows[i].H, rows[i].S, rows[i].D, rows[i].dtype));
    p.tuning.value[QUAD_PERSISTENT] = 1;
    assert_null(refusal(&p));
    assert_grid(&plan_of(&p).pass[0], rows[i].blocks, 1, 1);
    assert_int_equal(plan_of(&p).pass[0].covers[0], ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q);
  }
}

TEST(cuda_core_variants_take_f32_and_tensor_variants_refuse_it) {
  static const struct {
    const char *name;
    bool takes;
  } rows[] = {{"serial", true},    {"scalar", true},       {"scalar_quad", true},      {"wmma", false},
              {"cp_async", false}, {"split_kv", false},    {"split_kv_atomic", false}, {"one_query", true},
              {"wmma_qk", false},  {"mma_swizzle", false}, {"cluster_split", false},   {"wgmma", false},
              {"decode", false}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct point p = point_of(rows[i].name, "l4", square(1, 8, 512, 128, ATTN_F32));
    assert_int_equal(refusal(&p) == NULL, rows[i].takes);
  }
}

TEST(every_variant_runs_f16_at_64_on_every_model) {
  static const char *const names[] = {"serial",   "scalar",      "scalar_quad",     "wmma",
                                      "cp_async", "split_kv",    "split_kv_atomic", "one_query",
                                      "wmma_qk",  "mma_swizzle", "cluster_split"};
  for (size_t i = 0; i < COUNT(names); i++)
    for (size_t m = 0; m < gpu_model_count(); m++) {
      const struct point p = point_of(names[i], gpu_model_at(m)->name, square(1, 8, 512, 64, ATTN_F16));
      assert_null(refusal(&p));
    }
}

TEST(cp_async_stages_set_shared_memory_and_refuse_small_devices) {
  struct point p = point_of("cp_async", "l4", square(1, 8, 512, 128, ATTN_F16));
  assert_non_null(refusal(&p));
  p = point_of("cp_async", "h200", p.shape);
  const struct attn_plan two = plan_of(&p);
  p.tuning.value[0] = 3;
  const struct attn_plan three = plan_of(&p);
  assert_int_equal(two.stages, 2);
  assert_int_equal(three.stages, 3);
  /* One more stage is a K and a V tile of 64 rows of 128 + 8 two-byte elements. */
  assert_int_equal(three.pass[0].dynamic_smem_bytes - two.pass[0].dynamic_smem_bytes, 2 * 64 * (128 + 8) * 2);
}

TEST(wmma_qk_differs_from_wmma_in_its_kernel_alone) {
  const struct point qk = point_of("wmma_qk", "h200", square(2, 3, 200, 128, ATTN_BF16));
  const struct point both = point_of("wmma", "h200", qk.shape);
  struct attn_plan a = plan_of(&qk), b = plan_of(&both);
  assert_true(a.pass[0].kernel == NULL || a.pass[0].kernel != b.pass[0].kernel);
  assert_string_equal(a.pass[0].name, b.pass[0].name);
  a.pass[0].kernel = b.pass[0].kernel = NULL;
  a.pass[0].name = b.pass[0].name;
  assert_memory_equal(&a, &b, sizeof a);
}

/* mma_swizzle's tunables, in order */
enum { SWIZZLE, EPILOGUE, PERSISTENT, STAGES };

TEST(mma_swizzle_takes_128_rows_per_block_once_they_fill_the_gpu) {
  static const struct {
    const char *model;
    uint32_t B, H, S, tile_q, items;
  } rows[] = {
      {"h200", 1, 8, 512, 64, 64}, /* 32 tiles of 128 rows for 132 SMs */
      {"h200", 4, 16, 512, 128, 256},  {"h200", 8, 16, 512, 128, 512},
      {"h200", 132, 1, 128, 128, 132}, /* just enough */
      {"h200", 131, 1, 128, 64, 262},  /* one too few */
      {"h200", 512, 8, 64, 64, 4096},  /* half of 128 rows would be empty */
      {"l4", 1, 16, 512, 128, 64},     /* 58 SMs */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("mma_swizzle", rows[i].model, square(rows[i].B, rows[i].H, rows[i].S, 64, ATTN_F16));
    p.tuning.value[PERSISTENT] = 0;
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.tile_q, rows[i].tile_q);
    assert_grid(&plan.pass[0], rows[i].items, 1, 1);
    assert_int_equal(plan.pass[0].covers[0], ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q);
  }
}

TEST(mma_swizzle_persistent_grid_is_what_fits_at_once) {
  static const struct {
    const char *model;
    uint32_t D, stages, grid;
  } rows[] = {
      {"h200", 64, 2, 2 * 132},  /* registers: 2 blocks of 128 threads with up to 255 */
      {"h200", 128, 2, 2 * 132}, /* 96 KB each of 228 KB */
      {"h200", 128, 3, 132},     /* 128 KB each */
      {"l4", 64, 2, 2 * 58},     /* 48 KB each of 100 KB */
      {"l4", 128, 2, 58},        /* 96 KB each */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("mma_swizzle", rows[i].model, square(8, 16, 512, rows[i].D, ATTN_F16));
    p.tuning.value[STAGES] = (int32_t)rows[i].stages;
    assert_null(refusal(&p));
    assert_grid(&plan_of(&p).pass[0], rows[i].grid, 1, 1);
  }
}

TEST(mma_swizzle_saves_the_padding) {
  struct point p = point_of("mma_swizzle", "h200", square(8, 16, 512, 64, ATTN_F16));
  /* 128 rows of Q and two stages of 64 rows of K and of V, 64 two-byte elements each */
  assert_int_equal(plan_of(&p).pass[0].dynamic_smem_bytes, (128 + 2 * 2 * 64) * 64 * 2);
  p.tuning.value[SWIZZLE] = 0;
  assert_int_equal(plan_of(&p).pass[0].dynamic_smem_bytes, (128 + 2 * 2 * 64) * (64 + 8) * 2);
  p.tuning.value[EPILOGUE] = 0; /* O takes the place of Q */
  assert_int_equal(plan_of(&p).pass[0].dynamic_smem_bytes, (128 + 2 * 2 * 64) * (64 + 8) * 2);
}

TEST(mma_swizzle_refuses_more_q_tiles_than_a_grid_has_blocks) {
  const struct point most = point_of("mma_swizzle", "h200", square(65536, 1024, 31 * 64, 64, ATTN_F16));
  const struct point over = point_of("mma_swizzle", "h200", square(65536, 1024, 32 * 64, 64, ATTN_F16));
  assert_null(refusal(&most));
  assert_non_null(refusal(&over));
}

/* ---- cluster_split ------------------------------------------------------------------------------------------- */

/* cluster_split's tunables, in order */
enum { CLUSTER_SPLIT_WGMMA, CLUSTER_SPLIT_GROUPS, CLUSTER_SPLIT_CLUSTER };

TEST(cluster_split_shares_keys_until_the_gpu_is_full) {
  static const struct {
    uint32_t B, H, S, D, groups, cluster;
  } rows[] = {{1, 1, 64, 64, 1, 1},   {1, 1, 128, 64, 1, 2},  {1, 1, 256, 64, 1, 4},   {1, 1, 1024, 64, 2, 4},
              {1, 8, 512, 64, 2, 2},  {8, 16, 512, 64, 1, 1}, {16, 16, 256, 64, 1, 1}, {1, 1, 256, 128, 1, 4},
              {1, 8, 512, 128, 2, 2}, {8, 16, 500, 128, 1, 1}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("cluster_split", "h200", square(rows[i].B, rows[i].H, rows[i].S, rows[i].D, ATTN_BF16));
    for (int causal = 0; causal < 2; causal++) {
      p.shape.right = causal ? 0 : -1;
      const struct attn_plan plan = plan_of(&p);
      if (!causal || rows[i].S > 512) assert_int_equal(plan.pass[0].cluster[0], rows[i].cluster);
      if (!causal) assert_int_equal(plan.pass[0].block[0], rows[i].groups * 128);
      assert_int_equal(plan.splits, plan.pass[0].cluster[0]);
      assert_grid(&plan.pass[0], rows[i].H * plan.pass[0].cluster[0], rows[i].B, (rows[i].S + 63) / 64);
    }
  }
}

TEST(cluster_split_has_no_clusters_where_an_sm_gets_the_work_of_three_blocks) {
  for (uint32_t B = 1; B <= 64; B *= 2)
    for (uint32_t S = 64; S <= 2048; S *= 2)
      for (int causal = 0; causal < 2; causal++) {
        struct point p = point_of("cluster_split", "h200", square(B, 8, S, 64, ATTN_F16));
        p.shape.right = causal ? 0 : -1;
        const struct attn_plan plan = plan_of(&p);
        const uint32_t cluster = plan.pass[0].cluster[0], blocks = B * 8 * (S / 64) * cluster;
        assert_true(cluster == 1 || blocks <= 132 * (causal ? 4 : 2));
      }
}

TEST(cluster_split_holds_a_second_stage_only_for_a_second_tile) {
  struct point p = point_of("cluster_split", "h200", square(1, 1, 256, 64, ATTN_F16));
  p.tuning.value[CLUSTER_SPLIT_GROUPS] = 2, p.tuning.value[CLUSTER_SPLIT_CLUSTER] = 2;
  const struct attn_plan one = plan_of(&p);
  p.shape.Skv = 257;
  const struct attn_plan two = plan_of(&p);
  assert_int_equal(one.stages, 1);
  assert_int_equal(two.stages, 2);
  /* K and V of 64 keys by 64 columns of two bytes, for each of two warpgroups */
  assert_int_equal(two.pass[0].dynamic_smem_bytes - one.pass[0].dynamic_smem_bytes, 2 * 2 * 64 * 64 * 2);
}

TEST(cluster_split_needs_9_0_for_clusters_and_wgmma_alone) {
  for (size_t m = 0; m < gpu_model_count(); m++) {
    const struct device_info *dev = &gpu_model_at(m)->info;
    const bool hopper = dev->cc_major == 9 && dev->cc_minor == 0;
    struct point p = point_of("cluster_split", gpu_model_at(m)->name, square(1, 1, 512, 128, ATTN_F16));
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.tile_q, hopper ? 64 : 16);
    assert_int_equal(plan.pass[0].cluster[0] > 1, hopper);
    p.tuning.value[CLUSTER_SPLIT_WGMMA] = 2;
    assert_int_equal(refusal(&p) == NULL, hopper);
    p.tuning.value[CLUSTER_SPLIT_WGMMA] = 1;
    assert_int_equal(plan_of(&p).tile_q, 16);
    p.tuning.value[CLUSTER_SPLIT_CLUSTER] = 2; /* no such kernel by mma.sync */
    assert_non_null(refusal(&p));
  }
}

TEST(cluster_split_refuses_what_no_kernel_takes) {
  static const uint32_t refused[] = {8, 72, 96, 256};
  for (size_t i = 0; i < COUNT(refused); i++) {
    const struct point p = point_of("cluster_split", "h200", square(1, 1, 64, refused[i], ATTN_F16));
    assert_non_null(refusal(&p));
  }
  struct point p = point_of("cluster_split", "h200", square(65536, 1, 64, 64, ATTN_F16));
  assert_non_null(refusal(&p));
  p.shape.B = 65535;
  assert_null(refusal(&p));
  p = point_of("cluster_split", "h200", square(1, 1, 64, 64, ATTN_F16));
  p.shape.Sq = 65535 * 64;
  assert_null(refusal(&p));
  ++p.shape.Sq;
  assert_non_null(refusal(&p));
}

/* ---- decode -------------------------------------------------------------------------------------------------- */

enum { DECODE_PATH, DECODE_SPLITS, DECODE_WARPS };

static struct attn_problem decoding(uint32_t B, uint32_t Hq, uint32_t Hkv, uint32_t Sq, uint32_t Skv, uint32_t D) {
  return (struct attn_problem)ATTN_DENSE(B, Hq, Hkv, Sq, Skv, D, ATTN_F16, false);
}

/* The cuts that were fastest on an H200, with the ring's slots; 0: without a ring. */
TEST(decode_fills_the_sms_with_splits_of_its_heads) {
  static const struct {
    uint32_t B, Hq, Hkv, Sq, Skv, D, row_blocks, splits, warps, slots;
  } rows[] = {
      {1, 32, 8, 1, 512, 64, 1, 4, 4, 3},     /* a tile of 128 keys for each block */
      {1, 32, 8, 1, 4096, 128, 1, 16, 8, 5},  /* 16 * 8 blocks for 132 SMs, two tiles each, one slot more */
      {1, 32, 8, 1, 8192, 128, 1, 16, 8, 7},  /* as many slots as there is room for */
      {1, 32, 8, 1, 65536, 128, 1, 16, 8, 3}, /* from memory: 96 KB in flight */
      {1, 32, 8, 1, 65536, 64, 1, 16, 4, 6},
      {16, 32, 32, 1, 2048, 64, 1, 1, 4, 3}, /* 512 heads: four blocks an SM */
      {16, 32, 8, 1, 4096, 128, 1, 1, 8, 3}, /* 128 heads: no splits */
      {1, 32, 8, 4, 4096, 128, 1, 16, 8, 5}, /* 16 rows are two row tiles of a block */
      {1, 32, 8, 16, 4096, 128, 4, 4, 8, 6}, /* 64 rows: 4 blocks of 16 */
      {1, 32, 8, 16, 4096, 64, 4, 4, 8, 0},  /* at D = 64 */
      {1, 8, 8, 1, 4096, 256, 1, 16, 4, 7},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct point p =
        point_of("decode", "h200", decoding(rows[i].B, rows[i].Hq, rows[i].Hkv, rows[i].Sq, rows[i].Skv, rows[i].D));
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], rows[i].row_blocks, rows[i].splits, rows[i].B * rows[i].Hkv);
    assert_int_equal(plan.pass[0].row_threads, 32 * rows[i].warps);
    assert_int_equal(plan.pass[0].producer_threads, rows[i].slots == 0 ? 0 : 32);
    if (rows[i].slots != 0) assert_int_equal(plan.stages, rows[i].slots);
    assert_int_equal(plan.workspace_bytes == 0, rows[i].splits == 1);
    assert_int_equal(plan.workspace_bytes == plan.zeroed_bytes, rows[i].splits == 1 || rows[i].slots != 0);
  }
}

TEST(decode_refuses_what_it_is_not_for) {
  struct point p = point_of("decode", "h200", decoding(1, 32, 8, 16, 4096, 128));
  assert_null(refusal(&p));
  p.shape.Sq = 17;
  assert_non_null(strstr(refusal(&p), "Sq must be at most 16"));
  p.shape.Sq = 1, p.shape.D = p.shape.Dv = 96;
  assert_non_null(strstr(refusal(&p), "D must be 64, 128 or 256"));
  p = point_of("decode", "h200", decoding(65536, 32, 8, 1, 64, 64));
  assert_non_null(strstr(refusal(&p), "B * Hkv"));
  p = point_of("decode", "h200", decoding(1, 32, 8, 1, 4096, 128));
  p.tuning.value[DECODE_WARPS] = 3;
  assert_non_null(strstr(refusal(&p), "warps must be"));
  p.tuning.value[DECODE_WARPS] = 0, p.model = gpu_model_find("a100");
  assert_null(refusal(&p));
  assert_int_equal(plan_of(&p).pass[0].producer_threads, 0);
  p.tuning.value[DECODE_PATH] = 2;
  assert_non_null(strstr(refusal(&p), "path=2 needs compute capability 9.0"));
}

/* How many blocks share an SM follows from their shared memory. */
TEST(decode_of_small_pages_puts_two_blocks_on_an_sm_where_few_places_stay_empty) {
  static const struct {
    uint32_t B, blocks;                              /* 8 KV heads each, of 132 SMs */
  } rows[] = {{16, 1},  {17, 2},  {32, 2},  {36, 1}, /* 288 heads: three for an SM, and two at a time would be four */
              {48, 1},  {52, 2},  {64, 2},  {70, 1}, /* five, and six */
              {100, 1}, {128, 2}, {140, 2}, {160, 2}}; /* seven and eight; nine and ten, of which a tenth is empty */
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("decode", "h200", decoding(rows[i].B, 32, 8, 1, 4096, 128));
    p.shape.page = 16; /* larger pages and contiguous keys have so little in flight that two always fit */
    const uint32_t smem = plan_of(&p).pass[0].dynamic_smem_bytes + p.model->info.smem_reserved_bytes;
    assert_int_equal(p.model->info.smem_per_sm_bytes / smem >= 2, rows[i].blocks == 2);
  }
}

TEST(decode_has_more_in_flight_for_small_pages) {
  struct point p = point_of("decode", "h200", decoding(16, 32, 8, 1, 4096, 128));
  p.shape.page = 64;
  const uint32_t large = plan_of(&p).pass[0].dynamic_smem_bytes;
  p.shape.page = 16;
  assert_true(plan_of(&p).pass[0].dynamic_smem_bytes > large + 64 * 1024);
}

TEST(decode_takes_pages_that_the_copy_engine_brings) {
  struct point p = point_of("decode", "h200", decoding(1, 32, 8, 1, 16384, 128));
  const struct attn_plan contiguous = plan_of(&p);
  p.shape.page = 16;
  assert_null(refusal(&p));
  const struct attn_plan paged = plan_of(&p);
  assert_int_equal(paged.splits, contiguous.splits);
  assert_int_equal(paged.workspace_bytes, contiguous.workspace_bytes);
  assert_memory_equal(paged.pass[0].grid, contiguous.pass[0].grid, sizeof paged.pass[0].grid);
  p.shape.Sq = 16; /* 64 rows, for which path=1 is chosen where keys are contiguous and L2 does not hold them */
  assert_int_equal(plan_of(&p).pass[0].producer_threads, 32);
  for (p.shape.page = 1; p.shape.page <= 256; p.shape.page++) {
    const bool is_taken = p.shape.page >= 8 && (p.shape.page & (p.shape.page - 1)) == 0;
    if (is_taken)
      assert_null(refusal(&p));
    else
      assert_non_null(strstr(refusal(&p), "page must be a power of two, 8 or more"));
  }
  p.shape.page = 16, p.tuning.value[DECODE_PATH] = 1;
  assert_non_null(strstr(refusal(&p), "path=1 reads no pages"));
  p.tuning.value[DECODE_PATH] = 0, p.model = gpu_model_find("a100");
  assert_non_null(strstr(refusal(&p), "pages need compute capability 9.0"));
  p.model = gpu_model_find("h200"), p.shape.batch.drawn = 1;
  assert_non_null(refusal(&p));
}

/* Each split leaves its sums once, and so does each group of more than 64 splits, which are merged in two steps. */
TEST(decode_workspace_is_a_slot_per_split_and_group) {
  static const uint32_t slots_of[][2] = {{2, 2}, {64, 64}, {100, 110}, {600, 624}};
  for (size_t i = 0; i < COUNT(slots_of); i++) {
    struct point p = point_of("decode", "h200", decoding(1, 8, 2, 3, 20000, 128));
    p.tuning.value[DECODE_SPLITS] = (int32_t)slots_of[i][0], p.tuning.value[DECODE_PATH] = 1;
    assert_null(refusal(&p));
    assert_int_equal(plan_of(&p).splits, slots_of[i][0]);
    assert_int_equal(plan_of(&p).zeroed_bytes, 256); /* up to 52 counters */
    assert_int_equal(plan_of(&p).workspace_bytes, 256 + 2 * slots_of[i][1] * 12 * (128 * 4 + 8));
  }
}

/* A block for each SM where there are keys for it; the most warps that have 3 stages each. */
TEST(decode_general_fills_the_sms_whatever_the_heads_are) {
  static const struct {
    uint32_t B, Sq, Skv, D, blocks, warps, stages, tile_q, smem_bytes;
  } rows[] = {
      {1, 1, 512, 128, 32, 8, 2, 16, 150016}, /* 8 heads of 32 tiles: one for each of 8 warps */
      {1, 1, 4096, 128, 132, 8, 2, 16, 150016},
      {16, 1, 4096, 128, 128, 8, 2, 16, 150016}, /* 128 heads for 132 SMs: a block each, as none shares one */
      {12, 1, 4096, 128, 132, 8, 2, 16, 150016}, /* 96 heads: all SMs share them */
      {64, 1, 4096, 64, 132, 8, 2, 16, 141824},
      {1, 4, 4096, 128, 132, 8, 2, 16, 206848},
      {1, 16, 4096, 128, 132, 8, 2, 64, 141312}, /* 64 rows: two groups of 4 warps that share stages */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct point p =
        point_of("decode_general", "h200", decoding(rows[i].B, 32, 8, rows[i].Sq, rows[i].Skv, rows[i].D));
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], rows[i].blocks, 1, 1);
    assert_int_equal(plan.pass[0].row_threads, 32 * rows[i].warps);
    assert_int_equal(plan.stages, rows[i].stages);
    assert_int_equal(plan.tile_q, rows[i].tile_q);
    assert_int_equal(plan.pass[0].dynamic_smem_bytes, rows[i].smem_bytes);
  }
}

/* 48 KB in flight at least, where shared memory holds the sums beside them. */
TEST(decode_general_has_stages_for_memory_with_e4m3_and_d_of_256) {
  static const struct {
    uint32_t D, Sq, kv_dtype, warps, stages, tile_kv, smem_bytes;
  } rows[] = {
      {128, 1, 1, 8, 2, 32, 150016},                                 /* the bytes of 16 keys of 16 bits */
      {64, 1, 1, 8, 3, 32, 109056},                                  /* 4 KB a stage */
      {128, 16, 1, 8, 4, 32, 141312}, {256, 1, 0, 4, 2, 16, 156928}, /* 16 KB a stage, and 8 KB of Q */
      {256, 1, 1, 8, 2, 16, 174592},  {256, 4, 1, 4, 3, 16, 177152},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("decode_general", "h200", decoding(16, 32, 8, rows[i].Sq, 4096, rows[i].D));
    p.shape.kv_dtype = rows[i].kv_dtype;
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], 128, 1, 1);
    assert_int_equal(plan.pass[0].row_threads, 32 * rows[i].warps);
    assert_int_equal(plan.stages, rows[i].stages);
    assert_int_equal(plan.tile_kv, rows[i].tile_kv);
    assert_int_equal(plan.pass[0].dynamic_smem_bytes, rows[i].smem_bytes);
  }
}

TEST(decode_general_takes_pages_and_lengths_and_refuses_what_it_is_not_for) {
  struct point p = point_of("decode_general", "a100", decoding(4, 32, 8, 1, 4096, 128));
  p.shape.page = 16, p.shape.batch.drawn = 1;
  assert_null(refusal(&p));
  p.shape.v_in_k = true;
  assert_non_null(strstr(refusal(&p), "V as a tensor of its own"));
  p = point_of("decode_general", "h200", decoding(1, 32, 8, 1, 4096, 96));
  assert_non_null(strstr(refusal(&p), "D must be 64, 128 or 256"));
  p = point_of("decode_general", "h200", decoding(1, 32, 8, 1, 4096, 128));
  p.shape.kv_dtype = 1;
  assert_null(refusal(&p));
  p.shape.scales = ATTN_SCALES_BLOCK;
  assert_non_null(strstr(refusal(&p), "scales must be head or tensor"));
  p = point_of("decode_general", "a100", decoding(1, 32, 8, 1, 4096, 128));
  p.shape.kv_dtype = 1;
  assert_non_null(strstr(refusal(&p), "kv_dtype must be left out"));
  p = point_of("decode_general", "h200", decoding(1, 32, 8, 1, 4096, 128));
  p.tuning.value[0] = 3;
  assert_non_null(strstr(refusal(&p), "warps must be"));
  p.tuning.value[0] = 8, p.tuning.value[1] = 4;
  assert_non_null(strstr(refusal(&p), "too small for two stages"));
}

/* ---- wgmma_paged ----------------------------------------------------------------------------------------------- */

/* An item for each KV head of a sequence, as long as its rows fit into a tile, where heads that share K and V divide
 * the 64 rows of a warpgroup; else an item for each query head. */
TEST(wgmma_paged_has_the_heads_that_share_keys_in_one_tile) {
  static const struct {
    uint32_t B, Hq, Hkv, Sq, items;
    int32_t packed;
  } rows[] = {
      {4, 32, 8, 1, 32, 1},   {4, 32, 8, 32, 32, 1},  {4, 32, 8, 33, 64, 1}, /* 32 queries of 4 heads */
      {4, 32, 8, 1, 128, 0},                                                 /* a head each */
      {1, 64, 1, 2, 1, 1},    {1, 64, 1, 3, 2, 1},    {2, 7, 1, 128, 14, 1},
      {1, 12, 2, 65, 12, 1},  {1, 128, 1, 2, 128, 1}, /* 7, 6 or 128 heads are in no tile */
      {64, 32, 8, 4, 132, 1},                         /* more items than SMs */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p =
        point_of("wgmma_paged", "h200", decoding(rows[i].B, rows[i].Hq, rows[i].Hkv, rows[i].Sq, 512, 128));
    p.shape.page = 64, p.tuning.value[0] = rows[i].packed;
    assert_null(refusal(&p));
    assert_grid(&plan_of(&p).pass[0], rows[i].items, 1, 1);
    assert_int_equal(plan_of(&p).tile_q, 128);
  }
}

TEST(wgmma_paged_takes_pages_that_the_copy_engine_takes) {
  static const uint32_t taken[] = {0, 8, 16, 128, 256}, refused[] = {1, 4, 24, 48};
  for (size_t i = 0; i < COUNT(taken) + COUNT(refused); i++) {
    struct point p = point_of("wgmma_paged", "h200", decoding(2, 8, 2, 5, 300, 64));
    p.shape.page = i < COUNT(taken) ? taken[i] : refused[i - COUNT(taken)];
    if (i < COUNT(taken))
      assert_null(refusal(&p));
    else
      assert_non_null(strstr(refusal(&p), "page must be a power of two, 8 or more"));
  }
  const struct point p = point_of("wgmma_paged", "a100", decoding(2, 8, 2, 5, 300, 64));
  assert_non_null(strstr(refusal(&p), "compute capability must be 9.0"));
}

/* ---- mla ----------------------------------------------------------------------------------------------------- */

static struct point latent(const char *gpu, uint32_t B, uint32_t Hq, uint32_t Sq, uint32_t Skv) {
  struct point p = point_of("mla", gpu, decoding(B, Hq, 1, Sq, Skv, 576));
  p.shape.Dv = 512, p.shape.v_in_k = true, p.shape.page = 64;
  return p;
}

/* Two blocks share the keys of more than 64 rows, and teams of such clusters those of more than 128. Whole sequences
 * where there are about as many as teams, or twice as many; equal shares of the keys else, of fewer teams where there
 * would be many partial results to add up. */
TEST(mla_shares_keys_where_that_pays_for_the_partial_results) {
  static const struct {
    uint32_t B, Hq, Sq, Skv, team_blocks, teams, cluster, splits;
  } rows[] = {
      {128, 128, 1, 4096, 2, 66, 2, 1},  /* two rounds of whole sequences */
      {128, 128, 2, 4096, 4, 33, 2, 2},  /* four rounds cost more than partial results */
      {128, 128, 4, 4096, 8, 16, 2, 1},  /* eight rounds of 16 teams, which leave two clusters idle */
      {66, 128, 3, 4096, 6, 22, 2, 1},   /* three rounds */
      {4, 128, 34, 4096, 4, 33, 2, 2},   /* teams of 17 or 34 clusters would leave many idle */
      {128, 64, 1, 4096, 1, 128, 1, 1},  /* one round */
      {128, 16, 1, 16384, 1, 132, 1, 2}, /* 16 rows leave small partial results */
      {100, 16, 4, 16384, 1, 132, 1, 2}, /* one round would leave 32 SMs idle */
      {66, 128, 1, 16384, 2, 66, 2, 1},  /* one round */
      {1, 128, 1, 16384, 2, 9, 2, 9},    /* more blocks would leave more to add up than they save */
      {1, 16, 1, 64, 1, 1, 1, 1},        /* one tile */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct point p = latent("h200", rows[i].B, rows[i].Hq, rows[i].Sq, rows[i].Skv);
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], rows[i].team_blocks, rows[i].teams, 1);
    assert_int_equal(plan.pass[0].cluster[0], rows[i].cluster);
    assert_int_equal(plan.splits, rows[i].splits);
    assert_int_equal(plan.workspace_bytes > 0, rows[i].splits > 1);
    assert_int_equal(plan.pass[0].row_threads, 256);
    assert_true(plan.pass[0].dynamic_smem_bytes <= 227 * 1024);
  }
}

TEST(mla_has_144_KB_of_keys_in_buffers_whatever_a_tile_has) {
  struct point p = latent("h200", 128, 128, 1, 4096);
  size_t kv_tile = 0;
  while (strcmp(p.variant->tunables[kv_tile].name, "kv_tile") != 0) kv_tile++;
  static const int32_t keys[] = {0, 32, 64};
  for (size_t i = 0; i < COUNT(keys); i++) {
    p.tuning.value[kv_tile] = keys[i];
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.tile_kv, keys[i] == 0 ? 64 : keys[i]);
    assert_int_equal(plan.tile_kv * plan.stages, 128);
    assert_true(plan.pass[0].dynamic_smem_bytes <= 227 * 1024);
  }
  size_t team = 0;
  while (strcmp(p.variant->tunables[team].name, "team") != 0) team++;
  p = latent("h200", 128, 128, 3, 4096), p.tuning.value[team] = 2; /* three items */
  assert_non_null(strstr(refusal(&p), "team must divide"));
  p = latent("h200", 2, 128, 128, 4096), p.tuning.value[team] = 64, p.tuning.value[0] = 2;
  assert_null(refusal(&p));
  p = latent("rtx5090", 2, 128, 128, 4096);
  assert_non_null(refusal(&p));
  p = latent("h200", 128, 128, 1, 4096), p.tuning.value[kv_tile] = 48;
  assert_non_null(strstr(refusal(&p), "kv_tile must be"));
  p = latent("h200", 128, 128, 2, 4096); /* two clusters read the keys of a sequence at the same time */
  assert_int_equal(plan_of(&p).tile_kv, 64);
  p = latent("h200", 128, 128, 34, 4096); /* 34 items in teams of 2: the teams read the keys at different times */
  assert_int_equal(plan_of(&p).tile_kv, 32);
  p = latent("h200", 128, 64, 1, 4096); /* one block does */
  assert_int_equal(plan_of(&p).tile_kv, 32);
}

TEST(mla_takes_latent_attention_alone_and_says_what_is_missing) {
  const struct point sound = latent("h200", 4, 128, 1, 4096);
  assert_null(refusal(&sound));
  struct point p = latent("a100", 4, 128, 1, 4096);
  assert_non_null(strstr(refusal(&p), "compute capability must be 9.0"));
  p = sound, p.shape.v_in_k = false;
  assert_non_null(strstr(refusal(&p), "v_in_k must be true"));
  p = sound, p.shape.D = 512;
  assert_non_null(strstr(refusal(&p), "D must be 576"));
  p = sound, p.shape.Dv = 576;
  assert_non_null(strstr(refusal(&p), "Dv must be 512"));
  p = sound, p.shape.Hkv = 2;
  assert_non_null(strstr(refusal(&p), "Hkv must be 1"));
  p = sound, p.shape.Hq = 129;
  assert_non_null(strstr(refusal(&p), "Hq must be at most 128"));
  for (uint32_t page = 0; page <= 256; page++) {
    const bool is_taken = page == 0 || (page >= 8 && (page & (page - 1)) == 0);
    p = sound, p.shape.page = page;
    assert_int_equal(refusal(&p) == NULL, is_taken);
    assert_true(is_taken || strstr(refusal(&p), "page must be") != NULL);
  }
  p = sound, p.shape.batch.drawn = 1, p.tuning.value[1] = 1;
  assert_non_null(strstr(refusal(&p), "shares must be"));
}

/* ---- wgmma --------------------------------------------------------------------------------------------------- */

TEST(wgmma_runs_on_compute_capability_9_0_alone) {
  for (size_t m = 0; m < gpu_model_count(); m++) {
    const struct device_info *device = &gpu_model_at(m)->info;
    const struct point p = point_of("wgmma", gpu_model_at(m)->name, square(1, 8, 512, 64, ATTN_F16));
    assert_int_equal(refusal(&p) == NULL, device->cc_major == 9 && device->cc_minor == 0);
  }
}

TEST(wgmma_takes_dimensions_of_whole_copy_units_up_to_256) {
  for (uint32_t D = 1; D <= 264; D++) {
    const struct point f16 = point_of("wgmma", "h200", square(2, 8, 512, D, ATTN_F16));
    const struct point bf16 = point_of("wgmma", "h200", square(2, 8, 512, D, ATTN_BF16));
    const struct point f32 = point_of("wgmma", "h200", square(2, 8, 512, D, ATTN_F32));
    assert_int_equal(refusal(&f16) == NULL, D % 8 == 0 && D <= 256);
    assert_int_equal(refusal(&bf16) == NULL, D % 8 == 0 && D <= 256);
    assert_non_null(refusal(&f32));
  }
}

TEST(wgmma_chooses_rows_by_how_many_blocks_they_make) {
  static const struct {
    uint32_t B, H, S, D, rows, blocks;
    bool causal;
  } rows[] = {
      {1, 8, 512, 64, 64, 64, false},     /* all blocks at once, short ones */
      {4, 16, 512, 64, 256, 128, false},  /* one round of long blocks, no second one */
      {32, 32, 512, 64, 256, 132, false}, /* 512 is two tiles of 256, but not of 192 */
      {32, 32, 512, 64, 256, 132, true},  /* what only other rows of the tile attend is left out */
      {1, 32, 16384, 64, 256, 132, true},  {1, 4, 512, 128, 64, 32, false},
      {16, 16, 1024, 128, 128, 132, true}, {1, 8, 16384, 256, 128, 132, false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma", "h200", square(rows[i].B, rows[i].H, rows[i].S, rows[i].D, ATTN_F16));
    p.shape.right = rows[i].causal ? 0 : -1;
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.tile_q, rows[i].rows);
    assert_grid(&plan.pass[0], rows[i].blocks, 1, 1);
    assert_int_equal(plan.pass[0].block[0], rows[i].rows * 2 + 128); /* a warpgroup per 64 rows, one that fetches */
    assert_int_equal(plan.pass[0].row_threads, rows[i].rows * 2);
  }
}

TEST(wgmma_general_takes_the_smallest_kernel_that_holds_d_and_dv) {
  static const struct {
    uint32_t D, Dv, rows, keys; /* 0 rows: refused */
  } rows[] = {{64, 64, 256, 64},  {40, 64, 256, 64},   {64, 72, 128, 64},   {128, 64, 128, 64}, {192, 128, 128, 112},
              {136, 8, 128, 112}, {192, 192, 128, 64}, {256, 256, 128, 64}, {264, 128, 0, 0},   {128, 12, 0, 0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_general", "h200", square(1, 8, 4096, rows[i].D, ATTN_BF16));
    p.shape.Dv = rows[i].Dv;
    p.shape.left = 1023, p.shape.right = 0;
    assert_int_equal(refusal(&p) == NULL, rows[i].rows != 0);
    if (rows[i].rows == 0) continue;
    assert_int_equal(plan_of(&p).tile_q, rows[i].rows);
    assert_int_equal(plan_of(&p).tile_kv, rows[i].keys);
  }
}

/* A block of four warpgroups is faster for each tile. Under a short window the time from one q tile to the next
 * decides, which three blocks of one warpgroup on an SM hide from each other. */
TEST(wgmma_general_takes_tiles_by_the_window) {
  struct point p = point_of("wgmma_general", "h200", square(1, 16, 16384, 64, ATTN_BF16));
  p.shape.left = 1023, p.shape.right = 0;
  assert_int_equal(plan_of(&p).tile_q, 256);
  assert_int_equal(plan_of(&p).tile_kv, 64);
  assert_int_equal(plan_of(&p).pass[0].grid[0], 132);
  p.shape.left = 127;
  assert_int_equal(plan_of(&p).tile_q, 64);
  assert_int_equal(plan_of(&p).tile_kv, 64);
  assert_int_equal(plan_of(&p).pass[0].grid[0], 3 * 132);
}

/* Kernels with soft caps and lists of blocks have twice the code, and are taken by problems with these alone. */
TEST(wgmma_general_takes_kernels_without_what_a_problem_does_not_need) {
  struct point p = point_of("wgmma_general", "h200", square(1, 16, 4096, 128, ATTN_BF16));
  const void *const plain = plan_of(&p).pass[0].kernel; /* NULL: built without nvcc */
  p.shape.sink = true, p.shape.lse = true;
  assert_ptr_equal(plan_of(&p).pass[0].kernel, plain);
  p.shape.softcap = 50;
  assert_null(refusal(&p));
  if (plain != NULL) assert_ptr_not_equal(plan_of(&p).pass[0].kernel, plain);
}

/* A q tile and a tile of keys lie in one block each, and a pass before sorts the items. */
TEST(wgmma_general_takes_lists_of_blocks_that_its_tiles_divide) {
  static const struct {
    uint32_t D, block, rows; /* 0 rows: refused */
  } rows[] = {{64, 128, 128},  {64, 64, 0},   {128, 128, 128}, {128, 384, 128},
              {128, 192, 192}, {128, 320, 0}, {192, 128, 128}, {256, 128, 128}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_general", "h200", square(1, 16, 16384, rows[i].D, ATTN_BF16));
    p.shape.sparse.block = rows[i].block, p.shape.sparse.density = 250;
    assert_int_equal(refusal(&p) == NULL, rows[i].rows != 0);
    if (rows[i].rows == 0) continue;
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.tile_q, rows[i].rows);
    assert_int_equal(rows[i].block % plan.tile_kv, 0);
    assert_int_equal(plan.pass_count, 2);
    assert_int_equal(plan.workspace_bytes, 4 * 16 * ((16384 - 1) / plan.tile_q + 1));
  }
  struct point p = point_of("wgmma_general", "h200", square(1, 16, 16384, 128, ATTN_BF16));
  p.shape.sparse.block = 128, p.shape.sparse.density = 250, p.shape.batch.drawn = 1;
  assert_non_null(strstr(refusal(&p), "lists of blocks"));
}

enum { FP8_GROUPS, FP8_KEYS, FP8_PERSISTENT, FP8_TRANSPOSE_PASS, FP8_SPLITS };

/* A tile of keys has one scale, so those of 96 keys do not take blocks of 128. */
TEST(wgmma_fp8_takes_a_kernel_that_holds_d_and_whose_tiles_have_one_scale) {
  static const struct {
    uint32_t D, Dv, rows, keys; /* 0 rows: refused */
    enum attn_scales scales;
  } rows[] = {{64, 64, 192, 96, ATTN_SCALES_HEAD},    {64, 64, 128, 128, ATTN_SCALES_BLOCK},
              {80, 64, 128, 128, ATTN_SCALES_HEAD},   {128, 128, 128, 128, ATTN_SCALES_TENSOR},
              {192, 128, 128, 64, ATTN_SCALES_BLOCK}, {256, 256, 128, 64, ATTN_SCALES_HEAD},
              {272, 256, 0, 0, ATTN_SCALES_HEAD},     {72, 64, 0, 0, ATTN_SCALES_HEAD},
              {64, 24, 0, 0, ATTN_SCALES_HEAD}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_fp8", "h200", square(4, 16, 4096, rows[i].D, ATTN_E4M3));
    p.shape.Dv = rows[i].Dv, p.shape.scales = rows[i].scales;
    assert_int_equal(refusal(&p) == NULL, rows[i].rows != 0);
    if (rows[i].rows == 0) continue;
    assert_int_equal(plan_of(&p).tile_q, rows[i].rows);
    assert_int_equal(plan_of(&p).tile_kv, rows[i].keys);
  }
  struct point p = point_of("wgmma_fp8", "h200", square(4, 16, 4096, 64, ATTN_E4M3));
  p.tuning.value[FP8_GROUPS] = 3;
  assert_int_equal(plan_of(&p).tile_kv, 96);
  p.shape.scales = ATTN_SCALES_BLOCK;
  assert_non_null(refusal(&p));
  p = point_of("wgmma_fp8", "h200", square(1, 8, 4096, 128, ATTN_BF16));
  assert_non_null(refusal(&p)); /* of another type */
  p.shape.dtype = ATTN_E4M3, p.shape.out_dtype = 1 + ATTN_F32;
  assert_non_null(refusal(&p));
}

/* A pass that transposes V pays where many queries read it; it writes each tile of 128 keys, or of 64 beyond D = 128.
 */
TEST(wgmma_fp8_transposes_v_before_the_kernel_where_queries_are_many) {
  static const struct {
    uint32_t Sq, Skv, D, tiles; /* of a head; 0: the kernel transposes */
  } rows[] = {{16384, 16384, 128, 128}, {16384, 16384, 256, 256}, {16384, 10000, 208, 157},
              {128, 2048, 128, 0},      {128, 2048, 256, 0},      {16384, 16384, 64, 0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_fp8", "h200", square(2, 16, rows[i].Sq, rows[i].D, ATTN_E4M3));
    p.shape.Skv = rows[i].Skv;
    p.tuning.value[FP8_SPLITS] = 1;
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.pass_count, rows[i].tiles > 0 ? 2 : 1);
    if (rows[i].tiles == 0) continue;
    assert_string_equal(plan.pass[0].name, "transpose");
    assert_int_equal(plan.pass[0].grid[0], 2 * 16 * rows[i].tiles);
    assert_int_equal(plan.workspace_bytes, 2 * 16 * rows[i].tiles * 16384);
    p.tuning.value[FP8_TRANSPOSE_PASS] = 0;
    assert_int_equal(plan_of(&p).pass_count, 1);
    p.tuning.value[FP8_TRANSPOSE_PASS] = 1, p.shape.batch.drawn = 1;
    assert_non_null(refusal(&p));
  }
}

/* With fewer q tiles than SMs, or hardly more than SMs, whose last few would take as long as all before them. */
TEST(wgmma_fp8_splits_keys_where_q_tiles_leave_sms_idle) {
  static const struct {
    uint32_t H, Sq, Skv, D, splits, blocks;
  } rows[] = {{4, 128, 131072, 128, 32, 128}, {1, 128, 131072, 64, 128, 128}, {4, 128, 131072, 256, 33, 132},
              {140, 128, 16384, 128, 3, 132}, {16, 1024, 1024, 128, 1, 128},  {16, 16384, 16384, 128, 1, 132},
              {4, 128, 128, 128, 1, 4}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_fp8", "h200", square(1, rows[i].H, rows[i].Sq, rows[i].D, ATTN_E4M3));
    p.shape.Skv = rows[i].Skv;
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.splits, rows[i].splits);
    const struct attn_pass *main = &plan.pass[plan.splits > 1 ? 0 : plan.pass_count - 1];
    assert_grid(main, rows[i].blocks, 1, 1);
    assert_int_equal((main->covers[0] & ATTN_COVERS_SPLIT) != 0, plan.splits > 1);
    p.tuning.value[FP8_SPLITS] = 1;
    assert_int_equal(plan_of(&p).splits, 1);
  }
}

TEST(wgmma_fp8_leaves_sums_of_each_part_for_a_pass_that_merges_them) {
  struct point p = point_of("wgmma_fp8", "h200", square(2, 3, 200, 128, ATTN_E4M3));
  p.shape.Skv = 1000, p.shape.Dv = 112;
  p.tuning.value[FP8_SPLITS] = 3;
  const struct attn_plan plan = plan_of(&p);
  assert_int_equal(plan.pass_count, 2);
  assert_string_equal(plan.pass[0].name, "main");
  assert_string_equal(plan.pass[1].name, "merge");
  assert_true(plan.pass[1].early_start);
  assert_grid(&plan.pass[0], 2 * 3 * 2 * 3, 1, 1);
  assert_grid(&plan.pass[1], 2 * 3 * 2 * 8, 4, 1); /* strips of 16 rows, groups of 32 columns */
  /* 112 fp32 sums and four numbers of each of 128 rows */
  assert_int_equal(plan.workspace_bytes, UINT64_C(2) * 3 * 2 * 3 * 128 * (112 + 4) * 4);
  assert_int_equal(plan.zeroed_bytes, 0);
  p.shape.Sq = 20; /* two strips */
  assert_int_equal(plan_of(&p).workspace_bytes, UINT64_C(2) * 3 * 3 * 32 * (112 + 4) * 4);
}

/* Under a causal mask the four q tiles see 1 to 4 tiles of keys. */
TEST(wgmma_fp8_cuts_only_keys_that_are_seen) {
  static const struct {
    int32_t asked;
    uint32_t splits, parts;
  } rows[] = {{255, 4, 10}, {4, 4, 10}, {3, 2, 6}, {2, 2, 6}, {1, 1, 4}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("wgmma_fp8", "h200", square(1, 3, 512, 128, ATTN_E4M3));
    p.shape.right = 0;
    p.tuning.value[FP8_SPLITS] = rows[i].asked;
    assert_null(refusal(&p));
    assert_int_equal(plan_of(&p).splits, rows[i].splits);
    assert_grid(&plan_of(&p).pass[0], 3 * rows[i].parts, 1, 1);
  }
}

TEST(wgmma_fp8_refuses_splits_that_no_kernel_has) {
  struct point p = point_of("wgmma_fp8", "h200", square(4, 16, 4096, 64, ATTN_E4M3));
  p.tuning.value[FP8_SPLITS] = 2;
  assert_null(refusal(&p));
  p.tuning.value[FP8_GROUPS] = 3;
  assert_non_null(strstr(refusal(&p), "splits"));
  p.tuning.value[FP8_GROUPS] = 0, p.tuning.value[FP8_TRANSPOSE_PASS] = 1;
  assert_non_null(strstr(refusal(&p), "splits"));
  p.tuning.value[FP8_TRANSPOSE_PASS] = 2, p.tuning.value[FP8_SPLITS] = 32; /* of 32 q tiles: 1024 parts */
  assert_non_null(strstr(refusal(&p), "512 parts"));
  p.tuning.value[FP8_SPLITS] = 16;
  assert_null(refusal(&p));
  /* 2^24 q tiles of one part each: one more than parts can be numbered. */
  p = point_of("wgmma_fp8", "h200", square(1 << 14, 1 << 10, 1, 64, ATTN_E4M3));
  p.tuning.value[FP8_SPLITS] = 2;
  assert_non_null(strstr(refusal(&p), "16777215"));
  p.shape.B = (1 << 14) - 1;
  assert_null(refusal(&p));
}

/* Its millions of q tiles are more than any choice of splits allows. They are counted, not listed one by one, which
 * took 80 ms a plan. */
TEST(wgmma_fp8_plans_a_long_ragged_batch_at_once) {
  struct point p = point_of("wgmma_fp8", "h200", square(1024, 2, 1000000, 64, ATTN_E4M3));
  p.shape.batch.drawn = 1, p.shape.batch.seed = 1;
  const clock_t begin = clock();
  for (int i = 0; i < 100; i++) assert_int_equal(plan_of(&p).splits, 1);
  assert_true(clock() - begin < CLOCKS_PER_SEC);
}

/* Two sequences have one q tile, which sees three tiles of keys, and one has two, which see six each. */
TEST(wgmma_fp8_lists_the_parts_of_a_ragged_batch_in_a_pass_before) {
  struct point p = point_of("wgmma_fp8", "h200", square(1, 3, 200, 128, ATTN_E4M3));
  p.shape.B = 3, p.shape.Skv = 700;
  p.shape.batch = (struct attn_batch){
      .groups = 2, .group = {{.count = 2, .Sq = 100, .Skv = 300}, {.count = 1, .Sq = 200, .Skv = 700}}};
  p.tuning.value[FP8_SPLITS] = 3; /* two tiles of keys in each part */
  assert_null(refusal(&p));
  const struct attn_plan plan = plan_of(&p);
  assert_int_equal(plan.pass_count, 3);
  assert_string_equal(plan.pass[0].name, "order");
  assert_int_equal(plan.splits, 3);
  assert_grid(&plan.pass[1], 3 * (2 * 2 + 2 * 3), 1, 1);
  assert_grid(&plan.pass[2], 3 * 4 * 8, 4, 1);
  /* One sequence has nearly all keys: its q tile is split without being asked for. */
  p.shape.Sq = 100, p.shape.batch.group[1] = (struct attn_group){.count = 1, .Sq = 100, .Skv = 100000};
  p.shape.Skv = 100000, p.tuning.value[FP8_SPLITS] = 0;
  assert_true(plan_of(&p).splits > 20);
  p.shape.B = 100, p.shape.batch.groups = 1; /* none has more than others */
  p.shape.batch.group[0] = (struct attn_group){.count = 100, .Sq = 2000, .Skv = 2000},
  p.shape.Sq = p.shape.Skv = 2000;
  assert_int_equal(plan_of(&p).splits, 1);
}

TEST(wgmma_tunables_name_a_kernel_or_are_refused) {
  enum { WG_GROUPS, WG_KEYS, WG_CLUSTER = 6, WG_PERSISTENT };
  struct point p = point_of("wgmma", "h200", square(4, 16, 4096, 64, ATTN_F16));
  p.tuning.value[WG_GROUPS] = 3;
  assert_null(refusal(&p));
  assert_int_equal(plan_of(&p).tile_q, 192);
  p.tuning.value[WG_KEYS] = 144;
  assert_non_null(refusal(&p));
  p = point_of("wgmma", "h200", square(4, 16, 4096, 128, ATTN_F16));
  p.tuning.value[WG_PERSISTENT] = 0;
  assert_grid(&plan_of(&p).pass[0], 4 * 16 * 32, 1, 1);
  p.tuning.value[WG_CLUSTER] = 2;
  assert_null(refusal(&p));
  assert_int_equal(plan_of(&p).pass[0].cluster[0], 2);
  assert_grid(&plan_of(&p).pass[0], 4 * 16 * 32, 1, 1);
  p.shape.dtype = ATTN_BF16; /* compiled for f16 alone */
  assert_non_null(refusal(&p));
}

TEST(split_kv_has_a_split_and_a_combine_pass) {
  struct point p = point_of("split_kv", "h200", square(2, 3, 200, 64, ATTN_F16));
  p.tuning.value[0] = 3;
  const struct attn_plan plan = plan_of(&p);
  assert_int_equal(plan.pass_count, 2);
  assert_string_equal(plan.pass[0].name, "split");
  assert_string_equal(plan.pass[1].name, "combine");
  assert_int_equal(plan.splits, 3);
  assert_grid(&plan.pass[0], 4 * 3, 3, 2);
  assert_int_equal(plan.pass[0].covers[0], ATTN_COVERS_Q | ATTN_COVERS_SPLIT);
  /* 64 fp32 outputs, a maximum and a sum for each row and split */
  assert_int_equal(plan.workspace_bytes, (64 + 2) * 4 * UINT64_C(2) * 3 * 200 * 3);
}

TEST(split_kv_atomic_differs_from_split_kv_in_the_merge_only) {
  static const int32_t splits[] = {0, 1, 3, 64};
  for (size_t i = 0; i < COUNT(splits); i++) {
    struct point two_pass = point_of("split_kv", "h200", square(2, 3, 200, 64, ATTN_F16));
    struct point atomic = point_of("split_kv_atomic", "h200", two_pass.shape);
    two_pass.tuning.value[0] = atomic.tuning.value[0] = splits[i];
    const struct attn_plan want = plan_of(&two_pass), plan = plan_of(&atomic);
    assert_int_equal(plan.pass_count, 2);
    assert_string_equal(plan.pass[0].name, "reset");
    assert_int_equal(plan.pass[0].row_threads, 0);
    assert_grid(&plan.pass[0], 4, 3, 2);
    assert_int_equal(plan.splits, want.splits);
    assert_string_equal(plan.pass[1].name, want.pass[0].name);
    assert_memory_equal(plan.pass[1].grid, want.pass[0].grid, sizeof want.pass[0].grid);
    assert_int_equal(plan.pass[1].dynamic_smem_bytes, want.pass[0].dynamic_smem_bytes);
    /* 64 fp32 outputs, a maximum and a sum for each row whatever the splits; a lock for each 16 rows of a tile */
    assert_int_equal(plan.workspace_bytes, (64 + 2) * 4 * UINT64_C(2) * 3 * 200 + 4 * UINT64_C(2) * 3 * 4 * 4);
  }
}

TEST(split_kv_chooses_splits_that_fill_at_most_one_wave) {
  /* H200: 132 SMs x 3 resident blocks = 396 in a wave; L4: 58 x 1. */
  static const struct {
    const char *model;
    uint32_t B, H, Sq, Skv;
    bool causal;
    uint32_t splits;
  } rows[] = {
      {"h200", 1, 1, 512, 512, false, 8},    /* 8 q tiles, every key tile its own split */
      {"h200", 1, 8, 512, 512, false, 4},    /* 64 q tiles: 6 fit a wave, 4 leave blocks as short */
      {"h200", 8, 16, 512, 512, false, 1},   /* 1024 q tiles fill the GPU */
      {"h200", 1, 1, 64, 64, false, 1},      /* one key tile */
      {"h200", 1, 32, 1, 131072, false, 12}, /* decoding: 32 blocks without splits */
      {"h200", 1, 1, 1, 131072, false, 64},  /* the most there are */
      {"h200", 1, 1, 1, 131072, true, 64},   /* the only query is the last one and sees all keys */
      {"h200", 1, 1, 4096, 64, true, 1},     /* most rows see no key at all */
      {"l4", 1, 1, 512, 512, false, 4},      /* 7 fit a wave, 4 leave blocks as short */
      {"l4", 1, 8, 512, 512, false, 1},      /* 64 q tiles on 58 SMs */
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct attn_problem shape = square(rows[i].B, rows[i].H, rows[i].Sq, 64, ATTN_F16);
    shape.Skv = rows[i].Skv, shape.right = rows[i].causal ? 0 : -1;
    const struct point p = point_of("split_kv", rows[i].model, shape);
    assert_int_equal(plan_of(&p).splits, rows[i].splits);
  }
}

TEST(split_kv_never_splits_finer_than_a_key_tile) {
  struct point p = point_of("split_kv", "h200", square(1, 1, 130, 64, ATTN_F16));
  p.tuning.value[0] = 64;
  assert_int_equal(plan_of(&p).splits, 3);
}

TEST(one_query_has_a_block_per_query_whatever_d_is) {
  static const uint32_t dims_of_s3[] = {512, 2048, 4096, 8192};
  for (size_t i = 0; i < COUNT(dims_of_s3); i++) {
    const struct point p = point_of("one_query", "a100", square(1, 4, 64, dims_of_s3[i], ATTN_F32));
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_grid(&plan.pass[0], 4 * 64, 1, 1);
    assert_int_equal(plan.pass[0].block[0], 256);
    assert_int_equal(plan.pass[0].dynamic_smem_bytes, (64 + 32) * 4);
  }
}

/* Tunables, in order. */
enum { D_SPLIT_ROWS, D_SPLIT_CHUNK, D_SPLIT_FUSED, D_SPLIT_PATH, D_SPLIT_CLUSTER, D_SPLIT_EARLY, D_SPLIT_TF32X3 };
enum { PATH_PASSES = 1, PATH_CLUSTERS, PATH_EXCHANGE };

TEST(d_split_puts_d_on_the_grid_until_the_gpu_is_full) {
  /* H200, 132 SMs; the output pass has q tiles * chunks blocks for each of 4 heads. */
  static const struct {
    uint32_t S, D, rows, q_tiles, chunks, passes;
  } rows[] = {
      {64, 512, 16, 4, 8, 2},   /* 64 rows would give 32 blocks */
      {64, 1024, 16, 4, 8, 2},  /* chunks of 128 */
      {64, 2048, 16, 4, 8, 2},  /* chunks of 256: 64 rows would leave 32 parts, too many for the output pass to add */
      {64, 4096, 64, 1, 32, 3}, /* chunks of 128 */
      {64, 8192, 64, 1, 32, 3}, /* chunks of 256 */
      {16, 8192, 16, 1, 32, 3}, /* 16 rows are all there are */
      {16, 512, 16, 1, 8, 2},   /* 32 blocks: no finer tile */
      {300, 8192, 64, 5, 32, 3}, /* 640 blocks */
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
      struct point p = point_of("d_split", "h200", square(1, 4, rows[i].S, rows[i].D, (enum attn_dtype)dtype));
      p.tuning.value[D_SPLIT_PATH] = PATH_PASSES;
      assert_null(refusal(&p));
      const struct attn_plan plan = plan_of(&p);
      const struct attn_pass *output = &plan.pass[plan.pass_count - 1];
      const uint32_t key_tiles = ceil_div(rows[i].S, 64);
      assert_int_equal(plan.pass_count, rows[i].passes);
      assert_int_equal(plan.tile_q, rows[i].rows);
      assert_grid(&plan.pass[0], rows[i].q_tiles * key_tiles * rows[i].chunks, 4, 1);
      assert_grid(output, rows[i].q_tiles * rows[i].chunks, 4, 1);
      assert_int_equal(output->covers[0], ATTN_COVERS_Q | ATTN_COVERS_D);
      assert_int_equal(plan.workspace_bytes, UINT64_C(4) * rows[i].q_tiles * rows[i].rows * key_tiles * 64 *
                                                 rows[i].chunks * sizeof(float));
    }
}

TEST(passes_of_d_split_start_early_when_told_so_and_by_default_where_it_helps) {
  static const struct {
    enum attn_dtype dtype;
    int32_t early;
    bool starts_early;
  } rows[] = {
      {ATTN_F32, 0, false}, {ATTN_F32, 1, true}, {ATTN_F32, 2, false}, {ATTN_F16, 0, false}, {ATTN_F16, 2, true}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("d_split", "h200", square(1, 4, 64, 4096, rows[i].dtype));
    assert_int_equal(p.tuning.value[D_SPLIT_EARLY], 2);
    p.tuning.value[D_SPLIT_EARLY] = rows[i].early, p.tuning.value[D_SPLIT_PATH] = PATH_PASSES;
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(plan.pass_count, 3);
    for (uint32_t pass = 0; pass < plan.pass_count; pass++)
      assert_int_equal(plan.pass[pass].early_start, rows[i].starts_early && pass > 0);
  }
}

static int path_of(const struct attn_plan *plan) {
  if (plan->pass_count > 1) return PATH_PASSES;
  return plan->pass[0].cluster[0] > 1 ? PATH_CLUSTERS : PATH_EXCHANGE;
}

TEST(d_split_takes_the_path_that_is_fastest_of_those_that_fit_the_gpu) {
  enum { P = PATH_PASSES, C = PATH_CLUSTERS, X = PATH_EXCHANGE };
  static const struct {
    const char *model;
    uint32_t H, Sq, Skv, D;
    int path16, path32; /* of 16-bit types and of fp32 */
  } rows[] = {
      {"h200", 4, 64, 64, 256, C, C},  {"h200", 4, 64, 64, 512, C, C},  {"h200", 4, 64, 64, 1024, C, X},
      {"h200", 4, 64, 64, 2048, X, X}, {"h200", 4, 64, 64, 8192, X, X}, {"h200", 4, 32, 32, 2048, C, C},
      {"h200", 4, 33, 33, 1024, C, C}, {"h200", 4, 33, 33, 1032, X, X}, {"h200", 4, 16, 16, 2048, C, C},
      {"h200", 4, 16, 16, 2056, X, X}, /* a fifth slab for some blocks */
      {"h200", 8, 64, 64, 1024, X, X}, /* clusters of 8 would be 256 blocks, those of 4 have 256 columns each */
      {"h200", 8, 64, 64, 8192, P, P}, /* 256 blocks even of the largest tile */
      {"h200", 33, 16, 16, 512, C, C}, {"h200", 67, 16, 16, 256, X, X}, /* no clusters of one block */
      {"h200", 67, 16, 16, 512, P, P}, {"h200", 4, 65, 64, 512, X, X},  {"h200", 4, 64, 65, 2048, C, P},
      {"h200", 4, 16, 65, 2048, C, C}, {"h200", 4, 65, 65, 512, P, P},  {"a100", 4, 64, 64, 2048, P, P},
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
      struct point p =
          point_of("d_split", rows[i].model, square(1, rows[i].H, rows[i].Sq, rows[i].D, (enum attn_dtype)dtype));
      p.shape.Skv = rows[i].Skv;
      assert_null(refusal(&p));
      const struct attn_plan plan = plan_of(&p);
      const int path = dtype == ATTN_F32 ? rows[i].path32 : rows[i].path16;
      if (path_of(&plan) != path) fail_at(&p, "another path");
    }
}

TEST(d_split_clusters_have_64_columns_and_more_in_a_block) {
  static const struct {
    uint32_t H, S, D, cluster, fp32_cluster, q_tiles;
  } rows[] = {
      {4, 64, 512, 8, 4, 4}, /* fp32: 128 blocks in clusters of 8 are too many for 132 SMs */
      {4, 64, 2048, 8, 4, 4}, {4, 17, 512, 8, 8, 2},  {4, 64, 256, 4, 4, 4}, /* 64 columns each */
      {8, 64, 1024, 4, 2, 4},                                                /* 256 blocks in clusters of 8 */
      {33, 16, 512, 4, 2, 1}, {66, 16, 512, 2, 2, 1},
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
      struct point p =
          point_of("d_split", "h200", square(1, rows[i].H, rows[i].S, rows[i].D, (enum attn_dtype)dtype));
      p.tuning.value[D_SPLIT_PATH] = PATH_CLUSTERS;
      assert_null(refusal(&p));
      const struct attn_plan plan = plan_of(&p);
      assert_int_equal(plan.pass_count, 1);
      assert_int_equal(plan.tile_q, 16);
      const uint32_t cluster = dtype == ATTN_F32 ? rows[i].fp32_cluster : rows[i].cluster;
      assert_grid(&plan.pass[0], rows[i].q_tiles * cluster, rows[i].H, 1);
      assert_int_equal(plan.pass[0].cluster[0], cluster);
      assert_int_equal(plan.pass[0].covers[0], ATTN_COVERS_Q | ATTN_COVERS_D);
      assert_int_equal(plan.workspace_bytes, 0);
    }
}

TEST(d_split_path_and_cluster_can_be_forced) {
  struct point p = point_of("d_split", "h200", square(8, 32, 300, 2048, ATTN_F16));
  p.tuning.value[D_SPLIT_PATH] = PATH_CLUSTERS;
  assert_non_null(strstr(refusal(&p), "at most half the number of SMs"));
  p.tuning.value[D_SPLIT_CLUSTER] = 16;
  assert_null(refusal(&p));
  assert_grid(&plan_of(&p).pass[0], 19 * 16, 32, 8);
  for (int32_t cluster = 1; cluster <= 6; cluster += 5) {
    p.tuning.value[D_SPLIT_CLUSTER] = cluster;
    assert_non_null(strstr(refusal(&p), "cluster must be 0, 2, 4, 8 or 16"));
  }
  p.tuning.value[D_SPLIT_CLUSTER] = 8, p.tuning.value[D_SPLIT_ROWS] = 16;
  assert_non_null(strstr(refusal(&p), "path=1"));
  p.tuning.value[D_SPLIT_ROWS] = 0, p.shape.dtype = ATTN_F32;
  assert_non_null(strstr(refusal(&p), "shared memory")); /* 300 keys of fp32 beside the slabs */
  p.model = gpu_model_find("a100");
  assert_non_null(strstr(refusal(&p), "compute capability 9.0"));
  p.tuning.value[D_SPLIT_PATH] = PATH_PASSES;
  assert_null(refusal(&p));
}

/* Every part of fp32 in floats: slabs or the groups' results in their place, V, scores, weights, factors. */
TEST(d_split_cluster_budget_is_what_its_file_says) {
  static const struct {
    uint32_t S, D, floats;
  } rows[] = {
      {64, 2048, 4 * (16 + 64) * 68 + 2 * 32 * 260 + 16 * 64 + 16 * 68 + 16},
      {64, 512, 8 * 16 * 72 + 2 * 32 * 68 + 16 * 64 + 16 * 68 + 16}, /* the results are larger than one slab */
      {128, 512, 2 * (16 + 64) * 68 + 8 * 16 * 72 + 2 * 32 * 68 + 2 * (16 * 64 + 16 * 68) + 16},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("d_split", "h200", square(1, 2, rows[i].S, rows[i].D, ATTN_F32));
    p.tuning.value[D_SPLIT_PATH] = PATH_CLUSTERS, p.tuning.value[D_SPLIT_CLUSTER] = 8;
    assert_int_equal(plan_of(&p).pass[0].dynamic_smem_bytes, rows[i].floats * 4 + 2 * 8);
  }
}

/* Blocks that wait for each other's packets must all be on the GPU at once. */
TEST(d_split_exchanges_between_no_more_blocks_than_there_are_sms) {
  static const struct {
    const char *model;
    uint32_t H, S, D;
    struct {
      uint32_t rows, chunks; /* rows 0: refused */
    } of_16_bits, of_fp32;
  } rows[] = {
      {"h200", 4, 64, 512, {16, 8}, {16, 8}},    {"h200", 4, 64, 1024, {16, 8}, {16, 8}},
      {"h200", 4, 64, 2048, {16, 8}, {32, 16}},  {"h200", 4, 64, 4096, {32, 16}, {64, 32}},
      {"h200", 4, 64, 8192, {64, 32}, {64, 32}}, {"h200", 4, 16, 8192, {16, 32}, {16, 32}},
      {"h200", 4, 32, 8192, {32, 32}, {32, 32}}, {"h200", 1, 64, 8192, {16, 32}, {32, 64}},
      {"h200", 132, 16, 256, {16, 1}, {16, 1}},  {"h200", 133, 16, 256, {0, 0}, {0, 0}},
      {"h200", 5, 64, 8192, {0, 0}, {0, 0}},     {"h200", 1, 65, 2048, {0, 0}, {0, 0}},
      {"a100", 3, 64, 8192, {64, 32}, {0, 0}}, /* fp32: 223 KB of shared memory for 163 */
      {"l4", 1, 64, 8192, {0, 0}, {0, 0}},
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
      struct point p =
          point_of("d_split", rows[i].model, square(1, rows[i].H, rows[i].S, rows[i].D, (enum attn_dtype)dtype));
      const uint32_t tile_rows = dtype == ATTN_F32 ? rows[i].of_fp32.rows : rows[i].of_16_bits.rows;
      const uint32_t chunks = dtype == ATTN_F32 ? rows[i].of_fp32.chunks : rows[i].of_16_bits.chunks;
      p.tuning.value[D_SPLIT_PATH] = PATH_EXCHANGE;
      if (tile_rows == 0) {
        assert_non_null(strstr(refusal(&p), "path=3 needs"));
        continue;
      }
      assert_null(refusal(&p));
      const struct attn_plan plan = plan_of(&p);
      assert_int_equal(plan.pass_count, 1);
      assert_int_equal(plan.tile_q, tile_rows);
      assert_grid(&plan.pass[0], ceil_div(rows[i].S, tile_rows) * chunks, rows[i].H, 1);
      assert_int_equal(plan.pass[0].cluster[0], 1);
      /* Scores and weights of 64 keys in fp32, of each block. */
      assert_int_equal(plan.zeroed_bytes, plan.pass[0].grid[0] * rows[i].H * 2 * tile_rows * 64 * 4);
      assert_int_equal(plan.workspace_bytes, plan.zeroed_bytes);
    }
}

/* 3xTF32 is asked for by name, and never falls back to a path that computes in another way. */
TEST(d_split_takes_3xtf32_for_f32_on_path_3_when_told_so) {
  static const struct {
    const char *model;
    uint32_t H, Sq, Skv, D;
    const char *refusal;
    uint32_t rows, chunks;
  } rows[] = {
      {"h200", 4, 64, 64, 512, NULL, 16, 8}, /* clusters take it in fp32 */
      {"h200", 4, 64, 64, 2048, NULL, 32, 16},
      {"h200", 4, 64, 64, 8192, NULL, 64, 32},
      {"a100", 3, 64, 64, 4096, NULL, 64, 32},
      {"h200", 4, 64, 65, 2048, "path=3 needs Skv", 0, 0}, /* two passes take it in fp32 */
      {"h200", 8, 64, 64, 8192, "path=3 needs a tile", 0, 0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct point p = point_of("d_split", rows[i].model, square(1, rows[i].H, rows[i].Sq, rows[i].D, ATTN_F32));
    p.shape.Skv = rows[i].Skv;
    assert_int_equal(p.tuning.value[D_SPLIT_TF32X3], 0);
    p.tuning.value[D_SPLIT_TF32X3] = 1;
    if (rows[i].refusal) {
      assert_non_null(strstr(refusal(&p), rows[i].refusal));
      continue;
    }
    assert_null(refusal(&p));
    const struct attn_plan plan = plan_of(&p);
    assert_int_equal(path_of(&plan), PATH_EXCHANGE);
    assert_int_equal(plan.tile_q, rows[i].rows);
    assert_grid(&plan.pass[0], ceil_div(rows[i].Sq, rows[i].rows) * rows[i].chunks, rows[i].H, 1);
    p.shape.dtype = ATTN_BF16;
    assert_non_null(strstr(refusal(&p), "tf32x3=1 is for f32"));
    p.shape.dtype = ATTN_F32, p.tuning.value[D_SPLIT_PATH] = PATH_PASSES;
    assert_non_null(strstr(refusal(&p), "tf32x3=1 is for f32 and path=3"));
  }
}

TEST(d_split_takes_256_keys_of_any_dimension_on_every_model) {
  for (size_t m = 0; m < gpu_model_count(); m++)
    for (uint32_t D = 256; D <= 8192; D += 8)
      for (int dtype = 0; dtype < FLOAT_DTYPES; dtype++) {
        const struct point p =
            point_of("d_split", gpu_model_at(m)->name, square(1, 4, 256, D, (enum attn_dtype)dtype));
        if (refusal(&p)) fail_at(&p, refusal(&p));
      }
}

TEST(d_split_refuses_what_its_tiles_cannot_hold) {
  struct point p = point_of("d_split", "h200", square(1, 4, 64, 248, ATTN_F32));
  assert_non_null(strstr(refusal(&p), "D must be"));
  p.shape.D = p.shape.Dv = 516;
  assert_non_null(strstr(refusal(&p), "multiple of 8"));
  p.shape.D = p.shape.Dv = 512, p.shape.Skv = 513;
  assert_non_null(strstr(refusal(&p), "Skv must be at most 512"));
  p.shape.Skv = 512, p.tuning.value[0] = 48;
  assert_non_null(strstr(refusal(&p), "rows must be"));
  p.tuning.value[0] = 32;
  assert_non_null(strstr(refusal(&p), "rows=32 is for path=3"));
  p.tuning.value[0] = 64, p.tuning.value[1] = 256;
  assert_null(refusal(&p));
  p = (struct point){p.variant, gpu_model_find("l4"), p.shape, p.tuning};
  assert_non_null(strstr(refusal(&p), "shared memory"));
}

TEST(a_cpu_is_refused_by_every_cuda_variant) {
  struct gpu_model cpu = *gpu_model_find("h200");
  cpu.info.kind = DEVICE_CPU;
  for (size_t v = 0; v < variant_count(); v++) {
    const struct attn_problem shape = square(1, 8, 512, 64, ATTN_F16);
    const struct attn_tuning tuning = variant_default_tuning(variant_at(v));
    if (!variant_runs_on(variant_at(v), DEVICE_CPU))
      assert_non_null(variant_supports(variant_at(v), &shape, &tuning, &cpu.info));
  }
}
