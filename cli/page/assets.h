/* The style and the script of the page, which the build puts into the program. */
#ifndef ATTNBENCH_CLI_PAGE_ASSETS_H
#define ATTNBENCH_CLI_PAGE_ASSETS_H

extern const char assets_style[];
extern const char assets_script[];

#endif
