/* FOLDER/ab.json describes the comparison whose journals the folder of `ab --keep FOLDER` holds, so that --resume can
 * continue it. */
#pragma once

#include "cli/options/options.h"

/* The comparison that the options ask for. programs[0] is the base and programs[1] the candidate. */
struct kept {
  const char *folder;
  const struct options *options;
  const char *const *programs;
  uint64_t order_seed; /* of the order of the two programs within each pair (order_draw) */
};

/* Whether the folder holds an ab.json. */
bool kept_is_there(const char *folder);

/* Writes ab.json; STATUS_OUTPUT when that fails. */
struct status kept_write(const struct kept *);

/* Reads ab.json and checks that it describes the same comparison; then sets order_seed to that of the file.
 * STATUS_NOT_COMPARABLE says what differs, STATUS_INPUT what cannot be read. */
struct status kept_resume(struct kept *);
