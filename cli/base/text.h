/* Plain text for a terminal: tables whose column widths come from their content, and wrapped paragraphs. Control
 * bytes of the content never reach the terminal. */
#ifndef ATTNBENCH_CLI_BASE_TEXT_H
#define ATTNBENCH_CLI_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
  TEXT_WIDTH = 118, /* where there is no terminal to ask */
  TEXT_WIDTH_LEAST = 80,
  TEXT_WIDTH_MOST = 250,
  TEXT_CELL_MAX = 128,
  TEXT_COLUMNS_MAX = 16,
  TEXT_DROPPED_MAX = 160,
};

/* Columns of the stream: COLUMNS, else those of the terminal that it is, from LEAST to MOST; else TEXT_WIDTH. */
size_t text_width(FILE *);

struct text_column {
  const char *heading, *unit;
  bool left;     /* aligned */
  uint32_t rank; /* of the columns that do not fit, the highest is left out first, and one that has nothing but "-" in
                    any case; 0 = it always stays */
  size_t least;  /* may be cut down to this width when nothing can be left out any more; 0 = never cut */
  void (*cell)(const void *row, char out[TEXT_CELL_MAX]);
};

/* How a row is marked: ">" or "!" before it, and by colour on a terminal that wants it (NO_COLOR, TERM=dumb). */
enum text_tone { TEXT_PLAIN, TEXT_BEST, TEXT_BAD };

struct text_table {
  const struct text_column *columns;
  size_t column_count;
  const void *const *rows;
  size_t row_count;
  void (*group)(const void *row, char out[TEXT_CELL_MAX]); /* on a line of its own above the rows that share it, never
                                                              cut; NULL: none */
  enum text_tone (*tone)(const void *row);                 /* NULL: no row is marked */
};

struct text_fit {
  bool cut;                       /* a cell ends in "~" */
  char dropped[TEXT_DROPPED_MAX]; /* headings of the columns that are left out: "waves, error" */
};

/* Headings, their units where a column has one, then one line per row, as wide as the stream. */
struct text_fit text_table_write(FILE *, const struct text_table *);

/* Says what did not fit, and that `where` ("--csv and --json") has it. Nothing when everything did. */
void text_fit_print(FILE *, const struct text_fit *, const char *where);

/* The same without groups and marks; returns whether a cell was cut. */
bool text_table_print(FILE *, const struct text_column *columns, size_t column_count, const void *const *rows,
                      size_t row_count);

/* Writes text wrapped at the width of the stream; the first line starts with `lead`, the others with `indent` spaces.
 */
void text_wrap(FILE *, const char *lead, size_t indent, const char *text);

/* Adds to the text in out, of `size` bytes in all; what finds no room is cut. */
void text_append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void text_append_list(char *out, size_t size, const char *format, va_list) __attribute__((format(printf, 3, 0)));

/* Appends text to the string in `out` in a form that a POSIX shell reads back as one word; cuts what does not fit. */
void text_append_word(char *out, size_t size, const char *text);

/* Copies, with a space put into each "::" at the start of a word and each "#[": a CI runner takes a line that begins
 * with "::", or a "##[", for a command of its own. */
void text_without_commands(const char *text, char *out, size_t size);

/* Copies, with each control, and each character that turns the direction of writing, as '?'. */
void text_clean(const char *text, char *out, size_t size);

#endif
