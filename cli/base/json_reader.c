/* The grammar of JSON as functions that each read one of its parts. */
#include "cli/base/json_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/utf8.h"

_Static_assert(JSON_STRING_MAX == 32768 && JSON_DEPTH_MAX == 16 && JSON_NUMBER_BYTES_MAX == 63,
               "messages below name these limits");

static bool refuse(struct json_reader *r, const char *problem) {
  r->problem = problem;
  return false;
}

/* The same about what was read from `start` on. */
static bool refuse_from(struct json_reader *r, size_t start, const char *problem) {
  r->at = start;
  return refuse(r, problem);
}

static bool expected(struct json_reader *r, const char *what) {
  r->wants = true;
  return refuse(r, what);
}

/* The next byte; NUL at the end of the text. */
static char peek(const struct json_reader *r) { return r->text[r->at]; }

static bool accept_byte(struct json_reader *r, char byte) {
  if (peek(r) != byte) return false;
  ++r->at;
  return true;
}

static void skip_space(struct json_reader *r) {
  for (char c = peek(r); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(r)) ++r->at;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* A block of memory for many values. Large reports have millions of values, so they are freed block by block. */
struct json_block {
  struct json_block *next;
  size_t used, size;
  _Alignas(max_align_t) char bytes[];
};

static struct json_block *add_block(struct json_reader *r, size_t bytes) {
  enum { LEAST = 1 << 12, MOST = 1 << 20 };
  size_t size = r->blocks != NULL ? 2 * r->blocks->size : LEAST;
  if (size > MOST) size = MOST;
  if (size < bytes) size = bytes;
  struct json_block *block = malloc(sizeof *block + size);
  if (block == NULL) return NULL;
  *block = (struct json_block){.next = r->blocks, .size = size};
  return r->blocks = block;
}

static void *take(struct json_reader *r, size_t bytes) {
  const size_t unit = _Alignof(struct json_node), whole = (bytes + unit - 1) / unit * unit;
  struct json_block *block = r->blocks;
  if (block == NULL || block->size - block->used < whole) block = add_block(r, whole);
  r->lacks_memory = r->lacks_memory || block == NULL;
  if (block == NULL) return NULL;
  block->used += whole;
  return block->bytes + block->used - whole;
}

void json_reader_free(struct json_block *block) {
  while (block != NULL) {
    struct json_block *next = block->next;
    free(block);
    block = next;
  }
}

bool json_reader_has_too_many(const struct json_reader *r) {
  return r->values > JSON_VALUES_FREE && r->values > r->length / JSON_VALUE_BYTES_LEAST;
}

/* Adds a node to the tree. Without memory, or after too many values, the node is r->dropped, which the next one
 * overwrites, so that the rest of the text is still checked. */
static struct json_node *add_node(struct json_reader *r) {
  ++r->values;
  struct json_node *node = json_reader_has_too_many(r) ? NULL : take(r, sizeof *node);
  if (node == NULL) node = &r->dropped;
  *node = (struct json_node){.start = r->at, .key_start = r->at};
  return node;
}

/* ---- strings ------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The four digits after "\u". */
static bool read_hex4(struct json_reader *r, uint32_t *unit) {
  *unit = 0;
  for (int i = 0; i < 4; ++i, ++r->at) {
    const int digit = hex_digit(peek(r));
    if (digit < 0) return expected(r, "expected four hexadecimal digits after \\u");
    *unit = *unit * 16 + (uint32_t)digit;
  }
  return true;
}

static bool is_high_surrogate(uint32_t unit) { return unit >= 0xd800 && unit <= 0xdbff; }
static bool is_low_surrogate(uint32_t unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

/* An escape whose "\u" has been read; begins at `start`. Surrogates must come as a pair. */
static bool read_unicode_escape(struct json_reader *r, size_t start, uint32_t *character) {
  static const char lone[] = "a \\u escape is half of a surrogate pair; write both halves or the character itself";
  uint32_t low = 0;
  if (!read_hex4(r, character)) return false;
  if (*character == 0) return refuse_from(r, start, "a string holds \\u0000, which C text cannot carry; remove it");
  if (is_low_surrogate(*character)) return refuse_from(r, start, lone);
  if (!is_high_surrogate(*character)) return true;
  if (accept_byte(r, '\\') && accept_byte(r, 'u')) {
    if (!read_hex4(r, &low)) return false;
    *character = 0x10000 + ((*character & 0x3ff) << 10) + (low & 0x3ff);
  }
  return is_low_surrogate(low) || refuse_from(r, start, lone);
}

static bool read_escape(struct json_reader *r, uint32_t *character) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const size_t start = r->at++;
  if (accept_byte(r, 'u')) return read_unicode_escape(r, start, character);
  const char *letter = peek(r) != '\0' ? strchr(letters, peek(r)) : NULL;
  if (letter == NULL) return expected(r, "expected one of \" \\ / b f n r t u after a backslash");
  ++r->at;
  *character = (unsigned char)meant[letter - letters];
  return true;
}

/* One character of a string's inside. */
static bool read_character(struct json_reader *r, uint32_t *character) {
  const char c = peek(r);
  if (r->at == r->length || c == '\n') return expected(r, "expected a closing quote");
  if ((unsigned char)c < 0x20) return refuse(r, "a string holds a raw control byte; write it as a \\u escape");
  if (c == '\\') return read_escape(r, character);
  const size_t bytes = utf8_decode(r->text + r->at, character);
  if (*character == UTF8_MALFORMED) return refuse(r, "a string holds invalid UTF-8; save the file as UTF-8");
  r->at += bytes;
  return true;
}

/* The characters from `start` to the closing quote, which were read once and found right. */
static char *unescaped(struct json_reader *r, size_t start) {
  const size_t end = r->at;
  char *out = take(r, end - start + 1); /* no escape is shorter than its character */
  uint32_t character;
  size_t used = 0;
  if (out == NULL) return NULL;
  for (r->at = start; r->at < end && read_character(r, &character);) used += utf8_encode(character, out + used);
  out[used] = '\0';
  return out;
}

static bool read_string(struct json_reader *r, char **out) {
  const size_t start = ++r->at;
  bool has_escape = false;
  uint32_t character;
  while (peek(r) != '"') {
    has_escape = has_escape || peek(r) == '\\';
    if (!read_character(r, &character)) return false;
    if (r->at - start > JSON_STRING_MAX)
      return refuse_from(r, start - 1, "a string is longer than 32768 bytes; shorten it");
  }
  *out = has_escape ? unescaped(r, start) : r->text + start;
  r->text[r->at++] = '\0';
  return true;
}

/* ---- numbers and words --------------------------------------------------------------------------------------- */

static size_t skip_digits(struct json_reader *r) {
  const size_t start = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') ++r->at;
  return r->at - start;
}

static bool skip_number(struct json_reader *r) {
  accept_byte(r, '-');
  const size_t start = r->at;
  const bool leading_zero = peek(r) == '0';
  const size_t whole = skip_digits(r);
  if (whole == 0) return expected(r, "expected a digit");
  if (leading_zero && whole > 1) return refuse_from(r, start, "a number has a leading zero; remove the zero");
  if (accept_byte(r, '.') && skip_digits(r) == 0) return expected(r, "expected a digit after the decimal point");
  if (!accept_byte(r, 'e') && !accept_byte(r, 'E')) return true;
  if (!accept_byte(r, '+')) accept_byte(r, '-');
  return skip_digits(r) > 0 || expected(r, "expected a digit in the exponent");
}

static bool read_number(struct json_reader *r, double *out) {
  const size_t start = r->at;
  if (!skip_number(r)) return false;
  if (r->at - start > JSON_NUMBER_BYTES_MAX)
    return refuse_from(r, start, "a number is longer than 63 characters; shorten it");
  const char after = peek(r);
  r->text[r->at] = '\0'; /* strtod would read on where JSON does not: 0x10 */
  *out = strtod(r->text + start, NULL);
  r->text[r->at] = after;
  return isfinite(*out) || refuse_from(r, start, "a number is too large for a double; give a smaller one");
}

static bool read_word(struct json_reader *r, const char *word) {
  const size_t bytes = strlen(word);
  if (strncmp(r->text + r->at, word, bytes) != 0) return expected(r, "expected true, false or null");
  r->at += bytes;
  return true;
}

/* ---- values -------------------------------------------------------------------------------------------------- */

static bool read_value(struct json_reader *r, cJSON *item);

/* A key, its colon and the space around them. */
static bool read_key(struct json_reader *r, struct json_node *node) {
  if (peek(r) != '"') return expected(r, "expected a key in double quotes");
  if (!read_string(r, &node->item.string)) return false;
  skip_space(r);
  if (!accept_byte(r, ':')) return expected(r, "expected ':' after a key");
  skip_space(r);
  node->start = r->at;
  return true;
}

/* Reads the children of an object or an array; the two differ in keys and closing byte alone. */
static bool read_children(struct json_reader *r, bool is_object, cJSON **child) {
  if (r->depth >= JSON_DEPTH_MAX) return refuse(r, "values are nested more than 16 deep; flatten them");
  ++r->depth;
  ++r->at;
  skip_space(r);
  for (bool first = true; !accept_byte(r, is_object ? '}' : ']'); first = false) {
    if (!first && !accept_byte(r, ','))
      return expected(r, is_object ? "expected ',' or '}' after a value" : "expected ',' or ']' after a value");
    skip_space(r);
    struct json_node *node = add_node(r);
    if ((is_object && !read_key(r, node)) || !read_value(r, &node->item)) return false;
    skip_space(r);
    *child = &node->item;
    child = &node->item.next;
  }
  --r->depth;
  return true;
}

/* The type of a value from its first byte. */
static int type_of_value(char first) {
  switch (first) {
    case '{': return cJSON_Object;
    case '[': return cJSON_Array;
    case '"': return cJSON_String;
    case 't': return cJSON_True;
    case 'f': return cJSON_False;
    case 'n': return cJSON_NULL;
    default: return first == '-' || (first >= '0' && first <= '9') ? cJSON_Number : cJSON_Invalid;
  }
}

static bool read_value(struct json_reader *r, cJSON *item) {
  item->type = type_of_value(peek(r));
  switch (item->type) {
    case cJSON_Object: return read_children(r, true, &item->child);
    case cJSON_Array: return read_children(r, false, &item->child);
    case cJSON_String: return read_string(r, &item->valuestring);
    case cJSON_Number: return read_number(r, &item->valuedouble);
    case cJSON_True: return read_word(r, "true");
    case cJSON_False: return read_word(r, "false");
    case cJSON_NULL: return read_word(r, "null");
    default: return expected(r, "expected a value (object, array, string, number, true, false or null)");
  }
}

bool json_reader_read(struct json_reader *r) {
  if (strncmp(r->text, "\xef\xbb\xbf", 3) == 0)
    return refuse(r, "the file begins with a byte order mark; save it as UTF-8 without one");
  skip_space(r);
  r->root = add_node(r);
  if (!read_value(r, &r->root->item)) return false;
  skip_space(r);
  return r->at == r->length || expected(r, "expected the end of the file");
}
