/* Findings from what a block takes of its SM: shared memory, registers, threads. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyse/evidence.h"
#include "cli/analyse/gain.h"
#include "kernels/occupancy.h"

enum { SMEM_STEP_BYTES = 128 };

/* Full GPUs only: below one wave more resident blocks would find no work. Nor do more warps help where a pipe is busy
 * half of the time. */
static double occupancy_lack(const struct rules_row *row, uint32_t pass, const char *resource) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const uint32_t warps = m->resident_blocks * ((m->threads_per_block + 31) / 32);
  const bool limits = strcmp(m->limited_by, resource) == 0 && m->resident_blocks > 0;
  const bool busy =
      row->roofs.known && row->roofs.share[row->roofs.mode][row->roofs.nearest] >= finding_limits.busy_pipe_min;
  const bool gains =
      gain_residency((m->resident_blocks + 1.0) / m->resident_blocks) >= finding_limits.residency_gain_min;
  return limits && gains && !busy && m->waves >= 1 && warps <= finding_limits.few_warps_max ? 1 - m->occupancy_ratio
                                                                                            : 0;
}

/* The most bytes of shared memory per block, in whole steps, with which one more block fits; 0: its registers or its
 * threads forbid it. */
static uint64_t most_smem_bytes(const struct rules_row *row, uint32_t pass) {
  const struct pass_record *p = &row->record->pass[pass];
  const struct pass_metrics *m = &row->metrics->pass[pass];
  uint64_t bytes = metrics_smem_bytes(p) / SMEM_STEP_BYTES * SMEM_STEP_BYTES;
  while (bytes > 0 && occupancy_of(row->device, m->threads_per_block, p->facts.registers, bytes).resident_blocks <=
                          m->resident_blocks)
    bytes -= SMEM_STEP_BYTES;
  return bytes;
}

/* The most registers per thread, below those that there are, with which one more block fits; 0: not even with one.
 * Fewer registers never fit fewer blocks. */
static uint32_t most_registers(const struct rules_row *row, uint32_t pass) {
  const struct pass_record *p = &row->record->pass[pass];
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const uint32_t registers = p->facts.registers;
  uint32_t fits = 0;
  for (uint32_t step = UINT32_C(1) << 31; step > 0; step >>= 1) {
    if (step >= registers || fits > registers - step) continue;
    const uint32_t tried = fits + step;
    const struct occupancy then = occupancy_of(row->device, m->threads_per_block, tried, metrics_smem_bytes(p));
    if (then.resident_blocks > m->resident_blocks) fits = tried;
  }
  return fits;
}

static double smem_lack(const struct rules_row *row, uint32_t pass) {
  const double lack = occupancy_lack(row, pass, "shared memory");
  return lack > 0 && most_smem_bytes(row, pass) > 0 ? lack : 0;
}
static double register_lack(const struct rules_row *row, uint32_t pass) {
  const bool on_purpose = row->record->math != ATTN_MATH_FP32 && evidence_in_registers(row->record);
  const double lack = on_purpose ? 0 : occupancy_lack(row, pass, "registers");
  return lack > 0 && most_registers(row, pass) > 0 ? lack : 0;
}

bool resource_rules_smem_limits_occupancy(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, smem_lack, &f->pass)) return false;
  const struct pass_record *p = &row->record->pass[f->pass];
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  rules_put(f->measured, "%s%" PRIu64 " bytes of shared memory per block: blocks per SM %u, occupancy %.0f %%",
            rules_prefix_of(row, f->pass).text, metrics_smem_bytes(p), m->resident_blocks, 100 * m->occupancy_ratio);
  counter_rules_append_occupancy(row, f->pass, f->measured);
  rules_put(f->advice,
            "need at most %" PRIu64 " bytes per block (fewer stages, smaller tiles, 16-bit staging) to fit %u blocks",
            most_smem_bytes(row, f->pass), m->resident_blocks + 1);
  f->change = CHANGE_more_resident;
  rules_promise_ratio(row, gain_residency((m->resident_blocks + 1.0) / m->resident_blocks), f);
  return true;
}

