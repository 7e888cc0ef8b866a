/* Plain text for a terminal: tables whose columns are as wide as their content, wrapped paragraphs, and lines on
 * stderr. All of it passes through text_clean. */
#pragma once

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
  TEXT_COLUMNS_MAX = 20,
  TEXT_DROPPED_MAX = 160,
};

/* The width of the stream in columns: the variable COLUMNS, else the terminal's width, either limited to
 * TEXT_WIDTH_LEAST..TEXT_WIDTH_MOST; TEXT_WIDTH when there is neither. */
size_t text_width(FILE *);

/* Whether a person reads the stream as it is written. */
bool text_is_terminal(FILE *);

struct text_column {
  const char *heading, *unit;
  bool left; /* aligned */
  /* When the table is too wide, the column of the highest rank is left out first, and one of rank 0 never. A column
   * whose cells are all "-" is left out too. */
  uint32_t rank;
  /* When no further column can be left out, this one may be cut to so many characters; 0: never. */
  size_t least;
};

/* How a row is marked: with ">" (best) or "!" (bad) before it, and with colour on a terminal unless NO_COLOR or
 * TERM=dumb is set. */
enum text_tone { TEXT_PLAIN, TEXT_BEST, TEXT_BAD };

struct text_table {
  const struct text_column *columns;
  size_t first, column_count; /* those before the first are not shown */
  /* Index of a column that is shown instead of the one before it if the stream is narrower than TEXT_WIDTH; 0: none
   */
  size_t short_column;
  const void *rows; /* an array */
  size_t row_bytes, row_count;
  /* Writes the cells of a row, one for each column. */
  void (*fill)(const void *row, char cell[][TEXT_CELL_MAX]);
  /* The name of the row's group. Consecutive rows of one group stand below a line with that name, which is never cut.
   * NULL: no groups. */
  void (*group)(const void *row, char out[TEXT_CELL_MAX]);
  enum text_tone (*tone)(const void *row); /* NULL: no row is marked */
};

/* A table of the first `count` rows of an array; more members may follow. */
#define TEXT_TABLE(columns_, column_count_, rows_, count_, fill_, ...)                                     \
  (struct text_table) {                                                                                    \
    .columns = (columns_), .column_count = (column_count_), .rows = (rows_), .row_bytes = sizeof *(rows_), \
    .row_count = (count_), .fill = (fill_), __VA_ARGS__                                                    \
  }

/* Fills the cells of a row in the order of the columns; NULL is "-". */
void text_cells(char cell[][TEXT_CELL_MAX], const char *const *texts, size_t count);
#define TEXT_CELLS(cell, ...)                            \
  text_cells((cell), (const char *const[]){__VA_ARGS__}, \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

struct text_fit {
  const struct text_column *columns; /* of the table */
  size_t column_count;
  bool shown[TEXT_COLUMNS_MAX];
  bool cut;                       /* a cell ends in "~" */
  char dropped[TEXT_DROPPED_MAX]; /* headings of the columns that are left out: "waves, error" */
};

/* Writes a line of headings, a line of units if any column has one, and a line per row, fitted to the stream's width.
 */
struct text_fit text_table_write(FILE *, const struct text_table *);

/* What a column holds, as "heading = help"; a row of a table that ends with a NULL heading. */
struct text_meaning {
  const char *heading, *help;
};
/* Is a column with this heading shown? `unit` NULL: with any unit. */
bool text_fit_shows(const struct text_fit *, const char *heading, const char *unit);
/* Writes, as one paragraph, the meanings of the columns that are shown, and then `more`. */
void text_legend(FILE *, const struct text_fit *, const struct text_meaning *, const char *more);

/* Writes what did not fit, and where else it is ("--csv and --json"; NULL: nowhere). Writes nothing when everything
 * fitted. */
void text_fit_print(FILE *, const struct text_fit *, const char *where);

/* Writes text wrapped at the width of the stream; the first line starts with `lead`, the others with `indent` spaces.
 */
void text_wrap(FILE *, const char *lead, size_t indent, const char *text);
/* The same for a printf format; lines after the first are indented by the width of `lead`. */
void text_paragraph(FILE *, const char *lead, const char *format, ...) __attribute__((format(printf, 3, 4)));

bool text_ends_with(const char *text, const char *end);

/* Appends to the text in `out`, a buffer of `size` bytes; what does not fit is cut. */
void text_append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void text_append_list(char *out, size_t size, const char *format, va_list) __attribute__((format(printf, 3, 0)));

/* Appends text to the string in `out` in a form that a POSIX shell reads back as one word; cuts what does not fit. */
void text_append_word(char *out, size_t size, const char *text);

/* Copies, with '?' for each character that is not safe to show (utf8_is_unsafe), and a space inserted into each "::"
 * that starts a word and each "#[", since a CI runner takes a line that begins with "::", and any "##[", as a
 * command. What does not fit is cut. */
void text_clean(const char *text, char *out, size_t size);

/* Writes one line: "attnbench: " and the text after text_clean. All lines on stderr are written by this function. */
void text_say(FILE *, const char *format, ...) __attribute__((format(printf, 2, 3)));
