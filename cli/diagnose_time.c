/* Findings from time: against the roofs, and against B*H. */
#include <inttypes.h>
#include <math.h>

#include "cli/diagnose_row.h"

static const double NEAR_ROOF_MIN = 0.60;
static const double FAR_FROM_ROOF_MAX = 0.25;
static const double LAUNCH_SIZED_MAX_US = 5.0;
static const double FLAT_TIME_MAX = 1.2, FLAT_WORK_MIN = 2.0;
static const double RESIDUAL_MIN = 0.8, RESIDUAL_MAX = 1.25;

/* ---- time against the roofs ---------------------------------------------------------------------------------- */

enum { ROOFS_COMPUTE = 1 << ROOF_TENSOR | 1 << ROOF_FP32, ROOFS_DRAM = 1 << ROOF_DRAM };

/* The mode that gets nearest to a roof of this set; false when no mode is held against one. */
static bool nearest_roof(const struct diagnose_row *row, unsigned roofs, enum time_mode *nearest) {
  bool found = false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++) {
    const struct mode_metrics *m = &row->metrics->mode[mode];
    if (!m->known || (roofs & 1u << m->roof) == 0) continue;
    if (!found || m->roof_ratio > row->metrics->mode[*nearest].roof_ratio) *nearest = mode;
    found = true;
  }
  return found;
}

static bool near_roof(const struct diagnose_row *row, unsigned roofs, enum time_mode *mode) {
  return nearest_roof(row, roofs, mode) && row->metrics->mode[*mode].roof_ratio >= NEAR_ROOF_MIN;
}

bool diagnose_memory_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  if (!near_roof(row, ROOFS_DRAM, &mode)) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  const struct attn_shape *s = row->shape;
  diagnose_put(f->measured, "%.0f GB/s = %.0f %% of the %.0f GB/s that DRAM gives (%s), at %.2f FLOP per byte",
               m->gb_per_s, 100 * m->roof_ratio, row->device->dram_gb_per_s, time_mode_name(mode),
               row->metrics->flop_per_byte);
  if (s->dtype == ATTN_F32)
    diagnose_put(f->advice, "store Q, K, V and O in 16 bits: half the bytes, %.0f us at this rate",
                 row->metrics->bytes / 2e3 / m->gb_per_s);
  else if (s->Hkv > 1)
    diagnose_put(f->advice, "at most %.2fx is left; move fewer bytes: fewer KV heads than %u for %u query heads",
                 1 / m->roof_ratio, s->Hkv, s->Hq);
  else
    diagnose_put(f->advice, "at most %.2fx is left; move fewer bytes: 8-bit K and V, or more query heads per KV head",
                 1 / m->roof_ratio);
  return true;
}

bool diagnose_compute_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  if (!near_roof(row, ROOFS_COMPUTE, &mode)) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  diagnose_put(f->measured, "%.4g TFLOP/s = %.0f %% of the %s roof at %.0f MHz (%s)", m->tflop_per_s,
               100 * m->roof_ratio, roof_name(m->roof), m->roof_clock_mhz, time_mode_name(mode));
  if (m->roof == ROOF_FP32 && row->shape->dtype != ATTN_F32)
    diagnose_put(f->advice, "move QK^T and PV to tensor cores: %.0fx the FLOPs per clock",
                 row->device->tensor_flop_per_clk_sm / row->device->fp32_flop_per_clk_sm);
  else
    diagnose_put(f->advice,
                 "at most %.2fx is left on this pipe; skip work (masked tiles) or take a narrower data type",
                 1 / m->roof_ratio);
  return true;
}

static void put_latency_advice(const struct diagnose_row *row, double median_us, char out[FINDING_TEXT_MAX]) {
  const uint32_t pass = diagnose_slowest_pass(row);
  const struct pass_metrics *m = &row->metrics->pass[pass];
  if (median_us < LAUNCH_SIZED_MAX_US)
    diagnose_put(
        out, "launch overhead dominates at %.1f us: batch more work per launch or replay the launches as one graph",
        median_us);
  else if (diagnose_pass_count(row) > 0 && m->sm_ratio < 1)
    diagnose_fill_advice(row, pass, out);
  else
    diagnose_put(
        out,
        "every SM has work, so shorten each block's chain: keep scores and O in registers, fewer barriers per K/V "
        "tile, more independent products, loads %u tiles ahead (%u now)",
        row->record->plan.stages + 1, row->record->plan.stages);
}

