/* list: the variants, their limits and tunables, and whether they run here. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/commands.h"
#include "cli/measure/load.h"
#include "cli/measure/policy.h"
#include "cli/measure/supervise.h"
#include "cli/sweep/variant_json.h"

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

static void list_variant(const struct attn_variant *variant, const char *why_not, FILE *out) {
  fprintf(out, "%-15s %s\n%15s limits: %s\n", variant->name, variant->summary, "", variant->limits);
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t) {
    fprintf(out, "%15s tunable %s = %d..%d, default %d: %s\n", "", t->name, t->min, t->max, t->default_value,
            t->help);
  }
  fprintf(out, "%15s here: %s%s\n", "",
          why_not == NULL ? "available" : "not available: ", why_not == NULL ? "" : why_not);
}

static struct status list_text(const struct status *gpu, FILE *out) {
  for (size_t i = 0; i < variant_count(); ++i) list_variant(variant_at(i), why_unavailable(variant_at(i), gpu), out);
  return status_ok();
}

static struct status list_json(const struct status *gpu, FILE *out) {
  const size_t count = variant_count();
  struct variant_here *variants = calloc(count + 1, sizeof *variants);
  if (variants == NULL) return status_make(STATUS_MEMORY, "no memory for the list of variants");
  for (size_t i = 0; i < count; ++i) {
    variants[i] = (struct variant_here){.variant = variant_at(i), .why_not = why_unavailable(variant_at(i), gpu)};
  }
  cJSON *root = cJSON_CreateObject();
  const bool ok = variant_json_add(root, variants, count) && policy_add(root);
  const struct status status = json_write(root, ok, "the list of variants", out);
  free(variants);
  return status;
}

struct status verb_list(const struct options *options, FILE *out) {
  TRY(load_stand_ins(options->load.item, options->load.count));
  const struct status gpu = probe_gpu();
  TRY(options->list_json ? list_json(&gpu, out) : list_text(&gpu, out));
  return fflush(out) == 0 ? status_ok() : status_make(STATUS_OUTPUT, "stdout: cannot be written");
}
