/* The finding that every timed row has: the roof that it is nearest to, the share reached, and the next change to
 * make. Also clock_lowered, since the clock limits the roofs themselves. */
#include <math.h>

#include "cli/analyse/evidence.h"
#include "cli/analyse/gain.h"
#include "kernels/problem/work.h"

/* ---- which one it is ------------------------------------------------------------------------------------------- */

static double share_of(const struct rules_row *row) {
  return row->roofs.known ? row->roofs.share[row->roofs.mode][row->roofs.nearest] : 0;
}

/* Products and exponentials are phases of one tile. When both pipes are well used and neither is full, the phases
 * take turns: overlapping them is left, so neither pipe is the bound. */
static bool phases_take_turns(const struct rules_row *row) {
  const double *share = row->roofs.share[row->roofs.mode];
  const double less = fmin(share[PIPE_PRODUCTS], share[PIPE_EX2]), more = fmax(share[PIPE_PRODUCTS], share[PIPE_EX2]);
  return more < finding_limits.full_pipe_min && less >= finding_limits.turns_min;
}

/* Near the roof of this pipe, which is the nearest. */
static bool is_near(const struct rules_row *row, enum roofs_pipe pipe) {
  const bool takes_turns = (pipe == PIPE_PRODUCTS || pipe == PIPE_EX2) && phases_take_turns(row);
  return row->roofs.known && row->roofs.nearest == pipe && share_of(row) >= finding_limits.near_roof_min &&
         !takes_turns;
}

static bool is_far(const struct rules_row *row) {
  return row->roofs.known && share_of(row) < finding_limits.far_from_roof_max;
}

/* By the hot time where there is one: a cold time contains the events around it. */
static bool is_launch_sized(const struct rules_row *row) {
  return row->now_us < finding_limits.launch_sized_max_us * fmax(1, row->pass_count);
}

/* ---- the fact -------------------------------------------------------------------------------------------------- */

/* "52 % of the mma.sync roof (hot)", and the pipe that comes next. */
static void put_nearest(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct roofs *roofs = &row->roofs;
  const struct mode_metrics *m = &row->metrics->mode[roofs->mode];
  const double *share = roofs->share[roofs->mode];
  enum roofs_pipe second = PIPE_COUNT;
  for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++)
    if (pipe != roofs->nearest && share[pipe] > 0 && (second == PIPE_COUNT || share[pipe] > share[second]))
      second = pipe;
  rules_put(out, "%.3g TFLOP/s and %s GB/s = %.2g %% of the %s roof (%s%s)", m->tflop_per_s,
            units_short(m->gb_per_s).text, 100 * share[roofs->nearest], roofs_pipe_name(roofs, roofs->nearest),
            time_mode_name(roofs->mode), roofs->counted[roofs->nearest] ? ", counted" : "");
  if (second != PIPE_COUNT)
    rules_append(out, ", then %.2g %% of the %s roof", 100 * share[second], roofs_pipe_name(roofs, second));
}

/* "; 8 K/V tiles in a row take 4750 clocks each, where mma.sync needs 386" */
static void append_tile_clocks(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const double mhz = metrics_clock_mhz(&row->record->time[row->mode], row->device);
  const double tiles = row->pass_count > 0 ? rules_tiles_in_a_row(row, row->slowest_pass) : 0;
  const double work_us =
      (row->now_us - gain_fixed_us(row->mode, row->pass_count)) * rules_pass_share(row, row->slowest_pass);
  if (tiles < 1 || !(work_us > 0)) return;
  rules_append(out, "; %s in a row, %.0f clocks each", rules_count((uint64_t)tiles, "K/V tile").text,
               work_us / tiles * mhz);
}

/* ---- the step -------------------------------------------------------------------------------------------------- */

static bool has_16_bits(const struct rules_row *row) { return attn_dtype_bytes(row->shape->dtype) == 2; }

