/* Starts workers, hands them cells, and turns their deaths into records. */
#include "cli/measure/supervise.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "cli/measure/channel.h"
#include "cli/sweep/callable_spec.h"

/* How long a process that answered may take to end, and one that runs on a device. */
static const double patience_s = 2.0, device_patience_s = 5.0;

/* How long importing a Python function may take: PyTorch from a slow disk takes a minute. */
static const double import_timeout_s = 120.0;

struct supervisor {
  char device_spec[32];
  double cell_timeout_s;
  struct channel channel;
  uint32_t opens;              /* the objects that the worker opens, a bit each */
  struct worker_hello hello;   /* of the last worker that started */
  bool at_reference;           /* the worker has begun to run the reference beside the cell that it was asked for */
  char bad_case[AXIS_KEY_MAX]; /* where a cell was lost at the reference, and measured again without it */
  char bad_reason[SPEEDUP_REASON_MAX];
};

static char objects[ATTN_PLUGINS_MAX][PATH_MAX];
static size_t object_count;

/* Variants whose object only workers of their own cells open. */
static struct {
  const struct attn_variant *variant;
  uint32_t object; /* its bit */
} apart[ATTN_PLUGIN_VARIANTS_MAX];
static size_t apart_count;

/* ---- the worker ---------------------------------------------------------------------------------------------- */

/* The failure that the line reports, if it is one. */
static struct status take_failure(const char *line, size_t length) {
  struct json_doc doc;
  TRY(json_parse("worker", line, length, &doc));
  const struct status failure = hello_failure(doc.root);
  json_free(&doc);
  return failure;
}

/* The objects that a worker opens for this cell; NULL: for any. */
static uint32_t objects_for(const struct cell_request *request) {
  uint32_t opens = (UINT32_C(1) << object_count) - 1;
  for (size_t i = 0; i < apart_count; ++i) opens &= ~apart[i].object;
  for (size_t i = 0; i < apart_count && request != NULL; ++i) {
    const struct attn_variant *variant = apart[i].variant;
    if (variant == request->spec.variant || variant == request->reference.variant) opens |= apart[i].object;
  }
  return opens;
}

static bool imports(uint32_t opens) {
  bool any = false;
  for (size_t i = 0; i < object_count; ++i) any = any || ((opens >> i & 1) != 0 && callable_spec_is(objects[i]));
  return any;
}

static struct status start_worker(struct supervisor *s) {
  const double open_timeout_s = 60.0 + import_timeout_s * imports(s->opens);
  char *argv[2 * ATTN_PLUGINS_MAX + 5] = {"attnbench", "worker", "--device", s->device_spec}, end[CHANNEL_END_MAX];
  struct channel_answer answer;
  for (size_t i = 0, next = 4; i < object_count; ++i) {
    if ((s->opens >> i & 1) == 0) continue;
    argv[next++] = "--load";
    argv[next++] = objects[i];
  }
  TRY(channel_ask(&s->channel, argv, open_timeout_s, &answer, end));
  if (answer.result == CHANNEL_DEADLINE)
    return status_make(STATUS_DEVICE, "device %s did not open within %.0f s", s->device_spec, open_timeout_s);
  if (answer.result == CHANNEL_CLOSED)
    return status_make(STATUS_DEVICE, "device %s could not be opened: %s", s->device_spec, end);
  struct status status = take_failure(answer.line, answer.length);
  s->hello = (struct worker_hello){.device_count = 0};
  if (!status_failed(&status))
    status = fields_from_line("worker", answer.line, answer.length, hello_fields, &s->hello);
  if (status_failed(&status)) channel_end(&s->channel, patience_s, NULL);
  return status;
}

struct status supervise_open(const char *device_spec, double cell_timeout_s, struct supervisor **out) {
  struct supervisor *s = calloc(1, sizeof *s);
  if (s == NULL) return status_make(STATUS_MEMORY, "no memory for the supervisor");
  snprintf(s->device_spec, sizeof s->device_spec, "%s", device_spec);
  s->cell_timeout_s = cell_timeout_s;
  s->opens = objects_for(NULL);
  signals_watch();
  const struct status status = start_worker(s);
  if (status_failed(&status)) {
    supervise_close(s);
    return status;
  }
  *out = s;
  return status;
}

