/* attnbench compare BASE NEW, and what every gate shares: reading evidence, settings, outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/command/commands.h"

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static struct status read_report(const char *path, const char *text, size_t length, struct journal_data *out) {
  struct json_doc doc;
  struct status status = json_parse(path, text, length, &doc);
  if (status_failed(&status)) return status;
  const cJSON *schema = json_get(doc.root, "schema");
  if (cJSON_IsString(schema) && strcmp(schema->valuestring, REPORT_SCHEMA) == 0) {
    status = report_read(&doc, out);
  } else {
    status = json_error(&doc, schema != NULL ? schema : doc.root, false,
                        "is no report that can be compared; its \"schema\" must be \"%s\"", REPORT_SCHEMA);
  }
  json_free(&doc);
  return status;
}

struct status command_load_evidence(const char *path, struct journal_data *out) {
  char *text;
  size_t length;
  struct status status = json_read_file(path, JOURNAL_BYTES_MAX, &text, &length);
  if (status_failed(&status)) return status;
  const bool is_journal = journal_starts(text);
  if (!is_journal) status = read_report(path, text, length, out);
  free(text);
  return is_journal ? journal_load(path, out) : status;
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

static void add_override(struct compare_settings *out, const char *glob, double percent) {
  struct compare_override *to = &out->override[out->override_count++];
  snprintf(to->glob, sizeof to->glob, "%s", glob);
  to->threshold = percent / 100;
}

_Static_assert((int)SWEEP_GATE_CASES_MAX + (int)OPTIONS_THRESHOLDS_MAX <= (int)COMPARE_OVERRIDES_MAX,
               "every threshold of the sweep and of the command line has room");

static struct status matches_none(const char *glob, const char *example_key) {
  return status_make(STATUS_USAGE,
                     "--threshold-for: \"%s\" matches no cell; a glob matches KEY/VARIANT, such as \"%s/*\"", glob,
                     example_key);
}

static bool matches_any(const char *glob, const struct journal_data *data) {
  for (size_t i = 0; i < data->record_count; ++i) {
    if (cell_name_matches(glob, data->records[i].attn_case.key, data->records[i].variant)) return true;
  }
  return false;
}

/* Of cells picked one by one, as a row's command picks its own, none needs be that of a glob for the whole sweep. */
static bool must_match(const struct options *options) { return options->only.count == 0; }

struct status command_check_thresholds(const struct options *options, const struct cells *cells) {
  for (size_t i = 0; i < options->threshold_for.count && must_match(options); ++i) {
    const char *glob = options->threshold_for_value[i].glob;
    size_t at = 0;
    while (at < cells->count && !cell_name_matches(glob, cells->items[at].attn_case->key, cells->items[at].spec.text))
      ++at;
    if (at == cells->count) return matches_none(glob, cells->items[0].attn_case->key);
  }
  return status_ok();
}

struct status command_gate_settings(const struct options *options, const struct journal_data *now,
                                    struct compare_settings *out) {
  const struct sweep_gate *gate = &now->run.gate;
  *out = compare_defaults();
  if (gate->known && gate->threshold_percent > 0) out->threshold = gate->threshold_percent / 100;
  if (!isnan(options->threshold.value)) out->threshold = options->threshold.value / 100;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && !isnan(options->floor_us.value); ++mode) {
    out->floor_us[mode] = options->floor_us.value;
  }
  out->allow_new = options->allow_new;
  out->noise_is_ok = options->noise != NULL && strcmp(options->noise, "warn") == 0;
  for (uint32_t i = 0; gate->known && i < gate->case_count; ++i) {
    add_override(out, gate->cases[i].glob, gate->cases[i].threshold_percent);
  }
  for (size_t i = 0; i < options->threshold_for.count; ++i) {
    const struct options_threshold *one = &options->threshold_for_value[i];
    if (must_match(options) && !matches_any(one->glob, now)) {
      return matches_none(one->glob, now->record_count > 0 ? now->records[0].attn_case.key : "B1.*");
    }
    add_override(out, one->glob, one->percent);
  }
  return options->modes != NULL ? time_mode_parse_list(options->modes, out->modes) : status_ok();
}

/* ---- outputs ------------------------------------------------------------------------------------------------- */

static struct status save(const struct compare *compare, const char *path,
                          struct status (*write)(const struct compare *, FILE *)) {
  struct output output;
  const struct status status = output_open(path, &output);
  return status_failed(&status) ? status : output_end(&output, write(compare, output.stream));
}

static void keep_first(struct status *first, struct status next) {
  if (!status_failed(first)) *first = next;
}

struct status command_write_compare(const struct options *options, const struct compare *compare) {
  const struct {
    const char *path;
    struct status (*write)(const struct compare *, FILE *);
  } outputs[] = {{options->compare_json, verdict_json_write},
                 {options->markdown, verdict_markdown_write},
                 {options->junit, verdict_junit_write},
                 {options->annotations, verdict_annotations_write}};
  struct status status = status_ok();
  /* One that cannot be written takes no other one with it: what was measured for them is not measured again. */
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i) {
    if (outputs[i].path == NULL) continue;
    keep_first(&status, save(compare, outputs[i].path, outputs[i].write));
  }
  if (options_files_on_stdout(options, NULL) == NULL) keep_first(&status, save(compare, "-", verdict_text_write));
  return status;
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static struct status compare_loaded(const struct options *options, const struct journal_data *base,
                                    const struct journal_data *now, enum exit_code *exit_code) {
  struct compare_settings settings;
  struct compare compare;
  struct status status = command_gate_settings(options, now, &settings);
  if (!status_failed(&status)) status = compare_build(base, now, &settings, &compare);
  if (status_failed(&status)) return status;
  status = command_write_compare(options, &compare);
  *exit_code = compare.exit_code;
  compare_free(&compare);
  return status;
}

struct status verb_compare(const struct options *options, enum exit_code *exit_code) {
  struct journal_data base, now;
  struct status status = command_probe_outputs(options);
  if (!status_failed(&status)) status = command_load_evidence(options->reports.item[0], &base);
  if (status_failed(&status)) return status;
  status = command_load_evidence(options->reports.item[1], &now);
  if (!status_failed(&status)) {
    status = compare_loaded(options, &base, &now, exit_code);
    journal_free(&now);
  }
  journal_free(&base);
  return status;
}
