/* Judges what a device's timer said of launches whose duration is known. */
#include "cli/measure/selftest.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/base/text.h"
#include "cli/base/units.h"

/* ---- the worker's line --------------------------------------------------------------------------------------- */

static const struct field sample_fields[] = {
    FIELD("time_us", F64, struct selftest_sample, time_us),
    FIELD("truth_us", F64, struct selftest_sample, truth_us),
    {0},
};

static const struct field timing_fields[] = {
    FIELD("launches", U32, struct selftest_timing, launches, .min = 1),
    FIELD_ARRAY_OF("samples", struct selftest_timing, sample, count, sample_fields),
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
    FIELD_ARRAY_OF("spins", struct selftest_facts, spin, spin_count, spin_fields),
    {0},
};

const struct field selftest_fields[] = {
    FIELD("device", OBJECT, struct selftest_result, device, .fields = record_device_fields),
    FIELD("facts", OBJECT, struct selftest_result, facts, .fields = facts_fields),
    {0},
};

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

static const char *verdict_name(enum selftest_verdict verdict) {
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
  snprintf(line.about, sizeof line.about, "%.2f - %.2f true - %.2f constant, x%u", median.time_us, median.truth_us,
           timing->constant_us, timing->launches);
  add_line(out, line, false);
}

static void add_spins(struct selftest_judgement *out, const struct selftest_facts *facts) {
  static const struct selftest_spin none = {.target_us = 0};
  for (enum time_mode mode = TIME_COLD; mode <= TIME_HOT; ++mode) {
    for (uint32_t i = 0; i < facts->spin_count; ++i) add_spin(out, &facts->spin[i], mode);
    if (facts->spin_count == 0) add_spin(out, &none, mode);
  }
}

/* ---- everything else ----------------------------------------------------------------------------------------- */

/* A check that does not follow from spins. */
struct check {
  const char *name, *unit;
  double value, low, high;
  bool may_be_unknown; /* the device need not tell */
};

__attribute__((format(printf, 3, 4))) static void add_check(struct selftest_judgement *out, struct check check,
                                                            const char *about, ...) {
  struct selftest_line line = {.unit = check.unit, .value = check.value, .low = check.low, .high = check.high};
  va_list arguments;
  va_start(arguments, about);
  vsnprintf(line.about, sizeof line.about, about, arguments);
  va_end(arguments);
  snprintf(line.name, sizeof line.name, "%s", check.name);
  add_line(out, line, check.may_be_unknown);
}

static void add_events(struct selftest_judgement *out, const struct selftest_result *result) {
  const struct selftest_facts *f = &result->facts;
  const double opened_us = result->device.event_overhead_us;
  add_check(out, (struct check){"event step", "us", f->event_step_us, 0.0005, 1.0, false},
            "smallest step between times of an event pair");
  add_check(out, (struct check){"event pair", "us", f->event_pair_us, 0, 10.0, false},
            "two events with nothing between");
  add_check(out, (struct check){"event constant", "us", f->event_kernel_us - opened_us, -0.5, 0.5, false},
            "an empty kernel: %.2f us now, %.2f at opening", f->event_kernel_us, opened_us);
  add_check(out, (struct check){"graph launch", "us", f->graph_launch_us, 0, 20.0, false},
            "a graph of one empty kernel between two events");
  add_check(out, (struct check){"graph node", "us", f->graph_node_us, 0, 3.0, false},
            "each further empty kernel in a graph");
  add_check(out, (struct check){"launches hidden", "", result->device.info.hides_launches, 1, 1, false},
            "1: no host time in a sample; 0: launches are serialised");
}

static void add_clocks(struct selftest_judgement *out, const struct selftest_facts *f) {
  add_check(out, (struct check){"clock by stamps", "ratio", f->stamp_mhz / f->spin_mhz, 0.995, 1.005, false},
            "%.1f MHz from stamps of all SMs, %.1f from a spin's own cycles", f->stamp_mhz, f->spin_mhz);
  add_check(out, (struct check){"clock by NVML", "ratio", f->nvml_mhz / f->spin_mhz, 0.97, 1.03, true},
            "%.0f MHz from NVML, %.1f from a spin's own cycles", f->nvml_mhz, f->spin_mhz);
}

