/* Writes and reads the key of a case. */
#include "cli/sweep/case_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void case_key(const struct attn_shape *shape, char out[CASE_KEY_MAX]) {
  snprintf(out, CASE_KEY_MAX,
           "B%" PRIu32 ".H%" PRIu32 ".Hkv%" PRIu32 ".Sq%" PRIu32 ".Skv%" PRIu32 ".D%" PRIu32 ".%s.%s%s", shape->B,
           shape->Hq, shape->Hkv, shape->Sq, shape->Skv, shape->D, attn_dtype_name(shape->dtype),
           shape->causal ? "causal" : "full", shape->lse ? ".lse" : "");
}

bool case_key_read_dtype(const char *name, enum attn_dtype *out) {
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT; ++i) {
    if (strcmp(attn_dtype_name((enum attn_dtype)i), name) != 0) continue;
    *out = (enum attn_dtype)i;
    return true;
  }
  return false;
}

enum part {
  PART_B,
  PART_H,
  PART_HKV,
  PART_S,
  PART_SQ,
  PART_SKV,
  PART_D,
  PART_DTYPE,
  PART_MASK,
  PART_LSE,
  PART_COUNT
};

static const char *const letters[PART_DTYPE] = {"B", "H", "Hkv", "S", "Sq", "Skv", "D"};

/* The parts as far as they were read. */
struct reading {
  bool given[PART_COUNT];
  uint32_t number[PART_DTYPE];
  enum attn_dtype dtype;
  bool causal;
};

static bool once(struct reading *r, enum part part) {
  const bool is_first = !r->given[part];
  r->given[part] = true;
  return is_first;
}

static bool read_number(struct reading *r, const char *text) {
  const size_t length = strcspn(text, "0123456789");
  const char *digits = text + length;
  if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 9) return false;
  for (enum part part = 0; part < PART_DTYPE; ++part) {
    if (strlen(letters[part]) != length || strncmp(letters[part], text, length) != 0) continue;
    r->number[part] = (uint32_t)strtoul(digits, NULL, 10);
    return once(r, part);
  }
  return false;
}

static bool read_part(struct reading *r, const char *text) {
  r->causal = r->causal || strcmp(text, "causal") == 0;
  if (strcmp(text, "causal") == 0 || strcmp(text, "full") == 0) return once(r, PART_MASK);
  if (strcmp(text, "lse") == 0) return once(r, PART_LSE);
  if (case_key_read_dtype(text, &r->dtype)) return once(r, PART_DTYPE);
  return read_number(r, text);
}

/* S stands for both lengths or for neither; H for the KV heads too unless they are given. */
static bool is_complete(const struct reading *r) {
  const bool *given = r->given, has_lengths = given[PART_SQ] && given[PART_SKV];
  const bool has_any_length = given[PART_SQ] || given[PART_SKV];
  return given[PART_B] && given[PART_H] && given[PART_D] && (given[PART_S] ? !has_any_length : has_lengths);
}

bool case_key_read(const char *text, struct attn_shape *out) {
  struct reading r = {.dtype = ATTN_F16};
  char copy[CASE_KEY_MAX];
  if (strlen(text) >= sizeof copy) return false;
  memcpy(copy, text, strlen(text) + 1);
  for (char *part = copy, *next; part != NULL; part = next) {
    next = strchr(part, '.');
    if (next != NULL) *next++ = '\0';
    if (!read_part(&r, part)) return false;
  }
  if (!is_complete(&r)) return false;
  const uint32_t *number = r.number;
  *out = (struct attn_shape){.B = number[PART_B],
                             .Hq = number[PART_H],
                             .Hkv = r.given[PART_HKV] ? number[PART_HKV] : number[PART_H],
                             .Sq = r.given[PART_S] ? number[PART_S] : number[PART_SQ],
                             .Skv = r.given[PART_S] ? number[PART_S] : number[PART_SKV],
                             .D = number[PART_D],
                             .dtype = r.dtype,
                             .causal = r.causal,
                             .lse = r.given[PART_LSE]};
  return true;
}
