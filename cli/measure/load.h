/* --load: variants from shared objects, as this process knows them. It never opens an object: a child does
 * (supervise_load) and describes what it found, and the registry gets stand-ins, which have names, texts and tunables
 * but no hooks. Whatever needs a hook is asked of a worker, so that an object's faults cost its own cells. */
#ifndef ATTNBENCH_CLI_MEASURE_LOAD_H
#define ATTNBENCH_CLI_MEASURE_LOAD_H

#include <stddef.h>

#include "kernels/status.h"

/* Adds a stand-in of every object's every variant to the registry, for good. STATUS_USAGE names the object, what is
 * wrong with it and what to do. Call before anything reads variant names. */
struct status load_stand_ins(const char *const *paths, size_t count);

#endif
