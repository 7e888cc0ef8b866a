/* Rows of tensors by their numbers: which sequence, head and position a row has. Valid C, C++ and CUDA.
 *
 * Rows of queries and of keys are numbered as in [B][heads][tokens], those of a ragged batch as in [heads][tokens of
 * all sequences], those of a cache in pages as in [pages][heads][page], whatever the strides are. Inputs, references
 * and outputs of a check use these numbers. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_PLACE_H
#define ATTNBENCH_KERNELS_PROBLEM_PLACE_H

#include "kernels/problem/pages.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attn_place {
  struct attn_sequence sequence; /* of several that share a page, the first */
  uint32_t h, token;             /* query head or KV head; position in the sequence */
  bool is_unused;                /* no sequence has this row: it is of a page that nobody uses, or behind a length */
};

/* How many rows of queries or keys follow one another for each head. */
static inline ATTN_HD uint64_t attn_rows_of_head(const struct attn_problem *p, enum attn_rows rows) {
  if (rows == ATTN_ROWS_KEYS && attn_is_paged(p)) return p->page;
  if (attn_is_ragged(p)) return attn_tokens(p, rows);
  return rows == ATTN_ROWS_KEYS ? p->Skv : p->Sq;
}

/* The place of a key in a cache of pages. */
static inline ATTN_HD struct attn_place attn_place_in_page(const struct attn_problem *p, uint64_t row) {
  const uint64_t head = row / p->page;
  const struct attn_page_owner owner = attn_page_owner_of(p, (uint32_t)(head / p->Hkv));
  struct attn_place place;
  place.sequence = owner.sequence;
  place.h = (uint32_t)(head % p->Hkv);
  place.token = owner.token + (uint32_t)(row % p->page);
  place.is_unused = !owner.is_used || place.token >= owner.sequence.Skv;
  return place;
}

static inline ATTN_HD struct attn_place attn_place_of(const struct attn_problem *p, enum attn_rows rows,
                                                      uint64_t row) {
  const bool is_key = rows == ATTN_ROWS_KEYS, is_ragged = attn_is_ragged(p);
  if (is_key && attn_is_paged(p)) return attn_place_in_page(p, row);
  const uint64_t tokens = attn_rows_of_head(p, rows), head = row / tokens;
  const uint32_t heads = is_key ? p->Hkv : p->Hq;
  struct attn_place place;
  place.token = (uint32_t)(row % tokens);
  place.h = (uint32_t)(head % heads);
  place.sequence =
      is_ragged ? attn_sequence_with(p, rows, place.token) : attn_sequence_of(p, (uint32_t)(head / heads));
  place.token -= is_key ? place.sequence.k_first : place.sequence.q_first;
  place.is_unused = false;
  return place;
}

/* The number of a query's row, of query head h. */
static inline ATTN_HD uint64_t attn_query_row(const struct attn_problem *p, const struct attn_sequence *sequence,
                                              uint32_t h, uint32_t token) {
  if (attn_is_ragged(p)) return h * attn_tokens(p, ATTN_ROWS_QUERIES) + sequence->q_first + token;
  return ((uint64_t)sequence->b * p->Hq + h) * p->Sq + token;
}

/* The rows of the keys of one KV head of a sequence. */
struct attn_key_rows {
  struct attn_pages pages;
  uint64_t own;   /* the count of the sequence's first own page */
  uint64_t first; /* number of the first key's row where there are no pages */
  uint32_t h, Hkv;
};

static inline ATTN_HD struct attn_key_rows attn_key_rows_of(const struct attn_problem *p,
                                                            const struct attn_sequence *sequence, uint32_t h) {
  struct attn_key_rows rows = {attn_pages_of(p), 0, 0, h, p->Hkv};
  if (attn_is_paged(p)) {
    rows.own = attn_first_own_page(p, sequence->b);
  } else if (attn_is_ragged(p)) {
    rows.first = h * attn_tokens(p, ATTN_ROWS_KEYS) + sequence->k_first;
  } else {
    rows.first = ((uint64_t)sequence->b * p->Hkv + h) * p->Skv;
  }
  return rows;
}

/* The number of a key's row. */
static inline ATTN_HD uint64_t attn_key_row_at(const struct attn_key_rows *rows, uint32_t token) {
  const uint32_t page = rows->pages.page;
  if (page == 0) return rows->first + token;
  const uint64_t place = attn_page_at(&rows->pages, rows->own, token / page);
  return (place * rows->Hkv + rows->h) * page + token % page;
}

/* The same for one key alone, of KV head h. */
static inline ATTN_HD uint64_t attn_key_row(const struct attn_problem *p, const struct attn_sequence *sequence,
                                            uint32_t h, uint32_t token) {
  const struct attn_key_rows rows = attn_key_rows_of(p, sequence, h);
  return attn_key_row_at(&rows, token);
}

/* The KV head that a query head reads. */
static inline ATTN_HD uint32_t attn_kv_head(const struct attn_problem *p, uint32_t h) { return h / (p->Hq / p->Hkv); }

/* The KV head of a row of queries or keys, by its index in [B][Hkv]. */
static inline ATTN_HD uint64_t attn_kv_head_of(const struct attn_problem *p, enum attn_rows rows,
                                               const struct attn_place *place) {
  const uint32_t h = rows == ATTN_ROWS_KEYS ? place->h : attn_kv_head(p, place->h);
  return (uint64_t)place->sequence.b * p->Hkv + h;
}

/* The keys that a row of queries sees, of its sequence. */
static inline ATTN_HD struct attn_keys attn_keys_of(const struct attn_problem *p, const struct attn_place *place) {
  const struct attn_mask mask = attn_mask_of_sequence(p, &place->sequence);
  return attn_mask_row(&mask, place->token);
}

#ifdef __cplusplus
}
#endif
#endif
