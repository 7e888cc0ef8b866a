#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/oracle.h"
#include "kernels/device_ops.h"
#include "tests/unit.h"

enum { SEED = 20260101, KEYS_MAX = 1024 };

static const struct attn_problem shapes[] = {
    ATTN_DENSE(1, 1, 1, 1, 1, 4, ATTN_F32, false),
    ATTN_DENSE(2, 3, 3, 65, 65, 64, ATTN_F16, true),
    ATTN_DENSE(1, 4, 2, 63, 127, 72, ATTN_BF16, true),
    ATTN_DENSE(2, 6, 2, 33, 17, 5, ATTN_F16, true),
    ATTN_DENSE(1, 8, 1, 17, 130, 128, ATTN_F16, false),
    ATTN_DENSE(3, 2, 1, 64, 64, 16, ATTN_F32, true),
    ATTN_DENSE(1, 1, 1, 2, 200, 300, ATTN_F32, false),
    ATTN_DENSE(1, 2, 2, 16, 777, 8, ATTN_BF16, false),
    {.B = 2, .Hq = 4, .Hkv = 2, .Sq = 40, .Skv = 90, .D = 24, .Dv = 40, .dtype = ATTN_BF16, .left = 17, .right = 5},
    {.B = 1, .Hq = 2, .Hkv = 1, .Sq = 33, .Skv = 65, .D = 33, .Dv = 8, .left = -1, .softcap = 2.5f},
    {.B = 2, .Hq = 3, .Hkv = 1, .Sq = 30, .Skv = 12, .D = 16, .Dv = 16, .left = -1, .sink = true},
    {.B = 2, .Hq = 4, .Hkv = 2, .Sq = 20, .Skv = 33, .D = 24, .Dv = 8, .left = -1, .layout = ATTN_BSHD},
    {.B = 2, .Hq = 3, .Hkv = 3, .Sq = 33, .Skv = 33, .D = 16, .Dv = 16, .left = -1, .layout = ATTN_QKV},
    {.B = 2, .Hq = 4, .Hkv = 2, .Sq = 20, .Skv = 33, .D = 24, .Dv = 24, .left = -1, .page = 8, .prefix = 16},
    {.B = 2, .Hq = 3, .Hkv = 1, .Sq = 9, .Skv = 40, .D = 32, .Dv = 24, .left = -1, .v_in_k = true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static uint64_t elements_of(const struct attn_problem *s, enum attn_role role) {
  struct attn_tensor tensor;
  assert_true(attn_tensor_of(s, role, &tensor));
  return tensor.elements;
}

struct output {
  double *o;
  struct reference_row *rows;
};

static struct output oracle_output_of(const struct attn_problem *shape, const struct oracle_input *input,
                                      unsigned threads) {
  const uint64_t elements = elements_of(shape, ATTN_O);
  const struct output out = {.o = malloc(elements * sizeof(double)),
                             .rows = malloc(elements / shape->Dv * sizeof(struct reference_row))};
  assert_non_null(out.o);
  assert_non_null(out.rows);
  const struct oracle_output wanted = {.o = out.o, .rows = out.rows};
  assert_int_equal(oracle_run(shape, input, &wanted, threads).code, STATUS_OK);
  return out;
}

static void output_free(struct output *out) {
  free(out->o);
  free(out->rows);
}

/* The random launch of a shape, until the next call. */
static struct oracle_input random_input_of(const struct attn_problem *shape) {
  static struct pattern pattern;
  pattern = (struct pattern){.problem = *shape, .seed = SEED};
  return (struct oracle_input){.pattern = &pattern};
}

/* ---- an independent computation: long double, one element at a time, masks and heads by their definition ----- */

static long double element_of(const struct attn_problem *s, enum attn_role tensor, uint64_t index) {
  const float value = input_value(SEED, tensor, index);
  return (long double)attn_dtype_value(s->dtype, attn_dtype_bits(s->dtype, value));
}

/* O of output element (b, h, i, d), sum_j p^2 v^2 of its column, and the row's log-sum-exp. */
static void naive_element(const struct attn_problem *s, uint64_t b, uint64_t h, uint64_t i, uint64_t d,
                          long double *o, long double *spread, long double *lse) {
  const struct attn_sequence own = attn_sequence_of(s, (uint32_t)b);
  const uint64_t q_row = (b * s->Hq + h) * s->Sq + i, v_columns = s->v_in_k ? s->D : s->Dv;
  const uint32_t kv_h = (uint32_t)h / (s->Hq / s->Hkv);
  long double weight[KEYS_MAX], total = 0;
  *o = *spread = 0;
  for (uint64_t j = 0; j < s->Skv; ++j) {
    const uint64_t k_row = attn_key_row(s, &own, kv_h, (uint32_t)j);
    long double dot = 0;
    for (uint64_t x = 0; x < s->D; ++x)
      dot += element_of(s, ATTN_Q, q_row * s->D + x) * element_of(s, ATTN_K, k_row * s->D + x);
    const int64_t distance = (int64_t)j - ((int64_t)i + (int64_t)s->Skv - (int64_t)s->Sq);
    const bool attended = (s->left < 0 || distance >= -s->left) && (s->right < 0 || distance <= s->right);
    const long double cap = (long double)s->softcap;
    long double score = dot / sqrtl((long double)s->D);
    if (cap > 0) score = cap * tanhl(score / cap);
    weight[j] = attended ? expl(score) : 0; /* scores are small: no overflow without maximum */
    total += weight[j];
  }
  if (s->sink) {
    const struct pattern pattern = {.problem = *s, .seed = SEED};
    const struct pattern_line line = pattern_line_of(&pattern, ATTN_SINK, h);
    total += expl((long double)pattern_value(&pattern, ATTN_SINK, &line, 0));
  }
  *lse = logl(total);
  if (total == 0) return;
  for (uint64_t j = 0; j < s->Skv; ++j) {
    const uint64_t v_row = attn_key_row(s, &own, kv_h, (uint32_t)j);
    const long double v = element_of(s, s->v_in_k ? ATTN_K : ATTN_V, v_row * v_columns + d);
    *o += weight[j] / total * v;
    *spread += weight[j] / total * v * (weight[j] / total * v);
  }
}

TEST(oracle_matches_long_double) {
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_problem *s = &shapes[c];
    struct output out = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 2);
    const uint64_t rows = elements_of(s, ATTN_O) / s->Dv;
    for (uint64_t row = 0; row < rows; row += 1 + rows / 7) {
      const uint64_t head = row / s->Sq;
      long double spread = 0, of_column, o, lse = 0;
      for (uint64_t d = 0; d < s->Dv; ++d) {
        naive_element(s, head / s->Hq, head % s->Hq, row % s->Sq, d, &o, &of_column, &lse);
        spread += of_column;
        if (fabsl((long double)out.o[row * s->Dv + d] - o) <= 1e-14L) continue;
        fail_msg("shape %zu row %llu column %llu: o %.17g not %.17Lg", c, (unsigned long long)row,
                 (unsigned long long)d, out.o[row * s->Dv + d], o);
      }
      assert_true(fabsl((long double)out.rows[row].spread_square - spread) <= 1e-13L * spread);
      assert_true((isinf(out.rows[row].lse) && isinf(lse)) || fabsl((long double)out.rows[row].lse - lse) <= 1e-14L);
    }
    output_free(&out);
  }
}

