#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/oracle.h"
#include "kernels/device_ops.h"

enum { SEED = 20260101, KEYS_MAX = 1024 };

static const struct attn_shape shapes[] = {
    {1, 1, 1, 1, 1, 4, ATTN_F32, false, false},      {2, 3, 3, 65, 65, 64, ATTN_F16, true, false},
    {1, 4, 2, 63, 127, 72, ATTN_BF16, true, false},  {2, 6, 2, 33, 17, 5, ATTN_F16, true, false},
    {1, 8, 1, 17, 130, 128, ATTN_F16, false, false}, {3, 2, 1, 64, 64, 16, ATTN_F32, true, false},
    {1, 1, 1, 2, 200, 300, ATTN_F32, false, false},  {1, 2, 2, 16, 777, 8, ATTN_BF16, false, false},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct output {
  double *o;
  struct reference_row *rows;
};

static struct output oracle_output_of(const struct attn_shape *shape, const struct oracle_input *input,
                                      unsigned threads) {
  const uint64_t elements = problem_elements(shape, PROBLEM_O);
  const struct output out = {.o = malloc(elements * sizeof(double)),
                             .rows = malloc(elements / shape->D * sizeof(struct reference_row))};
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
static struct oracle_input random_input_of(const struct attn_shape *shape) {
  static struct pattern pattern;
  pattern = (struct pattern){.shape = *shape, .seed = SEED};
  return (struct oracle_input){.pattern = &pattern};
}

/* ---- an independent computation: long double, one element at a time, masks and heads by their definition ----- */

static long double element_of(const struct attn_shape *s, enum input_tensor tensor, uint64_t index) {
  const float value = input_value(SEED, tensor, index);
  if (s->dtype == ATTN_F16) return (long double)input_from_f16(input_to_f16(value));
  if (s->dtype == ATTN_BF16) return (long double)input_from_bf16(input_to_bf16(value));
  return (long double)value;
}

/* O of output element (b, h, i, d), sum_j p^2 v^2 of its column, and the row's log-sum-exp. */
static void naive_element(const struct attn_shape *s, uint64_t b, uint64_t h, uint64_t i, uint64_t d, long double *o,
                          long double *spread, long double *lse) {
  const uint64_t kv_head = b * s->Hkv + h / (s->Hq / s->Hkv), q_row = (b * s->Hq + h) * s->Sq + i;
  long double weight[KEYS_MAX], total = 0;
  *o = *spread = 0;
  for (uint64_t j = 0; j < s->Skv; ++j) {
    long double dot = 0;
    for (uint64_t x = 0; x < s->D; ++x) {
      dot += element_of(s, INPUT_Q, q_row * s->D + x) * element_of(s, INPUT_K, (kv_head * s->Skv + j) * s->D + x);
    }
    const bool attended = !s->causal || (int64_t)j <= (int64_t)i + (int64_t)s->Skv - (int64_t)s->Sq;
    weight[j] =
        attended ? expl(dot / sqrtl((long double)s->D)) : 0; /* scores are small: no overflow without maximum */
    total += weight[j];
  }
  *lse = logl(total);
  if (total == 0) return;
  for (uint64_t j = 0; j < s->Skv; ++j) {
    const long double v = element_of(s, INPUT_V, (kv_head * s->Skv + j) * s->D + d);
    *o += weight[j] / total * v;
    *spread += weight[j] / total * v * (weight[j] / total * v);
  }
}

static void oracle_matches_long_double(void **state) {
  (void)state;
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_shape *s = &shapes[c];
    struct output out = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 2);
    const uint64_t rows = problem_elements(s, PROBLEM_O) / s->D;
    for (uint64_t row = 0; row < rows; row += 1 + rows / 7) {
      const uint64_t head = row / s->Sq;
      long double spread = 0, of_column, o, lse = 0;
      for (uint64_t d = 0; d < s->D; ++d) {
        naive_element(s, head / s->Hq, head % s->Hq, row % s->Sq, d, &o, &of_column, &lse);
        spread += of_column;
        if (fabsl((long double)out.o[row * s->D + d] - o) <= 1e-14L) continue;
        fail_msg("shape %zu row %llu column %llu: o %.17g not %.17Lg", c, (unsigned long long)row,
                 (unsigned long long)d, out.o[row * s->D + d], o);
      }
      assert_true(fabsl((long double)out.rows[row].spread_square - spread) <= 1e-13L * spread);
      assert_true((isinf(out.rows[row].lse) && isinf(lse)) || fabsl((long double)out.rows[row].lse - lse) <= 1e-14L);
    }
    output_free(&out);
  }
}

