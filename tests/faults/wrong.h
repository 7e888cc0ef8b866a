/* Attention kernels that are wrong in one subtle way each, for the CPU and the GPU alike: one flash-attention row
 * with three splits of the keys, tiles of 64 and a bug by its number. Variants "wrong:bug=N" and "gpu_wrong:bug=N";
 * bug 0 is right. tests/data/sweeps/wrong.json holds shapes that show every one of them, wrong_lse.json
 * and so on those of one axis of the problem. */
#ifndef ATTNBENCH_TESTS_FAULTS_WRONG_H
#define ATTNBENCH_TESTS_FAULTS_WRONG_H

#include <math.h>

#include "kernels/input.h"
#include "kernels/variant.h"

/* X(name, what is wrong) */
#define WRONG_ROW_MAP(X)                                                            \
  X(none, "nothing")                                                                \
  X(mask_one_more, "causal rows see one key too many")                              \
  X(mask_one_less, "causal rows see one key too few")                               \
  X(mask_top_left, "the mask is aligned top-left")                                  \
  X(mask_offset_sign, "the mask's offset has the wrong sign")                       \
  X(mask_tile_row, "one key too many in the last row of a 64-row tile only")        \
  X(mask_tile_key, "one key too few where the diagonal starts a tile only")         \
  X(mask_added, "hidden scores get -1e30 added, so that a NaN stays one")           \
  X(tail_last_key, "the last key of a ragged length is ignored")                    \
  X(tail_zero_keys, "a ragged tile's missing keys count as scores of 0")            \
  X(tail_tile, "a ragged last tile is dropped")                                     \
  X(tail_single, "a last tile of a single key is dropped")                          \
  X(tail_row, "the last of an odd number of query rows takes its neighbour's Q")    \
  X(tail_beyond, "V behind the last key is read and multiplied by 0")               \
  X(tail_dimension, "Q.K leaves out the last dimension")                            \
  X(tail_column, "the last column of O repeats the one before")                     \
  X(head_swap, "the first two heads' outputs change places")                        \
  X(head_group, "query head h reads KV head h % Hkv")                               \
  X(head_high, "from b*h = 128 on, the first key is lost")                          \
  X(head_last_v, "the last head takes V of the head before it")                     \
  X(batch_k, "every batch reads K of batch 0")                                      \
  X(batch_v, "every batch reads V of batch 0")                                      \
  X(row_rare, "one query row in 4096 has the wrong scale")                          \
  X(scale_none, "scores are not scaled")                                            \
  X(scale_dimension, "the softmax scale is that of D + 1")                          \
  X(scale_base, "exponentials have base 2 without the factor log2(e)")              \
  X(scale_rounded, "Q times scale is rounded to 16 bits")                           \
  X(softmax_no_max, "no maximum is subtracted")                                     \
  X(softmax_capped, "the running maximum is capped at 8")                           \
  X(softmax_clamped, "scores are clamped to +-20")                                  \
  X(softmax_positive, "the running maximum starts at 0")                            \
  X(softmax_first_max, "the maximum is the first tile's")                           \
  X(softmax_lowest, "the running maximum starts at -50")                            \
  X(softmax_scores16, "scores are kept in 16 bits")                                 \
  X(softmax_exp, "exponentials are off by up to 2 %")                               \
  X(softmax_exp_low, "exponentials below 2^-10 are 0")                              \
  X(softmax_sum16, "the sum of P is kept in 16 bits")                               \
  X(sum_skips_rescale, "the sum of P is not rescaled when the maximum moves")       \
  X(out_skips_rescale, "O is not rescaled when the maximum moves by less than 1")   \
  X(out_rescaled_twice, "O is rescaled twice when the maximum moves")               \
  X(accumulate16, "O is accumulated in 16 bits")                                    \
  X(p8, "P has 4 bits")                                                             \
  X(products_tf32, "Q.K has 11 bits of each factor, whatever the dtype")            \
  X(split_last, "the last split is dropped")                                        \
  X(split_no_rescale, "splits are merged without regard to their maxima")           \
  X(split_mean, "splits are merged by their mean")                                  \
  X(split_low, "a split is dropped when its maximum is lower by 20 before scaling") \
  X(split_first_key, "every split but the first loses its first key")               \
  X(split_overlap, "every split but the last takes one key of the next one too")    \
  X(split_count, "with less than three tiles of keys the last split counts twice")  \
  X(tile_first, "the first tile is dropped when there are several")                 \
  X(tile_v_stale, "every fifth tile uses V of the tile before it")                  \
  X(tile_k_stale, "the second tile's last key is still the first tile's")           \
  X(out_not_divided, "rows beyond 64 are not divided by the sum")                   \
  X(out_nan, "rows without keys are NaN")                                           \
  X(out_bits, "O of bf16 and f16 keeps 6 bits")                                     \
  X(out_column, "one column of one head is that of the next row")                   \
  X(out_abs, "small outputs lose their sign")                                       \
  X(v_tiny, "values of V below 2^-14 count as 0")                                   \
  X(q_zero, "rows of Q that are zero have an output of zero")                       \
  X(v_clamped, "values of V are clamped to +-256")                                  \
  X(v_bias, "of V the mean of the first 8 keys is taken off, and forgotten")

/* Right at their first launches. */
#define WRONG_LAUNCH_MAP(X)                                                                 \
  X(first_only, "computes in the process's first launch only")                              \
  X(every_second, "computes in every second launch")                                        \
  X(skips_seventh, "skips one launch in seven")                                             \
  X(skips_filled, "returns when O is filled")                                               \
  X(skips_known, "returns when O is filled and the first of Q, K and V are as before")      \
  X(skips_pointers, "returns when O is where it was and filled, after four launches")       \
  X(skips_hot, "returns when the launch before ended less than 100 us ago and O is filled") \
  X(adds_old, "O becomes the mean of itself, where it is finite, and the output")           \
  X(counts_launches, "from the thirteenth launch on scores are not scaled")                 \
  X(races, "in one launch of 50 the scores of one query row are not scaled")                \
  X(writes_beyond, "writes one element beyond O")                                           \
  X(changes_k, "changes one element of K")                                                  \
  X(keeps_p, "from the thirteenth launch on, P is that of the twelfth; on the CPU alone")   \
  X(remembers, "returns the output of inputs that it has seen; on the CPU alone")

/* Right in O and wrong in the log-sum-exp of rows. */
#define WRONG_LSE_MAP(X)                                                          \
  X(lse_unwritten, "the LSE of the last row of a head is not written")            \
  X(lse_no_max, "the LSE is the logarithm of the sum without the maximum")        \
  X(lse_base2, "the LSE is a logarithm to the base 2")                            \
  X(lse_unscaled, "the maximum in the LSE lacks the softmax scale")               \
  X(lse_tail_key, "the sum behind the LSE lacks the last key of a ragged length") \
  X(lse_rounded, "the sum behind the LSE is of weights rounded to 16 bits")       \
  X(lse_split, "the LSE is that of the first split")                              \
  X(lse_empty, "the LSE of rows without keys is 0")                               \
  X(lse_heads, "the LSE is written as [B][Sq][Hq]")                               \
  X(lse_beyond, "writes one element beyond LSE")                                  \
  X(lse_later, "from the thirteenth launch on LSE is not written")

/* Wrong where a row sees a window of keys. */
#define WRONG_WINDOW_MAP(X)                                                            \
  X(window_left_more, "rows see one key too many on the left")                         \
  X(window_left_less, "rows see one key too few on the left")                          \
  X(window_right_more, "rows see one key too many on the right")                       \
  X(window_right_less, "rows see one key too few on the right")                        \
  X(window_left_ignored, "the bound on the left is ignored")                           \
  X(window_right_ignored, "the bound on the right is ignored")                         \
  X(window_left_tile, "rows see all keys of the tile that their window begins in")     \
  X(window_tile_rows, "all rows of a 64-row tile have the left bound of its last row") \
  X(window_top_left, "the window is aligned top-left")                                 \
  X(window_swapped, "the bounds have changed places")

/* Wrong where V and O have other columns than Q and K. */
#define WRONG_DV_MAP(X)                               \
  X(dv_v_stride, "rows of V are taken to be D apart") \
  X(dv_o_stride, "rows of O are written D apart")     \
  X(dv_columns, "columns of O from D on are 0")       \
  X(dv_last, "the last column of V counts as 0")      \
  X(dv_scale, "the softmax scale is 1/sqrt(Dv)")      \
  X(dv_dot, "products q.k have at most Dv terms")

