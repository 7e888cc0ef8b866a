/* The inputs that are hard on attention kernels: every row has a kind, every kind its scores. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/pattern.h"
#include "tests/unit.h"

enum { SEED = 3, KEYS = 200, D = 64 };

static const struct attn_problem shape = ATTN_DENSE(1, 4, 2, 130, KEYS, D, ATTN_F16, true);

static float element(const struct pattern *p, enum attn_role role, const struct pattern_line *line, uint32_t d) {
  struct attn_tensor tensor;
  assert_true(attn_tensor_of(&p->problem, role, &tensor));
  return cpu_input(p, &tensor, line, d);
}

static double score(const struct pattern *p, uint64_t row, uint32_t key) {
  const struct attn_problem *s = &p->problem;
  const uint64_t head = row / s->Sq, kv_row = head / (s->Hq / s->Hkv) * s->Skv + key;
  const struct pattern_line q = pattern_line_of(p, ATTN_Q, row), k = pattern_line_of(p, ATTN_K, kv_row);
  double dot = 0;
  for (uint32_t d = 0; d < s->D; ++d) dot += (double)element(p, ATTN_Q, &q, d) * (double)element(p, ATTN_K, &k, d);
  return dot / sqrt((double)s->D);
}

/* ---- signs that are turned ----------------------------------------------------------------------------------- */

static struct pattern flipped(uint64_t flips) {
  return (struct pattern){.problem = shape, .seed = SEED, .flips = flips};
}

static float value_of(const struct pattern *p, enum attn_role tensor, uint64_t row, uint32_t d) {
  const struct pattern_line line = pattern_line_of(p, tensor, row);
  return pattern_value(p, tensor, &line, d);
}

/* Scores stay to the bit; Q, K and V change in about half of their elements, by their sign alone. */
TEST(turned_signs_leave_every_score_as_it_is) {
  const struct pattern plain = flipped(0), turned = flipped(pattern_fresh_flips(SEED, 1));
  unsigned changed[3] = {0};
  for (uint64_t row = 0; row < 4 * 130; row += 17)
    for (uint32_t key = 0; key < KEYS; key += 9) assert_true(score(&plain, row, key) == score(&turned, row, key));
  for (enum attn_role t = ATTN_Q; t <= ATTN_V; ++t) {
    for (uint64_t row = 0; row < 2 * 130; row += 130)
      for (uint32_t d = 0; d < D; ++d) {
        const float a = value_of(&plain, t, row, d), b = value_of(&turned, t, row, d);
        assert_true(a == b || a == -b);
        changed[t] += a != b;
      }
    assert_in_range(changed[t], D / 2, 3 * D / 2);
  }
}

/* What the n-th and the m-th change do one after the other is what their sum does: so the inputs are known for ever.
 */
TEST(turned_signs_add_up) {
  const uint64_t one = pattern_fresh_flips(SEED, 1), two = pattern_fresh_flips(SEED, 2);
  assert_true(one != two);
  for (uint32_t d = 0; d < D; ++d) {
    for (uint64_t head = 0; head < 3; ++head) {
      const bool a = pattern_is_flipped(one, PATTERN_FLIP_VO, head, d),
                 b = pattern_is_flipped(two, PATTERN_FLIP_VO, head, d);
      assert_int_equal(pattern_is_flipped(one ^ two, PATTERN_FLIP_VO, head, d), a != b);
      assert_false(pattern_is_flipped(0, PATTERN_FLIP_QK, head, d));
    }
  }
}

