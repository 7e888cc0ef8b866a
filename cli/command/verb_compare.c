/* attnbench compare BASE NEW: the verdict over two saved reports or journals. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/command/commands.h"
#include "cli/command/gate_options.h"
#include "cli/command/outputs.h"

static struct status read_report(const char *path, const char *text, size_t length, struct journal_data *out) {
  struct json_doc doc;
  struct status status;
  TRY(json_parse(path, text, length, &doc));
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
  struct status status = status_ok();
  TRY(json_read_file(path, JOURNAL_BYTES_MAX, &text, &length));
  const bool is_journal = journal_starts(text);
  if (!is_journal) status = read_report(path, text, length, out);
  free(text);
  return is_journal ? journal_load(path, out) : status;
}

static struct status compare_loaded(const struct options *options, const struct journal_data *base,
                                    const struct journal_data *now, enum exit_code *exit_code) {
  struct compare_settings settings;
  struct compare compare;
  TRY(gate_options_settings(options, now, &settings));
  TRY(compare_build(base, now, &settings, &compare));
  const struct status status = outputs_write_compare(options, &compare);
  *exit_code = compare.exit_code;
  compare_free(&compare);
  return status;
}

static struct status compare_with(const struct options *options, const struct journal_data *base,
                                  enum exit_code *exit_code) {
  struct journal_data now;
  TRY(command_load_evidence(options->reports.item[1], &now));
  const struct status status = compare_loaded(options, base, &now, exit_code);
  journal_free(&now);
  return status;
}

struct status verb_compare(const struct options *options, enum exit_code *exit_code) {
  struct journal_data base;
  TRY(outputs_probe(options));
  TRY(command_load_evidence(options->reports.item[0], &base));
  const struct status status = compare_with(options, &base, exit_code);
  journal_free(&base);
  return status;
}