/* Wrong where scores have a soft cap. */
#define WRONG_SOFTCAP_MAP(X)                                                        \
  X(softcap_ignored, "scores have no cap")                                          \
  X(softcap_after_mask, "hidden keys are capped too, and count with minus the cap") \
  X(softcap_before_scale, "products q.k are capped, and then scaled")               \
  X(softcap_not_multiplied, "scores are tanh(score / cap)")                         \
  X(softcap_twice, "scores are capped twice")                                       \
  X(softcap_clamped, "scores are cut off at the cap")                               \
  X(softcap_base2, "scores are multiplied by log2(e) before the cap, not after")    \
  X(softcap_rational, "scores are score / (1 + |score| / cap)")                     \
  X(softcap_rounded, "the cap is rounded to a power of two")

/* Wrong where heads have a sink. */
#define WRONG_SINK_MAP(X)                                                \
  X(sink_ignored, "the sink counts nothing")                             \
  X(sink_max_only, "the sink is in the maximum, and not in the sum")     \
  X(sink_unshifted, "exp(sink) is added to the sum without the maximum") \
  X(sink_each_split, "every split adds the sink")                        \
  X(sink_first_head, "every head has the sink of head 0")                \
  X(sink_kv_head, "a head has the sink of its KV head's number")         \
  X(sink_next_head, "a head has the sink of the head after it")          \
  X(sink_scaled, "the sink is multiplied by the softmax scale")          \
  X(sink_base2, "the sink lacks the factor log2(e)")                     \
  X(sink_as_key, "the sink adds V of the first key")                     \
  X(sink_rounded, "the sink is rounded to 8 bits")                       \
  X(sink_no_lse, "the LSE lacks the sink")                               \
  X(sink_empty, "rows that see no key have an LSE of minus infinity")    \
  X(sink_late, "the sink is added when the keys are done, without a new maximum")

/* Wrong where the tensors are not dense [B][H][S][D]. */
#define WRONG_LAYOUT_MAP(X)                                                            \
  X(layout_q_dense, "rows of Q are read as in [B][H][S][D]")                           \
  X(layout_k_dense, "rows of K are read as in [B][H][S][D]")                           \
  X(layout_v_dense, "rows of V are read as in [B][H][S][D]")                           \
  X(layout_o_dense, "rows of O are written as in [B][H][S][D]")                        \
  X(layout_kv_heads, "rows of K and V are as far apart as if they had Hq heads")       \
  X(layout_packed_rows, "rows of K are H * D apart, though Q and V lie between them")  \
  X(layout_packed_batch, "batches of V are S * H * D apart, though V is one of three") \
  X(layout_packed_o, "rows of O are as far apart as those of Q, K and V")              \
  X(layout_lse, "the LSE is written as [B][Sq][Hq]")

/* Wrong where sequences of unlike lengths are packed behind one another. */
#define WRONG_BATCH_MAP(X)                                                                  \
  X(ragged_padded, "every sequence has as many keys as the longest")                        \
  X(ragged_next_key, "a sequence sees the first key of the next one")                       \
  X(ragged_last_key, "the last key of a sequence is not seen")                              \
  X(ragged_square, "a sequence has as many keys as queries")                                \
  X(ragged_mask_longest, "masks are aligned to the longest sequence")                       \
  X(ragged_mask_top_left, "masks are aligned top-left in each sequence")                    \
  X(ragged_mask_packed, "masks take all sequences for one")                                 \
  X(ragged_first_keys, "every sequence reads K of the first one")                           \
  X(ragged_q_offset, "keys begin where queries do")                                         \
  X(ragged_v_offset, "values begin at those of the sequence before")                        \
  X(ragged_behind_empty, "behind a sequence without queries keys begin where its keys did") \
  X(ragged_padded_o, "O is written as [B][Sq][Hq][Dv]")                                     \
  X(ragged_heads_o, "O is written as [Hq][queries of all][Dv]")                             \
  X(ragged_last, "the last sequence is left out")                                           \
  X(ragged_few, "sequences of fewer than 16 queries are left out")                          \
  X(ragged_no_keys_nan, "rows of a sequence without keys are NaN")                          \
  X(ragged_no_keys_left, "rows of a sequence without keys are not written")                 \
  X(ragged_one_key, "a sequence of one key is taken for one of none")                       \
  X(ragged_padded_lse, "the LSE is written as [B][Hq][Sq]")                                 \
  X(ragged_tokens_lse, "the LSE is written as [queries of all][Hq]")

/* Wrong where Q, K and V are e4m3. */
#define WRONG_E4M3_MAP(X)                                                            \
  X(e4m3_v_permuted, "keys 8 to 15 of every 16 of V change places with the others")  \
  X(e4m3_p_unscaled, "P is rounded to e4m3 without the factor 2^8")                  \
  X(e4m3_p_saturated, "P is multiplied by 2^9 before it is rounded, and saturates")  \
  X(e4m3_q_scale_ignored, "Q is not scaled")                                         \
  X(e4m3_q_scale_head, "Q has the scale of the KV head behind")                      \
  X(e4m3_k_scale_head, "K has the scale of the KV head behind")                      \
  X(e4m3_v_scale_head, "V has the scale of the KV head behind")                      \
  X(e4m3_scale_batch, "every sequence has the scales of the first")                  \
  X(e4m3_k_scale_twice, "K is scaled twice")                                         \
  X(e4m3_k_scale_block, "all blocks of K have the scale of the first")               \
  X(e4m3_v_scale_block, "all blocks of V have the scale of the first")               \
  X(e4m3_block_edge, "blocks of keys with a scale begin one key late")               \
  X(e4m3_v_requantised, "V times its scale is rounded to e4m3 again, and saturates") \
  X(e4m3_nan, "NaN is read as 480")                                                  \
  X(e4m3_subnormal, "subnormal numbers are read as 0")                               \
  X(e4m3_lse_rounded, "the LSE is that of rounded P")

/* Wrong where K and V lie in pages. */
#define WRONG_PAGE_MAP(X)                                                                        \
  X(page_next, "page i of a sequence is taken from entry i + 1 of its table")                    \
  X(page_v_next, "the same for V alone")                                                         \
  X(page_ordered, "behind the first one, pages are taken in their order in the cache")           \
  X(page_first_table, "every sequence has the table of the first one")                           \
  X(page_next_table, "a sequence has the table of the one behind it")                            \
  X(page_dense_table, "the rows of the table are taken to be as long as a sequence has pages")   \
  X(page_order, "the heads and the tokens of a page have changed places")                        \
  X(page_heads, "every head reads the first KV head's part of a page")                           \
  X(page_slot, "of a full page the last token is taken from the place before it")                \
  X(page_split, "a split that begins inside of a page takes it for the beginning of that page")  \
  X(page_tail, "the values behind the last key, up to the end of its page, are multiplied by 0") \
  X(page_tail_seen, "all tokens of the last page are seen")                                      \
  X(page_tail_lost, "a last page that is not full is left out")                                  \
  X(page_last_full, "a last page that is full is left out")                                      \
  X(page_exactly_one, "a sequence of exactly one page has none")                                 \
  X(page_none, "a sequence without keys has one")                                                \
  X(page_unused, "writes into a page that nobody uses")                                          \
  X(page_behind, "writes the key behind the last one of a sequence, as if it appended it")       \
  X(page_table_changed, "writes an entry of the page table")                                     \
  X(prefix_left_out, "all sequences but the first leave out the keys that they share")           \
  X(prefix_own, "the pages behind those that are shared are the first sequence's")               \
  X(prefix_twice, "the keys that sequences share are taken in twice")                            \
  X(prefix_written, "the last of the pages that sequences share is written to")

/* Wrong where V is the first columns of K. */
#define WRONG_V_IN_K_MAP(X)                                         \
  X(v_in_k_last, "V is the last Dv columns of K")                   \
  X(v_in_k_shifted, "V begins 8 columns behind the first of K")     \
  X(v_in_k_stride, "rows of V are Dv apart, as if it were alone")   \
  X(v_in_k_dot, "products q.k have as many terms as V has columns") \
  X(v_in_k_scale, "the softmax scale is 1/sqrt(Dv)")

