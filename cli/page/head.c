/* The head of the page: what was measured, where, when, by which program. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/page/parts.h"

enum { LINE_MAX_BYTES = 8192 };

static void __attribute__((format(printf, 3, 4))) put_fact(FILE *file, const char *name, const char *format, ...) {
  char text[LINE_MAX_BYTES];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (text[0] == '\0') return;
  html_put(file, "<div><dt>%s</dt><dd>%s</dd></div>", name, text);
}

/* A command is broken between its words alone. */
static void put_command(FILE *file, const char *command) {
  char word[RUN_TEXT_MAX];
  if (command[0] == '\0') return;
  fputs("<div><dt>Command</dt><dd>", file);
  for (const char *at = command; *at != '\0';) {
    const size_t length = strcspn(at, " ") + strspn(at + strcspn(at, " "), " ");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
    html_element(file, "span class=\"word\"", word);
    fputc(' ', file);
    at += length;
  }
  fputs("</dd></div>", file);
}

static void put_device(FILE *file, const struct device_info *device) {
  if (device->kind == DEVICE_CPU) {
    put_fact(file, "Device", "%s, %" PRIu32 " threads", device->name, device->sms);
  } else {
    put_fact(file, "Device", "%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs, L2 %s, DRAM %s GB/s",
             device->name, device->cc_major, device->cc_minor, device->sms,
             units_bytes((double)device->l2_bytes).text, units_short(device->dram_gb_per_s).text);
  }
}

/* The SM clock that rows were measured at, and the highest there is. */
static void put_clocks(FILE *file, const struct report *report) {
  const struct device_info *device = &report->journal->device;
  const struct units_text most = units_fixed(device->sm_clock_max_mhz, 0);
  char lowered[64] = "";
  double least_mhz = INFINITY, most_mhz = -INFINITY;
  uint64_t throttled = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct time_record *time = &report->records[i].time[TIME_HOT];
    if (!time->done) continue;
    if (isfinite(time->sm_clock_mhz)) {
      least_mhz = fmin(least_mhz, time->sm_clock_mhz);
      most_mhz = fmax(most_mhz, time->sm_clock_mhz);
    }
    throttled += time->throttle_reasons != 0;
  }
  if (device->kind == DEVICE_CPU) return;
  if (!isfinite(least_mhz)) {
    put_fact(file, "Clocks", "SM %s MHz at most; not measured", most.text);
    return;
  }
  if (throttled > 0)
    snprintf(lowered, sizeof lowered, "; the driver lowered clocks in %" PRIu64 " row%s", throttled,
             throttled == 1 ? "" : "s");
  put_fact(file, "Clocks", "SM %s to %s MHz while timed hot, %s MHz at most%s", units_fixed(least_mhz, 0).text,
           units_fixed(most_mhz, 0).text, most.text, lowered);
}

static void put_policy(FILE *file, const struct device_policy *policy) {
  if (!policy->known) return;
  if (isfinite(policy->power_limit_w))
    put_fact(file, "Settings", "power limit %s W, ECC %s, MIG %s, persistence %s",
             units_fixed(policy->power_limit_w, 0).text, policy->ecc[0] != '\0' ? policy->ecc : "-",
             policy->mig[0] != '\0' ? policy->mig : "-", policy->persistence[0] != '\0' ? policy->persistence : "-");
  put_fact(file, "Host", "%s%s%s", policy->host_cpu, policy->host_kernel[0] != '\0' ? ", " : "", policy->host_kernel);
}

static void put_program(FILE *file, const struct run_info *run) {
  if (run->started_utc[0] == '\0') {
    put_fact(file, "Measured by", "none: the times were entered by hand");
    return;
  }
  put_fact(file, "Measured by", "%s %s, commit %s, CUDA %s", run->tool[0] != '\0' ? run->tool : "attnbench",
           run->version, run->git_commit[0] != '\0' ? run->git_commit : "unknown", run->cuda);
  put_fact(file, "Date", "%s", run->started_utc);
}

static void put_cells(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  char text[LINE_MAX_BYTES];
  report_counts(report, "", text);
  if (strcmp(journal->state, "complete") != 0 && journal->state[0] != '\0')
    text_append(text, sizeof text, "; the run is %s", journal->state);
  if (journal->wall_s > 0) text_append(text, sizeof text, "; %s s", units_fixed(journal->wall_s, 1).text);
  put_fact(file, "Cells", "%s", text);
}

/* "1: base results/gate.json", and of a comparison, whose facts are folded, the program and the day. */
static void put_source_name(const struct page *page, FILE *file, size_t index) {
  static const char *const sides[] = {"base", "new"};
  const struct merge_source *source = &page->source[index];
  const struct run_info *run = &source->report->journal->run;
  fprintf(file, "<h2 class=\"source\">%zu", index + 1);
  if (page->compare != NULL && index < 2)
    html_put(file, ": %s, commit %s, %s", sides[index], run->git_commit[0] != '\0' ? run->git_commit : "unknown",
             run->started_utc);
  if (source->path != NULL) html_put(file, " <small>%s</small>", source->path);
  fputs("</h2>", file);
}

