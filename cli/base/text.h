/* Plain text for a terminal: tables whose column widths come from their content, and wrapped paragraphs. Control
 * bytes of the content never reach the terminal. */
#ifndef ATTNBENCH_CLI_BASE_TEXT_H
#define ATTNBENCH_CLI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TEXT_WIDTH = 118, TEXT_CELL_MAX = 128, TEXT_COLUMNS_MAX = 16 };

struct text_column {
  const char *heading, *unit;
  bool left;    /* aligned */
  size_t least; /* may be cut down to this width when the table is too wide; 0 = never cut */
  void (*cell)(const void *row, char out[TEXT_CELL_MAX]);
};

/* Heading, units row, then one line per row. A cut cell ends in "~"; returns whether there is one. */
bool text_table_print(FILE *, const struct text_column *columns, size_t column_count, const void *const *rows,
                      size_t row_count);

/* Writes text wrapped at TEXT_WIDTH; the first line starts with `lead`, the others with `indent` spaces. */
void text_wrap(FILE *, const char *lead, size_t indent, const char *text);

/* Appends text to the string in `out` in a form that a POSIX shell reads back as one word; cuts what does not fit. */
void text_append_word(char *out, size_t size, const char *text);

/* Copies, with a space put into each "::" at the start of a word and each "#[": a CI runner takes a line that begins
 * with "::", or a "##[", for a command of its own. */
void text_without_commands(const char *text, char *out, size_t size);

/* Copies, with control bytes as '?'. */
void text_clean(const char *text, char *out, size_t size);

#endif
