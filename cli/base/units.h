/* Numbers formatted for people, with a decimal point in any locale. */
#pragma once

enum { UNITS_TEXT_MAX = 24 };

/* Four significant digits without an exponent: "0.01234", "1.234", "12.34", "1234", "123400"; "-" when not finite. */
void units_format(double value, char out[UNITS_TEXT_MAX]);
/* `decimals` digits after the point; "-" when not finite. */
void units_format_fixed(double value, int decimals, char out[UNITS_TEXT_MAX]);
/* Three significant digits with an exponent: "1.95e-03"; "-" when not finite. */
void units_format_exponent(double value, char out[UNITS_TEXT_MAX]);

/* The first two as values, which stand among the arguments of a message: units_short(us).text. */
struct units_text {
  char text[UNITS_TEXT_MAX];
};
struct units_text units_short(double value); /* units_format */
struct units_text units_fixed(double value, int decimals);
/* Three significant digits and a unit of powers of ten: "512 B", "1.05 MB", "8.66 GB"; "-" when not finite. */
struct units_text units_bytes(double bytes);

/* Numbers as text have a decimal point, whatever locale a loaded library sets for the process. */

/* Gives the calling thread the locale "C", which setlocale does not change. Every thread that writes or reads numbers
 * calls it; the main thread does so before main. */
void decimal_start(void);
