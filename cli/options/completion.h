/* What completes the command line in a shell: verbs, the options of a verb, their values where they are few, else
 * files. Each writes a script for that shell to read, made from the tables of verbs and options. */
#ifndef ATTNBENCH_CLI_OPTIONS_COMPLETION_H
#define ATTNBENCH_CLI_OPTIONS_COMPLETION_H

#include <stdio.h>

void completion_bash(FILE *);
void completion_zsh(FILE *);
void completion_fish(FILE *);

#endif