TEST(arrays_and_seed_give_the_same_bits) {
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_problem *s = &shapes[c];
    struct oracle_input arrays = {0};
    void *data[ATTN_ROLE_COUNT] = {0};
    for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
      struct attn_tensor tensor;
      if (attn_role_is_output(role) || !attn_tensor_of(s, role, &tensor)) continue;
      if (tensor.memory == tensor.role) data[role] = malloc(attn_tensor_bytes(&tensor));
      assert_non_null(data[tensor.memory]);
      void *own = (unsigned char *)data[tensor.memory] + tensor.offset * attn_dtype_bytes(tensor.dtype);
      arrays.tensor[role] = own;
      const struct pattern *pattern = random_input_of(s).pattern;
      for (uint64_t row = 0; row < attn_view_rows(&tensor.view); ++row) {
        const struct pattern_line line = pattern_line_of(pattern, role, row);
        for (uint32_t d = 0; d < tensor.view.columns; ++d)
          cpu_store(own, tensor.dtype, attn_view_row(&tensor.view, row) + d, pattern_value(pattern, role, &line, d));
      }
    }
    struct output a = oracle_output_of(s, &arrays, 1);
    struct output b = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 3);
    assert_memory_equal(a.o, b.o, elements_of(s, ATTN_O) * sizeof(double));
    assert_memory_equal(a.rows, b.rows, elements_of(s, ATTN_O) / s->Dv * sizeof *a.rows);
    output_free(&a);
    output_free(&b);
    for (size_t t = 0; t < ATTN_ROLE_COUNT; ++t) free(data[t]);
  }
}

