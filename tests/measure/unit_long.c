/* tags: long slow asan */
/* Sums over many keys: what truncation on tensor cores costs is within the bounds of the check, and what wrong
 * kernels of the same length do is not. The tensor core is emulated: exact products, cut to the bits that are kept
 * beside the largest term, added exactly, and the sum cut to fp32. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device_ops.h"
#include "tests/unit.h"

enum { D = 32, TILE = 64, STEP_MAX = TILE, KEYS_MAX = 1 << 20, ALL_BITS = 50 };

/* ---- how kernels add up ---------------------------------------------------------------------------------------- */

enum mistake { RIGHT, DROPPED_TILE, FIRST_RESCALE, LAST_RESCALE };

/* A kernel that adds `step` keys at once to a sum of `sum_bits` bits. */
struct kernel {
  const char *name;
  uint32_t step;     /* TILE: a tile's terms have a sum of their own, and that is added in fp32 */
  int sum_bits;      /* 11: rounded, as f16 is; else cut */
  int term_bits;     /* of each term below the leading bit of the largest */
  double step_keys;  /* of its tolerance */
  enum mistake what; /* is wrong */
};

/* Compute capability 8.0 adds 8 products at once with one bit beyond fp32, 9.0 adds 16 with two (Fasi et al. 2021,
 * Khattak and Mikaitis 2025). */
static const struct kernel right[] = {
    {"sm_90", 16, 24, 25, 16, RIGHT},
    {"sm_80", 8, 24, 24, 8, RIGHT},
    {"sm_90 in two halves", 8, 24, 25, 16, RIGHT},
    {"24 bits", 16, 24, ALL_BITS, 16, RIGHT},
    {"23 bits", 16, 23, ALL_BITS, 16, RIGHT},
    {"fp32, tile by tile", TILE, 24, ALL_BITS, 0, RIGHT},
};

static const struct kernel wrong[] = {
    {"sums in f16", 16, 11, ALL_BITS, 16, RIGHT},
    {"a tile of 64 keys dropped", 16, 24, 25, 16, DROPPED_TILE},
    {"O not rescaled the first time", 16, 24, 25, 16, FIRST_RESCALE},
    {"O not rescaled the last time", 16, 24, 25, 16, LAST_RESCALE},
};

/* x without what is below 1 / scale. */
static double cut(double x, double scale) { return (double)(int64_t)(x * scale) / scale; }

static float rounded_to(double x, int bits) {
  if (x == 0) return 0;
  const double unit = ldexp(1, ilogb(x) + 1 - bits);
  return (float)(nearbyint(x / unit) * unit);
}

/* sum + the `count` terms. */
static float add_step(const struct kernel *k, float sum, const double *term, uint32_t count) {
  double total = (double)sum, largest = fabs((double)sum);
  for (uint32_t i = 0; i < count; ++i) largest = fabs(term[i]) > largest ? fabs(term[i]) : largest;
  if (largest == 0) return 0;
  const double scale = ldexp(1, k->term_bits - ilogb(largest));
  total = cut(total, scale);
  for (uint32_t i = 0; i < count; ++i) total += cut(term[i], scale);
  if (total == 0 || count == TILE) return (float)total;
  return k->sum_bits == 11 ? rounded_to(total, 11) : (float)cut(total, ldexp(1, k->sum_bits - 1 - ilogb(total)));
}

/* ---- one row of a problem ------------------------------------------------------------------------------------- */

/* What a row of Q does: pattern.h has its terms. */
struct input {
  const char *name;
  uint32_t launch, head, dimension;
  float weight, deviation;
};
enum { V_BIASED = 0, V_PLAIN = 2 }; /* KV heads of launch 1 whose V has the mean 512, and the mean 0 */

