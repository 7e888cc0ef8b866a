/* Writes the page of several reports, with the verdict where there are two of the same cells. */
#include "cli/command/merged_page.h"

#include <string.h>

#include "cli/base/output.h"
#include "cli/command/gate_options.h"
#include "cli/page/page.h"

static struct status save(const struct merge *merge, const struct compare *compare, const char *path) {
  struct output output;
  TRY(output_open(path, &output));
  return output_end(&output, page_write_merge(merge, compare, output.stream));
}

static bool has_cell(const struct journal_data *data, const struct record *like) {
  for (size_t i = 0; i < data->record_count; ++i) {
    if (record_is_cell(&data->records[i], like->attn_case.key, like->variant)) return true;
  }
  return false;
}

/* Times entered by hand are no evidence. */
static bool can_be_compared(const struct merge *merge) {
  const struct journal_data *base = &merge->source[0].data, *now = &merge->source[1].data;
  if (merge->source_count != 2 || base->run.started_utc[0] == '\0' || now->run.started_utc[0] == '\0') return false;
  for (size_t i = 0; i < now->record_count; ++i) {
    if (has_cell(base, &now->records[i])) return true;
  }
  return false;
}

struct status merged_page_save(const struct options *options, const struct merge *merge) {
  const struct journal_data *base = &merge->source[0].data, *now = &merge->source[1].data;
  struct compare_settings settings;
  struct compare compare;
  if (!can_be_compared(merge)) return save(merge, NULL, options->html);
  TRY(gate_options_settings(options, base, now, &settings));
  settings.once = true;
  TRY(compare_build(base, now, &settings, &compare));
  compare.base_path = merge->source[0].path;
  const struct status status = save(merge, &compare, options->html);
  compare_free(&compare);
  return status;
}
