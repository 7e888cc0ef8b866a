/* Can two reports be compared at all: machine, driver, sweep, settings. */
#include "cli/gate/identity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gate/judge.h"
#include "cli/record/checked.h"

enum { IDENTITY_TEXT_MAX = sizeof((struct compare_difference *)0)->base };

/* ---- what must be alike -------------------------------------------------------------------------------------- */

/* Each writes one property of a report as text; "" when the report does not know it. */
typedef void identity_text(const struct journal_data *, char out[IDENTITY_TEXT_MAX]);

#define TEXT(name_, format_, ...)                                                   \
  static void name_(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) { \
    snprintf(out, IDENTITY_TEXT_MAX, format_, __VA_ARGS__);                         \
  }
#define DEVICE_TEXT(name_, format_, ...)                                            \
  static void name_(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) { \
    out[0] = '\0';                                                                  \
    if (data->has_device) snprintf(out, IDENTITY_TEXT_MAX, format_, __VA_ARGS__);   \
  }

DEVICE_TEXT(device_name, "%s", data->device.name)
DEVICE_TEXT(device_kind, "%s", data->device.kind == DEVICE_CUDA ? "cuda" : "cpu")
DEVICE_TEXT(capability, "%u.%u", (unsigned)data->device.cc_major, (unsigned)data->device.cc_minor)
DEVICE_TEXT(sms, "%u", (unsigned)data->device.sms)
DEVICE_TEXT(rates, "%.0f tensor and %.0f fp32 FLOP per clock and SM, DRAM %.0f GB/s, L2 %.1f MiB, %.0f MHz",
            data->device.tensor_flop_per_clk_sm, data->device.fp32_flop_per_clk_sm, data->device.dram_gb_per_s,
            (double)data->device.l2_bytes / (1 << 20), data->device.sm_clock_max_mhz)
DEVICE_TEXT(memory, "%.1f GiB", (double)data->device.memory_bytes / (double)(UINT64_C(1) << 30))
DEVICE_TEXT(driver_branch, "%.*s", (int)strcspn(data->device.driver, "."), data->device.driver)
DEVICE_TEXT(runtime, "%u.%u", (unsigned)(data->device.runtime_version / 1000),
            (unsigned)(data->device.runtime_version % 1000 / 10))
DEVICE_TEXT(cold_method, "%s", data->device.hides_launches ? "without host time" : "with host time")
DEVICE_TEXT(driver, "%s", data->device.driver)
/* "GPU-1a2b and 3 more" */
static void cards(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) {
  char more[32] = "";
  out[0] = '\0';
  if (data->card_count > 1) snprintf(more, sizeof more, " and %zu more", data->card_count - 1);
  if (data->has_device) snprintf(out, IDENTITY_TEXT_MAX, "%s%s", data->device.uuid, more);
}

/* What the machine's owner told the device to do; "" when the report does not tell. */
#define POLICY_TEXT(name_, known_, format_, ...)                                                \
  static void name_(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) {             \
    out[0] = '\0';                                                                              \
    if (data->policy.known && (known_)) snprintf(out, IDENTITY_TEXT_MAX, format_, __VA_ARGS__); \
  }

POLICY_TEXT(mig, true, "%s", data->policy.mig)
POLICY_TEXT(ecc, true, "%s", data->policy.ecc)
POLICY_TEXT(power_limit, isfinite(data->policy.power_limit_w), "%.0f W", data->policy.power_limit_w)
POLICY_TEXT(clocks,
            isfinite(data->policy.application_sm_clock_mhz) && isfinite(data->policy.application_memory_clock_mhz),
            "%.0f MHz, memory %.0f MHz", data->policy.application_sm_clock_mhz,
            data->policy.application_memory_clock_mhz)
POLICY_TEXT(clock_limits, isfinite(data->policy.max_sm_clock_mhz) && isfinite(data->policy.max_memory_clock_mhz),
            "%.0f MHz, memory %.0f MHz", data->policy.max_sm_clock_mhz, data->policy.max_memory_clock_mhz)
POLICY_TEXT(compute_mode, true, "%s", data->policy.compute_mode)
POLICY_TEXT(persistence, true, "%s", data->policy.persistence)
POLICY_TEXT(virtualization, true, "%s", data->policy.virtualization)
POLICY_TEXT(host_cpu, true, "%s", data->policy.host_cpu)
POLICY_TEXT(host_kernel, true, "%s", data->policy.host_kernel)
TEXT(budget, "%s", data->run.quick ? "quick" : "full")
TEXT(sweep, "%.40s, %s", data->run.sweep_name, data->run.sweep_hash)
TEXT(seed, "%" PRIu64, data->run.seed)
TEXT(commit, "%s", data->run.git_commit)
TEXT(version, "%s", data->run.version)
TEXT(toolkit, "%s", data->run.cuda)
TEXT(state, "%s", data->state)

