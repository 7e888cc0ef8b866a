/* Where a run's journal is: named by the user, else beside the first output file, else in the temporary folder under
 * a random name. */
#ifndef ATTNBENCH_CLI_COMMAND_JOURNAL_FILE_H
#define ATTNBENCH_CLI_COMMAND_JOURNAL_FILE_H

#include <limits.h>

#include "cli/options/options.h"

struct journal_file {
  char path[PATH_MAX + 16]; /* one that was cut is still too long for a file, and so names none */
  bool is_kept;             /* named by the user */
};

/* The journal's place beside an output; false when no output is a file. */
bool journal_file_beside(const struct options *, char *out, size_t size);
struct journal_file journal_file_choose(const struct options *);
/* Removes a journal that nobody named, once everything made from it is safely written; says where it is otherwise. */
void journal_file_drop(const struct journal_file *, const struct status *written);

#endif
