/* Shows how far a measurement is, on a terminal or in a log. */
#include "cli/base/clock.h"
#include "cli/command/run.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/base/text.h"

/* A log gets a line when `few` of the whole were done since the last one and at least least_s passed, or most_s. */
static const double few = 0.05, least_s = 5, most_s = 30;

struct progress progress_start(size_t total, bool is_quiet) {
  const double now_s = clock_now_s();
  const enum progress_form form = isatty(STDERR_FILENO) ? PROGRESS_TERMINAL : PROGRESS_LOG;
  return (struct progress){
      .form = is_quiet ? PROGRESS_NONE : form, .total = total, .start_s = now_s, .told_s = now_s};
}

bool progress_is_due(const struct progress *p, double now_s) {
  const double passed_s = now_s - p->told_s;
  if (passed_s >= most_s) return true;
  return passed_s >= least_s && (double)(p->done - p->told) >= few * (double)p->total;
}

void progress_time(double seconds, char out[PROGRESS_TIME_MAX]) {
  const double minute_s = 60, hour_s = 3600;
  if (seconds < 2 * minute_s) {
    snprintf(out, PROGRESS_TIME_MAX, "%.0f s", seconds);
  } else if (seconds < 2 * hour_s) {
    snprintf(out, PROGRESS_TIME_MAX, "%.0f min", seconds / minute_s);
  } else {
    snprintf(out, PROGRESS_TIME_MAX, "%.1f h", seconds / hour_s);
  }
}

static void time_left(const struct progress *p, double now_s, char out[PROGRESS_TIME_MAX]) {
  progress_time((now_s - p->start_s) / (double)p->done * (double)(p->total - p->done), out);
}

static void tell_terminal(const struct progress *p, double now_s, const char *case_key, const char *variant) {
  char line[TEXT_WIDTH_MOST], left[PROGRESS_TIME_MAX] = "";
  if (p->done > 0) time_left(p, now_s, left);
  /* The time first: what does not fit in the line is the end of a name. */
  snprintf(line, sizeof line, "[%zu/%zu] %s%s%s %s", p->done + 1, p->total, left, p->done > 0 ? " left, " : "",
           case_key, variant);
  fprintf(stderr, "\r\033[K%.*s", (int)text_width(stderr) - 1, line);
  fflush(stderr);
}

static void tell_log(struct progress *p, double now_s, const char *case_key, const char *variant) {
  char passed[PROGRESS_TIME_MAX], left[PROGRESS_TIME_MAX] = "";
  if (!progress_is_due(p, now_s)) return;
  progress_time(now_s - p->start_s, passed);
  if (p->done > 0) time_left(p, now_s, left);
  text_say(stderr, "%zu of %zu done in %s%s%s%s; now %s %s", p->done, p->total, passed, p->done > 0 ? ", about " : "",
           left, p->done > 0 ? " left" : "", case_key, variant);
  p->told = p->done;
  p->told_s = now_s;
}

void progress_cell(struct progress *p, const char *case_key, const char *variant) {
  const double now_s = clock_now_s();
  if (p->form == PROGRESS_TERMINAL) tell_terminal(p, now_s, case_key, variant);
  if (p->form == PROGRESS_LOG) tell_log(p, now_s, case_key, variant);
  ++p->done;
}

void progress_end(struct progress *p) {
  if (p->form == PROGRESS_TERMINAL && p->done > 0) fputs("\r\033[K", stderr);
}