/* Wrong where rows see some blocks of keys only. */
#define WRONG_SPARSE_MAP(X)                                                                               \
  X(sparse_ignored, "lists are ignored: rows see every key that the mask leaves")                         \
  X(sparse_next_block, "every block of a list is taken for the one behind it")                            \
  X(sparse_block_before, "every block of a list but the first is taken for the one before it")            \
  X(sparse_last, "the last block of each list is dropped")                                                \
  X(sparse_first, "the first block of each list is dropped")                                              \
  X(sparse_odd, "lists are walked in pairs, and the last block of an odd number is lost")                 \
  X(sparse_many, "lists end with their fourth block")                                                     \
  X(sparse_beyond, "one entry more than the count is read, and -1 taken for block 0")                     \
  X(sparse_diagonal, "the diagonal block is dropped")                                                     \
  X(sparse_unmasked, "the mask is not applied within the last block that a row sees")                     \
  X(sparse_masked, "the mask is applied to whole blocks: the last one that a row sees is hidden from it") \
  X(sparse_counts_head, "the counts are those of the head after it")                                      \
  X(sparse_counts_row, "the counts are those of the block of queries before it")                          \
  X(sparse_indices_kv, "the indices are those of the KV head's number")                                   \
  X(sparse_first_head, "every head has the lists of head 0")                                              \
  X(sparse_first_batch, "every sequence has the lists of the first one")                                  \
  X(sparse_rows, "the last row of a block of queries has the list of the next one")                       \
  X(sparse_pitch, "lists are taken to be as far apart as there are blocks of keys")                       \
  X(sparse_size, "blocks of keys are taken to have 16 keys")                                              \
  X(sparse_tail, "the ragged last block of keys is dropped")                                              \
  X(sparse_half, "the last key of each block is lost")                                                    \
  X(sparse_empty_nan, "rows that see no key of their list are NaN")                                       \
  X(sparse_empty_lse, "the LSE of rows that see no key of their list is 0")

enum wrong_bug {
#define WRONG_ENUM(name, text) WRONG_##name,
  WRONG_ROW_MAP(WRONG_ENUM) WRONG_LAUNCH_MAP(WRONG_ENUM) WRONG_LSE_MAP(WRONG_ENUM) WRONG_WINDOW_MAP(WRONG_ENUM)
      WRONG_DV_MAP(WRONG_ENUM) WRONG_SOFTCAP_MAP(WRONG_ENUM) WRONG_SINK_MAP(WRONG_ENUM) WRONG_LAYOUT_MAP(WRONG_ENUM)
          WRONG_BATCH_MAP(WRONG_ENUM) WRONG_E4M3_MAP(WRONG_ENUM) WRONG_PAGE_MAP(WRONG_ENUM)
              WRONG_V_IN_K_MAP(WRONG_ENUM) WRONG_SPARSE_MAP(WRONG_ENUM)
#undef WRONG_ENUM
                  WRONG_COUNT
};
enum {
  WRONG_FIRST_OF_LAUNCHES = WRONG_first_only,
  WRONG_TILE = 64,
  WRONG_SPLITS = 3,
  WRONG_D_MAX = 128,
  WRONG_VIEWS = ATTN_O + 1
};

struct wrong_job {
  struct attn_problem shape;
  struct attn_buffers buffers;
  enum wrong_bug bug;
  struct attn_view view[WRONG_VIEWS]; /* of Q, K, V and O, as the bug takes them to be */
  uint32_t longest;                   /* Sq of the problem */
  struct attn_problem all;            /* the problem, where `shape` has the lengths of one sequence */
  uint32_t entries;                   /* of a sequence in the page table */
  struct attn_lists lists;            /* of blocks of keys */
};

static inline struct attn_view wrong_dense(struct attn_view view) {
  view.token_stride = view.columns;
  view.head_stride = view.tokens * view.token_stride;
  view.batch_stride = view.heads * view.head_stride;
  return view;
}

static inline struct wrong_job wrong_job_of(const struct attn_problem *shape, const struct attn_buffers *buffers,
                                            enum wrong_bug bug) {
  const bool is_packed = shape->layout == ATTN_QKV, is_by_token = shape->layout == ATTN_BSHD;
  struct wrong_job job;
  memset(&job, 0, sizeof job);
  job.shape = *shape, job.buffers = *buffers, job.bug = bug, job.longest = shape->Sq, job.all = *shape;
  job.entries = attn_pages_for(shape->Skv, shape->page);
  job.lists = attn_lists_of(shape, buffers->block_counts, buffers->block_indices);
  for (unsigned role = ATTN_Q; role < WRONG_VIEWS; ++role) {
    struct attn_view *view = &job.view[role];
    *view = attn_view_of(shape, (enum attn_role)role);
    if ((unsigned)bug == WRONG_layout_q_dense + role) *view = wrong_dense(*view);
    if (bug == WRONG_layout_kv_heads && attn_role_rows((enum attn_role)role) == ATTN_ROWS_KEYS && is_by_token)
      view->token_stride *= shape->Hq / shape->Hkv;
    if (bug == WRONG_layout_packed_rows && role == ATTN_K && is_packed) view->token_stride /= 3;
    if (bug == WRONG_layout_packed_batch && role == ATTN_V && is_packed) view->batch_stride /= 3;
    if (bug == WRONG_dv_v_stride && role == ATTN_V) view->columns = shape->D, *view = wrong_dense(*view);
    if (bug == WRONG_dv_o_stride && role == ATTN_O) view->columns = shape->D, *view = wrong_dense(*view);
    if (bug == WRONG_v_in_k_stride && role == ATTN_V) *view = wrong_dense(*view);
    if (bug == WRONG_layout_packed_o && role == ATTN_O && is_packed) view->token_stride *= 3;
  }
  return job;
}

/* The column of K that a bug takes for V's first one. */
static inline ATTN_HD uint32_t wrong_v_column(const struct wrong_job *job) {
  if (job->bug == WRONG_v_in_k_last) return job->shape.D - job->shape.Dv;
  return job->bug == WRONG_v_in_k_shifted ? 8 : 0;
}

/* Element d of a row of Q, K, V or O; the last one that there is where it lies beyond. */
static inline ATTN_HD uint64_t wrong_element(const struct wrong_job *job, enum attn_role role, uint64_t row,
                                             uint32_t d) {
  const struct attn_view *view = &job->view[role];
  const uint64_t rows = attn_view_rows(view), columns = attn_columns(&job->shape, role);
  uint64_t element = attn_view_row(view, row) + d;
  if (job->bug == WRONG_ragged_heads_o && role == ATTN_O && attn_is_ragged(&job->shape)) element = row * columns + d;
  const bool is_packed = job->shape.layout == ATTN_QKV && role != ATTN_O;
  uint64_t end = is_packed ? 3 * rows * columns - role * view->heads * columns : rows * columns;
  if (role == ATTN_V && job->shape.v_in_k) {
    element += wrong_v_column(job);
    end = rows * job->shape.D;
  }
  return element < end ? element : end - 1;
}

/* ---- numbers of 8 and 16 bits
 * ------------------------------------------------------------------------------------------ */

static inline ATTN_HD float wrong_load(const void *data, enum attn_dtype dtype, uint64_t index) {
  return attn_dtype_value(dtype, attn_dtype_load(dtype, data, index));
}

static inline ATTN_HD void wrong_store(void *data, enum attn_dtype dtype, uint64_t index, float value) {
  attn_dtype_store(dtype, data, index, attn_dtype_bits(dtype, value));
}

static inline ATTN_HD float wrong_round(enum attn_dtype dtype, float x) {
  return attn_dtype_value(dtype, attn_dtype_bits(dtype, x));
}

/* f32 keeps 11 bits: TF32. */
static inline ATTN_HD float wrong_round16(enum attn_dtype dtype, float x) {
  return dtype == ATTN_F32 ? input_bits_float((input_float_bits(x) + 0x1000u) & ~0x1fffu) : wrong_round(dtype, x);
}

static inline ATTN_HD float wrong_bits(float x, uint32_t bits) {
  return input_bits_float((input_float_bits(x) + (1u << (23 - bits))) & ~((1u << (24 - bits)) - 1u));
}

/* ---- one row ------------------------------------------------------------------------------------------------- */

/* The running state of one split of one row. */
struct wrong_state {
  float out[WRONG_D_MAX];
  float maximum, sum;
  float lse_sum; /* what the LSE takes for the sum */
};