static void arrays_and_seed_give_the_same_bits(void **state) {
  (void)state;
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_shape *s = &shapes[c];
    void *data[3];
    for (enum input_tensor t = INPUT_Q; t <= INPUT_V; ++t) {
      const uint64_t count = problem_elements(s, (enum problem_tensor)(PROBLEM_Q + t));
      data[t] = malloc(count * attn_dtype_bytes(s->dtype));
      assert_non_null(data[t]);
      for (uint64_t i = 0; i < count; ++i) cpu_store(data[t], s->dtype, i, input_value(SEED, t, i));
    }
    struct output a = oracle_output_of(s, &(struct oracle_input){.q = data[0], .k = data[1], .v = data[2]}, 1);
    struct output b = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 3);
    assert_memory_equal(a.o, b.o, problem_elements(s, PROBLEM_O) * sizeof(double));
    assert_memory_equal(a.rows, b.rows, problem_elements(s, PROBLEM_O) / s->D * sizeof *a.rows);
    output_free(&a);
    output_free(&b);
    for (size_t t = 0; t < 3; ++t) free(data[t]);
  }
}

static void single_row_has_the_bits_of_the_whole(void **state) {
  (void)state;
  double o[512];
  struct reference_row facts;
  for (size_t c = 0; c < SHAPES; ++c) {
    const struct attn_shape *s = &shapes[c];
    struct output out = oracle_output_of(s, &(struct oracle_input){.pattern = random_input_of(s).pattern}, 2);
    const uint64_t rows = (uint64_t)s->B * s->Hq * s->Sq;
    for (uint64_t row = 0; row < rows; row += 1 + rows / 31) {
      assert_int_equal(oracle_row(s, random_input_of(s).pattern, row, o, &facts).code, STATUS_OK);
      assert_memory_equal(o, out.o + row * s->D, s->D * sizeof(double));
      assert_memory_equal(&facts, &out.rows[row], sizeof facts);
    }
    output_free(&out);
  }
}

/* Probabilities add up to one, so equal values average to themselves, whatever the scores. */
static void constant_v_gives_constant_o(void **state) {
  (void)state;
  const struct attn_shape s = {2, 4, 2, 37, 91, 24, ATTN_F32, true, false};
  const uint64_t q_count = problem_elements(&s, PROBLEM_Q), kv_count = problem_elements(&s, PROBLEM_K);
  float *q = malloc(q_count * sizeof *q), *k = malloc(kv_count * sizeof *k), *v = malloc(kv_count * sizeof *v);
  assert_true(q && k && v);
  for (uint64_t i = 0; i < q_count; ++i) q[i] = 5 * input_value(SEED, INPUT_Q, i);
  for (uint64_t i = 0; i < kv_count; ++i) {
    k[i] = 5 * input_value(SEED, INPUT_K, i);
    v[i] = -1.5f;
  }
  struct output out = oracle_output_of(&s, &(struct oracle_input){.q = q, .k = k, .v = v}, 2);
  for (uint64_t i = 0; i < q_count; ++i) {
    assert_true(fabs(out.o[i] + 1.5) < 1e-14);
  }
  output_free(&out);
  free(q);
  free(k);
  free(v);
}

/* One key: probability one, so O is V's row of the right KV head. */
static void single_key_copies_v_of_its_kv_head(void **state) {
  (void)state;
  const struct attn_shape s = {2, 6, 2, 3, 1, 8, ATTN_F16, false, false};
  struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = random_input_of(&s).pattern}, 1);
  for (uint64_t e = 0; e < problem_elements(&s, PROBLEM_O); ++e) {
    const uint64_t head = e / s.D / s.Sq, kv_head = head / s.Hq * s.Hkv + head % s.Hq / 3;
    assert_true((long double)out.o[e] == element_of(&s, INPUT_V, kv_head * s.D + e % s.D));
  }
  output_free(&out);
}

