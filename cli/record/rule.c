/* The first rule of a table that is broken. */
#include "cli/record/record.h"

const char *rule_first_broken(const struct rule *rules, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (rules[i].is_broken) return rules[i].problem;
  }
  return NULL;
}
