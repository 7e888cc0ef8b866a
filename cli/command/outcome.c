/* Says why the exit code is not 0. */
#include "cli/command/commands.h"

#include <string.h>

#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "cli/gate/sinks.h"

enum { LINE_MAX_BYTES = FAILURES_TEXT_MAX + STATUS_TEXT_MAX };

void outcome_of_report(const struct report *report, struct outcome *out) {
  out->code = report->exit_code;
  failures_text(report->records, report->row_count, report->journal->run.cell_count, out->why);
}

void outcome_of_compare(const struct compare *compare, enum exit_code code, struct outcome *out) {
  const struct journal_data *now = compare->now;
  *out = (struct outcome){.code = code};
  if (code == EXIT_CODE_OK) return;
  if (code == compare->exit_code) {
    sinks_failure_text(compare, out->why);
  } else {
    failures_text(now->records, now->record_count, now->run.cell_count, out->why);
  }
}

/* The first report or comparison that is a file; NULL: none is. A journal is not for reading. */
static const char *where(const struct options *options) {
  struct options_file files[OPTIONS_FILES_MAX];
  const size_t count = options_files(options, files);
  for (size_t i = 0; i < count; ++i) {
    const bool is_device = strncmp(files[i].path, "/dev/", 5) == 0;
    if (files[i].is_output && !is_device && strcmp(files[i].option, "--journal") != 0) return files[i].path;
  }
  return NULL;
}

static const char *signal_name(const struct status *failure) {
  const enum exit_code code = signals_exit_code(failure);
  return code == EXIT_CODE_SIGTERM ? "terminated" : code == EXIT_CODE_SIGHUP ? "hung up" : "interrupted";
}

void outcome_print(const struct outcome *outcome, const struct status *failure, const struct options *options,
                   FILE *file) {
  const bool is_stopped = failure->code == STATUS_INTERRUPTED;
  char line[LINE_MAX_BYTES];
  if (failure->code == STATUS_CLOSED) return;
  if (status_failed(failure) && !is_stopped) {
    text_say(file, "%s", failure->text);
    return;
  }
  if (!is_stopped && outcome->code == EXIT_CODE_OK) return;
  const char *path = where(options);
  snprintf(line, sizeof line, "%s%s%s", is_stopped ? signal_name(failure) : "",
           is_stopped && outcome->why[0] != '\0' ? ": " : "", outcome->why);
  text_say(file, "%s%s%s", line, path != NULL && outcome->why[0] != '\0' ? "; see " : "",
           path != NULL && outcome->why[0] != '\0' ? path : "");
}
