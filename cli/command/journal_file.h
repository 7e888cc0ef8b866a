/* The path of a run's journal: the one that the user names, else a file beside the first output file, else a file
 * with a random name in the temporary folder. */
#pragma once

#include <limits.h>

#include "cli/options/options.h"
#include "cli/record/journal.h"

struct journal_file {
  char path[PATH_MAX + 16]; /* a path that is cut here is too long for the system to open */
  bool is_kept;             /* named by the user */
};

/* The path of a journal beside the first output file; false when no output is a file. */
bool journal_file_beside(const struct options *, char *out, size_t size);
struct journal_file journal_file_choose(const struct options *);
/* Closes the journal. One that had to move is kept where it is now. */
void journal_file_close(struct journal_file *, struct journal *);
/* Removes the journal when the user did not name it and `written`, the status of writing the outputs, is a success.
 * When that failed, stderr says where the journal is. */
void journal_file_drop(const struct journal_file *, const struct status *written);
