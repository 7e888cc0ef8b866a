/* The description of a problem: masks against a loop over pairs, axes there and back through every text, and the
 * schemas and pages that users read, which are written from the rows of axes.def. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/reading.h"
#include "kernels/problem/work.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

static uint64_t state_of_chance = 1;

/* Below `most`. */
static uint32_t chance(uint32_t most) { return (uint32_t)(input_mix(state_of_chance++) % most); }

/* ---- masks --------------------------------------------------------------------------------------------------- */

/* By the definition in mask.h, one pair at a time. */
static bool sees(const struct attn_mask *mask, uint32_t row, uint32_t key) {
  const int64_t position = (int64_t)row + mask->Skv - mask->Sq, distance = (int64_t)key - position;
  return (mask->left < 0 || distance >= -mask->left) && (mask->right < 0 || distance <= mask->right);
}

static void check_rows(const struct attn_mask *mask, uint32_t row, uint32_t rows) {
  const struct attn_keys keys = attn_mask_rows(mask, row, rows);
  for (uint32_t key = 0; key < mask->Skv; ++key) {
    bool seen = false;
    for (uint32_t i = 0; i < rows; ++i) seen = seen || sees(mask, row + i, key);
    if (seen != (key >= keys.first && key < keys.end))
      fail_msg("Sq %u Skv %u mask %d:%d, rows %u to %u, key %u", mask->Sq, mask->Skv, mask->left, mask->right, row,
               row + rows, key);
  }
}

static void check_mask(const struct attn_mask *mask) {
  uint64_t pairs = 0;
  uint32_t seeing = 0, most = 0;
  for (uint32_t row = 0; row < mask->Sq; ++row) {
    uint32_t keys = 0;
    for (uint32_t key = 0; key < mask->Skv; ++key) keys += sees(mask, row, key);
    check_rows(mask, row, 1);
    assert_int_equal(attn_keys_count(attn_mask_row(mask, row)), keys);
    pairs += keys;
    seeing += keys > 0;
    if (keys > most) most = keys;
  }
  assert_int_equal(attn_mask_pairs(mask), pairs);
  assert_int_equal(attn_mask_seeing_rows(mask), seeing);
  assert_int_equal(attn_mask_most(mask), most);
}

TEST(a_mask_is_what_its_definition_says) {
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_mask mask = {1 + chance(20), 1 + chance(20), (int32_t)chance(25) - 1, (int32_t)chance(25) - 1};
    const uint32_t row = chance(mask.Sq);
    check_mask(&mask);
    check_rows(&mask, row, 1 + chance(mask.Sq - row));
  }
}

/* ---- tensors ------------------------------------------------------------------------------------------------- */

/* Every element of every piece of memory belongs to one row of one tensor. */
static void check_tensors(const struct attn_problem *problem) {
  unsigned char *uses[ATTN_ROLE_COUNT] = {NULL};
  uint64_t elements[ATTN_ROLE_COUNT] = {0};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(problem, (enum attn_role)role, &tensor)) continue;
    assert_int_equal(tensor.elements > 0, tensor.memory == tensor.role);
    const unsigned char use = tensor.is_alias ? 0 : 1; /* what lies in another tensor is inside of it */
    elements[role] = tensor.elements;
    if (tensor.memory == tensor.role) uses[role] = calloc(tensor.elements, 1);
    for (uint64_t row = 0; row < attn_view_rows(&tensor.view); ++row)
      for (uint32_t d = 0; d < tensor.view.columns; ++d) {
        const uint64_t at = tensor.offset + attn_view_row(&tensor.view, row) + d;
        assert_true(at < elements[tensor.memory]);
        uses[tensor.memory][at] += use;
      }
  }
  for (unsigned memory = 0; memory < ATTN_ROLE_COUNT; ++memory) {
    for (uint64_t i = 0; i < elements[memory]; ++i) assert_int_equal(uses[memory][i], 1);
    free(uses[memory]);
  }
}

TEST(the_rows_of_tensors_fill_their_memory) {
  for (size_t i = 0; i < 400; ++i) {
    struct attn_problem problem =
        ATTN_DENSE(1 + chance(3), 2, 1 + chance(2), 1 + chance(9), 1 + chance(9), 1 + chance(5), ATTN_F16, false);
    problem.layout = (enum attn_layout)chance(ATTN_HND);
    problem.Dv = 1 + chance(5);
    problem.lse = problem.sink = true;
    problem.v_in_k = problem.layout != ATTN_QKV && problem.Dv <= problem.D && chance(2) != 0;
    if (problem.layout == ATTN_QKV) problem.Skv = problem.Sq, problem.Hkv = problem.Hq, problem.Dv = problem.D;
    check_tensors(&problem);
  }
}

/* ---- sequences ----------------------------------------------------------------------------------------------- */

