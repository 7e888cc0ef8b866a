/* Dates in UTC as text. */
#include "cli/base/calendar.h"

#include <stddef.h>

static int two_digits(const char *text) { return 10 * (text[0] - '0') + (text[1] - '0'); }

/* `shape` has a 0 where a digit must be, and else the character itself. */
static bool has_shape(const char *text, const char *shape) {
  size_t i = 0;
  for (; shape[i] != '\0'; ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == '0' ? !is_digit : text[i] != shape[i]) return false;
  }
  return text[i] == '\0';
}

static int days_of(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (month == 2 && is_leap);
}

/* Of a text that begins as "0000-00-00". */
static bool day_exists(const char *text) {
  const int year = 100 * two_digits(text) + two_digits(text + 2), month = two_digits(text + 5),
            day = two_digits(text + 8);
  return month >= 1 && month <= 12 && day >= 1 && day <= days_of(year, month);
}

bool calendar_is_day(const char *text) { return has_shape(text, "0000-00-00") && day_exists(text); }

bool calendar_is_second(const char *text) {
  return has_shape(text, "0000-00-00T00:00:00Z") && day_exists(text) && two_digits(text + 11) < 24 &&
         two_digits(text + 14) < 60 && two_digits(text + 17) < 60;
}