/* The kernel uses CUDA cores although tensor cores take the dtype and a block has the rows of a fragment. */
static bool step_tensor(const struct rules_row *row, struct finding *f) {
  const struct roofs *roofs = &row->roofs;
  const double faster = roofs_products_rate(row->device, PRODUCTS_MMA_SYNC, row->shape->dtype) /
                        roofs_products_rate(row->device, PRODUCTS_FP32, row->shape->dtype);
  const uint32_t tile_q = row->record->plan.tile_q;
  const bool has_rows = tile_q == 0 || tile_q >= finding_limits.few_rows_below;
  if (roofs->products != PRODUCTS_FP32 || !has_16_bits(row) || !(faster > 1) || !has_rows) return false;
  f->change = CHANGE_tensor;
  const double idle = row->metrics->pass[row->slowest_pass].idle_thread_ratio;
  rules_put(f->advice, "move QK^T and PV to tensor cores: mma.sync gives %.0fx the FLOPs per clock of fp32%s", faster,
            idle > 0 ? ", and its warps are all at work" : "");
  rules_promise_ratio(row, gain_faster_part(faster) * sqrt(1 / (1 - idle)), f);
  return true;
}

/* The pipe of the products is well used, and a faster instruction exists. The promise is the ratio of the two rates:
 * the softmax that Amdahl's law holds against it runs under the products, since they are asynchronous. */
static bool step_wgmma(const struct rules_row *row, struct finding *f) {
  const double mma = roofs_products_rate(row->device, PRODUCTS_MMA_SYNC, row->shape->dtype),
               wgmma = roofs_products_rate(row->device, PRODUCTS_WGMMA, row->shape->dtype);
  const double share = row->roofs.share[row->roofs.mode][PIPE_PRODUCTS];
  if (row->roofs.products != PRODUCTS_MMA_SYNC || !(wgmma > mma) || !(share >= finding_limits.far_from_roof_max))
    return false;
  f->change = CHANGE_wgmma;
  rules_put(f->advice,
            "mma.sync reaches %.0f %% of what wgmma does here: take wgmma with TMA, softmax of one tile under the "
            "products of the next",
            100 * mma / wgmma);
  rules_promise_ratio(row, wgmma / mma, f);
  return true;
}

/* Loads that nothing hides: one buffer, and fewer resident blocks than would cover the trip. */
static bool step_copy_ahead(const struct rules_row *row, struct finding *f) {
  static const double L2_TRIP_CLOCKS = 310, COPY_BYTES_PER_CLOCK = 64; /* cp.async from L2 and use; into one SM */
  const uint32_t pass = row->slowest_pass;
  const struct attn_plan *plan = &row->record->plan;
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const double tile_bytes = plan->tile_kv * (work_row_bytes(row->shape, ATTN_K) + work_row_bytes(row->shape, ATTN_V));
  const uint64_t smem = metrics_smem_bytes(&row->record->pass[pass]) + (uint64_t)tile_bytes;
  const bool fits = smem <= row->device->smem_per_block_bytes &&
                    (smem + row->device->smem_reserved_bytes) * m->resident_blocks <= row->device->smem_per_sm_bytes;
  const double tiles = rules_tiles_in_a_row(row, pass);
  if (plan->stages != 1 || tiles < 2 || m->sm_blocks_max == 0 || !fits) return false;
  const double now_us = row->now_us, mhz = row->device->sm_clock_max_mhz;
  const double covered = fmin(m->resident_blocks, (double)m->sm_blocks_max);
  const double exposed_us = tiles * (L2_TRIP_CLOCKS + tile_bytes / COPY_BYTES_PER_CLOCK) / mhz / covered;
  if (!(now_us / (now_us - exposed_us) >= finding_limits.copy_ahead_gain_min) || exposed_us > 0.5 * now_us)
    return false;
  f->change = CHANGE_stages;
  rules_put(f->advice,
            "copy the next K/V tile ahead (cp.async, a second buffer of %s): each of the %.0f tiles waits about %.0f "
            "clocks for its load",
            units_bytes(tile_bytes).text, tiles, exposed_us / tiles * mhz);
  rules_promise(row, now_us - exposed_us, f);
  return true;
}

/* Scores, weights or the output go through shared memory: more of it is taken than Q, K and V need. A kernel on
 * mma.sync without that reaches about half of its roof (FlashAttention-2: 350 of 650 TFLOP/s). */