bool diagnose_latency_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  if (!nearest_roof(row, ROOFS_COMPUTE | ROOFS_DRAM, &mode)) return false;
  if (row->metrics->mode[mode].roof_ratio >= FAR_FROM_ROOF_MAX) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  const double median_us = row->record->time[mode].us.median;
  f->pass = diagnose_slowest_pass(row);
  diagnose_put(f->measured,
               "%.3f TFLOP/s and %.1f GB/s = %.2g %% of the %s roof (%s): %.1f us where the shape's floor is %.2f us",
               m->tflop_per_s, m->gb_per_s, 100 * m->roof_ratio, roof_name(m->roof), time_mode_name(mode), median_us,
               m->floor_us);
  put_latency_advice(row, median_us, f->advice);
  return true;
}

/* ---- growth with B*H ----------------------------------------------------------------------------------------- */

static bool is_flat(const struct diagnose_row *row, double time) {
  return row->scaling->work_ratio >= FLAT_WORK_MIN && time < FLAT_TIME_MAX;
}
static bool is_less(const struct diagnose_row *row, double time) {
  return time < RESIDUAL_MIN * row->scaling->wave_ratio;
}
static bool is_as_waves(const struct diagnose_row *row, double time) {
  return time <= RESIDUAL_MAX * row->scaling->wave_ratio;
}
static bool is_serial(const struct diagnose_row *row, double time) {
  double pairs = 1;
  for (uint32_t i = 0; i < diagnose_pass_count(row); i++)
    pairs = fmax(pairs, scaling_serial_pairs(row->shape, &row->metrics->pass[i]));
  return pairs > 1 && is_as_waves(row, time);
}
static bool is_shared(const struct diagnose_row *row, double time) {
  return time <= RESIDUAL_MAX * row->scaling->load_ratio;
}

/* The first row that applies is the verdict; the last one always does. */
static const struct {
  bool (*applies)(const struct diagnose_row *, double time_ratio);
  const char *verdict, *advice;
} growths[] = {
    {is_flat, "flat: idle SMs took the extra work",
     "the smaller shape leaves the GPU idle; split its keys or rows finer"},
    {is_less, "less than the waves say",
     "part of the baseline's time does not grow (launch, first loads); compare against a larger baseline"},
    {is_serial, "as the serial loop over B*H says",
     "let the grid cover B*H: then blocks grow with it, and time only with the waves"},
    {is_as_waves, "as the waves say", "nothing to fix in the growth; make one wave faster or need fewer of them"},
    {is_shared, "more than the waves say, no more than the blocks per SM",
     "blocks that share an SM slow each other: cut what one block asks of its SM before adding resident blocks"},
    {NULL, "worse than the waves and the blocks per SM say",
     "look for what all SMs share: L2 and DRAM traffic (K/V reread by every q tile), atomics, or a clock that fell"},
};

bool diagnose_scales_with_bh(const struct diagnose_row *row, struct finding *f) {
  const struct scaling *s = row->scaling;
  enum time_mode mode;
  /* Growth is told from less work to more; a row below the baseline has nothing to add. */
  if (!s->known || s->is_baseline || !(s->work_ratio > 1) || !isfinite(s->wave_ratio)) return false;
  if (!diagnose_pair_mode(row, &mode)) return false;
  const double time = s->time_ratio[mode];
  size_t i = 0;
  while (growths[i].applies != NULL && !growths[i].applies(row, time)) i++;
  diagnose_put(
      f->measured,
      "%s time %.2fx, work %.1fx, waves say %.1fx (residual %.2f), blocks per SM %.1fx, against B*H = %" PRIu64
      ": %s",
      time_mode_name(mode), time, s->work_ratio, s->wave_ratio, s->residual[mode], s->load_ratio,
      scaling_pairs(&row->narrow->attn_case.shape), growths[i].verdict);
  diagnose_put(f->advice, "%s", growths[i].advice);
  return true;
}
