/* Fills the description of a run that the journal's header holds. */
#pragma once

#include "cli/options/options.h"
#include "cli/record/journal.h"

/* The words of a command line as they were given. */
struct invocation {
  int argc;
  char **argv;
};

void describe_run(const struct options *, const struct invocation *, const struct sweep *, uint64_t cell_count,
                  struct run_info *out);
/* Writes the command line with the quotes that a POSIX shell needs; " ..." replaces the words that do not fit. */
void describe_run_command(const struct invocation *, char *out, size_t size);
