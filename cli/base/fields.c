/* Writes and reads C structs as JSON objects, as their tables say. */
#include "cli/base/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/numbers.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/utf8.h"

enum {
  KEY_MAX = 64,
  NAMES_TEXT_MAX = 256,
  KEYS_MAX = 160, /* of one object, with those of older files and those that explain nulls */
};

static const void *offset_in(const void *base, size_t offset) { return (const char *)base + offset; }
static void *offset_into(void *base, size_t offset) { return (char *)base + offset; }

static const char *known_name(const struct field *field, const char *text) {
  const char *name = NULL, *next;
  for (uint32_t i = 0; (next = field->name(i)) != NULL; ++i) {
    name = next;
    if (strcmp(name, text) == 0) break;
  }
  return name;
}

/* ---- members to items ---------------------------------------------------------------------------------------- */

/* A member that is to be written. Each of the functions below makes the item of one kind; NULL without memory. */
struct value {
  const struct field *field;
  const void *base;
  bool is_line; /* what is unknown is left out of objects */
};

static const void *element_at(const struct value *v, size_t i) {
  return offset_in(v->base, v->field->offset + i * v->field->stride);
}

static const void *member_of(const struct value *v) { return element_at(v, 0); }

static cJSON *bool_item(const struct value *v) { return cJSON_CreateBool(*(const bool *)member_of(v)); }

static cJSON *u32_item(const struct value *v) { return json_new_uint(*(const uint32_t *)member_of(v)); }

static cJSON *i32_item(const struct value *v) { return json_new_number(*(const int32_t *)member_of(v)); }

static cJSON *u64_item(const struct value *v) { return json_new_uint(*(const uint64_t *)member_of(v)); }

static cJSON *f64_item(const struct value *v) { return json_new_number(*(const double *)member_of(v)); }

/* Malformed UTF-8 (a foreign argv, a text cut inside a character) is replaced byte by byte: the text must still fit
 * when it is read back. */
static cJSON *text_item(const struct value *v) {
  cJSON *item = cJSON_CreateString(member_of(v));
  uint32_t character;
  for (char *at = item != NULL ? item->valuestring : NULL; at != NULL && *at != '\0';) {
    char *first = at;
    at += utf8_decode(at, &character);
    if (character == UTF8_MALFORMED) *first = '?';
  }
  return item;
}

static cJSON *name_item(const struct value *v) {
  const char *text = *(const char *const *)member_of(v);
  return json_new_string(v->field->name != NULL ? known_name(v->field, text) : text);
}

static cJSON *enum_item(const struct value *v) {
  uint32_t index;
  memcpy(&index, member_of(v), sizeof index);
  return json_new_string(v->field->name(index));
}

static cJSON *bits_item(const struct value *v) {
  uint64_t bits = *(const uint64_t *)member_of(v);
  cJSON *array = cJSON_CreateArray();
  for (uint32_t i = 0; bits != 0 && v->field->name(i) != NULL; ++i, bits >>= 1) {
    const bool last = v->field->name(i + 1) == NULL;
    if ((bits & 1) != 0 || last) json_append(array, cJSON_CreateString(v->field->name(i)));
  }
  return array;
}

static cJSON *array_item(const struct value *v, size_t count, cJSON *(*element)(const struct value *, size_t i)) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < count; ++i) json_append(array, element(v, i));
  return array;
}

static cJSON *u32_element(const struct value *v, size_t i) {
  return json_new_uint(((const uint32_t *)member_of(v))[i]);
}

static cJSON *u32x3_item(const struct value *v) { return array_item(v, 3, u32_element); }

void fields_set_text(unsigned bits, const char *(*name)(uint32_t index), char out[FIELDS_SET_TEXT_MAX]) {
  out[0] = '\0';
  for (uint32_t i = 0; name(i) != NULL; ++i) {
    if ((bits & 1u << i) != 0) text_append(out, FIELDS_SET_TEXT_MAX, "%s%s", out[0] != '\0' ? "*" : "", name(i));
  }
  if (out[0] == '\0') snprintf(out, FIELDS_SET_TEXT_MAX, "-");
}

static cJSON *set_element(const struct value *v, size_t i) {
  char text[FIELDS_SET_TEXT_MAX];
  fields_set_text(((const unsigned *)member_of(v))[i], v->field->name, text);
  return cJSON_CreateString(text);
}

