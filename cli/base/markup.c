/* Characters of any text, and how XML, CSV and Markdown want them. */
#include "cli/base/markup.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/units.h"
#include "cli/base/utf8.h"

/* GitHub drops a step summary above 1 MiB without a word, and several steps may share one. */
#define MARKDOWN_BYTES_MAX (UINT32_C(900) << 10)

/* ---- characters ---------------------------------------------------------------------------------------------- */

uint32_t markup_next_char(const char **text) {
  uint32_t c;
  if (**text == '\0') return 0;
  *text += utf8_decode(*text, &c);
  const bool is_kept = c == '\t' || c == '\n' || c == '\r';
  const bool is_no_xml = c == 0xfffe || c == 0xffff || c == UTF8_MALFORMED;
  return is_no_xml || (utf8_is_unsafe(c) && !is_kept) ? 0xfffd : c;
}

void markup_put_char(FILE *file, uint32_t character) {
  char bytes[UTF8_BYTES_MAX];
  fwrite(bytes, 1, utf8_encode(character, bytes), file);
}

/* A blank divides "##[", which a CI runner takes for a command. */
static void put_on_line(FILE *file, uint32_t before, uint32_t c, void (*put)(FILE *, uint32_t character)) {
  if (before == '#' && c == '[') put(file, ' ');
  put(file, c < 0x20 ? ' ' : c);
}

void markup_put_line(FILE *file, const char *text) {
  uint32_t before = 0;
  for (uint32_t c; (c = markup_next_char(&text)) != 0; before = c) put_on_line(file, before, c, markup_put_char);
}

void markup_put(FILE *file, void (*put)(FILE *, const char *text), const char *format, ...) {
  va_list list;
  va_start(list, format);
  for (const char *at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      fputc(*at, file);
      continue;
    }
    switch (*++at) {
      case 's': put(file, va_arg(list, const char *)); break;
      case 'd': fprintf(file, "%d", va_arg(list, int)); break;
      case 'u': fprintf(file, "%u", va_arg(list, unsigned)); break;
      case 'z': fprintf(file, "%zu", va_arg(list, size_t)), ++at; break;
      case '.': fprintf(file, "%.*f", at[1] - '0', va_arg(list, double)), at += 2; break;
      default: fputc(*at, file);
    }
  }
  va_end(list);
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

const char *markup_entity(uint32_t character) {
  switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '[': return "&#91;";
    default: return NULL;
  }
}

void markup_xml_text(FILE *file, const char *text) {
  for (uint32_t c; (c = markup_next_char(&text)) != 0;) {
    const char *entity = markup_entity(c);
    if (entity != NULL) {
      fputs(entity, file);
    } else if (c < 0x20) {
      fprintf(file, "&#%u;", (unsigned)c);
    } else {
      markup_put_char(file, c);
    }
  }
}

static void put_attribute(FILE *file, const char *name, const char *value) {
  fprintf(file, " %s=\"", name);
  markup_xml_text(file, value);
  fputc('"', file);
}

/* ---- JUnit --------------------------------------------------------------------------------------------------- */

static void put_counts(FILE *file, const size_t count[JUNIT_OUTCOMES]) {
  size_t tests = 0;
  for (size_t i = 0; i < JUNIT_OUTCOMES; ++i) tests += count[i];
  fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", tests, count[JUNIT_FAILURE],
          count[JUNIT_ERROR], count[JUNIT_SKIPPED]);
}

void markup_junit_open(FILE *file, const char *title, const char *suite, const size_t count[JUNIT_OUTCOMES]) {
  fprintf(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"%s\"", title);
  put_counts(file, count);
  fputs("  <testsuite", file);
  put_attribute(file, "name", suite);
  put_counts(file, count);
}

void markup_junit_case(FILE *file, const struct junit_case *c) {
  static const char *const tags[JUNIT_OUTCOMES] = {
      [JUNIT_FAILURE] = "failure", [JUNIT_ERROR] = "error", [JUNIT_SKIPPED] = "skipped"};
  const char *tag = tags[c->outcome];
  const bool has_variant = c->variant != NULL, is_skipped = c->outcome == JUNIT_SKIPPED;
  markup_put(file, markup_xml_text, "    <testcase classname=\"%s%s%s\" name=\"%s\" time=\"%s\"", c->suite,
             has_variant ? "." : "", has_variant ? c->variant : "", c->name,
             has_variant ? units_fixed(isfinite(c->us) ? c->us * 1e-6 : 0, 9).text : "0");
  if (tag == NULL) {
    fputs("/>\n", file);
    return;
  }
  fprintf(file, ">\n      <%s", tag);
  if (!is_skipped) put_attribute(file, "type", c->type);
  put_attribute(file, "message", c->message);
  if (is_skipped || c->body == NULL) {
    fputs("/>", file);
  } else {
    markup_put(file, markup_xml_text, ">%s</%s>", c->body, tag);
  }
  fputs("\n    </testcase>\n", file);
}

void markup_junit_close(FILE *file) { fputs("  </testsuite>\n</testsuites>\n", file); }

/* ---- CSV ----------------------------------------------------------------------------------------------------- */

/* Does the text begin with "::", but for blanks of any kind? */
static bool starts_command(const char *text) {
  while (*text != '\0' && (*text <= ' ' || *text > '~')) ++text;
  return strncmp(text, "::", 2) == 0;
}

void markup_csv(FILE *file, const char *text, void (*put)(FILE *, uint32_t character)) {
  const bool is_quoted = strpbrk(text, "\",") != NULL || starts_command(text);
  const bool is_formula = text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
  uint32_t before = 0;
  if (is_quoted) put(file, '"');
  if (is_formula) put(file, '\'');
  for (uint32_t c; (c = markup_next_char(&text)) != 0; before = c) {
    if (c == '"') put(file, c);
    put_on_line(file, before, c, put);
  }
  if (is_quoted) put(file, '"');
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