/* The first few are enough for the longest. */
static const struct input inputs[] = {
    {"random", 0, 0, 0, 0, 0},
    {"slope down, V with a mean", 1, V_BIASED, 1, -4, 1},
    {"slope down", 1, V_PLAIN, 1, -4, 1},
    {"equal, V with a mean", 1, V_BIASED, 0, -90, 0},
    {"random", 0, 1, 0, 0, 0},
    {"edges of tiles", 1, V_PLAIN, 3, 20, 0.25f},
    {"slope up, V with a mean", 1, V_BIASED, 1, 4, 1},
    {"slope up", 1, V_PLAIN, 1, 4, 1},
    {"equal", 1, V_PLAIN, 0, 0, 0},
    {"edges of tiles, V with a mean", 1, V_BIASED, 3, 20, 0.25f},
    {"steep up", 1, V_PLAIN, 1, 60, 0.5f},
    {"steep up, V with a mean", 1, V_BIASED, 1, 60, 0.5f},
    {"steep down", 1, V_PLAIN, 1, -60, 0.5f},
    {"steep down, V with a mean", 1, V_BIASED, 1, -60, 0.5f},
    {"large", 1, V_PLAIN, 0, 0, 16},
    {"large, V with a mean", 1, V_BIASED, 0, 0, 16},
};
enum { INPUTS = sizeof inputs / sizeof *inputs, INPUTS_LONGEST = 3 };

struct row {
  struct attn_problem problem;
  double *score;
  float *v, *p; /* [keys][D], [keys] */
  double o[D];
  struct reference_row facts;
};

static double rounded_value(const struct pattern *p, enum attn_role role, const struct pattern_line *line,
                            uint32_t d) {
  return (double)attn_dtype_value(p->problem.dtype,
                                  attn_dtype_bits(p->problem.dtype, pattern_value(p, role, line, d)));
}

/* The reference, as the oracle has it. */
static void refer(struct row *row) {
  const uint32_t keys = row->problem.Skv;
  double most = -INFINITY, sum = 0;
  for (uint32_t j = 0; j < keys; ++j) most = fmax(most, row->score[j]);
  memset(row->o, 0, sizeof row->o);
  for (uint32_t j = 0; j < keys; ++j) {
    const double p = exp(row->score[j] - most);
    double square = 0;
    row->facts.largest = fmax(row->facts.largest, fabs(row->score[j]));
    sum += p;
    for (uint32_t d = 0; d < D; ++d) {
      const double v = (double)row->v[(uint64_t)j * D + d];
      row->o[d] += p * v;
      square += v * v;
    }
    row->facts.spread_square += p * p * square;
  }
  for (uint32_t d = 0; d < D; ++d) row->o[d] /= sum;
  row->facts.spread_square /= sum * sum;
}

static struct row row_of(const struct input *input, uint32_t keys) {
  struct row row = {.problem = ATTN_DENSE(1, 3, 3, 1, keys, D, ATTN_F16, false),
                    .score = malloc(keys * sizeof *row.score),
                    .v = malloc((uint64_t)keys * D * sizeof *row.v),
                    .p = malloc(keys * sizeof *row.p)};
  const struct pattern pattern = {.problem = row.problem, .seed = 1, .launch = input->launch};
  const uint64_t first = (uint64_t)input->head * keys;
  double q[D];
  assert_true(row.score != NULL && row.v != NULL && row.p != NULL);
  const struct pattern_line line =
      input->launch == 0 ? pattern_line_of(&pattern, ATTN_Q, input->head)
                         : pattern_lean(&pattern, input->head, input->dimension, input->weight, input->deviation);
  for (uint32_t d = 0; d < D; ++d) q[d] = rounded_value(&pattern, ATTN_Q, &line, d);
  for (uint32_t j = 0; j < keys; ++j) {
    const struct pattern_line k = pattern_line_of(&pattern, ATTN_K, first + j),
                              v = pattern_line_of(&pattern, ATTN_V, first + j);
    double dot = 0;
    for (uint32_t d = 0; d < D; ++d) {
      dot += q[d] * rounded_value(&pattern, ATTN_K, &k, d);
      row.v[(uint64_t)j * D + d] = (float)rounded_value(&pattern, ATTN_V, &v, d);
    }
    row.score[j] = dot / sqrt((double)D);
  }
  refer(&row);
  return row;
}

