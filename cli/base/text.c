/* Lays out tables and wraps text for a terminal. */
#include "cli/base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, NARROW_GAP = 1 };

/* Bytes of the character there, if it would drive the terminal: a control, or what turns the direction of writing, so
 * that a text reads as another one. Else 0. */
static size_t driving_bytes(const char *text) {
  /* As UTF-8 writes C1, U+061C, U+200E and F, U+2028 to E, U+2066 to 9. */
  static const struct {
    const char *lead;
    unsigned char first, last;
  } rows[] = {{"", 0x01, 0x1f},         {"", 0x7f, 0x7f},         {"\xc2", 0x80, 0x9f},    {"\xd8", 0x9c, 0x9c},
              {"\xe2\x80", 0x8e, 0x8f}, {"\xe2\x80", 0xa8, 0xae}, {"\xe2\x81", 0xa6, 0xa9}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const size_t length = strlen(rows[i].lead);
    if (strncmp(text, rows[i].lead, length) != 0) continue;
    const unsigned char last = (unsigned char)text[length];
    if (last >= rows[i].first && last <= rows[i].last) return length + 1;
  }
  return 0;
}

void text_clean(const char *text, char *out, size_t size) {
  size_t used = 0;
  while (*text != '\0' && used + 1 < size) {
    const size_t driving = driving_bytes(text);
    out[used++] = driving > 0 ? '?' : *text;
    text += driving > 0 ? driving : 1;
  }
  out[used] = '\0';
}

void text_without_commands(const char *text, char *out, size_t size) {
  size_t used = 0;
  for (const char *c = text; *c != '\0' && used + 2 < size; ++c) {
    const bool at_word = c == text || (unsigned char)c[-1] <= ' ';
    out[used++] = *c;
    if ((at_word && c[0] == ':' && c[1] == ':') || (c[0] == '#' && c[1] == '[')) out[used++] = ' ';
  }
  out[used] = '\0';
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

void text_append_word(char *out, size_t size, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  size_t used = strlen(out);
  if (*text != '\0' && strspn(text, plain) == strlen(text)) {
    snprintf(out + used, size - used, "%s", text);
    return;
  }
  snprintf(out + used, size - used, "'");
  for (; *text != '\0'; ++text) {
    used = strlen(out);
    if (*text == '\'') {
      snprintf(out + used, size - used, "'\\''");
    } else {
      snprintf(out + used, size - used, "%c", *text);
    }
  }
  used = strlen(out);
  snprintf(out + used, size - used, "'");
}

/* ---- the stream ------------------------------------------------------------------------------------------------ */

static bool is_terminal(FILE *file) {
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
  if (width == 0 && is_terminal(file) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) return TEXT_WIDTH;
  return width < TEXT_WIDTH_LEAST ? TEXT_WIDTH_LEAST : width > TEXT_WIDTH_MOST ? TEXT_WIDTH_MOST : width;
}

static bool is_coloured(FILE *file) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  const bool is_refused = no_color != NULL && *no_color != '\0';
  return is_terminal(file) && !is_refused && term != NULL && strcmp(term, "dumb") != 0;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *mark, *colour; /* in front of the row; of the whole line */
} tones[] = {[TEXT_PLAIN] = {"  ", ""}, [TEXT_BEST] = {"> ", "\033[1;32m"}, [TEXT_BAD] = {"! ", "\033[31m"}};
enum { MARK_WIDTH = 2 };

/* A table laid out. */
struct layout {
  const struct text_table *table;
  size_t width[TEXT_COLUMNS_MAX];
  bool dropped[TEXT_COLUMNS_MAX], empty[TEXT_COLUMNS_MAX]; /* for want of room; there is nothing in it */
  size_t gap, line_width;
};

static size_t longer(size_t width, const char *text) {
  const size_t length = strlen(text);
  return length > width ? length : width;
}

