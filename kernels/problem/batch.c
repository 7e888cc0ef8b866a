/* Reads and writes ragged batches as text. */
#include "kernels/problem/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_MAX = 999999999, KILO = 1024 };

static const char DRAWN[] = "ragged:", UNIFORM[] = "uniform";

static const char *read_number(const char *text, uint32_t *out) {
  uint64_t value = 0;
  if (*text < '0' || *text > '9') return NULL;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = 10 * value + (uint64_t)(*text - '0');
    if (value > NUMBER_MAX) return NULL;
  }
  *out = (uint32_t)value;
  return text;
}

/* "512", "4k". */
static const char *read_length(const char *text, uint32_t *out) {
  const char *end = read_number(text, out);
  if (end == NULL || *end != 'k') return end;
  if (*out > NUMBER_MAX / KILO) return NULL;
  *out *= KILO;
  return end + 1;
}

static const char *read_group(const char *text, struct attn_group *out) {
  const char *at = *text == 'q' ? text : read_number(text, &out->count);
  if (*text == 'q') out->count = 1;
  if (at == NULL || *at != 'q' || out->count == 0) return NULL;
  at = read_length(at + 1, &out->Sq);
  out->Skv = out->Sq;
  return at != NULL && *at == 's' ? read_length(at + 1, &out->Skv) : at;
}

/* Puts a group behind the others; false where there is no room. */
static bool add_group(struct attn_batch *batch, struct attn_group group) {
  struct attn_group *last = &batch->group[batch->groups - (batch->groups > 0)];
  if (batch->groups > 0 && last->Sq == group.Sq && last->Skv == group.Skv) {
    last->count += group.count;
    return last->count <= NUMBER_MAX;
  }
  if (batch->groups == ATTN_GROUPS_MAX) return false;
  batch->group[batch->groups++] = group;
  return true;
}

const char *attn_batch_read(const char *text, struct attn_batch *out) {
  memset(out, 0, sizeof *out);
  if (strncmp(text, UNIFORM, strlen(UNIFORM)) == 0) return text + strlen(UNIFORM);
  if (strncmp(text, DRAWN, strlen(DRAWN)) == 0) {
    out->drawn = 1;
    return read_number(text + strlen(DRAWN), &out->seed);
  }
  for (;; ++text) {
    struct attn_group group = {0, 0, 0};
    text = read_group(text, &group);
    if (text == NULL || !add_group(out, group)) return NULL;
    if (*text != '_') return text;
  }
}

static void write_length(char sign, uint32_t length, char *out, size_t size) {
  const bool is_kilo = length > 0 && length % KILO == 0;
  snprintf(out, size, "%c%" PRIu32 "%s", sign, is_kilo ? length / KILO : length, is_kilo ? "k" : "");
}

void attn_batch_write(const struct attn_batch *batch, char out[ATTN_BATCH_TEXT_MAX]) {
  size_t used = 0;
  snprintf(out, ATTN_BATCH_TEXT_MAX, "%s", UNIFORM);
  if (batch->drawn) snprintf(out, ATTN_BATCH_TEXT_MAX, "%s%" PRIu32, DRAWN, batch->seed);
  for (uint32_t i = 0; i < batch->groups; ++i) {
    const struct attn_group *g = &batch->group[i];
    char count[12] = "", queries[12], keys[12] = "";
    if (g->count > 1) snprintf(count, sizeof count, "%" PRIu32, g->count);
    write_length('q', g->Sq, queries, sizeof queries);
    if (g->Skv != g->Sq) write_length('s', g->Skv, keys, sizeof keys);
    used +=
        (size_t)snprintf(out + used, ATTN_BATCH_TEXT_MAX - used, "%s%s%s%s", i > 0 ? "_" : "", count, queries, keys);
    if (used >= ATTN_BATCH_TEXT_MAX) return; /* beyond the limits of a problem */
  }
}

bool attn_batch_same(const struct attn_batch *a, const struct attn_batch *b) { return memcmp(a, b, sizeof *a) == 0; }

struct attn_group attn_batch_extent(const struct attn_batch *batch) {
  struct attn_group all = {0, 0, 0};
  for (uint32_t i = 0; i < batch->groups; ++i) {
    const struct attn_group *g = &batch->group[i];
    const uint64_t count = (uint64_t)all.count + g->count;
    all.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    if (g->Sq > all.Sq) all.Sq = g->Sq;
    if (g->Skv > all.Skv) all.Skv = g->Skv;
  }
  return all;
}
