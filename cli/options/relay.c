/* What of a command line goes into another one: the processes of `ab`, the command for one row. */
#include <string.h>

#include "cli/options/table.h"

static void add(const char *word, const char **out, size_t *count) {
  if (out != NULL) out[*count] = word;
  ++*count;
}

size_t options_relay(const struct options *o, bool is_candidate, const char **out) {
  const unsigned wanted = OPTION_RELAYED | (is_candidate ? OPTION_RELAYED_TO_CANDIDATE : 0u);
  const struct option_row *row;
  size_t count = 0;
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (!option_is_of(row, VERB_RUN) || (row->flags & wanted) == 0 || !options_table_is_given(row, o)) continue;
    const bool is_list = row->kind == OPTION_LIST;
    const char *const *values = is_list ? options_table_list(row, o)->item : options_table_text(row, o);
    for (size_t j = 0; j < (is_list ? options_table_list(row, o)->count : 1); ++j) {
      add(row->name, out, &count);
      add(values[j], out, &count);
    }
  }
  return count;
}

bool options_relay_stays(const char *name, size_t length, bool *has_value) {
  const struct option_row *row;
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if ((row->flags & OPTION_STAYS) == 0 || strlen(row->name) != length || strncmp(row->name, name, length) != 0)
      continue;
    *has_value = row->kind != OPTION_FLAG;
    return true;
  }
  return false;
}