static void get_cell(const struct text_column *column, const void *row, char out[TEXT_CELL_MAX]) {
  char raw[TEXT_CELL_MAX];
  column->cell(row, raw);
  text_clean(raw, out, TEXT_CELL_MAX);
}

static void measure(struct layout *layout) {
  const struct text_table *table = layout->table;
  char cell[TEXT_CELL_MAX];
  for (size_t c = 0; c < table->column_count; ++c) {
    const struct text_column *column = &table->columns[c];
    bool says_something = column->rank == 0 || table->row_count == 0;
    layout->width[c] = longer(strlen(column->heading), column->unit);
    for (size_t r = 0; r < table->row_count; ++r) {
      get_cell(column, table->rows[r], cell);
      layout->width[c] = longer(layout->width[c], cell);
      says_something = says_something || strcmp(cell, "-") != 0;
    }
    layout->empty[c] = !says_something;
  }
}

static bool is_shown(const struct layout *layout, size_t column) {
  return !layout->dropped[column] && !layout->empty[column];
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

/* The column that matters least; the count when all that are left matter. */
static size_t least_important(const struct layout *layout) {
  const struct text_table *table = layout->table;
  size_t least = table->column_count;
  for (size_t c = 0; c < table->column_count; ++c) {
    const uint32_t rank = table->columns[c].rank;
    if (!is_shown(layout, c) || rank == 0) continue;
    if (least == table->column_count || rank > table->columns[least].rank) least = c;
  }
  return least;
}

/* The column that has most to give; count when none can shrink. */
static size_t widest_cuttable(const struct layout *layout) {
  const struct text_table *table = layout->table;
  size_t best = table->column_count;
  for (size_t c = 0; c < table->column_count; ++c) {
    if (!is_shown(layout, c) || table->columns[c].least == 0 || layout->width[c] <= table->columns[c].least) continue;
    if (best == table->column_count || layout->width[c] > layout->width[best]) best = c;
  }
  return best;
}

/* Narrower gaps first, then fewer columns, then shorter names. */
static void fit(struct layout *layout) {
  const size_t count = layout->table->column_count;
  size_t column = 0;
  if (fits(layout, GAP)) return;
  while (!fits(layout, NARROW_GAP) && (column = least_important(layout)) < count) layout->dropped[column] = true;
  while (!fits(layout, NARROW_GAP) && (column = widest_cuttable(layout)) < count) --layout->width[column];
}

struct line {
  FILE *file;
  size_t gap, pending; /* spaces owed: written only before more text, so that no line ends in spaces */
  bool any, cut;
};

static void put_cell(struct line *line, const struct text_column *column, size_t width, const char *text) {
  const size_t length = strlen(text), shown = length < width ? length : width;
  const size_t pad = width - shown;
  const size_t before = line->pending + (line->any ? line->gap : 0) + (column->left ? 0 : pad);
  line->any = true;
  if (shown == 0) {
    line->pending = before + (column->left ? pad : 0);
    return;
  }
  fprintf(line->file, "%*s", (int)before, "");
  if (length > width) {
    fprintf(line->file, "%.*s~", (int)width - 1, text);
    line->cut = true;
  } else {
    fputs(text, line->file);
  }
  line->pending = column->left ? pad : 0;
}

static void end_line(struct line *line) {
  fputc('\n', line->file);
  line->any = false;
  line->pending = 0;
}

/* The headings (row NULL, of the column's first or second line) or a row. */
static void put_cells(struct line *line, const struct layout *layout, const void *row, bool is_unit) {
  const struct text_table *table = layout->table;
  char cell[TEXT_CELL_MAX];
  for (size_t c = 0; c < table->column_count; ++c) {
    const struct text_column *column = &table->columns[c];
    if (!is_shown(layout, c)) continue;
    snprintf(cell, sizeof cell, "%s", is_unit ? column->unit : column->heading);
    if (row != NULL) get_cell(column, row, cell);
    put_cell(line, column, layout->width[c], cell);
  }
}

static void put_row(struct line *line, const struct layout *layout, const void *row, bool is_coloured_here) {
  const struct text_table *table = layout->table;
  const enum text_tone tone = table->tone != NULL ? table->tone(row) : TEXT_PLAIN;
  const bool has_colour = is_coloured_here && tones[tone].colour[0] != '\0';
  if (has_colour) fputs(tones[tone].colour, line->file);
  if (table->tone != NULL) fputs(tones[tone].mark, line->file);
  put_cells(line, layout, row, false);
  if (has_colour) fputs("\033[0m", line->file);
  end_line(line);
}

/* The name of the row's group, where it is another one than that of the row before. */
static void put_group(FILE *file, const struct text_table *table, size_t index) {
  char name[TEXT_CELL_MAX], before[TEXT_CELL_MAX] = "";
  if (table->group == NULL) return;
  get_cell(&(struct text_column){.cell = table->group}, table->rows[index], name);
  if (index > 0) get_cell(&(struct text_column){.cell = table->group}, table->rows[index - 1], before);
  if (index == 0 || strcmp(name, before) != 0) fprintf(file, "%s\n", name);
}

/* "hot, cold" */
static void name_dropped(const struct layout *layout, char out[TEXT_DROPPED_MAX]) {
  out[0] = '\0';
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    const size_t used = strlen(out);
    if (!layout->dropped[c]) continue;
    snprintf(out + used, TEXT_DROPPED_MAX - used, "%s%s", used > 0 ? ", " : "", layout->table->columns[c].heading);
  }
}

