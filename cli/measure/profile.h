/* A run for a profiler: one process, every cell opened, checked and warmed up first, then all launches in one span
 * that holds nothing else:
 *
 *   cudaProfilerStart, push "profile" (NVTX, domain attnbench),
 *     for each prepared cell in order: a range of its own, in it n times its plan, each launch waited for,
 *   pop, cudaProfilerStop
 *
 * There is one span because some tools collect only the first. Captured kernels are mapped back by their order: cell
 * by cell, launch by launch, pass by pass; a cell's range is named KEY.VARIANT, with '.' for what filters of tools
 * give a meaning (':' and ','). */
#ifndef ATTNBENCH_CLI_MEASURE_PROFILE_H
#define ATTNBENCH_CLI_MEASURE_PROFILE_H

#include "cli/record/record.h"
#include "cli/sweep/cells.h"

struct profile;

/* The cells of one profile are bound at the same time, each on tensors of its own. `room` is how many there are at
 * most. On success *out is the caller's, for profile_close; the device must outlive it. */
struct status profile_open(struct device *, size_t room, struct profile **out);
void profile_close(struct profile *);

/* Do these cells fit into the device's memory together? Counts those that the device can run; *need and *have, in
 * bytes, are for the message. A vendor's workspace is not known before it is bound and not counted. */
bool profile_fits(const struct device *, const struct cells *, uint64_t *need, uint64_t *have);

/* Opens, binds and checks one cell. *out is a complete record whatever happens: `ok` when the cell will be launched.
 * A failure is returned only when the device must not be used again. */
struct status profile_prepare(struct profile *, const struct cell *, uint64_t seed, struct record *out);

/* Every prepared cell once, outside of the span. */
struct status profile_warm_up(struct profile *);
/* The span. The process may end in it: have everything written before. */
struct status profile_capture(struct profile *, uint32_t launches);

#endif
