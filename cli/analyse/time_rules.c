/* Findings from time: against the roofs, and against B*H. */
#include <inttypes.h>
#include <math.h>

#include "cli/analyse/rules.h"

static const double NEAR_ROOF_MIN = 0.60;
static const double FAR_FROM_ROOF_MAX = 0.25;
static const double LAUNCH_SIZED_MAX_US = 5.0;
static const double MOVED_AGAIN_MIN = 1.5;
static const double MB = 1e6;

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

static void put_memory_advice(const struct diagnose_row *row, double gb_per_s, double ratio,
                              char out[FINDING_TEXT_MAX]) {
  const struct attn_shape *s = row->shape;
  if (s->dtype == ATTN_F32)
    rules_put(out, "store Q, K, V and O in 16 bits: half the bytes, %.0f us at this rate",
              row->metrics->bytes / 2e3 / gb_per_s);
  else if (s->Hkv > 1)
    rules_put(out, "at most %.2fx is left; move fewer bytes: fewer KV heads than %u for %u query heads", 1 / ratio,
              s->Hkv, s->Hq);
  else
    rules_put(out, "at most %.2fx is left; move fewer bytes: 8-bit K and V, or more query heads per KV head",
              1 / ratio);
}

/* By what DRAM really moved, which may be more than the shape needs, or less where L2 held it. */
static bool is_memory_bound_as_counted(const struct diagnose_row *row, const struct counted *counted,
                                       struct finding *f) {
  const struct counter_metrics *m = &counted->metrics;
  const double moved = counted->total.dram_read_bytes + counted->total.dram_write_bytes, needed = row->metrics->bytes;
  if (m->dram_ratio < NEAR_ROOF_MIN) return false;
  rules_put(f->measured,
            "DRAM moved %.3g MB in %.1f us = %.0f GB/s, %.0f %% of the %.0f GB/s that it gives (%s); the shape "
            "needs %.3g MB",
            moved / MB, counted->total.gpu_time_us, m->dram_gb_per_s, 100 * m->dram_ratio, row->device->dram_gb_per_s,
            rules_source_of(row).text, needed / MB);
  if (moved >= MOVED_AGAIN_MIN * needed)
    rules_put(f->advice,
              "move each byte once: %.2fx fewer bytes when blocks that run together share a head's K and V in L2",
              moved / needed);
  else
    put_memory_advice(row, m->dram_gb_per_s, m->dram_ratio, f->advice);
  return true;
}

bool diagnose_memory_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  const struct counted *counted = rules_counted(row);
  if (counted != NULL && isfinite(counted->metrics.dram_ratio)) return is_memory_bound_as_counted(row, counted, f);
  if (!near_roof(row, ROOFS_DRAM, &mode)) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  rules_put(f->measured, "%.0f GB/s = %.0f %% of the %.0f GB/s that DRAM gives (%s), at %.2f FLOP per byte",
            m->gb_per_s, 100 * m->roof_ratio, row->device->dram_gb_per_s, time_mode_name(mode),
            row->metrics->flop_per_byte);
  put_memory_advice(row, m->gb_per_s, m->roof_ratio, f->advice);
  return true;
}

static void append_tensor_pipe(const struct diagnose_row *row, char out[FINDING_TEXT_MAX]) {
  const struct counted *counted = rules_counted(row);
  if (counted == NULL || row->record->math != ATTN_MATH_TENSOR || !isfinite(counted->total.tensor_pipe_ratio)) return;
  rules_append(out, "; the tensor pipe was at %.0f %% of its peak (%s)", 100 * counted->total.tensor_pipe_ratio,
               rules_source_of(row).text);
}

bool diagnose_compute_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  if (!near_roof(row, ROOFS_COMPUTE, &mode)) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  rules_put(f->measured, "%.4g TFLOP/s = %.0f %% of the %s roof at %.0f MHz (%s)", m->tflop_per_s,
            100 * m->roof_ratio, metrics_roof_name(m->roof), m->roof_clock_mhz, time_mode_name(mode));
  append_tensor_pipe(row, f->measured);
  if (m->roof == ROOF_FP32 && row->shape->dtype != ATTN_F32)
    rules_put(f->advice, "move QK^T and PV to tensor cores: %.0fx the FLOPs per clock",
              row->device->tensor_flop_per_clk_sm / row->device->fp32_flop_per_clk_sm);
  else
    rules_put(f->advice, "at most %.2fx is left on this pipe; skip work (masked tiles) or take a narrower data type",
              1 / m->roof_ratio);
  return true;
}

static void put_latency_advice(const struct diagnose_row *row, char out[FINDING_TEXT_MAX]) {
  const uint32_t pass = rules_slowest_pass(row);
  const struct pass_metrics *m = &row->metrics->pass[pass];
  if (rules_pass_count(row) == 0)
    rules_put(out, "its launches are not known; record grid and block to see whether SMs are idle");
  else if (m->sm_ratio < 1)
    diagnose_fill_advice(row, pass, out);
  else if (!diagnose_stall_advice(row, out))
    rules_put(
        out,
        "every SM has work, so shorten each block's chain: keep scores and O in registers, fewer barriers per K/V "
        "tile, more independent products, loads %u tiles ahead (%u now)",
        row->record->plan.stages + 1, row->record->plan.stages);
}