static bool step_registers(const struct rules_row *row, struct finding *f) {
  static const double REACHED = 0.5, LIKELY = 4;
  const struct pass_record *p = &row->record->pass[row->slowest_pass];
  const double share = row->roofs.share[row->roofs.mode][PIPE_PRODUCTS];
  if (row->roofs.products != PRODUCTS_MMA_SYNC || !(share < REACHED) || evidence_in_registers(row->record))
    return false;
  f->change = CHANGE_registers;
  rules_put(f->advice,
            "keep scores, weights and output in registers (mma.sync with ldmatrix instead of WMMA): a block takes %s "
            "of shared memory where Q, K and V need %s",
            units_bytes((double)metrics_smem_bytes(p)).text, units_bytes(evidence_tile_bytes(row->record)).text);
  const double ratio = REACHED / share; /* the further, the less likely that this alone is why */
  rules_promise_ratio(row, ratio <= LIKELY ? ratio : LIKELY * sqrt(ratio / LIKELY), f);
  return true;
}

/* Idle SMs come first; their finding has the promise. */
static bool step_fill(const struct rules_row *row, struct finding *f) {
  const uint32_t pass = row->slowest_pass;
  const struct pass_metrics *m = &row->metrics->pass[pass];
  if (row->pass_count == 0 || !(1 - m->sm_ratio >= finding_limits.idle_sms_min)) return false;
  rules_put(
      f->advice, "%.0f %% of the SMs have no block: give them work first, by %s", 100 * (1 - m->sm_ratio),
      scaling_serial_pairs(row->shape, m) > 1 ? "a grid that covers B*H" : "more blocks or more B*H per launch");
  return true;
}

static bool step_stall(const struct rules_row *row, struct finding *f) {
  return counter_rules_stall_advice(row, f->advice);
}

static bool step_overlap(const struct rules_row *row, struct finding *f) {
  if (!row->roofs.known || !phases_take_turns(row)) return false;
  rules_put(f->advice,
            "each of the two pipes idles for at least %.0f %% of the time: run the exponentials of one tile under "
            "the products of another, or compute a part of them by a polynomial on the FMA pipe",
            100 * (1 - share_of(row)));
  return true;
}

static bool step_idle_threads(const struct rules_row *row, struct finding *f) {
  const double idle = row->metrics->pass[row->slowest_pass].idle_thread_ratio;
  if (row->pass_count == 0 || idle < finding_limits.idle_threads_min) return false;
  rules_put(f->advice, "%.0f %% of the threads wait for those that hold query rows: spread the rows first",
            100 * idle);
  return true;
}

/* Query rows that can share a read of K and V: those of all query heads of a KV head. */
static bool step_share_reads(const struct rules_row *row, struct finding *f) {
  const struct attn_problem *s = row->shape;
  const uint32_t tile_q = row->record->plan.tile_q;
  const double rows = fmin(finding_limits.few_rows_below, (double)s->Sq * s->Hq / s->Hkv);
  if (tile_q == 0 || tile_q >= rows || !row->metrics->traffic.known) return false;
  const bool fills_fragment = rows >= finding_limits.few_rows_below && row->roofs.products == PRODUCTS_FP32;
  rules_put(f->advice, "%s %s K and V alone, so loads are most of the work: let %.0f rows share %s%s",
            rules_count(tile_q, "query row").text, tile_q == 1 ? "reads" : "read", rows,
            tile_q == 1 ? "the read" : "a read",
            fills_fragment && has_16_bits(row) ? ", then take tensor cores" : "");
  return true;
}

static bool step_record(const struct rules_row *row, struct finding *f) {
  if (row->pass_count > 0) return false;
  rules_put(f->advice, "its launches are not known; record grid and block to see whether SMs are idle");
  return true;
}

/* What a profiler would tell. */
static bool step_measure(const struct rules_row *row, struct finding *f) {
  const struct pass_metrics *m = &row->metrics->pass[row->slowest_pass];
  const uint64_t warps = (uint64_t)m->resident_blocks * ((m->threads_per_block + 31) / 32);
  rules_put(f->advice,
            "every SM has work and %s %s resident on it, so instructions that wait for one another bound it: "
            "with --profile ncu says what warps wait for",
            rules_count(warps, "warp").text, warps == 1 ? "is" : "are");
  return true;
}

