/* The fastest row of each case. */
#pragma once

#include "cli/report/report.h"

/* Sets is_twin, is_fastest and leads_case of the rows. The fastest row of a case has the shortest median, hot if the
 * case has hot times; twins are left out, and cases with fewer than two timed rows have none. The rows of a case must
 * be adjacent. */
void fastest_mark(struct report *);

enum { FASTEST_TEXT_MAX = 512 };
/* "fastest: wgmma in 30 of 36 cases, 1.02x to 1.80x as fast as cudnn; cudnn in 6": the winners by how many cases they
 * win. "" when no case has two rows to choose from. */
struct status fastest_text(const struct report *, char out[FASTEST_TEXT_MAX]);