/* Far from every roof; the mode that gets nearest to one. */
static bool far_from_roofs(const struct diagnose_row *row, enum time_mode *mode) {
  return nearest_roof(row, ROOFS_COMPUTE | ROOFS_DRAM, mode) &&
         row->metrics->mode[*mode].roof_ratio < FAR_FROM_ROOF_MAX;
}

/* By the hot time where there is one: a cold time contains the events around it. */
static bool is_launch_sized(const struct diagnose_row *row, enum time_mode *mode) {
  *mode = row->metrics->mode[TIME_HOT].known ? TIME_HOT : TIME_COLD;
  return row->record->time[*mode].us.median < LAUNCH_SIZED_MAX_US * fmax(1, rules_pass_count(row));
}

bool diagnose_launch_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD;
  if (!far_from_roofs(row, &mode) || !is_launch_sized(row, &mode)) return false;
  const double median_us = row->record->time[mode].us.median;
  const uint32_t launches = rules_pass_count(row);
  rules_put(f->measured, "%.2f us (%s) for %u launch%s, where the work needs %.3g us: launching costs about as much",
            median_us, time_mode_name(mode), launches, launches == 1 ? "" : "es", row->metrics->mode[mode].floor_us);
  rules_put(f->advice, "batch more work per launch, merge it with its neighbours, or replay launches as one graph");
  return true;
}

bool diagnose_latency_bound(const struct diagnose_row *row, struct finding *f) {
  enum time_mode mode = TIME_COLD, judged;
  if (!far_from_roofs(row, &mode) || is_launch_sized(row, &judged)) return false;
  const struct mode_metrics *m = &row->metrics->mode[mode];
  const double median_us = row->record->time[mode].us.median;
  f->pass = rules_slowest_pass(row);
  rules_put(f->measured,
            "%.3f TFLOP/s and %.1f GB/s = %.2g %% of the %s roof (%s): %.1f us where the shape's floor is %.2f us",
            m->tflop_per_s, m->gb_per_s, 100 * m->roof_ratio, metrics_roof_name(m->roof), time_mode_name(mode),
            median_us, m->floor_us);
  diagnose_append_stall(row, f->measured);
  put_latency_advice(row, f->advice);
  return true;
}

/* ---- growth with B*H ----------------------------------------------------------------------------------------- */

static const char *const growth_advice[SCALING_VERDICT_COUNT] = {
    [SCALING_none] = "",
    [SCALING_flat] = "the smaller shape leaves the GPU idle; split its keys or rows finer",
    [SCALING_less_than_waves] =
        "part of the baseline's time does not grow (launch, first loads); compare against a larger baseline",
    [SCALING_serial] = "let the grid cover B*H: then blocks grow with it, and time only with the waves",
    [SCALING_linear] = "nothing to fix in the growth: make the work of one (batch, head) pair cheaper",
    [SCALING_as_waves] = "nothing to fix in the growth; make one wave faster or need fewer of them",
    [SCALING_as_blocks_per_sm] =
        "blocks that share an SM slow each other: cut what one block asks of its SM before adding resident blocks",
    [SCALING_worse_than_waves] =
        "look for what all SMs share: L2 and DRAM traffic (K/V reread by every q tile), atomics, or a clock that "
        "fell",
    [SCALING_sublinear_without_grid] =
        "record the launch: what idle SMs took and what launch overhead hid is in the grid",
    [SCALING_linear_without_grid] =
        "record the launch (grid, block, what each axis covers): blocks that do not grow with B*H are the serial "
        "case",
    [SCALING_superlinear_without_grid] = "record the launch: waves and blocks per SM tell what growth is expected",
};

static void put_growth(const struct diagnose_row *row, const struct scaling *s, char out[FINDING_TEXT_MAX]) {
  const enum time_mode mode = s->verdict_mode;
  const uint64_t pairs = scaling_pairs(&row->narrow->attn_case.shape);
  const char *verdict = scaling_verdict_help(s->verdict);
  if (isfinite(s->wave_ratio))
    rules_put(
        out,
        "%s time %.2fx, work %.1fx, waves say %.1fx (residual %.2f), blocks per SM %.1fx, against B*H = %" PRIu64
        ": %s",
        time_mode_name(mode), s->time_ratio[mode], s->work_ratio, s->wave_ratio, s->residual[mode], s->load_ratio,
        pairs, verdict);
  else
    rules_put(out,
              "%s time %.2fx, work %.1fx (%.2fx per unit of work) against B*H = %" PRIu64 ", launches not known: %s",
              time_mode_name(mode), s->time_ratio[mode], s->work_ratio, s->time_ratio[mode] / s->work_ratio, pairs,
              verdict);
}

bool diagnose_scales_with_bh(const struct diagnose_row *row, struct finding *f) {
  const struct scaling *s = row->scaling;
  if (!s->known || s->verdict == SCALING_none || row->narrow == NULL) return false;
  put_growth(row, s, f->measured);
  rules_put(f->advice, "%s", growth_advice[s->verdict]);
  return true;
}
