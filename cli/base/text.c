/* Lays out tables and wraps text for a terminal. */
#include "cli/base/text.h"

#include <string.h>

enum { GAP = 2, NARROW_GAP = 1 };

void text_clean(const char *text, char *out, size_t size) {
  size_t used = 0;
  for (const char *c = text; *c != '\0' && used + 1 < size; ++c) {
    const unsigned char byte = (unsigned char)*c;
    /* 0xc2 0x80..0x9f is how UTF-8 writes the C1 controls. */
    const bool c1 = c > text && (unsigned char)c[-1] == 0xc2 && byte >= 0x80 && byte < 0xa0;
    out[used++] = byte < 0x20 || byte == 0x7f || c1 ? '?' : *c;
    if (c1) out[used - 2] = '?';
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

static size_t longer(size_t width, const char *text) {
  const size_t length = strlen(text);
  return length > width ? length : width;
}

static void get_cell(const struct text_column *column, const void *row, char out[TEXT_CELL_MAX]) {
  char raw[TEXT_CELL_MAX];
  column->cell(row, raw);
  text_clean(raw, out, TEXT_CELL_MAX);
}

static void measure(const struct text_column *columns, size_t column_count, const void *const *rows, size_t row_count,
                    size_t width[TEXT_COLUMNS_MAX]) {
  char cell[TEXT_CELL_MAX];
  for (size_t c = 0; c < column_count; ++c) {
    width[c] = longer(strlen(columns[c].heading), columns[c].unit);
    for (size_t r = 0; r < row_count; ++r) {
      get_cell(&columns[c], rows[r], cell);
      width[c] = longer(width[c], cell);
    }
  }
}

static size_t total_width(const size_t *width, size_t count, size_t gap) {
  size_t total = (count - 1) * gap;
  for (size_t c = 0; c < count; ++c) total += width[c];
  return total;
}

/* The column that has most to give; count when none can shrink. */
static size_t widest_cuttable(const struct text_column *columns, size_t count, const size_t *width) {
  size_t best = count;
  for (size_t c = 0; c < count; ++c) {
    if (columns[c].least == 0 || width[c] <= columns[c].least) continue;
    if (best == count || width[c] > width[best]) best = c;
  }
  return best;
}

/* Returns the gap between columns. */
static size_t fit(const struct text_column *columns, size_t count, size_t width[TEXT_COLUMNS_MAX]) {
  if (total_width(width, count, GAP) <= TEXT_WIDTH) return GAP;
  while (total_width(width, count, NARROW_GAP) > TEXT_WIDTH) {
    const size_t column = widest_cuttable(columns, count, width);
    if (column == count) break;
    --width[column];
  }
  return NARROW_GAP;
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

bool text_table_print(FILE *file, const struct text_column *columns, size_t column_count, const void *const *rows,
                      size_t row_count) {
  size_t width[TEXT_COLUMNS_MAX];
  char cell[TEXT_CELL_MAX];
  measure(columns, column_count, rows, row_count, width);
  struct line line = {.file = file, .gap = fit(columns, column_count, width)};
  for (size_t c = 0; c < column_count; ++c) put_cell(&line, &columns[c], width[c], columns[c].heading);
  end_line(&line);
  for (size_t c = 0; c < column_count; ++c) put_cell(&line, &columns[c], width[c], columns[c].unit);
  end_line(&line);
  for (size_t r = 0; r < row_count; ++r) {
    for (size_t c = 0; c < column_count; ++c) {
      get_cell(&columns[c], rows[r], cell);
      put_cell(&line, &columns[c], width[c], cell);
    }
    end_line(&line);
  }
  return line.cut;
}

void text_wrap(FILE *file, const char *lead, size_t indent, const char *text) {
  char clean[2048];
  text_clean(text, clean, sizeof clean);
  fputs(lead, file);
  size_t column = strlen(lead);
  bool line_start = true;
  for (const char *word = clean + strspn(clean, " "); *word != '\0'; word += strspn(word, " ")) {
    const size_t length = strcspn(word, " ");
    if (!line_start && column + 1 + length > TEXT_WIDTH) {
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