struct wrong_row {
  uint64_t q_row, o_row, k_row, v_row; /* linear rows; of K and V the first key's */
  uint32_t row;                        /* within the head */
  uint32_t first, keys;                /* it sees the keys from `first` to before `keys` */
  uint64_t head;                       /* of [B][Hq] */
  struct attn_sequence sequence;
  const int32_t *pages; /* the sequence's row of the page table; NULL: K and V are contiguous */
  uint32_t kv_h, split; /* KV head; keys of a split */
};

/* The page and the token in it of a key, as a bug finds them. */
static inline ATTN_HD uint64_t wrong_key_in_page(const struct wrong_job *job, const struct wrong_row *r,
                                                 enum attn_role role, uint32_t key) {
  const struct attn_problem *s = &job->shape;
  struct attn_view view = job->view[role];
  const enum wrong_bug bug = job->bug;
  const uint32_t begin = bug == WRONG_page_split ? key / r->split * r->split : 0;
  uint32_t i = begin / s->page + (key - begin) / s->page, slot = (key - begin) % s->page, h = r->kv_h;
  const uint32_t shared = s->prefix / s->page;
  const int32_t *pages = r->pages;
  if (bug == WRONG_page_next || (bug == WRONG_page_v_next && role == ATTN_V)) ++i;
  if (bug == WRONG_prefix_own && i >= shared && shared > 0) pages = job->buffers.page_table;
  if (bug == WRONG_prefix_left_out && r->sequence.b > 0) i += shared;
  if (bug == WRONG_page_slot && slot + 1 == s->page && slot > 0) --slot;
  if (bug == WRONG_page_heads) h = 0;
  if (bug == WRONG_page_order) {
    const bool is_by_head = view.head_stride > view.token_stride;
    view.head_stride = is_by_head ? view.token_stride : view.token_stride / view.heads * view.tokens;
    view.token_stride = is_by_head ? view.token_stride * view.heads : view.token_stride / view.heads;
  }
  if (i >= job->entries) i = job->entries - 1;
  uint64_t page = (uint64_t)pages[i];
  if (bug == WRONG_page_ordered) page = ((uint64_t)pages[0] + i) % view.batch;
  return page * view.batch_stride + h * view.head_stride + slot * view.token_stride;
}

/* Element d of key `key` of K or V. */
static inline ATTN_HD uint64_t wrong_key_element(const struct wrong_job *job, const struct wrong_row *r,
                                                 enum attn_role role, uint32_t key, uint32_t d) {
  const struct attn_view *view = &job->view[role];
  const bool is_inside = role == ATTN_V && job->shape.v_in_k;
  if (r->pages == NULL) return wrong_element(job, role, (role == ATTN_K ? r->k_row : r->v_row) + key, d);
  const uint64_t element = wrong_key_in_page(job, r, role, key) + d + (is_inside ? wrong_v_column(job) : 0);
  const uint64_t end = attn_view_rows(view) * (is_inside ? job->shape.D : view->columns);
  return element < end ? element : end - 1;
}

static inline ATTN_HD uint64_t wrong_rows(const struct wrong_job *job) { return attn_view_rows(&job->view[ATTN_O]); }

static inline ATTN_HD uint32_t wrong_keys(const struct wrong_job *job, uint32_t row) {
  const struct attn_problem *s = &job->shape;
  const uint32_t keys = attn_keys_of_row(s, row).end, more = keys < s->Skv ? keys + 1 : keys,
                 less = keys > 1 ? keys - 1 : keys;
  if (job->bug == WRONG_tail_last_key)
    return s->Skv % WRONG_TILE != 0 && keys == s->Skv && keys > 1 ? keys - 1 : keys;
  if (job->bug == WRONG_tail_tile && s->Skv > WRONG_TILE) {
    const uint32_t whole = s->Skv / WRONG_TILE * WRONG_TILE;
    return keys < whole ? keys : whole;
  }
  if (job->bug == WRONG_tail_single) return s->Skv % WRONG_TILE == 1 && keys == s->Skv ? less : keys;
  if (!attn_is_causal(s)) return keys;
  switch (job->bug) {
    case WRONG_mask_one_more: return more;
    case WRONG_mask_one_less: return less;
    case WRONG_mask_top_left: return row + 1 < s->Skv ? row + 1 : s->Skv;
    case WRONG_mask_offset_sign: return attn_mask_clamp((int64_t)row + 1 + (int64_t)s->Sq - (int64_t)s->Skv, s->Skv);
    case WRONG_mask_tile_row: return row % 64 == 63 ? more : keys;
    case WRONG_mask_tile_key: return keys % WRONG_TILE == 1 ? less : keys;
    default: return keys;
  }
}

/* The keys that a row sees through a window, by a mask and a row that may be others than its own. */
static inline ATTN_HD struct attn_keys wrong_window(const struct wrong_job *job, uint32_t row) {
  const struct attn_problem *s = &job->shape;
  struct attn_mask mask = attn_mask_of(s);
  const uint32_t last_of_tile = row / 64 * 64 + 63 < s->Sq ? row / 64 * 64 + 63 : s->Sq - 1;
  if (job->bug == WRONG_window_left_ignored) mask.left = -1;
  if (job->bug == WRONG_window_right_ignored) mask.right = -1;
  if (job->bug == WRONG_window_swapped) mask.left = s->right, mask.right = s->left;
  if (job->bug == WRONG_window_top_left) mask.Skv = mask.Sq;
  struct attn_keys keys = attn_mask_row(&mask, row);
  if (job->bug == WRONG_window_top_left && keys.end > s->Skv) keys.end = s->Skv;
  if (job->bug == WRONG_window_tile_rows) keys.first = attn_mask_row(&mask, last_of_tile).first;
  if (job->bug == WRONG_window_left_tile) keys.first -= keys.first % WRONG_TILE;
  if (job->bug == WRONG_window_left_more && keys.first > 0) --keys.first;
  if (job->bug == WRONG_window_left_less && keys.end - keys.first > 1) ++keys.first;
  if (job->bug == WRONG_window_right_more && keys.end < s->Skv) ++keys.end;
  if (job->bug == WRONG_window_right_less && keys.end - keys.first > 1) --keys.end;
  if (keys.first > keys.end) keys.first = keys.end;
  return keys;
}

/* Where a bug takes the keys and values of a row to begin, and its output to be. */
static inline ATTN_HD void wrong_offsets(const struct wrong_job *job, const struct attn_problem *all, uint32_t kv,
                                         struct wrong_row *r) {
  const struct attn_sequence *own = &r->sequence, before = attn_sequence_of(all, own->b - (own->b > 0));
  const uint64_t first = kv * attn_tokens(all, ATTN_ROWS_KEYS), h = r->head % all->Hq;
  if (!attn_is_ragged(all)) return;
  if (job->bug == WRONG_ragged_first_keys) r->k_row = first;
  if (job->bug == WRONG_ragged_q_offset) r->k_row = r->v_row = first + own->q_first;
  if (job->bug == WRONG_ragged_v_offset) r->v_row = first + before.k_first;
  if (job->bug == WRONG_ragged_behind_empty && before.Sq == 0) r->k_row = r->v_row = first + before.k_first;
  if (job->bug == WRONG_ragged_padded_o)
    r->o_row = h * attn_tokens(all, ATTN_ROWS_QUERIES) + (uint64_t)own->b * all->Sq + r->row;
}

/* The keys of a sequence, as a bug counts them by its pages. */
static inline ATTN_HD void wrong_paged_length(enum wrong_bug bug, const struct attn_problem *all, uint32_t Skv,
                                              struct attn_problem *out) {
  const uint32_t tail = Skv % all->page;
  if (bug == WRONG_page_tail_seen && tail > 0) out->Skv = Skv + all->page - tail;
  if (bug == WRONG_page_tail_lost) out->Skv = Skv - tail;
  if (bug == WRONG_page_last_full && tail == 0 && Skv > 0) out->Skv = Skv - all->page;
  if (bug == WRONG_page_exactly_one && Skv == all->page) out->Skv = 0;
  if (bug == WRONG_page_none && Skv == 0) out->Skv = 1;
}

/* The sequence's row of the page table, as a bug finds it. */
static inline ATTN_HD const int32_t *wrong_pages(const struct wrong_job *job, const struct attn_problem *all,
                                                 const struct attn_sequence *own) {
  uint32_t b = own->b, entries = job->entries;
  if (!attn_is_paged(all)) return NULL;
  if (job->bug == WRONG_page_first_table) b = 0;
  if (job->bug == WRONG_page_next_table && b + 1 < all->B) ++b;
  if (job->bug == WRONG_page_dense_table) entries = attn_pages_for(own->Skv, all->page);
  return job->buffers.page_table + (uint64_t)b * entries;
}