static void row_free(struct row *row) {
  free(row->score);
  free(row->v);
  free(row->p);
}

/* ---- flash attention with a kernel's sums ---------------------------------------------------------------------- */

struct state {
  float out[D], most, sum;
  uint32_t rescaled;
};

static float tile_most(const struct row *row, uint32_t first, uint32_t end, float most) {
  for (uint32_t j = first; j < end; ++j) most = fmaxf(most, (float)row->score[j]);
  return most;
}

/* How often the maximum moves after the first tile. */
static uint32_t rescales(const struct row *row) {
  float most = tile_most(row, 0, TILE, -INFINITY);
  uint32_t count = 0;
  for (uint32_t j = TILE; j < row->problem.Skv; j += TILE) {
    const float next = tile_most(row, j, j + TILE, most);
    count += next > most;
    most = next;
  }
  return count;
}

static void rescale(const struct kernel *k, uint32_t count, float most, struct state *s) {
  const float factor = expf(s->most - most);
  const bool forgotten =
      (k->what == FIRST_RESCALE && s->rescaled == 0) || (k->what == LAST_RESCALE && s->rescaled + 1 == count);
  s->most = most;
  s->sum *= factor;
  ++s->rescaled;
  for (uint32_t d = 0; d < D && !forgotten; ++d)
    s->out[d] = k->sum_bits == 11 ? rounded_to((double)(s->out[d] * factor), 11) : s->out[d] * factor;
}

static void add_tile(const struct kernel *k, const struct row *row, uint32_t first, struct state *s) {
  float sum = 0;
  for (uint32_t j = first; j < first + TILE; ++j) {
    const float p = expf((float)(row->score[j] - (double)s->most));
    sum += p;
    row->p[j] = attn_dtype_value(ATTN_F16, attn_dtype_bits(ATTN_F16, p));
  }
  s->sum += sum;
  for (uint32_t j = first; j < first + TILE; j += k->step) {
    for (uint32_t d = 0; d < D; ++d) {
      double term[STEP_MAX];
      for (uint32_t i = 0; i < k->step; ++i)
        term[i] = (double)row->p[j + i] * (double)row->v[(uint64_t)(j + i) * D + d];
      s->out[d] = add_step(k, s->out[d], term, k->step);
    }
  }
}

/* The error of a row against its bounds: of its elements and of its norm, and of the norm as a part of the output. */
static double ratio_of(const struct kernel *k, const struct row *row, bool random) {
  const uint32_t keys = row->problem.Skv, dropped = keys / 2, count = rescales(row);
  struct tolerance tolerance = compare_tolerance(ATTN_F16);
  struct compare_partial found;
  struct compare_row sums = {0};
  struct state s = {.most = tile_most(row, 0, TILE, -INFINITY)};
  tolerance.step_keys = k->step_keys;
  for (uint32_t j = 0; j < keys; j += TILE) {
    const float most = tile_most(row, j, j + TILE, s.most);
    if (k->what == DROPPED_TILE && j == dropped) continue;
    if (most > s.most) rescale(k, count, most, &s);
    add_tile(k, row, j, &s);
  }
  const struct compare_bound bound = compare_bound_of(&tolerance, &row->problem, keys, &row->facts);
  compare_start(&found);
  for (uint32_t d = 0; d < D; ++d) {
    const float o = attn_dtype_value(ATTN_F16, attn_dtype_bits(ATTN_F16, s.out[d] / s.sum));
    compare_element(&found, &sums, &bound, d, (double)o, row->o[d]);
  }
  compare_row_end(&found, &sums, &bound, 0);
  compare_finish(&found, &tolerance);
  const double most = fmax(found.result.max_bound_ratio, found.result.max_row_ratio);
  return random ? fmax(most, found.result.norm_ratio) : most;
}

/* ---- tests ------------------------------------------------------------------------------------------------------
 */

