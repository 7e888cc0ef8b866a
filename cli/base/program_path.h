/* The program that runs, as a file. */
#ifndef ATTNBENCH_CLI_BASE_PROGRAM_PATH_H
#define ATTNBENCH_CLI_BASE_PROGRAM_PATH_H

/* A path to start this program again, or to read it. The very same file also when its name leads to a newer one by
 * then. Lives as long as the process. */
const char *program_path(void);

#endif