/* The row of a key, by the page table where there is one. */
static uint64_t key_row(const struct pattern *pattern, const struct attn_sequence *s, uint32_t h, uint32_t token) {
  const struct attn_problem *p = &pattern->problem;
  if (!attn_is_paged(p)) return attn_key_row(p, s, h, token);
  const uint64_t entry = (uint64_t)s->b * attn_view_of(p, ATTN_PAGE_TABLE).tokens + token / p->page;
  const uint64_t page = (uint64_t)pattern_line_of(pattern, ATTN_PAGE_TABLE, entry).offset;
  return (page * p->Hkv + h) * p->page + token % p->page;
}

/* The inputs of one sequence of a batch as those of a dense problem, each to be freed. */
static void take_sequence(const struct pattern *pattern, const struct attn_sequence *s,
                          const struct attn_problem *one, void *data[ATTN_ROLE_COUNT]) {
  for (unsigned role = ATTN_Q; role <= ATTN_V; ++role) {
    const bool is_key = attn_role_rows((enum attn_role)role) == ATTN_ROWS_KEYS;
    const uint32_t heads = is_key ? one->Hkv : one->Hq, tokens = is_key ? s->Skv : s->Sq;
    struct attn_tensor tensor;
    assert_true(attn_tensor_of(one, (enum attn_role)role, &tensor));
    data[role] = malloc(attn_tensor_bytes(&tensor));
    assert_non_null(data[role]);
    for (uint64_t row = 0; row < (uint64_t)heads * tokens; ++row) {
      const uint32_t h = (uint32_t)(row / tokens), token = (uint32_t)(row % tokens);
      const uint64_t from = is_key ? key_row(pattern, s, h, token) : attn_query_row(&pattern->problem, s, h, token);
      const struct pattern_line line = pattern_line_of(pattern, (enum attn_role)role, from);
      for (uint32_t d = 0; d < tensor.view.columns; ++d)
        cpu_store(data[role], tensor.dtype, row * tensor.view.columns + d, pattern_value(pattern, role, &line, d));
    }
  }
}

static void check_sequences(struct attn_problem p) {
  const uint32_t Dv = p.Dv;
  for (uint32_t launch = 0; launch < 3; ++launch) {
    const struct pattern pattern = {.problem = p, .seed = SEED, .launch = launch};
    struct output all = oracle_output_of(&p, &(struct oracle_input){.pattern = &pattern}, 2);
    for (uint32_t b = 0; b < p.B; ++b) {
      const struct attn_sequence s = attn_sequence_of(&p, b);
      struct attn_problem one = ATTN_DENSE(1, 4, 2, s.Sq, s.Skv, 24, ATTN_BF16, true);
      one.Dv = Dv;
      void *data[ATTN_ROLE_COUNT] = {NULL};
      struct output alone = {NULL, NULL};
      if (s.Sq > 0 && s.Skv > 0) {
        take_sequence(&pattern, &s, &one, data);
        alone = oracle_output_of(&one, &(struct oracle_input){.tensor = {data[0], data[1], data[2]}}, 1);
      }
      for (uint32_t row = 0; row < 4 * s.Sq; ++row) {
        const uint64_t at = attn_query_row(&p, &s, row / s.Sq, row % s.Sq);
        const double zeros[24] = {0}, *wanted = alone.o != NULL ? alone.o + row * Dv : zeros;
        if (!isnan(wanted[0])) assert_memory_equal(all.o + at * Dv, wanted, Dv * sizeof *wanted);
        assert_int_equal(isnan(all.o[at * Dv]), isnan(wanted[0]));
        if (s.Skv == 0) assert_true(isinf(all.rows[at].lse) && all.rows[at].lse < 0);
      }
      output_free(&alone);
      for (size_t t = 0; t < ATTN_ROLE_COUNT; ++t) free(data[t]);
    }
    output_free(&all);
  }
}

