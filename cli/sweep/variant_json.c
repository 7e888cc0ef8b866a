/* Variants and their tunables as JSON. */
#include "cli/sweep/variant_json.h"

#include "cli/base/fields.h"
#include "kernels/pick.h"

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
  bool writes_lse, available;
};

static const struct field variant_fields[] = {
    FIELD("name", NAME, struct variant_view, name),
    FIELD("summary", NAME, struct variant_view, summary),
    FIELD("limits", NAME, struct variant_view, limits),
    FIELD("runs_on", NAME, struct variant_view, runs_on),
    FIELD("writes_lse", BOOL, struct variant_view, writes_lse),
    {0},
};

static const struct field here_fields[] = {
    FIELD("available", BOOL, struct variant_view, available),
    FIELD("reason", NAME, struct variant_view, reason),
    {0},
};

struct picks_view {
  const char *version;
};

static const struct field picks_fields[] = {FIELD("table", NAME, struct picks_view, version), {0}};

struct rule_view {
  char variant[PICK_SPEC_MAX];
  const char *why;
};

static const struct field rule_fields[] = {
    FIELD_TEXT_OF("variant", struct rule_view, variant),
    FIELD("why", NAME, struct rule_view, why),
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

static const char *runs_on(const struct attn_variant *variant) {
  if (variant->picks != NULL) return "any";
  return variant->runs_on == DEVICE_CPU ? "cpu" : "cuda";
}

/* What it picks in the order in which its rules are tried; nothing of a variant with a kernel of its own. */
static bool add_picks(cJSON *object, const struct pick_table *table) {
  if (table == NULL) return true;
  const struct picks_view picks = {.version = table->version};
  cJSON *picks_object = cJSON_AddObjectToObject(object, "picks");
  bool ok = fields_write(picks_object, picks_fields, &picks);
  cJSON *rules = cJSON_AddArrayToObject(picks_object, "rules");
  for (size_t i = 0; i < table->count && ok; ++i) {
    struct rule_view view = {.why = table->rules[i].why};
    pick_spec(&table->rules[i], view.variant);
    ok = fields_write(json_add_element(rules), rule_fields, &view);
  }
  return ok && rules != NULL;
}

static bool add_variant(cJSON *object, const struct variant_here *here) {
  const struct attn_variant *variant = here->variant;
  const struct variant_view view = {.name = variant->name,
                                    .summary = variant->summary,
                                    .limits = variant->limits,
                                    .runs_on = runs_on(variant),
                                    .reason = here->why_not,
                                    .writes_lse = variant->writes_lse,
                                    .available = here->why_not == NULL};
  return fields_write(object, variant_fields, &view) && variant_json_add_tunables(object, variant) &&
         add_picks(object, variant->picks) && fields_write(object, here_fields, &view);
}

bool variant_json_add(cJSON *object, const struct variant_here *variants, size_t count) {
  cJSON *list = cJSON_AddArrayToObject(object, "variants");
  bool ok = list != NULL;
  for (size_t i = 0; i < count && ok; ++i) ok = add_variant(json_add_element(list), &variants[i]);
  return ok;
}
