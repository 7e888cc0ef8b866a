/* The parent's side of a worker: starts the process, sends it cells, and starts another one when it crashes or hangs.
 * The parent itself never uses the device. */
#pragma once

#include "cli/measure/worker.h"
#include "cli/record/journal.h"

struct supervisor;

/* Starts a child process that opens the shared object at `path`, so that the object's constructors run there. On
 * success *line is the object's description (worker_describe), which the caller frees, and every worker started
 * afterwards opens the object before its device. STATUS_USAGE when the object is invalid, or crashes, ends or hangs
 * its process. */
struct status supervise_load(const char *path, char **line);

/* The object that was loaded last, which has this variant, changes its process as soon as it is opened. Workers open
 * it for cells of its variants alone. */
void supervise_keep_apart(const struct attn_variant *);

/* Starts a child process that runs the self-test of a device. On success *line is its answer (selftest_fields),
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

/* Several GPUs (cards) that measure at the same time. Each card has a thread, which does one job at a time with the
 * card's supervisor and uses nothing else. All functions below are called by one other thread, which assigns the jobs
 * and reads their results. */

enum { FLEET_CARDS_MAX = JOURNAL_CARDS_MAX };

struct fleet;

/* Starts a worker on each card of the list, "0,2" or "all", all at once. STATUS_USAGE when the list is at fault, when
 * it names one card twice, or when the cards are of two models; STATUS_NO_GPU when a card is not there. On success
 * *out is the caller's, for fleet_close. Calls signals_watch. */
struct status fleet_open(const char *list, double cell_timeout_s, struct fleet **out);
/* Ends all workers, at once after an interrupt. */
void fleet_close(struct fleet *);

size_t fleet_count(const struct fleet *);
/* The first line of the card's first worker. */
const struct worker_hello *fleet_hello(const struct fleet *, size_t card);
/* The card's device as in the list: "cuda:2". */
const char *fleet_name(const struct fleet *, size_t card);

/* Gives a job to a card that has none: start a fresh process (supervise_renew), or measure a cell (supervise_cell).
 */
void fleet_renew(struct fleet *, size_t card);
void fleet_measure(struct fleet *, size_t card, const struct cell_request *);

/* Waits until a card has done its job, at most until clock_now_s() is until_s (INFINITY: as long as it takes). On
 * success *card is the number of that card, which has no job now and whose outcome can be read; it is fleet_count
 * when none was done in time. STATUS_INTERRUPTED when a signal asked to stop. */
struct status fleet_wait(struct fleet *, double until_s, size_t *card);
/* What supervise_renew or supervise_cell returned for the card's last job. */
const struct status *fleet_outcome(const struct fleet *, size_t card);
/* The record of the cell that the card measured last. */
struct record *fleet_record(struct fleet *, size_t card);
