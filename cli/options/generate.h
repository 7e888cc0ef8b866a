/* Texts for other programs that are made from the tables of options: the man page and the completion scripts of
 * shells. */
#pragma once

#include <stdio.h>

#include "kernels/status.h"

/* Writes the text named `what`. "man": attnbench(1) in roff; "bash", "zsh" or "fish": the completion script of that
 * shell. STATUS_USAGE for any other name. */
struct status generate_text(const char *what, FILE *);
