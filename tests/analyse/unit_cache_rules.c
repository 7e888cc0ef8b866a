/* Findings about a cache of keys and values: pages whose runs are short, and numbers that have to be converted. */
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

static struct row_spec decode_row(const char *variant, double us) {
  return (struct row_spec){.variant = variant,
                           .B = 64,
                           .H = 8,
                           .S = 4096,
                           .D = 128,
                           .math = ATTN_MATH_TENSOR,
                           .grid = {1, 8, 64},
                           .covers = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B},
                           .threads = 128,
                           .row_threads = 128,
                           .registers = 128,
                           .resident_blocks = 4,
                           .hot_us = us};
}

static const struct finding *found(size_t row, enum finding_id id) { return rows_finding(&rows, row, id); }

/* ---- page_scattered ----------------------------------------------------------------------------------------------
 */

struct paging {
  uint32_t page, D, Hkv;
  enum attn_layout layout;
};

static const struct finding *scattered(struct paging paging, double us) {
  struct row_spec spec = decode_row("paged", us);
  memset(&rows, 0, sizeof rows);
  rows.count = 1;
  rows.record[0] = rows_record(&spec);
  struct attn_problem *s = &rows.record[0].attn_case.shape;
  s->Sq = 1, s->D = s->Dv = paging.D, s->Hkv = paging.Hkv, s->page = paging.page, s->layout = paging.layout;
  axes_key(s, rows.record[0].attn_case.key);
  rows_derive(&rows, "h200", NULL);
  return found(0, FINDING_ID_page_scattered);
}

/* 32 bytes of each head and token in bursts of 64: half is not needed. */
TEST(rows_shorter_than_a_burst_are_scattered) {
  const struct finding *f = scattered((struct paging){16, 16, 8, ATTN_BSHD}, 0);
  assert_non_null(f);
  assert_finding_says(f, "16 tokens of a page lie in runs of 32 bytes for each head: bursts of 64 bytes bring 2.00x");
  assert_finding_says(f, "layout hnd): a run is then 512 bytes");
  assert_true(isnan(f->gain_ratio));
}

TEST(runs_that_fill_bursts_are_not_scattered) {
  assert_null(scattered((struct paging){1, 128, 8, ATTN_BSHD}, 0));
  assert_null(scattered((struct paging){1, 32, 8, ATTN_BSHD}, 0));
  assert_null(scattered((struct paging){16, 16, 8, ATTN_HND}, 0));
  assert_null(scattered((struct paging){16, 16, 1, ATTN_BSHD}, 0)); /* with one head its tokens are neighbours */
  assert_null(scattered((struct paging){0, 16, 8, ATTN_BSHD}, 0));  /* no pages */
}

/* 48 bytes that begin at any multiple of 16: 64 or 128 bytes, as (1 + 1 + 2 + 2) / 4 bursts on average. */
TEST(runs_that_are_not_aligned_are_averaged_over_their_places) {
  const struct finding *f = scattered((struct paging){1, 24, 8, ATTN_BSHD}, 0);
  assert_finding_says(f, "runs of 48 bytes for each head: bursts of 64 bytes bring 2.00x");
  assert_finding_says(f, "pages of at least 2 tokens");
}

/* 64 * 4096 * 8 rows of 32 bytes, of K and V: 134 MB, which DRAM gives in 29 us, and twice as much in 58 us. */
TEST(a_timed_row_has_to_be_bound_by_dram_with_the_bursts) {
  const struct finding *f = scattered((struct paging){16, 16, 8, ATTN_BSHD}, 65);
  assert_non_null(f);
  assert_finding_says(f, "DRAM is busy for 90 % of the time");
  assert_true(f->gain_ratio > 1.5 && f->gain_ratio < 2);
  assert_null(scattered((struct paging){16, 16, 8, ATTN_BSHD}, 650)); /* something else takes the time */
  assert_null(scattered((struct paging){16, 16, 8, ATTN_BSHD}, 40));  /* faster than these bytes: bursts are shared */
}

/* Counters decide where they are known. */
TEST(counted_bytes_outweigh_the_model_of_bursts) {
  scattered((struct paging){16, 16, 8, ATTN_BSHD}, 65);
  struct record *r = &rows.record[0];
  counter_record_start(&r->counters);
  r->counters.done = true, r->counters.pass_count = 1, r->counters.launches = 1;
  snprintf(r->counters.source, sizeof r->counters.source, "ncu 2025.3.1");
  snprintf(r->counters.cache, sizeof r->counters.cache, "cold");
  r->counters.pass[0].values.dram_read_bytes = 1.9 * rows.metrics[0].bytes;
  rows_derive(&rows, "h200", NULL);
  assert_finding_says(found(0, FINDING_ID_page_scattered),
                      "DRAM gave 1.90x the bytes of the tensors (measured by ncu");
  r->counters.pass[0].values.dram_read_bytes = 1.02 * rows.metrics[0].bytes;
  rows_derive(&rows, "h200", NULL);
  assert_null(found(0, FINDING_ID_page_scattered));
}

/* ---- convert_bound -----------------------------------------------------------------------------------------------
 */

/* Decoding with K and V of 16 bits and of e4m3, in that order; the second one by `variant`. The wide cache has 1.07
 * GB, which DRAM gives in 233 us. */
static const struct finding *converted(double wide_us, double narrow_us, const char *variant) {
  const struct row_spec specs[] = {decode_row("decode", wide_us), decode_row(variant, narrow_us)};
  memset(&rows, 0, sizeof rows);
  rows.count = 2;
  for (size_t i = 0; i < 2; i++) {
    rows.record[i] = rows_record(&specs[i]);
    struct attn_problem *s = &rows.record[i].attn_case.shape;
    s->Sq = 1, s->kv_dtype = (unsigned)i;
    axes_key(s, rows.record[i].attn_case.key);
  }
  rows_derive(&rows, "h200", NULL);
  assert_null(found(0, FINDING_ID_convert_bound));
  return found(1, FINDING_ID_convert_bound);
}

TEST(half_the_bytes_in_the_same_time_are_bound_by_their_conversion) {
  const struct finding *f = converted(250, 240, "decode");
  assert_non_null(f);
  assert_finding_says(f, "240 us with K and V of e4m3; 250 us with K and V of f16, which are 2.00x the bytes");
  assert_finding_says(f, "with f16 DRAM is busy for 93 % of the time, with e4m3 for 49 %");
  assert_near(f->gain_ratio, 240 / (2 + 248 / 2.0), 0.02);
}

TEST(half_the_bytes_in_half_the_time_are_not) {
  assert_null(converted(250, 135, "decode"));
  assert_null(converted(250, 150, "decode")); /* 1.19 times what the bytes explain */
}

/* Where bytes bound neither row, e4m3 must not be slower. */
TEST(a_row_that_bytes_do_not_bound_is_held_against_the_same_time) {
  assert_null(converted(1000, 1100, "decode"));
  assert_finding_says(converted(1000, 1400, "decode"), "DRAM bounds neither");
}

TEST(another_variant_is_no_measure_of_the_conversion) { assert_null(converted(250, 240, "other")); }

TEST(products_of_e4m3_convert_nothing) {
  converted(250, 240, "decode");
  rows.record[1].attn_case.shape.dtype = ATTN_E4M3;
  axes_key(&rows.record[1].attn_case.shape, rows.record[1].attn_case.key);
  rows_derive(&rows, "h200", NULL);
  assert_null(found(1, FINDING_ID_convert_bound));
}