static cJSON *setx3_item(const struct value *v) { return array_item(v, 3, set_element); }

static cJSON *number_element(const struct value *v, size_t i) {
  return json_new_number(((const struct numbers *)member_of(v))->value[i]);
}

static cJSON *numbers_item(const struct value *v) {
  return array_item(v, ((const struct numbers *)member_of(v))->count, number_element);
}

static void write_fields(cJSON *object, const struct field *fields, const void *base, bool is_line);

static cJSON *object_element(const struct value *v, size_t i) {
  cJSON *object = cJSON_CreateObject();
  write_fields(object, v->field->fields, element_at(v, i), v->is_line);
  return object;
}

static cJSON *object_item(const struct value *v) { return object_element(v, 0); }

static cJSON *counted_item(const struct value *v, cJSON *(*element)(const struct value *, size_t i)) {
  const uint32_t count = *(const uint32_t *)offset_in(v->base, v->field->count_offset);
  return array_item(v, count < v->field->capacity ? count : v->field->capacity, element);
}

static cJSON *objects_item(const struct value *v) { return counted_item(v, object_element); }

static cJSON *list_element(const struct value *v, size_t i) {
  return fields_item(v->field->fields, element_at(v, i));
}

static cJSON *list_item(const struct value *v) { return counted_item(v, list_element); }

static cJSON *hooked_item(const struct value *v) { return v->field->hooks->write(v->field, member_of(v)); }

/* ---- items to members ---------------------------------------------------------------------------------------- */

/* An item that is to be read, and the member that it is for. */
struct source {
  const struct json_doc *doc;
  const cJSON *item;
  const struct field *field;
  void *base;
};

static void *element_to(const struct source *s, size_t i) {
  return offset_into(s->base, s->field->offset + i * s->field->stride);
}

static void *member_to(const struct source *s) { return element_to(s, 0); }

static struct status refuse(const struct source *s, const char *why) {
  return json_error(s->doc, s->item, false, "%s", why);
}

static struct status read_bool(const struct source *s) {
  if (!cJSON_IsBool(s->item)) return refuse(s, "must be true or false");
  *(bool *)member_to(s) = cJSON_IsTrue(s->item);
  return status_ok();
}

static uint64_t field_max(const struct field *field) {
  if (field->max != 0) return field->max;
  return field->kind == FIELD_U64 || field->kind == FIELD_INDEX ? UINT64_MAX : UINT32_MAX;
}

static struct status read_u32_item(const struct source *s, const cJSON *item, uint32_t *out) {
  uint64_t value = 0;
  const struct status status = json_whole(s->doc, item, s->field->min, field_max(s->field), &value);
  *out = (uint32_t)value;
  return status;
}

static struct status read_u32(const struct source *s) { return read_u32_item(s, s->item, member_to(s)); }

static struct status read_i32(const struct source *s) {
  const double value = cJSON_IsNumber(s->item) ? s->item->valuedouble : NAN;
  if (!(value >= INT32_MIN && value <= INT32_MAX && value == floor(value)))
    return refuse(s, "must be a whole number of 32 bits");
  *(int32_t *)member_to(s) = (int32_t)value;
  return status_ok();
}

static struct status read_u64(const struct source *s) {
  return json_whole(s->doc, s->item, s->field->min, field_max(s->field), member_to(s));
}

static struct status read_index(const struct source *s) {
  if (!cJSON_IsNull(s->item)) return read_u64(s);
  *(uint64_t *)member_to(s) = UINT64_MAX;
  return status_ok();
}

static bool is_array_of(const cJSON *item, size_t count) {
  return cJSON_IsArray(item) && (size_t)cJSON_GetArraySize(item) == count;
}

static struct status read_u32x3(const struct source *s) {
  uint32_t *out = member_to(s);
  if (!is_array_of(s->item, 3)) return refuse(s, "must be an array of three whole numbers");
  for (const cJSON *element = s->item->child; element != NULL; element = element->next)
    TRY(read_u32_item(s, element, out++));
  return status_ok();
}

static struct status read_f64(const struct source *s) {
  const double min = (double)s->field->min, max = (double)s->field->max;
  if (!cJSON_IsNumber(s->item) && !cJSON_IsNull(s->item)) return refuse(s, "must be a number or null");
  const double value = cJSON_IsNumber(s->item) ? s->item->valuedouble : NAN;
  *(double *)member_to(s) = value;
  if (max == 0 || isnan(value) || (value >= min && value <= max)) return status_ok();
  return json_error(s->doc, s->item, false, "is %g, which it cannot be; from %g to %g is possible", value, min, max);
}