/* Also where it has hidden keys and hard rows; one without keys has zeros. */
TEST(a_sequence_is_computed_as_if_it_were_alone) {
  struct attn_problem p = ATTN_DENSE(0, 4, 2, 0, 0, 24, ATTN_BF16, true);
  attn_batch_read("2q33s70_q5s0_q0s9_3q1_q40s12", &p.batch);
  const struct attn_group extent = attn_batch_extent(&p.batch);
  p.B = extent.count, p.Sq = extent.Sq, p.Skv = extent.Skv;
  check_sequences(p);
  p.page = 16;
  check_sequences(p);
  p.Dv = 16, p.v_in_k = true, p.layout = ATTN_HND;
  check_sequences(p);
  p = (struct attn_problem)ATTN_DENSE(3, 4, 2, 20, 70, 24, ATTN_BF16, true);
  p.page = 7, p.prefix = 63;
  check_sequences(p);
}

TEST(single_row_has_the_bits_of_the_whole) {
  double o[512];
  struct reference_row facts;
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_problem *s = &shapes[c];
    struct output out = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 2);
    const uint64_t rows = (uint64_t)s->B * s->Hq * s->Sq;
    for (uint64_t row = 0; row < rows; row += 1 + rows / 31) {
      assert_int_equal(oracle_row(s, random_input_of(s).pattern, row, o, &facts).code, STATUS_OK);
      assert_memory_equal(o, out.o + row * s->Dv, s->Dv * sizeof(double));
      assert_memory_equal(&facts, &out.rows[row], sizeof facts);
    }
    output_free(&out);
  }
}

/* Probabilities add up to one, so equal values average to themselves, whatever the scores. */
TEST(constant_v_gives_constant_o) {
  const struct attn_problem s = ATTN_DENSE(2, 4, 2, 37, 91, 24, ATTN_F32, true);
  const uint64_t q_count = elements_of(&s, ATTN_Q), kv_count = elements_of(&s, ATTN_K);
  float *q = malloc(q_count * sizeof *q), *k = malloc(kv_count * sizeof *k), *v = malloc(kv_count * sizeof *v);
  assert_true(q && k && v);
  for (uint64_t i = 0; i < q_count; ++i) q[i] = 5 * input_value(SEED, ATTN_Q, i);
  for (uint64_t i = 0; i < kv_count; ++i) {
    k[i] = 5 * input_value(SEED, ATTN_K, i);
    v[i] = -1.5f;
  }
  struct output out = oracle_output_of(&s, &(struct oracle_input){.tensor = {q, k, v}}, 2);
  for (uint64_t i = 0; i < q_count; ++i) assert_true(fabs(out.o[i] + 1.5) < 1e-14);
  output_free(&out);
  free(q);
  free(k);
  free(v);
}

/* One key: probability one, so O is V's row of the right KV head. */
TEST(single_key_copies_v_of_its_kv_head) {
  const struct attn_problem s = ATTN_DENSE(2, 6, 2, 3, 1, 8, ATTN_F16, false);
  struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = random_input_of(&s).pattern}, 1);
  for (uint64_t e = 0; e < elements_of(&s, ATTN_O); ++e) {
    const uint64_t head = e / s.D / s.Sq, kv_head = head / s.Hq * s.Hkv + head % s.Hq / 3;
    assert_true((long double)out.o[e] == element_of(&s, ATTN_V, kv_head * s.D + e % s.D));
  }
  output_free(&out);
}

TEST(rows_without_keys_are_zero) {
  const struct attn_problem s = ATTN_DENSE(1, 2, 1, 100, 30, 16, ATTN_F16, true);
  struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = random_input_of(&s).pattern}, 2);
  for (uint64_t e = 0; e < elements_of(&s, ATTN_O); ++e) {
    const uint64_t row = e / s.D % s.Sq;
    const bool empty = row < s.Sq - s.Skv;
    const double spread = out.rows[e / s.D].spread_square;
    assert_true(empty ? out.o[e] == 0 && spread == 0 : spread > 0);
    assert_true(empty ? out.rows[e / s.D].lse == -INFINITY : isfinite(out.rows[e / s.D].lse));
    assert_true(out.rows[e / s.D].q_size > 0.3 && out.rows[e / s.D].q_size < 2);
  }
  output_free(&out);
}

