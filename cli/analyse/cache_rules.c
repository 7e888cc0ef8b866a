/* Findings about how a cache of keys and values lies in memory, and in which type. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/analyse/gain.h"
#include "cli/analyse/rules.h"
#include "kernels/problem/work.h"

/* L2 asks DRAM for two sectors of 32 bytes at once. */
enum { BURST_BYTES = 64 };

/* ---- pages -------------------------------------------------------------------------------------------------------
 */

/* What of a page lies side by side for one KV head, and the bursts that hold it. */
struct page_run {
  double bytes, touched;
  bool by_token; /* a run is one token: other heads lie between it and the next */
};

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

/* Runs begin at every multiple of the strides' divisor: the mean over those within a burst. */
static struct page_run page_run_of(const struct attn_problem *s, enum attn_role role) {
  const struct attn_view view = attn_view_of(s, role);
  const uint64_t row = (uint64_t)work_row_bytes(s, role), element = view.columns > 0 ? row / view.columns : 0;
  const bool by_token = s->page > 1 && view.token_stride != view.columns;
  struct page_run run = {.by_token = by_token};
  if (row == 0 || element == 0) return run;
  const uint64_t bytes = by_token || s->page <= 1 ? row : row * s->page;
  uint64_t step = BURST_BYTES;
  step = common_divisor(step, view.batch_stride * element);
  if (view.heads > 1) step = common_divisor(step, view.head_stride * element);
  if (by_token) step = common_divisor(step, view.token_stride * element);
  uint64_t bursts = 0;
  for (uint64_t at = 0; at < BURST_BYTES; at += step) bursts += (at + bytes + BURST_BYTES - 1) / BURST_BYTES;
  run.bytes = (double)bytes;
  run.touched = (double)bursts * BURST_BYTES / (BURST_BYTES / (double)step);
  return run;
}

/* Bytes of K and V that bursts bring, over those that are asked for. */
static double scattered_ratio(const struct attn_problem *s, const struct page_run *k, const struct page_run *v) {
  const double key = work_row_bytes(s, ATTN_K), value = work_row_bytes(s, ATTN_V);
  const double moved = key * k->touched / k->bytes + (value > 0 ? value * v->touched / v->bytes : 0);
  return moved / (key + value);
}

/* Counted with cold caches, what DRAM gave beyond the tensors; NAN where that was not counted. */
static double counted_ratio(const struct rules_row *row) {
  const struct counted *counted = row->counted;
  const bool is_cold = counted != NULL && strcmp(row->record->counters.cache, "cold") == 0;
  return is_cold ? counted->total.dram_read_bytes / row->metrics->bytes : (double)NAN;
}

/* The share of the row's time that DRAM needs with all bytes of the bursts. */
static double share_with(const struct rules_row *row, double moved_bytes) {
  const double per_us = roofs_dram_gb_per_s(row->device) * 1e3;
  return per_us > 0 ? moved_bytes / per_us / row->now_us : (double)NAN;
}

static void put_page_advice(const struct rules_row *row, const struct page_run *k, struct finding *f) {
  const struct attn_problem *s = row->shape;
  const uint64_t token = (uint64_t)work_row_bytes(s, ATTN_K);
  if (k->by_token && token * s->page >= BURST_BYTES)
    rules_put(f->advice,
              "let a page hold the tokens of one head side by side (layout hnd): a run is then %" PRIu64
              " bytes; or let a block read the %u heads of a token together",
              token * s->page, s->Hkv);
  else if (s->Hkv > 1 && !k->by_token)
    rules_put(f->advice,
              "take pages of at least %" PRIu64
              " tokens, or lay the %u heads of a token side by side and let a "
              "block read them together",
              (BURST_BYTES + token - 1) / token, s->Hkv);
  else
    rules_put(f->advice,
              "take pages of at least %" PRIu64 " tokens whose rows lie side by side: a run then fills a burst",
              (BURST_BYTES + token - 1) / token);
}

bool cache_rules_page_scattered(const struct rules_row *row, struct finding *f) {
  const struct attn_problem *s = row->shape;
  if (!attn_is_paged(s) || row->pass_count == 0) return false;
  const struct page_run k = page_run_of(s, ATTN_K), v = page_run_of(s, ATTN_V);
  const double ratio = scattered_ratio(s, &k, &v), counted = counted_ratio(row);
  const double cached = (work_row_bytes(s, ATTN_K) + work_row_bytes(s, ATTN_V)) * (double)work_seen_keys(s);
  const double moved = row->metrics->bytes + cached * (ratio - 1);
  const bool is_timed = isfinite(row->now_us);
  const double share = is_timed ? share_with(row, moved) : (double)NAN;
  if (!(ratio >= finding_limits.scattered_min) || counted < finding_limits.scattered_min) return false;
  if (is_timed && metrics_stays_in_l2(row->device, row->mode, row->metrics->bytes)) return false;
  /* A share above 1 says that neighbours use the rest of a burst. */
  if (is_timed && !(share >= finding_limits.near_roof_min && share <= 1)) return false;
  f->pass = metrics_main_pass(row->record);
  rules_put(
      f->measured,
      "%u tokens of a page lie in runs of %.0f bytes for each head: bursts of %d bytes bring %.2fx the bytes of "
      "K and V",
      s->page, k.bytes, BURST_BYTES, ratio);
  if (isfinite(counted))
    rules_append(f->measured, "; DRAM gave %.2fx the bytes of the tensors (%s)", counted, row->source);
  if (is_timed) rules_append(f->measured, "; with these, DRAM is busy for %.0f %% of the time", 100 * share);
  put_page_advice(row, &k, f);
  if (is_timed) rules_promise(row, row->now_us * (1 - share * (1 - row->metrics->bytes / moved)), f);
  return true;
}