/* A problem of a few short sequences, some of them empty. */
static struct attn_problem any_ragged(void) {
  struct attn_problem p =
      ATTN_DENSE(1 + chance(9), 4, 2, 1 + chance(20), 1 + chance(20), 3, ATTN_F16, chance(2) != 0);
  p.lse = true;
  if (chance(3) == 0) {
    p.batch.drawn = 1, p.batch.seed = chance(1000);
    return p;
  }
  for (uint32_t groups = 1 + chance(ATTN_GROUPS_MAX); p.batch.groups < groups; ++p.batch.groups)
    p.batch.group[p.batch.groups] = (struct attn_group){1 + chance(3), chance(5), chance(9)};
  p.batch.group[0].Sq = p.batch.group[0].Skv = 4;
  const struct attn_group extent = attn_batch_extent(&p.batch);
  p.B = extent.count, p.Sq = extent.Sq, p.Skv = extent.Skv;
  return p;
}

/* Every row has one place, and every place its row. */
static void check_places(const struct attn_problem *p, enum attn_rows rows) {
  const uint32_t heads = rows == ATTN_ROWS_KEYS ? p->Hkv : p->Hq;
  uint64_t row = 0;
  for (uint32_t h = 0; h < heads; ++h) {
    for (uint32_t b = 0; b < p->B; ++b) {
      const struct attn_sequence s = attn_sequence_of(p, b);
      const uint32_t length = rows == ATTN_ROWS_KEYS ? s.Skv : s.Sq;
      assert_int_equal(s.b, b);
      for (uint32_t token = 0; token < length; ++token, ++row) {
        const struct attn_place place = attn_place_of(p, rows, row);
        assert_memory_equal(&place.sequence, &s, sizeof s);
        assert_true(place.h == h && place.token == token);
        assert_int_equal(rows == ATTN_ROWS_KEYS ? attn_key_row(p, &s, h, token) : attn_query_row(p, &s, h, token),
                         row);
      }
    }
  }
  assert_int_equal(row, heads * attn_tokens(p, rows));
}

/* Sequences lie behind one another, none is longer than the longest, and work is that of each alone. */
static void check_sequences(const struct attn_problem *p) {
  uint32_t q = 0, k = 0, most_q = 0, most_k = 0;
  double flops = 0;
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence s = attn_sequence_of(p, b);
    const struct attn_mask mask = attn_mask_of_sequence(p, &s);
    assert_true(s.q_first == q && s.k_first == k && s.Sq <= p->Sq && s.Skv <= p->Skv);
    assert_true(p->batch.drawn == 0 || (s.Sq > 0 && s.Skv > 0));
    for (uint32_t row = 0; row < s.Sq; ++row)
      for (uint32_t key = 0; key < s.Skv; ++key) flops += sees(&mask, row, key) ? 2.0 * (p->D + p->Dv) * p->Hq : 0;
    q += s.Sq, k += s.Skv;
    if (s.Sq > most_q) most_q = s.Sq;
    if (s.Skv > most_k) most_k = s.Skv;
  }
  const struct attn_sequence end = attn_sequence_of(p, p->B);
  assert_true(end.q_first == q && end.k_first == k);
  assert_true(p->batch.drawn != 0 || (most_q == p->Sq && most_k == p->Skv));
  assert_true(work_flops(p) == flops);
}

TEST(sequences_lie_behind_one_another) {
  for (size_t i = 0; i < 400; ++i) {
    const struct attn_problem p = any_ragged();
    char why[AXIS_WHY_MAX];
    if (!axes_problem_is_sound(&p, why)) fail_msg("%s", why);
    check_sequences(&p);
    check_places(&p, ATTN_ROWS_QUERIES);
    check_places(&p, ATTN_ROWS_KEYS);
    check_tensors(&p);
  }
}

/* ---- pages --------------------------------------------------------------------------------------------------- */

/* A problem of a few short sequences in pages, some of which they may share. */
static struct attn_problem any_paged(void) {
  struct attn_problem p = any_ragged();
  const bool is_uniform = chance(2) != 0;
  if (is_uniform) p.batch = (struct attn_batch){.groups = 0};
  p.page = 1 + chance(8);
  p.layout = chance(2) != 0 ? ATTN_HND : ATTN_BHSD;
  p.v_in_k = chance(2) != 0;
  if (is_uniform) p.prefix = p.Skv / p.page * p.page;
  return p;
}

/* Every token of every sequence has a row of its own, but for those that are shared; all other rows are unused. */
static void check_pages(const struct attn_problem *p) {
  const struct attn_pages pages = attn_pages_of(p);
  const uint64_t rows = pages.all * p->Hkv * p->page;
  unsigned char *uses = calloc(rows, 1);
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence s = attn_sequence_of(p, b);
    for (uint32_t h = 0; h < p->Hkv; ++h)
      for (uint32_t token = 0; token < s.Skv; ++token) {
        const uint64_t row = attn_key_row(p, &s, h, token);
        const bool is_shared = token < p->prefix;
        assert_true(row < rows);
        assert_int_equal(row / ((uint64_t)p->Hkv * p->page), attn_page_entry(p, b, token / p->page));
        assert_int_equal(uses[row], is_shared && b > 0);
        const struct attn_place place = attn_place_of(p, ATTN_ROWS_KEYS, row);
        assert_true(place.h == h && place.token == token && place.sequence.b == (is_shared ? 0 : b));
        uses[row] = 1;
      }
    for (uint32_t i = attn_pages_for(s.Skv, p->page); i < pages.most; ++i) {
      const uint64_t page = attn_page_entry(p, b, i);
      assert_true(attn_place_of(p, ATTN_ROWS_KEYS, page * p->Hkv * p->page).is_unused);
    }
  }
  for (uint64_t row = 0; row < rows; ++row)
    assert_int_equal(attn_place_of(p, ATTN_ROWS_KEYS, row).is_unused, !uses[row]);
  free(uses);
}

