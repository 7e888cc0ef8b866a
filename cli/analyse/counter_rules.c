/* Findings that only a profiler's counters can give, and how the others quote them. */
#include <math.h>
#include <string.h>

#include "cli/analyse/rules.h"

static const double SECTOR_BYTES = 32;
static const double L1_FILL_BYTES_PER_CYCLE = 64; /* that L2 gives an SM */
static const double MILLION = 1e6;

/* ---- costs --------------------------------------------------------------------------------------------------- */

/* Cycles of all SMs that had a block, while the pass ran; NAN when unknown. */
static double busy_cycles(const struct rules_row *row, uint32_t pass) {
  const struct counter_values *v = rules_counted_pass(row, pass);
  const struct device_info *device = row->device;
  const double by_clock = device->sm_clock_max_mhz > 0 ? v->gpu_time_us * device->sm_clock_max_mhz : (double)NAN;
  const double cycles = isfinite(v->sm_cycles) ? v->sm_cycles : by_clock;
  const uint64_t blocks = row->metrics->pass[pass].blocks;
  return cycles * (double)(blocks < device->sms ? blocks : device->sms);
}

/* The badness of a pass: the share of its time that the waste takes at least, or the wasted share itself where the
 * time is not known; 0 below the limits. */
static double badness(double wasted, double all, double wasted_min, double cost, double cost_min) {
  const double share = all > 0 ? wasted / all : 0;
  if (!(share >= wasted_min)) return 0;
  return isnan(cost) ? share : cost >= cost_min ? cost : 0;
}

/* The share of the cycles that repeats take: shared memory processes one wavefront per cycle. */
static double conflict_cost(const struct rules_row *row, uint32_t pass) {
  return metrics_shared_repeats(rules_counted_pass(row, pass)) / busy_cycles(row, pass);
}

static double conflict_badness(const struct rules_row *row, uint32_t pass) {
  const struct counter_values *v = rules_counted_pass(row, pass);
  if (v == NULL) return 0;
  return badness(metrics_shared_repeats(v), v->shared_wavefronts, finding_limits.repeated_passes_min,
                 conflict_cost(row, pass), finding_limits.conflict_cost_min);
}

static double excess_cost(const struct rules_row *row, uint32_t pass) {
  const double bytes = rules_counted_pass(row, pass)->global_excess_sectors * SECTOR_BYTES;
  return bytes / L1_FILL_BYTES_PER_CYCLE / busy_cycles(row, pass);
}

static double excess_badness(const struct rules_row *row, uint32_t pass) {
  const struct counter_values *v = rules_counted_pass(row, pass);
  if (v == NULL) return 0;
  return badness(v->global_excess_sectors, v->global_sectors, finding_limits.excess_sectors_min,
                 excess_cost(row, pass), finding_limits.excess_cost_min);
}

/* ---- findings ------------------------------------------------------------------------------------------------ */

static void append_cost(const struct rules_row *row, double cost, const char *unit, char out[FINDING_TEXT_MAX]) {
  if (isfinite(cost))
    rules_append(out, "; at %s that is %.0f %% of the time of the SMs in use", unit, 100 * fmin(cost, 1));
  rules_append(out, " (%s)", row->source);
}

/* Promises the time that the pass takes without the cost. */
static void promise_cost(const struct rules_row *row, uint32_t pass, double cost, struct finding *f) {
  rules_promise(row, row->now_us * (1 - fmin(cost, 0.95) * rules_pass_share(row, pass)), f);
}

bool counter_rules_bank_conflicts(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, conflict_badness, &f->pass)) return false;
  const struct counter_values *v = rules_counted_pass(row, f->pass);
  const double repeats = metrics_shared_repeats(v);
  rules_put(f->measured, "%s%.3g of %.3g million passes through shared memory are repeats, %.0f %%",
            rules_prefix_of(row, f->pass).text, repeats / MILLION, v->shared_wavefronts / MILLION,
            100 * repeats / v->shared_wavefronts);
  append_cost(row, conflict_cost(row, f->pass), "one pass a cycle", f->measured);
  rules_put(f->advice,
            "let the lanes of a warp hit 32 banks: pad rows of shared memory by 16 bytes, or XOR the 16-byte column "
            "with the row, and read fragments with ldmatrix");
  promise_cost(row, f->pass, conflict_cost(row, f->pass), f);
  return true;
}

