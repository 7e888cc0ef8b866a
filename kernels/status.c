/* Makes failures and joins their texts. */
#include "kernels/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const enum exit_code exit_codes[STATUS_COUNT] = {
#define STATUS_EXIT(name, exit) [STATUS_##name] = exit,
    STATUS_MAP(STATUS_EXIT)
#undef STATUS_EXIT
};

static const struct status_exit published[] = {
#define EXIT_CODE_ROW(name, number, meaning) {EXIT_CODE_##name, #name, meaning},
    EXIT_CODE_MAP(EXIT_CODE_ROW)
#undef EXIT_CODE_ROW
};

enum { WHOLE_MAX = 12288, END_BYTES = 240 };

static bool is_inside_character(char c) { return ((unsigned char)c & 0xc0u) == 0x80u; }

/* Of a text that does not fit, the beginning and the end with "..." between, never a part of a UTF-8 character: a
 * path at its limit comes first or last, and the reason on its other side. */
static void shorten(const char *whole, size_t length, char out[STATUS_TEXT_MAX]) {
  const char *end = whole + length - END_BYTES;
  while (is_inside_character(*end)) ++end;
  size_t kept = STATUS_TEXT_MAX - sizeof "..." - strlen(end);
  while (kept > 0 && is_inside_character(whole[kept])) --kept;
  snprintf(out, STATUS_TEXT_MAX, "%.*s...%s", (int)kept, whole, end);
}

/* Names and texts of files that were read stand in messages; a line end or an escape of theirs is shown, not done. */
static void mark_controls(char text[STATUS_TEXT_MAX]) {
  for (char *c = text; *c != '\0'; ++c) {
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  }
}

struct status status_ok(void) {
  struct status status; /* not cleared whole: most calls end with this one */
  status.code = STATUS_OK;
  status.text[0] = '\0';
  return status;
}

struct status status_make(enum status_code code, const char *format, ...) {
  struct status status = {.code = code};
  char whole[WHOLE_MAX];
  whole[0] = '\0';
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(whole, sizeof whole, format, args);
  va_end(args);
  if (length < STATUS_TEXT_MAX) {
    memcpy(status.text, whole, strlen(whole) + 1);
  } else {
    shorten(whole, strlen(whole), status.text);
  }
  mark_controls(status.text);
  return status;
}

bool status_failed(const struct status *status) { return status->code != STATUS_OK; }

enum exit_code status_exit_code(enum status_code code) {
  return (unsigned)code < STATUS_COUNT ? exit_codes[code] : EXIT_CODE_INTERNAL;
}

const struct status_exit *status_exit_at(size_t index) {
  return index < sizeof published / sizeof *published ? &published[index] : NULL;
}