/* Keys that sequences share count once, and of the table the entries that are looked up. */
static void check_paged_bytes(const struct attn_problem *p) {
  const uint64_t rows = attn_pages_of(p).all * p->page;
  unsigned char *seen = calloc(rows, 1);
  uint64_t keys = 0, entries = 0;
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence s = attn_sequence_of(p, b);
    const struct attn_mask mask = attn_mask_of_sequence(p, &s);
    uint32_t last_page = UINT32_MAX;
    for (uint32_t token = 0; token < s.Skv; ++token) {
      bool is_seen = false;
      for (uint32_t row = 0; row < s.Sq; ++row) is_seen = is_seen || sees(&mask, row, token);
      const uint64_t at = attn_page_entry(p, b, token / p->page) * (uint64_t)p->page + token % p->page;
      if (!is_seen) continue;
      keys += !seen[at];
      seen[at] = 1;
      entries += token / p->page != last_page;
      last_page = token / p->page;
    }
  }
  free(seen);
  assert_int_equal(work_seen_keys(p), keys * p->Hkv);
  const double of_key = 2.0 * p->Hkv * (p->D + (p->v_in_k ? 0 : p->Dv)),
               offsets = attn_is_ragged(p) ? 8.0 * (p->B + 1) : 0;
  const double of_query = p->Hq * (2.0 * (p->D + p->Dv) + 4);
  assert_true(work_bytes(p) == (double)keys * of_key + (double)entries * 4 + offsets +
                                   of_query * (double)attn_tokens(p, ATTN_ROWS_QUERIES));
}

TEST(every_token_has_a_place_in_a_page) {
  for (size_t i = 0; i < 400; ++i) {
    struct attn_problem p = any_paged();
    char why[AXIS_WHY_MAX];
    if (chance(3) == 0) p.left = (int32_t)chance(9), p.right = (int32_t)chance(4);
    if (!axes_problem_is_sound(&p, why)) fail_msg("%s", why);
    check_pages(&p);
    check_paged_bytes(&p);
    check_tensors(&p);
  }
}

/* No page follows the one before it more often than chance has it, whatever the size of the cache. */
TEST(pages_lie_apart) {
  for (uint32_t keys = 100; keys < 100000; keys = keys * 3 + 1) {
    struct attn_problem p = ATTN_DENSE(3, 1, 1, 1, keys, 8, ATTN_F16, false);
    uint32_t neighbours = 0;
    p.page = 1;
    for (uint32_t i = 1; i < keys; ++i) {
      const uint32_t before = attn_page_entry(&p, 1, i - 1), page = attn_page_entry(&p, 1, i);
      neighbours += page - before + 1 <= 2;
    }
    assert_true(neighbours <= 3 + keys / 100);
  }
}

/* Every length is as likely, and the same on every machine. */
TEST(lengths_are_drawn_evenly) {
  struct attn_problem p = ATTN_DENSE(1000, 1, 1, 8, 800, 8, ATTN_F16, false);
  p.batch.drawn = 1, p.batch.seed = 7;
  unsigned count[9] = {0};
  uint64_t keys = 0;
  for (uint32_t b = 0; b < p.B; ++b) {
    const struct attn_group group = attn_group_of(&p, b);
    assert_true(group.Sq >= 1 && group.Sq <= 8 && group.Skv >= 1 && group.Skv <= 800);
    assert_int_equal(group.Sq, (group.Skv - 1) / 100 + 1);
    ++count[group.Sq];
    keys += group.Skv;
  }
  for (unsigned length = 1; length <= 8; ++length) assert_in_range(count[length], 85, 165);
  assert_in_range(keys, 370000, 430000);
  p.batch.seed = 8;
  assert_true(attn_tokens(&p, ATTN_ROWS_KEYS) != keys);
  p = (struct attn_problem)ATTN_DENSE(3, 1, 1, 1000, 1000, 8, ATTN_F16, false);
  p.batch.drawn = 1, p.batch.seed = 1;
  const uint32_t wanted[] = {368, 33, 554};
  for (uint32_t b = 0; b < 3; ++b) assert_int_equal(attn_group_of(&p, b).Sq, wanted[b]);
}

