/* Characters of UTF-8, one by one. */
#include <string.h>

#include "cli/base/utf8.h"
#include "tests/unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

TEST(every_character_is_decoded_as_it_was_encoded) {
  for (uint32_t c = 1; c <= 0x10ffff; ++c) {
    char bytes[UTF8_BYTES_MAX + 1] = "";
    uint32_t back = 0;
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const size_t count = utf8_encode(c, bytes);
    assert_int_equal(count, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
    assert_int_equal(strlen(bytes), count);
    assert_int_equal(utf8_decode(bytes, &back), count);
    assert_int_equal(back, c);
  }
}

TEST(what_rfc_3629_does_not_allow_is_malformed_byte_by_byte) {
  static const char *const rows[] = {"\x80",
                                     "\xbf",
                                     "\xc0\xaf",
                                     "\xc1\xbf",
                                     "\xc2",
                                     "\xc2z",
                                     "\xe0\x9f\xbf",
                                     "\xe2\x82",
                                     "\xe2\x82z",
                                     "\xed\xa0\x80",
                                     "\xed\xbf\xbf",
                                     "\xf0\x8f\xbf\xbf",
                                     "\xf0\x9f\x98",
                                     "\xf4\x90\x80\x80",
                                     "\xf5\x80\x80\x80",
                                     "\xff"};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    uint32_t c = 0;
    char bytes[UTF8_BYTES_MAX + 1] = "";
    assert_int_equal(utf8_decode(rows[i], &c), 1);
    assert_true(c == UTF8_MALFORMED);
    assert_int_equal(utf8_encode(c, bytes), 3);
    assert_string_equal(bytes, "\xef\xbf\xbd");
  }
}

TEST(controls_and_what_turns_the_direction_are_unsafe) {
  static const uint32_t unsafe[] = {1,      0x1b,   0x1f,   0x7f,   0x80,   0x9f,  0x61c,
                                    0x200e, 0x200f, 0x2028, 0x202e, 0x2066, 0x2069};
  static const uint32_t safe[] = {' ',    '~',    0xa0,   0xe9,   0x61b,  0x61d,   0x200d,        0x2010,
                                  0x2027, 0x202f, 0x2065, 0x206a, 0xfffd, 0x1f600, UTF8_MALFORMED};
  for (size_t i = 0; i < COUNT(unsafe); ++i) assert_true(utf8_is_unsafe(unsafe[i]));
  for (size_t i = 0; i < COUNT(safe); ++i) assert_false(utf8_is_unsafe(safe[i]));
}
