/* Checksums of JSON texts: the last member of a text, "checksum", is the hash (hash.h) of all bytes before the comma
 * that leads to it. Every change of a single byte changes the hash; other changes go unseen once in 2^64. */
#pragma once

#include "cli/base/hash.h"

/* How a text ends around the hash. */
struct checksum_form {
  const char *before, *behind;
};
/* A line of a journal, without its newline, and a JSON file as this program indents it. */
extern const struct checksum_form checksum_line, checksum_file;

enum { CHECKSUM_END_MAX = 48 };
/* Writes the end of a text in this form: what stands behind the bytes with this hash. */
void checksum_end(const struct checksum_form *, uint64_t hash, char out[CHECKSUM_END_MAX]);

enum checksum { CHECKSUM_NONE, CHECKSUM_RIGHT, CHECKSUM_WRONG };
/* Does the text end in this form, and with the hash of what stands before? */
enum checksum checksum_check(const struct checksum_form *, const char *text, size_t length);
/* How many bytes such an end has. */
size_t checksum_bytes(const struct checksum_form *);