void supervise_close(struct supervisor *s) {
  if (s == NULL) return;
  if (s->channel.pid != 0) channel_end(&s->channel, signals_received() != 0 ? 0.0 : device_patience_s, NULL);
  channel_free(&s->channel);
  free(s);
}

const struct device_info *supervise_device(const struct supervisor *s) { return &s->hello.device.info; }
const struct worker_hello *supervise_hello(const struct supervisor *s) { return &s->hello; }

struct status supervise_renew(struct supervisor *s) {
  const struct device_info before = s->hello.device.info;
  if (s->channel.pid != 0) channel_end(&s->channel, device_patience_s, NULL);
  TRY(start_worker(s));
  if (strcmp(before.uuid, s->hello.device.info.uuid) == 0 && strcmp(before.name, s->hello.device.info.name) == 0)
    return status_ok();
  return status_make(STATUS_DEVICE, "a fresh process found another device: %s %s instead of %s %s",
                     s->hello.device.info.name, s->hello.device.info.uuid, before.name, before.uuid);
}

/* ---- processes of one answer --------------------------------------------------------------------------------- */

/* Has a process of its own answer one line: *line, malloc'ed and the caller's. NULL: it gave none, and `end` says how
 * it ended; "" when the time was over. A failure that it reports comes back. */
static struct status ask_once(char *const *argv, double timeout_s, char **line, char end[CHANNEL_END_MAX]) {
  OWNED(channel_free) struct channel channel = {.pid = 0};
  struct channel_answer answer;
  signals_watch();
  TRY(channel_ask(&channel, argv, timeout_s, &answer, end));
  if (answer.result == CHANNEL_DEADLINE) end[0] = '\0';
  if (answer.result != CHANNEL_LINE) return status_ok();
  channel_end(&channel, patience_s, NULL);
  TRY(take_failure(answer.line, answer.length));
  *line = strndup(answer.line, answer.length);
  return *line != NULL ? status_ok() : status_make(STATUS_MEMORY, "no memory for the answer of a process");
}

struct status supervise_selftest(const char *device_spec, double timeout_s, char **line) {
  char *const argv[] = {"attnbench", "measure-self", "--device", (char *)device_spec, NULL};
  char end[CHANNEL_END_MAX];
  TRY(ask_once(argv, timeout_s, line, end));
  if (*line != NULL) return status_ok();
  if (end[0] != '\0') return status_make(STATUS_DEVICE, "the self-test of %s failed: %s", device_spec, end);
  return status_make(STATUS_DEVICE, "the self-test of %s gave no answer within %g s (--timeout)", device_spec,
                     timeout_s);
}

struct status supervise_load(const char *path, char **line) {
  const double load_timeout_s = callable_spec_is(path) ? import_timeout_s : 10.0;
  char *const argv[] = {"attnbench", "describe-object", "--load", (char *)path, NULL};
  char end[CHANNEL_END_MAX];
  if (object_count == ATTN_PLUGINS_MAX) return status_make(STATUS_USAGE, "--load %s: one object too many", path);
  TRY(ask_once(argv, load_timeout_s, line, end));
  if (*line == NULL && end[0] == '\0')
    return status_make(STATUS_USAGE, "--load %s: opening it took more than %.0f s; look at its constructors", path,
                       load_timeout_s);
  if (*line == NULL)
    return status_make(STATUS_USAGE, "--load %s: opening it failed: %s; look at its constructors and its attn_plugin",
                       path, end);
  snprintf(objects[object_count++], PATH_MAX, "%s", path);
  return status_ok();
}

