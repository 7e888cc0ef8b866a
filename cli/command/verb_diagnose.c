/* diagnose: findings for a saved report or for a table of times. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/record/times.h"

static const struct {
  const char *schema;
  struct status (*read)(const struct json_doc *, struct journal_data *out);
} formats[] = {{REPORT_SCHEMA, report_read}, {TIMES_SCHEMA, times_read}};

static struct status read_any(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *schema = json_get(doc->root, "schema");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    if (cJSON_IsString(schema) && strcmp(schema->valuestring, formats[i].schema) == 0)
      return formats[i].read(doc, out);
  }
  return json_error(doc, schema != NULL ? schema : doc->root, false,
                    "is no report; its \"schema\" must be \"%s\" or \"%s\"", REPORT_SCHEMA, TIMES_SCHEMA);
}

struct status command_load_facts(const char *path, struct journal_data *out) {
  struct json_doc doc;
  TRY(json_load(path, JOURNAL_BYTES_MAX, &doc));
  const struct status status = read_any(&doc, out);
  json_free(&doc);
  return status;
}

struct status verb_diagnose(const struct options *options, enum exit_code *exit_code) {
  struct journal_data data;
  TRY(outputs_probe(options));
  TRY(command_load_facts(options->reports.item[0], &data));
  const struct status status = outputs_write(options, &data, exit_code);
  journal_free(&data);
  return status;
}
