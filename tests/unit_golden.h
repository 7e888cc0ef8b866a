/* For tests of what is written: golden files, and a cJSON that runs out of memory. Include after unit.h. */
#ifndef ATTNBENCH_TESTS_UNIT_GOLDEN_H
#define ATTNBENCH_TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"

enum { GOLDEN_BYTES_MAX = 1 << 22 };

/* Fails unless the file holds exactly this text. With ATTN_UPDATE_GOLDEN=1 in the environment the file is rewritten
 * instead; read the difference. */
static inline void compare_golden(const char *path, const char *text) {
  char *golden;
  size_t length;
  if (getenv("ATTN_UPDATE_GOLDEN") != NULL) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return;
  }
  const struct status status = json_read_file(path, GOLDEN_BYTES_MAX, &golden, &length);
  if (status_failed(&status)) fail_msg("%s", status.text);
  if (strcmp(golden, text) != 0) fail_msg("%s differs from:\n%s", path, text);
  free(golden);
}

/* A stream, and after text_close all that was written into it, which the caller frees. */
struct text_stream {
  FILE *file;
  char *text;
  size_t length;
};

static inline void text_open(struct text_stream *out) {
  *out = (struct text_stream){.text = NULL};
  out->file = open_memstream(&out->text, &out->length);
  assert_non_null(out->file);
}

static inline char *text_close(struct text_stream *stream) {
  assert_int_equal(fclose(stream->file), 0);
  return stream->text;
}

/* For cJSON_Hooks: as many allocations as allocations_left says succeed, then none. */
static size_t allocations_left;

static inline void *scarce_malloc(size_t size) {
  if (allocations_left == 0) return NULL;
  --allocations_left;
  return malloc(size);
}

/* Writes again and again, each time with one allocation of cJSON more, until it succeeds: what comes out is all of
 * `whole` or nothing. Returns how many allocations failed in their turn. */
static inline size_t assert_whole_or_refused(struct status (*write)(const void *, FILE *), const void *data,
                                             const char *whole) {
  cJSON_Hooks scarce = {.malloc_fn = scarce_malloc, .free_fn = free};
  struct status status;
  size_t given = 0;
  do {
    struct text_stream stream;
    text_open(&stream);
    allocations_left = given;
    cJSON_InitHooks(&scarce);
    status = write(data, stream.file);
    json_take_allocations();
    char *text = text_close(&stream);
    assert_true(status.code == STATUS_OK || status.code == STATUS_MEMORY);
    assert_string_equal(text, status_failed(&status) ? "" : whole);
    free(text);
    ++given;
  } while (status_failed(&status));
  return given;
}

#endif
