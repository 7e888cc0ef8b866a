/* Variants and their tunables as JSON. */
#include "cli/sweep/variant_json.h"

#include "cli/base/fields.h"

struct tunable_view {
  const char *name, *help;
  double min, max, default_value;
};

static const struct field tunable_fields[] = {
    FIELD("name", NAME, struct tunable_view, name), FIELD("min", F64, struct tunable_view, min),
    FIELD("max", F64, struct tunable_view, max),    FIELD("default", F64, struct tunable_view, default_value),
    FIELD("help", NAME, struct tunable_view, help), {0},
};

struct variant_view {
  const char *name, *summary, *limits, *runs_on, *reason;
  bool available;
};

static const struct field variant_fields[] = {
    FIELD("name", NAME, struct variant_view, name),
    FIELD("summary", NAME, struct variant_view, summary),
    FIELD("limits", NAME, struct variant_view, limits),
    FIELD("runs_on", NAME, struct variant_view, runs_on),
    {0},
};

static const struct field here_fields[] = {
    FIELD("available", BOOL, struct variant_view, available),
    FIELD("reason", NAME, struct variant_view, reason),
    {0},
};

bool variant_json_add_tunables(cJSON *object, const struct attn_variant *variant) {
  cJSON *tunables = cJSON_AddArrayToObject(object, "tunables");
  bool ok = tunables != NULL;
  for (size_t i = 0; i < variant_tunable_count(variant) && ok; ++i) {
    const struct attn_tunable *t = &variant->tunables[i];
    const struct tunable_view view = {
        .name = t->name, .help = t->help, .min = t->min, .max = t->max, .default_value = t->default_value};
    ok = fields_write(json_add_element(tunables), tunable_fields, &view);
  }
  return ok;
}

static bool add_variant(cJSON *object, const struct variant_here *here) {
  const struct attn_variant *variant = here->variant;
  const struct variant_view view = {.name = variant->name,
                                    .summary = variant->summary,
                                    .limits = variant->limits,
                                    .runs_on = variant->runs_on == DEVICE_CPU ? "cpu" : "cuda",
                                    .reason = here->why_not,
                                    .available = here->why_not == NULL};
  return fields_write(object, variant_fields, &view) && variant_json_add_tunables(object, variant) &&
         fields_write(object, here_fields, &view);
}

bool variant_json_add(cJSON *object, const struct variant_here *variants, size_t count) {
  cJSON *list = cJSON_AddArrayToObject(object, "variants");
  bool ok = list != NULL;
  for (size_t i = 0; i < count && ok; ++i) ok = add_variant(json_add_element(list), &variants[i]);
  return ok;
}
