/* Lays out tables and wraps text for a terminal. */
#include "cli/base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/utf8.h"

enum { GAP = 2, NARROW_GAP = 1, PARAGRAPH_MAX = 2048 };

/* Would a CI runner take a line for a command because of the character at `at`? Runners strip blanks of all kinds
 * from the start of a line. */
static bool starts_command(const char *text, const char *at) {
  const bool is_inside_word = at > text && at[-1] > ' ' && at[-1] <= '~';
  return (at[0] == ':' && at[1] == ':' && !is_inside_word) || (at[0] == '#' && at[1] == '[');
}

void text_clean(const char *text, char *out, size_t size) {
  uint32_t character;
  size_t used = 0;
  const char *at = text;
  for (size_t bytes; *at != '\0' && used + (bytes = utf8_decode(at, &character)) < size; at += bytes) {
    const bool is_safe = !utf8_is_unsafe(character);
    memcpy(out + used, is_safe ? at : "?", is_safe ? bytes : 1);
    used += is_safe ? bytes : 1;
    if (starts_command(text, at) && used + 1 < size) out[used++] = ' ';
  }
  out[used] = '\0';
}

void text_say(FILE *file, const char *format, ...) {
  enum { LINE_BYTES_MAX = 12288 }; /* two paths and more */
  char said[LINE_BYTES_MAX], clean[LINE_BYTES_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  text_clean(said, clean, sizeof clean);
  fprintf(file, "attnbench: %s\n", clean);
}

void text_append_list(char *out, size_t size, const char *format, va_list args) {
  const size_t used = strlen(out);
  vsnprintf(out + used, size - used, format, args);
}

void text_append(char *out, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_append_list(out, size, format, args);
  va_end(args);
}

bool text_ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), count = strlen(end);
  return length >= count && strcmp(text + length - count, end) == 0;
}

void text_append_word(char *out, size_t size, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (*text != '\0' && strspn(text, plain) == strlen(text)) {
    text_append(out, size, "%s", text);
    return;
  }
  text_append(out, size, "'");
  for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1)
    text_append(out, size, "%.*s'\\''", (int)(quote - text), text);
  text_append(out, size, "%s'", text);
}

/* ---- the stream ------------------------------------------------------------------------------------------------ */

bool text_is_terminal(FILE *file) {
  const int fd = fileno(file);
  return fd >= 0 && isatty(fd);
}

/* COLUMNS, 0 when it is not a number. */
static size_t columns_asked_for(void) {
  const char *text = getenv("COLUMNS");
  const size_t length = text != NULL ? strspn(text, "0123456789") : 0;
  return length > 0 && length < 6 && text[length] == '\0' ? strtoul(text, NULL, 10) : 0;
}

size_t text_width(FILE *file) {
  struct winsize size = {.ws_col = 0};
  size_t width = columns_asked_for();
  if (width == 0 && text_is_terminal(file) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) return TEXT_WIDTH;
  return width < TEXT_WIDTH_LEAST ? TEXT_WIDTH_LEAST : width > TEXT_WIDTH_MOST ? TEXT_WIDTH_MOST : width;
}

static bool is_coloured(FILE *file) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  const bool is_refused = no_color != NULL && *no_color != '\0';
  return text_is_terminal(file) && !is_refused && term != NULL && strcmp(term, "dumb") != 0;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *mark, *colour; /* in front of the row; of the whole line */
} tones[] = {[TEXT_PLAIN] = {"  ", ""}, [TEXT_BEST] = {"> ", "\033[1;32m"}, [TEXT_BAD] = {"! ", "\033[31m"}};
enum { MARK_WIDTH = 2 };

/* A table laid out, and the line of it that is written. */
struct layout {
  const struct text_table *table;
  FILE *file;
  size_t width[TEXT_COLUMNS_MAX];
  bool dropped[TEXT_COLUMNS_MAX], empty[TEXT_COLUMNS_MAX]; /* for want of room; there is nothing in it */
  size_t gap, line_width;
  size_t pending; /* spaces owed: written only before more text, so that no line ends in spaces */
  bool has_cells, is_cut;
};

static size_t longer(size_t width, const char *text) {
  const size_t length = strlen(text);
  return length > width ? length : width;
}

static const void *row_at(const struct text_table *table, size_t index) {
  return (const char *)table->rows + index * table->row_bytes;
}

static void get_cells(const struct text_table *table, const void *row, char cell[][TEXT_CELL_MAX]) {
  char raw[TEXT_COLUMNS_MAX][TEXT_CELL_MAX];
  table->fill(row, raw);
  for (size_t c = table->first; c < table->column_count; ++c) text_clean(raw[c], cell[c], TEXT_CELL_MAX);
}

