/* FNV-1a of bytes and of files. */
#include "cli/base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint64_t prime = UINT64_C(0x100000001b3);

uint64_t hash_add(uint64_t hash, const void *bytes, size_t length) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < length; ++i) hash = (hash ^ at[i]) * prime;
  return hash;
}

void hash_text(uint64_t hash, char out[HASH_TEXT_MAX]) { snprintf(out, HASH_TEXT_MAX, "%016" PRIx64, hash); }

void hash_bytes(const void *bytes, size_t length, char out[HASH_TEXT_MAX]) {
  hash_text(hash_add(HASH_EMPTY, bytes, length), out);
}

/* The last block is padded with zeros. The length is hashed last, so that padding differs from zeros in the file. */
static bool hash_stream(FILE *file, uint64_t *hash) {
  uint64_t block[4096], length = 0;
  size_t got;
  while ((got = fread(block, 1, sizeof block, file)) > 0) {
    memset((char *)block + got, 0, sizeof block - got);
    /* A product carries only upwards; the shift brings what the upper bytes changed down again. */
    for (size_t i = 0; i < (got + 7) / 8; ++i) *hash = (*hash ^ block[i] ^ *hash >> 29) * prime;
    length += got;
  }
  *hash = (*hash ^ length) * prime;
  return ferror(file) == 0;
}

struct status hash_file(const char *path, char out[HASH_TEXT_MAX]) {
  uint64_t hash = HASH_EMPTY;
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return status_make(STATUS_INTERNAL, "%s: cannot be read: %s", path, strerror(errno));
  const bool ok = hash_stream(file, &hash);
  const int error = errno;
  fclose(file);
  if (!ok) return status_make(STATUS_INTERNAL, "%s: cannot be read: %s", path, strerror(error));
  hash_text(hash, out);
  return status_ok();
}