static struct status check_text(const struct source *s) {
  if (!cJSON_IsString(s->item)) return refuse(s, "must be a string");
  const size_t length = strlen(s->item->valuestring), capacity = s->field->capacity;
  if (length < capacity) return status_ok();
  return json_error(s->doc, s->item, false, "has %zu bytes, at most %zu fit", length, capacity - 1);
}

static struct status read_text(const struct source *s) {
  TRY(check_text(s));
  memcpy(member_to(s), s->item->valuestring, strlen(s->item->valuestring) + 1);
  return status_ok();
}

static struct status read_label(const struct source *s) { return cJSON_IsNull(s->item) ? status_ok() : read_text(s); }

static struct status read_name(const struct source *s) {
  if (cJSON_IsNull(s->item)) return status_ok(); /* the member arrived as NULL */
  const char **name = member_to(s);
  if (s->field->name == NULL) {
    *name = s->item->valuestring;
    return check_text(s);
  }
  if (!cJSON_IsString(s->item)) return refuse(s, "must be a string or null");
  *name = known_name(s->field, s->item->valuestring);
  return status_ok();
}

static struct status unknown_name(const struct source *s, const cJSON *item) {
  char names[NAMES_TEXT_MAX] = "";
  for (uint32_t i = 0; s->field->name(i) != NULL; ++i)
    text_append(names, sizeof names, "%s%s", i > 0 ? ", " : "", s->field->name(i));
  return json_error(s->doc, item, false, "is %s, but must be one of: %s", json_quote(item->valuestring).text, names);
}

/* Which of the field's names the item is; fails when it is none of them. */
static struct status find_name(const struct source *s, const cJSON *item, uint32_t *out) {
  const char *name;
  if (!cJSON_IsString(item)) return json_error(s->doc, item, false, "must be a string");
  for (*out = 0; (name = s->field->name(*out)) != NULL; ++*out) {
    if (strcmp(name, item->valuestring) == 0) return status_ok();
  }
  return unknown_name(s, item);
}

static struct status read_enum(const struct source *s) {
  uint32_t index;
  TRY(find_name(s, s->item, &index));
  memcpy(member_to(s), &index, sizeof index);
  return status_ok();
}

/* Older files have the bits as a number. */
static struct status read_bits(const struct source *s) {
  uint64_t *bits = member_to(s);
  uint32_t index;
  if (cJSON_IsNumber(s->item)) return json_whole(s->doc, s->item, 0, UINT64_MAX, bits);
  if (!cJSON_IsArray(s->item)) return refuse(s, "must be an array of names");
  for (const cJSON *element = s->item->child; element != NULL; element = element->next) {
    TRY(find_name(s, element, &index));
    *bits |= UINT64_C(1) << index;
  }
  return status_ok();
}

