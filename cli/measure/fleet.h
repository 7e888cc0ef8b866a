/* Several GPUs (cards) that measure at the same time. Each card has a thread, which does one job at a time with the
 * card's supervisor and uses nothing else. All functions below are called by one other thread, which assigns the jobs
 * and reads their results. */
#pragma once

#include "cli/measure/supervise.h"
#include "cli/record/journal.h"

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