enum { RIGHTS = sizeof right / sizeof *right, WRONGS = sizeof wrong / sizeof *wrong };

/* The worst of each kernel over the inputs. A wrong kernel has to be seen on one of them. */
static void check_length(uint32_t keys, size_t count) {
  double worst[RIGHTS] = {0}, seen[WRONGS] = {0};
  const char *where[RIGHTS + WRONGS] = {0};
  for (size_t i = 0; i < count; ++i) {
    struct row row = row_of(&inputs[i], keys);
    for (size_t k = 0; k < RIGHTS + WRONGS; ++k) {
      const struct kernel *kernel = k < RIGHTS ? &right[k] : &wrong[k - RIGHTS];
      double *most = k < RIGHTS ? &worst[k] : &seen[k - RIGHTS];
      const double ratio = ratio_of(kernel, &row, inputs[i].launch == 0);
      if (ratio > *most) where[k] = inputs[i].name;
      *most = fmax(*most, ratio);
    }
    row_free(&row);
  }
  for (size_t k = 0; k < RIGHTS + WRONGS; ++k)
    print_message("%7u keys: %-30s %8.3g of the bound (%s)\n", (unsigned)keys,
                  k < RIGHTS ? right[k].name : wrong[k - RIGHTS].name, k < RIGHTS ? worst[k] : seen[k - RIGHTS],
                  where[k]);
  for (size_t k = 0; k < RIGHTS; ++k) {
    if (!(worst[k] < 0.9)) fail_msg("%s: %g of the bound", right[k].name, worst[k]);
  }
  for (size_t k = 0; k < WRONGS; ++k) {
    if (!(seen[k] > 1.5)) fail_msg("%s: %g of the bound", wrong[k].name, seen[k]);
  }
}

