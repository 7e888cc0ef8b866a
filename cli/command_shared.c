#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/plan.h"
#include "cli/version.h"
#include "kernels/device.h"

/* Appends text in a form that a POSIX shell reads back as one word; cuts what does not fit. */
static void append_quoted(char *out, size_t size, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  size_t used = strlen(out);
  if (*text != '\0' && strspn(text, plain) == strlen(text)) {
    snprintf(out + used, size - used, "%s", text);
    return;
  }
  snprintf(out + used, size - used, "'");
  for (; *text != '\0'; ++text) {
    used = strlen(out);
    if (*text == '\'') {
      snprintf(out + used, size - used, "'\\''");
    } else {
      snprintf(out + used, size - used, "%c", *text);
    }
  }
  used = strlen(out);
  snprintf(out + used, size - used, "'");
}

void command_quote(int argc, char **argv, char *out, size_t size) {
  out[0] = '\0';
  for (int i = 0; i < argc; ++i) {
    if (i > 0) strncat(out, " ", size - strlen(out) - 1);
    append_quoted(out, size, argv[i]);
  }
}

void command_describe_run(const struct options *options, int argc, char **argv, const struct sweep *sweep,
                          uint64_t cell_count, struct run_info *out) {
  const time_t now = time(NULL);
  struct tm utc;
  *out = (struct run_info){.has_baseline = sweep->has_baseline,
                           .baseline = sweep->baseline,
                           .seed = options->seed_value,
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
  for (size_t i = 0; i < options->filter_count; ++i) {
    const size_t used = strlen(out->filter);
    snprintf(out->filter + used, sizeof out->filter - used, "%s%s", i > 0 ? " " : "", options->filter[i]);
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
  return status_make(STATUS_USAGE, "--gpu: \"%s\" is not a known GPU%s%s%s; known are l4, a100, h100, h200, rtx4090",
                     name, nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?)" : "");
}

struct status command_probe_outputs(const struct options *options) {
  struct status status = status_ok();
  const struct {
    const char *name, *value;
  } outputs[] = {{"--json", options->json},
                 {"--csv", options->csv},
                 {"--base-json", options->base_json},
                 {"--compare-json", options->compare_json},
                 {"--markdown", options->markdown},
                 {"--junit", options->junit},
                 {"--annotations", options->annotations}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs && !status_failed(&status); ++i) {
    if (outputs[i].value != NULL) status = report_probe(outputs[i].value, outputs[i].name);
  }
  return status;
}

struct status command_write_outputs(const struct options *options, const struct journal_data *journal,
                                    enum exit_code *exit_code) {
  struct report report;
  struct status status = report_build(journal, &report);
  if (status_failed(&status)) return status;
  if (options->json != NULL) status = report_save(&report, options->json, report_write_json);
  if (!status_failed(&status) && options->csv != NULL) status = report_save(&report, options->csv, report_write_csv);
  if (!status_failed(&status) && options->json == NULL && options->csv == NULL) {
    status = report_save(&report, "-", report_write_text);
  }
  *exit_code = report.exit_code;
  report_free(&report);
  return status;
}