TEST(a_batch_is_read_and_written_as_servers_write_it) {
  static const struct {
    const char *text, *canonical; /* NULL: is none */
    uint32_t B, Sq, Skv;
  } rows[] = {{"2q2k_4q512s4k", "2q2k_4q512s4k", 6, 2048, 4096},
              {"32q1s1k_8q1s16k", "32q1s1k_8q1s16k", 40, 1, 16384},
              {"2q2048_1q100s100", "2q2k_q100", 3, 2048, 2048},
              {"q5_q5_3q5s5", "5q5", 5, 5, 5},
              {"q0s7_2q0s0", "q0s7_2q0", 3, 0, 7},
              {"q0k", "q0", 1, 0, 0},
              {"uniform", "uniform", 0, 0, 0},
              {"ragged:12", "ragged:12", 0, 0, 0},
              {"", NULL, 0, 0, 0},
              {"0q5", NULL, 0, 0, 0},
              {"2q", NULL, 0, 0, 0},
              {"2s5", NULL, 0, 0, 0},
              {"q5s", NULL, 0, 0, 0},
              {"q5_", NULL, 0, 0, 0},
              {"q9999999k", NULL, 0, 0, 0},
              {"1234567890q5", NULL, 0, 0, 0},
              {"ragged:", NULL, 0, 0, 0},
              {"ragged:-1", NULL, 0, 0, 0},
              {"q1_q2_q3_q4_q5_q6_q7_q8_q9", NULL, 0, 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_batch batch;
    char text[ATTN_BATCH_TEXT_MAX];
    const char *end = attn_batch_read(rows[i].text, &batch);
    if ((end != NULL) != (rows[i].canonical != NULL)) fail_msg("%s", rows[i].text);
    if (end == NULL) continue;
    attn_batch_write(&batch, text);
    const struct attn_group extent = attn_batch_extent(&batch);
    assert_string_equal(text, rows[i].canonical);
    assert_true(*end == '\0' && extent.count == rows[i].B && extent.Sq == rows[i].Sq && extent.Skv == rows[i].Skv);
  }
}

/* None, a density or a pattern. */
static struct attn_sparse any_sparse(void) {
  struct attn_sparse sparse = {.block = 0};
  if (chance(3) == 0) return sparse;
  sparse = (struct attn_sparse){.block = ATTN_BLOCK_MIN + chance(64), .sliding = 1, .seed = chance(2) * chance(100)};
  if (chance(2) == 0) {
    sparse.density = 1 + chance(1000);
  } else {
    sparse.sliding = 1 + chance(3), sparse.global = chance(3), sparse.random = chance(3);
  }
  return sparse;
}

/* ---- lists of blocks ----------------------------------------------------------------------------------------- */

/* A problem of a few short sequences with small lists. */
static struct attn_problem any_listed(void) {
  struct attn_problem p =
      ATTN_DENSE(1 + chance(3), 4, 2, 1 + chance(200), 1 + chance(200), 3, ATTN_F16, chance(2) != 0);
  if (chance(3) == 0) p.left = (int32_t)chance(60), p.right = (int32_t)chance(60) - 1;
  if (chance(3) == 0) p.batch.drawn = 1, p.batch.seed = chance(1000);
  while (!attn_is_sparse(&p)) p.sparse = any_sparse();
  p.lse = true;
  return p;
}

/* The list of a block of queries: ascending blocks that some row sees a key of, among them those of the pattern. */
static void check_list(const struct attn_problem *p, const struct attn_sequence *sequence, uint32_t h,
                       uint32_t q_block) {
  const struct attn_list list = attn_list_of(p, sequence, h, q_block);
  const struct attn_mask mask = attn_mask_of_sequence(p, sequence);
  const uint32_t block = p->sparse.block, first = q_block * block,
                 end = first + block < mask.Sq ? first + block : mask.Sq;
  const int64_t position = (int64_t)end - 1 + mask.Skv - mask.Sq;
  uint32_t at = 0, candidates = 0, always = 0;
  for (uint32_t key_block = 0; key_block < attn_blocks_in(p, p->Skv); ++key_block) {
    bool is_candidate = false;
    for (uint32_t row = first; row < end; ++row)
      for (uint32_t key = key_block * block; key < (key_block + 1) * block && key < mask.Skv; ++key)
        is_candidate = is_candidate || sees(&mask, row, key);
    const bool is_listed = at < list.count && attn_list_block(&list, at) == key_block;
    const int64_t diagonal = position < 0 ? -1 - (-1 - position) / block : position / block;
    const bool is_always =
        is_candidate && (llabs(diagonal - key_block) < p->sparse.sliding || key_block < p->sparse.global ||
                         (diagonal >= 0 && diagonal < p->sparse.global));
    candidates += is_candidate;
    always += is_always;
    at += is_listed;
    assert_int_equal(attn_list_has(&list, key_block), is_listed);
    assert_true(is_candidate || !is_listed);
    assert_true(is_listed || !is_always);
    assert_true(p->sparse.density != 1000 || is_listed == is_candidate);
  }
  assert_int_equal(at, list.count);
  assert_true(list.count <= attn_blocks_most(p));
  const uint32_t more = p->sparse.random < candidates - always ? p->sparse.random : candidates - always;
  if (p->sparse.density == 0) assert_int_equal(list.count, always + more);
}

TEST(lists_are_what_their_rule_says) {
  for (size_t i = 0; i < 300; ++i) {
    const struct attn_problem p = any_listed();
    char why[AXIS_WHY_MAX];
    if (!axes_problem_is_sound(&p, why)) fail_msg("%s", why);
    for (uint32_t b = 0; b < p.B; ++b) {
      const struct attn_sequence sequence = attn_sequence_of(&p, b);
      for (uint32_t h = 0; h < p.Hq; ++h)
        for (uint32_t q_block = 0; q_block < attn_blocks_in(&p, p.Sq); ++q_block) {
          const struct attn_list list = attn_list_of(&p, &sequence, h, q_block);
          if (q_block * p.sparse.block < sequence.Sq) check_list(&p, &sequence, h, q_block);
          if (q_block * p.sparse.block >= sequence.Sq) assert_int_equal(list.count, 0);
        }
    }
  }
}

/* Pairs, seen keys, rows without any and entries of lists, one after the other. */
static void check_listed_work(const struct attn_problem *p) {
  const uint32_t group = p->Hq / p->Hkv;
  uint64_t pairs = 0, seen = 0, blind = 0, entries = 0, rows = 0;
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence sequence = attn_sequence_of(p, b);
    const struct attn_mask mask = attn_mask_of_sequence(p, &sequence);
    bool is_seen[2][200] = {{false}};
    for (uint32_t h = 0; h < p->Hq; ++h) {
      for (uint32_t row = 0; row < sequence.Sq; ++row) {
        const struct attn_list list = attn_list_of(p, &sequence, h, row / p->sparse.block);
        const struct attn_place place = {.sequence = sequence, .h = h, .token = row};
        uint32_t of_row = 0;
        for (uint32_t key = 0; key < sequence.Skv; ++key) {
          if (!sees(&mask, row, key) || !attn_list_has(&list, key / p->sparse.block)) continue;
          ++of_row;
          is_seen[h / group][key] = true;
        }
        assert_int_equal(attn_seen_keys(p, &place), of_row);
        pairs += of_row, blind += of_row == 0, ++rows;
        entries += row % p->sparse.block == 0 ? list.count : 0;
      }
    }
    for (uint32_t kv_h = 0; kv_h < p->Hkv; ++kv_h)
      for (uint32_t key = 0; key < sequence.Skv; ++key) seen += is_seen[kv_h][key];
  }
  const double lists = 4.0 * p->B * p->Hq * attn_blocks_in(p, p->Sq) + 4.0 * (double)entries;
  const double offsets = attn_is_ragged(p) ? 8.0 * (p->B + 1) : 0;
  const double all = (double)rows * (2 * (p->D + p->Dv) + 4) + (double)seen * 2 * (p->D + p->Dv) + lists + offsets;
  assert_int_equal(work_pairs(p), pairs);
  assert_int_equal(work_seen_keys(p), seen);
  assert_true(work_flops(p) == 2.0 * (p->D + p->Dv) * (double)pairs);
  assert_true(work_bytes(p) == all);
  assert_true(work_least_bytes(p) == all - 2.0 * p->D * (double)blind);
}

