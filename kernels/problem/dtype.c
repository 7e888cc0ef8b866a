/* The table of element types. */
#include "kernels/problem/dtype.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct attn_dtype_row facts[ATTN_DTYPE_COUNT] = {
#define DTYPE(id, ...) [ATTN_##id] = {__VA_ARGS__},
#include "kernels/problem/dtypes.def"
#undef DTYPE
};

const struct attn_dtype_row *attn_dtype_facts(enum attn_dtype dtype) { return &facts[dtype]; }
const char *attn_dtype_name(enum attn_dtype dtype) { return facts[dtype].name; }
uint32_t attn_dtype_bytes(enum attn_dtype dtype) { return facts[dtype].bytes; }

bool attn_dtype_read(const char *name, enum attn_dtype *out) {
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT; ++i) {
    if (strcmp(facts[i].name, name) != 0) continue;
    *out = (enum attn_dtype)i;
    return true;
  }
  return false;
}

const char *attn_dtype_called(const char *name) {
  char word[32];
  size_t length = 0;
  if (strlen(name) > sizeof word - 3 || strchr(name, ' ') != NULL) return NULL;
  word[length++] = ' ';
  for (const char *at = name; *at != '\0'; ++at) word[length++] = (char)tolower((unsigned char)*at);
  word[length++] = ' ';
  word[length] = '\0';
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT; ++i) {
    if (length > 2 && strstr(facts[i].also, word) != NULL) return facts[i].name;
  }
  return NULL;
}

void attn_dtype_list(unsigned dtypes, const char *quote, const char *before_last, char out[ATTN_DTYPE_LIST_MAX]) {
  size_t used = 0;
  out[0] = '\0';
  for (unsigned i = 0; i < ATTN_DTYPE_COUNT && used < ATTN_DTYPE_LIST_MAX; ++i) {
    const char *between = dtypes >> i == 1 ? before_last : ", ";
    if ((dtypes >> i & 1) == 0) continue;
    used += (size_t)snprintf(out + used, ATTN_DTYPE_LIST_MAX - used, "%s%s%s%s", used == 0 ? "" : between, quote,
                             facts[i].name, quote);
  }
}