/* Older files have a set as the number of its bits. */
static bool read_set_number(const cJSON *element, const struct field *field, unsigned *out) {
  unsigned count = 0;
  while (field->name(count) != NULL) ++count;
  if (!cJSON_IsNumber(element) || !(element->valuedouble >= 0) || element->valuedouble >= (double)(1u << count))
    return false;
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

static struct status read_setx3(const struct source *s) {
  unsigned *out = member_to(s);
  if (!is_array_of(s->item, 3)) return refuse(s, "must be an array of three texts, one per grid axis");
  for (const cJSON *element = s->item->child; element != NULL; element = element->next, ++out) {
    if (cJSON_IsString(element) && fields_set_parse(element->valuestring, s->field->name, out)) continue;
    if (read_set_number(element, s->field, out)) continue;
    char names[FIELDS_SET_TEXT_MAX];
    fields_set_text(~0u, s->field->name, names);
    return json_error(s->doc, element, false, "is %s; give a product of %s, or \"-\"", json_describe(element).text,
                      names);
  }
  return status_ok();
}

static struct status read_struct(const struct source *s, const cJSON *item, void *out) {
  return s->field->open ? fields_read_part(s->doc, item, s->field->fields, out)
                        : fields_read(s->doc, item, s->field->fields, out);
}

static struct status read_object(const struct source *s) { return read_struct(s, s->item, member_to(s)); }

static struct status read_optional(const struct source *s) {
  if (cJSON_IsNull(s->item)) return status_ok();
  *(bool *)offset_into(s->base, s->field->flag_offset) = true;
  return read_object(s);
}

static struct status read_objects(const struct source *s) {
  uint32_t *count = offset_into(s->base, s->field->count_offset);
  if (!cJSON_IsArray(s->item) || (size_t)cJSON_GetArraySize(s->item) > s->field->capacity)
    return json_error(s->doc, s->item, false, "must be an array of at most %zu objects", s->field->capacity);
  for (const cJSON *element = s->item->child; element != NULL; element = element->next, ++*count)
    TRY(read_struct(s, element, element_to(s, *count)));
  return status_ok();
}

static struct status read_item(const struct source *s);

static struct status read_list(const struct source *s) {
  const uint32_t count = *(const uint32_t *)offset_in(s->base, s->field->count_offset);
  if (!is_array_of(s->item, count) || count > s->field->capacity)
    return json_error(s->doc, s->item, false, "must be an array of %u values", count);
  size_t i = 0;
  for (const cJSON *element = s->item->child; element != NULL; element = element->next)
    TRY(read_item(&(struct source){s->doc, element, s->field->fields, element_to(s, i++)}));
  return status_ok();
}

static struct status read_numbers(const struct source *s) {
  struct numbers *out = member_to(s);
  const int count = cJSON_IsArray(s->item) ? cJSON_GetArraySize(s->item) : -1;
  if (count < 0 || (size_t)count > s->field->capacity)
    return json_error(s->doc, s->item, false, "must be an array of at most %zu numbers", s->field->capacity);
  double *value = numbers_keep((size_t)count);
  if (value == NULL) return status_make(STATUS_MEMORY, "no memory for %d numbers", count);
  *out = (struct numbers){.value = value};
  for (const cJSON *element = s->item->child; element != NULL; element = element->next) {
    if (!cJSON_IsNumber(element)) return json_error(s->doc, element, false, "must be a number");
    value[out->count++] = element->valuedouble;
  }
  return status_ok();
}

static struct status read_hooked(const struct source *s) {
  return s->field->hooks->read(s->doc, s->item, s->field, member_to(s));
}

/* ---- the kinds ----------------------------------------------------------------------------------------------- */

/* Parts and keys of older files are neither written nor read as values. */
static const struct codec {
  cJSON *(*item)(const struct value *);
  struct status (*read)(const struct source *);
  bool has_unknown; /* the kind can say that a value is not known */
} codecs[] = {
    [FIELD_BOOL] = {bool_item, read_bool, false},
    [FIELD_U32] = {u32_item, read_u32, false},
    [FIELD_U64] = {u64_item, read_u64, false},
    [FIELD_I32] = {i32_item, read_i32, false},
    [FIELD_U32X3] = {u32x3_item, read_u32x3, false},
    [FIELD_INDEX] = {u64_item, read_index, true},
    [FIELD_F64] = {f64_item, read_f64, true},
    [FIELD_TEXT] = {text_item, read_text, false},
    [FIELD_NAME] = {name_item, read_name, true},
    [FIELD_ENUM] = {enum_item, read_enum, false},
    [FIELD_BITS] = {bits_item, read_bits, false},
    [FIELD_LABEL] = {text_item, read_label, true},
    [FIELD_SETX3] = {setx3_item, read_setx3, false},
    [FIELD_OBJECT] = {object_item, read_object, false},
    [FIELD_OPTIONAL] = {object_item, read_optional, true},
    [FIELD_ARRAY] = {objects_item, read_objects, false},
    [FIELD_LIST] = {list_item, read_list, true},
    [FIELD_NUMBERS] = {numbers_item, read_numbers, true},
    [FIELD_PART] = {NULL, NULL, true},
    [FIELD_HOOKED] = {hooked_item, read_hooked, false},
    [FIELD_GONE] = {NULL, NULL, true},
};

static cJSON *item_of(const struct value *v) {
  return fields_is_null(v->field, v->base) ? cJSON_CreateNull() : codecs[v->field->kind].item(v);
}

cJSON *fields_item(const struct field *field, const void *base) {
  return item_of(&(struct value){.field = field, .base = base});
}

static struct status read_item(const struct source *s) { return codecs[s->field->kind].read(s); }

static bool may_be_absent(const struct field *field) {
  if (field->required) return false;
  return codecs[field->kind].has_unknown || field->optional || field->left_out || field->left_out_at_0 ||
         field->read_only;
}

/* ---- what is unknown ----------------------------------------------------------------------------------------- */

static bool is_above_0(enum field_kind kind, const void *member) {
  if (kind == FIELD_F64) return *(const double *)member > 0;
  return kind == FIELD_U32 ? *(const uint32_t *)member > 0 : *(const uint64_t *)member > 0;
}

bool fields_is_null(const struct field *field, const void *base) {
  if (field->known != NULL && !field->known(base)) return true;
  const void *member = offset_in(base, field->offset);
  if (field->left_out_at_0 && !is_above_0(field->kind, member)) return true;
  switch (field->kind) {
    case FIELD_OPTIONAL: return !*(const bool *)offset_in(base, field->flag_offset);
    case FIELD_F64: return !isfinite(*(const double *)member);
    case FIELD_INDEX: return *(const uint64_t *)member == UINT64_MAX;
    case FIELD_LABEL: return *(const char *)member == '\0';
    case FIELD_NAME: return *(const char *const *)member == NULL;
    case FIELD_NUMBERS: return ((const struct numbers *)member)->value == NULL;
    default: return false;
  }
}

void fields_unknown(const struct field *fields, void *base) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    void *member = offset_into(base, field->offset);
    switch (field->kind) {
      case FIELD_F64:
        if (!field->required) *(double *)member = NAN;
        break;
      case FIELD_INDEX: *(uint64_t *)member = UINT64_MAX; break;
      case FIELD_OBJECT:
      case FIELD_OPTIONAL:
      case FIELD_PART: fields_unknown(field->fields, member); break;
      case FIELD_ARRAY:
      case FIELD_LIST:
        for (size_t i = 0; i < field->capacity; ++i)
          fields_unknown(field->fields, offset_into(member, i * field->stride));
        break;
      default: break;
    }
  }
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static bool is_left_out(const struct field *field, const void *base) {
  if (field->read_only || field->kind == FIELD_GONE) return true;
  if (!field->left_out && !field->left_out_at_0) return false;
  if (field->kind == FIELD_HOOKED) return field->hooks->is_absent(field, offset_in(base, field->offset));
  return fields_is_null(field, base) || (field->kind == FIELD_BOOL && !*(const bool *)offset_in(base, field->offset));
}