/* Each head has the scores of its neighbour, and its own again after a second swap; signs turn as they did. */
TEST(swapped_heads_change_every_score) {
  const struct pattern plain = flipped(0);
  const uint64_t flips = pattern_fresh_flips(SEED, 1);
  const struct pattern swapped = {.problem = shape, .seed = SEED, .flips = flips, .swapped = true};
  const struct pattern turned = flipped(flips);
  for (uint64_t row = 0; row < (uint64_t)shape.B * shape.Hq * shape.Sq; row += 17) {
    const uint64_t partner = pattern_partner(&shape, ATTN_Q, row);
    assert_true(pattern_partner(&shape, ATTN_Q, partner) == row && partner / shape.Sq != row / shape.Sq);
    assert_true(score(&swapped, row, 3) != score(&plain, row, 3));
    assert_true(score(&swapped, row, 3) == score(&plain, partner, 3));
    for (uint32_t d = 0; d < D; ++d)
      assert_true(value_of(&swapped, ATTN_Q, row, d) == value_of(&turned, ATTN_Q, partner, d));
  }
}

/* With scales too, of blocks and of a tensor: a score is that of numbers times the scales that are given. */
TEST(scales_move_with_their_heads) {
  static const enum attn_scales kinds[] = {ATTN_SCALES_HEAD, ATTN_SCALES_TENSOR, ATTN_SCALES_BLOCK};
  for (size_t i = 0; i < 3; ++i) {
    struct attn_problem s = ATTN_DENSE(2, 4, 2, 30, 300, D, ATTN_E4M3, false);
    s.scales = kinds[i];
    const struct pattern plain = {.problem = s, .seed = SEED}, moved = {.problem = s, .seed = SEED, .swapped = true};
    struct attn_tensor k, scales;
    assert_true(attn_tensor_of(&s, ATTN_K, &k) && attn_tensor_of(&s, ATTN_K_SCALE, &scales));
    assert_int_equal(k.dtype, ATTN_E4M3);
    assert_int_equal(attn_view_rows(&scales.view), i == 0 ? 4 : i == 1 ? 1 : 4 * 3);
    for (uint64_t row = 0; row < 4 * 300; row += 71) {
      const uint64_t partner = pattern_partner(&s, ATTN_K, row);
      const struct attn_place here = attn_place_of(&s, ATTN_ROWS_KEYS, row),
                              there = attn_place_of(&s, ATTN_ROWS_KEYS, partner);
      const struct pattern_line a = pattern_line_of(&plain, ATTN_K, row),
                                b = pattern_line_of(&moved, ATTN_K, partner);
      const struct pattern_line scale = pattern_line_of(&plain, ATTN_K_SCALE, attn_scale_row(&s, ATTN_K, &here));
      const struct pattern_line other = pattern_line_of(&moved, ATTN_K_SCALE, attn_scale_row(&s, ATTN_K, &there));
      assert_true(scale.scale == other.scale && scale.scale == a.quantum);
      for (uint32_t d = 0; d < D; ++d) {
        const float number = element(&plain, ATTN_K, &a, d), value = value_of(&plain, ATTN_K, row, d);
        assert_true(number == element(&moved, ATTN_K, &b, d));
        assert_true(fabsf(number) <= 448 &&
                    fabsf(number * scale.scale - value) <= fmaxf(fabsf(value) / 16, scale.scale * 0x1p-10f));
      }
    }
  }
}

/* A share of the random inputs, and of no others. */
TEST(outliers_are_a_share_of_the_random_inputs) {
  struct pattern p = {.problem = shape, .seed = SEED}, plain = p;
  p.problem.outliers = 0.125f;
  uint32_t outliers = 0;
  for (uint64_t row = 0; row < 400; ++row) {
    for (uint32_t d = 0; d < D; ++d) {
      const float value = value_of(&p, ATTN_K, row, d), usual = value_of(&plain, ATTN_K, row, d);
      const float times = usual != 0 ? value / usual : 1;
      outliers += times > 1;
      assert_true(times == 1 || (times > 9.99f && times < 50.01f));
    }
  }
  assert_in_range(outliers, 400 * D / 9, 400 * D / 7);
  p.launch = plain.launch = 1;
  for (uint32_t d = 0; d < D; ++d) assert_true(value_of(&p, ATTN_Q, 5, d) == value_of(&plain, ATTN_Q, 5, d));
}