void supervise_keep_apart(const struct attn_variant *variant) {
  if (apart_count == ATTN_PLUGIN_VARIANTS_MAX) return;
  apart[apart_count].variant = variant;
  apart[apart_count++].object = UINT32_C(1) << (object_count - 1);
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

/* What is known of a cell whose worker did not answer it. */
static struct status record_lost(const struct supervisor *s, const struct cell_request *request,
                                 enum cell_status status, const char *reason, struct record *out) {
  plan_record(&request->attn_case, &request->spec, &s->hello.device.info, out);
  plan_outcome(out, status, "%s", reason);
  return status_ok();
}

static struct status lose_cell(struct supervisor *s, const struct cell_request *request, enum channel_result why,
                               struct record *out) {
  char reason[CHANNEL_END_MAX];
  channel_end(&s->channel, why == CHANNEL_CLOSED ? patience_s : 0.0, reason);
  if (why == CHANNEL_CLOSED) return record_lost(s, request, CELL_crashed, reason, out);
  snprintf(reason, sizeof reason, "no answer within %g s (--timeout); the worker was killed", s->cell_timeout_s);
  return record_lost(s, request, CELL_timeout, reason, out);
}

static struct status lose_unreadable(struct supervisor *s, const struct cell_request *request, struct record *out) {
  channel_end(&s->channel, 0.0, NULL);
  return record_lost(
      s, request, CELL_crashed,
      "the worker process sent an unreadable reply and was killed: something in it wrote to its pipe or "
      "over its memory",
      out);
}

/* STATUS_INPUT: the line is no record of what was asked for. */
static struct status read_answer(const struct cell_request *request, const struct channel_answer *answer,
                                 struct record *out) {
  TRY(record_from_line(answer->line, answer->length, out));
  return record_is_cell(out, request->attn_case.key, request->spec.text)
             ? status_ok()
             : status_make(STATUS_INPUT, "%s of %s was not asked for", out->attn_case.key, out->variant);
}

static bool is_at_reference(const struct channel_answer *answer) {
  return answer->result == CHANNEL_LINE && strcmp(answer->line, WORKER_AT_REFERENCE) == 0;
}

static bool is_failure(const struct channel_answer *answer) {
  return strncmp(answer->line, WORKER_FAILED, strlen(WORKER_FAILED)) == 0;
}

/* The worker could not say more than why, and ends. */
static struct status lose_failed(struct supervisor *s, const struct cell_request *request,
                                 const struct channel_answer *answer, struct record *out) {
  const struct status failure = take_failure(answer->line, answer->length);
  channel_end(&s->channel, patience_s, NULL);
  return record_lost(s, request, CELL_error, failure.text, out);
}

/* Bounds of the time from a request to its answer. The upper bound is when the answer was read: it may have waited in
 * the pipe while this process was stopped. The lower bound leaves out what the worker may have waited for a CPU
 * before its clock started and after its clock stopped, as it does on a very busy machine. */
struct passed {
  double least_s, most_s;
};

/* The part of the waiting that may lie outside of the worker's clock. A thread waits in proportion to the CPU time
 * that it needs, and needs little there. */
static double waited_outside_s(struct clock_cpu before, struct clock_cpu after) {
  static const double needed_s = 0.02;
  const double ran_s = after.ran_s - before.ran_s, waited_s = after.waited_s - before.waited_s;
  if (isnan(waited_s)) return 0;
  return waited_s * (ran_s > needed_s ? needed_s / ran_s : 1);
}

/* A worker may report less time for a cell than passed, by at most this share and this slack. It may report more by
 * rounding only: it starts its clock after the request and stops it before the answer. */
static const double clock_share = 0.1, clock_slack_s = 0.4, clock_rounding_s = 1e-3;

static bool is_of_other_clock(const struct record *record, struct passed passed) {
  const double said_s = record->wall_s;
  return said_s > 0 &&
         (said_s < (1 - clock_share) * passed.least_s - clock_slack_s || said_s > passed.most_s + clock_rounding_s);
}

/* Code that runs in a worker can change the functions that read the time there, but not here. */
static struct status lose_clock(struct supervisor *s, const struct cell_request *request, struct passed passed,
                                struct record *out) {
  char reason[RECORD_REASON_MAX];
  snprintf(reason, sizeof reason,
           "its process says that the cell took %.2f s, and at %s %.2f s passed: something in it changed a clock",
           out->wall_s, out->wall_s < passed.least_s ? "least" : "most",
           out->wall_s < passed.least_s ? passed.least_s : passed.most_s);
  channel_end(&s->channel, patience_s, NULL);
  return record_lost(s, request, CELL_error, reason, out);
}

/* NULL, or what the record has that was not asked for, or lacks. */
static const char *unasked(const struct cell_request *request, const struct record *record) {
  const char *reference = record->speedup.reference;
  const struct check_record *check = &record->check;
  if (record->card[0] != '\0') return "names a card";
  if (reference[0] != '\0' && strcmp(reference, request->reference.text) != 0)
    return "has a ratio to another reference than the one of the run";
  if (!request->again && check->known && check->timed_samples > 0 && isnan(check->timed_rows_ratio))
    return "has timed samples of which no row was compared";
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct time_record *time = &record->time[mode];
    if (record->process[mode].count > 0) return "has times of several processes";
    if (!time->done) continue;
    if (!request->modes[mode]) return "has a time of a mode that the run does not take";
    if ((time->samples_us.value != NULL) != request->samples)
      return request->samples ? "has a time without samples" : "has samples that the run does not keep";
  }
  return NULL;
}

