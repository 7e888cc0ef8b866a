/* The verb history: the speed of each cell over many runs, and the commits that changed it. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/calendar.h"
#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/page/page.h"

/* Folders in folders, and the reasons for leaving files out that stderr says. */
enum { DEPTH_MAX = 8, REASONS_MAX = 10, COMMITS_BYTES_MAX = 16 << 20 };

/* Why files are left out: what a message says after "PATH:LINE:COLUMN: ". */
struct reason {
  char first[PATH_MAX], text[STATUS_TEXT_MAX];
  size_t files;
};

struct reader {
  const struct options *options;
  struct history history;
  struct keep keep;
  struct keep_seen seen;
  size_t reason_count;
  struct reason reason[REASONS_MAX];
};

/* ---- files --------------------------------------------------------------------------------------------------- */

/* A file of a folder may be of another kind, or damaged; the history of the others is worth as much. */
static void leave_out(struct reader *reader, const char *path, const struct status *why) {
  const size_t length = strlen(path);
  const char *text = strncmp(why->text, path, length) == 0 ? why->text + length : why->text;
  text += strspn(text, ":0123456789 ");
  ++reader->history.left_out;
  for (size_t i = 0; i < reader->reason_count; ++i) {
    if (strcmp(reader->reason[i].text, text) != 0) continue;
    ++reader->reason[i].files;
    return;
  }
  if (reader->reason_count == REASONS_MAX) return;
  struct reason *reason = &reader->reason[reader->reason_count++];
  snprintf(reason->first, sizeof reason->first, "%s", path);
  snprintf(reason->text, sizeof reason->text, "%s", text);
  reason->files = 1;
}

static void tell_left_out(const struct reader *reader) {
  size_t told = 0;
  for (size_t i = 0; i < reader->reason_count; ++i) {
    const struct reason *reason = &reader->reason[i];
    told += reason->files;
    if (reason->files == 1) text_say(stderr, "left out: %s: %s", reason->first, reason->text);
    if (reason->files > 1)
      text_say(stderr, "left out: %zu files, the first is %s: %s", reason->files, reason->first, reason->text);
  }
  if (told < reader->history.left_out)
    text_say(stderr, "left out: %zu files for other reasons", reader->history.left_out - told);
}

static struct status add_data(struct reader *reader, const char *path, struct journal_data *data) {
  const struct options *options = reader->options;
  bool is_new;
  if (data->run.profiled[0] != '\0')
    return status_make(STATUS_INPUT, "%s: was measured under %s, whose times are no speed", path, data->run.profiled);
  if (options->since != NULL && strncmp(data->run.started_utc, options->since, strlen(options->since)) < 0)
    return status_ok();
  TRY(keep_records(&reader->keep, path, data));
  return history_add(&reader->history, path, data, &is_new);
}

/* The name of an output may be in a folder that is read. It must not be that of a run. */
static struct status check_outputs(const struct options *options, const char *path) {
  struct options_file files[OPTIONS_FILES_MAX];
  const size_t count = options_files(options, files);
  for (size_t i = 0; i < count; ++i) {
    if (files[i].is_output && output_is_same_file(files[i].path, path))
      return status_make(STATUS_USAGE, "%s %s is a run that the history reads; give %s a file of its own",
                         files[i].option, files[i].path, files[i].option);
  }
  return status_ok();
}

static struct status read_file(struct reader *reader, const char *path) {
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  TRY(measured_load_evidence(path, reader->options->allow_edited, &data));
  struct status status = check_outputs(reader->options, path);
  if (!status_failed(&status)) status = add_data(reader, path, &data);
  numbers_drop(); /* samples that the file may have */
  return status;
}

static struct status read_path(struct reader *reader, const char *path, unsigned depth);

static struct status read_entry(struct reader *reader, const char *folder, const char *name, unsigned depth) {
  char path[PATH_MAX];
  struct stat found, itself;
  if (name[0] == '.') return status_ok();
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path || stat(path, &found) != 0)
    return status_ok();
  /* A link to a folder may lead out of this one, or back to it. */
  if (S_ISDIR(found.st_mode) && (lstat(path, &itself) != 0 || S_ISLNK(itself.st_mode))) return status_ok();
  if (S_ISDIR(found.st_mode)) return depth < DEPTH_MAX ? read_path(reader, path, depth + 1) : status_ok();
  if (!S_ISREG(found.st_mode) || !(text_ends_with(name, ".json") || text_ends_with(name, ".journal")))
    return status_ok();
  const struct status status = read_file(reader, path);
  if (status.code != STATUS_INPUT && status.code != STATUS_NOT_COMPARABLE) return status;
  leave_out(reader, path, &status);
  return status_ok();
}

