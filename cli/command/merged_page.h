/* Several reports as one page. */
#ifndef ATTNBENCH_CLI_COMMAND_MERGED_PAGE_H
#define ATTNBENCH_CLI_COMMAND_MERGED_PAGE_H

#include "cli/options/options.h"
#include "cli/report/merge.h"

/* Writes the page that the options name. Of two reports that have a cell in common it says how they compare, too. */
struct status merged_page_save(const struct options *, const struct merge *);

#endif
