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

uint64_t work_pairs(const struct attn_problem *p) { return over_sequences(p, attn_mask_pairs); }

uint64_t work_unmasked_pairs(const struct attn_problem *p) { return over_sequences(p, all_pairs); }

double work_flops(const struct attn_problem *p) {
  const double columns = (double)attn_columns(p, ATTN_Q) + attn_columns(p, ATTN_V);
  return 2.0 * p->Hq * columns * (double)work_pairs(p);
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
  if (p->prefix == 0) return over_sequences(p, seen_keys);
  uint64_t count = seen_of_prefix(p);
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    struct attn_keys own = seen_by_group(p, i);
    if (own.first < p->prefix) own.first = p->prefix;
    if (own.end > own.first) count += (uint64_t)attn_group_of(p, i).count * (own.end - own.first);
  }
  return count;
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
    case ATTN_ROWS_KEYS: return (double)tensor->view.heads * (double)work_seen_keys(p);
    case ATTN_ROWS_PAGES: return (double)seen_pages(p);
    case ATTN_ROWS_QUERIES:
    case ATTN_ROWS_HEADS:
    case ATTN_ROWS_OFFSETS:
    case ATTN_ROWS_SCALES: break;
  }
  return (double)attn_view_rows(&tensor->view);
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
    bytes += work_row_bytes(p, tensor.role) * counted_rows(p, &tensor);
  }
  return bytes;
}

double work_least_bytes(const struct attn_problem *p) {
  return work_bytes(p) - work_row_bytes(p, ATTN_Q) * p->Hq * (double)over_sequences(p, blind_rows);
}
