/* The strict JSON grammar (RFC 8259) as a scanner that builds nothing. cJSON accepts more than JSON and keeps no
 * positions; this scanner sees a text first, and finds the places of values in it afterwards. Beyond the grammar it
 * refuses what cJSON would change silently: invalid UTF-8, U+0000, numbers that overflow or exceed cJSON's buffer,
 * and nesting or strings beyond the limits of json.h. */
#ifndef ATTNBENCH_CLI_BASE_JSON_SCAN_H
#define ATTNBENCH_CLI_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_SCAN_NUMBER_MAX = 63 }; /* bytes of one number; cJSON cuts longer ones */
/* 2^53: from here on a double no longer holds every whole number. */
#define JSON_SCAN_LARGE 9007199254740992.0

/* Zeroed but for text and length at the start. After a failure `problem` is a static sentence about the byte at
 * `at`; when `wants` is set it names what was expected there and what was found is worth saying. */
struct json_scan {
  const char *text;
  size_t length;
  size_t at;
  unsigned depth;
  const char *problem;
  bool wants;
  bool has_large_number; /* JSON_SCAN_LARGE or more */
  size_t values;         /* seen so far, at any depth */
};

/* One document with nothing but white space around it. */
bool json_scan_document(struct json_scan *);

/* Offset of a value in a text that json_scan_document accepted. path[] holds the child's index at each level, from
 * the root on. at_key: offset of the key's opening quote, when the last level is an object. */
size_t json_scan_find(const char *text, size_t length, const size_t *path, size_t depth, bool at_key);

/* Line and column of an offset, both from 1; columns count bytes. */
void json_scan_position(const char *text, size_t offset, size_t *line, size_t *column);

/* Bytes of the well-formed UTF-8 character (RFC 3629) at `text`, with `left` bytes there; 0 when malformed. */
size_t json_scan_utf8(const char *text, size_t left);

#endif
