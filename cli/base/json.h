/* Strict reading and exact writing on top of cJSON.
 * Reading: size, UTF-8, control bytes, depth and syntax are checked before cJSON sees the text; errors carry
 * file:line:column. Only case-sensitive look-ups, never valueint. Writing: numbers are the shortest text that reads
 * back to the same double; non-finite numbers become null. */
#ifndef ATTNBENCH_CLI_BASE_JSON_H
#define ATTNBENCH_CLI_BASE_JSON_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "kernels/status.h"

enum { JSON_FILE_BYTES_MAX = 1 << 20, JSON_DEPTH_MAX = 16, JSON_STRING_MAX = 32768 };
/* Values of a document beyond the first million: one in as many bytes. Read, each takes many times the memory of a
 * short number's text. */
enum { JSON_VALUES_FREE = 1 << 20, JSON_VALUE_BYTES_LEAST = 6 };

/* A number from 2^53 on, and where its digits are in the text. */
struct json_large {
  const cJSON *item;
  size_t offset;
};

/* A parsed document with its text, for positions. */
struct json_doc {
  char path[PATH_MAX];
  char *text; /* NUL-terminated copy */
  size_t length;
  const cJSON *root;        /* not to be changed: it lies in the blocks */
  struct json_large *large; /* by item */
  size_t large_count;
  struct json_block *blocks;
};

/* Has cJSON allocate here, as it does from the program's start. For tests, after hooks of their own. */
void json_take_allocations(void);

/* Reads a regular file, or with the path "-" stdin, of at most max_bytes whole. *text is malloc'ed, NUL-terminated,
 * the caller's. */
struct status json_read_file(const char *path, size_t max_bytes, char **text, size_t *length);

/* Parses strictly. On success the caller frees with json_free. */
struct status json_parse(const char *path, const char *text, size_t length, struct json_doc *out);
/* The same of a malloc'ed text that ends with NUL behind its length and is the document's from now on, also when this
 * fails. */
struct status json_adopt(const char *path, char *text, size_t length, struct json_doc *out);
void json_free(struct json_doc *);
/* Reads a file and parses it; the same as the two calls above. */
struct status json_load(const char *path, size_t max_bytes, struct json_doc *out);

/* STATUS_INPUT whose text is "path:line:column: pointer " followed by the message, where pointer is like grid[0].D[2]
 * and the position is that of `item` (or of `item`'s key when at_key). */
struct status json_error(const struct json_doc *, const cJSON *item, bool at_key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The line that `item` begins on, from 1; for messages that name a second place. */
size_t json_line(const struct json_doc *, const cJSON *item);

enum { JSON_VALUE_TEXT_MAX = 64 };
/* Text of any origin the way messages show it: in quotes, without control bytes, cut when long. */
void json_quote(const char *text, char out[JSON_VALUE_TEXT_MAX]);
/* A value the way messages name it: 72, "f17", true, an array. */
void json_describe(const cJSON *item, char out[JSON_VALUE_TEXT_MAX]);

/* A child by exact name; NULL when absent. */
const cJSON *json_get(const cJSON *object, const char *key);

/* Fails on the first key of `object` not in the NULL-ended `known`, or standing twice; offers the nearest. */
struct status json_check_keys(const struct json_doc *, const cJSON *object, const char *const *known);

/* Fails when a key appears twice in any object of the document, whatever the keys: readers would differ in which they
 * take. */
struct status json_check_unique(const struct json_doc *);

/* A whole number in [min, max]. */
struct status json_whole(const struct json_doc *, const cJSON *item, uint64_t min, uint64_t max, uint64_t *out);

/* The entry of NULL-ended `names` nearest to `text` by edit distance, or NULL when none is within 3 edits (2 for
 * names of up to four characters). */
const char *json_nearest(const char *text, const char *const *names);

/* ---- writing ------------------------------------------------------------------------------------------------- */

void json_add_number(cJSON *object, const char *key, double value); /* null when not finite */
void json_add_uint(cJSON *object, const char *key, uint64_t value); /* exact for all 64 bits */
void json_add_string(cJSON *object, const char *key, const char *value);
cJSON *json_new_string(const char *value); /* NULL without memory */
void json_add_bool(cJSON *object, const char *key, bool value);
/* A new object at the end of the array; NULL when memory is out, also before: an array of NULL. */
cJSON *json_add_element(cJSON *array);
/* Shortest decimal text of a finite double that reads back to it; locale-independent. */
void json_format_number(double value, char out[32]);
/* The document as text, which is the caller's; frees the document. NULL when it may not be whole: is_whole is false,
 * or an allocation of any document was refused in this process, since cJSON leaves out what it has no memory for. */
char *json_text(cJSON *root, bool is_whole, bool indented);
/* Writes the document and a newline, and frees it. STATUS_MEMORY, naming `what`, when it is not whole (is_whole
 * false) or does not print; nothing is written then. */
struct status json_write(cJSON *root, bool is_whole, const char *what, FILE *file);
/* The same with elements in a list of the root that is empty. They are made one by one and kept as text: a tree of
 * all of them would take many times the memory. */
struct json_list {
  const char *key;
  size_t count;
  cJSON *(*element)(const void *of, size_t index); /* the caller's; NULL without memory */
  const void *of;
};
struct status json_write_list(cJSON *root, bool is_whole, const struct json_list *, const char *what, FILE *file);

#endif
