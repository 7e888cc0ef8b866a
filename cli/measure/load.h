/* Variants from shared objects (--load) in the parent process. The parent never opens an object. A child process
 * opens it (supervise_load) and describes its variants, and the parent adds stand-ins to the registry: variants with
 * names, texts and tunables but without hooks. Only workers call hooks, so that a crash in an object costs only its
 * own cells. */
#pragma once

#include <stddef.h>

#include "kernels/status.h"

/* Adds a stand-in for every variant of every object to the registry, where it remains. STATUS_USAGE names the object,
 * what is wrong with it and what to do. Call before anything reads variant names. */
struct status load_stand_ins(const char *const *paths, size_t count);

/* Describes the variants of the registry from index `first` on as one line of JSON, in which enumerators are numbers;
 * for the process that opened their objects. `left` is what their constructors changed (leftovers_tell). The caller
 * frees the text; NULL without memory. */
char *load_describe(size_t first, const char *left);
