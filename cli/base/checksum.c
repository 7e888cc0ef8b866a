/* Writes and checks the ends of texts that carry their checksum. */
#include "cli/base/hash.h"

#include <stdio.h>
#include <string.h>

const struct checksum_form checksum_line = {",\"checksum\":\"", "\"}"},
                           checksum_file = {",\n\t\"checksum\":\t\"", "\"\n}\n"};

size_t checksum_bytes(const struct checksum_form *form) {
  return strlen(form->before) + HASH_TEXT_MAX - 1 + strlen(form->behind);
}

void checksum_end(const struct checksum_form *form, uint64_t hash, char out[CHECKSUM_END_MAX]) {
  char text[HASH_TEXT_MAX];
  hash_text(hash, text);
  snprintf(out, CHECKSUM_END_MAX, "%s%s%s", form->before, text, form->behind);
}

enum checksum checksum_check(const struct checksum_form *form, uint64_t start, const char *text, size_t length) {
  char right[CHECKSUM_END_MAX];
  const size_t end = checksum_bytes(form), before = strlen(form->before), behind = strlen(form->behind);
  if (length < end) return CHECKSUM_NONE;
  const char *found = text + length - end;
  if (memcmp(found, form->before, before) != 0 || memcmp(text + length - behind, form->behind, behind) != 0)
    return CHECKSUM_NONE;
  checksum_end(form, hash_add(start, text, length - end), right);
  return memcmp(found, right, end) == 0 ? CHECKSUM_RIGHT : CHECKSUM_WRONG;
}
