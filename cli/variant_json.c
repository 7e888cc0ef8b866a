#include "cli/variant_json.h"

void variant_json_add_tunables(cJSON *object, const struct attn_variant *variant) {
  cJSON *tunables = cJSON_AddArrayToObject(object, "tunables");
  for (size_t i = 0; i < variant_tunable_count(variant); ++i) {
    const struct attn_tunable *t = &variant->tunables[i];
    cJSON *tunable = cJSON_CreateObject();
    json_add_string(tunable, "name", t->name);
    json_add_number(tunable, "min", t->min);
    json_add_number(tunable, "max", t->max);
    json_add_number(tunable, "default", t->default_value);
    json_add_string(tunable, "help", t->help);
    cJSON_AddItemToArray(tunables, tunable);
  }
}
