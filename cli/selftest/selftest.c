/* Judges what a device's timer said of launches whose duration is known. */
#include "cli/selftest/selftest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/stats.h"

/* ---- the worker's line --------------------------------------------------------------------------------------- */

static const struct field sample_fields[] = {
    FIELD("time_us", F64, struct selftest_sample, time_us),
    FIELD("truth_us", F64, struct selftest_sample, truth_us),
    {0},
};

static const struct field timing_fields[] = {
    FIELD("launches", U32, struct selftest_timing, launches, .min = 1),
    FIELD("samples", ARRAY, struct selftest_timing, sample, .fields = sample_fields, .capacity = SELFTEST_SAMPLES,
          .count_offset = offsetof(struct selftest_timing, count), .stride = sizeof(struct selftest_sample)),
    FIELD("constant_us", F64, struct selftest_timing, constant_us),
    {0},
};

static const struct field spin_fields[] = {
    FIELD("target_us", F64, struct selftest_spin, target_us),
    FIELD("cold", OBJECT, struct selftest_spin, timing[TIME_COLD], .fields = timing_fields),
    FIELD("hot", OBJECT, struct selftest_spin, timing[TIME_HOT], .fields = timing_fields),
    {0},
};

static const struct field facts_fields[] = {
    FIELD("tick_us", F64, struct selftest_facts, tick_us),
    FIELD("event_step_us", F64, struct selftest_facts, event_step_us),
    FIELD("event_pair_us", F64, struct selftest_facts, event_pair_us),
    FIELD("event_kernel_us", F64, struct selftest_facts, event_kernel_us),
    FIELD("graph_launch_us", F64, struct selftest_facts, graph_launch_us),
    FIELD("graph_node_us", F64, struct selftest_facts, graph_node_us),
    FIELD("read_bytes", F64, struct selftest_facts, read_bytes),
    FIELD("flushed_us", F64, struct selftest_facts, flushed_us),
    FIELD("unflushed_us", F64, struct selftest_facts, unflushed_us),
    FIELD("read_constant_us", F64, struct selftest_facts, read_constant_us),
    FIELD("spin_mhz", F64, struct selftest_facts, spin_mhz),
    FIELD("stamp_mhz", F64, struct selftest_facts, stamp_mhz),
    FIELD("nvml_mhz", F64, struct selftest_facts, nvml_mhz),
    FIELD("spins", ARRAY, struct selftest_facts, spin, .fields = spin_fields, .capacity = SELFTEST_SPINS,
          .count_offset = offsetof(struct selftest_facts, spin_count), .stride = sizeof(struct selftest_spin)),
    {0},
};

const struct field selftest_fields[] = {
    FIELD("device", OBJECT, struct selftest_result, device, .fields = record_device_fields),
    FIELD("facts", OBJECT, struct selftest_result, facts, .fields = facts_fields),
    {0},
};

char *selftest_to_line(const struct selftest_result *result) { return fields_to_line(selftest_fields, result); }

struct status selftest_from_line(const char *line, size_t length, struct selftest_result *out) {
  memset(out, 0, sizeof *out);
  return fields_from_line("self-test", line, length, selftest_fields, out);
}

/* ---- spins --------------------------------------------------------------------------------------------------- */

static const double spin_bound_us = 1.0, spin_bound_ratio = 0.01;

double selftest_residual_us(const struct selftest_timing *timing) {
  double us[SELFTEST_SAMPLES], sum_us = 0;
  const uint32_t n = timing->count, cut = n / 4;
  if (n == 0) return NAN;
  for (uint32_t i = 0; i < n; ++i) us[i] = timing->sample[i].time_us - timing->sample[i].truth_us;
  qsort(us, n, sizeof *us, stats_order);
  for (uint32_t i = cut; i < n - cut; ++i) sum_us += us[i];
  return sum_us / (n - 2 * cut) - timing->constant_us;
}

