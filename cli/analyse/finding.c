/* The tables of findings, thresholds and changes. */
#include "cli/analyse/finding.h"

static const struct {
  const char *name;
  enum finding_severity severity;
  const char *meaning, *rule, *remedy;
} findings[FINDING_ID_COUNT] = {
#define FINDING_ROW(file, name, severity, meaning, rule, remedy) {#name, FINDING_##severity, meaning, rule, remedy},
    FINDING_MAP(FINDING_ROW)
#undef FINDING_ROW
};

const char *finding_name(enum finding_id id) { return findings[id].name; }
enum finding_severity finding_severity(enum finding_id id) { return findings[id].severity; }
const char *finding_help(enum finding_id id) { return findings[id].meaning; }
const char *finding_rule(enum finding_id id) { return findings[id].rule; }
const char *finding_remedy(enum finding_id id) { return findings[id].remedy; }

const char *finding_severity_name(enum finding_severity severity) {
  static const char *const names[] = {"note", "warning", "severe"};
  return names[severity];
}

const char *finding_change_name(enum finding_change change) {
  static const char *const names[CHANGE_COUNT] = {
#define FINDING_CHANGE(name, help) #name,
      FINDING_CHANGE_MAP(FINDING_CHANGE)
#undef FINDING_CHANGE
  };
  return names[change];
}

const struct finding_limits finding_limits = {
#define FINDING_LIMIT(id, name, value, what) value,
    FINDING_LIMIT_MAP(FINDING_LIMIT)
#undef FINDING_LIMIT
};

static const struct finding_threshold thresholds[] = {
#define FINDING_LIMIT(id, name, value, what) {FINDING_ID_##id, #name, value, what},
    FINDING_LIMIT_MAP(FINDING_LIMIT)
#undef FINDING_LIMIT
};

size_t finding_threshold_count(void) { return sizeof thresholds / sizeof *thresholds; }
const struct finding_threshold *finding_threshold_at(size_t index) { return &thresholds[index]; }
