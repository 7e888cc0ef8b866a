/* A cache of keys and values in pages, as inference servers keep them: which page holds a token of a sequence, and
 * whose a page is. Each page holds `page` neighbouring tokens of one sequence; the last page of a sequence may have
 * room behind its last token. K and V have caches of their own with the same numbers of pages.
 *
 * Pages have counts: first come those that all sequences share, then the pages of each sequence of its own, in the
 * order of the sequences, then those that nobody uses. A permutation turns the count of a page into its place in the
 * cache, so that pages with neighbouring counts lie apart, as in a cache that has served for a while. All of it is
 * computed from the problem; measured kernels read the page table, which is a tensor (tensor.h). Valid C, C++ and
 * CUDA. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_PAGES_H
#define ATTNBENCH_KERNELS_PROBLEM_PAGES_H

#include "kernels/problem/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ATTN_PAGE_MAX = 256, /* tokens of a page */
  ATTN_PAGES_ROOM = 2, /* the cache has so many times the pages that are in use */
};
#define ATTN_PAGES_MAX INT32_MAX /* of a cache: the table's entries are int32 */

/* Zeros where K and V are contiguous. */
struct attn_pages {
  uint32_t page;      /* tokens of a page */
  uint32_t shared;    /* pages that all sequences begin with */
  uint32_t most;      /* of the longest sequence */
  uint32_t bits;      /* of a number below `all` */
  uint64_t used, all; /* pages that hold keys, and all of the cache; at most ATTN_PAGES_MAX in a sound problem */
};

static inline ATTN_HD bool attn_is_paged(const struct attn_problem *p) { return p->page > 0; }

/* Pages for so many tokens; 0 where there are no pages. */
static inline ATTN_HD uint32_t attn_pages_for(uint32_t tokens, uint32_t page) {
  return page > 0 ? tokens / page + (tokens % page != 0) : 0;
}

/* Pages that the sequences of a group have for themselves, each. */
static inline ATTN_HD uint32_t attn_own_pages(const struct attn_problem *p, uint32_t Skv) {
  const uint32_t pages = attn_pages_for(Skv, p->page), shared = p->prefix / p->page;
  return pages > shared ? pages - shared : 0;
}

static inline ATTN_HD struct attn_pages attn_pages_of(const struct attn_problem *p) {
  struct attn_pages pages = {0, 0, 0, 1, 0, 0};
  if (!attn_is_paged(p)) return pages;
  pages.page = p->page;
  pages.shared = p->prefix / p->page;
  pages.most = attn_pages_for(p->Skv, p->page);
  pages.used = pages.shared;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    pages.used += (uint64_t)group.count * attn_own_pages(p, group.Skv);
  }
  pages.all = ATTN_PAGES_ROOM * pages.used;
  while (pages.all > (uint64_t)1 << pages.bits) ++pages.bits;
  return pages;
}

/* The count of the first own page of sequence b. */
static inline ATTN_HD uint64_t attn_first_own_page(const struct attn_problem *p, uint32_t b) {
  uint64_t first = p->prefix / p->page;
  for (uint32_t i = 0, left = b; i < attn_group_count(p) && left > 0; ++i) {
    const struct attn_group group = attn_group_of(p, i);
    const uint32_t count = group.count < left ? group.count : left;
    first += (uint64_t)count * attn_own_pages(p, group.Skv);
    left -= count;
  }
  return first;
}

/* ---- the permutation ------------------------------------------------------------------------------------------- */

/* A permutation of the numbers of so many bits (steps of Wellons' lowbias32, each of which can be inverted), and its
 * inverse. */
static inline ATTN_HD uint32_t attn_page_mix(uint32_t x, uint32_t bits) {
  const uint32_t shift = (bits + 1) / 2, mask = (uint32_t)(((uint64_t)1 << bits) - 1);
  x = (x + 0x9e3779b9u) & mask;
  x ^= x >> shift;
  x = x * 0x21f0aaadu & mask;
  x ^= x >> shift;
  x = x * 0x735a2d97u & mask;
  return x ^ x >> shift;
}
static inline ATTN_HD uint32_t attn_page_unmix(uint32_t x, uint32_t bits) {
  const uint32_t shift = (bits + 1) / 2, mask = (uint32_t)(((uint64_t)1 << bits) - 1);
  x ^= x >> shift;
  x = x * 0x97132227u & mask;
  x ^= x >> shift;
  x = x * 0x333c4925u & mask;
  x ^= x >> shift;
  return (x - 0x9e3779b9u) & mask;
}

/* The place of a page in the cache, by its count, and the inverse. The permutation is of a power of two of numbers:
 * one that is no place is permuted again, until it is one. */
static inline ATTN_HD uint32_t attn_page_placed(const struct attn_pages *pages, uint64_t count) {
  uint32_t place = attn_page_mix((uint32_t)count, pages->bits);
  while (place >= pages->all) place = attn_page_mix(place, pages->bits);
  return place;
}
static inline ATTN_HD uint32_t attn_page_count(const struct attn_pages *pages, uint32_t place) {
  uint32_t count = attn_page_unmix(place, pages->bits);
  while (count >= pages->all) count = attn_page_unmix(count, pages->bits);
  return count;
}

/* ---- pages of sequences ---------------------------------------------------------------------------------------- */

/* The place of page i of the sequence whose own pages begin at count `own`. */
static inline ATTN_HD uint32_t attn_page_at(const struct attn_pages *pages, uint64_t own, uint32_t i) {
  return attn_page_placed(pages, i < pages->shared ? i : own + i - pages->shared);
}

/* Entry i of sequence b in the page table. Behind its last page a sequence has pages that nobody uses. */
static inline ATTN_HD uint32_t attn_page_entry(const struct attn_problem *p, uint32_t b, uint32_t i) {
  const struct attn_pages pages = attn_pages_of(p);
  const struct attn_sequence sequence = attn_sequence_of(p, b);
  const uint64_t unused = pages.used + ((uint64_t)b * pages.most + i) % pages.used;
  if (i >= attn_pages_for(sequence.Skv, p->page)) return attn_page_placed(&pages, unused);
  return attn_page_at(&pages, attn_first_own_page(p, b), i);
}

/* Whose a page is, by its place: tokens of a sequence from `token` on; of several sequences the first. */
struct attn_page_owner {
  struct attn_sequence sequence;
  uint32_t token;
  bool is_used;
};

static inline ATTN_HD struct attn_page_owner attn_page_owner_of(const struct attn_problem *p, uint32_t place) {
  const struct attn_pages pages = attn_pages_of(p);
  const uint32_t count = attn_page_count(&pages, place);
  struct attn_page_owner owner = {attn_sequence_of(p, 0), count * pages.page, count < pages.used};
  if (!owner.is_used || count < pages.shared) return owner;
  uint64_t left = count - pages.shared;
  uint32_t b = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    const uint32_t own = attn_own_pages(p, group.Skv);
    if (left < (uint64_t)group.count * own) {
      owner.sequence = attn_sequence_of(p, b + (uint32_t)(left / own));
      owner.token = (pages.shared + (uint32_t)(left % own)) * pages.page;
      return owner;
    }
    left -= (uint64_t)group.count * own;
    b += group.count;
  }
  return owner;
}

#ifdef __cplusplus
}
#endif
#endif
