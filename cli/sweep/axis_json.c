/* Reads and writes values of axes as JSON. */
#include "cli/sweep/reading.h"

#include <math.h>
#include <string.h>

#include "cli/base/text.h"

static struct status read_whole(const struct json_doc *doc, const struct attn_axis *axis, const cJSON *item,
                                struct axis_value *out) {
  uint64_t value = 0;
  TRY(json_whole(doc, item, axes_least(axis), axis->most, &value));
  *out = (struct axis_value){.first = (double)value, .second = (double)value};
  return status_ok();
}

/* [1023, 0]; -1 is no bound. */
static bool read_bounds(const struct attn_axis *axis, const cJSON *item, struct axis_value *out) {
  const cJSON *left = cJSON_GetArrayItem(item, 0), *right = cJSON_GetArrayItem(item, 1);
  if (cJSON_GetArraySize(item) != 2 || !cJSON_IsNumber(left) || !cJSON_IsNumber(right)) return false;
  *out = (struct axis_value){.first = left->valuedouble, .second = right->valuedouble};
  return floor(out->first) == out->first && floor(out->second) == out->second && axes_value_is_allowed(axis, *out);
}

static bool read_real(const struct attn_axis *axis, const cJSON *item, struct axis_value *out) {
  if (!cJSON_IsNumber(item)) return false;
  *out = (struct axis_value){.first = item->valuedouble};
  const double thousandths = item->valuedouble * 1000;
  return axes_value_is_allowed(axis, *out) && fabs(thousandths - round(thousandths)) <= 1e-9 * thousandths;
}

static bool read_dtype(const cJSON *item, struct axis_value *out) {
  enum attn_dtype dtype = ATTN_F16;
  if (!cJSON_IsString(item) || !attn_dtype_read(item->valuestring, &dtype)) return false;
  *out = (struct axis_value){.first = dtype};
  return true;
}

/* A name or a batch. */
static bool read_name(const struct attn_axis *axis, const cJSON *item, struct axis_value *out) {
  const char *end = cJSON_IsString(item) ? axes_value_read(axis, item->valuestring, out) : NULL;
  return end != NULL && *end == '\0';
}

/* A text, or {"block": 128, "density": 0.25}: the names of the members are those of the text's parts. */
static bool read_sparse(const struct attn_axis *axis, const cJSON *item, struct axis_value *out) {
  const cJSON *block = cJSON_GetObjectItemCaseSensitive(item, "block"), *part;
  const cJSON *density = cJSON_GetObjectItemCaseSensitive(item, "density");
  char text[ATTN_SPARSE_TEXT_MAX] = "";
  if (!cJSON_IsObject(item)) return read_name(axis, item, out);
  if (!cJSON_IsNumber(block)) return false;
  text_append(text, sizeof text, "%.12g", block->valuedouble);
  if (cJSON_IsNumber(density)) text_append(text, sizeof text, ":%.12g", density->valuedouble);
  cJSON_ArrayForEach(part, item) {
    if (!cJSON_IsNumber(part)) return false;
    if (part == block || part == density) continue;
    text_append(text, sizeof text, "%c%s=%.12g", strchr(text, ':') != NULL ? '+' : ':', part->string,
                part->valuedouble);
  }
  const char *end = axes_value_read(axis, text, out);
  return end != NULL && *end == '\0';
}

struct status axis_json_read(const struct json_doc *doc, const struct attn_axis *axis, const cJSON *item,
                             struct axis_value *out) {
  char wanted[AXIS_WANTED_MAX];
  bool is_read = false;
  switch (axis->kind) {
    case AXIS_WHOLE: return read_whole(doc, axis, item, out);
    case AXIS_DTYPE: is_read = read_dtype(item, out); break;
    case AXIS_BATCH:
    case AXIS_NAME: is_read = read_name(axis, item, out); break;
    case AXIS_SPARSE: is_read = read_sparse(axis, item, out); break;
    case AXIS_REAL: is_read = read_real(axis, item, out); break;
    case AXIS_BOUNDS: is_read = read_bounds(axis, item, out); break;
    case AXIS_FLAG:
    case AXIS_CAUSAL:
      *out = (struct axis_value){.first = cJSON_IsTrue(item)};
      is_read = cJSON_IsBool(item);
      break;
  }
  if (is_read) return status_ok();
  axes_value_wanted(axis, "\"", wanted);
  return json_refuse(doc, item, "give %s", wanted);
}

bool axis_json_is_list(const struct attn_axis *axis, const cJSON *array) {
  if (axis->kind != AXIS_BOUNDS || !cJSON_IsArray(array)) return cJSON_IsArray(array);
  return array->child == NULL || cJSON_IsArray(array->child);
}

cJSON *axis_json_new(const struct attn_axis *axis, struct axis_value value) {
  const double bounds[] = {value.first, value.second};
  char text[AXIS_VALUE_TEXT_MAX];
  switch (axis->kind) {
    case AXIS_BOUNDS: return cJSON_CreateDoubleArray(bounds, 2);
    case AXIS_SPARSE:
    case AXIS_BATCH: axes_value_write(axis, value, text); return cJSON_CreateString(text);
    case AXIS_REAL:
    case AXIS_WHOLE: return cJSON_CreateNumber(value.first);
    case AXIS_NAME: return cJSON_CreateString(axis->names[(unsigned)value.first]);
    case AXIS_DTYPE: return cJSON_CreateString(attn_dtype_name((enum attn_dtype)value.first));
    case AXIS_FLAG:
    case AXIS_CAUSAL: break;
  }
  return cJSON_CreateBool(value.first == 1);
}
