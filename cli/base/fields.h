/* C structs as JSON objects. One table says both how a struct is written and how it is read, so that writer and
 * reader agree. A table is an array of struct field that ends with a NULL key:
 *
 *   static const struct field point_fields[] = {
 *       FIELD("x", F64, struct point, x), FIELD("n", U32, struct point, n, .min = 1), {0}};
 *
 * Numbers that are not finite are written as null, and null is read back as NAN. */
#pragma once

#include <stddef.h>

#include "cli/base/json.h"

/* The C type of a member, and what it is in JSON. */
enum field_kind {
  FIELD_BOOL,     /* bool */
  FIELD_U32,      /* uint32_t from min to max */
  FIELD_I32,      /* int32_t */
  FIELD_U64,      /* uint64_t from min to max */
  FIELD_INDEX,    /* uint64_t from min to max; UINT64_MAX means no index and is null */
  FIELD_U32X3,    /* uint32_t[3], each from min to max: an array of three */
  FIELD_F64,      /* double; with a max, from min to max, or unknown */
  FIELD_TEXT,     /* char[capacity] */
  FIELD_LABEL,    /* char[capacity]; the empty text is null */
  FIELD_NAME,     /* const char *: one of the names of name(), in static storage, or any text; NULL is null */
  FIELD_ENUM,     /* an enum: its name */
  FIELD_BITS,     /* uint64_t: an array of the names of the bits set. Bits past the last name count as the last. */
  FIELD_SETX3,    /* unsigned[3]: an array of three texts as fields_set_text makes them */
  FIELD_OBJECT,   /* a struct with the table `fields` */
  FIELD_OPTIONAL, /* a struct with the table `fields`; null unless the bool at flag_offset is set */
  FIELD_ARRAY, /* structs with the table `fields`, `stride` bytes apart. The uint32_t at count_offset is their number,
                * at most `capacity`; reading sets it. */
  FIELD_LIST,  /* plain values, `stride` bytes apart. The first row of `fields` describes each value; its key is not
                * used. The count is an earlier field of the table, and reading wants as many values. */
  FIELD_NUMBERS, /* struct numbers of at most capacity values; reading keeps them (numbers.h) */
  FIELD_PART,    /* the rows of `fields`, in the same object; the key is not written, it only names the rows */
  FIELD_HOOKED,  /* `hooks` write and read the member */
  FIELD_GONE,    /* a key of older files: its value is ignored, and the key is never written */
};

struct field;

/* The functions of a row of kind HOOKED, for a value that no other kind describes. `member` is the row's member. */
struct field_hooks {
  bool (*is_absent)(const struct field *, const void *member); /* true: a row that is `left_out` is not written */
  cJSON *(*write)(const struct field *, const void *member);   /* NULL without memory (json.h) */
  struct status (*read)(const struct json_doc *, const cJSON *item, const struct field *, void *member);
  void (*text)(const struct field *, const void *member, char *out, size_t size); /* for CSV */
};

/* A row of a table: a key of the object and the member of the struct with its value.
 *
 * A key may be absent where its value can be unknown: F64 (then NAN), INDEX, LABEL, NAME, OPTIONAL, LIST and NUMBERS,
 * and every row that is `optional` or `left_out`. A new row of these kinds leaves every older file readable. Any
 * other key must be there. */
struct field {
  const char *key;
  enum field_kind kind;
  size_t offset;     /* of the member; this and the other offsets count from the start of the table's struct */
  uint64_t min, max; /* max 0: the largest of the type */
  size_t capacity;
  /* The names of NAME, ENUM, BITS and SETX3; NULL past the last index. A NAME that is not among them is written and
   * read as the last one. A NAME of a row without name() is written unchanged. It is read, when it is shorter than
   * `capacity`, as a pointer into the document. */
  const char *(*name)(uint32_t index);
  const struct field *fields;
  const struct field_hooks *hooks;
  size_t flag_offset, count_offset, stride;
  bool (*known)(const void *base); /* false: the value is written as null; reading a null leaves the member alone */
  const char *null_reason; /* written beside a null under the key "<key>_reason"; NULL: no reason is written */
  /* Where the value is looked for when the key is absent, as in older files: another key, a path of keys
   * ("guard.first"), or "." when the keys of an OBJECT are keys of the outer object. */
  const char *alias;
  const char *column; /* the CSV column's name; NULL: the key; "": no column */
  bool optional;      /* an absent key or a null leaves the member as it is */
  bool left_out;      /* optional, and not written while it is null or false */
  bool left_out_at_0; /* the same of a U32, U64 or F64 that is known while it is above 0 */
  bool required;      /* the key must be there and not null, whatever the kind */
  bool read_only;     /* a key of older files: read when it is there, never written */
  bool open;          /* the object may have keys that the table lacks, for other tables to read */
};

