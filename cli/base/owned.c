/* Allocates, or says what for it could not. */
#include "cli/base/owned.h"

#include <string.h>

struct status owned_array(void *pointer, size_t count, size_t size, const char *what) {
  void *made = calloc(count > 0 ? count : 1, size);
  memcpy(pointer, &made, sizeof made);
  return made != NULL ? status_ok() : status_make(STATUS_MEMORY, "no memory for %zu %s", count, what);
}