/* A device sometimes reads a wrong value, and code that runs in a worker can send anything. In the journal such a
 * record would make the whole run unreadable. */
static struct status lose_impossible(struct supervisor *s, const struct cell_request *request, const char *problem,
                                     struct record *out) {
  char reason[RECORD_REASON_MAX];
  snprintf(reason, sizeof reason, "its record cannot be right: it %s; measure again", problem);
  channel_end(&s->channel, patience_s, NULL);
  return record_lost(s, request, CELL_error, reason, out);
}

static struct status receive_cell(struct supervisor *s, struct channel_answer *answer) {
  TRY(channel_receive(&s->channel, s->cell_timeout_s, answer));
  if (s->at_reference || !is_at_reference(answer)) return status_ok();
  s->at_reference = true;
  return channel_receive(&s->channel, s->cell_timeout_s, answer);
}

static bool is_loaded(const struct variant_spec *spec) {
  return spec->text[0] != '\0' && spec->variant != NULL && variant_is_added(spec->variant);
}

/* What loaded code started beside its worker is no child of the worker, which cannot tell of it. */
static void note_strays(const struct cell_request *request, struct record *out) {
  const bool any_loaded = is_loaded(&request->spec) || is_loaded(&request->reference);
  const size_t strays = any_loaded ? channel_strays() : 0;
  if (strays == 0) return;
  text_append(out->left, sizeof out->left, "%sleft %zu process%s beside its own", out->left[0] != '\0' ? "; " : "",
              strays, strays == 1 ? "" : "es");
}

/* 0: not known. */
static unsigned long count_threads(pid_t pid) {
  char path[64];
  struct stat info;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  return stat(path, &info) == 0 ? (unsigned long)info.st_nlink : 0;
}

/* The worker does not report threads that it leaves and whose names begin with "cuda", as those of the CUDA driver
 * do. Loaded code can use such a name. The driver has usually started its threads before the first cell. So if a cell
 * of loaded code leaves more threads than before, and none is reported, the next cell gets a new worker. A worker
 * that imported Python is kept, since importing takes seconds. */
static bool left_uncharged_threads(const struct supervisor *s, const struct cell_request *request,
                                   unsigned long threads_before) {
  const bool any_loaded = is_loaded(&request->spec) || is_loaded(&request->reference);
  return any_loaded && !imports(s->opens) && count_threads(s->channel.pid) > threads_before;
}

