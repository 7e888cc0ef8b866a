/* Writes and reads C structs as JSON objects, as their tables say. */
#include "cli/base/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_scan.h"

enum {
  FIELDS_MAX = 64,
  TEXT_MAX = 1024, /* no FIELD_TEXT is longer */
};

static const void *member_of(const void *base, size_t offset) { return (const char *)base + offset; }
static void *member_to(void *base, size_t offset) { return (char *)base + offset; }

static uint64_t field_max(const struct field *field) {
  if (field->max != 0) return field->max;
  return field->kind == FIELD_U64 || field->kind == FIELD_INDEX ? UINT64_MAX : UINT32_MAX;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* json_add_* do not tell when memory is out; the key then is not there. */
static bool has_added(const cJSON *object, const char *key) {
  const cJSON *last = object != NULL && object->child != NULL ? object->child->prev : NULL;
  return last != NULL && last->string != NULL && strcmp(last->string, key) == 0;
}

static bool write_bool(cJSON *object, const struct field *field, const void *base) {
  json_add_bool(object, field->key, *(const bool *)member_of(base, field->offset));
  return has_added(object, field->key);
}

static bool write_u32(cJSON *object, const struct field *field, const void *base) {
  json_add_uint(object, field->key, *(const uint32_t *)member_of(base, field->offset));
  return has_added(object, field->key);
}

static bool write_u64(cJSON *object, const struct field *field, const void *base) {
  json_add_uint(object, field->key, *(const uint64_t *)member_of(base, field->offset));
  return has_added(object, field->key);
}

static bool write_index(cJSON *object, const struct field *field, const void *base) {
  const uint64_t value = *(const uint64_t *)member_of(base, field->offset);
  if (value != UINT64_MAX) return write_u64(object, field, base);
  return cJSON_AddNullToObject(object, field->key) != NULL;
}

static bool write_u32x3(cJSON *object, const struct field *field, const void *base) {
  const uint32_t *value = member_of(base, field->offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL;
  for (size_t i = 0; i < 3 && ok; ++i) ok = cJSON_AddItemToArray(array, cJSON_CreateNumber(value[i]));
  return ok;
}

static bool write_f64(cJSON *object, const struct field *field, const void *base) {
  const double value = *(const double *)member_of(base, field->offset);
  json_add_number(object, field->key, value);
  const bool ok = has_added(object, field->key);
  if (!ok || isfinite(value) || field->null_reason == NULL) return ok;
  char key[FIELDS_MAX];
  snprintf(key, sizeof key, "%s_reason", field->key);
  json_add_string(object, key, field->null_reason);
  return has_added(object, key);
}

static bool write_string(cJSON *object, const char *key, const char *value) {
  if (value == NULL) return cJSON_AddNullToObject(object, key) != NULL;
  json_add_string(object, key, value);
  return has_added(object, key);
}

/* Malformed UTF-8 (a foreign argv, a text cut inside a character) is replaced byte by byte: the text must still fit
 * when it is read back. */
static bool write_text(cJSON *object, const struct field *field, const void *base) {
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%s", (const char *)member_of(base, field->offset));
  const size_t length = strlen(text);
  for (size_t at = 0, bytes; at < length; at += bytes != 0 ? bytes : 1) {
    bytes = json_scan_utf8(text + at, length - at);
    if (bytes == 0) text[at] = '?';
  }
  return write_string(object, field->key, text);
}

static bool write_label(cJSON *object, const struct field *field, const void *base) {
  if (*(const char *)member_of(base, field->offset) != '\0') return write_text(object, field, base);
  return write_string(object, field->key, NULL);
}

static const char *known_name(const struct field *field, const char *text) {
  const char *name = NULL, *next;
  for (uint32_t i = 0; (next = field->name(i)) != NULL; ++i) {
    name = next;
    if (strcmp(name, text) == 0) break;
  }
  return name;
}

static bool write_name(cJSON *object, const struct field *field, const void *base) {
  const char *text = *(const char *const *)member_of(base, field->offset);
  if (text != NULL && field->name != NULL) text = known_name(field, text);
  return write_string(object, field->key, text);
}

static bool write_enum(cJSON *object, const struct field *field, const void *base) {
  uint32_t value;
  memcpy(&value, member_of(base, field->offset), sizeof value);
  return write_string(object, field->key, field->name(value));
}

static bool write_bits(cJSON *object, const struct field *field, const void *base) {
  uint64_t bits = *(const uint64_t *)member_of(base, field->offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL;
  for (uint32_t i = 0; bits != 0 && ok && field->name(i) != NULL; ++i, bits >>= 1) {
    const bool last = field->name(i + 1) == NULL;
    if ((bits & 1) != 0 || last) ok = cJSON_AddItemToArray(array, cJSON_CreateString(field->name(i)));
  }
  return ok;
}

void fields_set_text(unsigned bits, const char *(*name)(uint32_t index), char out[FIELDS_SET_TEXT_MAX]) {
  size_t used = 0;
  snprintf(out, FIELDS_SET_TEXT_MAX, "-");
  for (uint32_t i = 0; name(i) != NULL && used < FIELDS_SET_TEXT_MAX; ++i) {
    if ((bits & 1u << i) == 0) continue;
    used += (size_t)snprintf(out + used, FIELDS_SET_TEXT_MAX - used, "%s%s", used > 0 ? "*" : "", name(i));
  }
}

static bool write_setx3(cJSON *object, const struct field *field, const void *base) {
  const unsigned *sets = member_of(base, field->offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL;
  for (size_t i = 0; i < 3 && ok; ++i) {
    char text[FIELDS_SET_TEXT_MAX];
    fields_set_text(sets[i], field->name, text);
    ok = cJSON_AddItemToArray(array, cJSON_CreateString(text));
  }
  return ok;
}

static bool write_object(cJSON *object, const struct field *field, const void *base) {
  return fields_write(cJSON_AddObjectToObject(object, field->key), field->fields, member_of(base, field->offset));
}

static bool write_optional(cJSON *object, const struct field *field, const void *base) {
  const char *member = member_of(base, field->offset);
  if (*(const bool *)member_of(member, field->flag_offset)) return write_object(object, field, base);
  if (field->optional) return true;
  return cJSON_AddNullToObject(object, field->key) != NULL;
}

static bool write_array(cJSON *object, const struct field *field, const void *base) {
  const uint32_t count = *(const uint32_t *)member_of(base, field->count_offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL && count <= field->capacity;
  for (uint32_t i = 0; i < count && ok; ++i) {
    cJSON *element = cJSON_CreateObject();
    ok = cJSON_AddItemToArray(array, element) &&
         fields_write(element, field->fields, member_of(base, field->offset + i * field->stride));
  }
  return ok;
}

/* Each element is written as a member of an object, which is how the codecs write, and moved from there. */
static bool write_list(cJSON *object, const struct field *field, const void *base) {
  const uint32_t count = *(const uint32_t *)member_of(base, field->count_offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key), *holder = cJSON_CreateObject();
  bool ok = array != NULL && holder != NULL && count <= field->capacity;
  for (uint32_t i = 0; i < count && ok; ++i) {
    ok = fields_write(holder, field->fields, member_of(base, field->offset + i * field->stride)) &&
         cJSON_AddItemToArray(array, cJSON_DetachItemFromObject(holder, field->fields->key));
  }
  cJSON_Delete(holder);
  return ok;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static struct status read_bool(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  if (!cJSON_IsBool(item)) return json_error(doc, item, false, "must be true or false");
  *(bool *)member_to(base, field->offset) = cJSON_IsTrue(item);
  return status_ok();
}

static struct status read_whole(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                uint32_t *out) {
  uint64_t value = 0;
  const struct status status = json_whole(doc, item, field->min, field_max(field), &value);
  *out = (uint32_t)value;
  return status;
}

static struct status read_u32(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  return read_whole(doc, item, field, member_to(base, field->offset));
}

static struct status read_u64(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  return json_whole(doc, item, field->min, field_max(field), member_to(base, field->offset));
}

static struct status read_index(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  if (!cJSON_IsNull(item)) return read_u64(doc, item, field, base);
  *(uint64_t *)member_to(base, field->offset) = UINT64_MAX;
  return status_ok();
}

static struct status read_u32x3(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  uint32_t *out = member_to(base, field->offset);
  struct status status = status_ok();
  if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 3) {
    return json_error(doc, item, false, "must be an array of three whole numbers");
  }
  for (const cJSON *element = item->child; element != NULL && !status_failed(&status); element = element->next) {
    status = read_whole(doc, element, field, out++);
  }
  return status;
}

static struct status read_f64(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  double *out = member_to(base, field->offset);
  if (!cJSON_IsNumber(item) && !cJSON_IsNull(item)) return json_error(doc, item, false, "must be a number or null");
  *out = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  return status_ok();
}

static struct status read_text(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  if (!cJSON_IsString(item)) return json_error(doc, item, false, "must be a string");
  const size_t length = strlen(item->valuestring);
  if (length >= field->capacity) {
    return json_error(doc, item, false, "has %zu bytes, at most %zu fit", length, field->capacity - 1);
  }
  memcpy(member_to(base, field->offset), item->valuestring, length + 1);
  return status_ok();
}

/* Which of the field's names the string is; fails when it is none of them. */
static struct status find_name(const struct json_doc *doc, const cJSON *item, const struct field *field,
                               uint32_t *out) {
  if (!cJSON_IsString(item)) return json_error(doc, item, false, "must be a string");
  const char *name;
  for (uint32_t i = 0; field->name != NULL && (name = field->name(i)) != NULL; ++i) {
    if (strcmp(name, item->valuestring) != 0) continue;
    *out = i;
    return status_ok();
  }
  return json_error(doc, item, false, "is \"%s\", which this field does not know", item->valuestring);
}

static struct status read_name(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  uint32_t index;
  if (cJSON_IsNull(item)) return status_ok(); /* *base arrived zeroed */
  const struct status status = find_name(doc, item, field, &index);
  if (!status_failed(&status)) *(const char **)member_to(base, field->offset) = field->name(index);
  return status;
}

static struct status read_enum(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  uint32_t index;
  const struct status status = find_name(doc, item, field, &index);
  if (!status_failed(&status)) memcpy(member_to(base, field->offset), &index, sizeof index);
  return status;
}

static struct status read_label(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  return cJSON_IsNull(item) ? status_ok() : read_text(doc, item, field, base);
}

static struct status read_bits(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  uint64_t *bits = member_to(base, field->offset);
  if (!cJSON_IsArray(item)) return json_error(doc, item, false, "must be an array of names");
  for (const cJSON *element = item->child; element != NULL; element = element->next) {
    uint32_t index;
    const struct status status = find_name(doc, element, field, &index);
    if (status_failed(&status)) return status;
    *bits |= UINT64_C(1) << index;
  }
  return status_ok();
}

/* The set that a text names; false when it names anything else. */
static bool parse_set(const char *text, const struct field *field, unsigned *out) {
  *out = 0;
  if (strcmp(text, "-") == 0) return true;
  for (const char *part = text;; part += strcspn(part, "*") + 1) {
    const size_t length = strcspn(part, "*");
    const char *name;
    uint32_t i = 0;
    for (; (name = field->name(i)) != NULL; ++i) {
      if (strlen(name) == length && memcmp(name, part, length) == 0) break;
    }
    if (name == NULL) return false;
    *out |= 1u << i;
    if (part[length] == '\0') return true;
  }
}

static struct status read_setx3(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  unsigned *out = member_to(base, field->offset);
  if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 3) {
    return json_error(doc, item, false, "must be an array of three texts, one per grid axis");
  }
  for (const cJSON *element = item->child; element != NULL; element = element->next, ++out) {
    if (cJSON_IsString(element) && parse_set(element->valuestring, field, out)) continue;
    char shown[JSON_VALUE_TEXT_MAX], names[FIELDS_SET_TEXT_MAX];
    json_describe(element, shown);
    fields_set_text(~0u, field->name, names);
    return json_error(doc, element, false, "is %s; give a product of %s, or \"-\"", shown, names);
  }
  return status_ok();
}

static struct status read_object(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                 void *base) {
  return fields_read(doc, item, field->fields, member_to(base, field->offset));
}

static struct status read_optional(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                   void *base) {
  if (cJSON_IsNull(item)) return status_ok();
  char *member = member_to(base, field->offset);
  *(bool *)member_to(member, field->flag_offset) = true;
  return fields_read(doc, item, field->fields, member);
}

static struct status read_array(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  uint32_t *count = member_to(base, field->count_offset);
  if (!cJSON_IsArray(item) || (size_t)cJSON_GetArraySize(item) > field->capacity) {
    return json_error(doc, item, false, "must be an array of at most %zu objects", field->capacity);
  }
  for (const cJSON *element = item->child; element != NULL; element = element->next, ++*count) {
    void *out = member_to(base, field->offset + *count * field->stride);
    const struct status status = fields_read(doc, element, field->fields, out);
    if (status_failed(&status)) return status;
  }
  return status_ok();
}

static struct status read_value(const struct json_doc *, const cJSON *item, const struct field *, void *base);

static struct status read_list(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  const uint32_t count = *(const uint32_t *)member_of(base, field->count_offset);
  if (!cJSON_IsArray(item) || (uint32_t)cJSON_GetArraySize(item) != count || count > field->capacity) {
    return json_error(doc, item, false, "must be an array of %u values", count);
  }
  char *out = member_to(base, field->offset);
  struct status status = status_ok();
  for (const cJSON *element = item->child; element != NULL && !status_failed(&status); element = element->next) {
    status = read_value(doc, element, field->fields, out);
    out += field->stride;
  }
  return status;
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static const struct codec {
  bool (*write)(cJSON *, const struct field *, const void *base);
  struct status (*read)(const struct json_doc *, const cJSON *, const struct field *, void *base);
} codecs[] = {
    [FIELD_BOOL] = {write_bool, read_bool},       [FIELD_U32] = {write_u32, read_u32},
    [FIELD_U64] = {write_u64, read_u64},          [FIELD_U32X3] = {write_u32x3, read_u32x3},
    [FIELD_INDEX] = {write_index, read_index},    [FIELD_F64] = {write_f64, read_f64},
    [FIELD_TEXT] = {write_text, read_text},       [FIELD_NAME] = {write_name, read_name},
    [FIELD_ENUM] = {write_enum, read_enum},       [FIELD_BITS] = {write_bits, read_bits},
    [FIELD_LABEL] = {write_label, read_label},    [FIELD_SETX3] = {write_setx3, read_setx3},
    [FIELD_OBJECT] = {write_object, read_object}, [FIELD_OPTIONAL] = {write_optional, read_optional},
    [FIELD_ARRAY] = {write_array, read_array},    [FIELD_LIST] = {write_list, read_list},
};

static struct status read_value(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  return codecs[field->kind].read(doc, item, field, base);
}

/* An optional field that holds nothing to say. */
static bool is_left_out(const struct field *field, const void *base) {
  const char *member = member_of(base, field->offset);
  const bool has_flag = field->kind == FIELD_BOOL || field->kind == FIELD_OPTIONAL;
  return field->optional && has_flag && !*(const bool *)(member + field->flag_offset);
}

bool fields_write(cJSON *object, const struct field *fields, const void *base) {
  bool ok = object != NULL;
  for (const struct field *field = fields; field->key != NULL && ok; ++field) {
    ok = is_left_out(field, base) || codecs[field->kind].write(object, field, base);
  }
  return ok;
}

bool fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base) {
  if (!known) return cJSON_AddNullToObject(object, key) != NULL;
  return fields_write(cJSON_AddObjectToObject(object, key), fields, base);
}

char *fields_to_line(const struct field *fields, const void *base) {
  cJSON *object = cJSON_CreateObject();
  char *line = fields_write(object, fields, base) ? cJSON_PrintUnformatted(object) : NULL;
  cJSON_Delete(object);
  return line;
}

/* The keys of the table, and those that explain its nulls. */
static struct status check_keys(const struct json_doc *doc, const cJSON *object, const struct field *fields) {
  const char *known[2 * FIELDS_MAX + 1];
  char reasons[FIELDS_MAX][FIELDS_MAX];
  size_t count = 0, reason_count = 0;
  for (const struct field *field = fields; field->key != NULL && reason_count < FIELDS_MAX; ++field) {
    known[count++] = field->key;
    if (field->null_reason == NULL) continue;
    snprintf(reasons[reason_count], FIELDS_MAX, "%s_reason", field->key);
    known[count++] = reasons[reason_count++];
  }
  known[count] = NULL;
  return json_check_keys(doc, object, known);
}

struct status fields_read_part(const struct json_doc *doc, const cJSON *object, const struct field *fields,
                               void *base) {
  if (!cJSON_IsObject(object)) return json_error(doc, object, false, "must be an object");
  struct status status = status_ok();
  for (const struct field *field = fields; field->key != NULL && !status_failed(&status); ++field) {
    const cJSON *item = json_get(object, field->key);
    if (item == NULL && field->optional) continue;
    status = item != NULL ? codecs[field->kind].read(doc, item, field, base)
                          : json_error(doc, object, false, "has no \"%s\"", field->key);
  }
  return status;
}

struct status fields_read(const struct json_doc *doc, const cJSON *object, const struct field *fields, void *base) {
  if (!cJSON_IsObject(object)) return json_error(doc, object, false, "must be an object");
  const struct status status = check_keys(doc, object, fields);
  return status_failed(&status) ? status : fields_read_part(doc, object, fields, base);
}

struct status fields_from_line(const char *what, const char *line, size_t length, const struct field *fields,
                               void *base) {
  struct json_doc doc;
  struct status status = json_parse(what, line, length, &doc);
  if (status_failed(&status)) return status;
  status = fields_read(&doc, doc.root, fields, base);
  json_free(&doc);
  return status;
}
