/* The worker process: it owns the device and measures one cell after another. The parent writes struct cell_request
 * to the request pipe; both are the same binary, so the bytes of the struct are the message. The worker replies with
 * lines of text: first struct worker_hello (hello_fields), then one record per request (record_to_line). It exits
 * when the request pipe is closed, or after a line that reports a failure of the device or of the worker itself. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/child.h"
#include "cli/measure/measure.h"
#include "cli/record/run_info.h"

struct cell_request {
  struct attn_case attn_case;
  struct variant_spec spec;            /* the worker parses its text again, and that of `reference` */
  char sweep_name[SWEEP_NAME_MAX + 1]; /* for the outermost NVTX range */
  uint64_t seed;
  bool check_only;               /* no timing */
  bool modes[TIME_MODE_COUNT];   /* which are timed */
  bool quick;                    /* with measure_quick's budget */
  bool samples;                  /* the record contains every sample */
  bool again;                    /* a later round: times the modes only, neither the reference nor single passes */
  char plan_gpu[24];             /* not empty: make only the plan for this known GPU (gpu_models.h) */
  struct variant_spec reference; /* the variant that the cell is timed against; none when its text is empty */
  double inject_percent;         /* slowdown to inject, in percent; 0: none */
};

/* The first line of a worker: its device, and any profiler or debugger in its process. */
struct worker_hello {
  struct device_line device;
  uint32_t device_count;            /* how many devices of this kind a worker could open */
  char profiled[PROFILED_TEXT_MAX]; /* the profiler, sanitizer or debugger in the worker; "": none */
};
extern const struct field hello_fields[];
/* The failure that a line reports as {"failed": {"code": status code, "text": ...}}; success for any other line. */
struct status hello_failure(const cJSON *line);

/* The line that a worker writes before it runs the reference beside a cell. If the worker fails afterwards, the
 * reference may be the cause. */
#define WORKER_AT_REFERENCE "{\"at\":\"reference\"}"
/* The beginning of a line that reports a failure (hello_failure). Such a line stands in place of struct worker_hello
 * or of a record. */
#define WORKER_FAILED "{\"failed\":"

/* Opens what --load names in this process: a shared object, a kernel's manifest or a Python function, and adds its
 * variants. device_spec is as for device_open; NULL: they are described and not run. */
struct status worker_open_object(const char *object, const char *device_spec);

/* Runs until the request pipe is closed. device_spec is as for device_open. Opens the objects first (plugin_load).
 * When an object or the device cannot be opened, the first line reports that (hello_failure) and the failure is
 * returned. */
struct status worker_main(const char *device_spec, const char *const *objects, size_t object_count);

/* Opens the objects and writes one line that describes their variants (load_describe), or the failure as above. */
struct status worker_describe(const char *const *objects, size_t object_count);

/* Opens the device, runs its self-test and writes one line (selftest_fields), or the failure as above. */
struct status worker_selftest(const char *device_spec);

/* Python functions as variants (callable_spec.h): a worker opens libpython, and the function becomes a library that
 * launches its own kernels (struct attn_vendor), on a GPU through PyTorch, on a CPU through NumPy. For worker
 * processes only: opening runs the user's code. */

/* Imports the function and adds its variant to the registry until the process ends. STATUS_USAGE says what is wrong
 * with the text, the interpreter or the module, in the words of Python's exception. The interpreter is that of
 * ATTN_PYTHON, else python3; device_spec is as for device_open, NULL in a process that only describes. */
struct status callable_add(const char *text, const char *device_spec);

/* Whether callable_add made this variant. */
bool callable_is(const struct attn_variant *);

/* Variants from shared objects (--load) in the parent process. The parent never opens an object. A child process
 * opens it (supervise_load) and describes its variants, and the parent adds stand-ins to the registry: variants with
 * names, texts and tunables but without hooks. Only workers call hooks, so that a crash in an object costs only its
 * own cells. */

/* Adds a stand-in for every variant of every object to the registry, where it remains. STATUS_USAGE names the object,
 * what is wrong with it and what to do. Call before anything reads variant names. */
struct status load_stand_ins(const char *const *paths, size_t count);
/* What --load was given for a variant of load_stand_ins; NULL for one that is built in. */
const char *load_origin(const struct attn_variant *);

/* Describes the variants of the registry from index `first` on as one line of JSON, in which enumerators are numbers;
 * for the process that opened their objects. `left` is what their constructors changed (leftovers_tell). The caller
 * frees the text; NULL without memory. */
char *load_describe(size_t first, const char *left);

/* What the code of a loaded object may leave in its worker: threads, child processes, timers, descriptors, what it
 * shared with other processes, and settings that the next cell would inherit. A worker reads this state before a cell
 * and compares it afterwards. */

enum { LEFTOVERS_LISTED_MAX = 1024, LEFTOVERS_SETTINGS_MAX = 16, LEFTOVERS_NO_NICE = 1000 };

struct leftovers_list {
  size_t count;
  struct {
    uint64_t id, what; /* `what` differs when the same id means something else */
  } item[LEFTOVERS_LISTED_MAX];
};

struct leftovers_state {
  struct leftovers_list threads, descriptors;
  struct leftovers_list shared; /* files in /dev/shm, System V objects, keys: they outlive their process */
  struct offspring children;
  size_t timers;
  uint64_t setting[LEFTOVERS_SETTINGS_MAX]; /* one hash for each kind of setting */
  int session_nice; /* of the session's processes together (sched(7), autogroup); LEFTOVERS_NO_NICE: not known */
  struct sigaction handler[NSIG]; /* of each signal, by its number */
};

/* Reads the state of this process. It becomes the parent of every descendant whose own parent ends, and gets the
 * default floating-point mode back. */
void leftovers_read(struct leftovers_state *out);

/* Compares the state of now with `before`. Writes what changed, "left 4 threads running; changed the umask", or "".
 * Reaps children that have ended, which count as left. */
void leftovers_tell(const struct leftovers_state *before, char *out, size_t size);

/* Sets the handlers of SIGINT and SIGTERM as they were in `before`; leftovers_tell, if called later, does not report
 * them. */
void leftovers_restore_interrupts(const struct leftovers_state *before);