/* Partners are of one batch, one role's rows map to another's heads alike, and a head alone stays. */
TEST(partners_are_neighbours_of_one_batch) {
  static const struct {
    uint32_t Hq, Hkv, head, query_partner, kv_partner;
  } cases[] = {{4, 4, 0, 1, 1}, {4, 4, 3, 2, 2}, {6, 3, 0, 2, 1}, {6, 3, 3, 1, 0},
               {6, 3, 5, 5, 2}, {4, 1, 2, 3, 0}, {3, 1, 2, 2, 0}, {1, 1, 0, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct attn_problem s = {
        .B = 2, .Hq = cases[i].Hq, .Hkv = cases[i].Hkv, .Sq = 5, .Skv = 7, .D = 8, .Dv = 8};
    const uint32_t head = cases[i].head, kv_head = head / (s.Hq / s.Hkv);
    assert_int_equal(pattern_partner(&s, ATTN_Q, (s.Hq + head) * 5 + 2), (s.Hq + cases[i].query_partner) * 5 + 2);
    assert_int_equal(pattern_partner(&s, ATTN_LSE, head * 5 + 4), cases[i].query_partner * 5 + 4);
    assert_int_equal(pattern_partner(&s, ATTN_SINK, head), cases[i].query_partner);
    assert_int_equal(pattern_partner(&s, ATTN_V, (s.Hkv + kv_head) * 7 + 6), (s.Hkv + cases[i].kv_partner) * 7 + 6);
    assert_int_equal(pattern_flip_pair(&s, ATTN_Q, head * 5),
                     pattern_flip_pair(&s, ATTN_Q, cases[i].query_partner * 5));
  }
}

/* The largest and the smallest score of the keys that a row sees, and which key has the largest. */
struct scores {
  double largest, smallest;
  uint32_t best, keys;
};

static struct scores scores_of(const struct pattern *p, uint64_t row) {
  struct scores out = {-INFINITY, INFINITY, 0, attn_keys_of_row(&p->problem, (uint32_t)(row % p->problem.Sq)).end};
  for (uint32_t key = 0; key < out.keys; ++key) {
    const double x = score(p, row, key);
    if (x > out.largest) out.best = key;
    out.largest = fmax(out.largest, x);
    out.smallest = fmin(out.smallest, x);
  }
  return out;
}

TEST(kinds_have_their_scores) {
  struct attn_problem full = shape;
  full.right = -1;
  const struct pattern p = {.problem = full, .seed = SEED, .launch = 1};
  unsigned seen[PATTERN_KINDS] = {0};
  for (uint64_t row = 0; row < pattern_rows(&full); row += 7) {
    const enum pattern_kind kind = pattern_kind_of(&p, row);
    const struct scores s = scores_of(&p, row);
    ++seen[kind];
    if (kind == PATTERN_large) assert_true(s.largest > 30 && s.smallest < -30);
    if (kind == PATTERN_low) assert_true(fabs(s.largest + 90) < 0.1 && s.largest == s.smallest);
    if (kind == PATTERN_high) assert_true(fabs(s.largest - 90) < 0.1 && s.largest == s.smallest);
    if (kind == PATTERN_zero) assert_true(s.largest == 0 && s.smallest == 0);
    if (kind == PATTERN_rising) assert_true(s.best > KEYS - 10 && s.largest > 55 && s.smallest < -55);
    if (kind == PATTERN_falling) assert_true(s.best < 10 && s.largest > 55);
    if (kind == PATTERN_edge16) assert_true(s.best % 16 == 0 || s.best % 16 == 15 || s.best == KEYS - 1);
    if (kind == PATTERN_edge64) assert_true(s.best % 64 == 0 || s.best % 64 == 63 || s.best == KEYS - 1);
    if (kind == PATTERN_first) assert_int_equal(s.best, 0);
    if (kind == PATTERN_boundary) assert_int_equal(s.best, KEYS - 1);
  }
  for (size_t kind = 0; kind < PATTERN_KINDS; ++kind) assert_true(seen[kind] > 0);
}

/* Both the last key that a row sees and the first that it does not would take half of its weight. */
TEST(boundary_rows_point_at_both_sides_of_the_mask) {
  const struct pattern p = {.problem = shape, .seed = SEED, .launch = 1};
  unsigned rows = 0;
  for (uint64_t row = 0; row < shape.Sq; ++row) { /* heads 0 and 1 of launch 1 hide nothing */
    const uint32_t keys = attn_keys_of_row(&shape, (uint32_t)row).end;
    if (pattern_kind_of(&p, row) != PATTERN_boundary || keys == KEYS) continue;
    assert_true(score(&p, row, keys - 1) > 15);
    assert_true(score(&p, row, keys) > 15);
    ++rows;
  }
  assert_true(rows > 5);
}

/* Of a KV head, by its index in [B][Hkv]. */
static struct attn_keys kept_of(const struct pattern *p, uint64_t kv_head) {
  const struct attn_sequence sequence = attn_sequence_of(&p->problem, (uint32_t)(kv_head / p->problem.Hkv));
  return pattern_kept(p, &sequence, kv_head);
}

TEST(every_second_kv_head_hides_keys_under_a_mask) {
  struct pattern p = {.problem = shape, .seed = SEED, .launch = 1};
  assert_int_equal(attn_keys_count(kept_of(&p, 0)), KEYS);
  assert_int_equal(kept_of(&p, 1).first, 0);
  assert_int_equal(kept_of(&p, 1).end, attn_keys_of_row(&shape, shape.Sq / 2).end);
  const struct pattern_line k = pattern_line_of(&p, ATTN_K, KEYS + KEYS - 1);
  const struct pattern_line v = pattern_line_of(&p, ATTN_V, KEYS + KEYS - 1);
  assert_true(isnan(element(&p, ATTN_K, &k, 5)));
  assert_true(element(&p, ATTN_V, &v, 5) > 59000);
  p.launch = 2;
  assert_true(attn_keys_count(kept_of(&p, 0)) < KEYS);
  assert_int_equal(attn_keys_count(kept_of(&p, 1)), KEYS);
  p.launch = 0;
  assert_int_equal(attn_keys_count(kept_of(&p, 0)), KEYS);
}

/* A window hides keys on both sides, and rows point at the keys beside both of its ends. */
TEST(a_window_is_hard_on_both_sides) {
  struct pattern p = {.problem = shape, .seed = SEED, .launch = 1};
  unsigned sides[2] = {0, 0};
  p.problem.left = 20, p.problem.right = 5;
  const struct attn_keys kept = kept_of(&p, 1);
  assert_true(kept.first > 0 && kept.end < KEYS);
  for (uint32_t row = shape.Sq / 4; row <= shape.Sq / 4 + shape.Sq / 2; ++row) {
    const struct attn_keys keys = attn_keys_of_row(&p.problem, row);
    assert_true(keys.first >= kept.first && keys.end <= kept.end);
  }
  for (uint64_t row = 0; row < shape.Sq; ++row) { /* heads 0 and 1 of launch 1 hide nothing */
    const struct attn_keys keys = attn_keys_of_row(&p.problem, (uint32_t)row);
    if (pattern_kind_of(&p, row) == PATTERN_first) assert_true(score(&p, row, keys.first) > 15);
    if (pattern_kind_of(&p, row) != PATTERN_boundary || keys.end == KEYS || keys.first == 0) continue;
    const bool is_left = score(&p, row, keys.first) > 15 && score(&p, row, keys.first - 1) > 15;
    assert_true(is_left || (score(&p, row, keys.end - 1) > 15 && score(&p, row, keys.end) > 15));
    ++sides[is_left];
  }
  assert_true(sides[0] > 0 && sides[1] > 0);
}

TEST(launch_0_is_the_random_input) {
  const struct pattern p = {.problem = shape, .seed = SEED};
  for (enum attn_role t = ATTN_Q; t <= ATTN_V; ++t) {
    const struct pattern_line line = pattern_line_of(&p, t, 9);
    for (uint32_t d = 0; d < D; ++d) assert_true(pattern_line_value(&line, d) == input_value(SEED, t, 9 * D + d));
  }
}

/* However few the rows, all kinds come up. */
TEST(few_rows_get_more_launches) {
  for (uint32_t rows = 1; rows < 40; ++rows) {
    const struct attn_problem s = ATTN_DENSE(1, rows, 1, 1, 64, 64, ATTN_F16, false);
    unsigned seen[PATTERN_KINDS] = {0};
    assert_true(pattern_launches(&s) <= PATTERN_LAUNCHES_MAX);
    struct pattern p = {.problem = s, .seed = SEED, .launch = 1};
    for (; p.launch < pattern_launches(&s); ++p.launch) {
      for (uint64_t row = 0; row < rows; ++row) ++seen[pattern_kind_of(&p, row)];
    }
    for (size_t kind = 0; kind < PATTERN_KINDS; ++kind) assert_true(seen[kind] > 0);
  }
}

TEST(samples_bound_the_work) {
  const struct attn_problem large = ATTN_DENSE(4, 32, 8, 8192, 8192, 128, ATTN_BF16, true);
  struct pattern p = {.problem = large, .seed = SEED};
  assert_int_equal(pattern_sample_of(&p).count, 4 * 32 * 8192);
  p.launch = 1;
  const struct pattern_sample sample = pattern_sample_of(&p);
  assert_true(sample.count >= 255 && sample.count <= 256);
  for (uint64_t i = 1; i < sample.count; ++i) {
    assert_true(pattern_sample_row(&sample, i) > pattern_sample_row(&sample, i - 1));
    assert_true(pattern_sample_row(&sample, i) < sample.rows);
  }
}

TEST(values_fit_every_dtype) {
  struct attn_problem s = shape;
  s.D = s.Dv = 8192, s.Hq = s.Hkv = 1, s.Sq = 30;
  for (unsigned dtype = 0; dtype < ATTN_DTYPE_COUNT; ++dtype) {
    s.dtype = (enum attn_dtype)dtype;
    const struct pattern p = {.problem = s, .seed = SEED, .launch = 1};
    for (uint64_t row = 0; row < s.Sq; ++row) {
      const struct pattern_line q = pattern_line_of(&p, ATTN_Q, row), v = pattern_line_of(&p, ATTN_V, row);
      for (uint32_t d = 0; d < s.D; ++d)
        assert_true(isfinite(element(&p, ATTN_Q, &q, d)) && isfinite(element(&p, ATTN_V, &v, d)));
    }
  }
}

/* In every row each tile's largest score is above that of the tile before, by 16 or so; nothing is hidden, nothing
 * huge. */
TEST(growing_inputs_move_the_maximum_in_every_tile) {
  const struct attn_problem full = ATTN_DENSE(1, 2, 2, 3, 1024, D, ATTN_F16, false);
  const struct pattern p = {.problem = full, .seed = SEED, .launch = PATTERN_GROWING};
  for (uint64_t row = 0; row < pattern_rows(&full); ++row) {
    double before = -INFINITY;
    for (uint32_t tile = 0; tile < 1024; tile += 64) {
      double most = -INFINITY;
      for (uint32_t key = tile; key < tile + 64; ++key) most = fmax(most, score(&p, row, key));
      assert_true(most > before + 8);
      before = most;
    }
  }
  assert_true(pattern_growth(&full) == 128);
  for (uint64_t row = 0; row < 2 * 1024; row += 31) assert_true(fabsf(value_of(&p, ATTN_V, row, 5)) < 4);
}

/* Elements of Q stay numbers in 16 bits however many keys there are. */
TEST(growth_is_bounded_by_the_type) {
  struct attn_problem s = ATTN_DENSE(1, 1, 1, 1, 1048576, 256, ATTN_F16, false);
  assert_true(pattern_growth(&s) * 16 <= 30000);
  s.Skv = 64;
  assert_true(pattern_growth(&s) == 60);
  s.D = 16;
  assert_false(pattern_can_grow(&s));
}