void selftest_judge(const struct selftest_result *result, struct selftest_judgement *out) {
  const struct selftest_facts *f = &result->facts;
  const bool is_gpu = result->device.info.kind == DEVICE_CUDA;
  const double peak = result->device.info.dram_gb_per_s;
  const double flushed_us = f->flushed_us - f->read_constant_us, unflushed_us = f->unflushed_us - f->read_constant_us;
  const double gb_per_s = f->read_bytes / flushed_us * 1e-3;
  *out = (struct selftest_judgement){.exit_code = EXIT_CODE_OK};
  add_spins(out, f);
  /* Stamps are at least 200 us apart, so that a tick of 2 us is 1 % of them. */
  add_check(out, (struct check){"timer tick", "us", f->tick_us, 0.0005, 2.0, false},
            "smallest step of the clock that is the truth");
  if (is_gpu) add_events(out, result);
  add_check(out, (struct check){"flush", "ratio", flushed_us / unflushed_us, 1.2, (double)INFINITY, false},
            "%.1f MB in %.2f us after a flush, %.2f without (%.2f constant)", f->read_bytes * 1e-6, flushed_us,
            unflushed_us, f->read_constant_us);
  if (is_gpu)
    add_check(out, (struct check){"flushed to DRAM", "ratio", gb_per_s / peak, 0, 1.05, true},
              "%.0f GB/s after a flush, of a DRAM peak of %.0f", gb_per_s, peak);
  if (is_gpu) add_clocks(out, f);
  if (out->verdict_count[SELFTEST_FAIL] > 0) out->exit_code = EXIT_CODE_INTERNAL;
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

static const struct text_column columns[] = {{"check", "", true, 0, 0},   {"value", "", false, 0, 0},
                                             {"", "", true, 0, 0},        {"bounds", "", true, 1, 0},
                                             {"verdict", "", true, 0, 0}, {"", "", true, 0, 20}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void fill_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  static const char *const verdicts[SELFTEST_VERDICT_COUNT] = {"PASS", "FAIL", "unknown"};
  const struct selftest_line *line = of;
  char bounds[2 * UNITS_TEXT_MAX + 16];
  snprintf(bounds, sizeof bounds, isfinite(line->high) ? "%s to %s" : "at least %s", units_short(line->low).text,
           units_short(line->high).text);
  TEXT_CELLS(cell, line->name, units_fixed(line->value, 3).text, line->unit, bounds, verdicts[line->verdict],
             line->about);
}

struct status selftest_print_text(const struct selftest_report *report, FILE *file) {
  const struct selftest_judgement *judgement = report->judgement;
  const uint64_t *count = judgement->verdict_count;
  char sum[160], title[sizeof report->result->device.info.name + 80];
  snprintf(title, sizeof title, "attnbench %s: is the timer of %s to be trusted?", version_string(),
           report->result->device.info.name);
  text_wrap(file, "", 0, title);
  fputc('\n', file);
  const struct text_table table = TEXT_TABLE(columns, COLUMNS, judgement->line, judgement->line_count, fill_cells);
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, "--json");
  fputc('\n', file);
  text_wrap(
      file, "cold and hot lines: ", 0,
      "the measured time of a launch that spins, minus the true time, which the launch records itself, minus the "
      "constant, which is the time of a launch that does nothing. The rest must be within 1 us or 1 % of the true "
      "time. xN: a sample is the mean of N launches");
  snprintf(sum, sizeof sum, "%zu checks: %" PRIu64 " pass, %" PRIu64 " fail, %" PRIu64 " unknown: %s",
           judgement->line_count, count[SELFTEST_PASS], count[SELFTEST_FAIL], count[SELFTEST_UNKNOWN],
           count[SELFTEST_FAIL] == 0 ? "the timer is right" : "the times of this device are not to be trusted");
  text_wrap(file, "", 0, sum);
  return status_ok();
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void add_json_line(cJSON *array, const struct selftest_line *line) {
  cJSON *object = json_add_element(array);
  json_add_string(object, "name", line->name);
  json_add_string(object, "unit", line->unit);
  json_add_number(object, "value", line->value);
  json_add_number(object, "low", line->low);
  json_add_number(object, "high", line->high);
  json_add_string(object, "verdict", verdict_name(line->verdict));
  json_add_string(object, "about", line->about);
}

static void add_tool(cJSON *root) {
  cJSON *tool = cJSON_AddObjectToObject(root, "tool");
  json_add_string(tool, "name", "attnbench");
  json_add_string(tool, "version", version_string());
  json_add_string(tool, "git_commit", version_git_commit());
  json_add_string(tool, "cuda", device_build_cuda());
}

static void add_summary(cJSON *root, const struct selftest_judgement *judgement) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  for (enum selftest_verdict v = 0; v < SELFTEST_VERDICT_COUNT; ++v)
    json_add_uint(summary, verdict_name(v), judgement->verdict_count[v]);
  json_add_uint(summary, "exit_code", judgement->exit_code);
}

struct status selftest_print_json(const struct selftest_report *report, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "schema", SELFTEST_SCHEMA);
  add_tool(root);
  fields_write(root, selftest_fields, report->result);
  cJSON *lines = cJSON_AddArrayToObject(root, "lines");
  for (size_t i = 0; i < report->judgement->line_count; ++i) add_json_line(lines, &report->judgement->line[i]);
  add_summary(root, report->judgement);
  return json_write(root, "the self-test's report", file);
}
