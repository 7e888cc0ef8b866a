/* The worker process: owns the device, does one cell after another. The parent writes struct cell_request to the
 * request pipe (both are the same binary, so the struct's bytes are the message) and reads one line per answer from
 * the reply pipe: first its greeting (hello_to_line), then one record per request (record_to_line). A worker
 * that answered a cell with a device failure, or with a failure of its own, exits; end of file on the request pipe
 * ends it normally. */
#ifndef ATTNBENCH_CLI_MEASURE_WORKER_H
#define ATTNBENCH_CLI_MEASURE_WORKER_H

#include "cli/base/json.h"
#include "cli/base/profiled.h"
#include "cli/measure/measure.h"
#include "cli/record/record.h"

struct cell_request {
  struct attn_case attn_case;
  char variant[VARIANT_SPEC_MAX];
  char sweep_name[SWEEP_NAME_MAX + 1]; /* for the outermost NVTX range */
  uint64_t seed;
  bool check_only;                  /* no timing */
  bool modes[TIME_MODE_COUNT];      /* which are timed */
  bool quick;                       /* with measure_quick's budget */
  bool samples;                     /* every sample of a mode is in the answer */
  bool again;                       /* a later round: the modes alone, no reference and no passes */
  char plan_gpu[24];                /* not empty: only plan, for this known GPU; the parent runs no loaded code */
  char reference[VARIANT_SPEC_MAX]; /* what every row is timed against; empty: nothing */
  double inject_percent;            /* slowdown to put in, percent; 0: none */
};

/* A worker's first line: the device, and what sits in its process. */
struct worker_hello {
  struct device_info device;
  struct device_policy policy;
  double event_overhead_us;
  uint32_t device_count;            /* devices of its kind that a worker here could open */
  char profiled[PROFILED_TEXT_MAX]; /* a tool inside the worker, "" for none */
};
/* One JSON object without newline, malloc'ed, caller frees; NULL without memory. */
char *hello_to_line(const struct worker_hello *);
struct status hello_from_line(const char *line, size_t length, struct worker_hello *out);
/* The failure that a first line reports instead, {"failed": {"code": status code, "text": ...}}; else success. */
struct status hello_failure(const cJSON *line);

/* What a worker says before it runs the reference beside a cell: whatever it says next, or fails to, may be the
 * reference's doing. */
#define WORKER_AT_REFERENCE "{\"at\":\"reference\"}"
/* What a line begins with that is a failure (hello_failure): the first one, or the last in place of a record. */
#define WORKER_FAILED "{\"failed\":"

/* Runs until the request pipe ends. device_spec as for device_open; objects are opened first (plugin_load). When an
 * object or the device cannot be opened, the first line reports that (hello_failure) and the failure is returned. */
struct status worker_main(const char *device_spec, const char *const *objects, size_t object_count);

/* Opens the objects, answers one line that says what was loaded, or what failed as above, and is done. The line is
 * {"variants": [{"name", "summary", "limits", "runs_on", "math",
 *                "tunables": [{"name", "min", "max", "default", "help"}]}]}, enumerators as numbers. */
struct status worker_describe(const char *const *objects, size_t object_count);

/* Opens the device, runs its self-test, answers one line (selftest_to_line), or what failed as above, and is done. */
struct status worker_selftest(const char *device_spec);

#endif
