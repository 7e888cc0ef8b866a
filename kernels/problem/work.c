/* Counts operations and bytes. */
#include "kernels/problem/work.h"

/* The sum of a count over all sequences. */
static uint64_t over_sequences(const struct attn_problem *p, uint64_t (*count)(const struct attn_mask *)) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    const struct attn_mask mask = {.Sq = group.Sq, .Skv = group.Skv, .left = p->left, .right = p->right};
    sum += group.count * count(&mask);
  }
  return sum;
}

static uint64_t all_pairs(const struct attn_mask *mask) { return (uint64_t)mask->Sq * mask->Skv; }

static uint64_t seen_keys(const struct attn_mask *mask) {
  return mask->Sq > 0 ? attn_keys_count(attn_mask_rows(mask, 0, mask->Sq)) : 0;
}

static uint64_t blind_rows(const struct attn_mask *mask) { return mask->Sq - attn_mask_seeing_rows(mask); }

/* ---- lists of blocks ----------------------------------------------------------------------------------------- */

/* A block of queries of one sequence. */
struct row_block {
  struct attn_mask mask;
  uint32_t row, rows;
};

static struct row_block row_block_of(const struct attn_problem *p, const struct attn_sequence *sequence,
                                     uint32_t q_block) {
  const struct attn_row_tile tile = attn_row_tile_of(p->sparse.block, sequence->Sq, p->sparse.block, q_block);
  return (struct row_block){attn_mask_of_sequence(p, sequence), tile.first, tile.rows};
}

/* Pairs of its rows and the keys of one block that they see. */
static uint64_t pairs_in_block(const struct row_block *rows, uint32_t block, uint32_t key_block) {
  const struct attn_mask *mask = &rows->mask;
  const struct attn_keys first = attn_mask_row(mask, rows->row),
                         last = attn_mask_row(mask, rows->row + rows->rows - 1);
  const struct attn_keys all = attn_keys_in_block((struct attn_keys){0, mask->Skv}, block, key_block);
  uint64_t pairs = 0;
  if (last.first <= all.first && first.end >= all.end) return (uint64_t)rows->rows * attn_keys_count(all);
  for (uint32_t i = 0; i < rows->rows; ++i)
    pairs += attn_keys_count(attn_keys_in_block(attn_mask_row(mask, rows->row + i), block, key_block));
  return pairs;
}

/* The sum over all lists of what `count` counts of one. */
static uint64_t over_lists(const struct attn_problem *p,
                           uint64_t (*count)(const struct attn_problem *, const struct row_block *,
                                             const struct attn_list *)) {
  uint64_t sum = 0;
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence sequence = attn_sequence_of(p, b);
    for (uint32_t q_block = 0; q_block < attn_blocks_in(p, sequence.Sq); ++q_block) {
      const struct row_block rows = row_block_of(p, &sequence, q_block);
      for (uint32_t h = 0; h < p->Hq; ++h) {
        const struct attn_list list = attn_list_of(p, &sequence, h, q_block);
        sum += count(p, &rows, &list);
      }
    }
  }
  return sum;
}

static uint64_t listed_pairs(const struct attn_problem *p, const struct row_block *rows,
                             const struct attn_list *list) {
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < list->count; ++i) pairs += pairs_in_block(rows, p->sparse.block, attn_list_block(list, i));
  return pairs;
}

/* The keys of the longest list of all. */
static uint32_t listed_most(const struct attn_problem *p) {
  uint32_t most = 0;
  const uint64_t lists = (uint64_t)p->B * p->Hq * attn_blocks_in(p, p->Sq);
  for (uint64_t number = 0; number < lists; ++number) {
    const struct attn_list list = attn_list_numbered(p, number);
    const uint64_t keys = (uint64_t)list.count * p->sparse.block;
    if (keys > most) most = keys < p->Skv ? (uint32_t)keys : p->Skv;
  }
  return most;
}

static uint64_t listed_blocks(const struct attn_problem *p, const struct row_block *rows,
                              const struct attn_list *list) {
  (void)p, (void)rows;
  return list->count;
}

/* Rows without a key. Nearly all of them see one of the first block that is looked at. */
static uint64_t listed_blind_rows(const struct attn_problem *p, const struct row_block *rows,
                                  const struct attn_list *list) {
  uint64_t blind = 0;
  for (uint32_t row = 0; row < rows->rows; ++row) {
    const struct attn_keys keys = attn_mask_row(&rows->mask, rows->row + row);
    uint32_t i = 0;
    while (i < list->count &&
           attn_keys_count(attn_keys_in_block(keys, p->sparse.block, attn_list_block(list, i))) == 0)
      ++i;
    blind += i == list->count;
  }
  return blind;
}

enum { KEY_BLOCKS = 1024 }; /* looked at together */

/* Keys of KEY_BLOCKS blocks, from `first` on, that some row of a KV head sees. */
static uint64_t seen_in_blocks(const struct attn_problem *p, const struct attn_sequence *sequence, uint32_t kv_h,
                               uint32_t first) {
  const uint32_t group = p->Hq / p->Hkv;
  uint32_t counted[KEY_BLOCKS] = {0}; /* keys of each block before this one: those that rows see never go back */
  uint64_t seen = 0;
  for (uint32_t q_block = 0; q_block < attn_blocks_in(p, sequence->Sq); ++q_block) {
    const struct row_block rows = row_block_of(p, sequence, q_block);
    const struct attn_keys all = attn_mask_rows(&rows.mask, rows.row, rows.rows);
    for (uint32_t h = kv_h * group; h < (kv_h + 1) * group; ++h) {
      const struct attn_list list = attn_list_of(p, sequence, h, q_block);
      for (uint32_t i = 0; i < list.count; ++i) {
        const uint32_t block = attn_list_block(&list, i);
        if (block < first || block - first >= KEY_BLOCKS) continue;
        struct attn_keys keys = attn_keys_in_block(all, p->sparse.block, block);
        if (keys.first < counted[block - first]) keys.first = counted[block - first];
        if (keys.first >= keys.end) continue;
        seen += attn_keys_count(keys);
        counted[block - first] = keys.end;
      }
    }
  }
  return seen;
}

