/* Opens an interpreter in this process and calls the user's functions; callable.py is the other side. */
#include "cli/measure/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sweep/callable_spec.h"

/* callable.py and interpreter.py, as the Makefile turns them into numbers. */
static const char glue[] = {
#include "callable.py.inc"
    0};
static const char question[] = {
#include "interpreter.py.inc"
    0};

enum step { LOAD, BIND, LAUNCH, COLLECT, CLOSE };
enum answer { DONE, REFUSED, FAILED, NO_MEMORY };
enum { TEXT_MAX = 512 }; /* of an answer */

struct slot {
  struct attn_variant variant;
  struct attn_vendor vendor;
  struct callable_spec spec;
  char summary[ATTN_PLUGIN_TEXT_MAX + 1];
  bool has_causal, has_is_causal;
};

static struct slot slots[ATTN_PLUGINS_MAX];
static size_t slot_count;
static int ordinal;           /* of the GPU */
static char library_text[24]; /* what runs the functions, "PyTorch 2.11.0": the name of their launches */
static int (*answer)(int step, uint64_t key, const char *text, char *out);

/* ---- the interpreter ----------------------------------------------------------------------------------------- */

/* What interpreter.py prints. */
struct interpreter {
  char *text;                         /* malloc'ed; the others point into it */
  const char *library, *home, *about; /* about: JSON, for connect() in callable.py */
};

static const char *interpreter_name(void) {
  const char *name = getenv("ATTN_PYTHON");
  return name != NULL && name[0] != '\0' ? name : "python3";
}

static void run_question(int reply_fd) {
  char *const argv[] = {(char *)interpreter_name(), "-c", (char *)question, NULL};
  if (dup2(reply_fd, STDOUT_FILENO) >= 0) execvp(argv[0], argv);
  _exit(EXIT_CODE_INTERNAL);
}

static char *read_all(int fd) {
  FILE *stream = fdopen(fd, "r");
  char *text = NULL;
  size_t size = 0;
  if (stream == NULL) return (close(fd), NULL);
  if (getdelim(&text, &size, '\0', stream) < 0) {
    free(text);
    text = NULL;
  }
  fclose(stream);
  return text;
}

static void interpreter_free(struct interpreter *interpreter) { free(interpreter->text); }

static struct status ask_interpreter(struct interpreter *out) {
  int fds[2];
  if (pipe(fds) != 0) return status_make(STATUS_INTERNAL, "a pipe for %s: %s", interpreter_name(), strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) run_question(fds[1]);
  close(fds[1]);
  out->text = read_all(fds[0]);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  char *rest = out->text, *line[3] = {NULL};
  for (size_t i = 0; i < sizeof line / sizeof *line; ++i) line[i] = strsep(&rest, "\n");
  out->library = line[0];
  out->home = line[1];
  out->about = line[2];
  if (out->about != NULL) return status_ok();
  return status_make(STATUS_USAGE, "%s does not run; ATTN_PYTHON names an interpreter of Python 3.6 or newer",
                     interpreter_name());
}

/* Its functions of the stable ABI. */
struct python {
  void (*initialize)(int handles_signals);
  int (*run)(const char *source);
  void *(*compile)(const char *source, const char *file, int start);
  void *(*add_module)(const char *name);
  void *(*dict_of)(void *module);
  void *(*evaluate)(void *code, void *globals, void *locals);
  void *(*release)(void);
};

static struct status find_python(const char *library, struct python *out) {
  void *object = dlopen(library, RTLD_NOW | RTLD_GLOBAL); /* global: modules in C look for its names */
  if (object == NULL)
    return status_make(STATUS_USAGE,
                       "%s has no shared library that can be opened: %s; install libpython3 for it, or name another "
                       "interpreter with ATTN_PYTHON",
                       interpreter_name(), dlerror());
  const struct {
    const char *name;
    void *function;
  } wanted[] = {{"Py_InitializeEx", &out->initialize}, {"PyRun_SimpleString", &out->run},
                {"Py_CompileString", &out->compile},   {"PyImport_AddModule", &out->add_module},
                {"PyModule_GetDict", &out->dict_of},   {"PyEval_EvalCode", &out->evaluate},
                {"PyEval_SaveThread", &out->release}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    void *const symbol = dlsym(object, wanted[i].name);
    if (symbol == NULL) return status_make(STATUS_USAGE, "%s has no %s", library, wanted[i].name);
    memcpy(wanted[i].function, &symbol, sizeof symbol);
  }
  return status_ok();
}

