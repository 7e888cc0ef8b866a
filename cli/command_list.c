#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/load.h"
#include "cli/supervise.h"
#include "cli/variant_json.h"

/* What a variant would meet here: NULL when it can run, else why not. */
static const char *why_unavailable(const struct attn_variant *variant, const struct status *gpu) {
  const char *missing = variant->vendor != NULL ? variant->vendor->missing() : NULL;
  if (missing != NULL) return missing;
  return variant->runs_on == DEVICE_CPU || !status_failed(gpu) ? NULL : gpu->text;
}

/* STATUS_OK when a GPU opens in a worker. */
static struct status probe_gpu(void) {
  const double unused_timeout_s = 10.0;
  struct supervisor *supervisor = NULL;
  const struct status status = supervise_open("cuda", unused_timeout_s, &supervisor);
  supervise_close(supervisor);
  return status;
}

static void list_text(const struct attn_variant *variant, const char *why_not, FILE *out) {
  fprintf(out, "%-15s %s\n%15s limits: %s\n", variant->name, variant->summary, "", variant->limits);
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t) {
    fprintf(out, "%15s tunable %s = %d..%d, default %d: %s\n", "", t->name, t->min, t->max, t->default_value,
            t->help);
  }
  fprintf(out, "%15s here: %s%s\n", "",
          why_not == NULL ? "available" : "not available: ", why_not == NULL ? "" : why_not);
}

static cJSON *list_json(const struct attn_variant *variant, const char *why_not) {
  cJSON *object = cJSON_CreateObject();
  json_add_string(object, "name", variant->name);
  json_add_string(object, "summary", variant->summary);
  json_add_string(object, "limits", variant->limits);
  json_add_string(object, "runs_on", variant->runs_on == DEVICE_CPU ? "cpu" : "cuda");
  variant_json_add_tunables(object, variant);
  json_add_bool(object, "available", why_not == NULL);
  if (why_not == NULL) {
    cJSON_AddNullToObject(object, "reason");
  } else {
    json_add_string(object, "reason", why_not);
  }
  return object;
}

struct status command_list(const struct options *options, FILE *out) {
  const struct status loaded = load_objects(options->load, options->load_count);
  if (status_failed(&loaded)) return loaded;
  const struct status gpu = probe_gpu();
  cJSON *root = cJSON_CreateObject(), *variants = cJSON_AddArrayToObject(root, "variants");
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    const char *why_not = why_unavailable(variant, &gpu);
    if (options->list_json) {
      cJSON_AddItemToArray(variants, list_json(variant, why_not));
    } else {
      list_text(variant, why_not, out);
    }
  }
  char *text = options->list_json ? cJSON_Print(root) : NULL;
  if (text != NULL) fprintf(out, "%s\n", text);
  free(text);
  cJSON_Delete(root);
  if (fflush(out) != 0) return status_make(STATUS_OUTPUT, "stdout: cannot be written");
  return status_ok();
}