static uint64_t listed_keys(const struct attn_problem *p) {
  uint64_t seen = 0;
  for (uint32_t b = 0; b < p->B; ++b) {
    const struct attn_sequence sequence = attn_sequence_of(p, b);
    for (uint32_t kv_h = 0; kv_h < p->Hkv; ++kv_h)
      for (uint32_t first = 0; first < attn_blocks_in(p, sequence.Skv); first += KEY_BLOCKS)
        seen += seen_in_blocks(p, &sequence, kv_h, first);
  }
  return seen;
}

/* ---- all problems -------------------------------------------------------------------------------------------- */

uint64_t work_pairs(const struct attn_problem *p) {
  return attn_is_sparse(p) ? over_lists(p, listed_pairs) : p->Hq * over_sequences(p, attn_mask_pairs);
}

uint64_t work_unmasked_pairs(const struct attn_problem *p) { return p->Hq * over_sequences(p, all_pairs); }

double work_flops(const struct attn_problem *p) {
  const double columns = (double)attn_columns(p, ATTN_Q) + attn_columns(p, ATTN_V);
  return 2.0 * columns * (double)work_pairs(p);
}

/* The keys that some row of group i sees. */
static struct attn_keys seen_by_group(const struct attn_problem *p, uint32_t i) {
  const struct attn_group group = attn_group_of(p, i);
  const struct attn_mask mask = {.Sq = group.Sq, .Skv = group.Skv, .left = p->left, .right = p->right};
  return group.Sq > 0 ? attn_mask_rows(&mask, 0, group.Sq) : (struct attn_keys){0, 0};
}

/* The next keys of the prefix, from `key` on, that some sequences see without a gap between them; none: at its end.
 */
static struct attn_keys seen_from(const struct attn_problem *p, uint32_t key) {
  struct attn_keys next = {p->prefix, p->prefix};
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    struct attn_keys seen = seen_by_group(p, i);
    if (seen.first < key) seen.first = key;
    if (seen.end > p->prefix) seen.end = p->prefix;
    if (seen.first >= seen.end || seen.first > next.first) continue;
    next.end = seen.first == next.first && next.end > seen.end ? next.end : seen.end;
    next.first = seen.first;
  }
  return next;
}

/* Keys of the prefix that some sequence sees. */
static uint64_t seen_of_prefix(const struct attn_problem *p) {
  uint64_t count = 0;
  for (uint32_t key = 0; key < p->prefix;) {
    const struct attn_keys next = seen_from(p, key);
    count += attn_keys_count(next);
    key = next.end;
  }
  return count;
}

uint64_t work_seen_keys(const struct attn_problem *p) {
  if (attn_is_sparse(p)) return listed_keys(p);
  if (p->prefix == 0) return p->Hkv * over_sequences(p, seen_keys);
  uint64_t count = seen_of_prefix(p);
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    struct attn_keys own = seen_by_group(p, i);
    if (own.first < p->prefix) own.first = p->prefix;
    if (own.end > own.first) count += (uint64_t)attn_group_of(p, i).count * (own.end - own.first);
  }
  return p->Hkv * count;
}

/* Entries of the page table for the keys that some row sees. */
static uint64_t seen_pages(const struct attn_problem *p) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_keys seen = seen_by_group(p, i);
    if (seen.end > seen.first)
      count += (uint64_t)attn_group_of(p, i).count * (attn_pages_for(seen.end, p->page) - seen.first / p->page);
  }
  return count;
}

static double counted_rows(const struct attn_problem *p, const struct attn_tensor *tensor) {
  switch (attn_role_rows(tensor->role)) {
    case ATTN_ROWS_KEYS: return (double)work_seen_keys(p);
    case ATTN_ROWS_PAGES: return (double)seen_pages(p);
    case ATTN_ROWS_QUERIES:
    case ATTN_ROWS_HEADS:
    case ATTN_ROWS_OFFSETS:
    case ATTN_ROWS_SCALES:
    case ATTN_ROWS_BLOCKS: break;
  }
  return (double)attn_view_rows(&tensor->view);
}

uint32_t work_most_keys(const struct attn_problem *p) {
  const struct attn_mask mask = attn_mask_of(p);
  return attn_is_sparse(p) ? listed_most(p) : attn_mask_most(&mask);
}

static uint64_t blind_query_rows(const struct attn_problem *p) {
  return attn_is_sparse(p) ? over_lists(p, listed_blind_rows) : p->Hq * over_sequences(p, blind_rows);
}

double work_row_bytes(const struct attn_problem *p, enum attn_role role) {
  struct attn_tensor tensor;
  if (!attn_tensor_of(p, role, &tensor) || tensor.is_alias) return 0;
  return (double)tensor.view.columns * attn_dtype_bytes(tensor.dtype);
}

double work_bytes(const struct attn_problem *p) {
  double bytes = 0;
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(p, (enum attn_role)role, &tensor)) continue;
    bytes += tensor.role == ATTN_BLOCK_INDICES ? sizeof(int32_t) * (double)over_lists(p, listed_blocks)
                                               : work_row_bytes(p, tensor.role) * counted_rows(p, &tensor);
  }
  return bytes;
}

double work_least_bytes(const struct attn_problem *p) {
  return work_bytes(p) - work_row_bytes(p, ATTN_Q) * (double)blind_query_rows(p);
}
