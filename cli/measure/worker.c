/* The worker's loop: read a request, launch, check and time the cell, answer with its record. */
#include "cli/measure/worker.h"
#include "cli/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/measure/channel.h"
#include "cli/measure/check.h"
#include "cli/measure/selftest.h"
#include "cli/record/journal.h"
#include "cli/sweep/callable_spec.h"
#include "cli/sweep/manifest.h"
#include "kernels/copy_end.h"
#include "kernels/cpu/cgroup.h"
#include "kernels/float_mode.h"
#include "kernels/gpu_models.h"
#include "kernels/plugin_load.h"

/* What a worker keeps between cells: the open bench serves all variants of one case. */
struct worker {
  struct device *device;
  struct bench *bench;
  char case_key[AXIS_KEY_MAX]; /* of the open bench */
  uint64_t seed;
  struct oracle_result oracle;
  double oracle_s; /* of the random launch, if this cell opened the case, until its check takes it */
  struct speedup_reference reference; /* bound in the open bench's inactive slot */
  bool in_sweep_range, in_case_range;
  struct leftovers_state before; /* the state before loaded code ran */
  bool is_watched;               /* loaded code runs */
  bool is_python;                /* the code is a Python function */
  char opened[RECORD_LEFT_MAX];  /* what the objects changed when they were opened */
};

/* ---- pipes --------------------------------------------------------------------------------------------------- */

/* Profilers and loaded objects put signal handlers into a worker, so that its reads and writes may be interrupted. */

static struct channel_ends pipes; /* of this process */

static struct status send_line(char *text) {
  OWNED(owned_free) char *line = text;
  if (line == NULL) return status_make(STATUS_MEMORY, "no memory for a reply");
  const size_t length = strlen(line);
  line[length] = '\n'; /* the terminating NUL makes room for it */
  return output_write_all(pipes.reply_fd, "the pipe to the parent process", line, length + 1);
}

