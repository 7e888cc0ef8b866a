/* list: the variants, their limits and tunables, and whether they run here. */
#include <stdarg.h>

#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/measure/supervise.h"
#include "kernels/pick.h"
#include "kernels/plugin.h"

enum { LIST_INDENT = 16, PICKS_INDENT = 18, LINE_MAX_BYTES = 1024 };

/* What a variant would meet here: NULL when it can run, else why not: the GPU's own reason, or another one. */
static const char *why_unavailable(const struct attn_variant *variant, const struct status *gpu) {
  const char *missing = variant->vendor != NULL ? variant->vendor->missing() : NULL;
  if (missing != NULL) return missing;
  return variant_runs_on(variant, DEVICE_CPU) || !status_failed(gpu) ? NULL : gpu->text;
}

/* STATUS_OK when a GPU opens in a worker. */
static struct status probe_gpu(void) {
  const double unused_timeout_s = 10.0;
  struct supervisor *supervisor = NULL;
  const struct status status = supervise_open("cuda", unused_timeout_s, &supervisor);
  supervise_close(supervisor);
  return status;
}

/* A line, or more where the terminal is narrow, that begins under the summaries. */
__attribute__((format(printf, 3, 4))) static void list_line(FILE *out, int indent, const char *format, ...) {
  char lead[PICKS_INDENT + 1], text[LINE_MAX_BYTES] = "";
  va_list args;
  va_start(args, format);
  text_append_list(text, sizeof text, format, args);
  va_end(args);
  snprintf(lead, sizeof lead, "%*s", indent, "");
  text_wrap(out, lead, (size_t)indent + 2, text);
}

static void list_picks(const struct pick_table *table, FILE *out) {
  for (size_t i = 0; table != NULL && i < table->count; ++i) {
    char spec[PICK_SPEC_MAX];
    if (i == 0) list_line(out, LIST_INDENT, "picks the first of these that takes the shape; %s:", table->version);
    pick_spec(&table->rules[i], spec);
    list_line(out, PICKS_INDENT, "%s: %s", spec, table->rules[i].why);
  }
}

/* The reason that all GPU variants share stands once, behind them. */
static void list_variant(const struct attn_variant *variant, const char *why_not, const struct status *gpu,
                         FILE *out) {
  char lead[ATTN_PLUGIN_NAME_MAX + LIST_INDENT], limits[ATTN_LIMITS_MAX], takes[AXIS_TAKES_MAX];
  variant_limits(variant, limits);
  axes_takes_names(variant->takes, takes);
  snprintf(lead, sizeof lead, "%-15s ", variant->name);
  text_wrap(out, lead, LIST_INDENT, variant->summary);
  list_line(out, LIST_INDENT, "limits: %s", limits);
  if (takes[0] != '\0') list_line(out, LIST_INDENT, "also takes: %s", takes);
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t)
    list_line(out, LIST_INDENT, "tunable %s = %d..%d, default %d; %s", t->name, t->min, t->max, t->default_value,
              t->help);
  list_picks(variant->picks, out);
  if (why_not == gpu->text)
    list_line(out, LIST_INDENT, "here: not available, it needs a GPU");
  else
    list_line(out, LIST_INDENT, "here: %s%s",
              why_not == NULL ? "available" : "not available: ", why_not == NULL ? "" : why_not);
}

/* The variants that are named, or all: each with why it cannot run here. */
struct listing {
  struct variant_here *items;
  size_t count;
};

static void free_listing(struct listing *listing) { free(listing->items); }

static void add(const struct attn_variant *variant, const struct status *gpu, struct listing *out) {
  out->items[out->count++] = (struct variant_here){.variant = variant, .why_not = why_unavailable(variant, gpu)};
}

static struct status choose(const struct options_list *names, const struct status *gpu, struct listing *out) {
  const size_t count = names->count > 0 ? names->count : variant_count();
  TRY(owned_array(&out->items, count, sizeof *out->items, "variants"));
  for (size_t i = 0; i < names->count; ++i) {
    struct variant_spec spec;
    TRY(variant_spec_parse(names->item[i], "list", STATUS_USAGE, &spec));
    add(spec.variant, gpu, out);
  }
  for (size_t i = 0; names->count == 0 && i < count; ++i) add(variant_at(i), gpu, out);
  return status_ok();
}

static struct status list_json(const struct listing *listing, FILE *out) {
  cJSON *root = cJSON_CreateObject();
  variant_json_add(root, listing->items, listing->count);
  policy_add(root);
  return json_write(root, "the list of variants", out);
}

static struct status write_listing(const struct listing *listing, const struct status *gpu, bool is_json, FILE *out) {
  bool needs_gpu = false;
  if (is_json) return list_json(listing, out);
  for (size_t i = 0; i < listing->count; ++i) {
    list_variant(listing->items[i].variant, listing->items[i].why_not, gpu, out);
    needs_gpu = needs_gpu || listing->items[i].why_not == gpu->text;
  }
  if (needs_gpu) text_paragraph(out, "no GPU: ", "%s", gpu->text);
  return status_ok();
}

struct status verb_list(const struct options *options) {
  OWNED(free_listing) struct listing listing = {.items = NULL};
  TRY(load_stand_ins(options->load.item, options->load.count));
  const struct status gpu = probe_gpu();
  TRY(choose(&options->reports, &gpu, &listing));
  OUTPUT_TRY("-", out, write_listing(&listing, &gpu, options->list_json, out));
  return status_ok();
}