static void measure(struct layout *layout) {
  const struct text_table *table = layout->table;
  char cell[TEXT_COLUMNS_MAX][TEXT_CELL_MAX];
  for (size_t c = table->first; c < table->column_count; ++c) {
    layout->width[c] = longer(strlen(table->columns[c].heading), table->columns[c].unit);
    layout->empty[c] = table->row_count > 0;
  }
  for (size_t r = 0; r < table->row_count; ++r) {
    get_cells(table, row_at(table, r), cell);
    for (size_t c = table->first; c < table->column_count; ++c) {
      layout->width[c] = longer(layout->width[c], cell[c]);
      layout->empty[c] = layout->empty[c] && strcmp(cell[c], "-") == 0;
    }
  }
  if (table->short_column > 0 && table->row_count > 0)
    layout->empty[layout->line_width < TEXT_WIDTH ? table->short_column - 1 : table->short_column] = true;
}

static bool is_shown(const struct layout *layout, size_t column) {
  return column >= layout->table->first && !layout->dropped[column] && !layout->empty[column];
}

static bool fits(struct layout *layout, size_t gap) {
  size_t total = layout->table->tone != NULL ? MARK_WIDTH : 0, shown = 0;
  layout->gap = gap;
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    if (!is_shown(layout, c)) continue;
    total += layout->width[c] + (shown++ > 0 ? gap : 0);
  }
  return total <= layout->line_width;
}

/* How much speaks for leaving a column out, and for cutting it; 0: it must stay as it is. */
static size_t rank_of(const struct layout *layout, size_t column) { return layout->table->columns[column].rank; }

static size_t cuttable_of(const struct layout *layout, size_t column) {
  const size_t width = layout->width[column], least = layout->table->columns[column].least;
  return least > 0 && width > least ? width : 0;
}

/* The column that most speaks for; the count when all must stay as they are. */
static size_t find_column(const struct layout *layout, size_t (*weigh)(const struct layout *, size_t column)) {
  size_t best = layout->table->column_count, most = 0;
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    if (!is_shown(layout, c) || weigh(layout, c) <= most) continue;
    most = weigh(layout, c);
    best = c;
  }
  return best;
}

/* Narrower gaps first, then fewer columns, then shorter names. */
static void fit(struct layout *layout) {
  const size_t count = layout->table->column_count;
  size_t column = 0;
  if (fits(layout, GAP)) return;
  while (!fits(layout, NARROW_GAP) && (column = find_column(layout, rank_of)) < count) layout->dropped[column] = true;
  while (!fits(layout, NARROW_GAP) && (column = find_column(layout, cuttable_of)) < count) --layout->width[column];
}

static void put_cell(struct layout *layout, size_t c, const char *text) {
  const bool left = layout->table->columns[c].left;
  const size_t length = strlen(text), width = layout->width[c], pad = length < width ? width - length : 0;
  layout->pending += (layout->has_cells ? layout->gap : 0) + (left ? 0 : pad);
  layout->has_cells = true;
  if (length > 0) {
    fprintf(layout->file, "%*s%.*s%s", (int)layout->pending, "", (int)(length > width ? width - 1 : length), text,
            length > width ? "~" : "");
    layout->pending = 0;
  }
  layout->is_cut = layout->is_cut || length > width;
  layout->pending += left ? pad : 0;
}

static void end_line(struct layout *layout) {
  fputc('\n', layout->file);
  layout->has_cells = false;
  layout->pending = 0;
}

static void put_headings(struct layout *layout, bool is_unit) {
  layout->pending = layout->table->tone != NULL ? MARK_WIDTH : 0;
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    const struct text_column *column = &layout->table->columns[c];
    if (is_shown(layout, c)) put_cell(layout, c, is_unit ? column->unit : column->heading);
  }
  end_line(layout);
}

static void put_row(struct layout *layout, const void *row, bool is_coloured_here) {
  const struct text_table *table = layout->table;
  const enum text_tone tone = table->tone != NULL ? table->tone(row) : TEXT_PLAIN;
  const bool has_colour = is_coloured_here && tones[tone].colour[0] != '\0';
  char cell[TEXT_COLUMNS_MAX][TEXT_CELL_MAX];
  get_cells(table, row, cell);
  if (has_colour) fputs(tones[tone].colour, layout->file);
  if (table->tone != NULL) fputs(tones[tone].mark, layout->file);
  for (size_t c = 0; c < table->column_count; ++c) {
    if (is_shown(layout, c)) put_cell(layout, c, cell[c]);
  }
  if (has_colour) fputs("\033[0m", layout->file);
  end_line(layout);
}

/* The name of the row's group, where it is another one than that of the row before. */
static void put_group(FILE *file, const struct text_table *table, size_t index, char before[TEXT_CELL_MAX]) {
  char raw[TEXT_CELL_MAX], name[TEXT_CELL_MAX];
  if (table->group == NULL) return;
  table->group(row_at(table, index), raw);
  text_clean(raw, name, sizeof name);
  if (index == 0 || strcmp(name, before) != 0) fprintf(file, "%s\n", name);
  memcpy(before, name, sizeof name);
}

/* "hot, cold" */
static void name_dropped(const struct layout *layout, char out[TEXT_DROPPED_MAX]) {
  out[0] = '\0';
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    if (!layout->dropped[c]) continue;
    text_append(out, TEXT_DROPPED_MAX, "%s%s", out[0] != '\0' ? ", " : "", layout->table->columns[c].heading);
  }
}

