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
  FIELD_OPTIONAL, /* likewise, null unless its bool at flag_offset (from the start of that struct) is set */
  FIELD_ARRAY,    /* uint32_t count at count_offset of the outer struct; elements `stride` apart, at most capacity */
  FIELD_LIST, /* likewise, of plain values as the first of `fields` says, whose key is of no concern; the count is a
               * field of its own that stands earlier in the table, and reading wants as many elements */
};

struct field {
  const char *key;
  enum field_kind kind;
  size_t offset;
  uint64_t min, max;
  size_t capacity;
  /* NULL past the last index. A FIELD_NAME that is not among them is written as the last of them; without name() it
   * is written as it stands and cannot be read. */
  const char *(*name)(uint32_t index);
  const struct field *fields;
  size_t flag_offset, count_offset, stride;
  const char *null_reason; /* F64: written beside a null as "<key>_reason"; NULL: no such sibling */
  bool optional; /* reading leaves the member as it is when the key is not there; a BOOL that is false and an
                  * OPTIONAL that is not set are then not written */
};

#define FIELD(key_, kind_, type, member, ...) \
  { .key = (key_), .kind = FIELD_##kind_, .offset = offsetof(type, member), __VA_ARGS__ }
#define FIELD_TEXT_OF(key_, type, member) FIELD(key_, TEXT, type, member, .capacity = sizeof((type *)0)->member)

/* Adds every field of the struct at `base` to `object`. False when out of memory. */
bool fields_write(cJSON *object, const struct field *fields, const void *base);

/* Adds the struct at `base` to `object` as an object of its own, or null when it is not known. False when out of
 * memory. */
bool fields_add(cJSON *object, const char *key, bool known, const struct field *fields, const void *base);

/* The object as one line of JSON, malloc'ed, the caller's; NULL when out of memory. */
char *fields_to_line(const struct field *fields, const void *base);

/* Fills the zeroed struct at `base`. A missing, unknown or ill-typed field is STATUS_INPUT naming it. */
struct status fields_read(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);
/* The same for an object that several tables describe: keys of other tables are not looked at. */
struct status fields_read_part(const struct json_doc *, const cJSON *object, const struct field *fields, void *base);

enum { FIELDS_SET_TEXT_MAX = 32 };
/* "B", "H*Q", "-": the names of the bits set. */
void fields_set_text(unsigned bits, const char *(*name)(uint32_t index), char out[FIELDS_SET_TEXT_MAX]);

/* The reverse of fields_to_line; `what` leads error messages. */
struct status fields_from_line(const char *what, const char *line, size_t length, const struct field *fields,
                               void *base);

#endif
