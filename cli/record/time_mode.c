/* Names of the modes of timing, and lists of them. */
#include "cli/record/record.h"

#include <string.h>

#include "cli/base/text.h"

const char *time_mode_name(uint32_t mode) {
  static const char *const names[TIME_MODE_COUNT] = {
      [TIME_COLD] = "cold", [TIME_HOT] = "hot", [TIME_STEADY] = "steady"};
  return mode < TIME_MODE_COUNT ? names[mode] : NULL;
}

struct status time_mode_parse_list(const char *text, bool out[TIME_MODE_COUNT]) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) out[mode] = false;
  for (const char *part = text;; part += strcspn(part, ",") + 1) {
    const size_t length = strcspn(part, ",");
    enum time_mode mode = 0;
    while (mode < TIME_MODE_COUNT &&
           (strlen(time_mode_name(mode)) != length || memcmp(time_mode_name(mode), part, length) != 0))
      ++mode;
    if (mode == TIME_MODE_COUNT)
      return status_make(STATUS_USAGE,
                         "--modes: \"%.*s\" is not a mode; write one or more of hot, cold and steady, with commas",
                         (int)length, part);
    if (out[mode]) return status_make(STATUS_USAGE, "--modes: %s is named twice; name it once", time_mode_name(mode));
    out[mode] = true;
    if (part[length] == '\0') return status_ok();
  }
}

void time_mode_write_list(const bool modes[TIME_MODE_COUNT], char out[TIME_MODE_LIST_MAX]) {
  out[0] = '\0';
  for (uint32_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (modes[mode]) text_append(out, TIME_MODE_LIST_MAX, "%s%s", out[0] != '\0' ? "," : "", time_mode_name(mode));
  }
}