TEST(the_work_of_lists_is_what_their_rows_see) {
  for (size_t i = 0; i < 100; ++i) {
    const struct attn_problem p = any_listed();
    check_listed_work(&p);
    check_tensors(&p);
  }
}

/* Lists have unlike lengths around the density, and heads have lists of their own. */
TEST(a_density_is_that_of_all_lists) {
  static const uint32_t densities[] = {10, 100, 250, 500, 900};
  for (size_t d = 0; d < 5; ++d) {
    struct attn_problem p = ATTN_DENSE(1, 16, 4, 12800, 12800, 8, ATTN_F16, false);
    p.sparse = (struct attn_sparse){.block = 64, .density = densities[d], .sliding = 1};
    uint64_t blocks = 0, most = 0, least = UINT64_MAX, apart = 0;
    const uint64_t lists = 16 * 200;
    for (uint64_t i = 0; i < lists; ++i) {
      const struct attn_list list = attn_list_numbered(&p, i), next = attn_list_numbered(&p, (i + 200) % lists);
      blocks += list.count;
      most = list.count > most ? list.count : most, least = list.count < least ? list.count : least;
      for (uint32_t j = 0; j < 200; ++j) apart += attn_list_has(&list, j) != attn_list_has(&next, j);
    }
    const double share = densities[d] / 1000.0, found = (double)blocks / (double)lists / 200;
    const double spread = (share < 0.5 ? share : 1 - share) / 2;
    if (fabs(found - share) > 0.02 * share + 0.001) fail_msg("%g for %g", found, share);
    assert_true((double)most / 200 <= share + spread + 0.006 && (double)most / 200 >= share + 0.8 * spread);
    assert_true((double)least / 200 >= share - spread - 0.006 && (double)least / 200 <= share - 0.8 * spread + 0.005);
    assert_true((double)apart / (double)lists / 200 > 0.8 * share * (1 - share));
  }
}

TEST(tiles_of_rows_lie_in_one_block) {
  for (size_t i = 0; i < 500; ++i) {
    const uint32_t block = chance(2) * (1 + chance(200)), rows = 1 + chance(700), tile_rows = 1 + chance(130);
    uint32_t next = 0;
    for (uint32_t index = 0; index < attn_row_tiles(block, rows, tile_rows); ++index) {
      const struct attn_row_tile tile = attn_row_tile_of(block, rows, tile_rows, index);
      assert_true(tile.first == next && tile.rows > 0 && tile.rows <= tile_rows);
      next += tile.rows;
      if (block > 0) assert_int_equal(tile.first / block, (next - 1) / block);
    }
    assert_int_equal(next, rows);
    const struct attn_row_tile none =
        attn_row_tile_of(block, rows, tile_rows, attn_row_tiles(block, rows, tile_rows));
    assert_int_equal(none.rows, 0);
  }
}

