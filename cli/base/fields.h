/* A C struct as a JSON object, both ways from one table: what the writer writes is what the reader reads, so the two
 * cannot disagree. A table is an array of struct field that ends with a NULL key:
 *
 *   static const struct field point_fields[] = {
 *       FIELD("x", F64, struct point, x), FIELD("n", U32, struct point, n, .min = 1), {0}};
 *
 * Non-finite numbers become null; null is read back as NAN. */
#ifndef ATTNBENCH_CLI_BASE_FIELDS_H
#define ATTNBENCH_CLI_BASE_FIELDS_H

#include <stddef.h>

#include "cli/base/json.h"

/* The C type of the member, and its JSON. */
enum field_kind {
  FIELD_BOOL,     /* bool */
  FIELD_U32,      /* uint32_t in [min, max]; max 0 = all of the type */
  FIELD_U64,      /* uint64_t, likewise */
  FIELD_INDEX,    /* uint64_t, UINT64_MAX for none: null */
  FIELD_U32X3,    /* uint32_t[3], likewise: an array of three */
  FIELD_F64,      /* double */
  FIELD_TEXT,     /* char[capacity] */
  FIELD_LABEL,    /* likewise, the empty text as null */
  FIELD_NAME,     /* const char * into static storage, or NULL (null); read back through name() */
  FIELD_ENUM,     /* an enum, written as name(value) */
  FIELD_BITS,     /* uint64_t: an array of the names of the bits set; bits past the last name count as it */
  FIELD_SETX3,    /* unsigned[3]: an array of three texts, the names of the bits set with '*' between, "-" for none */
  FIELD_OBJECT,   /* a struct, by the table `fields` */
  FIELD_OPTIONAL, /* likewise, null unless the bool at flag_offset is set */
  FIELD_ARRAY,    /* uint32_t count at count_offset; elements `stride` apart, at most capacity */
  FIELD_LIST,     /* likewise, of plain values as the first of `fields` says, whose key is of no concern; the count is
                   * a field of its own that stands earlier in the table, and reading wants as many elements */
  FIELD_NUMBERS,  /* struct numbers of at most `capacity`: an array, which reading keeps (numbers.h) */
  FIELD_PART,     /* the rows of `fields` in the same object; the key only names the part */
  FIELD_GONE,     /* older files have the key: it is accepted, and neither read nor written */
};

/* May a key be absent? A value that can say "unknown" may: F64 (NAN), INDEX, LABEL, NAME, OPTIONAL, LIST, NUMBERS,
 * and any field that is `optional` or `left_out`. So a new field of these kinds leaves every older file readable. The
 * other kinds must be there. */
struct field {
  const char *key;
  enum field_kind kind;
  size_t offset; /* this and the other offsets count from the start of the struct that the table is of */
  uint64_t min, max;
  size_t capacity;
  /* NULL past the last index. A FIELD_NAME that is not among them is written and read as the last of them; without
   * name() it is written as it is and cannot be read. */
  const char *(*name)(uint32_t index);
  const struct field *fields;
  size_t flag_offset, count_offset, stride;
  bool (*known)(const void *base); /* false: the value is unknown and null, which reading leaves alone */
  const char *null_reason;         /* beside a null as "<key>_reason"; NULL: no such sibling */
  const char
      *alias; /* where older files have the value when the key is absent: another key, a path ("guard.first"), or
               * "." when they have the rows of an OBJECT in the outer object itself */
  const char *column; /* in CSV instead of the key; "" for no column */
  bool optional;      /* reading leaves the member as it is when the key is absent or null */
  bool left_out;      /* optional, and not written when it is false, not set, empty or not known */
  bool required;      /* must be there and not null, whatever the kind */
  bool read_only;     /* a key of older files: read when it is there, never written */
  bool open;          /* the objects below have keys of other tables too, which are not looked at */
};

#define FIELD(key_, kind_, type, member, ...) \
  { .key = (key_), .kind = FIELD_##kind_, .offset = offsetof(type, member), __VA_ARGS__ }
#define FIELD_TEXT_OF(key_, type, member, ...) \
  FIELD(key_, TEXT, type, member, .capacity = sizeof((type *)0)->member, __VA_ARGS__)
#define FIELD_LABEL_OF(key_, type, member, ...) \
  FIELD(key_, LABEL, type, member, .capacity = sizeof((type *)0)->member, __VA_ARGS__)
/* A struct that is there when the bool `flag` of the outer struct is set. */
#define FIELD_IF(key_, type, member, flag, fields_, ...) \
  FIELD(key_, OPTIONAL, type, member, .flag_offset = offsetof(type, flag), .fields = (fields_), __VA_ARGS__)
/* The rows of another table of the same struct. */
#define FIELD_PART_OF(name_, fields_) \
  { .key = (name_), .kind = FIELD_PART, .fields = (fields_) }

/* Adds every field of the struct at `base` to `object`. False when out of memory. */
bool fields_write(cJSON *object, const struct field *fields, const void *base);
/* Adds the one field. */
bool fields_write_one(cJSON *object, const struct field *field, const void *base);
/* Would this field be written as null? */
bool fields_is_null(const struct field *field, const void *base);

/* Adds the struct at `base` to `object` as an object of its own, or null when it is not known. False when out of
 * memory. */
bool fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base);

/* The object as one line of JSON without what is unknown and may be absent, nor the reasons for it, which the table
 * has; malloc'ed, the caller's; NULL when out of memory. */
char *fields_to_line(const struct field *fields, const void *base);

/* Makes every field of a zeroed struct unknown: NAN or no index; it stays zero where a kind has no unknown value or
 * the field is required. */
void fields_unknown(const struct field *fields, void *base);

/* Fills the struct at `base`, which arrives zeroed or unknown. A missing, unknown or ill-typed field is STATUS_INPUT
 * naming it. */
struct status fields_read(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);
/* The same for an object that several tables describe: keys of other tables are not looked at. */
struct status fields_read_part(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);

enum { FIELDS_SET_TEXT_MAX = 32 };
/* "B", "H*Q", "-": the names of the bits set. */
void fields_set_text(unsigned bits, const char *(*name)(uint32_t index), char out[FIELDS_SET_TEXT_MAX]);

/* The reverse; false when the text names anything else. */
bool fields_set_parse(const char *text, const char *(*name)(uint32_t index), unsigned *out);

/* The reverse of fields_to_line; `what` leads error messages. */
struct status fields_from_line(const char *what, const char *line, size_t length, const struct field *fields,
                               void *base);

#endif