/* Runs callable.py under the name that explain() leaves out of the places of exceptions. */
static bool run_glue(const struct python *python) {
  const int of_a_file = 257; /* Py_file_input */
  void *const code = python->compile(glue, "<attnbench>", of_a_file);
  void *const globals = python->dict_of(python->add_module("__main__"));
  return code != NULL && python->evaluate(code, globals, globals) != NULL;
}

/* The text as a literal of Python: JSON within JSON. */
static struct status connect(const struct python *python, const struct interpreter *interpreter) {
  cJSON *const about = json_new_string(interpreter->about);
  OWNED(owned_free) char *literal = about != NULL ? cJSON_PrintUnformatted(about) : NULL;
  OWNED(owned_free) char *call = NULL;
  cJSON_Delete(about);
  if (literal == NULL || asprintf(&call, "connect(%llu, %s)", (unsigned long long)(uintptr_t)&answer, literal) < 0)
    return status_make(STATUS_MEMORY, "no memory to start Python");
  if (run_glue(python) && python->run(call) == 0 && answer != NULL) return status_ok();
  return status_make(STATUS_USAGE, "%s does not start inside of attnbench; it needs Python 3.6 or newer with ctypes",
                     interpreter_name());
}

/* Python takes the encoding of paths and files from the thread's locale, which is C here (decimal.c). python3 itself
 * has UTF-8 even then; numbers are written as before. */
static void use_utf8(void) {
  const locale_t mine = duplocale(uselocale((locale_t)0));
  const locale_t utf8 = mine != (locale_t)0 ? newlocale(LC_CTYPE_MASK, "C.UTF-8", mine) : (locale_t)0;
  if (utf8 != (locale_t)0) {
    uselocale(utf8); /* as long as the process lives */
  } else if (mine != (locale_t)0) {
    freelocale(mine);
  }
}

/* Once in a process. The lock of the interpreter is let go, so that threads of the user's code go on meanwhile;
 * ctypes takes it for each call. */
static struct status start_python(void) {
  OWNED(interpreter_free) struct interpreter interpreter = {.text = NULL};
  struct python python;
  if (answer != NULL) return status_ok();
  TRY(ask_interpreter(&interpreter));
  TRY(find_python(interpreter.library, &python));
  const char *before = getenv("PYTHONHOME");
  if (before == NULL) setenv("PYTHONHOME", interpreter.home, 1);
  use_utf8();
  python.initialize(0);
  if (before == NULL) unsetenv("PYTHONHOME"); /* programs that the user's code starts find their own */
  TRY(connect(&python, &interpreter));
  python.release();
  return status_ok();
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

struct call {
  const struct slot *slot;
  struct attn_problem problem;
  void *stream;
};

static struct status ask(const struct slot *slot, enum step step, uint64_t key, const char *text, char *out) {
  switch ((enum answer)answer((int)step, key, text, out)) {
    case DONE: return status_ok();
    case REFUSED: return status_make(STATUS_UNSUPPORTED, "%s: %s", slot->spec.function, out);
    case NO_MEMORY: return status_make(STATUS_MEMORY, "%s: %s", slot->spec.function, out);
    case FAILED: break;
  }
  return status_make(STATUS_DEVICE, "%s: %s", slot->spec.function, out);
}

static struct status ask_call(void *state, enum step step) {
  char out[TEXT_MAX] = "";
  return ask(((const struct call *)state)->slot, step, (uint64_t)(uintptr_t)state, NULL, out);
}

static void add_numbers(cJSON *object, const char *key, const double *values, size_t count) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < count; ++i) json_append(array, json_new_number(values[i]));
  json_add_item(object, key, array);
}

static cJSON *describe_tensor(const struct attn_tensor *tensor, const void *at) {
  const struct attn_view *v = &tensor->view;
  cJSON *out = cJSON_CreateObject();
  json_add_uint(out, "at", (uintptr_t)at);
  add_numbers(out, "shape", (double[]){v->batch, v->heads, v->tokens, v->columns}, 4);
  add_numbers(out, "strides", (double[]){(double)v->batch_stride, (double)v->head_stride, (double)v->token_stride, 1},
              4);
  json_add_string(out, "dtype", tensor->is_whole ? "i32" : attn_dtype_name(tensor->dtype));
  return out;
}