static void add_reason(cJSON *object, const struct field *field) {
  char key[KEY_MAX];
  snprintf(key, sizeof key, "%s_reason", field->key);
  json_add_string(object, key, field->null_reason);
}

static void write_one(cJSON *object, const struct value *v) {
  const struct field *field = v->field;
  if (is_left_out(field, v->base)) return;
  if (field->kind == FIELD_PART) {
    write_fields(object, field->fields, member_of(v), v->is_line);
    return;
  }
  const bool is_null = fields_is_null(field, v->base);
  if (is_null && v->is_line && may_be_absent(field)) return;
  cJSON *item = item_of(v);
  /* Keys of tables last: they are not copied. */
  if (!cJSON_AddItemToObjectCS(object, field->key, item)) cJSON_Delete(item);
  if (is_null && !v->is_line && field->null_reason != NULL) add_reason(object, field);
}

void fields_write_one(cJSON *object, const struct field *field, const void *base) {
  write_one(object, &(struct value){.field = field, .base = base});
}

static void write_fields(cJSON *object, const struct field *fields, const void *base, bool is_line) {
  struct value value = {.field = fields, .base = base, .is_line = is_line};
  for (; value.field->key != NULL; ++value.field) write_one(object, &value);
}

void fields_write(cJSON *object, const struct field *fields, const void *base) {
  write_fields(object, fields, base, false);
}

void fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base) {
  if (known) {
    fields_write(cJSON_AddObjectToObject(object, key), fields, base);
  } else {
    cJSON_AddNullToObject(object, key);
  }
}

