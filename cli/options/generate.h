/* Texts for other programs that are made from the tables of options: the man page, and the completion scripts of
 * shells with what they ask for. */
#pragma once

#include <stdio.h>

#include "kernels/status.h"

/* Writes the text named `what`. "man": attnbench(1) in roff; "bash", "zsh" or "fish": the completion script of that
 * shell. STATUS_USAGE for any other name. */
struct status generate_text(const char *what, FILE *);

/* Writes what the last of the words can become, a line each: the word, a tab and what it is. The words are those of
 * the command line after the program's name. The line FILE says that a file may stand there. */
void generate_words(const char *const *words, size_t count, FILE *);
