/* Numbers as people write them. */
#include <math.h>

#include "cli/base/units.h"
#include "tests/unit.h"

TEST(bytes_have_three_digits_and_a_unit) {
  static const struct {
    double bytes;
    const char *text;
  } rows[] = {{0, "0 B"},           {512, "512 B"},      {999, "999 B"},       {1000, "1.00 kB"},
              {65536, "65.5 kB"},   {999499, "999 kB"},  {999600, "1.00 MB"},  {1048576, "1.05 MB"},
              {99960000, "100 MB"}, {8.66e9, "8.66 GB"}, {143.77e9, "144 GB"}, {2.5e12, "2.50 TB"},
              {5e18, "5000 PB"},    {-2e9, "-2.00 GB"},  {NAN, "-"},           {INFINITY, "-"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_string_equal(units_bytes(rows[i].bytes).text, rows[i].text);
}