bool counter_rules_uncoalesced(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, excess_badness, &f->pass)) return false;
  const struct counter_values *v = rules_counted_pass(row, f->pass);
  rules_put(f->measured,
            "%s%.3g million sectors of global memory are touched where %.3g million hold what is asked for, %.1fx",
            rules_prefix_of(row, f->pass).text, v->global_sectors / MILLION,
            (v->global_sectors - v->global_excess_sectors) / MILLION,
            v->global_sectors / fmax(v->global_sectors - v->global_excess_sectors, 1));
  append_cost(row, excess_cost(row, f->pass), "64 bytes a cycle from L2", f->measured);
  rules_put(f->advice,
            "let neighbouring lanes take neighbouring 16-byte words of one row, for loads and for stores of O; turn "
            "tiles round in shared memory, not on the way to it");
  promise_cost(row, f->pass, excess_cost(row, f->pass), f);
  return true;
}

/* ---- quotes -------------------------------------------------------------------------------------------------- */

void counter_rules_append_occupancy(const struct rules_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  const struct counter_values *v = rules_counted_pass(row, pass);
  if (v == NULL || !isfinite(v->achieved_occupancy_ratio)) return;
  rules_append(out, ", of which %.0f %% was reached (%s)", 100 * v->achieved_occupancy_ratio, row->source);
}

/* Names are ncu's. */
static const struct {
  const char *name, *meaning, *advice;
} stalls[] = {
    {"long_scoreboard", "loads from L2 or DRAM",
     "have more loads in flight: stage K/V tiles further ahead (cp.async or TMA), more warps per SM"},
    {"short_scoreboard", "shared memory or exp",
     "fewer trips through shared memory: keep scores and P in registers, wider reads, one exp2 per score"},
    {"mio_throttle", "the queue to shared memory and special functions",
     "fewer and wider accesses of shared memory: ldmatrix, 16 bytes a lane"},
    {"lg_throttle", "the queue to global and local memory",
     "fewer and wider accesses of global memory: 16 bytes a lane, no spills"},
    {"barrier", "other warps at a barrier",
     "fewer barriers per K/V tile: each warp its own rows end to end, or producers and consumers by mbarrier"},
    {"wait", "the fixed latency of their own last instruction",
     "more independent instructions per warp: two query tiles or two K/V tiles in turns"},
    {"math_pipe_throttle", "a busy arithmetic pipe",
     "that pipe is full while others idle: spread exponentials and products over time, or ask less of it"},
    {"gmma", "results of warpgroup products",
     "issue the next QK^T before waiting for this one: two warpgroups in turns, softmax of one under products of the "
     "other"},
    {"not_selected", "other warps, which issued first", "issue slots are the limit: fewer instructions per score"},
    {"no_instruction", "instructions to be fetched", "a smaller loop body: unroll less"},
};

static size_t find_stall(const char *name) {
  size_t i = 0;
  while (i < sizeof stalls / sizeof *stalls && strcmp(stalls[i].name, name) != 0) ++i;
  return i;
}

void counter_rules_append_stall(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct counted *counted = row->counted;
  if (counted == NULL || !counted->top_stall.known) return;
  const size_t i = find_stall(counted->top_stall.name);
  const char *meaning = i < sizeof stalls / sizeof *stalls ? stalls[i].meaning : NULL;
  rules_append(out, "; warps wait %.0f %% of their time for %s%s%s%s", 100 * counted->top_stall.ratio,
               meaning != NULL ? meaning : "", meaning != NULL ? " (" : "", counted->top_stall.name,
               meaning != NULL ? ")" : "");
  if (isfinite(counted->total.issue_ratio))
    rules_append(out, ", schedulers issue in %.0f %% of cycles", 100 * counted->total.issue_ratio);
  rules_append(out, " (%s)", row->source);
}

bool counter_rules_stall_advice(const struct rules_row *row, char out[FINDING_TEXT_MAX]) {
  const struct counted *counted = row->counted;
  const size_t i = counted != NULL && counted->top_stall.known ? find_stall(counted->top_stall.name) : SIZE_MAX;
  if (i >= sizeof stalls / sizeof *stalls) return false;
  rules_put(out, "%s", stalls[i].advice);
  return true;
}
