/* Reads a text strictly as JSON (RFC 8259), in one pass, into a tree of cJSON's types with the offset of each value.
 * cJSON's own parser accepts more than JSON and keeps no offsets. Beyond the grammar, this parser refuses text that a
 * C string or a double cannot hold (invalid UTF-8, U+0000, numbers that overflow), and nesting, strings and numbers
 * beyond the limits of json.h. */
#pragma once

#include "cli/base/json.h"

/* A value of the tree. */
struct json_node {
  cJSON item;       /* first, so that a pointer to it leads to the node */
  size_t start;     /* of the value, in bytes from the start of the text */
  size_t key_start; /* of its key's opening quote; the same as start when it has no key */
};

/* The caller fills text and length and zeroes the rest. */
struct json_reader {
  char *text; /* with a NUL after `length` bytes. The reader overwrites it: a string without escapes is used in
                 place, and its closing quote becomes a NUL */
  size_t length;

  size_t at; /* bytes read so far; on failure the offset of the error */
  const char *problem;
  bool wants; /* `problem` says what was expected at `at`, so the message adds what was found there */
  unsigned depth;

  size_t values; /* in the text, at any depth */
  bool lacks_memory;
  struct json_node *root;
  struct json_block *blocks; /* the memory of the tree; the caller frees it with json_reader_free */
  struct json_node dropped;
};

/* Reads one document with nothing but white space around it. False: the text is not JSON, and `problem` says why. The
 * tree is complete only when lacks_memory is false and json_reader_has_too_many says no. */
bool json_reader_read(struct json_reader *);

/* Does the text have more values than json.h allows for its length? The tree holds no values beyond that limit. */
bool json_reader_has_too_many(const struct json_reader *);

void json_reader_free(struct json_block *);