/* The lengths of a row's sequence, as the bug takes them to be. */
static inline ATTN_HD void wrong_lengths(enum wrong_bug bug, const struct attn_problem *all,
                                         const struct attn_sequence *own, struct attn_problem *out) {
  out->Sq = own->Sq;
  out->Skv = own->Skv;
  if (attn_is_paged(all)) wrong_paged_length(bug, all, own->Skv, out);
  if (!attn_is_ragged(all)) return;
  if (bug == WRONG_ragged_padded) out->Skv = all->Skv;
  if (bug == WRONG_ragged_next_key) out->Skv = own->Skv + 1;
  if (bug == WRONG_ragged_last_key && own->Skv > 0) out->Skv = own->Skv - 1;
  if (bug == WRONG_ragged_square) out->Skv = own->Sq;
  if (bug == WRONG_ragged_one_key && own->Skv == 1) out->Skv = 0;
}

/* The keys of a row of a ragged batch whose mask is aligned wrongly. */
static inline ATTN_HD struct attn_keys wrong_aligned(const struct wrong_job *job, const struct attn_problem *all,
                                                     const struct wrong_row *r) {
  const struct attn_sequence *own = &r->sequence;
  struct attn_mask mask = attn_mask_of_sequence(all, own);
  uint32_t row = r->row, shift = 0;
  if (job->bug == WRONG_ragged_mask_longest) mask.Sq = all->Sq, mask.Skv = all->Skv;
  if (job->bug == WRONG_ragged_mask_top_left) mask.Skv = mask.Sq;
  if (job->bug == WRONG_ragged_mask_packed) {
    mask.Sq = (uint32_t)attn_tokens(all, ATTN_ROWS_QUERIES), mask.Skv = (uint32_t)attn_tokens(all, ATTN_ROWS_KEYS);
    row += own->q_first, shift = own->k_first;
  }
  struct attn_keys keys = attn_mask_row(&mask, row);
  keys.first = keys.first > shift ? keys.first - shift : 0;
  keys.end = keys.end > shift ? keys.end - shift : 0;
  if (keys.end > own->Skv) keys.end = own->Skv;
  if (keys.first > keys.end) keys.first = keys.end;
  return keys;
}

/* `all` is the problem, the job's has the lengths of the row's own sequence. */
static inline ATTN_HD struct wrong_row wrong_row_of(const struct wrong_job *job, const struct attn_problem *all,
                                                    uint64_t index) {
  const struct attn_problem *s = &job->shape;
  const struct attn_place place = attn_place_of(all, ATTN_ROWS_QUERIES, index);
  const struct attn_sequence *own = &place.sequence;
  const uint64_t batch = own->b, h = place.h, head = batch * s->Hq + h, group = s->Hq / s->Hkv;
  const uint32_t row = place.token;
  const uint64_t kv = job->bug == WRONG_head_group ? h % s->Hkv : h / group, kv_head = batch * s->Hkv + kv;
  const uint64_t heads = (uint64_t)s->B * s->Hq;
  const bool has_window = s->left >= 0 || s->right > 0;
  const struct attn_keys window = wrong_window(job, row);
  struct wrong_row r = {.q_row = index,
                        .o_row = index,
                        .k_row = attn_key_row(all, own, (uint32_t)kv, 0),
                        .v_row = attn_key_row(all, own, (uint32_t)kv, 0),
                        .row = row,
                        .first = has_window ? window.first : 0,
                        .keys = has_window ? window.end : wrong_keys(job, row),
                        .head = head,
                        .sequence = *own,
                        .pages = wrong_pages(job, all, own),
                        .kv_h = (uint32_t)kv,
                        .split = WRONG_TILE};
  if (job->bug == WRONG_tail_row && s->Sq % 2 == 1 && row + 1 == s->Sq && row > 0) r.q_row = index - 1;
  if (job->bug == WRONG_head_swap && head < 2 && heads > 1) r.o_row = (1 - head) * s->Sq + row;
  if (job->bug == WRONG_head_last_v && head + 1 == heads && kv_head > 0) r.v_row = (kv_head - 1) * s->Skv;
  if (job->bug == WRONG_batch_k) r.k_row = kv * s->Skv;
  if (job->bug == WRONG_batch_v) r.v_row = kv * s->Skv;
  wrong_offsets(job, all, (uint32_t)kv, &r);
  return r;
}

/* In base 2. */
static inline ATTN_HD float wrong_scale(const struct wrong_job *job, const struct wrong_row *r) {
  const float D = (float)job->shape.D, log2e = 1.44269504f;
  switch (job->bug) {
    case WRONG_scale_none: return log2e;
    case WRONG_scale_dimension: return log2e / sqrtf(D + 1);
    case WRONG_scale_base: return 1 / sqrtf(D);
    case WRONG_v_in_k_scale:
    case WRONG_dv_scale: return log2e / sqrtf((float)job->shape.Dv);
    case WRONG_row_rare: return log2e / sqrtf(r->q_row % 4096 == 1234 ? D * 1.1f : D);
    default: return log2e / sqrtf(D);
  }
}

/* Of a product q.k and the softmax scale, both in base 2. */
static inline ATTN_HD float wrong_capped(const struct wrong_job *job, float dot, float scale) {
  const float log2e = 1.44269504f, score = dot * scale / log2e;
  float cap = job->shape.softcap;
  if (cap == 0) return dot * scale;
  switch (job->bug) {
    case WRONG_softcap_ignored: return dot * scale;
    case WRONG_softcap_before_scale: return cap * tanhf(dot / cap) * scale;
    case WRONG_softcap_not_multiplied: return tanhf(score / cap) * log2e;
    case WRONG_softcap_twice: return cap * tanhf(tanhf(score / cap)) * log2e;
    case WRONG_softcap_clamped: return fminf(fmaxf(score, -cap), cap) * log2e;
    case WRONG_softcap_base2: return cap * tanhf(dot * scale / cap);
    case WRONG_softcap_rational: return score / (1 + fabsf(score) / cap) * log2e;
    case WRONG_softcap_rounded: cap = exp2f(roundf(log2f(cap))); break;
    default: break;
  }
  return cap * tanhf(score / cap) * log2e;
}

/* What the numbers of Q, K or V are multiplied by, K and V at a key. */
static inline ATTN_HD float wrong_scale_of(const struct wrong_job *job, const struct wrong_row *r,
                                           enum attn_role role, uint32_t key) {
  const struct attn_problem *all = &job->all;
  const uint32_t kv_h = (uint32_t)(r->head % all->Hq) / (all->Hq / all->Hkv), next = (kv_h + 1) % all->Hkv;
  const enum wrong_bug bug = job->bug;
  const bool is_next = (bug == WRONG_e4m3_q_scale_head && role == ATTN_Q) ||
                       (bug == WRONG_e4m3_k_scale_head && role == ATTN_K) ||
                       (bug == WRONG_e4m3_v_scale_head && role == ATTN_V);
  const bool is_first =
      (bug == WRONG_e4m3_k_scale_block && role == ATTN_K) || (bug == WRONG_e4m3_v_scale_block && role == ATTN_V);
  struct attn_place place = {r->sequence, is_next ? next : kv_h, is_first ? 0 : key, false};
  if (!attn_is_scaled(all, role) || (bug == WRONG_e4m3_q_scale_ignored && role == ATTN_Q)) return 1;
  if (bug == WRONG_e4m3_scale_batch) place.sequence.b = 0;
  if (bug == WRONG_e4m3_block_edge && place.token > 0) --place.token;
  if (role == ATTN_Q) place.h *= all->Hq / all->Hkv;
  const float scale = ((const float *)job->buffers.tensor[attn_scale_role(role)])[attn_scale_row(all, role, &place)];
  return bug == WRONG_e4m3_k_scale_twice && role == ATTN_K ? scale * scale : scale;
}

/* A number of Q, K or V. */
static inline ATTN_HD float wrong_number(const struct wrong_job *job, enum attn_role role, uint64_t element) {
  const float x = wrong_load(job->buffers.tensor[role], job->shape.dtype, element);
  if (job->shape.dtype != ATTN_E4M3) return x;
  if (job->bug == WRONG_e4m3_nan && x != x) return 480;
  if (job->bug == WRONG_e4m3_subnormal && fabsf(x) < 0x1p-6f) return 0;
  return x;
}

