/* Completes the command line in bash, zsh and fish. */
#pragma once

#include <stdio.h>

#include "kernels/status.h"

/* Writes the script of this shell, which asks the verb `complete` what a word can become. STATUS_USAGE for any other
 * name. */
struct status completion_script(const char *shell, FILE *);

/* Writes what the last of the words can become, a line each: the word, a tab and what it is. The words are those of
 * the command line after the program's name. The line FILE says that a file may stand there. */
void completion_words(const char *const *words, size_t count, FILE *);
