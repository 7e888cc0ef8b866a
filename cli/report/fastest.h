/* The fastest row of each case, for people. */
#ifndef ATTNBENCH_CLI_REPORT_FASTEST_H
#define ATTNBENCH_CLI_REPORT_FASTEST_H

#include "cli/report/report.h"

/* Marks the twins, and of the others the row with the shortest median of each case in which two or more were timed,
 * hot where the case has hot times. Rows of a case are those next to each other. */
void fastest_mark(struct report *);

enum { FASTEST_TEXT_MAX = 512 };
/* "fastest: wgmma in 30 of 36 cases, 1.02x to 1.80x as fast as cudnn; cudnn in 6": the winners by how many cases they
 * win. "" when no case has two rows to choose from. */
struct status fastest_text(const struct report *, char out[FASTEST_TEXT_MAX]);

#endif