static void rows_without_keys_are_zero(void **state) {
  (void)state;
  const struct attn_shape s = {1, 2, 1, 100, 30, 16, ATTN_F16, true, false};
  struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = random_input_of(&s).pattern}, 2);
  for (uint64_t e = 0; e < problem_elements(&s, PROBLEM_O); ++e) {
    const uint64_t row = e / s.D % s.Sq;
    const bool empty = row < s.Sq - s.Skv;
    const double spread = out.rows[e / s.D].spread_square;
    assert_true(empty ? out.o[e] == 0 && spread == 0 : spread > 0);
    assert_true(empty ? out.rows[e / s.D].lse == -INFINITY : isfinite(out.rows[e / s.D].lse));
    assert_true(out.rows[e / s.D].q_size > 0.3 && out.rows[e / s.D].q_size < 2);
  }
  output_free(&out);
}

static void large_scores_do_not_overflow(void **state) {
  (void)state;
  const struct attn_shape s = {1, 1, 1, 4, 4, 4, ATTN_F32, false, false};
  float q[16], k[16], v[16];
  for (int i = 0; i < 16; ++i) {
    q[i] = k[i] = i / 4 == i % 4 ? 3e4f : 0;
    v[i] = (float)i;
  }
  struct output out = oracle_output_of(&s, &(struct oracle_input){.q = q, .k = k, .v = v}, 1);
  for (int i = 0; i < 16; ++i) assert_true(out.o[i] == (double)v[i]);
  for (int row = 0; row < 4; ++row) {
    assert_true(out.rows[row].lse == 4.5e8); /* one key with 3e4^2 / sqrt(4) */
    assert_true(out.rows[row].q_size == 1.5e4);
  }
  output_free(&out);
}

/* Keys with NaN make the rows that see them NaN, and no other. */
static void hidden_nan_reaches_only_rows_that_see_it(void **state) {
  (void)state;
  const struct attn_shape s = {1, 2, 2, 40, 50, 24, ATTN_F16, true, false};
  for (uint32_t launch = 1; launch < 3; ++launch) {
    const struct pattern pattern = {.shape = s, .seed = SEED, .launch = launch};
    struct output out = oracle_output_of(&s, &(struct oracle_input){.pattern = &pattern}, 2);
    for (uint64_t row = 0; row < 2 * s.Sq; ++row) {
      const uint32_t hidden = pattern_first_hidden(&pattern, row / s.Sq);
      const bool sees = attn_keys_of_row(&s, (uint32_t)(row % s.Sq)) > hidden;
      assert_int_equal(isnan(out.o[row * s.D]), sees);
      assert_int_equal(isnan(out.rows[row].lse), sees);
    }
    output_free(&out);
  }
}

/* A sample's rows are rows of the whole, to the bit. */
static void a_sample_has_the_bits_of_its_rows(void **state) {
  (void)state;
  const struct attn_shape s = {1, 2, 1, 60, 70, 32, ATTN_BF16, true, false};
  const struct pattern pattern = {.shape = s, .seed = SEED, .launch = 2};
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

static void scratch_grows_with_threads(void **state) {
  (void)state;
  const struct attn_shape s = {1, 1, 1, 512, 512, 64, ATTN_F16, false, false};
  assert_int_equal(oracle_scratch_bytes(&s, 8), 8 * oracle_scratch_bytes(&s, 1));
  assert_true(oracle_scratch_bytes(&s, 1) >= 16 * 512 * sizeof(double));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(oracle_matches_long_double),
      cmocka_unit_test(arrays_and_seed_give_the_same_bits),
      cmocka_unit_test(single_row_has_the_bits_of_the_whole),
      cmocka_unit_test(constant_v_gives_constant_o),
      cmocka_unit_test(single_key_copies_v_of_its_kv_head),
      cmocka_unit_test(rows_without_keys_are_zero),
      cmocka_unit_test(large_scores_do_not_overflow),
      cmocka_unit_test(hidden_nan_reaches_only_rows_that_see_it),
      cmocka_unit_test(a_sample_has_the_bits_of_its_rows),
      cmocka_unit_test(scratch_grows_with_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
