/* The parent's side of a worker: start it, hand it cells, survive its death. The parent never touches the device. */
#ifndef ATTNBENCH_CLI_MEASURE_SUPERVISE_H
#define ATTNBENCH_CLI_MEASURE_SUPERVISE_H

#include "cli/measure/worker.h"

struct supervisor;

/* Has a process of its own open the shared object at `path`, so that whatever its constructors do is done there. On
 * success *line is what it said of itself (worker_describe; malloc'ed, the caller's), and every worker started from
 * now on opens the object before its device. STATUS_USAGE when the object is bad, crashes, ends its process or does
 * not come back. `path` must stay. */
struct status supervise_load(const char *path, char **line);

/* Has a process of its own run the self-test of a device. On success *line is its answer (selftest_from_line;
 * malloc'ed, the caller's). Failures to open the device come back as that process reported them. */
struct status supervise_selftest(const char *device_spec, double timeout_s, char **line);

/* Starts a worker on device_spec and reads what device it found. STATUS_NO_GPU and other failures to open come back
 * as the worker reported them. On success *out is the caller's, for supervise_close. cell_timeout_s is a cell's
 * deadline. Calls signals_watch. */
struct status supervise_open(const char *device_spec, double cell_timeout_s, struct supervisor **out);
/* Lets the worker end on its own, kills it when it does not within five seconds, at once after an interrupt. */
void supervise_close(struct supervisor *);

const struct device_info *supervise_device(const struct supervisor *);
/* What the worker that was started last said of its device and itself. */
const struct worker_hello *supervise_hello(const struct supervisor *);

/* Ends the worker and starts another: what is measured from now on is a fresh process's, on the same device. */
struct status supervise_renew(struct supervisor *);

/* Does one cell; a new worker is started when the last one is gone. Whatever happens to the worker, *out is a
 * complete record: `crashed` with the signal, the exit status or that its reply was unreadable, `timeout` with the
 * deadline. A failure is returned only when no worker can be started any more or the run was interrupted; *out is
 * then not to be used. */
struct status supervise_cell(struct supervisor *, const struct cell_request *, struct record *out);

#endif
