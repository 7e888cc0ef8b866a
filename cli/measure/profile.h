/* A run for a profiler, in one process: it first opens, checks and warms up every cell, then makes all launches in
 * one span that contains nothing else:
 *
 *   cudaProfilerStart, push "profile" (NVTX, domain attnbench),
 *     for each prepared cell in order: a range of its own with n launches of its plan, waiting for each,
 *   pop, cudaProfilerStop
 *
 * There is one span because some tools collect only the first. Captured kernels are attributed by their order: cell
 * by cell, launch by launch, pass by pass. The range of a cell is named KEY.VARIANT (measure_range_name). */
#pragma once

#include "cli/record/record.h"
#include "cli/sweep/cells.h"

struct profile;

/* Starts a profile of at most `room` cells, which are bound at the same time, each with tensors of its own. On
 * success *out is the caller's, for profile_close; the device must outlive it. */
struct status profile_open(struct device *, size_t room, struct profile **out);
void profile_close(struct profile *);

/* Whether those of the cells that the device can run fit into its memory together. *need and *have are bytes, for the
 * message. The workspace of a vendor's library is not counted, since it is not known before the cell is bound. */
bool profile_fits(const struct device *, const struct cells *, uint64_t *need, uint64_t *have);

/* Opens, binds and checks one cell. *out is a complete record whatever happens: `ok` when the cell will be launched.
 * A failure is returned only when the device must not be used again. */
struct status profile_prepare(struct profile *, const struct cell *, uint64_t seed, struct record *out);

/* Launches every prepared cell once, before the span. */
struct status profile_warm_up(struct profile *);
/* Makes the span, with `launches` launches of each cell. The profiler may end the process in it, so write everything
 * before. */
struct status profile_capture(struct profile *, uint32_t launches);
