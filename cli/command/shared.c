/* What several verbs share: describing a run, choosing its journal, writing its outputs. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "cli/base/version.h"
#include "cli/command/commands.h"
#include "cli/record/plan.h"
#include "kernels/device.h"

void command_quote(int argc, char **argv, char *out, size_t size) {
  out[0] = '\0';
  for (int i = 0; i < argc; ++i) {
    if (i > 0) strncat(out, " ", size - strlen(out) - 1);
    text_append_word(out, size, argv[i]);
  }
}

void command_describe_run(const struct options *options, int argc, char **argv, const struct sweep *sweep,
                          uint64_t cell_count, struct run_info *out) {
  const time_t now = time(NULL);
  struct tm utc;
  *out = (struct run_info){.has_baseline = sweep->has_baseline,
                           .baseline = sweep->baseline,
                           .gate = sweep->gate,
                           .seed = options->seed.value,
                           .cell_count = cell_count,
                           .quick = options->quick};
  snprintf(out->version, sizeof out->version, "%s", version_string());
  snprintf(out->git_commit, sizeof out->git_commit, "%s", version_git_commit());
  snprintf(out->cuda, sizeof out->cuda, "%s", device_build_cuda());
  snprintf(out->cjson, sizeof out->cjson, "%s", version_cjson());
  gmtime_r(&now, &utc);
  strftime(out->started_utc, sizeof out->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc);
  command_quote(argc, argv, out->command, sizeof out->command);
  snprintf(out->sweep_path, sizeof out->sweep_path, "%s", sweep->path);
  snprintf(out->sweep_name, sizeof out->sweep_name, "%s", sweep->name);
  snprintf(out->sweep_about, sizeof out->sweep_about, "%s", sweep->about);
  snprintf(out->sweep_hash, sizeof out->sweep_hash, "%s", sweep->hash);
  for (size_t i = 0; i < options->filter.count; ++i) {
    const size_t used = strlen(out->filter);
    snprintf(out->filter + used, sizeof out->filter - used, "%s%s", i > 0 ? " " : "", options->filter.item[i]);
  }
}

struct status command_plan_cell(const struct cell *cell, const struct gpu_model *gpu, struct supervisor *worker,
                                struct record *out) {
  if (!variant_is_stand_in(cell->spec.variant)) {
    plan_record(cell->attn_case, &cell->spec, &gpu->info, out);
    return status_ok();
  }
  struct cell_request request = {.attn_case = *cell->attn_case};
  snprintf(request.variant, sizeof request.variant, "%s", cell->spec.text);
  snprintf(request.plan_gpu, sizeof request.plan_gpu, "%s", gpu->name);
  return supervise_cell(worker, &request, out);
}

struct status command_gpu_model(const char *name, const struct gpu_model **out) {
  *out = gpu_model_find(name);
  if (*out != NULL) return status_ok();
  const char *names[32] = {0};
  for (size_t i = 0; i < gpu_model_count() && i < 31; ++i) names[i] = gpu_model_at(i)->name;
  const char *nearest = json_nearest(name, names);
  return status_make(STATUS_USAGE, "--gpu: \"%s\" is not a known GPU%s%s%s; give %s", name,
                     nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?)" : "", gpu_model_names());
}

/* The outputs of a report, and where the command line says they go. */
static const struct report_output {
  struct report_sink sink;
  size_t path_offset;
} outputs[] = {
    {{"--json", report_write_json}, offsetof(struct options, json)},
    {{"--csv", report_write_csv}, offsetof(struct options, csv)},
    {{"--gbench", report_write_gbench}, offsetof(struct options, gbench)},
};
enum { OUTPUT_COUNT = sizeof outputs / sizeof *outputs };

/* NULL when this output is not asked for. */
static const char *output_path(const struct options *options, size_t index) {
  return *(const char *const *)((const char *)options + outputs[index].path_offset);
}

enum exit_code command_signal_exit_code(int signal_number) {
  return signal_number == SIGINT ? EXIT_CODE_SIGINT : EXIT_CODE_SIGTERM;
}

bool command_end_of_signal(struct status *status, enum exit_code *exit_code) {
  const int signal_number = signals_received();
  if (signal_number == 0 || status->code != STATUS_INTERNAL) return false;
  *exit_code = command_signal_exit_code(signal_number);
  *status = status_ok();
  return true;
}

/* The later output would replace the earlier one, or what was read. */
static struct status check_distinct(const struct options_file *output, const struct options_file *files,
                                    size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const struct options_file *other = &files[i];
    if (output == other || !output_is_same_file(output->path, other->path)) continue;
    return status_make(STATUS_USAGE, "%s %s and %s %s are one file; give %s a file of its own", output->option,
                       output->path, other->option, other->path, output->option);
  }
  return status_ok();
}

struct status command_probe_outputs(const struct options *options) {
  struct options_file files[OPTIONS_FILES_MAX];
  const size_t count = options_files(options, files);
  for (size_t i = 0; i < count; ++i) {
    if (files[i].is_output) TRY(check_distinct(&files[i], files, count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (files[i].is_output) TRY(report_probe(files[i].path, files[i].option));
  }
  return status_ok();
}

struct status command_write_outputs(const struct options *options, const struct journal_data *journal,
                                    enum exit_code *exit_code) {
  struct report report;
  struct status status = report_build(journal, &report);
  if (status_failed(&status)) return status;
  bool any = false;
  for (size_t i = 0; i < OUTPUT_COUNT && !status_failed(&status); ++i) {
    const char *path = output_path(options, i);
    if (path == NULL) continue;
    any = true;
    status = report_save(&report, path, outputs[i].sink.write);
  }
  if (!status_failed(&status) && !any) status = report_save(&report, "-", report_write_text);
  *exit_code = report.exit_code;
  report_free(&report);
  return status;
}

struct command_journal command_choose_journal(const struct options *o) {
  struct command_journal out = {.kept = o->journal != NULL};
  const char *files[] = {o->json, o->csv, o->gbench};
  if (out.kept) {
    snprintf(out.path, sizeof out.path, "%s", o->journal);
    return out;
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (files[i] == NULL || strcmp(files[i], "-") == 0 || strncmp(files[i], "/dev/", 5) == 0) continue;
    snprintf(out.path, sizeof out.path, "%s.journal", files[i]);
    return out;
  }
  const char *folder = getenv("TMPDIR");
  snprintf(out.path, sizeof out.path, "%s/attnbench-%ld.journal", folder != NULL ? folder : "/tmp", (long)getpid());
  return out;
}

struct status command_report_journal(const struct options *options, const struct command_journal *file,
                                     enum exit_code *exit_code) {
  struct journal_data data;
  struct status status = journal_load(file->path, &data);
  if (status_failed(&status)) return status;
  status = command_write_outputs(options, &data, exit_code);
  journal_free(&data);
  return status;
}

void command_drop_journal(const struct command_journal *file, const struct status *written) {
  if (file->path[0] == '\0' || access(file->path, F_OK) != 0) return;
  if (status_failed(written)) {
    fprintf(stderr, "attnbench: results so far are kept: attnbench report %s\n", file->path);
  } else if (!file->kept) {
    unlink(file->path);
  }
}
