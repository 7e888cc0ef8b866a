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

/* Ends a text that did not fit with "...", never inside a UTF-8 character. */
static void mark_cut(char text[STATUS_TEXT_MAX]) {
  size_t end = STATUS_TEXT_MAX - sizeof "...";
  while (end > 0 && ((unsigned char)text[end] & 0xc0u) == 0x80u) --end;
  memcpy(text + end, "...", sizeof "...");
}

/* Names and texts of files that were read stand in messages; a line end or an escape of theirs is shown, not done. */
static void mark_controls(char text[STATUS_TEXT_MAX]) {
  for (char *c = text; *c != '\0'; ++c) {
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  }
}

struct status status_ok(void) {
  return (struct status){.code = STATUS_OK};
}

struct status status_make(enum status_code code, const char *format, ...) {
  struct status status = {.code = code};
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(status.text, sizeof status.text, format, args);
  va_end(args);
  if (length >= STATUS_TEXT_MAX) mark_cut(status.text);
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
