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
