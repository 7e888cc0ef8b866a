/* Describes a run for its journal: versions, command, sweep, filter. */

#include <string.h>
#include <time.h>

#include "cli/base/text.h"
#include "cli/command/run.h"

/* A list of words that has no room for the last one ends in " ..." instead. */
static bool end_list(char *out, size_t size, size_t used) {
  static const char mark[] = " ...";
  if (strlen(out) + sizeof mark <= size) return false;
  snprintf(out + used, size - used, "%s", mark);
  return true;
}

void describe_run_command(const struct invocation *invocation, char *out, size_t size) {
  out[0] = '\0';
  for (int i = 0; i < invocation->argc; ++i) {
    const size_t used = strlen(out);
    if (i > 0) strncat(out, " ", size - used - 1);
    text_append_word(out, size, invocation->argv[i]);
    if (end_list(out, size, used)) return;
  }
}

static void join_filters(const struct options *options, char *out, size_t size) {
  out[0] = '\0';
  for (size_t i = 0; i < options->filter.count; ++i) {
    const size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s", i > 0 ? " " : "", options->filter.item[i]);
    if (end_list(out, size, used)) return;
  }
}

void describe_run(const struct options *options, const struct invocation *invocation, const struct sweep *sweep,
                  uint64_t cell_count, struct run_info *out) {
  const time_t now = time(NULL);
  struct tm utc;
  *out = (struct run_info){.has_baseline = sweep->has_baseline,
                           .baseline = sweep->baseline,
                           .gate = sweep->gate,
                           .seed = options->seed.value,
                           .cell_count = cell_count,
                           .quick = options->quick,
                           .by_card = options->devices != NULL,
                           .tuned = options->verb == VERB_TUNE};
  snprintf(out->version, sizeof out->version, "%s", version_string());
  snprintf(out->git_commit, sizeof out->git_commit, "%s", version_git_commit());
  if (options->commit != NULL) snprintf(out->commit, sizeof out->commit, "%s", options->commit);
  snprintf(out->cuda, sizeof out->cuda, "%s", device_build_cuda());
  snprintf(out->cjson, sizeof out->cjson, "%s", version_cjson());
  gmtime_r(&now, &utc);
  strftime(out->started_utc, sizeof out->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc);
  describe_run_command(invocation, out->command, sizeof out->command);
  snprintf(out->sweep_path, sizeof out->sweep_path, "%s", options->sweep_is_kept ? "-" : sweep->path);
  snprintf(out->sweep_name, sizeof out->sweep_name, "%s", sweep->name);
  snprintf(out->sweep_about, sizeof out->sweep_about, "%s", sweep->about);
  snprintf(out->sweep_hash, sizeof out->sweep_hash, "%s", sweep->hash);
  out->time_budget_s = options->time_budget.value;
  snprintf(out->order, sizeof out->order, "%s", schedule_order_name(options));
  selection_shard_text(&options->shard_value, out->shard);
  join_filters(options, out->filter, sizeof out->filter);
}
