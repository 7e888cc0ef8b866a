/* UTF-8 (RFC 3629): decoding and encoding of single characters, and which characters are not safe to show. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_BYTES_MAX = 4 };
#define UTF8_MALFORMED UINT32_MAX

/* Decodes the first character of a NUL-terminated text and returns its length in bytes. A byte that begins no
 * well-formed character decodes as UTF8_MALFORMED, of length 1. */
size_t utf8_decode(const char *text, uint32_t *character);

/* Writes the character's bytes without a NUL and returns their number. UTF8_MALFORMED is written as U+FFFD. */
size_t utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX]);

/* Would the character control a terminal, or make a text look like another one? True for controls (C0, DEL, C1), line
 * and paragraph separators, and characters that change the direction of writing. */
bool utf8_is_unsafe(uint32_t character);
