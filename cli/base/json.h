/* Strict reading and exact writing of JSON, in cJSON's types.
 * Reading: the text must be UTF-8 and JSON to the letter, within the limits below; errors carry file:line:column.
 * valueint is not set. Writing: numbers are the shortest text that reads back to the same double, non-finite numbers
 * become null, and characters that would control a terminal are written as escapes. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "kernels/status.h"

enum { JSON_FILE_BYTES_MAX = 1 << 20, JSON_DEPTH_MAX = 16, JSON_STRING_MAX = 32768, JSON_NUMBER_BYTES_MAX = 63 };
/* A document may have at most JSON_VALUES_FREE values, or one value per JSON_VALUE_BYTES_LEAST bytes of its text when
 * that is more. The limit bounds memory: a parsed value takes many times the bytes of a short number. */
enum { JSON_VALUES_FREE = 1 << 20, JSON_VALUE_BYTES_LEAST = 6 };

/* A parsed document. `blocks` hold its items and `text` their strings, so the items must not be changed and live no
 * longer than the document. */
struct json_doc {
  char path[PATH_MAX];
  char *text;
  size_t length;
  const cJSON *root;
  struct json_block *blocks;
};

/* Makes cJSON use the allocators of json.c, as it does from the program's start. For tests that have set other hooks.
 */
void json_take_allocations(void);

/* Reads a whole regular file, or stdin for the path "-", of at most max_bytes. *text ends with NUL; the caller frees
 * it. */
struct status json_read_file(const char *path, size_t max_bytes, char **text, size_t *length);

/* Parses strictly. On success the caller frees with json_free. */
struct status json_parse(const char *path, const char *text, size_t length, struct json_doc *out);
/* The same for a malloc'ed text with a NUL after `length` bytes. Takes ownership of the text, also on failure. */
struct status json_adopt(const char *path, char *text, size_t length, struct json_doc *out);
void json_free(struct json_doc *);
/* Reads a file and parses it: json_read_file, then json_adopt. */
struct status json_load(const char *path, size_t max_bytes, struct json_doc *out);

/* STATUS_INPUT with the text "path:line:column: pointer " and the message. The pointer is like grid[0].D[2]. The
 * position is that of the item, or of its key when at_key is true. The item belongs to the document; for one that is
 * missing, NULL stands for the root. */
struct status json_error(const struct json_doc *, const cJSON *item, bool at_key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* json_error whose message begins with the item's value, such as "is 72; "; the given message says what is allowed.
 */
struct status json_refuse(const struct json_doc *, const cJSON *item, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The line that `item` begins on, from 1; for messages that name a second place. */
size_t json_line(const struct json_doc *, const cJSON *item);

/* A value as messages show it, to stand among their arguments: json_quote(text).text. */
struct json_shown {
  char text[64];
};
/* A text of any origin, in quotes, with escapes for characters that would control a terminal, cut when long. */
struct json_shown json_quote(const char *text);
/* 72, "f17", true, an array, an empty array. */
struct json_shown json_describe(const cJSON *item);

/* A child by exact name; NULL when absent. */
const cJSON *json_get(const cJSON *object, const char *key);
/* The same, but fails when the key is absent; `remedy` ends the message. */
struct status json_need(const struct json_doc *, const cJSON *object, const char *key, const char *remedy,
                        const cJSON **out);

/* Fails when `object` has a key that is not in the NULL-ended `known`, or the same key twice. The message offers the
 * nearest known key. JSON_CHECK_KEYS takes the known keys as arguments. */
struct status json_check_keys(const struct json_doc *, const cJSON *object, const char *const *known);
#define JSON_CHECK_KEYS(doc, object, ...) json_check_keys(doc, object, (const char *const[]){__VA_ARGS__, NULL})

/* Fails when any object of the document has the same key twice: readers differ in which of the two values they take.
 */
struct status json_check_unique(const struct json_doc *);

/* Reads a whole number in [min, max]. */
struct status json_whole(const struct json_doc *, const cJSON *item, uint64_t min, uint64_t max, uint64_t *out);

/* The entry of NULL-ended `names` nearest to `text` by edit distance, or NULL when none is within 3 edits (2 for
 * names of up to four characters). */
const char *json_nearest(const char *text, const char *const *names);

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* Callers need not check every step for a lack of memory: the functions below accept the NULL that another one
 * returned. A failed allocation is recorded for the rest of the process, and json_text then returns NULL. */

/* A new item without a parent; NULL without memory. */
cJSON *json_new_number(double value); /* null when not finite */
cJSON *json_new_uint(uint64_t value); /* exact for all 64 bits */
cJSON *json_new_string(const char *value);
/* Puts the item under a key of the object, or at the end of the array, which owns it from now on. */
void json_add_item(cJSON *object, const char *key, cJSON *item);
void json_append(cJSON *array, cJSON *item);
/* The same with a new item. */
void json_add_number(cJSON *object, const char *key, double value);
void json_add_uint(cJSON *object, const char *key, uint64_t value);
void json_add_string(cJSON *object, const char *key, const char *value); /* NULL is null */
void json_add_bool(cJSON *object, const char *key, bool value);
/* A new object at the end of the array. */
cJSON *json_add_element(cJSON *array);
enum { JSON_NUMBER_TEXT_MAX = 32 };
/* The shortest decimal text that reads back to the same finite double, in any locale. */
void json_format_number(double value, char out[JSON_NUMBER_TEXT_MAX]);
/* The document as text, which the caller frees; frees the document. NULL once any allocation for a document failed in
 * this process, since cJSON silently leaves out items that it cannot allocate. */
char *json_text(cJSON *root, bool indented);
/* STATUS_MEMORY, naming `what`, once any allocation for a document failed in this process. */
struct status json_check_memory(const char *what);
/* Writes the document and a newline, and frees the document. STATUS_MEMORY, naming `what`, when json_text returns
 * NULL; nothing is written then. */
struct status json_write(cJSON *root, const char *what, FILE *file);
/* The key of a file that ends with a checksum (hash.h): where the checksum was removed, the key says so. */
#define JSON_HAS_CHECKSUM "has_checksum"
/* A list whose elements json_write_list puts into the empty array under `key` of the root. Elements are made one by
 * one and kept as text: a tree of all elements would take many times the memory. */
struct json_list {
  const char *key;
  size_t count;
  cJSON *(*element)(const void *of, size_t index); /* makes one element; ownership passes to json_write_list */
  const void *of;
};
/* json_write with the elements of the list. A root with the key JSON_HAS_CHECKSUM gets a checksum. */
struct status json_write_list(cJSON *root, const struct json_list *, const char *what, FILE *file);
