/* Settings of a comparison: the command line over the sweep over the defaults. */
#include "cli/command/commands.h"

#include <math.h>
#include <string.h>

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

/* With --only a glob that was written for the whole sweep need not match one of the picked cells. */
static bool must_match(const struct options *options) { return options->only.count == 0; }

struct status gate_options_check(const struct options *options, const struct cells *cells) {
  for (size_t i = 0; i < options->threshold_for.count && must_match(options); ++i) {
    const char *glob = options->threshold_for_value[i].glob;
    size_t at = 0;
    while (at < cells->count && !cell_name_matches(glob, cells->items[at].attn_case->key, cells->items[at].spec.text))
      ++at;
    if (at == cells->count) return matches_none(glob, cells->items[0].attn_case->key);
  }
  return status_ok();
}

struct status gate_options_settings(const struct options *options, const struct journal_data *base,
                                    const struct journal_data *now, struct compare_settings *out) {
  const struct sweep_gate *gate = &base->run.gate;
  *out = compare_defaults();
  if (gate->known && gate->threshold_percent > 0) out->threshold = gate->threshold_percent / 100;
  if (!isnan(options->threshold.value)) out->threshold = options->threshold.value / 100;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && !isnan(options->floor_us.value); ++mode)
    out->floor_us[mode] = options->floor_us.value;
  out->allow_new = options->allow_new;
  out->noise_is_ok = options->noise != NULL && strcmp(options->noise, "warn") == 0;
  for (uint32_t i = 0; gate->known && i < gate->case_count; ++i)
    add_override(out, gate->cases[i].glob, gate->cases[i].threshold_percent);
  for (size_t i = 0; i < options->threshold_for.count; ++i) {
    const struct options_threshold *one = &options->threshold_for_value[i];
    if (must_match(options) && !matches_any(one->glob, now))
      return matches_none(one->glob, now->record_count > 0 ? now->records[0].attn_case.key : "B1.*");
    add_override(out, one->glob, one->percent);
  }
  return options->modes != NULL ? time_mode_parse_list(options->modes, out->modes) : status_ok();
}