TEST(a_rule_is_read_and_written) {
  static const char *const rows[][2] = {{"128:0.25", "128:0.25"},
                                        {"128:0.250+seed=7", "128:0.25+seed=7"},
                                        {"64:1", "64:1"},
                                        {"64:1.000+seed=0", "64:1"},
                                        {"128:global=1+sliding=3", "128:sliding=3+global=1"},
                                        {"128:random=2", "128:sliding=1+random=2"},
                                        {"dense", "dense"},
                                        {"128:0", NULL},
                                        {"128:0.0001", NULL},
                                        {"128:1.5", NULL},
                                        {"128:1.001", NULL},
                                        {"128:2", NULL},
                                        {"128:", NULL},
                                        {"128", NULL},
                                        {"15:0.5", NULL},
                                        {"65537:0.5", NULL},
                                        {"0:0.5", NULL},
                                        {"128:0.5+global=1", NULL},
                                        {"128:sliding=0", NULL},
                                        {"128:sliding=2+sliding=2", NULL},
                                        {"128:sliding=2:global=2", NULL},
                                        {"128:sliding=2+", NULL},
                                        {"128:wide=2", NULL},
                                        {"128:0.5+seed=1234567890", NULL},
                                        {"128:global=65537", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_sparse sparse;
    char text[ATTN_SPARSE_TEXT_MAX];
    const char *end = attn_sparse_read(rows[i][0], &sparse);
    const bool is_read = end != NULL && *end == '\0';
    if (is_read != (rows[i][1] != NULL)) fail_msg("%s", rows[i][0]);
    if (!is_read) continue;
    attn_sparse_write(&sparse, text);
    assert_string_equal(text, rows[i][1]);
  }
}

TEST(strides_are_those_of_the_layout) {
  struct attn_problem problem = ATTN_DENSE(2, 4, 4, 10, 10, 8, ATTN_F16, false);
  static const struct {
    enum attn_layout layout;
    uint64_t batch, head, token, o_batch, v_offset;
  } rows[] = {{ATTN_BHSD, 320, 80, 8, 320, 0}, {ATTN_BSHD, 320, 8, 32, 320, 0}, {ATTN_QKV, 960, 8, 96, 320, 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_tensor v, o;
    problem.layout = rows[i].layout;
    assert_true(attn_tensor_of(&problem, ATTN_V, &v) && attn_tensor_of(&problem, ATTN_O, &o));
    assert_int_equal(v.view.batch_stride, rows[i].batch);
    assert_int_equal(v.view.head_stride, rows[i].head);
    assert_int_equal(v.view.token_stride, rows[i].token);
    assert_int_equal(v.offset, rows[i].v_offset);
    assert_int_equal(o.view.batch_stride, rows[i].o_batch);
  }
}

/* ---- axes there and back ------------------------------------------------------------------------------------- */

static uint32_t names_of(const struct attn_axis *axis) {
  uint32_t count = 0;
  while (count < AXIS_NAMES_MAX && axis->names[count] != NULL) ++count;
  return count;
}

/* None, drawn, or a list; its lengths are no more than 999. */
static struct attn_batch any_batch(void) {
  struct attn_batch batch = {.drawn = chance(3) == 0, .seed = 0};
  if (batch.drawn) batch.seed = chance(1000);
  const uint32_t groups = batch.drawn ? 0 : chance(ATTN_GROUPS_MAX + 1);
  for (; batch.groups < groups; ++batch.groups)
    batch.group[batch.groups] = (struct attn_group){1 + chance(9), batch.groups, chance(1000)};
  return batch;
}

static struct axis_value any_value(const struct attn_axis *axis) {
  switch (axis->kind) {
    case AXIS_WHOLE: {
      const double first = axes_least(axis) + chance(axis->most), second = axes_least(axis) + chance(axis->most);
      return (struct axis_value){.first = first, .second = second};
    }
    case AXIS_DTYPE: return (struct axis_value){.first = chance(ATTN_DTYPE_COUNT)};
    case AXIS_BATCH: return (struct axis_value){.batch = any_batch()};
    case AXIS_SPARSE: return (struct axis_value){.sparse = any_sparse()};
    case AXIS_NAME: return (struct axis_value){.first = chance(names_of(axis))};
    case AXIS_REAL: return (struct axis_value){.first = (double)chance(axis->most * 1000 + 1) / 1000};
    case AXIS_BOUNDS:
      return (struct axis_value){.first = (double)chance(axis->most + 2) - 1,
                                 .second = chance(3) == 0 ? -1 : (double)chance(axis->most + 1)};
    case AXIS_FLAG:
    case AXIS_CAUSAL: break;
  }
  return (struct axis_value){.first = chance(2)};
}

/* Every axis at some value, half of those that have a default at that. */
static struct attn_problem any_problem(void) {
  struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    axes_reset(axis, &problem);
    if (axes_is_alias(axis) || (!axis->required && chance(2) == 0)) continue;
    axes_set(axis, any_value(axis), &problem);
  }
  axes_complete(&problem);
  return problem;
}

TEST(a_key_says_the_whole_problem) {
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_problem problem = any_problem();
    struct attn_problem read;
    char key[AXIS_KEY_MAX], again[AXIS_KEY_MAX];
    axes_key(&problem, key);
    if (!axes_key_read(key, &read)) fail_msg("%s is no key", key);
    axes_key(&read, again);
    assert_string_equal(again, key);
    assert_true(axes_same_problem(&problem, &read));
    assert_int_equal(axes_compare_traits(&problem, &read), 0);
  }
}