static bool has_units(const struct layout *layout) {
  for (size_t c = 0; c < layout->table->column_count; ++c) {
    if (is_shown(layout, c) && layout->table->columns[c].unit[0] != '\0') return true;
  }
  return false;
}

struct text_fit text_table_write(FILE *file, const struct text_table *table) {
  struct layout layout = {.table = table, .line_width = text_width(file)};
  struct text_fit said = {.cut = false};
  const bool is_coloured_here = is_coloured(file);
  measure(&layout);
  fit(&layout);
  struct line line = {.file = file, .gap = layout.gap};
  for (int is_unit = 0; is_unit < (has_units(&layout) ? 2 : 1); ++is_unit) {
    line.pending = table->tone != NULL ? MARK_WIDTH : 0;
    put_cells(&line, &layout, NULL, is_unit != 0);
    end_line(&line);
  }
  for (size_t r = 0; r < table->row_count; ++r) {
    put_group(file, table, r);
    put_row(&line, &layout, table->rows[r], is_coloured_here);
  }
  said.cut = line.cut;
  name_dropped(&layout, said.dropped);
  return said;
}

void text_fit_print(FILE *file, const struct text_fit *fit, const char *where) {
  char text[TEXT_DROPPED_MAX + 160];
  if (fit->dropped[0] != '\0') {
    snprintf(text, sizeof text,
             "left out at %zu columns: %s; a wider terminal or COLUMNS=160 shows them, %s have them",
             text_width(file), fit->dropped, where);
    text_wrap(file, "", 0, text);
  }
  if (fit->cut) fprintf(file, "~ marks a name cut to fit; %s have it whole\n", where);
}

bool text_table_print(FILE *file, const struct text_column *columns, size_t column_count, const void *const *rows,
                      size_t row_count) {
  const struct text_table table = {
      .columns = columns, .column_count = column_count, .rows = rows, .row_count = row_count};
  return text_table_write(file, &table).cut;
}

/* ---- paragraphs ------------------------------------------------------------------------------------------------ */

void text_wrap(FILE *file, const char *lead, size_t indent, const char *text) {
  const size_t width = text_width(file);
  char clean[2048];
  text_clean(text, clean, sizeof clean);
  fputs(lead, file);
  size_t column = strlen(lead);
  bool line_start = true;
  for (const char *word = clean + strspn(clean, " "); *word != '\0'; word += strspn(word, " ")) {
    const size_t length = strcspn(word, " ");
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
