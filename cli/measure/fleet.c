/* A thread for each card: waits for a job, does it with its supervisor, says that it is done. */
#include "cli/measure/supervise.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"
#include "cli/base/units.h"

enum job { JOB_NONE, JOB_OPEN, JOB_RENEW, JOB_MEASURE };
enum { ORDINAL_MAX = 1023, NAME_MAX_BYTES = 16 };

/* The caller fills in job and request and posts `given`; from then until is_done is set they and the rest are the
 * thread's. */
struct card {
  struct fleet *fleet;
  pthread_t thread;
  bool has_thread;
  sem_t given;
  _Atomic(enum job) job; /* JOB_NONE: there will be none any more */
  atomic_bool is_done;   /* and nobody was told yet */
  char name[NAME_MAX_BYTES];
  struct supervisor *supervisor;
  struct worker_hello hello;
  struct cell_request request;
  struct status outcome;
  struct record record;
};

struct fleet {
  int done_fd; /* can be read when a card is done */
  double cell_timeout_s;
  size_t count;
  struct card card[FLEET_CARDS_MAX];
};

/* ---- a card's thread ----------------------------------------------------------------------------------------- */

static enum job await_job(struct card *card) {
  while (sem_wait(&card->given) != 0) continue; /* a signal handler ran */
  return card->job;
}

