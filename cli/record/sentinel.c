/* Folds the measurements of a sentinel. */
#include "cli/record/run_info.h"

#include <math.h>
#include <string.h>

static void start(struct sentinel *sentinel, const struct sentinel_line *line) {
  *sentinel = (struct sentinel){.known = true};
  memcpy(sentinel->key, line->key, sizeof line->key);
  memcpy(sentinel->variant, line->variant, sizeof line->variant);
  for (size_t i = 0; i < TIME_MODE_COUNT; ++i)
    sentinel->mode[i] = (struct sentinel_mode){line->us[i], line->us[i], line->us[i], line->us[i], 1};
}

bool sentinel_add(struct sentinel *sentinel, const struct sentinel_line *line) {
  if (!sentinel->known) start(sentinel, line);
  if (strcmp(sentinel->key, line->key) != 0 || strcmp(sentinel->variant, line->variant) != 0) return false;
  ++sentinel->count;
  for (size_t i = 0; i < TIME_MODE_COUNT; ++i) {
    struct sentinel_mode *mode = &sentinel->mode[i];
    if (isfinite(line->us[i])) mode->last_us = line->us[i];
    mode->min_us = fmin(mode->min_us, line->us[i]);
    mode->max_us = fmax(mode->max_us, line->us[i]);
    mode->drift_ratio = mode->last_us / mode->first_us;
  }
  return true;
}
