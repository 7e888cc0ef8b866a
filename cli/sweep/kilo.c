/* Counts of tokens with a k behind them, as the command line may have them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/sweep/cells.h"

void kilo_expand(const struct attn_axis *axis, const char *text, char *out, size_t size) {
  static const char digit[] = "0123456789";
  out[0] = '\0';
  while (*text != '\0') {
    const size_t digits = strspn(text, digit), length = digits > 0 ? digits : 1;
    const bool is_kilo = axis->most == ATTN_S_MAX && digits > 0 && digits < 10 && text[digits] == 'k' &&
                         strchr(":x", text[digits + 1]) != NULL;
    if (is_kilo) {
      text_append(out, size, "%" PRIu64, 1024 * (uint64_t)strtoull(text, NULL, 10));
    } else {
      text_append(out, size, "%.*s", (int)length, text);
    }
    text += length + is_kilo;
  }
}
