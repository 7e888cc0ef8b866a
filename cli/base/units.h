/* Numbers formatted for people, with a decimal point in any locale. */
#pragma once

enum { UNITS_TEXT_MAX = 24 };

/* Four significant digits without an exponent: "0.01234", "1.234", "12.34", "1234", "123400"; "-" when not finite. */
void units_format(double value, char out[UNITS_TEXT_MAX]);
/* `decimals` digits after the point; "-" when not finite. */
void units_format_fixed(double value, int decimals, char out[UNITS_TEXT_MAX]);
/* Bytes with three significant digits and a unit of powers of ten: "512 B", "1.05 MB", "8.66 GB"; "-" when not
 * finite. */
void units_format_bytes(double bytes, char out[UNITS_TEXT_MAX]);
/* Three significant digits with an exponent: "1.95e-03"; "-" when not finite. */
void units_format_exponent(double value, char out[UNITS_TEXT_MAX]);
