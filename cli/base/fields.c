/* Writes and reads C structs as JSON objects, as their tables say. */
#include "cli/base/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_scan.h"
#include "cli/base/numbers.h"

enum {
  KEY_MAX = 64,
  NAMES_TEXT_MAX = 256,
  KEYS_MAX = 160, /* of one object, with those of older files and those that explain nulls */
};

static const void *member_of(const void *base, size_t offset) { return (const char *)base + offset; }
static void *member_to(void *base, size_t offset) { return (char *)base + offset; }

static uint64_t field_max(const struct field *field) {
  if (field->max != 0) return field->max;
  return field->kind == FIELD_U64 || field->kind == FIELD_INDEX ? UINT64_MAX : UINT32_MAX;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* `item` may be NULL for lack of memory. Keys of tables last: they are not copied. */
static bool add_item(cJSON *object, const struct field *field, cJSON *item) {
  if (cJSON_AddItemToObjectCS(object, field->key, item)) return true;
  cJSON_Delete(item);
  return false;
}

static bool write_bool(cJSON *object, const struct field *field, const void *base) {
  return add_item(object, field, cJSON_CreateBool(*(const bool *)member_of(base, field->offset)));
}

static bool write_whole(cJSON *object, const struct field *field, uint64_t value) {
  char number[32];
  snprintf(number, sizeof number, "%" PRIu64, value);
  return add_item(object, field, cJSON_CreateRaw(number));
}

static bool write_u32(cJSON *object, const struct field *field, const void *base) {
  return write_whole(object, field, *(const uint32_t *)member_of(base, field->offset));
}

static bool write_u64(cJSON *object, const struct field *field, const void *base) {
  return write_whole(object, field, *(const uint64_t *)member_of(base, field->offset));
}

static bool write_u32x3(cJSON *object, const struct field *field, const void *base) {
  const uint32_t *value = member_of(base, field->offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL;
  for (size_t i = 0; i < 3 && ok; ++i) ok = cJSON_AddItemToArray(array, cJSON_CreateNumber(value[i]));
  return ok;
}

static bool write_f64(cJSON *object, const struct field *field, const void *base) {
  char number[32];
  json_format_number(*(const double *)member_of(base, field->offset), number);
  return add_item(object, field, cJSON_CreateRaw(number));
}

static bool write_string(cJSON *object, const struct field *field, const char *value) {
  return add_item(object, field, value != NULL ? json_new_string(value) : cJSON_CreateNull());
}

/* Malformed UTF-8 (a foreign argv, a text cut inside a character) is replaced byte by byte: the text must still fit
 * when it is read back. */
static bool write_text(cJSON *object, const struct field *field, const void *base) {
  char *text = strdup(member_of(base, field->offset));
  const size_t length = text != NULL ? strlen(text) : 0;
  for (size_t at = 0, bytes; at < length; at += bytes != 0 ? bytes : 1) {
    bytes = json_scan_utf8(text + at, length - at);
    if (bytes == 0) text[at] = '?';
  }
  const bool ok = text != NULL && write_string(object, field, text);
  free(text);
  return ok;
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
  return write_string(object, field, text);
}

static bool write_enum(cJSON *object, const struct field *field, const void *base) {
  uint32_t value;
  memcpy(&value, member_of(base, field->offset), sizeof value);
  return write_string(object, field, field->name(value));
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

/* Of a line what is unknown is left out. */
static bool write_fields(cJSON *object, const struct field *fields, const void *base, bool is_line);

static bool write_object(cJSON *object, const struct field *field, const void *base, bool is_line) {
  return write_fields(cJSON_AddObjectToObject(object, field->key), field->fields, member_of(base, field->offset),
                      is_line);
}

static bool write_part(cJSON *object, const struct field *field, const void *base, bool is_line) {
  return write_fields(object, field->fields, member_of(base, field->offset), is_line);
}

static bool write_nothing(cJSON *object, const struct field *field, const void *base) {
  (void)object, (void)field, (void)base;
  return true;
}

static bool write_array(cJSON *object, const struct field *field, const void *base, bool is_line) {
  const uint32_t count = *(const uint32_t *)member_of(base, field->count_offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL && count <= field->capacity;
  for (uint32_t i = 0; i < count && ok; ++i) {
    cJSON *element = cJSON_CreateObject();
    ok = cJSON_AddItemToArray(array, element) &&
         write_fields(element, field->fields, member_of(base, field->offset + i * field->stride), is_line);
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

static bool write_numbers(cJSON *object, const struct field *field, const void *base) {
  const struct numbers *numbers = member_of(base, field->offset);
  cJSON *array = cJSON_AddArrayToObject(object, field->key);
  bool ok = array != NULL;
  for (uint32_t i = 0; i < numbers->count && ok; ++i) {
    char text[32];
    json_format_number(numbers->value[i], text);
    ok = cJSON_AddItemToArray(array, cJSON_CreateRaw(text));
  }
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

static struct status unknown_name(const struct json_doc *doc, const cJSON *item, const struct field *field) {
  char shown[JSON_VALUE_TEXT_MAX], names[NAMES_TEXT_MAX] = "";
  json_quote(item->valuestring, shown);
  size_t used = 0;
  for (uint32_t i = 0; field->name != NULL && field->name(i) != NULL && used < sizeof names; ++i) {
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", field->name(i));
  }
  return json_error(doc, item, false, "is %s, but must be one of: %s", shown, names);
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
  return unknown_name(doc, item, field);
}

static struct status read_name(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  if (cJSON_IsNull(item)) return status_ok(); /* the member arrived as NULL */
  if (!cJSON_IsString(item)) return json_error(doc, item, false, "must be a string or null");
  *(const char **)member_to(base, field->offset) = known_name(field, item->valuestring);
  return status_ok();
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

/* Older files have the bits as a number. */
static struct status read_bits(const struct json_doc *doc, const cJSON *item, const struct field *field, void *base) {
  uint64_t *bits = member_to(base, field->offset);
  if (cJSON_IsNumber(item)) return json_whole(doc, item, 0, UINT64_MAX, bits);
  if (!cJSON_IsArray(item)) return json_error(doc, item, false, "must be an array of names");
  for (const cJSON *element = item->child; element != NULL; element = element->next) {
    uint32_t index = 0;
    const struct status status = find_name(doc, element, field, &index);
    if (status_failed(&status)) return status;
    *bits |= UINT64_C(1) << index;
  }
  return status_ok();
}

/* Older files have a set as the number of its bits. */
static bool read_set_number(const cJSON *element, const struct field *field, unsigned *out) {
  unsigned count = 0;
  while (field->name(count) != NULL) ++count;
  if (!cJSON_IsNumber(element) || !(element->valuedouble >= 0) || element->valuedouble >= (double)(1u << count)) {
    return false;
  }
  *out = (unsigned)element->valuedouble;
  return *out == element->valuedouble;
}

bool fields_set_parse(const char *text, const char *(*name)(uint32_t index), unsigned *out) {
  *out = 0;
  if (strcmp(text, "-") == 0) return true;
  for (const char *part = text;; part += strcspn(part, "*") + 1) {
    const size_t length = strcspn(part, "*");
    const char *one;
    uint32_t i = 0;
    for (; (one = name(i)) != NULL; ++i) {
      if (strlen(one) == length && memcmp(one, part, length) == 0) break;
    }
    if (one == NULL) return false;
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
    if (cJSON_IsString(element) && fields_set_parse(element->valuestring, field->name, out)) continue;
    if (read_set_number(element, field, out)) continue;
    char shown[JSON_VALUE_TEXT_MAX], names[FIELDS_SET_TEXT_MAX];
    json_describe(element, shown);
    fields_set_text(~0u, field->name, names);
    return json_error(doc, element, false, "is %s; give a product of %s, or \"-\"", shown, names);
  }
  return status_ok();
}

static struct status read_struct(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                 void *member) {
  return field->open ? fields_read_part(doc, item, field->fields, member)
                     : fields_read(doc, item, field->fields, member);
}

static struct status read_object(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                 void *base) {
  return read_struct(doc, item, field, member_to(base, field->offset));
}

static struct status read_optional(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                   void *base) {
  if (cJSON_IsNull(item)) return status_ok();
  *(bool *)member_to(base, field->flag_offset) = true;
  return read_object(doc, item, field, base);
}

static struct status read_array(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  uint32_t *count = member_to(base, field->count_offset);
  if (!cJSON_IsArray(item) || (size_t)cJSON_GetArraySize(item) > field->capacity) {
    return json_error(doc, item, false, "must be an array of at most %zu objects", field->capacity);
  }
  for (const cJSON *element = item->child; element != NULL; element = element->next, ++*count) {
    void *out = member_to(base, field->offset + *count * field->stride);
    const struct status status = read_struct(doc, element, field, out);
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

static struct status read_numbers(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                  void *base) {
  struct numbers *out = member_to(base, field->offset);
  const int count = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : -1;
  if (count < 0 || (size_t)count > field->capacity)
    return json_error(doc, item, false, "must be an array of at most %zu numbers", field->capacity);
  double *value = numbers_keep((size_t)count);
  if (value == NULL) return status_make(STATUS_MEMORY, "no memory for %d numbers", count);
  *out = (struct numbers){.value = value};
  for (const cJSON *element = item->child; element != NULL; element = element->next) {
    if (!cJSON_IsNumber(element)) return json_error(doc, element, false, "must be a number");
    value[out->count++] = element->valuedouble;
  }
  return status_ok();
}

/* ---- the kinds ----------------------------------------------------------------------------------------------- */

static struct status read_flat(const struct json_doc *doc, const cJSON *object, const struct field *field,
                               void *base) {
  return fields_read_part(doc, object, field->fields, member_to(base, field->offset));
}

static struct status read_nothing(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                  void *base) {
  (void)doc, (void)item, (void)field, (void)base;
  return status_ok();
}

static const struct codec {
  bool (*write)(cJSON *, const struct field *, const void *base);
  struct status (*read)(const struct json_doc *, const cJSON *, const struct field *, void *base);
  bool has_unknown; /* the kind can say that a value is not known */
  bool (*write_nested)(cJSON *, const struct field *, const void *base, bool is_line); /* instead of write */
} codecs[] = {
    [FIELD_BOOL] = {write_bool, read_bool, false},
    [FIELD_U32] = {write_u32, read_u32, false},
    [FIELD_U64] = {write_u64, read_u64, false},
    [FIELD_U32X3] = {write_u32x3, read_u32x3, false},
    [FIELD_INDEX] = {write_u64, read_index, true},
    [FIELD_F64] = {write_f64, read_f64, true},
    [FIELD_TEXT] = {write_text, read_text, false},
    [FIELD_NAME] = {write_name, read_name, true},
    [FIELD_ENUM] = {write_enum, read_enum, false},
    [FIELD_BITS] = {write_bits, read_bits, false},
    [FIELD_LABEL] = {write_text, read_label, true},
    [FIELD_SETX3] = {write_setx3, read_setx3, false},
    [FIELD_OBJECT] = {NULL, read_object, false, write_object},
    [FIELD_OPTIONAL] = {NULL, read_optional, true, write_object},
    [FIELD_ARRAY] = {NULL, read_array, false, write_array},
    [FIELD_LIST] = {write_list, read_list, true},
    [FIELD_NUMBERS] = {write_numbers, read_numbers, true},
    [FIELD_PART] = {NULL, read_flat, true, write_part},
    [FIELD_GONE] = {write_nothing, read_nothing, true},
};

static struct status read_value(const struct json_doc *doc, const cJSON *item, const struct field *field,
                                void *base) {
  return codecs[field->kind].read(doc, item, field, base);
}

/* ---- what is unknown ----------------------------------------------------------------------------------------- */

bool fields_is_null(const struct field *field, const void *base) {
  if (field->known != NULL && !field->known(base)) return true;
  const void *member = member_of(base, field->offset);
  switch (field->kind) {
    case FIELD_OPTIONAL: return !*(const bool *)member_of(base, field->flag_offset);
    case FIELD_F64: return !isfinite(*(const double *)member);
    case FIELD_INDEX: return *(const uint64_t *)member == UINT64_MAX;
    case FIELD_LABEL: return *(const char *)member == '\0';
    case FIELD_NAME: return *(const char *const *)member == NULL;
    case FIELD_NUMBERS: return ((const struct numbers *)member)->value == NULL;
    default: return false;
  }
}

static bool is_left_out(const struct field *field, const void *base) {
  if (field->read_only) return true;
  if (!field->left_out) return false;
  return fields_is_null(field, base) || (field->kind == FIELD_BOOL && !*(const bool *)member_of(base, field->offset));
}

static void unknown_elements(const struct field *field, void *base) {
  for (size_t i = 0; i < field->capacity; ++i) {
    fields_unknown(field->fields, member_to(base, field->offset + i * field->stride));
  }
}

void fields_unknown(const struct field *fields, void *base) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    void *member = member_to(base, field->offset);
    switch (field->kind) {
      case FIELD_F64:
        if (!field->required) *(double *)member = NAN;
        break;
      case FIELD_INDEX: *(uint64_t *)member = UINT64_MAX; break;
      case FIELD_OBJECT:
      case FIELD_OPTIONAL:
      case FIELD_PART: fields_unknown(field->fields, member); break;
      case FIELD_ARRAY:
      case FIELD_LIST: unknown_elements(field, base); break;
      default: break;
    }
  }
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static bool write_null(cJSON *object, const struct field *field) {
  if (!add_item(object, field, cJSON_CreateNull())) return false;
  if (field->null_reason == NULL) return true;
  char key[KEY_MAX];
  snprintf(key, sizeof key, "%s_reason", field->key);
  return cJSON_AddStringToObject(object, key, field->null_reason) != NULL;
}

static bool may_be_absent(const struct field *field) {
  if (field->required) return false;
  return codecs[field->kind].has_unknown || field->optional || field->left_out || field->read_only;
}

static bool write_one(cJSON *object, const struct field *field, const void *base, bool is_line) {
  const struct codec *codec = &codecs[field->kind];
  if (object == NULL) return false;
  if (is_left_out(field, base)) return true;
  if (!fields_is_null(field, base))
    return codec->write_nested != NULL ? codec->write_nested(object, field, base, is_line)
                                       : codec->write(object, field, base);
  if (is_line) return may_be_absent(field) || add_item(object, field, cJSON_CreateNull());
  return write_null(object, field);
}

bool fields_write_one(cJSON *object, const struct field *field, const void *base) {
  return write_one(object, field, base, false);
}

static bool write_fields(cJSON *object, const struct field *fields, const void *base, bool is_line) {
  bool ok = object != NULL;
  for (const struct field *field = fields; field->key != NULL && ok; ++field)
    ok = write_one(object, field, base, is_line);
  return ok;
}

bool fields_write(cJSON *object, const struct field *fields, const void *base) {
  return write_fields(object, fields, base, false);
}

bool fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base) {
  if (!known) return cJSON_AddNullToObject(object, key) != NULL;
  return fields_write(cJSON_AddObjectToObject(object, key), fields, base);
}

char *fields_to_line(const struct field *fields, const void *base) {
  cJSON *object = cJSON_CreateObject();
  return json_text(object, write_fields(object, fields, base, true), false);
}

/* The keys that an object of a table may have. */
struct keys {
  const char *known[KEYS_MAX + 1];
  char text[KEYS_MAX][KEY_MAX];
  size_t count;
};

/* Once: several members may lie in one object of an older file. */
static void add_key(struct keys *keys, const char *key, size_t length, const char *suffix) {
  if (keys->count == KEYS_MAX) return;
  const size_t more = strlen(suffix);
  if (length + more >= KEY_MAX) return;
  memcpy(keys->text[keys->count], key, length);
  memcpy(keys->text[keys->count] + length, suffix, more + 1);
  for (size_t i = 0; i < keys->count; ++i) {
    if (strcmp(keys->text[i], keys->text[keys->count]) == 0) return;
  }
  keys->known[keys->count] = keys->text[keys->count];
  ++keys->count;
}

static void add_keys(struct keys *keys, const struct field *fields) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    const bool is_flat = field->kind == FIELD_PART || (field->alias != NULL && strcmp(field->alias, ".") == 0);
    if (field->kind != FIELD_PART) add_key(keys, field->key, strlen(field->key), "");
    if (field->null_reason != NULL) add_key(keys, field->key, strlen(field->key), "_reason");
    if (is_flat) {
      add_keys(keys, field->fields);
    } else if (field->alias != NULL) {
      add_key(keys, field->alias, strcspn(field->alias, "."), "");
    }
  }
}

static bool is_reason_of(const char *key, const struct field *field) {
  if (field->null_reason == NULL) return false;
  const size_t length = strlen(field->key);
  return strncmp(key, field->key, length) == 0 && strcmp(key + length, "_reason") == 0;
}

/* Behind what has keys of the table, in its order. */
static const cJSON *skip_ordered(const cJSON *item, const struct field *fields) {
  for (const struct field *field = fields; field->key != NULL && item != NULL; ++field) {
    if (field->kind == FIELD_PART) {
      item = skip_ordered(item, field->fields);
      continue;
    }
    if (strcmp(item->string, field->key) == 0) item = item->next;
    if (item != NULL && is_reason_of(item->string, field)) item = item->next;
  }
  return item;
}

static struct status check_keys(const struct json_doc *doc, const cJSON *object, const struct field *fields) {
  if (skip_ordered(object->child, fields) == NULL) return status_ok(); /* as every file of this version */
  struct keys keys;
  keys.count = 0; /* not the texts, which are many */
  add_keys(&keys, fields);
  keys.known[keys.count] = NULL;
  return json_check_keys(doc, object, keys.known);
}

/* The value at a path of keys; the object itself for ".". */
static const cJSON *find_path(const cJSON *object, const char *path) {
  const cJSON *item = object;
  for (const char *part = path; *part != '\0' && item != NULL; part += strspn(part, ".")) {
    const size_t length = strcspn(part, ".");
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%.*s", (int)length, part);
    if (length > 0) item = json_get(item, key);
    part += length;
  }
  return item;
}

/* The sibling that explains a null is for people: it must be a text, and is not kept. */
static struct status check_reason(const struct json_doc *doc, const cJSON *object, const struct field *field) {
  char key[KEY_MAX];
  snprintf(key, sizeof key, "%s_reason", field->key);
  const cJSON *reason = json_get(object, key);
  if (reason == NULL || cJSON_IsString(reason)) return status_ok();
  return json_error(doc, reason, false, "must be a string");
}

/* *next: where the key would be if the object has them in the order of the table, which is the order of writing. */
static struct status read_field(const struct json_doc *doc, const cJSON *object, const struct field *field,
                                const cJSON **next, void *base) {
  if (field->kind == FIELD_PART) return read_flat(doc, object, field, base);
  const cJSON *item =
      *next != NULL && strcmp((*next)->string, field->key) == 0 ? *next : json_get(object, field->key);
  if (item != NULL) *next = item->next;
  if (item == NULL && field->alias != NULL) item = find_path(object, field->alias);
  if (item == object) return read_flat(doc, object, field, base);
  if (item == NULL && may_be_absent(field)) return status_ok();
  if (item == NULL) return json_error(doc, object, false, "has no \"%s\"", field->key);
  if (cJSON_IsNull(item) && field->required) return json_error(doc, item, false, "must be known, but is null");
  const bool reads_null = field->kind == FIELD_INDEX || field->kind == FIELD_F64;
  if (cJSON_IsNull(item) && !reads_null && (field->known != NULL || may_be_absent(field))) return status_ok();
  return read_value(doc, item, field, base);
}

struct status fields_read_part(const struct json_doc *doc, const cJSON *object, const struct field *fields,
                               void *base) {
  if (!cJSON_IsObject(object)) return json_error(doc, object, false, "must be an object");
  struct status status = status_ok();
  const cJSON *next = object->child;
  for (const struct field *field = fields; field->key != NULL && !status_failed(&status); ++field) {
    status = read_field(doc, object, field, &next, base);
    if (!status_failed(&status) && field->null_reason != NULL) status = check_reason(doc, object, field);
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
  fields_unknown(fields, base);
  status = fields_read(&doc, doc.root, fields, base);
  json_free(&doc);
  return status;
}