/* False at the end of the pipe. */
static bool receive_request(struct cell_request *request) {
  size_t got = 0;
  while (got < sizeof *request) {
    const ssize_t n = read(pipes.request_fd, (char *)request + got, sizeof *request - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

/* Written without cJSON, since it may tell that there is no memory. */
static struct status send_failure(const struct status *failure) {
  char line[2 * STATUS_TEXT_MAX + 64];
  int length = snprintf(line, sizeof line, WORKER_FAILED "{\"code\":%d,\"text\":\"", (int)failure->code);
  for (const char *at = failure->text; *at != '\0'; ++at) {
    if (*at == '"' || *at == '\\') line[length++] = '\\';
    line[length++] = *at;
  }
  length += snprintf(line + length, sizeof line - (size_t)length, "\"}}\n");
  return output_write_all(pipes.reply_fd, "the pipe to the parent process", line, (size_t)length);
}

static struct status send_hello(struct device *device) {
  struct worker_hello hello = {
      .device = {.info = *device_info(device), .event_overhead_us = device_event_overhead_us(device)},
      .device_count = device_count(device)};
  device_policy_read(device, &hello.device.policy);
  profiled_tool(hello.profiled);
  return send_line(fields_to_line(hello_fields, &hello));
}

/* ---- the open bench ------------------------------------------------------------------------------------------ */

static void close_case(struct worker *worker) {
  bench_close(worker->bench);
  worker->bench = NULL;
  worker->reference = (struct speedup_reference){0};
  worker->case_key[0] = '\0';
  if (worker->in_case_range) device_range_pop(worker->device);
  worker->in_case_range = false;
}

static struct status open_case(struct worker *worker, const struct cell_request *request) {
  if (worker->bench != NULL && worker->seed == request->seed && strcmp(worker->case_key, request->attn_case.key) == 0)
    return status_ok();
  close_case(worker);
  device_range_push(worker->device, request->attn_case.key);
  worker->in_case_range = true;
  {
    MEASURE_RANGE(worker->device, "init");
    TRY(bench_open(worker->device, &request->attn_case.shape, request->seed, &worker->bench));
  }
  {
    const double start_s = clock_now_s();
    MEASURE_RANGE(worker->device, "reference");
    TRY(bench_reference(worker->bench, &worker->oracle));
    worker->oracle_s = clock_now_s() - start_s;
  }
  snprintf(worker->case_key, sizeof worker->case_key, "%s", request->attn_case.key);
  worker->seed = request->seed;
  return status_ok();
}

/* ---- leftovers ----------------------------------------------------------------------------------------------- */

/* From here on code of this variant runs. */
static void watch(struct worker *worker, const struct attn_variant *variant) {
  worker->is_watched = variant != NULL && variant_is_added(variant);
  worker->is_python = variant != NULL && callable_is(variant);
  if (worker->is_watched) leftovers_read(&worker->before);
}

static void note_left(struct record *record, const char *who, const char *what) {
  if (what[0] == '\0') return;
  text_append(record->left, sizeof record->left, "%s%s%s", record->left[0] != '\0' ? "; " : "", who, what);
}

/* Up to here: the record says what the code changed. */
static void charge(struct worker *worker, struct record *record, const char *who) {
  char found[RECORD_LEFT_MAX];
  copy_end();
  if (!worker->is_watched) return;
  worker->is_watched = false;
  /* Libraries that a Python function calls set handlers of SIGINT and SIGTERM: NVRTC, which cuDNN's engines compile
   * with, puts Python's back by signal(), and so with another flag. If that counted as left, each cell would need a
   * new process, and importing PyTorch takes seconds. */
  if (worker->is_python) leftovers_restore_interrupts(&worker->before);
  leftovers_tell(&worker->before, found, sizeof found);
  note_left(record, who, found);
}

/* ---- one cell ------------------------------------------------------------------------------------------------ */

struct job {
  struct worker *worker;
  struct device *device; /* the worker's */
  const struct cell_request *request;
  struct record *record;
  uint32_t hot_launches; /* these two are bench_time_prepare's */
  double estimate_us;
};

static bool has_room(const struct worker *worker, uint64_t bytes) {
  return bytes != 0 && bytes <= device_memory_free(worker->device);
}

/* True when the cell cannot fit; the record then says so. Of a case that is open the tensors are there, and where
 * the workspace has no room beside those of the cells before it, the case is opened anew. */
static bool predict_oom(const struct job *job) {
  struct worker *worker = job->worker;
  const struct attn_problem *shape = &job->request->attn_case.shape;
  const uint64_t workspace_bytes = job->record->plan.workspace_bytes, need = bench_bytes(shape, workspace_bytes);
  const uint64_t tensors = bench_bytes(shape, 0);
  if (worker->bench != NULL && (workspace_bytes == 0 || (need != 0 && has_room(worker, need - tensors))))
    return false;
  close_case(worker);
  if (has_room(worker, need)) return false;
  plan_outcome(job->record, CELL_oom_predicted,
               "needs %s with its reference and redzones, %s are free; choose smaller shapes",
               units_bytes(need != 0 ? (double)need : (double)tensors + (double)workspace_bytes).text,
               units_bytes((double)device_memory_free(worker->device)).text);
  return true;
}

/* On random inputs; before timing, and in the first process that measures the cell, on hard ones too. */
static struct status check_cell(const struct job *job) {
  struct worker *worker = job->worker;
  struct check_record *check = &job->record->check;
  const struct attn_problem *shape = &job->request->attn_case.shape;
  const bool hard = !check->done && !job->request->again;
  MEASURE_RANGE(job->device, "check");
  if (!check->done) check->seconds = worker->oracle_s;
  worker->oracle_s = 0; /* the first variant of a case pays for its oracle */
  check->oracle = worker->oracle;
  TRY(check_output(worker->bench, check));
  return hard ? check_hard(worker->bench, shape, check) : status_ok();
}

/* What the samples of one mode left. */
static struct status check_mode(const struct job *job, bool whole) {
  MEASURE_RANGE(job->device, "check.timed");
  return check_timed(job->worker->bench, whole, &job->record->check);
}

static struct status bind_reference(const struct job *job) {
  struct worker *worker = job->worker;
  if (worker->reference.tried) return status_ok();
  MEASURE_RANGE(job->device, "reference.bind");
  return speedup_prepare(job->device, worker->bench, &job->request->attn_case, &job->request->reference,
                         &worker->reference);
}

/* Fills record->speedup: measured, or why not. */
static struct status compare_watched(const struct job *job) {
  struct worker *worker = job->worker;
  struct speedup_record *speedup = &job->record->speedup;
  snprintf(speedup->reference, sizeof speedup->reference, "%s", job->request->reference.text);
  if (speedup->reference[0] == '\0') return speedup_none(speedup, "no reference was chosen");
  if (strcmp(speedup->reference, job->record->variant) == 0) return speedup_none(speedup, "the row is the reference");
  TRY(send_line(strdup(WORKER_AT_REFERENCE)));
  TRY(bind_reference(job));
  if (worker->reference.obstacle[0] != '\0') return speedup_none(speedup, worker->reference.obstacle);
  MEASURE_RANGE(job->device, "time.speedup");
  return speedup_measure(job->device, worker->bench, &worker->reference, job->hot_launches, job->estimate_us,
                         job->request->modes, job->record->time, speedup);
}

/* What changes meanwhile is the reference's doing: the row has run often before. */
static struct status compare_cell(const struct job *job) {
  charge(job->worker, job->record, "");
  watch(job->worker, job->request->reference.variant);
  const struct status status = compare_watched(job);
  charge(job->worker, job->record, "its reference: ");
  watch(job->worker, job->request->spec.variant);
  return status;
}

static struct status time_passes(const struct job *job) {
  double pass_us[ATTN_PASSES_MAX];
  const uint32_t count = job->record->plan.pass_count;
  if (count < 2 || job->request->spec.variant->vendor != NULL) return status_ok();
  MEASURE_RANGE(job->device, "time.passes");
  TRY(measure_passes(job->worker->bench, count, job->estimate_us, pass_us));
  for (uint32_t i = 0; i < count; ++i) job->record->pass[i].cold_us = pass_us[i];
  return status_ok();
}

/* Ready for timing, with the slowdown that was asked for. */
static struct status prepare_cell(struct job *job) {
  struct bench *bench = job->worker->bench;
  TRY(bench_time_prepare(bench, &job->hot_launches, &job->estimate_us));
  if (!(job->request->inject_percent > 0)) return status_ok();
  MEASURE_RANGE(job->device, "inject");
  TRY(inject_calibrate(job->device, bench, job->request->modes, job->request->inject_percent, job->estimate_us,
                       &job->record->injected));
  return bench_time_prepare(bench, &job->hot_launches, &job->estimate_us);
}

static struct status time_mode(const struct job *job, enum time_mode mode) {
  const enum device_kind kind = device_info(job->device)->kind;
  struct measure_settings settings = job->request->quick ? measure_quick(kind, mode) : measure_defaults(kind);
  settings.keeps_samples = job->request->samples;
  if (!job->request->modes[mode]) return status_ok();
  TRY(measure_mode(job->device, job->worker->bench, mode, &settings, job->hot_launches, job->estimate_us,
                   &job->record->time[mode]));
  return check_mode(job, true);
}

static struct status time_steady(const struct job *job) {
  const struct steady_settings settings = steady_defaults(device_info(job->device)->kind);
  if (!job->request->modes[TIME_STEADY]) return status_ok();
  TRY(steady_measure(job->device, job->worker->bench, &settings, job->hot_launches, job->estimate_us,
                     job->request->samples, &job->record->time[TIME_STEADY]));
  return check_mode(job, true);
}

/* Other programs may keep a CPU busy for a while. So each attempt there waits 5 ms longer than the one before, up to
 * 0.1 s: twenty take a second. */
static void wait_for_a_quiet_cpu(const struct device *device, int attempt) {
  enum { LONGEST = 20 };
  const struct timespec wait = {0, (attempt < LONGEST ? attempt : LONGEST) * 5000000L};
  if (attempt > 0 && device_info(device)->kind == DEVICE_CPU) nanosleep(&wait, NULL);
}

/* Times a launch on changed inputs several times and keeps the shortest time. A kernel that skips work is slow in all
 * of them, a busy machine only in some. If other processes kept more than TIME_LOAD_MOST processors busy, and the
 * median launch on unchanged inputs took more than half as long as on changed ones, the result is NAN: unknown. */
static struct status sample_changed(struct job *job) {
  enum { ATTEMPTS = 20, ATTEMPTS_IF_BUSY = 60 };
  const struct device_info *device = device_info(job->device);
  const double start_s = clock_now_s(), others_s = cgroup_seconds_used("").others;
  double *least_us = &job->record->check.changed_us, changed_us[ATTEMPTS_IF_BUSY], same_us[ATTEMPTS_IF_BUSY],
         load = 0;
  size_t i = 0;
  while (i < (load > TIME_LOAD_MOST ? ATTEMPTS_IF_BUSY : ATTEMPTS)) {
    double unused_mhz;
    changed_us[i] = NAN;
    wait_for_a_quiet_cpu(job->device, (int)i);
    TRY(bench_sample_changed(job->worker->bench, job->estimate_us, &changed_us[i]));
    *least_us = fmin(*least_us, changed_us[i]); /* NAN until something is measured */
    if (!plausible_skips_work(job->record, device)) return status_ok();
    if (device->kind == DEVICE_CPU) TRY(bench_sample(job->worker->bench, TIME_HOT, 1, &same_us[i], &unused_mhz));
    load = (cgroup_seconds_used("").others - others_s) / (clock_now_s() - start_s); /* NAN: not known */
    ++i;
  }
  const bool is_busy = device->kind == DEVICE_CPU && load > TIME_LOAD_MOST;
  if (is_busy && 2 * stats_median(same_us, i) > stats_median(changed_us, i)) *least_us = NAN;
  return status_ok();
}

/* Hot launches whose inputs change. Later rounds do without: the first one has shown it. */
static struct status time_changed(struct job *job) {
  if (job->request->again || !job->request->modes[TIME_HOT]) return status_ok();
  const double start_s = clock_now_s();
  {
    MEASURE_RANGE(job->device, "time.changed");
    TRY(sample_changed(job));
  }
  job->record->check.seconds += clock_now_s() - start_s;
  return check_mode(job, true);
}

/* What growing maxima cost. --quick and later rounds do without. */
static struct status time_growing(const struct job *job) {
  struct record *record = job->record;
  const double cost_us = measure_sample_us(TIME_HOT, job->hot_launches, job->estimate_us);
  if (job->request->again || job->request->quick || !job->request->modes[TIME_HOT]) return status_ok();
  MEASURE_RANGE(job->device, "time.growing");
  return measure_growing(job->worker->bench, &job->request->attn_case.shape, &record->time[TIME_HOT], cost_us,
                         &record->data_dependence_ratio);
}

static struct status time_cell(struct job *job) {
  TRY(prepare_cell(job));
  /* The hot mode brings the clocks up for the cold one; measure_quick says why not there. */
  const enum time_mode first = job->request->quick ? TIME_COLD : TIME_HOT;
  TRY(time_mode(job, first));
  TRY(time_mode(job, first == TIME_HOT ? TIME_COLD : TIME_HOT));
  TRY(time_changed(job));
  TRY(time_growing(job));
  TRY(time_steady(job)); /* last: it leaves the device warm */
  if (job->request->again) return status_ok();
  TRY(compare_cell(job));
  TRY(check_mode(job, false));
  return time_passes(job);
}

static struct status run_cell(struct job *job) {
  char name[VARIANT_SPEC_MAX];
  job->worker->oracle_s = 0; /* of a case that an earlier cell opened */
  TRY(open_case(job->worker, job->request));
  watch(job->worker, job->request->spec.variant);
  snprintf(name, sizeof name, "%s", job->request->spec.text);
  measure_range_name(name);
  MEASURE_RANGE(job->device, name);
  TRY(bind_cell(job->device, job->worker->bench, &job->request->spec, job->record));
  TRY(check_cell(job));
  if (job->record->check.right && !job->request->check_only) {
    TRY(time_cell(job));
    TRY(check_cell(job));
  }
  check_settle(job->record, device_info(job->device));
  return status_ok();
}

static void round_durations(struct record *record) {
  double *const durations[] = {&record->time[TIME_COLD].warmup_s,
                               &record->time[TIME_COLD].elapsed_s,
                               &record->time[TIME_HOT].warmup_s,
                               &record->time[TIME_HOT].elapsed_s,
                               &record->time[TIME_STEADY].warmup_s,
                               &record->time[TIME_STEADY].elapsed_s,
                               &record->check.seconds,
                               &record->gpu_s,
                               &record->wall_s};
  for (size_t i = 0; i < sizeof durations / sizeof *durations; ++i) *durations[i] = clock_whole_s(*durations[i]);
}

/* A spec of another process, in this one. */
static struct status resolve(struct variant_spec *spec) {
  char text[VARIANT_SPEC_MAX];
  memcpy(text, spec->text, sizeof text);
  return text[0] != '\0' ? variant_spec_parse(text, "request", STATUS_INTERNAL, spec) : status_ok();
}

/* False: there is nothing to launch. The cell is for a GPU that is not here, or the record says why not. */
static bool plan_cell(struct worker *worker, const struct cell_request *request, const struct gpu_model *planned,
                      struct record *record) {
  watch(worker, request->spec.variant);
  plan_record(&request->attn_case, &request->spec, planned != NULL ? &planned->info : device_info(worker->device),
              record);
  const bool is_ready =
      planned == NULL && record->status == CELL_planned && !bind_library_missing(&request->spec, record);
  if (worker->is_watched) note_left(record, "when it was opened: ", worker->opened);
  charge(worker, record, "");
  return is_ready;
}

/* Fills the record whatever happens; the status returned is a failure only when the device must not be used again. */
static struct status do_cell(struct worker *worker, struct cell_request *request, struct record *record) {
  struct job job = {.worker = worker, .device = worker->device, .request = request, .record = record};
  const double start_s = clock_now_s();
  TRY(resolve(&request->spec));
  TRY(resolve(&request->reference));
  const struct gpu_model *planned = gpu_model_find(request->plan_gpu);
  if (!plan_cell(worker, request, planned, record)) return status_ok();
  if (strcmp(worker->case_key, request->attn_case.key) != 0) close_case(worker);
  if (predict_oom(&job)) return status_ok();

  const double device_start_s = clock_now_s();
  struct status status = run_cell(&job);
  charge(worker, record, "");
  status = bind_settle(&status, record);
  record->gpu_s = clock_now_s() - device_start_s;
  record->wall_s = clock_now_s() - start_s;
  round_durations(record);
  return status;
}

static struct status serve(struct worker *worker) {
  struct cell_request request;
  struct status status = status_ok();
  while (!status_failed(&status) && receive_request(&request)) {
    if (!worker->in_sweep_range) device_range_push(worker->device, request.sweep_name);
    worker->in_sweep_range = true;
    struct record record = {.status = CELL_error};
    const struct status cell = do_cell(worker, &request, &record);
    status = send_line(record_to_line(&record));
    if (status.code == STATUS_MEMORY) send_failure(&status);
    numbers_drop();
    if (status_failed(&cell)) return cell;
  }
  return status;
}

struct status worker_open_object(const char *object, const char *device_spec) {
  if (callable_spec_is(object)) return callable_add(object, device_spec);
  return manifest_is(object) ? manifest_variant_add(object) : plugin_load(object);
}

/* Writes what their constructors changed. Python functions come last, and what their interpreter changes is no news.
 * device_spec: NULL in a process that only describes them. */
static struct status open_objects(const char *const *objects, size_t object_count, const char *device_spec,
                                  char opened[RECORD_LEFT_MAX]) {
  struct leftovers_state before;
  struct status status = status_ok();
  copy_end_arm();
  leftovers_read(&before);
  for (size_t i = 0; i < object_count && !status_failed(&status); ++i)
    if (!callable_spec_is(objects[i])) status = worker_open_object(objects[i], device_spec);
  copy_end();
  float_mode_strayed(); /* objects built with -ffast-math change it; it is restored, and no thread has it */
  leftovers_tell(&before, opened, RECORD_LEFT_MAX);
  for (size_t i = 0; i < object_count && !status_failed(&status); ++i)
    if (callable_spec_is(objects[i])) status = worker_open_object(objects[i], device_spec);
  float_mode_strayed();
  return status;
}

/* The answer of a process that gives one, and the failure in its place. */
static struct status answer(struct status status, char *line) {
  if (!status_failed(&status)) return send_line(line);
  send_failure(&status);
  return status;
}

static void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

/* A worker must not outlive its parent, nor what a variant forks the worker: a supervisor that is killed ends
 * neither. */
static void begin(void) {
  end_with_parent();
  pthread_atfork(NULL, NULL, end_with_parent);
  pipes = channel_hide();
}

struct status worker_main(const char *device_spec, const char *const *objects, size_t object_count) {
  begin();
  struct worker worker = {0};
  struct status status = open_objects(objects, object_count, device_spec, worker.opened);
  if (!status_failed(&status)) status = device_open(device_spec, &worker.device);
  if (status_failed(&status)) return answer(status, NULL);
  status = send_hello(worker.device);
  if (status.code == STATUS_MEMORY) send_failure(&status);
  if (!status_failed(&status)) status = serve(&worker);
  close_case(&worker);
  if (worker.in_sweep_range) device_range_pop(worker.device);
  device_close(worker.device);
  return status;
}

struct status worker_describe(const char *const *objects, size_t object_count) {
  begin();
  const size_t built_in = variant_count();
  char opened[RECORD_LEFT_MAX];
  const struct status status = open_objects(objects, object_count, NULL, opened);
  return answer(status, status_failed(&status) ? NULL : load_describe(built_in, opened));
}

static struct status measure_self(const char *device_spec, struct selftest_result *out) {
  struct device *device = NULL;
  TRY(device_open(device_spec, &device));
  device_range_push(device, "selftest");
  const struct status status = device_selftest(device, &out->facts);
  device_range_pop(device);
  out->device =
      (struct device_line){.info = *device_info(device), .event_overhead_us = device_event_overhead_us(device)};
  device_close(device);
  return status;
}

struct status worker_selftest(const char *device_spec) {
  begin();
  struct selftest_result result;
  const struct status status = measure_self(device_spec, &result);
  return answer(status, status_failed(&status) ? NULL : fields_to_line(selftest_fields, &result));
}
