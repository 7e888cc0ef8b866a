/* The fingerprints: published vectors of FNV-1a, and files that differ in a bit, in a zero at the end, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/hash.h"
#include "tests/unit.h"
#include "tests/unit_scratch.h"

TEST(bytes_have_the_published_hash) {
  static const char *const vectors[][2] = {
      {"", "cbf29ce484222325"}, {"a", "af63dc4c8601ec8c"}, {"foobar", "85944171f73967e8"}};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    char hash[HASH_TEXT_MAX];
    hash_bytes(vectors[i][0], strlen(vectors[i][0]), hash);
    assert_string_equal(hash, vectors[i][1]);
  }
}

static void hash_of(const unsigned char *bytes, size_t length, char out[HASH_TEXT_MAX]) {
  char path[PATH_MAX];
  scratch_name(path);
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, length), (ssize_t)length);
  close(fd);
  const struct status status = hash_file(path, out);
  unlink(path);
  assert_int_equal(status.code, STATUS_OK);
}

TEST(files_that_differ_have_other_hashes) {
  enum { LENGTH = 70000 }; /* more than is read at once */
  unsigned char *bytes = calloc(1, LENGTH);
  char all[64 + 4][HASH_TEXT_MAX], again[HASH_TEXT_MAX];
  size_t count = 0;
  hash_of(bytes, LENGTH, all[count++]);
  hash_of(bytes, LENGTH, again);
  assert_string_equal(again, all[0]);
  hash_of(bytes, LENGTH - 1, all[count++]);
  hash_of(bytes, 8, all[count++]);
  hash_of(bytes, 0, all[count++]);
  for (unsigned bit = 0; bit < 64; ++bit) {
    bytes[40000 + bit / 8] = (unsigned char)(1u << bit % 8);
    hash_of(bytes, LENGTH, all[count++]);
    bytes[40000 + bit / 8] = 0;
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < i; ++j) assert_string_not_equal(all[i], all[j]);
  }
  free(bytes);
}

TEST(a_file_that_is_not_there_is_named) {
  char hash[HASH_TEXT_MAX];
  const struct status status = hash_file("/nowhere/at/all", hash);
  assert_int_equal(status.code, STATUS_INTERNAL);
  assert_non_null(strstr(status.text, "/nowhere/at/all"));
}
