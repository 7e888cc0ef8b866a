/* The q tiles of ragged batches load the blocks of wgmma_general and wgmma_paged evenly. No GPU. */
#include "kernels/problem/axes.h"
#include "tests/kernels/ragged_balance.h"
#include "tests/unit.h"

enum { SMS = 132 };

static double uneven(const char *key, uint32_t rows, uint32_t keys, uint32_t tile_heads) {
  struct attn_problem problem;
  assert_true(axes_key_read(key, &problem));
  return ragged_uneven(&problem, rows, keys, tile_heads, SMS);
}

/* 128 of the q tiles have 128 tiles of keys, and 256 have 32: no block may have two of the long ones. It had where
 * the keys of the decodes counted as shared, and so made sections of heads small. */
TEST(decodes_beside_a_prefill_of_many_keys_leave_the_long_tiles_to_different_blocks) {
  assert_true(uneven("B33.H32.Hkv8.Sq512.Skv16384.D128.bf16.causal.batchq512s16k_32q1s4k.page16", 32, 128, 4) < 1.15);
  assert_true(uneven("B66.H32.Hkv8.Sq512.Skv8192.D128.bf16.causal.batch2q512s8k_64q1s2k.page16", 32, 128, 4) < 1.15);
}

TEST(prefills_of_unlike_lengths_are_even) {
  assert_true(uneven("B16.H16.Sq8192.Skv8192.D128.bf16.causal.batchragged:1", 192, 64, 1) < 1.1);
  assert_true(uneven("B34.H16.Sq2048.Skv2048.D128.bf16.causal.batch2q2k_32q1s1k", 128, 128, 1) < 1.15);
}

TEST(a_batch_of_one_block_has_nothing_to_share_out) {
  assert_true(uneven("B1.H1.Sq64.Skv64.D64.f16.full.batchq64s64", 64, 64, 1) == SMS); /* one block has all */
}

/* The q tiles of the largest batches that a key can name are too many to list. */
TEST(a_batch_of_very_many_tiles_counts_as_even) {
  assert_true(uneven("B65535.H1.Sq131072.Skv131072.D64.f16.full.batch65535q128k", 64, 64, 1) == 1);
}
