/* Fingerprints that tell two contents apart; none that withstands forgery. FNV-1a (Fowler, Noll, Vo), 64 bits, as 16
 * hexadecimal digits. */
#ifndef ATTNBENCH_CLI_BASE_HASH_H
#define ATTNBENCH_CLI_BASE_HASH_H

#include <stddef.h>

#include "kernels/status.h"

enum { HASH_TEXT_MAX = 17 };

/* Of bytes in memory. */
void hash_bytes(const void *bytes, size_t length, char out[HASH_TEXT_MAX]);
/* Of a file. Takes eight bytes at a step, since a program with its kernels has many megabytes; so it is not the hash
 * that hash_bytes has of the same bytes. STATUS_INTERNAL names a file that cannot be read. */
struct status hash_file(const char *path, char out[HASH_TEXT_MAX]);

#endif
