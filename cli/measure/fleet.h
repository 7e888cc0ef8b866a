/* Several cards at once: each has a supervisor of its own, in a thread of its own, that does one job after the other.
 * The threads touch nothing but their supervisor: who is handed what, and what becomes of the answer, is the business
 * of the one thread that calls these functions. */
#ifndef ATTNBENCH_CLI_MEASURE_FLEET_H
#define ATTNBENCH_CLI_MEASURE_FLEET_H

#include "cli/measure/supervise.h"
#include "cli/record/journal.h"

enum { FLEET_CARDS_MAX = JOURNAL_CARDS_MAX };

struct fleet;

/* Starts a worker on each card of the list, "0,2" or "all", all at once. A card that does not open, two that are one,
 * or of two models, are a failure: STATUS_USAGE of the list, STATUS_NO_GPU where a card is not there. On success *out
 * is the caller's, for fleet_close. Calls signals_watch. */
struct status fleet_open(const char *list, double cell_timeout_s, struct fleet **out);
/* Ends all workers, at once after an interrupt. */
void fleet_close(struct fleet *);

size_t fleet_count(const struct fleet *);
/* What a card's first worker said of it; and what the card is called in the list: "cuda:2". */
const struct worker_hello *fleet_hello(const struct fleet *, size_t card);
const char *fleet_name(const struct fleet *, size_t card);

/* A job for a card that has none: a fresh process (supervise_renew), or a cell (supervise_cell). */
void fleet_renew(struct fleet *, size_t card);
void fleet_measure(struct fleet *, size_t card, const struct cell_request *);

/* Waits until a card has done its job, at most until clock_now_s() is until_s (INFINITY: as long as it takes). On
 * success *card is free again and its outcome can be looked at; fleet_count of them when none was done in time.
 * STATUS_INTERRUPTED when a signal asked to stop. */
struct status fleet_wait(struct fleet *, double until_s, size_t *card);
/* Of the last job: what supervise_renew or supervise_cell returned, and the record of the cell. */
const struct status *fleet_outcome(const struct fleet *, size_t card);
struct record *fleet_record(struct fleet *, size_t card);

#endif
