/* Probes and writes the outputs of a command line. */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/command/run.h"
#include "cli/page/page.h"
#include "cli/sweep/callable_spec.h"
#include "cli/sweep/manifest.h"

/* What fills the outputs of a report and of a comparison. */
static const struct report_output {
  size_t path; /* a const char * in struct options */
  struct status (*write)(const struct report *, FILE *);
  bool is_shared; /* a comparison, where one is made, goes there instead */
} report_outputs[] = {{offsetof(struct options, json), report_write_json, false},
                      {offsetof(struct options, csv), report_write_csv, false},
                      {offsetof(struct options, gbench), report_write_gbench, false},
                      {offsetof(struct options, html), page_write_report, false},
                      {offsetof(struct options, markdown), report_write_markdown, true},
                      {offsetof(struct options, junit), report_write_junit, true},
                      {offsetof(struct options, annotations), report_write_annotations, true}};
enum { REPORT_OUTPUTS = sizeof report_outputs / sizeof *report_outputs };

static const struct compare_output {
  size_t path;
  struct status (*write)(const struct compare *, FILE *);
} compare_outputs[] = {{offsetof(struct options, compare_json), verdict_json_write},
                       {offsetof(struct options, markdown), verdict_markdown_write},
                       {offsetof(struct options, junit), verdict_junit_write},
                       {offsetof(struct options, annotations), verdict_annotations_write},
                       {offsetof(struct options, compare_html), page_write_compare}};
enum { COMPARE_OUTPUTS = sizeof compare_outputs / sizeof *compare_outputs };

/* NULL when this output is not asked for. */
static const char *path_at(const struct options *options, size_t offset) {
  return *(const char *const *)((const char *)options + offset);
}

/* NULL also where a comparison goes there. */
static const char *report_path(const struct options *options, const struct report_output *output) {
  const bool compares = options->verb == VERB_AB || options->verb == VERB_COMPARE || options->baseline != NULL;
  return output->is_shared && compares ? NULL : path_at(options, output->path);
}

/* ---- before ---------------------------------------------------------------------------------------------------- */

/* The output would replace another output, or something that is read or runs. */
static struct status check_apart(const struct options_file *output, const char *what, const char *path) {
  if (!output_is_same_file(output->path, path)) return status_ok();
  return status_make(STATUS_USAGE, "%s %s and %s %s are one file; give %s a file of its own", output->option,
                     output->path, what, path, output->option);
}

/* A file that a stream is redirected to: what is printed there would be lost when the output takes its name. */
static struct status check_streams(const struct options_file *output) {
  TRY(check_apart(output, "the standard input", "/dev/stdin"));
  if (output_is_descriptor(output->path)) return status_ok();
  TRY(check_apart(output, "the standard output", "/dev/stdout"));
  return check_apart(output, "the standard error", "/dev/stderr");
}

static struct status check_distinct(const struct options_file *output, const struct options_file *files,
                                    size_t count) {
  TRY(check_apart(output, "the running program", program_path()));
  TRY(check_streams(output));
  for (size_t i = 0; i < count; ++i) {
    if (output != &files[i]) TRY(check_apart(output, files[i].option, files[i].path));
  }
  return status_ok();
}

static struct status check_function(const char *loaded, const struct options_file *files, size_t count) {
  char path[PATH_MAX];
  callable_spec_file(loaded, path);
  for (size_t i = 0; i < count && path[0] != '\0' && callable_spec_is(loaded); ++i) {
    if (files[i].is_output) TRY(check_apart(&files[i], "the function's file", path));
  }
  return status_ok();
}

/* The kernels' files that the manifests name. A worker says what is wrong with a manifest that cannot be read. */
static struct status check_kernels(const struct options_list *loaded, const struct options_file *files,
                                   size_t count) {
  OWNED(owned_free) struct manifest *manifest = NULL;
  TRY(owned_array(&manifest, 1, sizeof *manifest, "a manifest"));
  for (size_t i = 0; i < loaded->count; ++i) {
    TRY(check_function(loaded->item[i], files, count));
    if (!manifest_is(loaded->item[i])) continue;
    const struct status read = manifest_load(loaded->item[i], manifest);
    for (uint32_t j = 0; j < manifest->launch_count && !status_failed(&read); ++j) {
      for (size_t k = 0; k < count; ++k) {
        if (files[k].is_output) TRY(check_apart(&files[k], "the kernel", manifest->launch[j].path));
      }
    }
  }
  return status_ok();
}

