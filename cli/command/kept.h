/* What the folder of an `ab --keep` says of the comparison whose processes it holds, so that --resume can go on with
 * it: FOLDER/ab.json. What a process measured is in its journal. */
#ifndef ATTNBENCH_CLI_COMMAND_KEPT_H
#define ATTNBENCH_CLI_COMMAND_KEPT_H

#include "cli/options/options.h"

/* The comparison that these options ask for, of programs[0] and [1]: base and candidate. */
struct kept {
  const char *folder;
  const struct options *options;
  const char *const *programs;
  uint64_t order_seed; /* of the order within the pairs */
};

/* Is there an ab.json in the folder? */
bool kept_is_there(const char *folder);

/* STATUS_OUTPUT when it cannot be written. */
struct status kept_write(const struct kept *);

/* Is this the comparison that the folder was begun for? Then takes over its order. STATUS_NOT_COMPARABLE says what
 * differs, STATUS_INPUT what cannot be read. */
struct status kept_resume(struct kept *);

#endif