/* Device, date and sweep; the rest is folded, unless all is. */
static void put_facts(const struct merge_source *source, FILE *file, bool is_folded) {
  const struct journal_data *journal = source->report->journal;
  const struct run_info *run = &journal->run;
  char cards[REPORT_CARDS_MAX], events[REPORT_EVENTS_MAX];
  report_cards(source->report, cards);
  report_events(source->report, events);
  fputs("<dl>", file);
  if (journal->has_device) put_device(file, &journal->device);
  put_fact(file, "Sweep", "%s%s%s", run->sweep_name, run->sweep_about[0] != '\0' ? ": " : "", run->sweep_about);
  put_program(file, run);
  put_fact(file, "Planned for", "%s", journal->has_planned_device ? journal->planned_device.name : "");
  fputs(is_folded ? "</dl>\n<dl>" : "</dl>\n<details><summary>More about the run</summary>\n<dl>", file);
  if (journal->has_device && report_roofs_are_unknown(&journal->device))
    put_fact(file, "Roofs", "%s", REPORT_NO_ROOFS);
  if (journal->has_device && journal->device.kind != DEVICE_CPU)
    put_fact(file, "Driver", "%s", journal->device.driver);
  put_fact(file, "Cards", "%s", cards);
  if (journal->has_device) put_clocks(file, source->report);
  put_fact(file, "Filter", "%s", run->filter);
  put_cells(file, source->report);
  EACH_CONVENTION(axis, source->report) put_fact(file, axis->name, "%s", axis->convention);
  put_fact(file, "Events", "%s", events);
  put_policy(file, &journal->policy);
  put_fact(file, "File", "%s", report_origin(journal));
  put_fact(file, "Profiled", "%s", run->profiled);
  put_command(file, run->command);
  fputs(is_folded ? "</dl>\n" : "</dl></details>\n", file);
}

/* "; steady: 1.12x to 1.30x", the ratios to the reference of the fastest rows, beside which the answer has the hot
 * ones.
 */
static void put_steady(const struct report *report, FILE *file) {
  double least = NAN, most = NAN;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct ratio_record *steady = &report->records[i].speedup.mode[TIME_STEADY];
    if (!report->rows[i].is_fastest || !steady->done || record_mode(&report->records[i]) == TIME_STEADY) continue;
    least = fmin(least, steady->ratio);
    most = fmax(most, steady->ratio);
  }
  if (isnan(least)) return;
  fprintf(file, "; steady: %sx to %sx", units_fixed(least, 2).text, units_fixed(most, 2).text);
}

/* "1 severe finding, 27 warnings", with a link to them. */
static void put_severities(const struct report *report, FILE *file) {
  size_t count[FINDING_SEVERE + 1];
  const struct status status = findings_part_count(report, count);
  if (status_failed(&status) || count[FINDING_SEVERE] + count[FINDING_WARNING] == 0) return;
  fputs(". Findings: <a href=\"#findings\">", file);
  if (count[FINDING_SEVERE] > 0) fprintf(file, "%zu severe", count[FINDING_SEVERE]);
  if (count[FINDING_SEVERE] > 0 && count[FINDING_WARNING] > 0) fputs(", ", file);
  if (count[FINDING_WARNING] > 0)
    fprintf(file, "%zu warning%s", count[FINDING_WARNING], count[FINDING_WARNING] > 1 ? "s" : "");
  fputs("</a>", file);
}

/* Who is the fastest, what failed, and how many findings there are. Of a comparison the verdict says more. */
static void put_answer(const struct report *report, FILE *file) {
  char fastest[FASTEST_TEXT_MAX], failed[FAILURES_TEXT_MAX];
  const struct status status = fastest_text(report, fastest);
  failures_text(report->records, report->row_count, report->journal->run.cell_count, failed);
  if (status_failed(&status)) fastest[0] = '\0';
  if (fastest[0] == '\0' && failed[0] == '\0') return;
  html_put(file, "<p class=\"outcome %s\"><strong>%s", failed[0] == '\0' ? "passed" : "failed", fastest);
  if (fastest[0] != '\0') put_steady(report, file);
  fputs(fastest[0] != '\0' && failed[0] != '\0' ? "</strong>; <strong>" : "", file);
  html_put(file, "%s</strong>", failed);
  put_severities(report, file);
  fputs("</p>\n", file);
}

void head_write(const struct page *page, FILE *file) {
  for (size_t i = 0; i < page->source_count; ++i) {
    if (page->compare != NULL) fputs("<details class=\"source\"><summary>", file);
    if (page->source_count > 1) put_source_name(page, file, i);
    if (page->compare != NULL) fputs("</summary>\n", file);
    if (page->compare == NULL) put_answer(page->source[i].report, file);
    put_facts(&page->source[i], file, page->compare != NULL);
    if (page->compare != NULL) fputs("</details>\n", file);
  }
}