/* The journal that nobody named must not be where an output is going to be. */
static struct status check_journal(const struct options *options, const struct options_file *files, size_t count) {
  char journal[PATH_MAX + 16];
  const bool has_journal = options->verb == VERB_RUN || options->verb == VERB_TUNE;
  if (!has_journal || options->journal != NULL) return status_ok();
  if (!journal_file_beside(options, journal, sizeof journal)) return status_ok();
  TRY(check_streams(&(struct options_file){"the journal", journal, true}));
  for (size_t i = 0; i < count; ++i) {
    if (!output_is_same_file(files[i].path, journal)) continue;
    return status_make(STATUS_USAGE,
                       "%s %s is where the journal of this run would be; name another file, or give the journal one "
                       "with --journal",
                       files[i].option, files[i].path);
  }
  return status_ok();
}

struct status outputs_probe(const struct options *options) {
  struct options_file files[OPTIONS_FILES_MAX];
  const size_t count = options_files(options, files);
  TRY(check_journal(options, files, count));
  for (size_t i = 0; i < count; ++i) {
    if (files[i].is_output) TRY(check_distinct(&files[i], files, count));
  }
  TRY(check_kernels(&options->load, files, count));
  TRY(check_kernels(&options->base_load, files, count));
  for (size_t i = 0; i < count; ++i) {
    if (files[i].is_output) TRY(report_probe(files[i].path, files[i].option));
  }
  return status_ok();
}

/* ---- after ----------------------------------------------------------------------------------------------------- */

bool outputs_is_report_wanted(const struct options *options) {
  for (size_t i = 0; i < REPORT_OUTPUTS; ++i) {
    if (report_path(options, &report_outputs[i]) != NULL) return true;
  }
  return false;
}

static bool is_stdout_open(void) {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool outputs_is_text_wanted(const struct options *options) {
  struct options_file files[OPTIONS_FILES_MAX];
  bool has_report = false;
  if (options->quiet || options_files_on_stdout(options, NULL) != NULL) return false;
  for (size_t i = 0, count = options_files(options, files); i < count; ++i)
    has_report = has_report || (files[i].is_output && strcmp(files[i].option, "--journal") != 0);
  return !has_report || is_stdout_open();
}

static void keep_first(struct status *first, struct status status) {
  if (!status_failed(first)) *first = status;
}

static struct status write_report(const struct options *options, const struct journal_data *journal,
                                  const struct journal_data *evidence, bool is_text, struct outcome *outcome) {
  OWNED(report_free) struct report report = {.rows = NULL};
  struct status first = status_ok();
  TRY(evidence != NULL ? report_build_with(journal, evidence, options->evidence, &report)
                       : report_build(journal, &report));
  report.all_findings = options->verb == VERB_DIAGNOSE;
  for (size_t i = 0; i < REPORT_OUTPUTS; ++i) {
    const char *path = report_path(options, &report_outputs[i]);
    if (path != NULL) keep_first(&first, report_save(&report, path, report_outputs[i].write));
  }
  if (is_text) keep_first(&first, report_save(&report, "-", report_write_text));
  outcome_of_report(&report, outcome);
  return first;
}

struct status outputs_write(const struct options *options, const struct journal_data *journal,
                            struct outcome *outcome) {
  OWNED(journal_free) struct journal_data evidence = {.records = NULL};
  const bool is_text = outputs_is_text_wanted(options);
  if (options->evidence == NULL) return write_report(options, journal, NULL, is_text, outcome);
  TRY(measured_load_evidence(options->evidence, options->allow_edited, &evidence));
  return write_report(options, journal, &evidence, is_text, outcome);
}

struct status outputs_write_files(const struct options *options, const struct journal_data *journal,
                                  struct outcome *outcome) {
  return write_report(options, journal, NULL, false, outcome);
}

static struct status save_compare(const struct compare *compare, const char *path,
                                  struct status (*write)(const struct compare *, FILE *)) {
  OUTPUT_TRY(path, out, write(compare, out));
  return status_ok();
}

struct status outputs_write_compare(const struct options *options, const struct compare *compare) {
  struct status first = status_ok();
  for (size_t i = 0; i < COMPARE_OUTPUTS; ++i) {
    const char *path = path_at(options, compare_outputs[i].path);
    if (path != NULL) keep_first(&first, save_compare(compare, path, compare_outputs[i].write));
  }
  if (outputs_is_text_wanted(options)) keep_first(&first, save_compare(compare, "-", verdict_text_write));
  return first;
}
