/* The worker's loop: read a request, launch, check and time the cell, answer with its record. */
#include "cli/measure/worker.h"
#include "cli/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/units.h"
#include "cli/measure/bind.h"
#include "cli/measure/channel.h"
#include "cli/measure/check.h"
#include "cli/measure/inject.h"
#include "cli/measure/speedup.h"
#include "cli/record/plan.h"
#include "cli/selftest/selftest.h"
#include "cli/sweep/manifest_variant.h"
#include "cli/sweep/variant_json.h"
#include "kernels/gpu_models.h"
#include "kernels/plugin_load.h"

/* What a worker keeps between cells: the open problem serves all variants of one case. */
struct worker {
  struct device *device;
  struct problem *problem;
  char case_key[CASE_KEY_MAX]; /* of the open problem */
  uint64_t seed;
  struct oracle_result oracle;
  double oracle_s;                    /* of the random launch, until a cell's check takes it */
  struct speedup_reference reference; /* bound in the open problem's parked slot */
  bool in_sweep_range, in_case_range;
};

/* ---- pipes --------------------------------------------------------------------------------------------------- */

/* Profilers and loaded objects put signal handlers into a worker, so that its reads and writes may be interrupted. */

static struct status send_line(char *line) {
  if (line == NULL) return status_make(STATUS_MEMORY, "no memory for a reply");
  const size_t length = strlen(line);
  line[length] = '\n'; /* the terminating NUL makes room for it */
  const struct status status = output_write_all(CHANNEL_REPLY_FD, "the pipe to the parent process", line, length + 1);
  free(line);
  return status;
}