/* Every axis at its longest text. */
TEST(the_longest_key_is_whole) {
  struct attn_problem problem = any_problem(), read;
  char key[AXIS_KEY_MAX], again[AXIS_KEY_MAX];
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    const double most = axis->kind == AXIS_NAME    ? names_of(axis) - 1.0
                        : axis->kind == AXIS_DTYPE ? ATTN_DTYPE_COUNT - 1.0
                        : axis->most > 0           ? axis->most - 0.001 * (axis->kind == AXIS_REAL)
                                                   : 1;
    if (!axes_is_alias(axis) && axis->kind != AXIS_BATCH)
      axes_set(axis, (struct axis_value){.first = most, .second = most}, &problem);
  }
  problem.dtype = ATTN_BF16, problem.Hkv = 1023, problem.Dv = 8191;
  problem.batch = (struct attn_batch){.groups = ATTN_GROUPS_MAX};
  for (uint32_t i = 0; i < ATTN_GROUPS_MAX; ++i)
    problem.batch.group[i] = (struct attn_group){8191, 1048575 - i, 1048565 - i};
  axes_key(&problem, key);
  assert_true(axes_key_read(key, &read));
  axes_key(&read, again);
  assert_string_equal(again, key);
  assert_true(axes_same_problem(&problem, &read) && strlen(key) > 300);
}

static void expect_same(const struct attn_axis *axis, struct axis_value value, struct axis_value read) {
  struct attn_problem problems[] = {ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false),
                                    ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false)};
  axes_set(axis, value, &problems[0]);
  axes_set(axis, read, &problems[1]);
  if (!axes_same_problem(&problems[0], &problems[1])) fail_msg("a value of %s does not come back", axis->name);
}

TEST(a_value_comes_back_from_text_and_json) {
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_axis *axis = axes_at(chance(AXIS_COUNT));
    const struct attn_problem problem = any_problem();
    const struct axis_value value = axes_get(axis, &problem);
    struct axis_value read;
    char text[AXIS_VALUE_TEXT_MAX];
    axes_value_write(axis, value, text);
    const char *end = axes_value_read(axis, text, &read);
    assert_true(end != NULL && *end == '\0');
    expect_same(axis, value, read);
    if (axes_is_alias(axis)) continue;
    cJSON *item = axis_json_new(axis, value);
    const struct json_doc doc = {.path = "t.json", .text = "", .root = item};
    assert_int_equal(axis_json_read(&doc, axis, item, &read).code, STATUS_OK);
    expect_same(axis, value, read);
    cJSON_Delete(item);
  }
}

TEST(the_default_is_left_out_and_needs_nothing) {
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    struct attn_problem problem = any_problem();
    if (axis->required || axes_is_alias(axis)) continue;
    for (unsigned other = 0; other < AXIS_COUNT; ++other) /* a prefix needs what page needs */
      if (other == id || (axes_at(other)->takes & axis->takes) != 0) axes_reset(axes_at(other), &problem);
    assert_true(axes_is_default(axis, &problem));
    assert_int_equal(axes_takes_of(&problem) & axis->takes, 0);
    assert_true(axis->takes == 0 || axis->refusal != NULL);
    assert_true(axis->help != NULL && axis->name != NULL);
  }
}

/* ---- what users read ----------------------------------------------------------------------------------------- */

/* Fails unless `file` has exactly this text between two lines; with ATTN_UPDATE_GOLDEN=1 it is written there. */
static void compare_part(const char *file, const char *begin, const char *end, char *part) {
  char *text;
  size_t length;
  struct text_stream whole;
  assert_int_equal(json_read_file(file, GOLDEN_BYTES_MAX, &text, &length).code, STATUS_OK);
  const char *from = strstr(text, begin);
  const char *to = from != NULL ? strstr(from + strlen(begin), end) : NULL;
  if (from == NULL || to == NULL) {
    fail_msg("%s has no part from %s to %s", file, begin, end);
    return;
  }
  text_open(&whole);
  fprintf(whole.file, "%.*s%s%s", (int)(from - text + (ptrdiff_t)strlen(begin)), text, part, to);
  char *wanted = text_close(&whole);
  compare_golden(file, wanted);
  free(wanted);
  free(text);
  free(part);
}