/* "threshold 3 %, 2 cells of their own (1a2b3c4d)": what the sweep lets its cases lose. */
static void gate_settings(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) {
  const struct sweep_gate *gate = &data->run.gate;
  uint32_t hash = 2166136261u; /* FNV-1a of the globs and their percents */
  for (uint32_t i = 0; gate->known && i < gate->case_count; ++i) {
    char text[CELL_GLOB_MAX + 32];
    snprintf(text, sizeof text, "%s=%.17g", gate->cases[i].glob, gate->cases[i].threshold_percent);
    for (const char *c = text; *c != '\0'; ++c) hash = (hash ^ (unsigned char)*c) * 16777619u;
  }
  const double percent = gate->known ? gate->threshold_percent : 0;
  snprintf(out, IDENTITY_TEXT_MAX, "threshold %.17g %%, %u cells with their own (%08x)", percent,
           gate->known ? (unsigned)gate->case_count : 0, (unsigned)hash);
}

static const struct identity_key {
  const char *key;
  bool fatal; /* else a remark */
  bool both;  /* compared only when both sides know it; else a side that does not know it differs */
  identity_text *text;
} keys[] = {
    {"device", true, false, device_name},
    {"device kind", true, false, device_kind},
    {"compute capability", true, false, capability},
    {"SMs", true, false, sms},
    {"memory", true, false, memory},
    {"rates", true, false, rates},
    {"driver branch", true, false, driver_branch},
    {"CUDA runtime", true, false, runtime},
    {"cold times", true, false, cold_method},
    {"sweep", true, false, sweep},
    {"gate settings", true, false, gate_settings},
    {"input seed", true, false, seed},
    {"MIG", true, true, mig},
    {"ECC", true, true, ecc},
    {"power limit", true, true, power_limit},
    {"clocks asked for", true, true, clocks},
    {"clock limits", true, true, clock_limits},
    {"virtualization", true, true, virtualization},
    {"compute mode", false, true, compute_mode},
    {"persistence", false, true, persistence},
    {"time budget", false, false, budget},
    {"card", false, true, cards},
    {"host CPU", false, true, host_cpu},
    {"host kernel", false, true, host_kernel},
    {"driver", false, true, driver},
    {"attnbench", false, true, version},
    {"commit", false, true, commit},
    {"CUDA toolkit", false, true, toolkit},
    {"run", false, true, state},
};

/* ---- comparing ----------------------------------------------------------------------------------------------- */

void identity_add_difference(struct compare *out, const char *key, bool fatal, const char *base, const char *now) {
  out->comparable = out->comparable && !fatal;
  if (out->difference_count == COMPARE_DIFFERENCES_MAX) return;
  struct compare_difference *difference = &out->difference[out->difference_count++];
  difference->fatal = fatal;
  snprintf(difference->key, sizeof difference->key, "%s", key);
  snprintf(difference->base, sizeof difference->base, "%s", base);
  snprintf(difference->now, sizeof difference->now, "%s", now);
}

/* A cell that the base set out to measure and did not would be missed by nobody. */
static void check_whole(struct compare *out) {
  char base[IDENTITY_TEXT_MAX];
  if (out->base->record_count >= out->base->run.cell_count) return;
  snprintf(base, sizeof base, "%zu of %" PRIu64 " cells", out->base->record_count, out->base->run.cell_count);
  identity_add_difference(out, "measured", true, base, "a base must be whole");
}

static bool any_injected(const struct journal_data *data) {
  for (size_t i = 0; i < data->record_count; ++i) {
    if (data->records[i].injected.done) return true;
  }
  return false;
}

/* Times that somebody typed in: attnbench checked nothing of them. */
static bool is_by_hand(const struct journal_data *data) { return data->run.started_utc[0] == '\0'; }

/* Times that hold a tool's work, or a slowdown put in on purpose, say nothing of the kernels. A new report with an
 * injected slowdown is the gate's positive control and may be judged. */
