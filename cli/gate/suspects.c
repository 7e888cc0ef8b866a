/* The cells that a comparison wants to see measured again. */
#include "cli/gate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"

static void add(struct suspects *suspects, const struct compare_row *row) {
  char *text = suspects->text[suspects->count];
  suspects->modes[row->mode] = true;
  cell_name(row->key, row->variant, text);
  for (size_t i = 0; i < suspects->count; ++i) {
    if (strcmp(suspects->only[i], text) == 0) return; /* its other mode */
  }
  suspects->only[suspects->count++] = text;
}

static bool wants_again(const struct compare *compare, const struct compare_row *row) {
  return confirm_wants(row) || (confirm_wants_all(compare) && !isnan(row->ratio));
}

static struct status list(const struct compare *compare,
                          bool (*is)(const struct compare *, const struct compare_row *), struct suspects *out) {
  *out = (struct suspects){.count = 0};
  TRY(owned_array(&out->text, compare->row_count, sizeof *out->text, "suspects"));
  TRY(owned_array(&out->only, compare->row_count, sizeof *out->only, "suspects"));
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (is(compare, row)) add(out, row);
  }
  return status_ok();
}

struct status suspects_of(const struct compare *compare, struct suspects *out) {
  return list(compare, wants_again, out);
}

struct status suspects_open(const struct compare *compare, struct suspects *out) {
  return list(compare, compare_is_open, out);
}

void suspects_free(struct suspects *suspects) {
  free(suspects->text);
  free(suspects->only);
  *suspects = (struct suspects){.count = 0};
}

enum exit_code suspects_exit_code(const struct compare *compare) {
  static const enum exit_code worst_first[] = {EXIT_CODE_NOT_COMPARABLE, EXIT_CODE_WRONG,        EXIT_CODE_COVERAGE,
                                               EXIT_CODE_REGRESSION,     EXIT_CODE_INCONCLUSIVE, EXIT_CODE_OK};
  const struct journal_data *now = compare->now;
  const bool missing = now->record_count < now->run.cell_count;
  for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; ++i) {
    const enum exit_code code = worst_first[i];
    if (compare->exit_code == code || (missing && code == EXIT_CODE_COVERAGE)) return code;
    for (size_t r = 0; r < now->record_count; ++r) {
      if (code != EXIT_CODE_OK && cell_status_exit_code(now->records[r].status) == code) return code;
    }
  }
  return compare->exit_code;
}
