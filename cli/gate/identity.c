/* Can two reports be compared at all: machine, driver, sweep, settings. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gate/judge.h"

enum { IDENTITY_TEXT_MAX = sizeof((struct compare_difference *)0)->base };

/* ---- what must be alike -------------------------------------------------------------------------------------- */

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

/* "GPU-1a2b and 3 more" */
static void cards(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) {
  char more[32] = "";
  out[0] = '\0';
  if (data->card_count > 1) snprintf(more, sizeof more, " and %zu more", data->card_count - 1);
  if (data->has_device) snprintf(out, IDENTITY_TEXT_MAX, "%s%s", data->device.uuid, more);
}

#define DEVICE          data->has_device
#define POLICY          data->policy.known /* what the machine's owner told the device to do */
#define POLICY_OF(a, b) (POLICY && isfinite(data->policy.a) && isfinite(data->policy.b))

/* IDENTITY(function, name; does a difference forbid the comparison, else it is a remark; is it compared only when
 * both sides know it, else a side that does not know it differs; is it known, printf format and values of its text
 * from `data`). OWN: the function is written out above. */
#define IDENTITY_MAP(IDENTITY, OWN)                                                                                \
  IDENTITY(device, "device", true, false, DEVICE, "%s", data->device.name)                                         \
  IDENTITY(kind, "device kind", true, false, DEVICE, "%s", data->device.kind == DEVICE_CUDA ? "cuda" : "cpu")      \
  IDENTITY(capability, "compute capability", true, false, DEVICE, "%" PRIu32 ".%" PRIu32, data->device.cc_major,   \
           data->device.cc_minor)                                                                                  \
  IDENTITY(sms, "SMs", true, false, DEVICE, "%" PRIu32, data->device.sms)                                          \
  IDENTITY(memory, "memory", true, false, DEVICE, "%.1f GiB",                                                      \
           (double)data->device.memory_bytes / (double)(UINT64_C(1) << 30))                                        \
  IDENTITY(rates, "rates", true, false, DEVICE,                                                                    \
           "%.0f tensor and %.0f fp32 FLOP per clock and SM, DRAM %.0f GB/s, L2 %.1f MiB, %.0f MHz",               \
           data->device.tensor_flop_per_clk_sm, data->device.fp32_flop_per_clk_sm, data->device.dram_gb_per_s,     \
           (double)data->device.l2_bytes / (1 << 20), data->device.sm_clock_max_mhz)                               \
  IDENTITY(branch, "driver branch", true, false, DEVICE, "%.*s", (int)strcspn(data->device.driver, "."),           \
           data->device.driver)                                                                                    \
  IDENTITY(runtime, "CUDA runtime", true, false, DEVICE, "%u.%u", (unsigned)(data->device.runtime_version / 1000), \
           (unsigned)(data->device.runtime_version % 1000 / 10))                                                   \
  IDENTITY(cold, "cold times", true, false, DEVICE, "%s",                                                          \
           data->device.hides_launches ? "without host time" : "with host time")                                   \
  IDENTITY(sweep, "sweep", true, false, true, "%.40s, %s", data->run.sweep_name, data->run.sweep_hash)             \
  OWN(gate_settings, "gate settings", true, false)                                                                 \
  IDENTITY(seed, "input seed", true, false, true, "%" PRIu64, data->run.seed)                                      \
  IDENTITY(mig, "MIG", true, true, POLICY, "%s", data->policy.mig)                                                 \
  IDENTITY(ecc, "ECC", true, true, POLICY, "%s", data->policy.ecc)                                                 \
  IDENTITY(power_limit, "power limit", true, true, POLICY_OF(power_limit_w, power_limit_w), "%.0f W",              \
           data->policy.power_limit_w)                                                                             \
  IDENTITY(clocks, "clocks asked for", true, true,                                                                 \
           POLICY_OF(application_sm_clock_mhz, application_memory_clock_mhz), "%.0f MHz, memory %.0f MHz",         \
           data->policy.application_sm_clock_mhz, data->policy.application_memory_clock_mhz)                       \
  IDENTITY(clock_limits, "clock limits", true, true, POLICY_OF(max_sm_clock_mhz, max_memory_clock_mhz),            \
           "%.0f MHz, memory %.0f MHz", data->policy.max_sm_clock_mhz, data->policy.max_memory_clock_mhz)          \
  IDENTITY(virtualization, "virtualization", true, true, POLICY, "%s", data->policy.virtualization)                \
  IDENTITY(compute_mode, "compute mode", false, true, POLICY, "%s", data->policy.compute_mode)                     \
  IDENTITY(persistence, "persistence", false, true, POLICY, "%s", data->policy.persistence)                        \
  IDENTITY(budget, "time budget", false, false, true, "%s", data->run.quick ? "quick" : "full")                    \
  OWN(cards, "card", false, true)                                                                                  \
  IDENTITY(host_cpu, "host CPU", false, true, POLICY, "%s", data->policy.host_cpu)                                 \
  IDENTITY(host_kernel, "host kernel", false, true, POLICY, "%s", data->policy.host_kernel)                        \
  IDENTITY(driver, "driver", false, true, DEVICE, "%s", data->device.driver)                                       \
  IDENTITY(version, "attnbench", false, true, true, "%s", data->run.version)                                       \
  IDENTITY(commit, "commit", false, true, true, "%s", data->run.git_commit)                                        \
  IDENTITY(kernel, "commit of the kernel", false, true, true, "%s", data->run.commit)                              \
  IDENTITY(toolkit, "CUDA toolkit", false, true, true, "%s", data->run.cuda)                                       \
  IDENTITY(steps, "processes of a row", false, false, true, "%s",                                                  \
           data->run.in_steps ? "until its verdict was clear" : "as many as of all")                               \
  IDENTITY(state, "run", false, true, true, "%s", data->state)

/* Each writes one property of a report as text; "" when the report does not know it. */
#define IDENTITY_TEXT(function, key_, fatal_, both_, known_, format_, ...)             \
  static void function(const struct journal_data *data, char out[IDENTITY_TEXT_MAX]) { \
    out[0] = '\0';                                                                     \
    if (known_) snprintf(out, IDENTITY_TEXT_MAX, format_, __VA_ARGS__);                \
  }
#define IDENTITY_NONE(...)
IDENTITY_MAP(IDENTITY_TEXT, IDENTITY_NONE)

static const struct identity_key {
  const char *key;
  bool fatal, both;
  void (*text)(const struct journal_data *, char out[IDENTITY_TEXT_MAX]);
} keys[] = {
#define IDENTITY_ROW(function, key_, fatal_, both_, ...) {key_, fatal_, both_, function},
    IDENTITY_MAP(IDENTITY_ROW, IDENTITY_ROW)
#undef IDENTITY_ROW
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
