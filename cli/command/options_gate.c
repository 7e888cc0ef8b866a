/* Options of the gate that are numbers or words of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/options.h"

static bool read_number(const char *text, double least, double most, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out >= least && *out <= most;
}

static struct status read_threshold_for(const char *text, struct options_threshold *out) {
  const char *equals = strrchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
  if (length == 0 || length >= sizeof out->glob ||
      !read_number(equals + 1, OPTIONS_THRESHOLD_MIN, OPTIONS_THRESHOLD_MAX, &out->percent)) {
    return status_make(
        STATUS_USAGE,
        "--threshold-for: \"%.160s\" is not GLOB=PERCENT with a glob of KEY/VARIANT and %g to %g percent, "
        "such as '*/wmma=5'",
        text, OPTIONS_THRESHOLD_MIN, OPTIONS_THRESHOLD_MAX);
  }
  memcpy(out->glob, text, length);
  out->glob[length] = '\0';
  return status_ok();
}

static struct status parse_controls(struct options *out) {
  double controls = out->sweep != NULL ? 3 : 0;
  if (out->controls != NULL && (!read_number(out->controls, 0, 20, &controls) || controls != floor(controls))) {
    return status_make(STATUS_USAGE, "--controls: \"%s\" is not a whole number from 0 to 20", out->controls);
  }
  if (out->sweep == NULL && controls > 0) {
    return status_make(STATUS_USAGE, "--controls: a slowdown is put into cells of a sweep; give --sweep, not --from");
  }
  out->controls_value = (uint32_t)controls;
  return status_ok();
}

/* Of the gate runs that a self-test draws. */
static struct status parse_rounds(struct options *out) {
  double rounds = 7, processes = 0;
  if (!read_number(out->processes, 10, 64, &processes) || processes != floor(processes)) {
    return status_make(STATUS_USAGE, "--processes: \"%s\" is not a whole number from 10 to 64", out->processes);
  }
  out->processes_value = (uint32_t)processes;
  if (out->rounds != NULL && (!read_number(out->rounds, 5, 32, &rounds) || rounds != floor(rounds))) {
    return status_make(STATUS_USAGE, "--rounds: \"%s\" is not a whole number from 5 to 32", out->rounds);
  }
  out->rounds_value = (uint32_t)rounds;
  if (out->sweep != NULL && processes < 2 * rounds) {
    return status_make(STATUS_USAGE, "--processes: %g are too few for two sides of --rounds %g; at least %g",
                       processes, rounds, 2 * rounds);
  }
  return parse_controls(out);
}

struct status options_parse_gate(struct options *out) {
  out->threshold_value = out->floor_us_value = NAN;
  if (out->threshold != NULL &&
      !read_number(out->threshold, OPTIONS_THRESHOLD_MIN, OPTIONS_THRESHOLD_MAX, &out->threshold_value)) {
    return status_make(STATUS_USAGE, "--threshold: \"%s\" is not a number of percent from %g to %g", out->threshold,
                       OPTIONS_THRESHOLD_MIN, OPTIONS_THRESHOLD_MAX);
  }
  if (out->floor_us != NULL && !read_number(out->floor_us, 0, 1e6, &out->floor_us_value)) {
    return status_make(STATUS_USAGE, "--floor-us: \"%s\" is not a number of microseconds from 0 to 1000000",
                       out->floor_us);
  }
  if (out->noise != NULL && strcmp(out->noise, "fail") != 0 && strcmp(out->noise, "warn") != 0) {
    return status_make(STATUS_USAGE, "--noise: \"%s\" is not fail or warn", out->noise);
  }
  struct status status = out->verb == VERB_GATE ? parse_rounds(out) : status_ok();
  for (size_t i = 0; i < out->threshold_for_count && !status_failed(&status); ++i) {
    status = read_threshold_for(out->threshold_for[i], &out->threshold_for_value[i]);
  }
  return status;
}