static cJSON *describe_call(const struct call *call, const struct attn_buffers *buffers) {
  const struct attn_problem *p = &call->problem;
  const bool is_window = !attn_is_causal(p) && (p->left >= 0 || p->right >= 0);
  const char *scales = axes_at(AXIS_scales)->names[p->scales];
  cJSON *out = cJSON_CreateObject(), *tensors = cJSON_CreateObject();
  json_add_number(out, "slot", (double)(call->slot - slots));
  json_add_uint(out, "stream", (uintptr_t)call->stream);
  json_add_number(out, "ordinal", ordinal);
  json_add_number(out, "D", p->D);
  json_add_bool(out, "causal", attn_is_causal(p));
  if (is_window) add_numbers(out, "window", (double[]){p->left, p->right}, 2);
  json_add_number(out, "softcap", (double)p->softcap);
  json_add_bool(out, "lse", p->lse);
  json_add_bool(out, "ragged", attn_is_ragged(p));
  json_add_bool(out, "paged", attn_is_paged(p));
  json_add_string(out, "scales", scales);
  json_add_number(out, "block_size", p->sparse.block);
  json_add_number(out, "max_seqlen_q", p->Sq);
  json_add_number(out, "max_seqlen_k", p->Skv);
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (attn_tensor_of(p, (enum attn_role)role, &tensor))
      json_add_item(tensors, attn_role_name((enum attn_role)role), describe_tensor(&tensor, buffers->tensor[role]));
  }
  json_add_item(out, "tensors", tensors);
  return out;
}

static struct status open_call(const struct slot *slot, const struct attn_problem *problem, void *stream,
                               void **state) {
  struct call *call = calloc(1, sizeof *call);
  if (call == NULL) return status_make(STATUS_MEMORY, "no host memory for a call");
  *call = (struct call){.slot = slot, .problem = *problem, .stream = stream};
  *state = call;
  return status_ok();
}

static struct status attach(void *state, const struct attn_buffers *buffers) {
  cJSON *const described = describe_call(state, buffers);
  OWNED(owned_free) char *text = cJSON_PrintUnformatted(described);
  cJSON_Delete(described);
  char said[TEXT_MAX] = "";
  if (text == NULL) return status_make(STATUS_MEMORY, "no host memory for a call");
  TRY(ask(((const struct call *)state)->slot, BIND, (uint64_t)(uintptr_t)state, text, said));
  snprintf(library_text, sizeof library_text, "%s", said);
  return status_ok();
}

static struct status enqueue(void *state) { return ask_call(state, LAUNCH); }
static struct status collect(void *state) { return ask_call(state, COLLECT); }

static void close_call(void *state) {
  ask_call(state, CLOSE);
  free(state);
}

static const char *missing(void) { return NULL; }
static const char *library(void) { return library_text; }

/* ---- variants ------------------------------------------------------------------------------------------------ */

static const char *slot_supports(const struct slot *slot, const struct attn_problem *problem) {
  if (!attn_is_causal(problem) || slot->has_causal) return NULL;
  return slot->has_is_causal
             ? "causal must be false: the function has no parameter causal; attnbench passes causal by "
               "that name, so rename is_causal"
             : "causal must be false: the function has no parameter causal";
}

static void plan(const struct attn_problem *problem, const struct attn_tuning *tuning,
                 const struct device_info *device, struct attn_plan *out) {
  (void)problem, (void)tuning, (void)device, (void)out; /* what it launches is its own affair */
}

#define SLOT_HOOKS(i)                                                                                   \
  static const char *supports_##i(const struct attn_problem *problem, const struct attn_tuning *tuning, \
                                  const struct device_info *device) {                                   \
    (void)tuning, (void)device;                                                                         \
    return slot_supports(&slots[i], problem);                                                           \
  }                                                                                                     \
  static struct status open_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,   \
                                const struct device_info *device, void *stream, void **state,           \
                                uint64_t *workspace_bytes) {                                            \
    (void)tuning, (void)device, (void)workspace_bytes;                                                  \
    return open_call(&slots[i], problem, stream, state);                                                \
  }
#define SLOT_ROW(i) {.supports = supports_##i, .open = open_##i},
#define SLOTS(X)    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

SLOTS(SLOT_HOOKS)