TEST(truncation_is_expected_where_tensor_cores_may_add) {
  static const struct {
    const char *variant;
    enum attn_dtype dtype;
    enum device_kind kind;
    uint32_t cc_major;
    double step_keys;
  } cases[] = {
      {"wgmma", ATTN_F16, DEVICE_CUDA, 9, 16},        {"mma_swizzle", ATTN_BF16, DEVICE_CUDA, 8, 8},
      {"mma_swizzle", ATTN_F16, DEVICE_CUDA, 10, 16}, {"scalar", ATTN_F16, DEVICE_CUDA, 9, 0},
      {"d_split", ATTN_F16, DEVICE_CUDA, 9, 16},      {"d_split", ATTN_F32, DEVICE_CUDA, 9, 0},
      {"cudnn", ATTN_F16, DEVICE_CUDA, 9, 16},        {"cpu_flash", ATTN_F16, DEVICE_CPU, 0, 0},
      {"wgmma", ATTN_F16, DEVICE_CPU, 0, 16},         {"mma_swizzle", ATTN_F16, DEVICE_CPU, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct device device = {.info = {.kind = cases[i].kind, .cc_major = cases[i].cc_major}};
    const struct bench bench = {.device = &device,
                                .shape = ATTN_DENSE(1, 1, 1, 1, 64, 64, cases[i].dtype, false),
                                .variant = variant_find(cases[i].variant)};
    assert_non_null(bench.variant);
    if (bench_tolerance(&bench).step_keys != cases[i].step_keys) fail_msg("case %zu", i);
  }
  /* What `auto` picked decides, and a vendor's or a loaded variant may use them whatever it declares. */
  struct device device = {.info = {.kind = DEVICE_CUDA, .cc_major = 9}};
  const struct attn_vendor vendor = {.missing = NULL};
  const struct attn_variant library = {.name = "library", .math = ATTN_MATH_FP32, .vendor = &vendor};
  struct bench bench = {.device = &device,
                        .shape = ATTN_DENSE(1, 1, 1, 1, 64, 64, ATTN_F16, false),
                        .variant = variant_find("auto"),
                        .plan = {.picked = variant_find("one_query")}};
  assert_true(bench_tolerance(&bench).step_keys == 0);
  bench.plan.picked = NULL, bench.variant = &library;
  assert_true(bench_tolerance(&bench).step_keys == 16);
  bench.shape.dtype = ATTN_F32;
  assert_true(bench_tolerance(&bench).step_keys == 0);
}

TEST(sums_of_65536_keys_are_judged) { check_length(65536, INPUTS); }

TEST(sums_of_a_million_keys_are_judged) { check_length(KEYS_MAX, INPUTS_LONGEST); }

/* ---- the log-sum-exp: scores are sums over D ------------------------------------------------------------------- */

enum { DEPTH_MAX = 8192 };

enum products { ONE_SIGN, ONE_LARGE, RANDOM_SIGNS, PRODUCTS };

/* Element d of Q or K. */
static double factor_of(enum products what, bool is_q, uint32_t d) {
  const double random = (double)input_value(7, is_q ? ATTN_Q : ATTN_K, d);
  if (what == ONE_SIGN) return 0.5 + 0.25 * fabs(random);
  if (what == ONE_LARGE && d == 0) return is_q ? 1000 : 1;
  return random;
}

/* The log-sum-exp of a row with one key, which is its score, against its bound. */
static double lse_ratio_of(const struct kernel *k, enum products what, uint32_t depth) {
  const struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1, depth, ATTN_F16, false);
  const double scale = 1 / sqrt((double)depth);
  struct tolerance tolerance = compare_tolerance(ATTN_F16);
  double exact = 0, squares = 0;
  float sum = 0;
  for (uint32_t d = 0; d < depth; d += k->step) {
    double term[STEP_MAX];
    for (uint32_t i = 0; i < k->step; ++i) {
      const double q =
          (double)attn_dtype_value(ATTN_F16, attn_dtype_bits(ATTN_F16, (float)factor_of(what, true, d + i)));
      const double x =
          (double)attn_dtype_value(ATTN_F16, attn_dtype_bits(ATTN_F16, (float)factor_of(what, false, d + i)));
      term[i] = q * x;
      squares += q * q;
      exact += term[i];
    }
    if (k->what == DROPPED_TILE && d == 0) continue;
    sum = add_step(k, sum, term, k->step);
  }
  const struct reference_row facts = {
      .largest = fabs(exact * scale), .lse = exact * scale, .q_size = sqrt(squares / depth), .spread_square = 1};
  struct compare_partial found;
  compare_start(&found);
  tolerance.step_keys = k->step_keys;
  const struct compare_bound bound = compare_bound_of(&tolerance, &problem, 1, &facts);
  compare_lse(&found, &bound, 0, (double)sum * scale, exact * scale);
  return found.result.lse.max_bound_ratio;
}

TEST(truncated_scores_are_within_the_bound_of_lse) {
  for (size_t k = 0; k < RIGHTS; ++k) {
    for (uint32_t depth = TILE; depth <= DEPTH_MAX; depth *= 2) {
      for (enum products what = 0; what < PRODUCTS; ++what) {
        const double ratio = lse_ratio_of(&right[k], what, depth);
        if (!(ratio < 0.9))
          fail_msg("%s, D = %u, products %d: %g of the bound", right[k].name, depth, (int)what, ratio);
      }
    }
  }
}

/* Without the term a right kernel would be wrong, and what is wrong still is, with it. */
TEST(the_term_of_lse_is_needed_and_hides_nothing) {
  struct kernel as_rounded = right[0];
  as_rounded.step_keys = 0;
  assert_true(lse_ratio_of(&as_rounded, ONE_SIGN, DEPTH_MAX) > 1);
  for (uint32_t depth = TILE; depth <= 1024; depth *= 2) {
    for (size_t k = 0; k < 2; ++k) {
      const double ratio = lse_ratio_of(&wrong[k], RANDOM_SIGNS, depth);
      if (!(ratio > 1.5)) fail_msg("%s, D = %u: %g of the bound", wrong[k].name, depth, ratio);
    }
  }
}
