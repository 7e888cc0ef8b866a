/* Variants and their tunables as JSON. */
#include "cli/sweep/variant_spec.h"

#include "kernels/pick.h"
#include "kernels/plugin.h"

const struct field variant_tunable_fields[] = {
    FIELD("name", NAME, struct attn_tunable, name, .capacity = ATTN_PLUGIN_NAME_MAX + 1, .required = true),
    FIELD("min", I32, struct attn_tunable, min),
    FIELD("max", I32, struct attn_tunable, max),
    FIELD("default", I32, struct attn_tunable, default_value),
    FIELD("help", NAME, struct attn_tunable, help, .capacity = ATTN_PLUGIN_TEXT_MAX + 1, .required = true),
    {0},
};

static const char *runs_on(const struct attn_variant *variant) {
  if (variant->picks != NULL || variant->runs_anywhere) return "any";
  return variant->runs_on == DEVICE_CPU ? "cpu" : "cuda";
}

/* What it picks in the order in which its rules are tried; nothing of a variant with a kernel of its own. */
static void add_picks(cJSON *object, const struct pick_table *table) {
  if (table == NULL) return;
  cJSON *picks = cJSON_AddObjectToObject(object, "picks");
  json_add_string(picks, "table", table->version);
  cJSON *rules = cJSON_AddArrayToObject(picks, "rules");
  for (size_t i = 0; i < table->count; ++i) {
    char variant[PICK_SPEC_MAX];
    cJSON *rule = json_add_element(rules);
    pick_spec(&table->rules[i], variant);
    json_add_string(rule, "variant", variant);
    json_add_string(rule, "why", table->rules[i].why);
  }
}

/* The axes that it computes at values other than their defaults. */
static void add_takes(cJSON *object, unsigned takes) {
  cJSON *names = cJSON_AddArrayToObject(object, "takes");
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    if ((axes_at(id)->takes & takes) != 0) json_append(names, cJSON_CreateString(axes_at(id)->name));
  }
}

static void add_variant(cJSON *object, const struct variant_here *here) {
  const struct attn_variant *variant = here->variant;
  char limits[ATTN_LIMITS_MAX];
  variant_limits(variant, limits);
  json_add_string(object, "name", variant->name);
  json_add_string(object, "summary", variant->summary);
  json_add_string(object, "limits", limits);
  json_add_string(object, "runs_on", runs_on(variant));
  add_takes(object, variant->takes);
  json_add_bool(object, "writes_lse", (variant->takes & ATTN_TAKES_LSE) != 0);
  cJSON *tunables = cJSON_AddArrayToObject(object, "tunables");
  for (size_t i = 0; i < variant_tunable_count(variant); ++i)
    fields_write(json_add_element(tunables), variant_tunable_fields, &variant->tunables[i]);
  add_picks(object, variant->picks);
  json_add_bool(object, "available", here->why_not == NULL);
  json_add_string(object, "reason", here->why_not);
}

void variant_json_add(cJSON *object, const struct variant_here *variants, size_t count) {
  cJSON *list = cJSON_AddArrayToObject(object, "variants");
  for (size_t i = 0; i < count; ++i) add_variant(json_add_element(list), &variants[i]);
}
