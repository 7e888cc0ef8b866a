/* Names the cells of a run, and deals them to shards. */
#include "cli/sweep/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"

struct status selection_make(size_t count, struct selection *out) {
  *out = (struct selection){.count = count};
  return owned_array(&out->name, count, sizeof *out->name, "cells");
}

struct status selection_of(const struct cells *cells, struct selection *out) {
  TRY(selection_make(cells->count, out));
  for (size_t i = 0; i < cells->count; ++i)
    cell_name(cells->items[i].attn_case->key, cells->items[i].spec.text, out->name[i]);
  return status_ok();
}

void selection_free(struct selection *selection) {
  free(selection->name);
  *selection = (struct selection){.count = 0};
}

void selection_hash(const struct selection *selection, char out[HASH_TEXT_MAX]) {
  hash_bytes(selection->name, selection->count * sizeof *selection->name, out);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

struct status selection_ranks(const struct selection *selection, const struct selection *names, size_t *out) {
  OWNED_ARRAY(const char *, sorted, selection->count, "cells");
  for (size_t i = 0; i < selection->count; ++i) sorted[i] = selection->name[i];
  qsort(sorted, selection->count, sizeof *sorted, by_text);
  for (size_t i = 0; i < names->count; ++i) {
    const char *name = names->name[i];
    const char *const *found = bsearch(&name, sorted, selection->count, sizeof *sorted, by_text);
    out[i] = found != NULL ? (size_t)(*found - selection->name[0]) / sizeof *selection->name : SIZE_MAX;
  }
  return status_ok();
}

/* ---- shards -------------------------------------------------------------------------------------------------- */

void selection_shard_text(const struct shard *shard, char out[SHARD_TEXT_MAX]) {
  out[0] = '\0';
  if (shard->count > 0) snprintf(out, SHARD_TEXT_MAX, "%" PRIu32 "/%" PRIu32, shard->index, shard->count);
}

struct hashed_case {
  char hash[HASH_TEXT_MAX];
  const char *key; /* up to the slash */
  size_t length, order;
};

static int by_hash(const void *a, const void *b) {
  const struct hashed_case *left = a, *right = b;
  return SORTING_FIRST(strcmp(left->hash, right->hash), SORTING_ORDER(left->order, right->order));
}

static size_t key_length(const char *name) { return strcspn(name, "/"); }

static bool is_of_case(const char *name, const struct hashed_case *of) {
  return key_length(name) == of->length && memcmp(name, of->key, of->length) == 0;
}

/* Lists the cases, with their hashes, and returns their number. Cells of one case are neighbours in the selection. */
static size_t find_cases(const struct selection *selection, struct hashed_case *out) {
  size_t count = 0;
  for (size_t i = 0; i < selection->count; ++i) {
    const char *name = selection->name[i];
    if (count > 0 && is_of_case(name, &out[count - 1])) continue;
    out[count] = (struct hashed_case){.key = name, .length = key_length(name), .order = count};
    hash_bytes(name, out[count].length, out[count].hash);
    ++count;
  }
  return count;
}

struct status selection_deal(const struct selection *selection, uint32_t shards, uint32_t *out) {
  OWNED_ARRAY(struct hashed_case, cases, selection->count, "cases");
  OWNED_ARRAY(uint32_t, of_case, selection->count, "cases");
  const size_t count = find_cases(selection, cases);
  size_t at = 0;
  if (count < shards)
    return status_make(STATUS_USAGE,
                       "--shard: %" PRIu32 " shards are more than the %zu selected cases; give at most %zu", shards,
                       count, count);
  qsort(cases, count, sizeof *cases, by_hash);
  for (size_t i = 0; i < count; ++i) of_case[cases[i].order] = (uint32_t)(i % shards) + 1;
  for (size_t i = 0; i < selection->count; ++i) {
    const char *name = selection->name[i], *before = selection->name[i > 0 ? i - 1 : 0];
    at += key_length(name) != key_length(before) || memcmp(name, before, key_length(name)) != 0;
    out[i] = of_case[at];
  }
  return status_ok();
}

struct status selection_keep_shard(const struct selection *selection, const struct shard *shard,
                                   struct cells *cells) {
  OWNED_ARRAY(uint32_t, of_cell, cells->count, "cells");
  size_t kept = 0;
  TRY(selection_deal(selection, shard->count, of_cell));
  for (size_t i = 0; i < cells->count; ++i) {
    if (of_cell[i] == shard->index) cells->items[kept++] = cells->items[i];
  }
  cells->count = kept;
  return status_ok();
}
