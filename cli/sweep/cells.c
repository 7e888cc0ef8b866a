/* Selects the cells of a run from a sweep, a list of variants and filters. */
#include "cli/sweep/cells.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"

/* ---- variants ------------------------------------------------------------------------------------------------ */

struct spec_list {
  struct variant_spec items[SWEEP_VARIANTS_MAX];
  bool by_name[SWEEP_VARIANTS_MAX]; /* else as one of a group, which is left out where it takes no shape */
  size_t count;
  bool is_own; /* the sweep's list */
};

static bool has_spec(const struct spec_list *list, const char *text) {
  for (size_t i = 0; i < list->count; ++i) {
    if (strcmp(list->items[i].text, text) == 0) return true;
  }
  return false;
}

static struct status add_spec(const char *text, struct spec_list *out) {
  struct variant_spec spec;
  TRY(variant_spec_parse(text, "--variants", STATUS_USAGE, &spec));
  if (has_spec(out, spec.text))
    return status_make(STATUS_USAGE, "--variants: %s is named twice; name it once", spec.text);
  if (out->count == SWEEP_VARIANTS_MAX)
    return status_make(STATUS_USAGE, "--variants: names more than %d variants", SWEEP_VARIANTS_MAX);
  out->by_name[out->count] = true;
  out->items[out->count++] = spec;
  return status_ok();
}

/* Unless it is there already. */
static void add_default(const struct attn_variant *variant, bool by_name, struct spec_list *out) {
  if (out->count == SWEEP_VARIANTS_MAX || has_spec(out, variant->name)) return;
  struct variant_spec *spec = &out->items[out->count];
  *spec = (struct variant_spec){.variant = variant, .tuning = variant_default_tuning(variant)};
  snprintf(spec->text, sizeof spec->text, "%s", variant->name);
  out->by_name[out->count++] = by_name;
}

/* On a CPU its variants first, then those of GPUs to be planned. */
static void add_group(enum variant_group group, enum device_kind kind, struct spec_list *out) {
  static const enum device_kind order[] = {DEVICE_CPU, DEVICE_CUDA};
  for (size_t k = kind == DEVICE_CPU ? 0 : 1; k < 2; ++k) {
    for (size_t i = 0; i < variant_count(); ++i) {
      if (variant_at(i)->runs_on == order[k] && variant_group_has(group, i)) add_default(variant_at(i), false, out);
    }
  }
}

static struct status parse_variants(const char *text, enum device_kind kind, struct spec_list *out) {
  char spec[2 * VARIANT_SPEC_MAX];
  for (;;) {
    const size_t length = variant_spec_length(text);
    if (length == 0)
      return status_make(STATUS_USAGE, "--variants: empty name before or after a comma; remove the comma");
    snprintf(spec, sizeof spec, "%.*s", (int)length, text);
    const enum variant_group group = variant_group_find(spec);
    if (group == VARIANT_GROUP_loaded && variant_count() == variant_built_in_count())
      return status_make(STATUS_USAGE, "--variants loaded: no variant is loaded; add --load FILE");
    if (group != VARIANT_GROUP_COUNT) {
      add_group(group, kind, out);
    } else {
      TRY(add_spec(spec, out));
    }
    if (text[length] == '\0') return status_ok();
    text += length + 1;
  }
}

/* Does the sweep's list name a loaded variant? */
static bool names_loaded(const struct sweep *sweep) {
  for (size_t i = 0; i < sweep->variant_count; ++i) {
    if (variant_is_added(sweep->variants[i].variant)) return true;
  }
  return false;
}

/* Adds the loaded variants, which the user wants to measure, and the vendor's library to compare them with. */
static void add_loaded(enum device_kind kind, struct spec_list *out) {
  for (size_t i = variant_built_in_count(); i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if (kind == DEVICE_CPU || variant_runs_on(variant, kind)) add_default(variant, true, out);
  }
  for (size_t i = 0; i < variant_built_in_count(); ++i) {
    if (variant_at(i)->vendor != NULL && variant_at(i)->runs_on == kind) add_default(variant_at(i), false, out);
  }
}

static struct status choose_variants(const struct sweep *sweep, const char *variants, enum device_kind kind,
                                     struct spec_list *out) {
  const bool any_loaded = variant_count() > variant_built_in_count();
  if (variants != NULL) return parse_variants(variants, kind, out);
  if (any_loaded && !names_loaded(sweep)) {
    add_loaded(kind, out);
  } else if (sweep->variant_count > 0) {
    memcpy(out->items, sweep->variants, sweep->variant_count * sizeof *out->items);
    out->count = sweep->variant_count;
    out->is_own = true;
    memset(out->by_name, 1, sizeof out->by_name);
  } else {
    add_group(VARIANT_GROUP_all, kind, out);
  }
  return status_ok();
}

/* ---- selection ----------------------------------------------------------------------------------------------- */

static bool keeps(const struct filter *filters, size_t count, const struct attn_problem *shape) {
  for (size_t i = 0; i < count; ++i) {
    if (!filter_keeps(&filters[i], shape)) return false;
  }
  return true;
}

/* True when it is not known: a stand-in has no supports() in this process. */
static bool takes_some_shape(const struct variant_spec *spec, const struct sweep *sweep, const struct filter *filters,
                             size_t filter_count, const struct device_info *gpu) {
  if (spec->variant->runs_on != DEVICE_CUDA || spec->variant->supports == NULL) return true;
  for (size_t i = 0; i < sweep->case_count; ++i) {
    const struct attn_problem *shape = &sweep->cases[i].shape;
    if (keeps(filters, filter_count, shape) && variant_supports(spec->variant, shape, &spec->tuning, gpu) == NULL)
      return true;
  }
  return false;
}