static void say_done(struct card *card) {
  const uint64_t one = 1;
  atomic_store(&card->is_done, true);
  while (write(card->fleet->done_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static struct status open_card(struct card *card) {
  TRY(supervise_open(card->name, card->fleet->cell_timeout_s, &card->supervisor));
  card->hello = *supervise_hello(card->supervisor);
  return status_ok();
}

static struct status do_job(struct card *card, enum job job) {
  switch (job) {
    case JOB_OPEN: return open_card(card);
    case JOB_RENEW: return supervise_renew(card->supervisor);
    case JOB_MEASURE: return supervise_cell(card->supervisor, &card->request, &card->record);
    default: return status_ok();
  }
}

/* A worker dies with the thread that started it, so that the thread lives as long as its card is in use. */
static void *card_main(void *context) {
  struct card *card = context;
  decimal_start();
  for (enum job job; (job = await_job(card)) != JOB_NONE;) {
    card->outcome = do_job(card, job);
    say_done(card);
  }
  supervise_close(card->supervisor);
  return NULL;
}

static void give(struct card *card, enum job job) {
  card->job = job;
  sem_post(&card->given);
}

/* Signals that ask to stop go to the thread that hands out the work. */
static struct status start_thread(struct card *card) {
  sigset_t stop, before;
  signals_fill(&stop);
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  const int error = pthread_create(&card->thread, NULL, card_main, card);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  card->has_thread = error == 0;
  return error == 0 ? status_ok()
                    : status_make(STATUS_INTERNAL, "--devices: no thread for %s: %s", card->name, strerror(error));
}

/* ---- opening and closing ------------------------------------------------------------------------------------- */

static struct status start_card(struct fleet *fleet, uint32_t ordinal) {
  struct card *card = &fleet->card[fleet->count++];
  card->fleet = fleet;
  sem_init(&card->given, 0, 0);
  snprintf(card->name, sizeof card->name, "cuda:%" PRIu32, ordinal);
  TRY(start_thread(card));
  give(card, JOB_OPEN);
  return status_ok();
}

static struct status start_cards(struct fleet *fleet, const uint32_t *ordinals, size_t count) {
  const size_t first = fleet->count;
  for (size_t i = 0; i < count; ++i) TRY(start_card(fleet, ordinals[i]));
  for (size_t i = 0, card; i < count; ++i) TRY(fleet_wait(fleet, INFINITY, &card));
  for (size_t i = first; i < fleet->count; ++i) TRY(fleet->card[i].outcome);
  return status_ok();
}

static struct status too_many(void) {
  return status_make(STATUS_USAGE, "--devices: at most %d cards measure in one run; name fewer", FLEET_CARDS_MAX);
}

/* The first one says how many there are. */
static struct status open_all(struct fleet *fleet) {
  uint32_t ordinals[FLEET_CARDS_MAX];
  for (uint32_t i = 0; i < FLEET_CARDS_MAX; ++i) ordinals[i] = i;
  TRY(start_cards(fleet, ordinals, 1));
  const uint32_t count = fleet->card[0].hello.device_count;
  return count <= FLEET_CARDS_MAX ? start_cards(fleet, ordinals + 1, count - 1) : too_many();
}

/* One number of the list, and `at` behind it. */
static struct status take_ordinal(const char *list, const char **at, uint32_t *out) {
  char *end = NULL;
  const bool is_digit = **at >= '0' && **at <= '9';
  const unsigned long value = strtoul(*at, &end, 10);
  if (!is_digit || value > ORDINAL_MAX || (*end != ',' && *end != '\0'))
    return status_make(STATUS_USAGE, "--devices: \"%s\" is no list of cards; give their numbers, 0,1, or all", list);
  *out = (uint32_t)value;
  *at = end;
  return status_ok();
}

static struct status open_listed(struct fleet *fleet, const char *list) {
  uint32_t ordinals[FLEET_CARDS_MAX];
  size_t count = 0;
  for (const char *at = list; count == 0 || *at == ','; ++count) {
    if (count == FLEET_CARDS_MAX) return too_many();
    if (count > 0) ++at;
    TRY(take_ordinal(list, &at, &ordinals[count]));
    for (size_t i = 0; i < count; ++i) {
      if (ordinals[i] == ordinals[count])
        return status_make(STATUS_USAGE, "--devices: %" PRIu32 " is named twice; name each card once", ordinals[i]);
    }
  }
  return start_cards(fleet, ordinals, count);
}

/* What a journal of these cards would not be read back with. */
static struct status check_cards(const struct fleet *fleet) {
  OWNED(owned_free) struct journal_data *seen = NULL;
  TRY(owned_array(&seen, 1, sizeof *seen, "list of cards"));
  for (size_t i = 0; i < fleet->count; ++i) {
    const struct status status = cards_add(seen, &fleet->card[i].hello.device);
    if (status_failed(&status)) return status_make(STATUS_USAGE, "--devices: %s", status.text);
  }
  return status_ok();
}

static struct status open_cards(struct fleet *fleet, const char *list) {
  TRY(strcmp(list, "all") == 0 ? open_all(fleet) : open_listed(fleet, list));
  return check_cards(fleet);
}

struct status fleet_open(const char *list, double cell_timeout_s, struct fleet **out) {
  struct fleet *fleet = calloc(1, sizeof *fleet);
  if (fleet == NULL) return status_make(STATUS_MEMORY, "no memory for the cards of --devices");
  fleet->cell_timeout_s = cell_timeout_s;
  signals_watch();
  fleet->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct status status = fleet->done_fd >= 0
                             ? open_cards(fleet, list)
                             : status_make(STATUS_INTERNAL, "--devices: no descriptor left: %s", strerror(errno));
  if (status_failed(&status)) {
    fleet_close(fleet);
    return status;
  }
  *out = fleet;
  return status_ok();
}

/* A thread that works on a job ends once that is done. */
void fleet_close(struct fleet *fleet) {
  if (fleet == NULL) return;
  for (size_t i = 0; i < fleet->count; ++i) give(&fleet->card[i], JOB_NONE);
  for (size_t i = 0; i < fleet->count; ++i) {
    if (fleet->card[i].has_thread) pthread_join(fleet->card[i].thread, NULL);
    sem_destroy(&fleet->card[i].given);
  }
  if (fleet->done_fd >= 0) close(fleet->done_fd);
  free(fleet);
}

/* ---- jobs ---------------------------------------------------------------------------------------------------- */

size_t fleet_count(const struct fleet *fleet) { return fleet->count; }
const struct worker_hello *fleet_hello(const struct fleet *fleet, size_t card) { return &fleet->card[card].hello; }
const char *fleet_name(const struct fleet *fleet, size_t card) { return fleet->card[card].name; }
const struct status *fleet_outcome(const struct fleet *fleet, size_t card) { return &fleet->card[card].outcome; }
struct record *fleet_record(struct fleet *fleet, size_t card) {
  return &fleet->card[card].record;
}

void fleet_renew(struct fleet *fleet, size_t card) { give(&fleet->card[card], JOB_RENEW); }

void fleet_measure(struct fleet *fleet, size_t card, const struct cell_request *request) {
  fleet->card[card].request = *request;
  give(&fleet->card[card], JOB_MEASURE);
}

static bool take_done(struct fleet *fleet, size_t *card) {
  for (*card = 0; *card < fleet->count; ++*card) {
    if (atomic_exchange(&fleet->card[*card].is_done, false)) return true;
  }
  return false;
}

struct status fleet_wait(struct fleet *fleet, double until_s, size_t *card) {
  struct pollfd fds[] = {{.fd = fleet->done_fd, .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
  for (;;) {
    uint64_t count;
    while (read(fleet->done_fd, &count, sizeof count) > 0) continue;
    TRY(signals_check());
    if (take_done(fleet, card)) return status_ok();
    const double left_s = until_s - clock_now_s();
    if (!(left_s > 0)) return status_ok();
    const double wait_s = fmin(left_s, 3600);
    const struct timespec wait = {.tv_sec = (time_t)wait_s, .tv_nsec = (long)(fmod(wait_s, 1.0) * 1e9)};
    ppoll(fds, 2, &wait, NULL);
  }
}