static void check_honest(struct compare *out) {
  const char *base = out->base->run.profiled, *now = out->now->run.profiled;
  if (base[0] != '\0' || now[0] != '\0')
    identity_add_difference(out, "profiler", true, base[0] != '\0' ? base : "none", now[0] != '\0' ? now : "none");
  if (is_by_hand(out->base) || is_by_hand(out->now))
    identity_add_difference(out, "measured by attnbench", true, is_by_hand(out->base) ? "no: entered by hand" : "yes",
                            is_by_hand(out->now) ? "no: entered by hand" : "yes");
  if (out->base->is_edited || out->now->is_edited)
    identity_add_difference(out, "changed after it was written", false, out->base->is_edited ? "yes" : "no",
                            out->now->is_edited ? "yes" : "no");
  if (out->base->lacks_checksum || out->now->lacks_checksum)
    identity_add_difference(out, "checksum", false, out->base->lacks_checksum ? "none" : "there",
                            out->now->lacks_checksum ? "none" : "there");
  if (any_injected(out->base))
    identity_add_difference(out, "injected slowdown", true, "some cells", "a base must have none");
}

/* What was checked less than in the base may be wrong and pass. */
static void check_checks(struct compare *out) {
  const bool by_hand = is_by_hand(out->base) || is_by_hand(out->now);
  for (size_t i = 0; i < out->now->record_count && !by_hand; ++i) {
    const struct record *now = &out->now->records[i];
    const struct record *base = journal_find(out->base, i, now->attn_case.key, now->variant);
    if (base == NULL || base->status != CELL_ok || now->status != CELL_ok) continue;
    if (!base->check.done || !now->check.done || !checked_is_weaker(&now->check, &base->check)) continue;
    char cell[IDENTITY_TEXT_MAX];
    snprintf(cell, sizeof cell, "%.40s of %.40s was checked less than in the base", now->attn_case.key, now->variant);
    identity_add_difference(out, "check", true, "its check", cell);
    return;
  }
}

void identity_compare(struct compare *out) {
  out->comparable = true;
  check_whole(out);
  check_checks(out);
  check_honest(out);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    char base[IDENTITY_TEXT_MAX], now[IDENTITY_TEXT_MAX];
    keys[i].text(out->base, base);
    keys[i].text(out->now, now);
    const bool unknown = keys[i].both && (base[0] == '\0' || now[0] == '\0');
    if (unknown || strcmp(base, now) == 0) continue;
    identity_add_difference(out, keys[i].key, keys[i].fatal, base[0] != '\0' ? base : "not known",
                            now[0] != '\0' ? now : "not known");
  }
}

/* ---- baselines ----------------------------------------------------------------------------------------------- */

/* The fewest processes behind a time of the report; 0 when nothing is timed. */
static uint32_t fewest_processes(const struct journal_data *data) {
  uint32_t fewest = 0;
  for (size_t i = 0; i < data->record_count * TIME_MODE_COUNT; ++i) {
    const struct record *record = &data->records[i / TIME_MODE_COUNT];
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    if (!judge_is_timed(record, mode)) continue;
    const uint32_t count = record->process[mode].count > 0 ? record->process[mode].count : 1;
    if (fewest == 0 || count < fewest) fewest = count;
  }
  return fewest;
}

static bool is_dirty(const char *commit) {
  static const char mark[] = "+dirty";
  const size_t length = strlen(commit);
  return length >= sizeof mark - 1 && strcmp(commit + length - (sizeof mark - 1), mark) == 0;
}

struct status identity_check_baseline(const char *path, const struct journal_data *data) {
  const uint32_t processes = fewest_processes(data);
  if (strcmp(data->state, "complete") != 0)
    return status_make(STATUS_NOT_COMPARABLE, "%s: the run is %s; a baseline must be measured to its end", path,
                       data->state);
  if (is_dirty(data->run.git_commit))
    return status_make(
        STATUS_NOT_COMPARABLE,
        "%s: measured with uncommitted changes (%s), so nobody can repeat it; commit, build and measure again", path,
        data->run.git_commit);
  if (is_by_hand(data))
    return status_make(STATUS_NOT_COMPARABLE, "%s: its times were entered by hand; measure them with attnbench",
                       path);
  if (data->run.profiled[0] != '\0')
    return status_make(STATUS_NOT_COMPARABLE, "%s: measured under %s, whose work is in its times; measure without it",
                       path, data->run.profiled);
  if (any_injected(data))
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s: has cells with a slowdown put in (--inject-slowdown); measure without it", path);
  if (processes < COMPARE_BASELINE_MIN)
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s: has times of %u process%s, a baseline needs %d; measure with --rounds %d", path,
                       (unsigned)processes, processes == 1 ? "" : "es", COMPARE_BASELINE_MIN, COMPARE_BASELINE_MIN);
  return status_ok();
}