static void drop_unfit(struct spec_list *specs, const struct sweep *sweep, const struct filter *filters,
                       size_t filter_count, const struct device_info *gpu) {
  size_t kept = 0;
  for (size_t i = 0; i < specs->count; ++i) {
    const bool stays = specs->by_name[i] || takes_some_shape(&specs->items[i], sweep, filters, filter_count, gpu);
    specs->by_name[kept] = specs->by_name[i];
    if (stays) specs->items[kept++] = specs->items[i];
  }
  specs->count = kept;
}

struct status cells_select(const struct sweep *sweep, const char *variants, const char *const *filters,
                           size_t filter_count, enum device_kind kind, const struct device_info *gpu,
                           struct cells *out) {
  struct spec_list specs = {.count = 0};
  struct filter parsed[16];
  *out = (struct cells){0};
  if (filter_count > sizeof parsed / sizeof *parsed) return status_make(STATUS_USAGE, "--filter: given too often");
  TRY(choose_variants(sweep, variants, kind, &specs));
  for (size_t i = 0; i < filter_count; ++i) TRY(filter_parse(filters[i], &parsed[i]));
  if (gpu != NULL) drop_unfit(&specs, sweep, parsed, filter_count, gpu);

  TRY(owned_array(&out->items, sweep->case_count * specs.count, sizeof *out->items, "cells"));
  for (size_t i = 0; i < sweep->case_count; ++i) {
    if (!keeps(parsed, filter_count, &sweep->cases[i].shape)) continue;
    for (size_t v = 0; v < specs.count; ++v) {
      if (specs.is_own && !sweep_has_cell(sweep, sweep->cases[i].key, specs.items[v].text)) continue;
      out->items[out->count++] = (struct cell){.attn_case = &sweep->cases[i], .spec = specs.items[v]};
    }
  }
  if (out->count > 0) return status_ok();
  cells_free(out);
  if (filter_count == 0)
    return status_make(STATUS_USAGE,
                       "%s: no variant takes any of its shapes on this device; name some with --variants",
                       sweep->path);
  return status_make(STATUS_USAGE, "--filter %s%s keeps none of the %zu cases of %s; loosen it", filters[0],
                     filter_count > 1 ? " and the others" : "", sweep->case_count, sweep->path);
}

void cells_free(struct cells *cells) {
  free(cells->items);
  *cells = (struct cells){0};
}

/* ---- cells by name ------------------------------------------------------------------------------------------- */

static bool is_named(const struct cell *cell, const char *const *only, size_t only_count) {
  char name[CELL_NAME_MAX];
  cell_name(cell->attn_case->key, cell->spec.text, name);
  for (size_t i = 0; i < only_count; ++i) {
    if (strcmp(name, only[i]) == 0 || strcmp(cell->attn_case->key, only[i]) == 0) return true;
    if (strpbrk(only[i], "*?[") == NULL) continue;
    if (fnmatch(only[i], name, 0) == 0 || fnmatch(only[i], cell->attn_case->key, 0) == 0) return true;
  }
  return false;
}

/* A cell of the run for a name that is none: the nearest variant of the case that is named, else the nearest case
 * with the variant that is, else the first. */
static const struct cell *cell_instead(const struct cells *cells, const char *name) {
  const char *slash = strchr(name, '/');
  const size_t length = slash != NULL ? (size_t)(slash - name) : strlen(name);
  const struct cell *near_case = NULL;
  for (size_t i = 0; i < cells->count; ++i) {
    const struct cell *cell = &cells->items[i];
    const char *key = cell->attn_case->key, *variants[] = {cell->spec.text, NULL}, *keys[] = {key, NULL};
    char given[AXIS_KEY_MAX];
    snprintf(given, sizeof given, "%.*s", (int)length, name);
    if (strcmp(key, given) == 0 && slash != NULL && json_nearest(slash + 1, variants) != NULL) return cell;
    const bool is_variant = slash == NULL || strcmp(cell->spec.text, slash + 1) == 0;
    if (near_case == NULL && is_variant && json_nearest(given, keys) != NULL) near_case = cell;
  }
  return near_case;
}

static struct status check_names(const struct cells *cells, const char *const *only, size_t only_count) {
  for (size_t i = 0; i < only_count; ++i) {
    size_t found = 0;
    for (size_t c = 0; c < cells->count && found == 0; ++c) found += is_named(&cells->items[c], &only[i], 1);
    if (found > 0) continue;
    const struct cell *instead = cell_instead(cells, only[i]), *shown = instead != NULL ? instead : &cells->items[0];
    return status_make(
        STATUS_USAGE, "--only: \"%s\" is no cell and no case of this run; %s %s/%s%s", only[i],
        instead != NULL ? "did you mean" : "write KEY/VARIANT or KEY as a report has them, or a glob, for example",
        shown->attn_case->key, shown->spec.text, instead != NULL ? "?" : "");
  }
  return status_ok();
}

struct status cells_keep_only(struct cells *cells, const char *const *only, size_t only_count) {
  size_t kept = 0;
  TRY(check_names(cells, only, only_count));
  if (only_count == 0) return status_ok();
  for (size_t i = 0; i < cells->count; ++i) {
    if (is_named(&cells->items[i], only, only_count)) cells->items[kept++] = cells->items[i];
  }
  cells->count = kept;
  return status_ok();
}
