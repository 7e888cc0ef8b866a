/* Variables that are released when their scope ends, also by return: the cleanup attribute of gcc and clang. A
 * function that owns several objects can then return early with TRY:
 *
 *   OWNED(json_free) struct json_doc doc = {.root = NULL};
 *   TRY(json_load(path, JSON_FILE_BYTES_MAX, &doc));
 *
 * Initialise the variable so that it owns nothing; the release function must accept that value. */
#pragma once

#include <stdlib.h>

#include "kernels/status.h"

/* `release` is called with a pointer to the variable. */
#define OWNED(release) __attribute__((cleanup(release)))

/* Frees memory from malloc: OWNED(owned_free) char *text = NULL. */
static inline void owned_free(void *pointer) { free(*(void **)pointer); }

/* Allocates `count` zeroed elements of `size` bytes (one for a count of 0) and points *pointer, of any pointer type,
 * to them. The caller frees them. STATUS_MEMORY names `what`: "no memory for 12 cells". */
struct status owned_array(void *pointer, size_t count, size_t size, const char *what);
/* Makes room for one more element in a list of `count` elements with room for *room, which doubles. The list stays
 * the caller's, also on failure. STATUS_MEMORY names `what`. */
struct status owned_grow(void *pointer, size_t count, size_t *room, size_t size, const char *what);

/* Declares such an array that the scope owns, in a function that returns a status: OWNED_ARRAY(double, us, count,
 * "times"). */
#define OWNED_ARRAY(type, name, count, what) \
  OWNED(owned_free) type *name = NULL;       \
  TRY(owned_array(&(name), (count), sizeof *(name), (what)))