/* False at the end of the pipe. */
static bool receive_request(struct cell_request *request) {
  size_t got = 0;
  while (got < sizeof *request) {
    const ssize_t n = read(CHANNEL_REQUEST_FD, (char *)request + got, sizeof *request - got);
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
  return output_write_all(CHANNEL_REPLY_FD, "the pipe to the parent process", line, (size_t)length);
}

static struct status send_hello(struct device *device) {
  struct worker_hello hello = {.device = *device_info(device),
                               .event_overhead_us = device_event_overhead_us(device),
                               .device_count = device_count(device)};
  device_policy_read(device, &hello.policy);
  profiled_tool(hello.profiled);
  return send_line(hello_to_line(&hello));
}

/* ---- the open problem ---------------------------------------------------------------------------------------- */

static void close_case(struct worker *worker) {
  problem_close(worker->problem);
  worker->problem = NULL;
  worker->reference = (struct speedup_reference){0};
  worker->case_key[0] = '\0';
  if (worker->in_case_range) device_range_pop(worker->device);
  worker->in_case_range = false;
}

static struct status open_case(struct worker *worker, const struct cell_request *request) {
  if (worker->problem != NULL && worker->seed == request->seed &&
      strcmp(worker->case_key, request->attn_case.key) == 0) {
    return status_ok();
  }
  close_case(worker);
  device_range_push(worker->device, request->attn_case.key);
  worker->in_case_range = true;
  device_range_push(worker->device, "init");
  struct status status = problem_open(worker->device, &request->attn_case.shape, request->seed, &worker->problem);
  device_range_pop(worker->device);
  if (status_failed(&status)) return status;
  const double start_s = clock_now_s();
  device_range_push(worker->device, "reference");
  status = problem_reference(worker->problem, &worker->oracle);
  device_range_pop(worker->device);
  worker->oracle_s = clock_now_s() - start_s;
  snprintf(worker->case_key, sizeof worker->case_key, "%s", request->attn_case.key);
  worker->seed = request->seed;
  return status;
}

/* ---- one cell ------------------------------------------------------------------------------------------------ */

static bool has_room(const struct worker *worker, uint64_t bytes) {
  return bytes != 0 && bytes <= device_memory_free(worker->device);
}

/* True when the cell cannot fit; the record then says so. Of a case that is open the tensors are there, and where
 * the workspace has no room beside those of the cells before it, the case is opened anew. */
static bool predict_oom(struct worker *worker, const struct attn_shape *shape, struct record *record) {
  const uint64_t workspace_bytes = record->plan.workspace_bytes, need = problem_bytes(shape, workspace_bytes);
  const uint64_t tensors = problem_bytes(shape, 0);
  if (worker->problem != NULL && (workspace_bytes == 0 || (need != 0 && has_room(worker, need - tensors))))
    return false;
  close_case(worker);
  if (has_room(worker, need)) return false;
  const uint64_t free_bytes = device_memory_free(worker->device);
  record->status = CELL_oom_predicted;
  char needed[UNITS_TEXT_MAX], free_text[UNITS_TEXT_MAX];
  units_format_bytes((double)need, needed);
  units_format_bytes((double)free_bytes, free_text);
  snprintf(record->reason, sizeof record->reason,
           "needs %s with its reference and redzones, %s are free; choose smaller shapes", needed, free_text);
  return true;
}

/* On random inputs; before timing, and in the first process that measures the cell, on hard ones too. */
static struct status check_cell(struct worker *worker, const struct cell_request *request, struct record *record) {
  const struct attn_shape *shape = &request->attn_case.shape;
  const bool hard = !record->check.done && !request->again;
  if (!record->check.done) record->check.seconds = worker->oracle_s;
  worker->oracle_s = 0; /* the first variant of a case pays for its oracle */
  device_range_push(worker->device, "check");
  struct status status = check_output(worker->problem, shape, &record->check);
  if (!status_failed(&status) && hard) status = check_hard(worker->problem, shape, &record->check);
  device_range_pop(worker->device);
  record->check.oracle = worker->oracle;
  return status;
}

/* What the samples of one mode left. */
static struct status check_mode(struct worker *worker, const struct cell_request *request, bool whole,
                                struct record *record) {
  device_range_push(worker->device, "check.timed");
  const struct status status = check_timed(worker->problem, &request->attn_case.shape, whole, &record->check);
  device_range_pop(worker->device);
  return status;
}

/* Fills record->speedup: measured, or why not. */
static struct status compare_cell(struct worker *worker, const struct cell_request *request, uint32_t hot_launches,
                                  double estimate_us, struct record *record) {
  struct speedup_record *speedup = &record->speedup;
  struct status status = status_ok();
  snprintf(speedup->reference, sizeof speedup->reference, "%s", request->reference);
  if (speedup->reference[0] == '\0') return speedup_none(speedup, "no reference was chosen");
  if (strcmp(speedup->reference, record->variant) == 0) return speedup_none(speedup, "the row is the reference");
  TRY(send_line(strdup(WORKER_AT_REFERENCE)));
  if (!worker->reference.tried) {
    device_range_push(worker->device, "reference.bind");
    status =
        speedup_prepare(worker->device, worker->problem, &request->attn_case, request->reference, &worker->reference);
    device_range_pop(worker->device);
  }
  if (status_failed(&status)) return status;
  if (worker->reference.problem[0] != '\0') return speedup_none(speedup, worker->reference.problem);
  device_range_push(worker->device, "time.speedup");
  status = speedup_measure(worker->device, worker->problem, &worker->reference, hot_launches, estimate_us,
                           request->modes, record->time, speedup);
  device_range_pop(worker->device);
  return status;
}

static struct status time_passes(struct worker *worker, double estimate_us, struct record *record) {
  double pass_us[ATTN_PASSES_MAX];
  device_range_push(worker->device, "time.passes");
  const struct status status = measure_passes(worker->problem, record->plan.pass_count, estimate_us, pass_us);
  device_range_pop(worker->device);
  for (uint32_t i = 0; i < record->plan.pass_count && !status_failed(&status); ++i) {
    record->pass[i].cold_us = pass_us[i];
  }
  return status;
}

/* Ready for timing, with the slowdown that was asked for. */
static struct status prepare_cell(struct worker *worker, const struct cell_request *request, struct record *record,
                                  uint32_t *hot_launches, double *estimate_us) {
  struct status status = problem_time_prepare(worker->problem, hot_launches, estimate_us);
  if (status_failed(&status) || !(request->inject_percent > 0)) return status;
  device_range_push(worker->device, "inject");
  status = inject_calibrate(worker->device, worker->problem, request->modes, request->inject_percent, *estimate_us,
                            &record->injected);
  device_range_pop(worker->device);
  return status_failed(&status) ? status : problem_time_prepare(worker->problem, hot_launches, estimate_us);
}

/* The shortest of several attempts: a kernel that skips work fails all of them, a busy machine only some. */
static struct status sample_changed(struct worker *worker, double estimate_us, struct record *record,
                                    double *changed_us) {
  enum { attempts = 20 };
  for (int i = 0; i < attempts; ++i) {
    double us = NAN;
    TRY(problem_sample_changed(worker->problem, estimate_us, &us));
    *changed_us = fmin(*changed_us, us); /* NAN until something is measured */
    record->check.changed_us = *changed_us;
    if (!check_skips_work(record, device_info(worker->device), *changed_us)) break;
  }
  return status_ok();
}

/* Hot launches whose inputs change. Later rounds do without: the first one has shown it. */
static struct status time_changed(struct worker *worker, const struct cell_request *request, double estimate_us,
                                  double *changed_us, struct record *record) {
  if (request->again || !request->modes[TIME_HOT]) return status_ok();
  const double start_s = clock_now_s();
  device_range_push(worker->device, "time.changed");
  const struct status status = sample_changed(worker, estimate_us, record, changed_us);
  device_range_pop(worker->device);
  record->check.seconds += clock_now_s() - start_s;
  return status_failed(&status) ? status : check_mode(worker, request, true, record);
}

static struct status time_cell(struct worker *worker, const struct cell_request *request,
                               const struct variant_spec *spec, double *changed_us, struct record *record) {
  uint32_t hot_launches = 1;
  double estimate_us = 0;
  const enum device_kind kind = device_info(worker->device)->kind;
  struct measure_settings settings = request->quick ? measure_quick(kind) : measure_defaults(kind);
  settings.keeps_samples = request->samples;
  struct status status = prepare_cell(worker, request, record, &hot_launches, &estimate_us);
  const enum time_mode order[] = {TIME_HOT, TIME_COLD}; /* hot first: it brings the clocks up */
  for (size_t i = 0; i < sizeof order / sizeof *order && !status_failed(&status); ++i) {
    if (!request->modes[order[i]]) continue;
    status = measure_mode(worker->device, worker->problem, order[i], &settings, hot_launches, estimate_us,
                          &record->time[order[i]]);
    if (!status_failed(&status)) status = check_mode(worker, request, true, record);
  }
  if (!status_failed(&status)) status = time_changed(worker, request, estimate_us, changed_us, record);
  if (request->again) return status;
  if (!status_failed(&status)) status = compare_cell(worker, request, hot_launches, estimate_us, record);
  if (!status_failed(&status)) status = check_mode(worker, request, false, record);
  const bool has_passes = record->plan.pass_count > 1 && spec->variant->vendor == NULL;
  return status_failed(&status) || !has_passes ? status : time_passes(worker, estimate_us, record);
}

static struct status run_cell(struct worker *worker, const struct cell_request *request,
                              const struct variant_spec *spec, struct record *record) {
  double changed_us = NAN;
  struct status status = bind_cell(worker->device, worker->problem, spec, record);
  if (!status_failed(&status)) status = check_cell(worker, request, record);
  if (!status_failed(&status) && record->check.right && !request->check_only) {
    status = time_cell(worker, request, spec, &changed_us, record);
    if (!status_failed(&status)) status = check_cell(worker, request, record);
  }
  if (status_failed(&status)) return status;
  check_settle(record, device_info(worker->device), changed_us);
  return status;
}

static void round_durations(struct record *record) {
  double *const durations[] = {&record->time[TIME_COLD].warmup_s,
                               &record->time[TIME_COLD].elapsed_s,
                               &record->time[TIME_HOT].warmup_s,
                               &record->time[TIME_HOT].elapsed_s,
                               &record->check.seconds,
                               &record->gpu_s,
                               &record->wall_s};
  for (size_t i = 0; i < sizeof durations / sizeof *durations; ++i) *durations[i] = clock_whole_s(*durations[i]);
}

/* Fills the record whatever happens; the status returned is a failure only when the device must not be used again. */
static struct status do_cell(struct worker *worker, const struct cell_request *request, struct record *record) {
  struct variant_spec spec;
  char name[VARIANT_SPEC_MAX];
  const double start_s = clock_now_s();
  TRY(variant_spec_parse(request->variant, "request", STATUS_INTERNAL, &spec));
  const struct gpu_model *planned = gpu_model_find(request->plan_gpu);
  plan_record(&request->attn_case, &spec, planned != NULL ? &planned->info : device_info(worker->device), record);
  if (planned != NULL) return status_ok();
  if (record->status != CELL_planned) return status_ok(); /* skipped, or a plan that cannot be launched */
  if (bind_library_missing(&spec, record)) return status_ok();
  if (strcmp(worker->case_key, request->attn_case.key) != 0) close_case(worker);
  if (predict_oom(worker, &request->attn_case.shape, record)) return status_ok();

  const double device_start_s = clock_now_s();
  struct status status = open_case(worker, request);
  if (!status_failed(&status)) {
    snprintf(name, sizeof name, "%s", spec.text);
    measure_range_name(name);
    device_range_push(worker->device, name);
    status = run_cell(worker, request, &spec, record);
    device_range_pop(worker->device);
  }
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

static struct status open_objects(const char *const *objects, size_t object_count) {
  for (size_t i = 0; i < object_count; ++i)
    TRY(manifest_is(objects[i]) ? manifest_variant_add(objects[i]) : plugin_load(objects[i]));
  return status_ok();
}

struct status worker_main(const char *device_spec, const char *const *objects, size_t object_count) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a worker must not outlive its parent */
  struct worker worker = {0};
  struct status status = open_objects(objects, object_count);
  if (!status_failed(&status)) status = device_open(device_spec, &worker.device);
  if (status_failed(&status)) {
    send_failure(&status);
    return status;
  }
  status = send_hello(worker.device);
  if (status.code == STATUS_MEMORY) send_failure(&status);
  if (!status_failed(&status)) status = serve(&worker);
  close_case(&worker);
  if (worker.in_sweep_range) device_range_pop(worker.device);
  device_close(worker.device);
  return status;
}

/* ---- describing objects -------------------------------------------------------------------------------------- */

/* False when out of memory. A key that is missing for that reason is refused where the line is read. */
static bool describe_variant(cJSON *object, const struct attn_variant *variant) {
  json_add_string(object, "name", variant->name);
  json_add_string(object, "summary", variant->summary);
  json_add_string(object, "limits", variant->limits);
  json_add_uint(object, "runs_on", variant->runs_on);
  json_add_uint(object, "math", variant->math);
  json_add_uint(object, "writes_lse", variant->writes_lse);
  return variant_json_add_tunables(object, variant);
}

struct status worker_describe(const char *const *objects, size_t object_count) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const size_t built_in = variant_count();
  struct status status = open_objects(objects, object_count);
  if (status_failed(&status)) {
    send_failure(&status);
    return status;
  }
  cJSON *root = cJSON_CreateObject(), *variants = cJSON_AddArrayToObject(root, "variants");
  bool ok = variants != NULL;
  for (size_t i = built_in; i < variant_count() && ok; ++i) {
    ok = describe_variant(json_add_element(variants), variant_at(i));
  }
  return send_line(json_text(root, ok, false));
}

/* ---- the timer's self-test ----------------------------------------------------------------------------------- */

static struct status measure_self(const char *device_spec, struct selftest_result *out) {
  struct device *device = NULL;
  TRY(device_open(device_spec, &device));
  device_range_push(device, "selftest");
  struct status status = device_selftest(device, &out->facts);
  device_range_pop(device);
  out->device =
      (struct device_line){.info = *device_info(device), .event_overhead_us = device_event_overhead_us(device)};
  device_close(device);
  return status;
}

struct status worker_selftest(const char *device_spec) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct selftest_result result;
  struct status status = measure_self(device_spec, &result);
  if (!status_failed(&status)) return send_line(selftest_to_line(&result));
  send_failure(&status);
  return status;
}
