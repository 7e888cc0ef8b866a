/* Texts for other programs that are made from the tables of options: the man page, and what completes words in a
 * shell. */
#ifndef ATTNBENCH_CLI_OPTIONS_GENERATE_H
#define ATTNBENCH_CLI_OPTIONS_GENERATE_H

#include <stdio.h>

#include "kernels/status.h"

/* "man": roff of attnbench(1); "bash", "zsh", "fish": a script for that shell. STATUS_USAGE: none of these. */
struct status generate_text(const char *what, FILE *);

#endif
