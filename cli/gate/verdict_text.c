/* A comparison as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/gate/sinks.h"

enum { PARAGRAPH_MAX = 1024 };

/* ---- columns ------------------------------------------------------------------------------------------------- */

static const struct compare_row *row_of(const void *row) { return row; }

static void put_us(const struct compare_side *side, char out[TEXT_CELL_MAX]) {
  if (side->record != NULL) {
    units_format(side->median_us, out);
  } else {
    snprintf(out, TEXT_CELL_MAX, "-");
  }
}

static void cell_verdict(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s%s", verdict_name(row_of(row)->verdict), row_of(row)->was_suspect ? "*" : "");
}

static void cell_key(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->key);
}

static void cell_variant(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->variant);
}

static void cell_mode(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", time_mode_name(row_of(row)->mode));
}

static void cell_base(const void *row, char out[TEXT_CELL_MAX]) { put_us(&row_of(row)->base, out); }
static void cell_now(const void *row, char out[TEXT_CELL_MAX]) { put_us(&row_of(row)->now, out); }
static void cell_change(const void *row, char out[TEXT_CELL_MAX]) { sinks_percent(row_of(row)->ratio, out); }
static void cell_bounds(const void *row, char out[TEXT_CELL_MAX]) { sinks_bounds(row, out); }
static void cell_processes(const void *row, char out[TEXT_CELL_MAX]) { sinks_processes(row, out); }

static const struct text_column columns[] = {
    {"verdict", "", true, 0, cell_verdict},  {"case", "", true, 24, cell_key},
    {"variant", "", true, 12, cell_variant}, {"mode", "", true, 0, cell_mode},
    {"base", "us", false, 0, cell_base},     {"new", "us", false, 0, cell_now},
    {"change", "", false, 0, cell_change},   {"bounds", "", false, 0, cell_bounds},
    {"runs", "", false, 0, cell_processes},
};

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* A CI runner takes a line that begins with "::", or a "##[", for a command of its own. */
static void without_commands(const char *text, char out[PARAGRAPH_MAX]) {
  size_t used = 0;
  for (const char *c = text; *c != '\0' && used + 2 < PARAGRAPH_MAX; ++c) {
    const bool at_word = c == text || (unsigned char)c[-1] <= ' ';
    out[used++] = *c;
    if ((at_word && c[0] == ':' && c[1] == ':') || (c[0] == '#' && c[1] == '[')) out[used++] = ' ';
  }
  out[used] = '\0';
}

static void print_wrapped(FILE *file, const char *lead, const char *text) {
  char safe[PARAGRAPH_MAX];
  without_commands(text, safe);
  text_wrap(file, lead, strlen(lead), safe);
}

static void print_head(FILE *file, const struct compare *compare) {
  char line[COMPARE_LINE_MAX];
  sinks_counts_text(compare, line);
  fprintf(file, "%s\n", line);
  sinks_report_text(compare->base, line);
  print_wrapped(file, "base  ", line);
  sinks_report_text(compare->now, line);
  print_wrapped(file, "new   ", line);
}

static void print_differences(FILE *file, const struct compare *compare) {
  char line[PARAGRAPH_MAX];
  if (!compare->comparable) fputs("\nnot comparable: what differs, base | new\n", file);
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    snprintf(line, sizeof line, "%s: %s | %s", difference->key, difference->base, difference->now);
    print_wrapped(file, difference->fatal ? "  differs  " : "  remark   ", line);
  }
}

static bool is_worth_a_word(const struct compare *compare, const struct compare_row *row) {
  return sinks_row_fails(compare, row) || row->reason[0] != '\0';
}

static void print_reason(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char text[PARAGRAPH_MAX], lead[48], command[COMPARE_COMMAND_MAX];
  snprintf(lead, sizeof lead, "%s: ", verdict_name(row->verdict));
  snprintf(text, sizeof text, "%s %s %s: %s", row->key, row->variant, time_mode_name(row->mode), sinks_row_text(row));
  print_wrapped(file, lead, text);
  if (!sinks_row_fails(compare, row)) return;
  again_command(compare, row, command, sizeof command);
  fputs("  again: ", file);
  sinks_put_line(file, command);
  fputc('\n', file);
}

static void print_reasons(FILE *file, const struct compare *compare) {
  size_t shown = 0, more = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!is_worth_a_word(compare, &compare->rows[i])) continue;
    if (shown == COMPARE_ROWS_SHOWN) {
      ++more;
      continue;
    }
    if (shown++ == 0) fputc('\n', file);
    print_reason(file, compare, &compare->rows[i]);
  }
  if (more > 0) fprintf(file, "and %zu more, none worse than these; --json has them all\n", more);
}

static bool any_suspect(const struct compare *compare) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (compare->rows[i].was_suspect) return true;
  }
  return false;
}

struct status verdict_text_write(const struct compare *compare, FILE *file) {
  char line[COMPARE_LINE_MAX];
  const void **rows = malloc((compare->row_count + 1) * sizeof *rows);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for a table of %zu rows", compare->row_count);
  for (size_t i = 0; i < compare->row_count; ++i) rows[i] = &compare->rows[i];
  print_head(file, compare);
  print_differences(file, compare);
  bool cut = false;
  if (compare->row_count > 0) {
    fputc('\n', file);
    cut = text_table_print(file, columns, sizeof columns / sizeof *columns, rows, compare->row_count);
    fputs("change = new time over base time; bounds hold it with confidence on either side; runs = processes\n",
          file);
  }
  if (any_suspect(compare)) fputs("* measured again in fresh processes before this verdict\n", file);
  if (cut) fputs("~ marks a name cut to fit; --json has it whole\n", file);
  print_reasons(file, compare);
  sinks_outcome_text(compare, line);
  fprintf(file, "\n%s\n", line);
  free(rows);
  return status_ok();
}
