/* Findings from what the blocks ask for, by the model of metrics.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/analyse/gain.h"
#include "cli/analyse/rules.h"

enum { FEW_ROWS = 16 }; /* rows of a tensor-core fragment; finding_limits.few_rows_below as a whole number */

static uint32_t rows_per_read(const struct rules_row *row) {
  const uint32_t tile_q = row->record->plan.tile_q;
  const uint64_t rows = metrics_tiled_rows(row->shape, &row->record->pass[metrics_main_pass(row->record)].pass);
  return tile_q < rows ? tile_q : (uint32_t)rows;
}

/* What the requests mean for DRAM, and how fast they went. */
static void append_dram_share(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct traffic *t = &row->metrics->traffic;
  const double cold_us = row->record->time[TIME_COLD].us.median;
  const double share = 100 * t->dram_bytes / row->device->dram_gb_per_s * 1e-3 / cold_us; /* % */
  rules_append(out, "; the %s of K and V in flight %s the %s of L2, so DRAM moves %s%s",
               units_bytes(t->working_set_bytes).text, t->fits_l2 ? "stay in" : "exceed",
               units_bytes((double)row->device->l2_bytes).text, t->fits_l2 ? "" : "up to ",
               units_bytes(t->dram_bytes).text);
  if (row->metrics->mode[TIME_COLD].known && row->device->dram_gb_per_s > 0)
    rules_append(out, ", %s %% of the cold time at its rate",
                 units_fixed(share, share < 1    ? 2
                                    : share < 10 ? 1
                                                 : 0)
                     .text);
  else if (row->metrics->mode[TIME_HOT].known && row->metrics->bytes <= (double)row->device->l2_bytes)
    rules_append(out, " at most, and nothing once the tensors are in L2");
}

/* The same by what a profiler counted; false when it did not. */
static bool append_counted_share(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct counted *counted = row->counted;
  if (counted == NULL || !isfinite(counted->total.l2_bytes + counted->total.dram_read_bytes)) return false;
  rules_append(out, "; the SMs asked L2 for %s", units_bytes(counted->total.l2_bytes).text);
  if (isfinite(counted->total.l2_hit_ratio))
    rules_append(out, ", %.0f %% of it was there, and DRAM gave %s (%s)", 100 * counted->total.l2_hit_ratio,
                 units_bytes(counted->total.dram_read_bytes).text, row->source);
  else
    rules_append(out, " and DRAM gave %s (%s)", units_bytes(counted->total.dram_read_bytes).text, row->source);
  return true;
}

/* `sharers` times the rows share a read. At least the trips to L2 become fewer; at most blocks take as long as now
 * and are fewer. The promise is half of the way, as ratios go. */
static void promise_sharing(const struct rules_row *row, double sharers, struct finding *f) {
  const struct pass_metrics *m = metrics_of_main_pass(row->record, row->metrics);
  const double l2_gb_per_s = roofs_l2_gb_per_s(row->device);
  const double l2_us = l2_gb_per_s > 0 ? row->metrics->traffic.requested_bytes / l2_gb_per_s * 1e-3 : 0;
  const double least = 1 / (1 - fmin(1, l2_us / row->now_us) * (1 - 1 / sharers));
  const uint64_t blocks = (uint64_t)ceil((double)m->blocks / sharers);
  const double most =
      gain_blocks(row->device, m->blocks, m->resident_blocks) / gain_blocks(row->device, blocks, m->resident_blocks);
  f->change = CHANGE_share_reads;
  rules_promise_ratio(row, sqrt(least * most), f);
}

/* Do rereads reach DRAM? Counted with cold caches, reads beyond the tensors are just these, unless registers spill:
 * local memory is read too. Else by the model. */
static bool rereads_dram(const struct rules_row *row) {
  const struct traffic *t = &row->metrics->traffic;
  const struct counted *counted = row->counted;
  const bool knows = counted != NULL && isfinite(counted->total.dram_read_bytes) &&
                     !(counted->total.local_bytes > 0) && strcmp(row->record->counters.cache, "cold") == 0;
  const bool reaches =
      knows ? counted->total.dram_read_bytes >= finding_limits.spilled_reread_min * row->metrics->bytes : !t->fits_l2;
  return reaches && t->reread_ratio >= finding_limits.spilled_reread_min;
}