static inline ATTN_HD float wrong_score(const struct wrong_job *job, const struct wrong_row *r, uint32_t key) {
  const struct attn_problem *s = &job->shape;
  const bool is_short = (job->bug == WRONG_dv_dot || job->bug == WRONG_v_in_k_dot) && s->Dv < s->D;
  const uint32_t D = job->bug == WRONG_tail_dimension ? s->D - 1 : is_short ? s->Dv : s->D;
  const float scale = wrong_scale(job, r);
  const enum wrong_bug bug = job->bug;
  float dot = 0;
  if (bug == WRONG_tile_k_stale && key == 2 * WRONG_TILE - 1) key -= WRONG_TILE;
  for (uint32_t d = 0; d < D; ++d) {
    float q = wrong_number(job, ATTN_Q, wrong_element(job, ATTN_Q, r->q_row, d));
    float k = wrong_number(job, ATTN_K, wrong_key_element(job, r, ATTN_K, key, d));
    if (bug == WRONG_scale_rounded) q = wrong_round16(s->dtype, q * scale);
    if (bug == WRONG_products_tf32) q = wrong_bits(q, 9), k = wrong_bits(k, 9);
    dot += q * k;
  }
  if (s->dtype == ATTN_E4M3) dot *= wrong_scale_of(job, r, ATTN_Q, r->row) * wrong_scale_of(job, r, ATTN_K, key);
  float score = bug == WRONG_scale_rounded ? dot : wrong_capped(job, dot, scale);
  if (bug == WRONG_softmax_scores16) score = wrong_round16(s->dtype, score);
  if (bug == WRONG_softmax_clamped) score = fminf(fmaxf(score, -28.85f), 28.85f);
  return score;
}

static inline ATTN_HD float wrong_exp(const struct wrong_job *job, float x) {
  const float p = exp2f(x);
  if (job->bug == WRONG_softmax_exp) return p * (1 + 0.02f * sinf(9 * x));
  if (job->bug == WRONG_softmax_exp_low) return x < -10 ? 0 : p;
  if (job->bug == WRONG_p8) return wrong_bits(p, 4);
  if (job->shape.dtype != ATTN_E4M3) return wrong_round(job->shape.dtype, p);
  const float factor = job->bug == WRONG_e4m3_p_unscaled ? 1 : job->bug == WRONG_e4m3_p_saturated ? 512 : 256;
  return wrong_round(ATTN_E4M3, p * factor) / factor;
}

static inline ATTN_HD float wrong_value(const struct wrong_job *job, const struct wrong_row *r, uint32_t key,
                                        uint32_t d) {
  const struct attn_problem *s = &job->shape;
  if (job->bug == WRONG_tile_v_stale && key / WRONG_TILE % 5 == 4) key -= WRONG_TILE;
  if (job->bug == WRONG_dv_columns && d >= s->D) return 0;
  if (job->bug == WRONG_dv_last && d + 1 == s->Dv) return 0;
  const bool is_permuted = job->bug == WRONG_e4m3_v_permuted && (key ^ 8u) < job->shape.Skv;
  const float scale = wrong_scale_of(job, r, ATTN_V, key);
  if (is_permuted) key ^= 8u;
  float v = wrong_number(job, ATTN_V, wrong_key_element(job, r, ATTN_V, key, d)) * scale;
  if (job->bug == WRONG_e4m3_v_requantised) v = wrong_round(ATTN_E4M3, v);
  if (job->bug == WRONG_v_tiny && fabsf(v) < 0x1p-14f) return 0;
  if (job->bug == WRONG_v_clamped) return fminf(fmaxf(v, -256.0f), 256.0f);
  return v;
}

/* The new maximum, and with it the factor for what was summed so far. */
static inline ATTN_HD float wrong_rescale(const struct wrong_job *job, struct wrong_state *state, float largest,
                                          bool first) {
  const float old = state->maximum;
  const enum wrong_bug bug = job->bug;
  if (bug != WRONG_softmax_first_max || first) state->maximum = fmaxf(old, largest);
  if (bug == WRONG_softmax_no_max) state->maximum = 0;
  if (bug == WRONG_softmax_capped) state->maximum = fminf(state->maximum, 11.54f);
  return exp2f(old - state->maximum);
}

static inline ATTN_HD void wrong_add_key(const struct wrong_job *job, const struct wrong_row *r, uint32_t key,
                                         float score, struct wrong_state *state) {
  const enum attn_dtype dtype = job->shape.dtype;
  const float x = score - state->maximum, p = wrong_exp(job, x);
  state->sum += job->bug == WRONG_p8 ? p : exp2f(x);
  if (job->bug == WRONG_softmax_sum16) state->sum = wrong_round16(dtype, state->sum);
  const bool is_tail = job->shape.Skv % WRONG_TILE != 0 && key + 1 == job->shape.Skv;
  const bool is_rounded = job->bug == WRONG_lse_rounded || job->bug == WRONG_e4m3_lse_rounded;
  if (!(job->bug == WRONG_lse_tail_key && is_tail)) state->lse_sum += is_rounded ? p : exp2f(x);
  for (uint32_t d = 0; d < job->shape.Dv; ++d) {
    state->out[d] += p * wrong_value(job, r, key, d);
    if (job->bug == WRONG_accumulate16) state->out[d] = wrong_round16(dtype, state->out[d]);
  }
}

/* Is a key in the row's list, as the bug reads it? */
static inline ATTN_HD bool wrong_is_listed(const struct wrong_job *job, const struct wrong_row *r, uint32_t key) {
  const struct attn_lists *l = &job->lists;
  const enum wrong_bug bug = job->bug;
  if (l->counts == NULL || bug == WRONG_sparse_ignored) return true;
  const uint32_t Hq = job->shape.Hq, group = Hq / job->shape.Hkv, h = (uint32_t)(r->head % Hq);
  const uint32_t is_last_row = bug == WRONG_sparse_rows && (r->row + 1) / l->block < l->q_blocks;
  const uint32_t q_block = (r->row + is_last_row) / l->block, size = bug == WRONG_sparse_size ? 16 : l->block;
  const uint32_t head = bug == WRONG_sparse_first_head ? 0 : bug == WRONG_sparse_indices_kv ? h / group : h;
  const uint32_t of_count = bug == WRONG_sparse_counts_head  ? (h + 1) % Hq
                            : bug == WRONG_sparse_indices_kv ? h
                                                             : head;
  const uint32_t row_of_count = bug == WRONG_sparse_counts_row && q_block > 0 ? q_block - 1 : q_block;
  const uint64_t b = bug == WRONG_sparse_first_batch ? 0 : r->sequence.b;
  const uint64_t list = (b * Hq + head) * l->q_blocks + q_block, lists = (uint64_t)job->shape.B * Hq * l->q_blocks;
  const uint32_t key_blocks = (job->shape.Skv + l->block - 1) / l->block;
  const uint64_t first = list * (bug == WRONG_sparse_pitch ? key_blocks : l->most), end = lists * l->most;
  const int64_t position = (int64_t)(q_block + 1) * l->block - 1 + job->shape.Skv - job->shape.Sq;
  const int64_t diagonal = (position < job->shape.Skv ? position : (int64_t)job->shape.Skv - 1) / l->block;
  uint32_t count = (uint32_t)l->counts[(b * Hq + of_count) * l->q_blocks + row_of_count];
  if (bug == WRONG_sparse_last && count > 0) --count;
  if (bug == WRONG_sparse_odd) count -= count % 2;
  if (bug == WRONG_sparse_many && count > 4) count = 4;
  if (bug == WRONG_sparse_beyond && count < l->most) ++count;
  if (bug == WRONG_sparse_half && key % l->block == l->block - 1) return false;
  if (bug == WRONG_sparse_tail && key_blocks * l->block != job->shape.Skv && key / l->block + 1 == key_blocks)
    return false;
  for (uint32_t i = bug == WRONG_sparse_first; i < count; ++i) {
    int32_t block = first + i < end ? l->indices[first + i] : -1;
    if (bug == WRONG_sparse_diagonal && block == diagonal) continue;
    if (bug == WRONG_sparse_next_block) ++block;
    if (bug == WRONG_sparse_block_before && block > 0) --block;
    if (bug == WRONG_sparse_beyond && block < 0) block = 0;
    if (key / size == (uint32_t)block) return true;
  }
  return false;
}