static void put_values(FILE *out, const struct attn_axis *axis) {
  char names[ATTN_DTYPE_LIST_MAX];
  switch (axis->kind) {
    case AXIS_WHOLE:
      fprintf(out, "\"type\": \"integer\", \"minimum\": %u, \"maximum\": %u", axes_least(axis), axis->most);
      break;
    case AXIS_DTYPE:
      attn_dtype_list(ATTN_DTYPES_ALL, "\"", ", ", names);
      fprintf(out, "\"enum\": [%s]", names);
      break;
    case AXIS_BATCH:
      fputs(
          "\"type\": \"string\", \"pattern\": "
          "\"^(uniform|ragged:[0-9]+|[0-9]*q[0-9]+k?(s[0-9]+k?)?(_[0-9]*q[0-9]+k?(s[0-9]+k?)?)*)$\"",
          out);
      break;
    case AXIS_SPARSE:
      fputs(
          "\"type\": [\"string\", \"object\"], \"pattern\": "
          "\"^(dense|[0-9]+:([01](\\\\.[0-9]{1,3})?|(sliding|global|random|seed)=[0-9]+)([+](sliding|global|random|"
          "seed)=[0-9]+)*)$\", "
          "\"properties\": {\"block\": {\"type\": \"integer\", \"minimum\": 16, \"maximum\": 65536}, "
          "\"density\": {\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1}",
          out);
#define PUT_PART(part) fprintf(out, ", \"%s\": {\"type\": \"integer\", \"minimum\": 0}", #part);
      ATTN_SPARSE_PARTS(PUT_PART)
#undef PUT_PART
      fputs("}, \"required\": [\"block\"], \"additionalProperties\": false", out);
      break;
    case AXIS_NAME:
      for (uint32_t i = 0; i < names_of(axis); ++i)
        fprintf(out, "%s\"%s\"%s", i == 0 ? "\"enum\": [" : ", ", axis->names[i], i + 1 == names_of(axis) ? "]" : "");
      break;
    case AXIS_REAL: fprintf(out, "\"type\": \"number\", \"minimum\": 0, \"maximum\": %u", axis->most); break;
    case AXIS_BOUNDS:
      fprintf(out,
              "\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": -1, \"maximum\": %u}, "
              "\"minItems\": 2, \"maxItems\": 2",
              axis->most);
      break;
    case AXIS_FLAG:
    case AXIS_CAUSAL: fputs("\"type\": \"boolean\"", out); break;
  }
}

/* A line for each axis, with commas between. */
static char *properties_of(bool with_aliases, void (*put)(FILE *, const struct attn_axis *)) {
  struct text_stream out;
  const char *comma = "";
  text_open(&out);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    if (axes_is_alias(axes_at(id)) && !with_aliases) continue;
    fprintf(out.file, "%s        \"%s\": {", comma, axes_at(id)->name);
    put(out.file, axes_at(id));
    fputc('}', out.file);
    comma = ",\n";
  }
  fputc('\n', out.file);
  return text_close(&out);
}

static void put_described(FILE *out, const struct attn_axis *axis) {
  put_values(out, axis);
  fprintf(out, ", \"description\": \"%s\"", axis->help);
}

static void put_list(FILE *out, const struct attn_axis *axis) {
  const char *one = "{\"$ref\": \"#/$defs/shape/properties/";
  fprintf(out, "\"anyOf\": [%s%s\"}, {\"type\": \"array\", \"items\": %s%s\"}, \"minItems\": 1}]", one, axis->name,
          one, axis->name);
}

#define SHAPE_OF_SCHEMA "    \"shape\": {\n      \"type\": \"object\",\n      \"properties\": {\n"
#define BLOCK_OF_SCHEMA "    \"block\": {\n      \"type\": \"object\",\n      \"properties\": {\n"
#define END_OF_SCHEMA   "      },\n"

TEST(the_schemas_have_every_axis) {
  compare_part("results/sweep.schema.json", SHAPE_OF_SCHEMA, END_OF_SCHEMA, properties_of(true, put_described));
  compare_part("results/sweep.schema.json", BLOCK_OF_SCHEMA, END_OF_SCHEMA, properties_of(true, put_list));
  compare_part("results/report.schema.json", SHAPE_OF_SCHEMA, END_OF_SCHEMA, properties_of(false, put_values));
}

/* The table of keys, and what is to be said of some at length. */
TEST(the_page_of_sweeps_has_every_axis) {
  struct text_stream table, meanings;
  text_open(&table);
  text_open(&meanings);
  fputs("| key | meaning | default | values |\n|---|---|---|---|\n", table.file);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    char wanted[AXIS_WANTED_MAX], usual[AXIS_VALUE_TEXT_MAX];
    axes_value_wanted(axis, "\"", wanted);
    axes_default_text(axis, usual);
    fprintf(table.file, "| `%s` | %s | %s | %s |\n", axis->name, axis->help, usual[0] != '\0' ? usual : "none",
            wanted);
    if (axis->convention != NULL) fprintf(meanings.file, "- **`%s`**: %s\n", axis->name, axis->convention);
  }
  compare_part("shapes/README.md", "<!-- begin keys -->\n", "<!-- end keys -->", text_close(&table));
  compare_part("shapes/README.md", "<!-- begin meanings -->\n", "<!-- end meanings -->", text_close(&meanings));
}
