/* Characters of any text, and how XML and Markdown want them. */
#include "cli/base/markup.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/json_scan.h"

/* GitHub drops a step summary above 1 MiB without a word, and several steps may share one. */
#define MARKDOWN_BYTES_MAX (UINT32_C(900) << 10)

static const uint32_t replacement = 0xfffd;

/* ---- characters ---------------------------------------------------------------------------------------------- */

static uint32_t decode(const unsigned char *bytes, size_t count) {
  static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t character = bytes[0] & first_bits[count];
  for (size_t i = 1; i < count; ++i) character = character << 6 | (bytes[i] & 0x3f);
  return character;
}

static bool is_forbidden(uint32_t c) {
  const bool kept = c == '\t' || c == '\n' || c == '\r';
  return (c < 0x20 && !kept) || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff;
}

uint32_t markup_next_char(const char **text) {
  if (**text == '\0') return 0;
  const size_t count = json_scan_utf8(*text, strlen(*text));
  const uint32_t character = count > 0 ? decode((const unsigned char *)*text, count) : replacement;
  *text += count > 0 ? count : 1;
  return is_forbidden(character) ? replacement : character;
}

void markup_put_char(FILE *file, uint32_t c) {
  if (c < 0x80) {
    fputc((int)c, file);
  } else if (c < 0x800) {
    fprintf(file, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    fprintf(file, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
  } else {
    fprintf(file, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)), (int)(0x80 | (c >> 6 & 0x3f)),
            (int)(0x80 | (c & 0x3f)));
  }
}

void markup_put_line(FILE *file, const char *text) {
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) markup_put_char(file, c < 0x20 ? ' ' : c);
}

void markup_put_capped(FILE *file, const char *text, size_t length, size_t most) {
  static const char notice[] = "\n... cut here: the rest would not fit\n";
  if (length > most) {
    length = most - (sizeof notice - 1);
    while (length > 0 && text[length - 1] != '\n') --length;
  }
  fwrite(text, 1, length, file);
  if (text[length] != '\0') fputs(notice, file);
}

/* ---- XML ----------------------------------------------------------------------------------------------------- */

void markup_xml_text(FILE *file, const char *text) {
  static const struct {
    uint32_t character;
    const char *entity;
  } entities[] = {{'&', "&amp;"},  {'<', "&lt;"},  {'>', "&gt;"},   {'"', "&quot;"},
                  {'\'', "&#39;"}, {'\t', "&#9;"}, {'\n', "&#10;"}, {'\r', "&#13;"}};
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    const char *entity = NULL;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; ++i) {
      if (entities[i].character == c) entity = entities[i].entity;
    }
    if (entity != NULL) {
      fputs(entity, file);
    } else {
      markup_put_char(file, c);
    }
  }
}

void markup_xml_attribute(FILE *file, const char *name, const char *value) {
  fprintf(file, " %s=\"", name);
  markup_xml_text(file, value);
  fputc('"', file);
}

/* ---- Markdown ------------------------------------------------------------------------------------------------ */

static bool is_word(uint32_t c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* An underscore inside a word is not Markdown's. */
void markup_markdown(FILE *file, const char *text) {
  uint32_t before = ' ';
  for (uint32_t c; (c = markup_next_char(&text)) != 0; before = c) {
    const bool inside_word = c == '_' && is_word(before) && is_word((unsigned char)*text);
    if (c < 0x20) c = ' ';
    if (c < 0x80 && strchr("\\`*_[]<>|&~$@#!", (int)c) != NULL && !inside_word) fputc('\\', file);
    markup_put_char(file, c);
  }
}

struct status markup_markdown_file(FILE *file, void (*write)(const void *, FILE *), const void *data) {
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  if (memory == NULL) return status_make(STATUS_MEMORY, "no memory for the Markdown summary");
  write(data, memory);
  const bool failed = ferror(memory) != 0;
  if (fclose(memory) != 0 || failed || text == NULL) {
    free(text);
    return status_make(STATUS_MEMORY, "no memory for the Markdown summary");
  }
  markup_put_capped(file, text, length, MARKDOWN_BYTES_MAX);
  free(text);
  return status_ok();
}

/* ---- annotations ----------------------------------------------------------------------------------------------- */

/* '%' and line ends would change the message, ':' and ',' would end a property. */
static void put_escaped(FILE *file, const char *text, const char *special) {
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    if (c < 0x80 && strchr(special, (int)c) != NULL) {
      fprintf(file, "%%%02X", (unsigned)c);
    } else {
      markup_put_char(file, c);
    }
  }
}

void markup_annotation_text(FILE *file, const char *text) { put_escaped(file, text, "%\r\n"); }

void markup_annotation_start(FILE *file, bool is_error, const char *path, const char *title) {
  static const char property[] = "%\r\n:,";
  fprintf(file, "::%s ", is_error ? "error" : "warning");
  if (path[0] != '\0' && path[0] != '/' && path[0] != '-') {
    fputs("file=", file);
    put_escaped(file, path, property);
    fputs(",line=1,", file);
  }
  fputs("title=", file);
  put_escaped(file, title, property);
  fputs("::", file);
}