/* Do all query rows of a KV head of a sequence share a read? No other rows have keys in common, but for a prefix. */
static bool shares_all_rows(const struct rules_row *row) {
  const struct attn_problem *s = row->shape;
  return rows_per_read(row) >= (uint64_t)s->Sq * (s->Hq / s->Hkv);
}

/* One q tile for the query heads of a KV head, and how often K and V are asked for then. */
static void put_shared_heads(const struct rules_row *row, struct finding *f) {
  static const double ONCE = 1.05;
  const struct attn_problem *s = row->shape;
  const uint32_t heads = s->Hq / s->Hkv;
  const double left = row->metrics->traffic.reread_ratio / heads;
  rules_put(f->advice, "take the %u query heads of a KV head into one q tile: K and V are then ", heads);
  if (left < ONCE)
    rules_append(f->advice, "read once");
  else
    rules_append(f->advice, "asked for %.3g times", left);
  if (left >= ONCE && s->prefix > 0)
    rules_append(f->advice, ", since each sequence reads the shared prefix of %u keys for itself", s->prefix);
  promise_sharing(row, heads, f);
}

static bool runs_q_tiles_of_a_head_together(const struct rules_row *row) {
  const uint32_t main = metrics_main_pass(row->record);
  const struct attn_pass *pass = &row->record->pass[main].pass;
  return pass->covers[0] == ATTN_COVERS_Q && pass->grid[0] >= metrics_q_tiles(row->record, main);
}

static void put_sharing(const struct rules_row *row, bool few_rows, struct finding *f) {
  const struct attn_problem *s = row->shape;
  const double rows = rows_per_read(row);
  uint64_t chunks;
  double new_us;
  if (few_rows && shares_all_rows(row)) {
    rules_put(f->advice,
              "the %s of a KV head %s a read already; what is left is the prefix of %u keys, which each of the %u "
              "sequences reads for itself: let a block take the rows of several sequences for it",
              rules_count((uint64_t)rows, "query row").text, rows > 1 ? "share" : "has", s->prefix, s->B);
  } else if (few_rows && geometry_rules_split_d(row, 0, &chunks, &new_us)) {
    rules_put(f->advice,
              "let a block take at least %d query rows per K/V tile, and split D = %u over blocks (d_split) so that "
              "the SMs keep work: %" PRIu64 " chunks",
              FEW_ROWS, s->D, chunks);
    f->change = CHANGE_d_chunks;
    rules_promise(row, new_us, f);
  } else if (few_rows && s->Sq >= FEW_ROWS) {
    rules_put(f->advice, "let a block take at least %d query rows per K/V tile: %.3gx fewer requests for K and V",
              FEW_ROWS, FEW_ROWS / rows);
    promise_sharing(row, FEW_ROWS / rows, f);
  } else if (few_rows && s->Hq > s->Hkv) {
    put_shared_heads(row, f);
  } else if (runs_q_tiles_of_a_head_together(row)) {
    rules_put(f->advice, "take more query rows per block: the q tiles of a head already run together");
  } else {
    rules_put(f->advice,
              "put the q tiles on the fastest grid axis (x), so that blocks that run together share a head's K and "
              "V, or take more query rows per block");
  }
}

bool traffic_rules_rereads_kv(const struct rules_row *row, struct finding *f) {
  const struct traffic *t = &row->metrics->traffic;
  const uint32_t rows = rows_per_read(row);
  if (!t->known) return false;
  const bool can_share = !shares_all_rows(row) || row->shape->prefix > 0;
  const bool few_rows =
      can_share && rows < finding_limits.few_rows_below && t->reread_ratio >= finding_limits.few_rows_reread_min;
  if (!few_rows && !rereads_dram(row)) return false;
  rules_put(f->measured, "K and V are asked for %.3g times (%s per read): %s requested of L2 for %s", t->reread_ratio,
            rules_count(rows, "query row").text, units_bytes(t->requested_bytes).text,
            units_bytes(row->metrics->bytes).text);
  if (!append_counted_share(row, f->measured)) append_dram_share(row, f->measured);
  put_sharing(row, few_rows, f);
  return true;
}
