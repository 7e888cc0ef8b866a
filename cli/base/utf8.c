/* Decodes and encodes UTF-8, and knows the characters that must not reach a terminal. */
#include "cli/base/utf8.h"

/* Bytes of the character that begins so; 0: none does. */
static size_t bytes_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

/* What a character of several bytes is, or UTF8_MALFORMED. */
static uint32_t decode_bytes(const unsigned char *byte, size_t bytes) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* a smaller one would be written shorter */
  uint32_t c = byte[0] & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte[i] & 0xc0u) != 0x80u) return UTF8_MALFORMED; /* also at the text's end */
    c = c << 6 | (byte[i] & 0x3fu);
  }
  const bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
  return c < least[bytes] || is_surrogate || c > 0x10ffff ? UTF8_MALFORMED : c;
}

size_t utf8_decode(const char *text, uint32_t *character) {
  const unsigned char *byte = (const unsigned char *)text;
  const size_t bytes = bytes_of(byte[0]);
  *character = bytes == 0 ? UTF8_MALFORMED : bytes == 1 ? byte[0] : decode_bytes(byte, bytes);
  return *character == UTF8_MALFORMED ? 1 : bytes;
}

size_t utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX]) {
  static const uint32_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  uint32_t c = character == UTF8_MALFORMED ? 0xfffd : character;
  const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = bytes - 1; i > 0; --i, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)(marks[bytes] | c);
  return bytes;
}

bool utf8_is_unsafe(uint32_t character) {
  static const struct {
    uint32_t first, last;
  } rows[] = {{0x00, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && character >= rows[i].first; ++i) {
    if (character <= rows[i].last) return true;
  }
  return false;
}
