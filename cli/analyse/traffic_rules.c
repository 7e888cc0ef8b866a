/* Findings from what the blocks ask for, by the model of metrics.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyse/rules.h"

static const double FEW_ROWS_REREAD_MIN = 4;
static const double SPILLED_REREAD_MIN = 2; /* when the rereads reach DRAM */
static const double MB = 1e6;

enum { FEW_ROWS_BELOW = 16 }; /* rows that share a read of K and V; a tensor-core fragment has 16 */

static uint32_t rows_per_read(const struct diagnose_row *row) {
  const uint32_t tile_q = row->record->plan.tile_q;
  return tile_q < row->shape->Sq ? tile_q : row->shape->Sq;
}

/* What the requests mean for DRAM, and how fast they went. */
static void put_dram_share(const struct diagnose_row *row, char *out, size_t size) {
  const struct traffic *t = &row->metrics->traffic;
  const double l2_mb = (double)row->device->l2_bytes / MB, cold_us = row->record->time[TIME_COLD].us.median;
  const double dram_us = t->dram_bytes / row->device->dram_gb_per_s * 1e-3;
  int used = snprintf(out, size, "the %.3g MB of K and V in flight %s the %.3g MB of L2, so DRAM moves %s%.3g MB",
                      t->working_set_bytes / MB, t->fits_l2 ? "stay in" : "exceed", l2_mb, t->fits_l2 ? "" : "up to ",
                      t->dram_bytes / MB);
  if (row->metrics->mode[TIME_COLD].known && row->device->dram_gb_per_s > 0)
    snprintf(out + used, size - (size_t)used, ", %.2g %% of the cold time at its rate", 100 * dram_us / cold_us);
  else if (row->metrics->mode[TIME_HOT].known && row->metrics->bytes <= (double)row->device->l2_bytes)
    snprintf(out + used, size - (size_t)used, " at most, and nothing once the tensors are in L2");
}

/* The same by what a profiler counted; false when it did not. */
static bool put_counted_share(const struct diagnose_row *row, char *out, size_t size) {
  const struct counted *counted = rules_counted(row);
  if (counted == NULL || !isfinite(counted->total.l2_bytes + counted->total.dram_read_bytes)) return false;
  const int used = snprintf(out, size, "the SMs asked L2 for %.3g MB", counted->total.l2_bytes / MB);
  if (isfinite(counted->total.l2_hit_ratio))
    snprintf(out + used, size - (size_t)used, ", %.0f %% of it was there, and DRAM gave %.3g MB (%s)",
             100 * counted->total.l2_hit_ratio, counted->total.dram_read_bytes / MB, rules_source_of(row).text);
  else
    snprintf(out + used, size - (size_t)used, " and DRAM gave %.3g MB (%s)", counted->total.dram_read_bytes / MB,
             rules_source_of(row).text);
  return true;
}

/* Do rereads reach DRAM? Counted with cold caches, reads beyond the tensors are just these, unless registers spill:
 * local memory is read too. Else by the model. */
static bool rereads_dram(const struct diagnose_row *row) {
  const struct traffic *t = &row->metrics->traffic;
  const struct counted *counted = rules_counted(row);
  const bool knows = counted != NULL && isfinite(counted->total.dram_read_bytes) &&
                     !(counted->total.local_bytes > 0) && strcmp(row->record->counters.cache, "cold") == 0;
  const bool reaches =
      knows ? counted->total.dram_read_bytes >= SPILLED_REREAD_MIN * row->metrics->bytes : !t->fits_l2;
  return reaches && t->reread_ratio >= SPILLED_REREAD_MIN;
}

bool diagnose_rereads_kv(const struct diagnose_row *row, struct finding *f) {
  const struct traffic *t = &row->metrics->traffic;
  const struct attn_shape *s = row->shape;
  const uint32_t rows = rows_per_read(row);
  if (!t->known) return false;
  const bool few_rows = rows < FEW_ROWS_BELOW && t->reread_ratio >= FEW_ROWS_REREAD_MIN;
  if (!few_rows && !rereads_dram(row)) return false;
  char dram[200];
  if (!put_counted_share(row, dram, sizeof dram)) put_dram_share(row, dram, sizeof dram);
  rules_put(f->measured,
            "K and V are asked for %.3g times (%u query row%s per read): %.3g MB requested of L2 for %.3g MB; %s",
            t->reread_ratio, rows, rows == 1 ? "" : "s", t->requested_bytes / MB, row->metrics->bytes / MB, dram);
  if (few_rows && s->Sq >= FEW_ROWS_BELOW)
    rules_put(f->advice, "let a block take at least %d query rows per K/V tile: %.3gx fewer requests for K and V",
              FEW_ROWS_BELOW, (double)FEW_ROWS_BELOW / rows);
  else if (few_rows && s->Hq > s->Hkv)
    rules_put(f->advice, "take the %u query heads of a KV head into one q tile: K and V are then read once",
              s->Hq / s->Hkv);
  else
    rules_put(
        f->advice,
        "put the q tiles on the fastest grid axis (x), so that blocks that run together share a head's K and V, "
        "or take more query rows per block");
  return true;
}
