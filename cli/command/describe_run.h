/* What a journal's header says of this invocation. */
#ifndef ATTNBENCH_CLI_COMMAND_DESCRIBE_RUN_H
#define ATTNBENCH_CLI_COMMAND_DESCRIBE_RUN_H

#include "cli/options/options.h"
#include "cli/record/journal.h"

/* The words of a command line as they were given. */
struct invocation {
  int argc;
  char **argv;
};

void describe_run(const struct options *, const struct invocation *, const struct sweep *, uint64_t cell_count,
                  struct run_info *out);
/* The command line, in a form that a POSIX shell reads back; " ..." for words that do not fit. */
void describe_run_command(const struct invocation *, char *out, size_t size);

#endif
