/* Options that are passed on: to the processes of a comparison, and into the printed command for one row. */
#include <string.h>

#include "cli/options/table.h"

static void add(const char *word, const char **out, size_t *count) {
  if (out != NULL) out[*count] = word;
  ++*count;
}

size_t options_relay(const struct options *o, bool is_candidate, const char **out) {
  const unsigned wanted = OPTION_RELAYED | (is_candidate ? OPTION_RELAYED_TO_CANDIDATE : 0u);
  size_t count = 0, value_count;
  EACH_OPTION(row, VERB_RUN) {
    if ((row->flags & wanted) == 0 || !options_table_is_given(row, o)) continue;
    const char *const *values = options_table_values(row, o, &value_count);
    for (size_t i = 0; i < value_count; ++i) {
      add(row->name, out, &count);
      add(values[i], out, &count);
    }
  }
  return count;
}

/* The row of the verb with this name and flag; NULL: there is none. */
static const struct option_row *find_flagged(enum verb verb, unsigned flag, const char *name, size_t length) {
  EACH_OPTION(row, verb) {
    if ((row->flags & flag) != 0 && strlen(row->name) == length && strncmp(row->name, name, length) == 0) return row;
  }
  return NULL;
}

bool options_relay_stays(const char *name, size_t length, bool *has_value) {
  const struct option_row *row = find_flagged(VERB_COUNT, OPTION_STAYS, name, length);
  *has_value = row != NULL && row->kind != OPTION_FLAG;
  return row != NULL;
}

bool options_relay_writes(const char *name, size_t length, bool *has_value) {
  const struct option_row *row = find_flagged(VERB_RUN, OPTION_WRITES, name, length);
  *has_value = row != NULL && !options_table_is_joined(row);
  return row != NULL;
}
