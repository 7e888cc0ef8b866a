/* Writes doubles in decimal with 128-bit integers. */
#include "cli/base/decimal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum {
  DIGITS_MOST = 17, /* always suffice for IEEE binary64 */
  DIGITS_LEAST = 15,
  FIVES_MOST = 27, /* 5^27 < 2^63 */
  MANTISSA_BITS = 53,
  TEXT_EXPONENT_LEAST = -4, /* of %g: below it, and from the number of digits on, there is an exponent */
};

/* ---- powers -------------------------------------------------------------------------------------------------- */

static uint64_t power_of(uint64_t base, int exponent) {
  uint64_t power = 1;
  while (exponent-- > 0) power *= base;
  return power;
}

static int bits_of(uint64_t value) { return 64 - __builtin_clzll(value); }

/* ---- digits to double ---------------------------------------------------------------------------------------- */

/* whole * 2^exponent as a double, rounded to nearest, ties to even; has_rest: the value lies a little above. */
static double round_to_double(wide whole, bool has_rest, int exponent) {
  const uint64_t high = (uint64_t)(whole >> 64);
  const int bits = high != 0 ? 64 + bits_of(high) : bits_of((uint64_t)whole), drop = bits - MANTISSA_BITS;
  if (drop <= 0) return ldexp((double)(uint64_t)whole, exponent);
  const wide half = (wide)1 << (drop - 1), rest = whole & ((half << 1) - 1);
  uint64_t mantissa = (uint64_t)(whole >> drop);
  mantissa += rest > half || (rest == half && (has_rest || (mantissa & 1) != 0));
  return ldexp((double)mantissa, exponent + drop);
}

/* The double nearest to digits * 10^exponent, |exponent| <= FIVES_MOST: 10^n = 5^n * 2^n, and 5^n fits 64 bits. */
static double to_double(uint64_t digits, int exponent) {
  if (exponent >= 0) return round_to_double((wide)digits * power_of(5, exponent), false, exponent);
  const uint64_t fives = power_of(5, -exponent);
  const int shift = 127 - bits_of(digits); /* the quotient has at least 127 - 63 bits */
  const wide shifted = (wide)digits << shift;
  return round_to_double(shifted / fives, shifted % fives != 0, exponent - shift);
}

/* ---- double to digits ---------------------------------------------------------------------------------------- */

/* Where a value lies between one whole number and the next. */
enum rest { REST_NONE, REST_BELOW_HALF, REST_HALF, REST_ABOVE_HALF };

/* A positive value: whole * 10^exponent, and the rest. */
struct digits {
  uint64_t whole;
  int exponent;
  enum rest rest;
};

/* value * 10^scale, exactly; false when it does not fit. */
static bool scale_up(double value, int scale, struct digits *out) {
  int exponent;
  const uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), MANTISSA_BITS);
  if (scale < 0 || scale > FIVES_MOST) return false;
  const wide product = (wide)mantissa * power_of(5, scale);
  const int drop = MANTISSA_BITS - exponent - scale;
  if (drop >= 128 || drop <= -10) return false;
  out->exponent = -scale;
  if (drop <= 0) {
    out->whole = (uint64_t)(product << -drop);
    out->rest = REST_NONE;
    return true;
  }
  const wide half = (wide)1 << (drop - 1), rest = product & ((half << 1) - 1);
  out->whole = (uint64_t)(product >> drop);
  out->rest = rest == 0 ? REST_NONE : rest < half ? REST_BELOW_HALF : rest == half ? REST_HALF : REST_ABOVE_HALF;
  return true;
}

static bool find_digits(double value, struct digits *out) {
  const uint64_t least = power_of(10, DIGITS_MOST - 1);
  const int guess = (int)floor(log10(value));
  for (int power = guess - 1; power <= guess + 1; ++power) {
    if (!scale_up(value, DIGITS_MOST - 1 - power, out)) return false;
    if (out->whole >= least && out->whole < 10 * least) return true;
  }
  return false;
}

/* The same rounded to fewer digits as printf does: to nearest, ties to even. */
static struct digits rounded(const struct digits *all, int count) {
  const uint64_t unit = power_of(10, DIGITS_MOST - count), half = unit / 2, rest = all->whole % unit;
  struct digits out = {.whole = all->whole / unit, .exponent = all->exponent + DIGITS_MOST - count};
  const bool is_above =
      unit == 1 ? all->rest == REST_ABOVE_HALF : rest > half || (rest == half && all->rest != REST_NONE);
  const bool is_half = unit == 1 ? all->rest == REST_HALF : rest == half && all->rest == REST_NONE;
  out.whole += is_above || (is_half && (out.whole & 1) != 0);
  return out;
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

/* As %.<count>g writes it: without trailing zeros. */
static void write_text(struct digits digits, int count, bool is_negative, char out[DECIMAL_TEXT_MAX]) {
  char text[DECIMAL_TEXT_MAX], *to = out;
  while (digits.whole % 10 == 0) digits.whole /= 10, ++digits.exponent;
  const int length = snprintf(text, sizeof text, "%" PRIu64, digits.whole);
  const int power = digits.exponent + length - 1; /* of the first digit */
  const bool has_exponent = power < TEXT_EXPONENT_LEAST || power >= count;
  const int before = has_exponent ? 1 : power + 1; /* digits before the point */
  if (is_negative) *to++ = '-';
  if (before <= 0) {
    memcpy(to, "0.0000", (size_t)(2 - before));
    to += 2 - before;
  }
  for (int i = 0; i < length || i < before; ++i) {
    if (i == before && before > 0) *to++ = '.';
    *to++ = i < length ? text[i] : '0';
  }
  *to = '\0';
  if (has_exponent) snprintf(to, sizeof text / 2, "e%c%02d", power < 0 ? '-' : '+', power < 0 ? -power : power);
}

bool decimal_format(double value, char out[DECIMAL_TEXT_MAX]) {
  const double size = fabs(value);
  struct digits all;
  if (!(size >= 1e-10 && size < 1e15) || !find_digits(size, &all)) return false;
  for (int count = DIGITS_LEAST; count <= DIGITS_MOST; ++count) {
    const struct digits some = rounded(&all, count);
    if (count < DIGITS_MOST && to_double(some.whole, some.exponent) != size) continue;
    write_text(some, count, signbit(value), out);
    return true;
  }
  return false;
}