TEST(large_scores_do_not_overflow) {
  const struct attn_problem s = ATTN_DENSE(1, 1, 1, 4, 4, 4, ATTN_F32, false);
  float q[16], k[16], v[16];
  for (int i = 0; i < 16; ++i) {
    q[i] = k[i] = i / 4 == i % 4 ? 3e4f : 0;
    v[i] = (float)i;
  }
  struct output out = oracle_output_of(&s, &(struct oracle_input){.tensor = {q, k, v}}, 1);
  for (int i = 0; i < 16; ++i) assert_true(out.o[i] == (double)v[i]);
  for (int row = 0; row < 4; ++row) {
    assert_true(out.rows[row].lse == 4.5e8); /* one key with 3e4^2 / sqrt(4) */
    assert_true(out.rows[row].q_size == 1.5e4);
  }
  output_free(&out);
}

/* Keys with NaN make the rows that see them NaN, and no other. */
TEST(hidden_nan_reaches_only_rows_that_see_it) {
  for (uint32_t i = 0; i < 4; ++i) {
    struct attn_problem s = ATTN_DENSE(1, 2, 2, 40, 50, 24, ATTN_F16, true);
    if (i >= 2) s.left = 9, s.right = 3;
    const struct pattern pattern = {.problem = s, .seed = SEED, .launch = 1 + i % 2};
    struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = &pattern}, 2);
    for (uint64_t row = 0; row < 2 * s.Sq; ++row) {
      const struct attn_sequence sequence = attn_sequence_of(&s, 0);
      const struct attn_keys kept = pattern_kept(&pattern, &sequence, row / s.Sq);
      const struct attn_keys seen = attn_keys_of_row(&s, (uint32_t)(row % s.Sq));
      const bool sees = seen.first < kept.first || seen.end > kept.end;
      assert_int_equal(isnan(out.o[row * s.D]), sees);
      assert_int_equal(isnan(out.rows[row].lse), sees);
      assert_int_equal(isnan(out.rows[row].top) && isnan(out.rows[row].rest) && isnan(out.rows[row].rest_square),
                       sees);
    }
    output_free(&out);
  }
}

/* A sample's rows are rows of the whole, to the bit. */
TEST(a_sample_has_the_bits_of_its_rows) {
  const struct attn_problem s = ATTN_DENSE(1, 2, 1, 60, 70, 32, ATTN_BF16, true);
  const struct pattern pattern = {.problem = s, .seed = SEED, .launch = 2};
  const struct oracle_input input = {.pattern = &pattern};
  const struct pattern_sample sample = {.rows = 120, .stride = 7, .count = 18, .seed = 5};
  struct output whole = oracle_output_of(&s, &input, 2), part = oracle_output_of(&s, &input, 1);
  const struct oracle_output wanted = {.o = part.o, .rows = part.rows, .sample = &sample};
  assert_int_equal(oracle_run(&s, &input, &wanted, 2).code, STATUS_OK);
  for (uint64_t i = 0; i < sample.count; ++i) {
    const uint64_t row = pattern_sample_row(&sample, i);
    assert_in_range(row, i * 7, i * 7 + 6);
    assert_memory_equal(part.o + i * s.D, whole.o + row * s.D, s.D * sizeof(double));
    assert_memory_equal(&part.rows[i], &whole.rows[row], sizeof part.rows[i]);
  }
  output_free(&whole);
  output_free(&part);
}

TEST(scratch_grows_with_threads) {
  const struct attn_problem s = ATTN_DENSE(1, 1, 1, 512, 512, 64, ATTN_F16, false);
  assert_int_equal(oracle_scratch_bytes(&s, 8), 8 * oracle_scratch_bytes(&s, 1));
  assert_true(oracle_scratch_bytes(&s, 1) >= 16 * 512 * sizeof(double));
}
