/* The head of the page: what was measured, where, when, by which program. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/units.h"
#include "cli/page/html.h"
#include "cli/page/parts.h"

enum { LINE_MAX_BYTES = 512 };

static void put_fact(FILE *file, const char *name, const char *text) {
  if (text[0] == '\0') return;
  fprintf(file, "<div><dt>%s</dt><dd>", name);
  html_text(file, text);
  fputs("</dd></div>", file);
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
  char text[LINE_MAX_BYTES], clock[UNITS_TEXT_MAX], dram[UNITS_TEXT_MAX], l2[UNITS_TEXT_MAX];
  units_format(device->sm_clock_max_mhz, clock);
  units_format(device->dram_gb_per_s, dram);
  units_format_bytes((double)device->l2_bytes, l2);
  if (device->kind == DEVICE_CPU) {
    snprintf(text, sizeof text, "%s, %" PRIu32 " threads", device->name, device->sms);
  } else {
    snprintf(text, sizeof text,
             "%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs, L2 %s, DRAM %s GB/s", device->name,
             device->cc_major, device->cc_minor, device->sms, l2, dram);
  }
  put_fact(file, "Device", text);
  if (report_roofs_are_unknown(device)) put_fact(file, "Roofs", REPORT_NO_ROOFS);
  if (device->kind != DEVICE_CPU && device->driver[0] != '\0') put_fact(file, "Driver", device->driver);
}

/* The SM clock that rows were measured at, and the highest there is. */
static void put_clocks(FILE *file, const struct report *report) {
  const struct device_info *device = &report->journal->device;
  char text[LINE_MAX_BYTES], low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
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
  units_format_fixed(least_mhz, 0, low);
  units_format_fixed(most_mhz, 0, high);
  units_format_fixed(device->sm_clock_max_mhz, 0, most);
  const int used = snprintf(text, sizeof text, "SM %s to %s MHz while timed hot, %s MHz at most", low, high, most);
  if (throttled > 0)
    snprintf(text + used, sizeof text - (size_t)used, "; the driver lowered clocks in %" PRIu64 " rows", throttled);
  if (!isfinite(least_mhz)) snprintf(text, sizeof text, "SM %s MHz at most; not measured", most);
  put_fact(file, "Clocks", text);
}

/* What cold times hold beside the launch. */
static void put_events(FILE *file, const struct report *report) {
  char text[LINE_MAX_BYTES], number[UNITS_TEXT_MAX];
  bool any = false;
  for (size_t i = 0; i < report->row_count; ++i) any = any || isfinite(report->rows[i].cold_net_us);
  units_format(report->journal->event_overhead_us, number);
  snprintf(text, sizeof text, "cold times hold %s us of the events around a launch", number);
  put_fact(file, "Events", any ? text : "");
}

static void put_policy(FILE *file, const struct device_policy *policy) {
  char text[LINE_MAX_BYTES], power[UNITS_TEXT_MAX];
  if (!policy->known) return;
  units_format_fixed(policy->power_limit_w, 0, power);
  snprintf(text, sizeof text, "power limit %s W, ECC %s, MIG %s, persistence %s", power,
           policy->ecc[0] != '\0' ? policy->ecc : "-", policy->mig[0] != '\0' ? policy->mig : "-",
           policy->persistence[0] != '\0' ? policy->persistence : "-");
  if (isfinite(policy->power_limit_w)) put_fact(file, "Settings", text);
  snprintf(text, sizeof text, "%s%s%s", policy->host_cpu, policy->host_kernel[0] != '\0' ? ", " : "",
           policy->host_kernel);
  put_fact(file, "Host", text);
}

static void put_program(FILE *file, const struct run_info *run) {
  char text[LINE_MAX_BYTES];
  snprintf(text, sizeof text, "%s %s, commit %s, CUDA %s", run->tool[0] != '\0' ? run->tool : "attnbench",
           run->version, run->git_commit[0] != '\0' ? run->git_commit : "unknown", run->cuda);
  if (run->started_utc[0] == '\0') snprintf(text, sizeof text, "none: the times were entered by hand");
  put_fact(file, "Measured by", text);
  put_fact(file, "Date", run->started_utc);
}

static void put_sweep(FILE *file, const struct run_info *run) {
  char text[SWEEP_ABOUT_MAX + SWEEP_NAME_MAX + 8];
  snprintf(text, sizeof text, "%s%s%s", run->sweep_name, run->sweep_about[0] != '\0' ? ": " : "", run->sweep_about);
  put_fact(file, "Sweep", text);
  put_fact(file, "Filter", run->filter);
}

static void put_cells(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  char text[LINE_MAX_BYTES], wall[UNITS_TEXT_MAX];
  size_t used = (size_t)snprintf(text, sizeof text, "%zu of %" PRIu64, report->row_count, journal->run.cell_count);
  const char *separator = ": ";
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    if (report->status_count[status] == 0) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64 " %s", separator,
                             report->status_count[status], cell_status_name(status));
    separator = ", ";
  }
  units_format_fixed(journal->wall_s, 1, wall);
  if (strcmp(journal->state, "complete") != 0 && journal->state[0] != '\0')
    used += (size_t)snprintf(text + used, sizeof text - used, "; the run is %s", journal->state);
  if (journal->wall_s > 0) snprintf(text + used, sizeof text - used, "; %s s", wall);
  put_fact(file, "Cells", text);
}

static void put_cards(FILE *file, const struct report *report) {
  char text[REPORT_CARDS_MAX];
  report_cards(report, text);
  put_fact(file, "Cards", text);
}

/* "1: base results/gate.json", and of a comparison, whose facts are folded, the program and the day. */
static void put_source_name(const struct page *page, FILE *file, size_t index) {
  static const char *const sides[] = {"base", "new"};
  const struct page_source *source = &page->source[index];
  const struct run_info *run = &source->report->journal->run;
  char text[LINE_MAX_BYTES];
  fprintf(file, "<h2 class=\"source\">%zu", index + 1);
  if (page->compare != NULL && index < 2) {
    snprintf(text, sizeof text, ": %s, commit %s, %s", sides[index],
             run->git_commit[0] != '\0' ? run->git_commit : "unknown", run->started_utc);
    html_text(file, text);
  }
  if (source->path != NULL) {
    fputs(" <small>", file);
    html_text(file, source->path);
    fputs("</small>", file);
  }
  fputs("</h2>", file);
}

static void put_facts(const struct page *page, FILE *file, size_t index) {
  const struct page_source *source = &page->source[index];
  const struct journal_data *journal = source->report->journal;
  fputs("<dl>", file);
  if (journal->has_device) put_device(file, &journal->device);
  put_cards(file, source->report);
  if (journal->has_device) put_clocks(file, source->report);
  put_program(file, &journal->run);
  put_sweep(file, &journal->run);
  put_cells(file, source->report);
  put_events(file, source->report);
  put_policy(file, &journal->policy);
  put_fact(file, "Profiled", journal->run.profiled);
  put_fact(file, "Planned for", journal->has_planned_device ? journal->planned_device.name : "");
  put_command(file, journal->run.command);
  fputs("</dl>\n", file);
}

void head_write(const struct page *page, FILE *file) {
  for (size_t i = 0; i < page->source_count; ++i) {
    if (page->compare != NULL) fputs("<details class=\"source\"><summary>", file);
    if (page->source_count > 1) put_source_name(page, file, i);
    if (page->compare != NULL) fputs("</summary>\n", file);
    put_facts(page, file, i);
    if (page->compare != NULL) fputs("</details>\n", file);
  }
}
