/* The parent's side of a worker: starts the process, sends it cells, and starts another one when it crashes or hangs.
 * The parent itself never uses the device. */
#pragma once

#include "cli/measure/worker.h"

struct supervisor;

/* Starts a child process that opens the shared object at `path`, so that the object's constructors run there. On
 * success *line is the object's description (worker_describe), which the caller frees, and every worker started
 * afterwards opens the object before its device. STATUS_USAGE when the object is invalid, or crashes, ends or hangs
 * its process. */
struct status supervise_load(const char *path, char **line);

/* The object that was loaded last, which has this variant, changes its process as soon as it is opened. Workers open
 * it for cells of its variants alone. */
void supervise_keep_apart(const struct attn_variant *);

/* Starts a child process that runs the self-test of a device. On success *line is its answer (selftest_from_line),
 * which the caller frees. A failure to open the device is returned as that process reported it. */
struct status supervise_selftest(const char *device_spec, double timeout_s, char **line);

/* Starts a worker on device_spec and reads its first line. STATUS_NO_GPU and other failures to open the device are
 * returned as the worker reported them. On success *out is the caller's, for supervise_close. cell_timeout_s is how
 * long a cell may take. Calls signals_watch. */
struct status supervise_open(const char *device_spec, double cell_timeout_s, struct supervisor **out);
/* Waits for the worker to end and kills it after five seconds, or at once after an interrupt. */
void supervise_close(struct supervisor *);

const struct device_info *supervise_device(const struct supervisor *);
/* The first line of the worker that was started last. */
const struct worker_hello *supervise_hello(const struct supervisor *);

/* Ends the worker and starts another on the same device, so that a fresh process measures the cells that follow. */
struct status supervise_renew(struct supervisor *);

/* Measures one cell; starts a new worker when the last one has ended. On success *out is a complete record, whatever
 * happened to the worker: `crashed` when it ended or its reply was unreadable, `timeout` when it missed the deadline,
 * with the reason. Fails only when no worker can be started or the run was interrupted; *out is then undefined. */
struct status supervise_cell(struct supervisor *, const struct cell_request *, struct record *out);