/* Keys of one tile that the row does not see, as a kernel that works on whole tiles meets them. */
static inline ATTN_HD void wrong_hidden_keys(const struct wrong_job *job, const struct wrong_row *r, uint32_t end,
                                             struct wrong_state *state) {
  const struct attn_problem *s = &job->shape;
  const uint32_t tile_end = (end - 1) / WRONG_TILE * WRONG_TILE + WRONG_TILE;
  for (uint32_t key = end; key < tile_end; ++key) {
    if (job->bug == WRONG_mask_added && key < s->Skv) state->sum += exp2f(wrong_score(job, r, key) - 1e30f);
    if (job->bug == WRONG_softcap_after_mask && key < s->Skv)
      wrong_add_key(job, r, key, -1.44269504f * s->softcap, state);
    if (job->bug == WRONG_tail_zero_keys && key >= s->Skv) state->sum += exp2f(-state->maximum);
    if (job->bug == WRONG_page_tail && r->pages != NULL && key >= s->Skv && key % s->page != 0) {
      for (uint32_t d = 0; d < s->Dv; ++d) state->out[d] += 0 * wrong_value(job, r, key, d);
    }
    if (job->bug == WRONG_tail_beyond && key == s->Skv) {
      for (uint32_t d = 0; d < s->Dv; ++d)
        state->out[d] += 0 * wrong_load(job->buffers.v, s->dtype, (r->v_row + key) * s->Dv + d);
    }
  }
}

static inline ATTN_HD void wrong_tile(const struct wrong_job *job, const struct wrong_row *r, uint32_t first,
                                      uint32_t end, bool is_first, struct wrong_state *state) {
  float score[WRONG_TILE + 1], largest = -INFINITY;
  for (uint32_t key = first; key < end; ++key) {
    score[key - first] = wrong_is_listed(job, r, key) ? wrong_score(job, r, key) : -INFINITY;
    largest = fmaxf(largest, score[key - first]);
  }
  const enum wrong_bug bug = job->bug;
  const float old = state->maximum, factor = wrong_rescale(job, state, largest, is_first);
  float of_out = factor;
  if (bug == WRONG_out_skips_rescale && state->maximum - old < 1) of_out = 1;
  if (bug == WRONG_out_rescaled_twice) of_out = factor * factor;
  if (!(bug == WRONG_sum_skips_rescale && state->sum > 0)) state->sum *= factor;
  state->lse_sum *= factor;
  for (uint32_t d = 0; d < job->shape.Dv; ++d) state->out[d] *= of_out;
  for (uint32_t key = first; key < end; ++key) wrong_add_key(job, r, key, score[key - first], state);
}

/* The logit of a row's head, in base 2. */
static inline ATTN_HD float wrong_sink_of(const struct wrong_job *job, const struct wrong_row *r) {
  const uint64_t Hq = job->shape.Hq, h = r->head % Hq;
  const float log2e = 1.44269504f, *sink = job->buffers.sink;
  switch (job->bug) {
    case WRONG_sink_first_head: return sink[0] * log2e;
    case WRONG_sink_kv_head: return sink[h / (Hq / job->shape.Hkv)] * log2e;
    case WRONG_sink_next_head: return sink[(h + 1) % Hq] * log2e;
    case WRONG_sink_scaled: return sink[h] * log2e / sqrtf((float)job->shape.D);
    case WRONG_sink_base2: return sink[h];
    case WRONG_sink_rounded: return wrong_bits(sink[h], 8) * log2e;
    default: return sink[h] * log2e;
  }
}

/* Takes the sink in before the first key. */
static inline ATTN_HD void wrong_start(const struct wrong_job *job, const struct wrong_row *r, bool is_first,
                                       struct wrong_state *state) {
  const enum wrong_bug bug = job->bug;
  if (job->buffers.sink == NULL || bug == WRONG_sink_ignored || bug == WRONG_sink_late) return;
  if (!is_first && bug != WRONG_sink_each_split) return;
  const float sink = wrong_sink_of(job, r);
  if (bug != WRONG_sink_unshifted) state->maximum = sink;
  if (bug != WRONG_sink_max_only && bug != WRONG_sink_unshifted) state->sum = state->lse_sum = 1;
  if (bug == WRONG_sink_no_lse) state->lse_sum = 0;
  for (uint32_t d = 0; d < job->shape.Dv && bug == WRONG_sink_as_key; ++d) state->out[d] = wrong_value(job, r, 0, d);
}

/* Takes it in behind the last one. */
static inline ATTN_HD void wrong_finish(const struct wrong_job *job, const struct wrong_row *r,
                                        struct wrong_state *state) {
  const enum wrong_bug bug = job->bug;
  if (job->buffers.sink == NULL || (bug != WRONG_sink_late && bug != WRONG_sink_unshifted)) return;
  const float sink = wrong_sink_of(job, r), term = exp2f(bug == WRONG_sink_late ? sink - state->maximum : sink);
  state->sum += term;
  state->lse_sum += term;
}

/* The keys from `first` to `end` of one split. */
static inline ATTN_HD void wrong_split(const struct wrong_job *job, const struct wrong_row *r, uint32_t first,
                                       uint32_t end, bool is_first, struct wrong_state *state) {
  const enum wrong_bug bug = job->bug;
  memset(state, 0, sizeof *state);
  state->maximum = bug == WRONG_softmax_positive ? 0 : bug == WRONG_softmax_lowest ? -50 : -3e38f;
  if (bug == WRONG_softmax_no_max) state->maximum = 0;
  wrong_start(job, r, is_first, state);
  for (uint32_t key = first; key < end; key += WRONG_TILE) {
    const uint32_t tile_end = key + WRONG_TILE < end ? key + WRONG_TILE : end;
    if (bug == WRONG_tile_first && key == 0 && r->keys > WRONG_TILE) continue;
    wrong_tile(job, r, key, tile_end, key == first, state);
  }
}

/* Adds a split's result to that of those before it. */
static inline ATTN_HD void wrong_merge(const struct wrong_job *job, struct wrong_state *into,
                                       const struct wrong_state *from) {
  const float maximum = fmaxf(into->maximum, from->maximum);
  float old = exp2f(into->maximum - maximum), more = exp2f(from->maximum - maximum);
  if (job->bug == WRONG_split_no_rescale) old = more = 1;
  if (job->bug == WRONG_split_low && from->maximum < into->maximum - 20 * 1.44269504f / sqrtf((float)job->shape.D))
    more = 0;
  if (job->bug == WRONG_split_mean && from->sum > 0 && into->sum > 0) {
    old = 1;
    more = into->sum / from->sum;
  }
  for (uint32_t d = 0; d < job->shape.Dv; ++d) into->out[d] = into->out[d] * old + from->out[d] * more;
  into->sum = into->sum * old + from->sum * more;
  into->lse_sum = job->bug == WRONG_lse_split ? into->lse_sum * old : into->lse_sum * old + from->lse_sum * more;
  into->maximum = maximum;
}

static inline ATTN_HD bool wrong_is_zero(const struct wrong_job *job, const struct wrong_row *r) {
  const struct attn_problem *s = &job->shape;
  float largest = 0;
  for (uint32_t d = 0; d < s->D; ++d)
    largest = fmaxf(largest, fabsf(wrong_load(job->buffers.q, s->dtype, wrong_element(job, ATTN_Q, r->q_row, d))));
  return largest == 0;
}