/* Medians over the samples; NAN without any. */
static struct selftest_sample median_sample(const struct selftest_timing *timing) {
  double time_us[SELFTEST_SAMPLES], truth_us[SELFTEST_SAMPLES];
  if (timing->count == 0) return (struct selftest_sample){NAN, NAN};
  for (uint32_t i = 0; i < timing->count; ++i) {
    time_us[i] = timing->sample[i].time_us;
    truth_us[i] = timing->sample[i].truth_us;
  }
  return (struct selftest_sample){stats_median(time_us, timing->count), stats_median(truth_us, timing->count)};
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

const char *selftest_verdict_name(enum selftest_verdict verdict) {
  static const char *const names[SELFTEST_VERDICT_COUNT] = {"pass", "fail", "unknown"};
  return names[verdict];
}

static void add_line(struct selftest_judgement *out, struct selftest_line line, bool may_be_unknown) {
  const bool unknown = !isfinite(line.value);
  line.verdict = unknown ? (may_be_unknown ? SELFTEST_UNKNOWN : SELFTEST_FAIL)
                         : (line.value >= line.low && line.value <= line.high ? SELFTEST_PASS : SELFTEST_FAIL);
  ++out->verdict_count[line.verdict];
  out->line[out->line_count++] = line;
}

static void add_spin(struct selftest_judgement *out, const struct selftest_spin *spin, enum time_mode mode) {
  const struct selftest_timing *timing = &spin->timing[mode];
  const struct selftest_sample median = median_sample(timing);
  const double bound_us = fmax(spin_bound_us, spin_bound_ratio * median.truth_us);
  struct selftest_line line = {
      .unit = "us", .value = selftest_residual_us(timing), .low = -bound_us, .high = bound_us};
  snprintf(line.name, sizeof line.name, "%s %g us", time_mode_name(mode), spin->target_us);
  snprintf(line.about, sizeof line.about, "%.2f measured, %.2f true, %.2f constant, x%u", median.time_us,
           median.truth_us, timing->constant_us, timing->launches);
  add_line(out, line, false);
}

static void add_spins(struct selftest_judgement *out, const struct selftest_facts *facts) {
  static const struct selftest_spin none = {.target_us = 0};
  for (enum time_mode mode = TIME_COLD; mode < TIME_MODE_COUNT; ++mode) {
    for (uint32_t i = 0; i < facts->spin_count; ++i) add_spin(out, &facts->spin[i], mode);
    if (facts->spin_count == 0) add_spin(out, &none, mode);
  }
}

/* ---- everything else ----------------------------------------------------------------------------------------- */

static double value_tick(const struct selftest_result *r) { return r->facts.tick_us; }
static double value_event_step(const struct selftest_result *r) { return r->facts.event_step_us; }
static double value_event_pair(const struct selftest_result *r) { return r->facts.event_pair_us; }
static double value_event_drift(const struct selftest_result *r) {
  return r->facts.event_kernel_us - r->device.event_overhead_us;
}
static double value_graph_launch(const struct selftest_result *r) { return r->facts.graph_launch_us; }
static double value_graph_node(const struct selftest_result *r) { return r->facts.graph_node_us; }
static double value_blocker(const struct selftest_result *r) { return r->device.info.hides_launches; }

static double flushed_us(const struct selftest_facts *f) { return f->flushed_us - f->read_constant_us; }
static double unflushed_us(const struct selftest_facts *f) { return f->unflushed_us - f->read_constant_us; }

static double value_flush(const struct selftest_result *r) { return flushed_us(&r->facts) / unflushed_us(&r->facts); }
static double value_dram(const struct selftest_result *r) {
  return r->facts.read_bytes / flushed_us(&r->facts) * 1e-3 / r->device.info.dram_gb_per_s;
}
static double value_stamps(const struct selftest_result *r) { return r->facts.stamp_mhz / r->facts.spin_mhz; }
static double value_nvml(const struct selftest_result *r) { return r->facts.nvml_mhz / r->facts.spin_mhz; }

static void about_flush(const struct selftest_result *r, char *out, size_t size) {
  const struct selftest_facts *f = &r->facts;
  snprintf(out, size, "%.1f MB in %.2f us after a flush, %.2f without (%.2f constant)", f->read_bytes * 1e-6,
           flushed_us(f), unflushed_us(f), f->read_constant_us);
}
static void about_dram(const struct selftest_result *r, char *out, size_t size) {
  snprintf(out, size, "%.0f GB/s after a flush, of a DRAM peak of %.0f",
           r->facts.read_bytes / flushed_us(&r->facts) * 1e-3, r->device.info.dram_gb_per_s);
}
static void about_stamps(const struct selftest_result *r, char *out, size_t size) {
  snprintf(out, size, "%.1f MHz from stamps of all SMs, %.1f from a spin's own cycles", r->facts.stamp_mhz,
           r->facts.spin_mhz);
}
static void about_nvml(const struct selftest_result *r, char *out, size_t size) {
  snprintf(out, size, "%.0f MHz from NVML, %.1f from a spin's own cycles", r->facts.nvml_mhz, r->facts.spin_mhz);
}
static void about_event_drift(const struct selftest_result *r, char *out, size_t size) {
  snprintf(out, size, "an empty kernel: %.2f us now, %.2f at opening", r->facts.event_kernel_us,
           r->device.event_overhead_us);
}

enum { ON_CPU = 1 << DEVICE_CPU, ON_CUDA = 1 << DEVICE_CUDA };

static const struct check {
  const char *name, *unit;
  unsigned kinds; /* of devices that have this */
  bool may_be_unknown;
  double (*value)(const struct selftest_result *);
  double low, high;
  const char *about; /* or: */
  void (*write_about)(const struct selftest_result *, char *out, size_t size);
} checks[] = {
    /* Stamps are at least 200 us apart, so that a tick of 2 us is 1 % of them. */
    {"timer tick", "us", ON_CPU | ON_CUDA, false, value_tick, 0.0005, 2.0,
     "smallest step of the clock that is the truth", NULL},
    {"event step", "us", ON_CUDA, false, value_event_step, 0.0005, 1.0,
     "smallest step between times of an event pair", NULL},
    {"event pair", "us", ON_CUDA, false, value_event_pair, 0, 10.0, "two events with nothing between", NULL},
    {"event constant", "us", ON_CUDA, false, value_event_drift, -0.5, 0.5, NULL, about_event_drift},
    {"graph launch", "us", ON_CUDA, false, value_graph_launch, 0, 20.0,
     "a graph of one empty kernel between two events", NULL},
    {"graph node", "us", ON_CUDA, false, value_graph_node, 0, 3.0, "each further empty kernel in a graph", NULL},
    {"launches hidden", "", ON_CUDA, false, value_blocker, 1, 1,
     "1: no host time in a sample; 0: launches are serialised", NULL},
    {"flush", "ratio", ON_CPU | ON_CUDA, false, value_flush, 1.2, (double)INFINITY, NULL, about_flush},
    {"flushed to DRAM", "ratio", ON_CUDA, true, value_dram, 0, 1.05, NULL, about_dram},
    {"clock by stamps", "ratio", ON_CUDA, false, value_stamps, 0.995, 1.005, NULL, about_stamps},
    {"clock by NVML", "ratio", ON_CUDA, true, value_nvml, 0.97, 1.03, NULL, about_nvml},
};
enum { CHECK_COUNT = sizeof checks / sizeof *checks };
_Static_assert((size_t)SELFTEST_LINES_MAX >= 2 * SELFTEST_SPINS + CHECK_COUNT, "room for every line");

static void add_check(struct selftest_judgement *out, const struct check *check,
                      const struct selftest_result *result) {
  struct selftest_line line = {
      .unit = check->unit, .value = check->value(result), .low = check->low, .high = check->high};
  snprintf(line.name, sizeof line.name, "%s", check->name);
  if (check->write_about != NULL) {
    check->write_about(result, line.about, sizeof line.about);
  } else {
    snprintf(line.about, sizeof line.about, "%s", check->about);
  }
  add_line(out, line, check->may_be_unknown);
}

void selftest_judge(const struct selftest_result *result, struct selftest_judgement *out) {
  *out = (struct selftest_judgement){.exit_code = EXIT_CODE_OK};
  add_spins(out, &result->facts);
  for (size_t i = 0; i < CHECK_COUNT; ++i) {
    if ((checks[i].kinds & 1u << result->device.info.kind) != 0) add_check(out, &checks[i], result);
  }
  if (out->verdict_count[SELFTEST_FAIL] > 0) out->exit_code = EXIT_CODE_INTERNAL;
}