/* Takes the first step that applies and was not slower where it was measured. */
static void choose_step(const struct rules_row *row, struct finding *f) {
  static bool (*const steps[])(const struct rules_row *, struct finding *) = {
      step_stall,     step_record,      step_fill,         step_tensor,  step_wgmma,  step_copy_ahead,
      step_registers, step_share_reads, step_idle_threads, step_overlap, step_measure};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    rules_promise_nothing(f);
    if (steps[i](row, f) && evidence_supports(row, f)) return;
  }
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

/* A smaller type is a saving only where the tensors do not have it: e4m3 is the smallest. */
static void put_memory_advice(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct attn_problem *s = row->shape;
  const uint32_t kv_bytes = attn_dtype_bytes(attn_kv_dtype(s));
  const char *narrower = kv_bytes > 1 ? "8-bit K and V, or " : "";
  if (kv_bytes > 2)
    rules_put(out, "store Q, K, V and O in 16 bits: half the bytes");
  else if (s->Hkv > 1)
    rules_put(out, "at most %.2fx is left; move fewer bytes: %sfewer KV heads than %u for %u query heads",
              1 / share_of(row), narrower, s->Hkv, s->Hq);
  else
    rules_put(out, "at most %.2fx is left; move fewer bytes: %smore query heads per KV head", 1 / share_of(row),
              narrower);
}

/* Writes memory_bound from the counted DRAM bytes, which may be more than the shape needs, or less where L2 held
 * them. */
static void put_memory_as_counted(const struct rules_row *row, struct finding *f) {
  const struct counted *counted = row->counted;
  const struct counter_metrics *m = &counted->metrics;
  const double moved = counted->total.dram_read_bytes + counted->total.dram_write_bytes, needed = row->metrics->bytes;
  rules_put(f->measured,
            "DRAM moved %s in %.1f us = %.0f GB/s, %.0f %% of the %.0f GB/s that it gives (%s); the shape needs %s",
            units_bytes(moved).text, counted->total.gpu_time_us, m->dram_gb_per_s, 100 * m->dram_ratio,
            row->device->dram_gb_per_s, row->source, units_bytes(needed).text);
  if (moved >= finding_limits.moved_again_min * needed)
    rules_put(f->advice,
              "move each byte once: %.2fx fewer bytes when blocks that run together share a head's K and V in L2",
              moved / needed);
  else
    put_memory_advice(row, f->advice);
}

bool bound_rules_memory_bound(const struct rules_row *row, struct finding *f) {
  if (!is_near(row, PIPE_DRAM)) return false;
  const struct mode_metrics *m = &row->metrics->mode[row->roofs.mode];
  if (row->roofs.counted[PIPE_DRAM]) {
    put_memory_as_counted(row, f);
    return true;
  }
  rules_put(f->measured, "%.0f GB/s = %.0f %% of the %.0f GB/s that DRAM reaches (%s), at %.2f FLOP per byte",
            m->gb_per_s, 100 * share_of(row), roofs_dram_gb_per_s(row->device), time_mode_name(row->roofs.mode),
            row->metrics->flop_per_byte);
  put_memory_advice(row, f->advice);
  return true;
}

static void append_tensor_pipe(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct counted *counted = row->counted;
  if (counted == NULL || row->roofs.products < PRODUCTS_MMA_SYNC || !isfinite(counted->total.tensor_pipe_ratio))
    return;
  rules_append(out, "; the tensor pipe was at %.0f %% of its peak (%s)", 100 * counted->total.tensor_pipe_ratio,
               row->source);
}

/* Can the kernel still compute tiles that the mask hides? The roof counts visible pairs alone, so a kernel with
 * hidden ones reaches no more of it than their share of all. */
static bool has_masked_tiles(const struct rules_row *row) {
  const double visible = (double)work_pairs(row->shape) / (double)work_unmasked_pairs(row->shape);
  return visible < 1 && share_of(row) <= visible;
}

bool bound_rules_compute_bound(const struct rules_row *row, struct finding *f) {
  if (!is_near(row, PIPE_PRODUCTS)) return false;
  put_nearest(row, f->measured);
  append_tensor_pipe(row, f->measured);
  if (!(step_tensor(row, f) && evidence_supports(row, f)) && !(step_wgmma(row, f) && evidence_supports(row, f))) {
    rules_promise_nothing(f);
    rules_put(f->advice, "at most %.2fx is left on this pipe; %stake a narrower data type", 1 / share_of(row),
              has_masked_tiles(row) ? "skip tiles that the mask hides, or " : "");
  }
  return true;
}