static bool has_units(const struct layout *layout) {
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    if (is_shown(layout, c) && layout->table->columns[c].unit[0] != '\0') return true;
  }
  return false;
}

void text_cells(char cell[][TEXT_CELL_MAX], const char *const *texts, size_t count) {
  for (size_t i = 0; i < count; ++i)
    snprintf(cell[i], TEXT_CELL_MAX, "%.*s", TEXT_CELL_MAX - 1, texts[i] != NULL ? texts[i] : "-");
}

struct text_fit text_table_write(FILE *file, const struct text_table *table) {
  struct layout layout = {.table = table, .file = file, .line_width = text_width(file)};
  const bool is_coloured_here = is_coloured(file);
  char group[TEXT_CELL_MAX];
  measure(&layout);
  fit(&layout);
  put_headings(&layout, false);
  if (has_units(&layout)) put_headings(&layout, true);
  for (size_t r = 0; r < table->row_count; ++r) {
    put_group(file, table, r, group);
    put_row(&layout, row_at(table, r), is_coloured_here);
  }
  struct text_fit said = {.columns = table->columns, .column_count = table->column_count, .cut = layout.is_cut};
  for (size_t c = 0; c < table->column_count; ++c) said.shown[c] = is_shown(&layout, c);
  name_dropped(&layout, said.dropped);
  return said;
}

bool text_fit_shows(const struct text_fit *fit, const char *heading, const char *unit) {
  for (size_t c = 0; c < fit->column_count; ++c) {
    const struct text_column *column = &fit->columns[c];
    if (fit->shown[c] && strcmp(column->heading, heading) == 0 && (unit == NULL || strcmp(column->unit, unit) == 0))
      return true;
  }
  return false;
}

void text_legend(FILE *file, const struct text_fit *fit, const struct text_meaning *meanings, const char *more) {
  char text[PARAGRAPH_MAX] = "";
  for (const struct text_meaning *row = meanings; row->heading != NULL; ++row) {
    if (text_fit_shows(fit, row->heading, NULL))
      text_append(text, sizeof text, "%s%s = %s", text[0] != '\0' ? "; " : "", row->heading, row->help);
  }
  if (text[0] != '\0') text_append(text, sizeof text, "%s", more);
  if (text[0] != '\0') text_wrap(file, "", 0, text);
}

void text_fit_print(FILE *file, const struct text_fit *fit, const char *where) {
  const char *also = where != NULL ? "; see also " : "";
  char text[TEXT_DROPPED_MAX + 160];
  if (fit->dropped[0] != '\0') {
    snprintf(text, sizeof text, "left out at %zu columns: %s; a wider terminal or COLUMNS=160 shows them%s%s",
             text_width(file), fit->dropped, also, where != NULL ? where : "");
    text_wrap(file, "", 0, text);
  }
  if (fit->cut) fprintf(file, "~ marks a text that was cut to fit%s%s\n", also, where != NULL ? where : "");
}

/* ---- paragraphs ------------------------------------------------------------------------------------------------ */

static bool is_number(const char *word, size_t length) {
  return strspn(word, "+-~<>=(*.0123456789") == length && word[length - 1] >= '0' && word[length - 1] <= '9';
}

static bool is_unit(const char *word, size_t length) {
  static const char *const units[] = {"%",  "x",  "us", "ms", "s",  "MHz", "GHz",  "W",       "J",       "B",
                                      "kB", "MB", "GB", "TB", "SM", "SMs", "GB/s", "TFLOP/s", "pJ/FLOP", "clocks"};
  while (length > 1 && strchr(",;:.)", word[length - 1]) != NULL) --length;
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
    if (strlen(units[i]) == length && strncmp(word, units[i], length) == 0) return true;
  }
  return false;
}

/* Of the word, and of the unit behind a number: the two stay on one line. */
static size_t unbroken_length(const char *word) {
  const size_t length = strcspn(word, " ");
  if (word[length] == '\0' || !is_number(word, length)) return length;
  const size_t next = strcspn(word + length + 1, " ");
  return next > 0 && is_unit(word + length + 1, next) ? length + 1 + next : length;
}

void text_wrap(FILE *file, const char *lead, size_t indent, const char *text) {
  const size_t width = text_width(file);
  char clean[PARAGRAPH_MAX];
  text_clean(lead, clean, sizeof clean);
  fputs(clean, file);
  size_t column = strlen(clean);
  text_clean(text, clean, sizeof clean);
  bool line_start = true;
  for (const char *word = clean + strspn(clean, " "); *word != '\0'; word += strspn(word, " ")) {
    const size_t length = unbroken_length(word);
    if (!line_start && column + 1 + length > width) {
      fprintf(file, "\n%*s", (int)indent, "");
      column = indent;
      line_start = true;
    }
    fprintf(file, "%s%.*s", line_start ? "" : " ", (int)length, word);
    column += length + (line_start ? 0 : 1);
    line_start = false;
    word += length;
  }
  fputc('\n', file);
}

void text_paragraph(FILE *file, const char *lead, const char *format, ...) {
  char text[PARAGRAPH_MAX];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  text_wrap(file, lead, strlen(lead), text);
}