#define FIELD(key_, kind_, type, member, ...) \
  { .key = (key_), .kind = FIELD_##kind_, .offset = offsetof(type, member), __VA_ARGS__ }
#define FIELD_TEXT_OF(key_, type, member, ...) \
  FIELD(key_, TEXT, type, member, .capacity = sizeof((type *)0)->member, __VA_ARGS__)
#define FIELD_LABEL_OF(key_, type, member, ...) \
  FIELD(key_, LABEL, type, member, .capacity = sizeof((type *)0)->member, __VA_ARGS__)
/* A struct that is known when the bool `flag` of the outer struct is set, else null. */
#define FIELD_IF(key_, type, member, flag, fields_, ...) \
  FIELD(key_, OPTIONAL, type, member, .flag_offset = offsetof(type, flag), .fields = (fields_), __VA_ARGS__)
/* An array of structs, of which the uint32_t `count` of the outer struct says how many there are. */
#define FIELD_ARRAY_OF(key_, type, member, count, fields_, ...)                                                     \
  FIELD(key_, ARRAY, type, member, .fields = (fields_), .count_offset = offsetof(type, count),                      \
        .capacity = sizeof((type *)0)->member / sizeof *((type *)0)->member, .stride = sizeof *((type *)0)->member, \
        __VA_ARGS__)
/* The rows of another table of the same struct. */
#define FIELD_PART_OF(name_, fields_) \
  { .key = (name_), .kind = FIELD_PART, .fields = (fields_) }

/* Adds every field of the struct at `base` to `object`. A lack of memory shows in json_text, as with the writing
 * functions of json.h. */
void fields_write(cJSON *object, const struct field *fields, const void *base);
/* Adds the one field. */
void fields_write_one(cJSON *object, const struct field *field, const void *base);
/* The value of the one field, null where it is not known. The caller owns it; NULL without memory. */
cJSON *fields_item(const struct field *field, const void *base);
/* Would this field be written as null? */
bool fields_is_null(const struct field *field, const void *base);

/* Adds the struct at `base` to `object` as an object of its own, or null when it is not known. */
void fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base);

/* The struct as one line of JSON, which the caller frees; NULL when out of memory. A key that may be absent is left
 * out when its value would be null, together with the reason for the null. */
char *fields_to_line(const struct field *fields, const void *base);

/* Makes every field of a zeroed struct unknown: NAN, or UINT64_MAX for an INDEX. Required fields and fields of kinds
 * without an unknown value stay zero. */
void fields_unknown(const struct field *fields, void *base);

/* Fills the struct at `base`, which the caller has zeroed or given to fields_unknown. STATUS_INPUT names a field that
 * is missing, of another type, or not in the table. */
struct status fields_read(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);
/* The same for an object that also has keys of other tables; those keys are ignored. */
struct status fields_read_part(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);

enum { FIELDS_SET_TEXT_MAX = 32 };
/* The names of the bits set with '*' between: "B", "H*Q"; "-" for none. */
void fields_set_text(unsigned bits, const char *(*name)(uint32_t index), char out[FIELDS_SET_TEXT_MAX]);

/* The reverse of fields_set_text; false when the text has any other name. */
bool fields_set_parse(const char *text, const char *(*name)(uint32_t index), unsigned *out);

/* The reverse of fields_to_line; error messages begin with `what`. */
struct status fields_from_line(const char *what, const char *line, size_t length, const struct field *fields,
                               void *base);