bool resource_rules_registers_limit_occupancy(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, register_lack, &f->pass)) return false;
  const struct pass_record *p = &row->record->pass[f->pass];
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  rules_put(f->measured, "%s%u registers per thread x %u threads: blocks per SM %u, occupancy %.0f %%",
            rules_prefix_of(row, f->pass).text, p->facts.registers, m->threads_per_block, m->resident_blocks,
            100 * m->occupancy_ratio);
  counter_rules_append_occupancy(row, f->pass, f->measured);
  rules_put(
      f->advice,
      "need at most %u registers per thread to fit %u blocks: less state per thread, then __launch_bounds__(%u, %u)",
      most_registers(row, f->pass), m->resident_blocks + 1, m->threads_per_block, m->resident_blocks + 1);
  f->change = CHANGE_more_resident;
  return true;
}

/* Local memory that is there but never touched costs nothing: where a profiler counted, its count decides. */
static double local_memory(const struct rules_row *row, uint32_t pass) {
  const struct counter_values *counted = rules_counted_pass(row, pass);
  const bool knows = counted != NULL && isfinite(counted->local_bytes);
  return knows ? counted->local_bytes : row->record->pass[pass].facts.local_bytes;
}

/* A compiler's figure that is not known leaves the traffic alone to speak. */
static void put_spills(const struct rules_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  const struct pass_facts *facts = &row->record->pass[pass].facts;
  const struct counter_values *counted = rules_counted_pass(row, pass);
  rules_put(out, "%s", rules_prefix_of(row, pass).text);
  if (facts->local_bytes > 0)
    rules_append(out, "%s of local memory per thread at %u registers per thread",
                 rules_count(facts->local_bytes, "byte").text, facts->registers);
  if (counted != NULL && isfinite(counted->local_bytes))
    rules_append(out, "%s%s of local memory loaded and stored per launch (%s)", facts->local_bytes > 0 ? "; " : "",
                 units_bytes(counted->local_bytes).text, row->source);
}

bool resource_rules_spills(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, local_memory, &f->pass)) return false;
  const uint32_t bytes = row->record->pass[f->pass].facts.local_bytes;
  char fewer[48] = "";
  put_spills(row, f->pass, f->measured);
  if (bytes > 0) snprintf(fewer, sizeof fewer, "at least %u ", (bytes + 3) / 4);
  rules_put(f->advice,
            "keep %sfewer 32-bit values alive per thread (smaller tile per thread, constant indices into unrolled "
            "arrays), or allow more registers in __launch_bounds__",
            fewer);
  return true;
}

static double idle_share(const struct rules_row *row, uint32_t pass) {
  const double idle = row->metrics->pass[pass].idle_thread_ratio;
  return idle >= finding_limits.idle_threads_min ? idle : 0;
}

bool resource_rules_idle_threads(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, idle_share, &f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const struct attn_pass *pass = &row->record->pass[f->pass].pass;
  const uint32_t busy = pass->row_threads, sharers = m->threads_per_block / busy;
  rules_put(f->measured, "%s%u of %u threads hold a query row in the compute phase",
            rules_prefix_of(row, f->pass).text, busy, m->threads_per_block);
  if (pass->producer_threads > 0) rules_append(f->measured, " and %u fetch for them", pass->producer_threads);
  rules_append(f->measured, ": %.0f %% wait", 100 * m->idle_thread_ratio);
  if (sharers > 1)
    rules_put(f->advice, "let %u threads share a query row (each takes D/%u, shuffle reduction) or launch %u threads",
              sharers, sharers, busy);
  else
    rules_put(f->advice, "launch %u threads, or spread the rows over all %u", busy, m->threads_per_block);
  f->change = CHANGE_threads_per_row;
  rules_promise_ratio(row, sqrt((double)m->threads_per_block / busy), f);
  return true;
}
