/* Escapes texts for HTML, attributes and CSV. */
#include "cli/page/parts.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void put_char(FILE *file, uint32_t c) {
  const char *entity = markup_entity(c);
  if (entity != NULL) {
    fputs(entity, file);
  } else {
    markup_put_char(file, c < 0x20 ? ' ' : c); /* a text has no line of its own */
  }
}

void html_text(FILE *file, const char *text) {
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) put_char(file, c);
}

void html_prose(FILE *file, const char *text) {
  bool is_code = false;
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    if (c != '`') {
      put_char(file, c);
    } else if (is_code || strchr(text, '`') != NULL) {
      is_code = !is_code;
      fputs(is_code ? "<code>" : "</code>", file);
    }
  }
}

void html_breakable(FILE *file, const char *text) {
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    const bool is_fraction = c == '.' && text[0] >= '0' && text[0] <= '9';
    put_char(file, c);
    if ((c == '.' || c == ':' || c == ',') && !is_fraction) fputs("<wbr>", file);
  }
}

void html_element(FILE *file, const char *tag, const char *text) {
  fprintf(file, "<%s>", tag);
  html_text(file, text);
  fprintf(file, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_table_open(FILE *file, const char *label, const char *caption, const struct html_heading *column) {
  bool is_sorted = false;
  for (const struct html_heading *at = column; at->heading != NULL; ++at) is_sorted = is_sorted || at->sort != NULL;
  fprintf(file,
          "<div class=\"scroll\" role=\"region\" aria-label=\"%s\" tabindex=\"0\"><table%s><caption>%s</caption>"
          "<thead><tr>",
          label, is_sorted ? " class=\"sortable\"" : "", caption);
  for (; column->heading != NULL; ++column) {
    fputs("<th scope=\"col\"", file);
    if (column->sort != NULL) fprintf(file, " data-sort=\"%s\"", column->sort);
    fprintf(file, "%s>%s</th>", column->is_number ? " class=\"n\"" : "", column->heading);
  }
  fputs("</tr></thead><tbody>\n", file);
}

static void put_number(FILE *file, double value) {
  char text[32];
  if (!isfinite(value)) return;
  json_format_number(value, text);
  fputs(text, file);
}

void html_labelled_cell(FILE *file, const char *style, const char *label, const char *unit, double value) {
  const bool is_known = isfinite(value);
  fprintf(file, "<td class=\"%s\"", style);
  if (label[0] != '\0') fprintf(file, " data-label=\"%s\"", label);
  if (is_known && unit[0] != '\0') fprintf(file, " data-unit=\"%s\"", unit);
  if (is_known) fputs(" data-value=\"", file);
  put_number(file, value);
  fputs(is_known ? "\">" : ">", file);
}

void html_csv_text(FILE *file, const char *text) { markup_csv(file, text, put_char); }

void html_csv_numbers(FILE *file, const double *numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    fputc(',', file);
    put_number(file, numbers[i]);
  }
}