static const struct {
  const char *(*supports)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *);
  struct status (*open)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *, void *,
                        void **, uint64_t *);
} hooks[] = {SLOTS(SLOT_ROW)};
_Static_assert(sizeof hooks / sizeof *hooks == ATTN_PLUGINS_MAX, "a slot for every --load");

static bool has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = words; (at = strstr(at, word)) != NULL; ++at) {
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

static unsigned takes_of(const char *options) {
  static const struct {
    const char *option;
    unsigned takes;
  } rows[] = {{"lse", ATTN_TAKES_LSE},
              {"window", ATTN_TAKES_WINDOW},
              {"softcap", ATTN_TAKES_SOFTCAP},
              {"sink", ATTN_TAKES_SINK},
              {"k_scale", ATTN_TAKES_SCALES | ATTN_TAKES_KV_DTYPE},
              {"cu_seqlens_q cu_seqlens_k", ATTN_TAKES_BATCH},
              {"page_table", ATTN_TAKES_PAGE},
              {"block_counts block_indices", ATTN_TAKES_SPARSE}};
  unsigned takes = ATTN_TAKES_DV | ATTN_TAKES_LAYOUT | ATTN_TAKES_V_IN_K; /* the tensors say it */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    takes |= has_word(options, rows[i].option) ? rows[i].takes : 0;
  return takes;
}

static void describe_slot(struct slot *slot, size_t index, const char *text, const char *device_spec,
                          const char *options) {
  const bool on_cpu = device_spec != NULL && strcmp(device_spec, "cpu") == 0;
  snprintf(slot->summary, sizeof slot->summary, "Python function %.200s", text);
  slot->has_causal = has_word(options, "causal");
  slot->has_is_causal = has_word(options, "is_causal");
  slot->vendor = (struct attn_vendor){.missing = missing,
                                      .library = library,
                                      .open = hooks[index].open,
                                      .attach = attach,
                                      .enqueue = enqueue,
                                      .close = close_call,
                                      .collect = collect};
  slot->variant = (struct attn_variant){.name = slot->spec.name,
                                        .summary = slot->summary,
                                        .runs_on = on_cpu ? DEVICE_CPU : DEVICE_CUDA,
                                        .runs_anywhere = true,
                                        .math = on_cpu ? ATTN_MATH_FP32_HOST : ATTN_MATH_FP32_OR_TENSOR,
                                        .takes = takes_of(options),
                                        .dtypes = has_word(options, "k_scale") ? ATTN_DTYPES_ALL : 0,
                                        .supports = hooks[index].supports,
                                        .plan = plan,
                                        .vendor = &slot->vendor};
}

static struct status import_function(struct slot *slot, size_t index, char options[TEXT_MAX]) {
  cJSON *const wanted = cJSON_CreateObject();
  json_add_string(wanted, "module", slot->spec.module);
  json_add_string(wanted, "function", slot->spec.function);
  OWNED(owned_free) char *text = cJSON_PrintUnformatted(wanted);
  cJSON_Delete(wanted);
  if (text == NULL) return status_make(STATUS_MEMORY, "no memory to import %s", slot->spec.module);
  return ask(slot, LOAD, index, text, options);
}

bool callable_is(const struct attn_variant *variant) {
  for (size_t i = 0; i < slot_count; ++i) {
    if (&slots[i].variant == variant) return true;
  }
  return false;
}

struct status callable_add(const char *text, const char *device_spec) {
  struct slot *slot = &slots[slot_count];
  char options[TEXT_MAX] = "";
  if (slot_count == ATTN_PLUGINS_MAX) return status_make(STATUS_USAGE, "--load %s: one function too many", text);
  TRY(callable_spec_parse(text, &slot->spec));
  if (device_spec != NULL && strncmp(device_spec, "cuda:", 5) == 0) ordinal = (int)strtol(device_spec + 5, NULL, 10);
  struct status status = start_python();
  if (!status_failed(&status)) status = import_function(slot, slot_count, options);
  if (status_failed(&status)) return status_make(STATUS_USAGE, "--load %s: %s", text, status.text);
  describe_slot(slot, slot_count, text, device_spec, options);
  if (!variant_add(&slot->variant))
    return status_make(STATUS_USAGE,
                       "--load %s: there is a variant %s already; give this one another name: --load NAME=%s:%s",
                       text, slot->spec.name, slot->spec.module, slot->spec.function);
  ++slot_count;
  return status_ok();
}
