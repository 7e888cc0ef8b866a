/* Hashes that tell two contents apart, not cryptographic ones: FNV-1a (Fowler, Noll, Vo), 64 bits, as 16 hexadecimal
 * digits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/status.h"

enum { HASH_TEXT_MAX = 17 };

/* The hash of bytes that come in several parts: of no bytes, of more bytes behind those of `hash`, and as text. */
#define HASH_EMPTY UINT64_C(0xcbf29ce484222325)
uint64_t hash_add(uint64_t hash, const void *bytes, size_t length);
void hash_text(uint64_t hash, char out[HASH_TEXT_MAX]);
/* The hash of bytes in memory. */
void hash_bytes(const void *bytes, size_t length, char out[HASH_TEXT_MAX]);
/* The hash of a file. It takes eight bytes per step for speed, since a program with its kernels has many megabytes,
 * and so differs from hash_bytes of the same bytes. STATUS_INTERNAL names a file that cannot be read. */
struct status hash_file(const char *path, char out[HASH_TEXT_MAX]);

/* Checksums of JSON texts: the last member of a text, "checksum", is the hash (hash.h) of all bytes before the comma
 * that leads to it. Every change of a single byte changes the hash; other changes go unseen once in 2^64. */

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
/* Does the text end in this form, and with the hash of what stands before? The hash goes on from `start`, HASH_EMPTY
 * or for a journal's line the hash of its header line. */
enum checksum checksum_check(const struct checksum_form *, uint64_t start, const char *text, size_t length);
/* How many bytes such an end has. */
size_t checksum_bytes(const struct checksum_form *);

/* Pseudo-random numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014). */

/* The next number of the sequence; *state is the seed at first. */
uint64_t random_next(uint64_t *state);
/* The next number from 0 to n - 1; its bias of n / 2^64 is negligible. */
uint32_t random_below(uint64_t *state, uint32_t n);