/* Pipes whose remedy is one sentence. */
static bool put_bound(const struct rules_row *row, enum roofs_pipe pipe, const char *advice, struct finding *f) {
  if (!is_near(row, pipe)) return false;
  put_nearest(row, f->measured);
  rules_put(f->advice, "at most %.2fx is left on this pipe; %s", 1 / share_of(row), advice);
  return true;
}

bool bound_rules_exp_bound(const struct rules_row *row, struct finding *f) {
  return put_bound(row, PIPE_EX2,
                   "compute some exponentials by a polynomial on the FMA pipe, and let them run under the products",
                   f);
}

bool bound_rules_l2_bound(const struct rules_row *row, struct finding *f) {
  return put_bound(row, PIPE_L2, "take more query rows per block, or share K and V within a cluster (TMA multicast)",
                   f);
}

bool bound_rules_shared_bound(const struct rules_row *row, struct finding *f) {
  return put_bound(
      row, PIPE_SHARED,
      "give a warp 32 query rows for each K and V fragment that it reads, or let wgmma read them once per 64", f);
}

bool bound_rules_between_roofs(const struct rules_row *row, struct finding *f) {
  if (!row->roofs.known || is_far(row) || is_near(row, row->roofs.nearest)) return false;
  put_nearest(row, f->measured);
  counter_rules_append_stall(row, f->measured);
  choose_step(row, f);
  return true;
}

bool bound_rules_latency_bound(const struct rules_row *row, struct finding *f) {
  if (!is_far(row) || is_launch_sized(row)) return false;
  put_nearest(row, f->measured);
  const struct mode_metrics *m = &row->metrics->mode[row->roofs.mode];
  if (isfinite(m->floor_us))
    rules_append(f->measured, ": %s where the shape's floor is %s",
                 rules_us(row->record->time[row->roofs.mode].us.median).text, rules_us(m->floor_us).text);
  append_tile_clocks(row, f->measured);
  counter_rules_append_stall(row, f->measured);
  choose_step(row, f);
  return true;
}

bool bound_rules_launch_bound(const struct rules_row *row, struct finding *f) {
  if (!is_far(row) || !is_launch_sized(row)) return false;
  const enum time_mode mode = row->mode;
  const uint32_t launches = row->pass_count;
  rules_put(f->measured,
            "%.2f us (%s) for %u %s, where the work needs %s: launching costs about as much; nearest is the %s roof, "
            "at %.2g %%",
            row->now_us, time_mode_name(mode), launches, launches == 1 ? "launch" : "launches",
            rules_us(row->metrics->mode[mode].floor_us).text, roofs_pipe_name(&row->roofs, row->roofs.nearest),
            100 * share_of(row));
  rules_put(f->advice, "batch more work per launch or merge it with its neighbours%s",
            mode == TIME_HOT ? "; launches of this time are queued in a graph already"
                             : ", or replay launches as one graph");
  return true;
}

/* The clock is measured on the SMs. The driver's reasons lag behind it, so they are quoted and decide nothing. */
bool bound_rules_clock_lowered(const struct rules_row *row, struct finding *f) {
  const struct time_record *t = &row->record->time[row->mode];
  const double lost = 1 - t->sm_clock_mhz / row->device->sm_clock_max_mhz;
  if (!isfinite(row->now_us) || !(lost >= finding_limits.clock_lost_min)) return false;
  rules_put(f->measured, "%.0f MHz of %.0f (%s)%s", t->sm_clock_mhz, row->device->sm_clock_max_mhz,
            time_mode_name(row->mode),
            (t->throttle_reasons & (THROTTLE_POWER_CAP | THROTTLE_PROTECTING)) != 0
                ? "; the driver reports a power or thermal limit"
                : "");
  rules_put(f->advice,
            "at most %.0f %% of the time is the clock's; fewer bytes and instructions per product leave it higher; "
            "compare kernels at equal clocks",
            100 * lost);
  return true;
}
