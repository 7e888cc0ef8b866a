/* Loads users' shared objects in a process of their own and registers what they describe. */
#include "cli/measure/load.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/measure/supervise.h"
#include "kernels/plugin.h"

/* A stand-in and the texts it points to. */
struct stand_in {
  struct attn_variant variant;
  struct attn_tunable tunables[ATTN_TUNABLES_MAX + 1];
  char name[ATTN_PLUGIN_NAME_MAX + 1];
  char summary[ATTN_PLUGIN_TEXT_MAX + 1], limits[ATTN_PLUGIN_TEXT_MAX + 1];
  char tunable_name[ATTN_TUNABLES_MAX][ATTN_PLUGIN_NAME_MAX + 1];
  char tunable_help[ATTN_TUNABLES_MAX][ATTN_PLUGIN_TEXT_MAX + 1];
};

/* The registry keeps pointers for the life of the process. */
static struct stand_in stand_ins[ATTN_PLUGIN_VARIANTS_MAX];
static size_t stand_in_count;
static char object_paths[ATTN_PLUGINS_MAX][PATH_MAX];
static size_t object_count;

/* ---- reading a description ----------------------------------------------------------------------------------- */

static bool take_text(const cJSON *object, const char *key, char *out, size_t size) {
  const cJSON *item = json_get(object, key);
  if (!cJSON_IsString(item) || strlen(item->valuestring) >= size) return false;
  memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
  return true;
}

static bool take_number(const cJSON *object, const char *key, double min, double max, double *out) {
  const cJSON *item = json_get(object, key);
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= min && item->valuedouble <= max)) return false;
  *out = item->valuedouble;
  return true;
}

static bool take_tunable(const cJSON *object, struct stand_in *out, size_t index) {
  double min = 0, max = 0, value = 0;
  const bool ok = take_text(object, "name", out->tunable_name[index], sizeof out->tunable_name[index]) &&
                  take_text(object, "help", out->tunable_help[index], sizeof out->tunable_help[index]) &&
                  take_number(object, "min", INT32_MIN, INT32_MAX, &min) &&
                  take_number(object, "max", INT32_MIN, INT32_MAX, &max) &&
                  take_number(object, "default", INT32_MIN, INT32_MAX, &value);
  out->tunables[index] = (struct attn_tunable){.name = out->tunable_name[index],
                                               .min = (int32_t)min,
                                               .max = (int32_t)max,
                                               .default_value = (int32_t)value,
                                               .help = out->tunable_help[index]};
  return ok;
}

static bool take_variant(const cJSON *object, struct stand_in *out) {
  double runs_on = 0, math = 0, writes_lse = 0;
  size_t count = 0;
  const cJSON *tunable;
  bool ok = take_text(object, "name", out->name, sizeof out->name) &&
            take_text(object, "summary", out->summary, sizeof out->summary) &&
            take_text(object, "limits", out->limits, sizeof out->limits) &&
            take_number(object, "runs_on", DEVICE_CPU, DEVICE_CUDA, &runs_on) &&
            take_number(object, "math", ATTN_MATH_FP32, ATTN_MATH_WGMMA, &math) &&
            take_number(object, "writes_lse", 0, 1, &writes_lse);
  cJSON_ArrayForEach(tunable, json_get(object, "tunables")) {
    ok = ok && count < ATTN_TUNABLES_MAX && take_tunable(tunable, out, count);
    ++count;
  }
  out->variant = (struct attn_variant){.name = out->name,
                                       .summary = out->summary,
                                       .limits = out->limits,
                                       .runs_on = (enum device_kind)runs_on,
                                       .math = (enum attn_math)math,
                                       .writes_lse = writes_lse != 0,
                                       .tunables = count > 0 ? out->tunables : NULL};
  return ok;
}

static struct status add_variant(const char *path, const cJSON *object) {
  if (stand_in_count == ATTN_PLUGIN_VARIANTS_MAX) {
    return status_make(STATUS_USAGE, "--load %s: more than %d variants would be loaded; load fewer objects", path,
                       ATTN_PLUGIN_VARIANTS_MAX);
  }
  struct stand_in *stand_in = &stand_ins[stand_in_count];
  if (!take_variant(object, stand_in)) {
    return status_make(STATUS_INTERNAL, "--load %s: its description cannot be read", path);
  }
  if (!variant_add(&stand_in->variant)) {
    return status_make(STATUS_USAGE,
                       "--load %s: there is a variant %s already, from another object; rename it in one", path,
                       stand_in->name);
  }
  ++stand_in_count;
  return status_ok();
}

static struct status take_description(const char *path, const cJSON *root) {
  const cJSON *variant;
  TRY(hello_failure(root));
  cJSON_ArrayForEach(variant, json_get(root, "variants")) TRY(add_variant(path, variant));
  return status_ok();
}

/* ---- objects ------------------------------------------------------------------------------------------------- */

/* The dynamic linker looks for a name without a slash elsewhere, so it gets the whole path. */
static struct status resolve(const char *given, char out[PATH_MAX]) {
  if (realpath(given, out) != NULL) return status_ok();
  return status_make(STATUS_USAGE, "--load %s: %s; name the shared object that you built, or a kernel's manifest",
                     given, strerror(errno));
}

static struct status load_object(const char *given) {
  struct json_doc doc;
  char *line = NULL;
  if (object_count == ATTN_PLUGINS_MAX) return status_make(STATUS_USAGE, "--load %s: one object too many", given);
  char *path = object_paths[object_count];
  TRY(resolve(given, path));
  TRY(supervise_load(path, &line));
  ++object_count;
  struct status status = json_parse(path, line, strlen(line), &doc);
  free(line);
  TRY(status);
  status = take_description(path, doc.root);
  json_free(&doc);
  return status;
}

struct status load_stand_ins(const char *const *paths, size_t count) {
  for (size_t i = 0; i < count; ++i) TRY(load_object(paths[i]));
  return status_ok();
}