static inline ATTN_HD void wrong_write(const struct wrong_job *job, const struct wrong_row *r,
                                       struct wrong_state *state) {
  const struct attn_problem *s = &job->shape;
  const enum wrong_bug bug = job->bug;
  const bool is_nan = bug == WRONG_out_nan || (bug == WRONG_ragged_no_keys_nan && r->sequence.Skv == 0) ||
                      (bug == WRONG_sparse_empty_nan && job->lists.counts != NULL);
  float inverse = state->sum > 0 || is_nan || state->sum != state->sum ? 1 / state->sum : 0;
  if (bug == WRONG_out_not_divided && r->row >= 64) inverse = 1;
  if (bug == WRONG_q_zero && wrong_is_zero(job, r)) inverse = 0;
  if (bug == WRONG_v_bias) {
    for (uint32_t d = 0; d < s->Dv; ++d) state->out[d] -= 1e-3f * state->sum * wrong_value(job, r, 0, d);
  }
  for (uint32_t d = 0; d < s->Dv; ++d) {
    float o = state->out[d] * inverse;
    if (bug == WRONG_tail_column && d + 1 == s->Dv && d > 0) o = state->out[d - 1] * inverse;
    if (bug == WRONG_out_bits && s->dtype != ATTN_F32) o = wrong_bits(o, 7);
    if (bug == WRONG_out_abs && fabsf(o) < 1e-3f) o = fabsf(o);
    if (bug == WRONG_out_column && d == 5 && r->head == 1 && r->row % 2 == 0) o = state->out[6 % s->Dv] * inverse;
    const uint64_t element = wrong_element(job, ATTN_O, r->o_row, d);
    const float old = bug == WRONG_adds_old ? wrong_load(job->buffers.o, attn_out_dtype(s), element) : o;
    if (bug == WRONG_adds_old && fabsf(old) < 1e30f) o = (o + old) / 2;
    if (d < job->view[ATTN_O].token_stride) wrong_store(job->buffers.o, attn_out_dtype(s), element, o);
  }
}

static inline ATTN_HD void wrong_write_lse(const struct wrong_job *job, const struct wrong_row *r,
                                           const struct wrong_state *state) {
  const struct attn_problem *s = &job->shape;
  const uint64_t rows = wrong_rows(job), batch = r->head / s->Hq, h = r->head % s->Hq;
  const float ln2 = 0.693147181f;
  uint64_t place = r->o_row;
  float maximum = state->maximum;
  if (job->buffers.lse == NULL || (job->bug == WRONG_lse_unwritten && r->row + 1 == s->Sq)) return;
  if (job->bug == WRONG_lse_no_max) maximum = 0;
  if (job->bug == WRONG_lse_unscaled) maximum *= sqrtf((float)s->D);
  if (job->bug == WRONG_lse_heads || (job->bug == WRONG_layout_lse && s->layout != ATTN_BHSD))
    place = (batch * s->Sq + r->row) * s->Hq + h;
  if (job->bug == WRONG_ragged_padded_lse && attn_is_ragged(s)) place = (batch * s->Hq + h) * job->longest + r->row;
  if (job->bug == WRONG_ragged_tokens_lse && attn_is_ragged(s))
    place = (uint64_t)(r->sequence.q_first + r->row) * s->Hq + h;
  if (place >= rows) return;
  float lse = maximum + log2f(state->lse_sum);
  if (job->bug != WRONG_lse_base2) lse *= ln2;
  if (job->bug == WRONG_lse_empty && r->keys == 0) lse = 0;
  if (job->bug == WRONG_sparse_empty_lse && job->lists.counts != NULL && state->lse_sum == 0) lse = 0;
  if (job->bug == WRONG_sink_empty && r->keys == r->first) lse = -INFINITY;
  job->buffers.lse[place] = lse;
  if (job->bug == WRONG_lse_beyond && place + 1 == rows) job->buffers.lse[rows] = lse;
}

static inline ATTN_HD bool wrong_leaves_out(enum wrong_bug bug, const struct attn_problem *all,
                                            const struct attn_sequence *own) {
  if (!attn_is_ragged(all)) return false;
  return (bug == WRONG_ragged_last && own->b + 1 == all->B) || (bug == WRONG_ragged_few && own->Sq < 16) ||
         (bug == WRONG_ragged_no_keys_left && own->Skv == 0);
}

/* A row, by its number. */
static inline ATTN_HD void wrong_attention(const struct wrong_job *all, uint64_t index) {
  const enum wrong_bug bug = all->bug;
  struct wrong_job own = *all;
  const struct wrong_job *job = &own;
  const struct attn_sequence sequence = attn_place_of(&all->shape, ATTN_ROWS_QUERIES, index).sequence;
  wrong_lengths(bug, &all->shape, &sequence, &own.shape);
  struct wrong_row r = wrong_row_of(job, &all->shape, index);
  if (wrong_leaves_out(bug, &all->shape, &sequence)) return;
  if (bug >= WRONG_ragged_mask_longest && bug <= WRONG_ragged_mask_packed && attn_is_ragged(&all->shape)) {
    const struct attn_keys keys = wrong_aligned(job, &all->shape, &r);
    r.first = keys.first, r.keys = keys.end;
  }
  if (job->lists.counts != NULL && attn_is_causal(&all->shape)) {
    const uint32_t block = job->lists.block, rest = r.keys % block;
    if (bug == WRONG_sparse_unmasked && rest > 0) r.keys += block - rest;
    if (bug == WRONG_sparse_masked && r.keys > rest) r.keys -= rest;
    if (r.keys > own.shape.Skv) r.keys = own.shape.Skv;
  }
  const uint32_t tiles = job->shape.Skv > 0 ? (job->shape.Skv - 1) / WRONG_TILE + 1 : 1;
  const uint32_t length = ((tiles - 1) / WRONG_SPLITS + 1) * WRONG_TILE,
                 skipped = bug == WRONG_head_high && r.head >= 128;
  r.split = length;
  struct wrong_state whole, part;
  const uint32_t start = r.first > skipped ? r.first : skipped;
  wrong_split(job, &r, start, r.keys < length ? r.keys : length, true, &whole);
  for (uint32_t split = 1; split < WRONG_SPLITS; ++split) {
    uint32_t first = split * length, end = first + length < r.keys ? first + length : r.keys;
    if (bug == WRONG_split_last && split == WRONG_SPLITS - 1) continue;
    if (bug == WRONG_split_count && tiles < WRONG_SPLITS && split == WRONG_SPLITS - 1) first = (tiles - 1) * length;
    if (bug == WRONG_split_first_key) ++first;
    if (bug == WRONG_split_overlap && split < WRONG_SPLITS && first > 0) --first;
    if (first < r.first) first = r.first;
    if (first >= end) continue;
    wrong_split(job, &r, first, end, false, &part);
    wrong_merge(job, &whole, &part);
  }
  if (bug == WRONG_prefix_twice && job->shape.prefix > 0) {
    wrong_split(job, &r, r.first, r.keys < job->shape.prefix ? r.keys : job->shape.prefix, false, &part);
    wrong_merge(job, &whole, &part);
  }
  if (r.keys > 0) wrong_hidden_keys(job, &r, r.keys, &whole);
  wrong_finish(job, &r, &whole);
  wrong_write(job, &r, &whole);
  wrong_write_lse(job, &r, &whole);
}

/* Writes to inputs; behind the rows. */
static inline ATTN_HD void wrong_misuse(const struct wrong_job *job) {
  const struct attn_problem *s = &job->shape;
  void *k = (void *)(uintptr_t)job->buffers.k;
  if (job->bug == WRONG_writes_beyond) wrong_store(job->buffers.o, attn_out_dtype(s), wrong_rows(job) * s->Dv, 1.0f);
  if (job->bug == WRONG_changes_k) wrong_store(k, attn_kv_dtype(s), 3, 0.5f);
  if (!attn_is_paged(s)) return;
  const struct attn_pages pages = attn_pages_of(s);
  const uint64_t page = job->view[ATTN_K].batch_stride, shared = pages.shared - (pages.shared > 0);
  const int32_t *table = job->buffers.page_table;
  if (job->bug == WRONG_page_unused)
    wrong_store(k, attn_kv_dtype(s), attn_page_placed(&pages, pages.used) * page, 1.0f);
  if (job->bug == WRONG_page_behind && s->Skv % s->page != 0)
    wrong_store(k, attn_kv_dtype(s), attn_view_key(&job->view[ATTN_K], table, 0, 0, s->Skv), 1.0f);
  if (job->bug == WRONG_page_table_changed) ((int32_t *)(uintptr_t)table)[0] ^= 1;
  if (job->bug == WRONG_prefix_written && pages.shared > 0)
    wrong_store(k, attn_kv_dtype(s), (uint64_t)table[shared] * page, 1.0f);
}

/* The query row that a launch of `races` gets wrong; the number of rows for none. */
static inline ATTN_HD uint64_t wrong_raced_row(const struct attn_problem *s, uint64_t launches) {
  const uint64_t random = input_mix(launches), rows = (uint64_t)s->B * s->Hq * s->Sq;
  return random % 50 == 0 ? (random >> 32) % rows : rows;
}

#endif
