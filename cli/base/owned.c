/* Allocates, or says what there is no memory for. */
#include "cli/base/owned.h"

#include <string.h>

struct status owned_array(void *pointer, size_t count, size_t size, const char *what) {
  void *made = calloc(count > 0 ? count : 1, size);
  memcpy(pointer, &made, sizeof made);
  return made != NULL ? status_ok() : status_make(STATUS_MEMORY, "no memory for %zu %s", count, what);
}

struct status owned_grow(void *pointer, size_t count, size_t *room, size_t size, const char *what) {
  void *list;
  const size_t wanted = 2 * *room + 16;
  if (count < *room) return status_ok();
  memcpy(&list, pointer, sizeof list);
  void *grown = realloc(list, wanted * size);
  if (grown == NULL) return status_make(STATUS_MEMORY, "no memory for %zu %s", wanted, what);
  memcpy(pointer, &grown, sizeof grown);
  *room = wanted;
  return status_ok();
}