/* ---- conversions -------------------------------------------------------------------------------------------------
 */

/* The row of the same variant on the same problem, whose cache has 16 bits. */
struct wide_row {
  const struct record *record;
  const struct metrics *metrics;
  const char *source; /* the file that it is in; NULL: the row's own report */
};

static void look_for_wide(const struct diagnose_evidence *rows, const struct rules_row *row, const char *key,
                          struct wide_row *out) {
  for (size_t i = 0; i < rows->count && out->record == NULL; i++) {
    const struct record *there = &rows->records[i];
    if (strcmp(there->variant, row->record->variant) != 0 || strcmp(there->attn_case.key, key) != 0) continue;
    if (rows == &row->here && !record_same_card(there, row->record)) continue;
    if (!rows->metrics[i].mode[row->mode].known || there->injected.done) continue;
    *out = (struct wide_row){there, &rows->metrics[i], rows->source};
  }
}

static struct wide_row wide_row_of(const struct rules_row *row) {
  struct attn_problem wide = *row->shape;
  struct wide_row out = {.record = NULL};
  char key[AXIS_KEY_MAX];
  wide.kv_dtype = 0, wide.scales = ATTN_SCALES_HEAD;
  axes_key(&wide, key);
  look_for_wide(&row->here, row, key, &out);
  if (out.record == NULL) look_for_wide(&row->elsewhere, row, key, &out);
  return out;
}

static double dram_share(const struct rules_row *row, const struct wide_row *wide) {
  struct roofs roofs;
  roofs_of(wide->record, wide->metrics, row->device, &roofs);
  return roofs.share[row->mode][PIPE_DRAM];
}

/* Products in e4m3 need no conversion. Where Q has 16 bits or more, each number of K and V is converted. */
static bool converts(const struct attn_problem *s) {
  return !attn_dtype_is_scaled(s->dtype) && attn_dtype_is_scaled(attn_kv_dtype(s));
}

bool cache_rules_convert_bound(const struct rules_row *row, struct finding *f) {
  if (!converts(row->shape) || !isfinite(row->now_us)) return false;
  const struct wide_row wide = wide_row_of(row);
  if (wide.record == NULL) return false;
  const double fixed_us = gain_fixed_us(row->mode, row->pass_count), wide_us = wide.record->time[row->mode].us.median;
  const double wide_share = dram_share(row, &wide), share = row->roofs.share[row->mode][PIPE_DRAM];
  const bool by_bytes = wide_share >= finding_limits.near_roof_min;
  const double bytes = by_bytes ? row->metrics->bytes / wide.metrics->bytes : 1;
  const double least_us = (wide_us - fixed_us) * bytes;
  if (least_us < fixed_us || share >= finding_limits.near_roof_min) return false;
  if (row->now_us - fixed_us < finding_limits.convert_cost_min * least_us) return false;
  f->pass = metrics_main_pass(row->record);
  rules_put(f->measured, "%s with K and V of e4m3; %s with K and V of %s%s%s, which are %.2fx the bytes; ",
            rules_us(row->now_us).text, rules_us(wide_us).text, attn_dtype_name(row->shape->dtype),
            wide.source != NULL ? " in " : "", wide.source != NULL ? wide.source : "",
            wide.metrics->bytes / row->metrics->bytes);
  if (by_bytes)
    rules_append(f->measured, "with %s DRAM is busy for %.0f %% of the time, with e4m3 for %.0f %%",
                 attn_dtype_name(row->shape->dtype), 100 * wide_share, 100 * share);
  else
    rules_append(f->measured, "DRAM bounds neither");
  rules_append(f->measured, ": the rest is the conversion of each number");
  counter_rules_append_stall(row, f->measured);
  rules_put(f->advice,
            "convert two numbers at a time (cvt.rn.f16x2.e4m3x2) and each number once for all query rows that share "
            "it; multiply scores and sums by the scale, not the numbers; with Q of e4m3 the tensor cores of compute "
            "capability 9.0 multiply without a conversion");
  rules_promise(row, fixed_us + least_us, f);
  return true;
}
