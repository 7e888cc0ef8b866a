/* Writes the man page, and hands on what shells are asked for. */
#include "cli/options/generate.h"

#include <string.h>

#include "cli/base/version.h"
#include "cli/options/completion.h"
#include "cli/options/table.h"

/* ---- the man page ---------------------------------------------------------------------------------------------- */

/* Roff takes a backslash, a dot or a quote at the start of a line, and a dash, for something else. */
static void put_roff(FILE *out, const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", out);
  for (; *text != '\0'; ++text) {
    if (*text == '\\') {
      fputs("\\e", out);
    } else if (*text == '-') {
      fputs("\\-", out);
    } else {
      fputc(*text, out);
    }
  }
}

static void put_line(FILE *out, const char *before, const char *text, const char *after) {
  fputs(before, out);
  put_roff(out, text);
  fputs(after, out);
}

static void man_verbs(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    put_line(out, ".TP\n.B ", options_table_verb(verb)->usage, "\n");
    put_line(out, "", options_table_verb(verb)->help, "\n");
  }
}

/* "Default h200. Of run and plan." */
static void man_facts(FILE *out, const struct option_row *row) {
  char range[OPTION_RANGE_MAX];
  const char *before = "Of ";
  options_table_range(row, range);
  if (row->choices != NULL) put_line(out, "", row->choices(), ".\n");
  if (row->kind == OPTION_WHOLE || row->kind == OPTION_NUMBER || row->kind == OPTION_COUNT)
    put_line(out, "From ", range, ".\n");
  if (row->default_value != NULL) put_line(out, "Default ", row->default_value, ".\n");
  if (row->verbs == ~0u) return;
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (!option_is_of(row, verb)) continue;
    put_line(out, before, options_table_verb(verb)->name, "");
    before = ", ";
  }
  fputs(".\n", out);
}

static void man_options(FILE *out) {
  const char *group = "";
  EACH_OPTION(row, VERB_COUNT) {
    if (strcmp(group, row->group) != 0) put_line(out, ".SS ", row->group, "\n");
    group = row->group;
    put_line(out, ".TP\n.B ", row->name, "");
    if (row->value != NULL) put_line(out, row->kind == OPTION_COUNT ? "" : " ", row->value, "");
    put_line(out, "\n", row->help, ".\n");
    man_facts(out, row);
  }
}

static void write_man(FILE *out) {
  const struct status_exit *exit;
  fprintf(out, ".TH ATTNBENCH 1 \"\" \"attnbench %s\" \"User Commands\"\n", version_string());
  fputs(
      ".SH NAME\nattnbench \\- benchmark and profiling harness for attention kernels on NVIDIA GPUs\n.SH SYNOPSIS\n"
      ".B attnbench\n.RI [ VERB ] \" \" [ OPTION ]...\n.SH VERBS\n",
      out);
  man_verbs(out);
  fputs(".SH OPTIONS\nAs a FILE, \\- is stdin where it is read and stdout where it is written.\n", out);
  man_options(out);
  fputs(".SH EXIT STATUS\n", out);
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) {
    fprintf(out, ".TP\n.B %d\n", exit->code);
    put_line(out, "", exit->meaning, ".\n");
  }
  fputs(
      ".SH ENVIRONMENT\n.TP\n.B COLUMNS\nwidth of tables, from 80 to 250; by default that of the terminal\n"
      ".TP\n.B NO_COLOR\nno colour, whatever the terminal\n.TP\n.B TMPDIR\nwhere journals lie that nobody named\n",
      out);
}

struct status generate_text(const char *what, FILE *out) {
  if (strcmp(what, "man") != 0) return completion_script(what, out);
  write_man(out);
  return status_ok();
}