static void close_folder(DIR **folder) {
  if (*folder != NULL) closedir(*folder);
}

static struct status read_path(struct reader *reader, const char *path, unsigned depth) {
  OWNED(close_folder) DIR *folder = opendir(path);
  if (folder == NULL) return read_file(reader, path);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
    TRY(read_entry(reader, path, entry->d_name, depth));
  return status_ok();
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static struct status order(struct reader *reader) {
  OWNED(owned_free) char *text = NULL;
  size_t length, dropped;
  if (reader->options->commits == NULL) return status_ok();
  TRY(json_read_file(reader->options->commits, COMMITS_BYTES_MAX, &text, &length));
  TRY(history_order(&reader->history, text, &dropped));
  reader->history.left_out += dropped;
  if (dropped > 0) text_say(stderr, "left out: %zu runs of commits that --commits does not list", dropped);
  return status_ok();
}

static struct status check_since(const char *since) {
  if (since == NULL || calendar_is_day(since) || calendar_is_second(since)) return status_ok();
  return status_make(STATUS_USAGE, "--since %s: give a date, such as 2026-11-20 or 2026-11-20T11:04:00Z", since);
}

/* A script that runs what --bisect prints must not take "cannot tell" for "no slowdown". */
static void say_nothing_to_bisect(const struct history *history) {
  char answer[HISTORY_LINE_MAX];
  if (history_count_slower(history) > 0) return;
  history_sinks_answer(history, answer);
  text_say(stderr, "nothing to bisect: %s", answer);
}

static struct status write_outputs(const struct options *options, const struct history *history) {
  if (options->json != NULL) OUTPUT_TRY(options->json, out, history_sinks_json(history, out));
  if (options->csv != NULL) OUTPUT_TRY(options->csv, out, history_sinks_csv(history, out));
  if (options->html != NULL) OUTPUT_TRY(options->html, out, history_page_write(history, out));
  if (options->bisect) {
    say_nothing_to_bisect(history);
    OUTPUT_TRY("-", out, history_sinks_bisect(history, out));
  }
  if (!options->bisect && outputs_is_text_wanted(options)) OUTPUT_TRY("-", out, history_sinks_text(history, out));
  return status_ok();
}

static void set_outcome(const struct history *history, struct outcome *out) {
  *out = (struct outcome){.code = history_count_slower(history) > 0 ? EXIT_CODE_REGRESSION : EXIT_CODE_OK};
  if (out->code != EXIT_CODE_OK) history_sinks_answer(history, out->why);
}

/* A selection that keeps nothing is a mistake: "no series is slower" would be true of it for ever. */
static struct status check_kept(const struct reader *reader) {
  const struct history *history = &reader->history;
  const char *path = reader->options->reports.item[0];
  size_t points = 0;
  if (history->run_count == 0)
    return status_make(STATUS_INPUT,
                       "%s: holds no run that was measured; give journals, reports of --json, or a "
                       "folder of them",
                       path);
  TRY(keep_check_variants(&reader->keep, path, &reader->seen));
  for (size_t i = 0; i < history->series_count; ++i) points += history->series[i].count;
  if (points > 0) return status_ok();
  if (reader->keep.filter_count > 0 || reader->keep.variants != NULL)
    return status_make(STATUS_USAGE, "%s: no row with a time meets --filter and --variants", path);
  return status_make(STATUS_INPUT, "%s: no row has a time; give runs that were measured", path);
}

static void free_reader(struct reader *reader) { history_free(&reader->history); }

struct status verb_history(const struct options *options, struct outcome *outcome) {
  OWNED(free_reader) struct reader reader = {.options = options};
  reader.keep = (struct keep){options->filter.item, options->filter.count, options->variants, &reader.seen};
  TRY(outputs_probe(options));
  TRY(check_since(options->since));
  for (size_t i = 0; i < options->reports.count; ++i) TRY(read_path(&reader, options->reports.item[i], 0));
  tell_left_out(&reader);
  TRY(order(&reader));
  TRY(check_kept(&reader));
  TRY(history_judge(&reader.history));
  set_outcome(&reader.history, outcome);
  return write_outputs(options, &reader.history);
}
