/* Reads and writes the rules of block-sparse attention as text. */
#include "kernels/problem/sparse.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { THOUSAND = 1000 };

static const char DENSE[] = "dense";

static const struct {
  const char *name;
  size_t offset;
} parts[] = {
#define PART(name) {#name, offsetof(struct attn_sparse, name)},
    ATTN_SPARSE_PARTS(PART)
#undef PART
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

static uint32_t *part_of(struct attn_sparse *sparse, size_t i) {
  return (uint32_t *)((char *)sparse + parts[i].offset);
}

/* A number of up to nine digits. */
static const char *read_number(const char *text, uint32_t *out) {
  const char *at = text;
  for (*out = 0; *at >= '0' && *at <= '9' && at - text < 9; ++at) *out = 10 * *out + (uint32_t)(*at - '0');
  return at > text && !(*at >= '0' && *at <= '9') ? at : NULL;
}

/* "0.25", "1"; in thousandths, of which there are no parts. */
static const char *read_density(const char *text, uint32_t *out) {
  const char *at = text + 1;
  *out = (uint32_t)(*text - '0') * THOUSAND;
  if (*at == '.') {
    ++at;
    for (uint32_t unit = THOUSAND / 10; *at >= '0' && *at <= '9' && unit > 0; unit /= 10)
      *out += unit * (uint32_t)(*at++ - '0');
  }
  return *at >= '0' && *at <= '9' ? NULL : at;
}

/* "sliding=3", each part once. */
static const char *read_part(const char *text, bool given[PART_COUNT], struct attn_sparse *out) {
  for (size_t i = 0; i < PART_COUNT; ++i) {
    const size_t length = strlen(parts[i].name);
    if (strncmp(text, parts[i].name, length) != 0 || text[length] != '=' || given[i]) continue;
    given[i] = true;
    return read_number(text + length + 1, part_of(out, i));
  }
  return NULL;
}

const char *attn_sparse_read(const char *text, struct attn_sparse *out) {
  bool given[PART_COUNT] = {false};
  memset(out, 0, sizeof *out);
  if (strncmp(text, DENSE, strlen(DENSE)) == 0) return text + strlen(DENSE);
  text = read_number(text, &out->block);
  if (text == NULL || *text != ':') return NULL;
  out->sliding = 1;
  const bool has_density = text[1] >= '0' && text[1] <= '1';
  text = has_density ? read_density(text + 1, &out->density) : read_part(text + 1, given, out);
  while (text != NULL && *text == '+') text = read_part(text + 1, given, out);
  const bool is_rule = text != NULL && out->block > 0 && (out->density > 0) == has_density;
  return is_rule && attn_sparse_is_sound(out) ? text : NULL;
}

bool attn_sparse_is_sound(const struct attn_sparse *s) {
  const struct attn_sparse dense = {0};
  const bool is_pattern = s->sliding > 1 || s->global > 0 || s->random > 0;
  if (attn_sparse_same(s, &dense)) return true;
  return s->block >= ATTN_BLOCK_MIN && s->block <= ATTN_BLOCK_MAX && s->density <= THOUSAND && s->sliding >= 1 &&
         s->sliding <= ATTN_BLOCKS_GIVEN_MAX && s->global <= ATTN_BLOCKS_GIVEN_MAX &&
         s->random <= ATTN_BLOCKS_GIVEN_MAX && s->seed <= ATTN_SPARSE_SEED_MAX && !(s->density > 0 && is_pattern);
}

static size_t write_density(uint32_t density, char *out, size_t size) {
  char digits[4];
  snprintf(digits, sizeof digits, "%03u", (unsigned)(density % THOUSAND));
  for (size_t last = 3; last > 0 && digits[last - 1] == '0'; --last) digits[last - 1] = '\0';
  return (size_t)snprintf(out, size, "%u%s%s", (unsigned)(density / THOUSAND), digits[0] != '\0' ? "." : "", digits);
}

/* A density has a sliding window of 1, which is left out; a pattern always says its own. */
void attn_sparse_write(const struct attn_sparse *sparse, char out[ATTN_SPARSE_TEXT_MAX]) {
  struct attn_sparse s = *sparse;
  size_t used = (size_t)snprintf(out, ATTN_SPARSE_TEXT_MAX, "%" PRIu32 ":", s.block);
  if (s.block == 0) {
    snprintf(out, ATTN_SPARSE_TEXT_MAX, "%s", DENSE);
    return;
  }
  bool is_first = s.density == 0;
  if (s.density > 0) used += write_density(s.density, out + used, ATTN_SPARSE_TEXT_MAX - used);
  for (size_t i = 0; i < PART_COUNT && used < ATTN_SPARSE_TEXT_MAX; ++i) {
    const uint32_t value = *part_of(&s, i);
    if (value == 0 || (s.density > 0 && part_of(&s, i) == &s.sliding)) continue;
    used += (size_t)snprintf(out + used, ATTN_SPARSE_TEXT_MAX - used, "%s%s=%" PRIu32, is_first ? "" : "+",
                             parts[i].name, value);
    is_first = false;
  }
}

bool attn_sparse_same(const struct attn_sparse *a, const struct attn_sparse *b) {
  return memcmp(a, b, sizeof *a) == 0;
}
