/* Escapes texts for HTML, attributes and CSV. */
#include "cli/page/html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/gate/sinks.h"

/* A name could show the text behind it in another order. */
static bool turns_direction(uint32_t c) {
  return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f;
}

static const char *entity_of(uint32_t c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
  }
}

static void put_char(FILE *file, uint32_t c) {
  const char *entity = entity_of(c);
  if (entity != NULL) {
    fputs(entity, file);
  } else {
    markup_put_char(file, turns_direction(c) ? 0xfffd : c);
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
    put_char(file, c);
    if (c == '.') fputs("<wbr>", file);
  }
}

void html_element(FILE *file, const char *tag, const char *text) {
  fprintf(file, "<%s>", tag);
  html_text(file, text);
  fprintf(file, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_number(FILE *file, double value) {
  char text[32];
  if (!isfinite(value)) return;
  json_format_number(value, text);
  fputs(text, file);
}

static bool starts_formula(const char *text) { return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL; }

void html_csv_text(FILE *file, const char *text) {
  const bool quoted = strpbrk(text, "\",\r\n") != NULL;
  if (quoted) put_char(file, '"');
  if (starts_formula(text)) put_char(file, '\'');
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    if (c == '"') put_char(file, c);
    put_char(file, c);
  }
  if (quoted) put_char(file, '"');
}

void html_csv_numbers(FILE *file, const double *numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    fputc(',', file);
    html_number(file, numbers[i]);
  }
}