char *fields_to_line(const struct field *fields, const void *base) {
  cJSON *object = cJSON_CreateObject();
  write_fields(object, fields, base, true);
  return json_text(object, false);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* The keys that an object of a table may have. */
struct keys {
  const char *known[KEYS_MAX + 1];
  char text[KEYS_MAX][KEY_MAX];
  size_t count;
};

/* Adds a key unless it is there already: several members may lie in one object of an older file. */
static void add_key(struct keys *keys, const char *key, size_t length, const char *suffix) {
  if (keys->count == KEYS_MAX || length + strlen(suffix) >= KEY_MAX) return;
  char *text = keys->text[keys->count];
  snprintf(text, KEY_MAX, "%.*s%s", (int)length, key, suffix);
  for (size_t i = 0; i < keys->count; ++i) {
    if (strcmp(keys->text[i], text) == 0) return;
  }
  keys->known[keys->count++] = text;
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

static struct status check_keys(const struct json_doc *doc, const cJSON *object, const struct field *fields) {
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

/* An object that is being read by the rows of a table. */
struct walk {
  const cJSON *next; /* where the next key is if the object has them in the order of the table, as it was written */
  size_t used;       /* keys that rows of the table have read */
};

/* Checks that the key "<key>_reason" beside a null is a text. It is for people and is not stored. */
static struct status check_reason(const struct source *s, struct walk *walk) {
  const cJSON *item = s->item->child;
  while (item != NULL && !is_reason_of(item->string, s->field)) item = item->next;
  walk->used += item != NULL;
  if (item != NULL && item == walk->next) walk->next = item->next;
  return item == NULL || cJSON_IsString(item) ? status_ok() : json_error(s->doc, item, false, "must be a string");
}

static struct status read_field(const struct source *object, struct walk *walk) {
  const struct field *field = object->field;
  const cJSON *next = walk->next;
  struct source s = *object;
  s.item = next != NULL && strcmp(next->string, field->key) == 0 ? next : json_get(object->item, field->key);
  if (s.item != NULL) *walk = (struct walk){s.item->next, walk->used + 1};
  if (s.item == NULL && field->alias != NULL) s.item = find_path(object->item, field->alias);
  if (s.item == object->item) return fields_read_part(s.doc, s.item, field->fields, member_to(&s));
  if (s.item == NULL && may_be_absent(field)) return status_ok();
  if (s.item == NULL) return json_error(s.doc, object->item, false, "has no \"%s\"", field->key);
  if (cJSON_IsNull(s.item) && field->required) return refuse(&s, "must be known, but is null");
  const bool reads_null = field->kind == FIELD_INDEX || field->kind == FIELD_F64;
  if (cJSON_IsNull(s.item) && !reads_null && (field->known != NULL || may_be_absent(field))) return status_ok();
  return field->kind == FIELD_GONE ? status_ok() : read_item(&s);
}

/* Reads the rows of the table that begins at source->field from the object source->item. */
static struct status read_rows(const struct source *object, struct walk *walk) {
  for (struct source s = *object; s.field->key != NULL; ++s.field) {
    const struct source part = {s.doc, s.item, s.field->fields, member_to(&s)};
    TRY(s.field->kind == FIELD_PART ? read_rows(&part, walk) : read_field(&s, walk));
    if (s.field->null_reason != NULL) TRY(check_reason(&s, walk));
  }
  return status_ok();
}

struct status fields_read_part(const struct json_doc *doc, const cJSON *object, const struct field *fields,
                               void *base) {
  const struct source s = {.doc = doc, .item = object, .field = fields, .base = base};
  struct walk walk = {.next = object->child};
  return cJSON_IsObject(object) ? read_rows(&s, &walk) : refuse(&s, "must be an object");
}

struct status fields_read(const struct json_doc *doc, const cJSON *object, const struct field *fields, void *base) {
  const struct source s = {.doc = doc, .item = object, .field = fields, .base = base};
  struct walk walk = {.next = object->child};
  if (!cJSON_IsObject(object)) return refuse(&s, "must be an object");
  const struct status status = read_rows(&s, &walk);
  /* A key that the table lacks, or one that stands twice, says more than what is missing for it. */
  if (status_failed(&status) || walk.used != (size_t)cJSON_GetArraySize(object)) TRY(check_keys(doc, object, fields));
  return status;
}

struct status fields_from_line(const char *what, const char *line, size_t length, const struct field *fields,
                               void *base) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  TRY(json_parse(what, line, length, &doc));
  fields_unknown(fields, base);
  return fields_read(&doc, doc.root, fields, base);
}