/* `is_unreadable`: what came is no record of the cell. */
static struct status ask_worker(struct supervisor *s, const struct cell_request *request, bool *is_unreadable,
                                struct record *out) {
  struct channel_answer answer = {.result = CHANNEL_CLOSED};
  const double sent_s = clock_now_s();
  const struct clock_cpu before = clock_cpu_of(s->channel.pid);
  const unsigned long threads_before = count_threads(s->channel.pid);
  s->at_reference = false;
  *is_unreadable = false;
  if (channel_send(&s->channel, request, sizeof *request)) TRY(receive_cell(s, &answer));
  const struct passed passed = {
      .least_s = answer.absent_s - sent_s - waited_outside_s(before, clock_cpu_of(s->channel.pid)),
      .most_s = clock_now_s() - sent_s,
  };
  if (answer.result != CHANNEL_LINE) return lose_cell(s, request, answer.result, out);
  if (is_failure(&answer)) return lose_failed(s, request, &answer, out);
  const struct status status = read_answer(request, &answer, out);
  *is_unreadable = status.code == STATUS_INPUT;
  if (*is_unreadable) return status_ok();
  TRY(status);
  if (is_of_other_clock(out, passed)) return lose_clock(s, request, passed, out);
  const struct device_line *device = &s->hello.device;
  const char *problem = unasked(request, out);
  if (problem == NULL) problem = validate_answer(out, request->again, &device->info, &device->policy);
  if (problem != NULL) return lose_impossible(s, request, problem, out);
  note_strays(request, out);
  /* Its device may be unusable, or the next cell would inherit what this one left. */
  if (out->status == CELL_error || out->left[0] != '\0' || left_uncharged_threads(s, request, threads_before))
    channel_end(&s->channel, patience_s, NULL);
  return status_ok();
}

/* Loaded code can send an answer in its worker's place. The worker's own answer to that cell then waits in the
 * channel, and would be taken for the answer to the next cell. A cell without loaded code always gets a readable
 * answer. So an unreadable one belongs to an earlier cell, and this cell is asked again of a fresh worker. */
static struct status ask_cell(struct supervisor *s, const struct cell_request *request, struct record *out) {
  bool is_unreadable;
  TRY(ask_worker(s, request, &is_unreadable, out));
  if (is_unreadable && !is_loaded(&request->spec) && !is_loaded(&request->reference)) {
    channel_end(&s->channel, 0.0, NULL);
    TRY(start_worker(s));
    TRY(ask_worker(s, request, &is_unreadable, out));
  }
  return is_unreadable ? lose_unreadable(s, request, out) : status_ok();
}

static bool is_lost(const struct record *record) {
  return record->status == CELL_crashed || record->status == CELL_timeout || record->status == CELL_error;
}

/* The cell alone, beside no reference, and why there was none. */
static struct status ask_alone(struct supervisor *s, const struct cell_request *request, struct record *out) {
  struct cell_request alone = *request;
  alone.reference.text[0] = '\0';
  if (s->channel.pid == 0) TRY(start_worker(s));
  TRY(ask_cell(s, &alone, out));
  if (out->status != CELL_ok || request->check_only || request->again ||
      strcmp(request->reference.text, out->variant) == 0)
    return status_ok();
  snprintf(out->speedup.reference, sizeof out->speedup.reference, "%s", request->reference.text);
  snprintf(out->speedup.reason, sizeof out->speedup.reason, "%s", s->bad_reason);
  return status_ok();
}

/* A reference that crashes, hangs or breaks the device takes the process of a row along that has nothing to do with
 * it. The row is measured again without it, and so are the rows of the same case that follow. */
static struct status ask_beside_reference(struct supervisor *s, const struct cell_request *request,
                                          struct record *out) {
  if (strcmp(s->bad_case, request->attn_case.key) == 0) return ask_alone(s, request, out);
  TRY(ask_cell(s, request, out));
  if (!s->at_reference || !is_lost(out)) return status_ok();
  snprintf(s->bad_case, sizeof s->bad_case, "%s", request->attn_case.key);
  snprintf(s->bad_reason, sizeof s->bad_reason, "%s: failed beside a row: %s", request->reference.text, out->reason);
  return ask_alone(s, request, out);
}

struct status supervise_cell(struct supervisor *s, const struct cell_request *request, struct record *out) {
  const double started_s = clock_now_s();
  const uint32_t opens = objects_for(request);
  if (s->channel.pid != 0 && s->opens != opens) channel_end(&s->channel, device_patience_s, NULL);
  s->opens = opens;
  if (s->channel.pid == 0) TRY(start_worker(s));
  TRY(ask_beside_reference(s, request, out));
  if (out->status == CELL_crashed || out->status == CELL_timeout) out->wall_s = clock_now_s() - started_s;
  return status_ok();
}
