/* What two parts of one run must have in common: the part before and after it was continued (--resume), or two
 * shards. */
#pragma once

#include "cli/record/journal.h"

/* Which parts of a run are compared: the parts before and after --resume, shards, or rounds. */
enum alike_parts { ALIKE_RUN = 1, ALIKE_SHARDS = 2, ALIKE_ROUNDS = 4 };
enum { ALIKE_TEXT_MAX = 160, ALIKE_MAX = 24 };

struct alike_difference {
  const char *name;   /* the property: "seed" */
  bool of_device;     /* a property of the device or host; false: of the program or its options */
  bool is_one_report; /* rows that differ in it cannot be in one report */
  char first[ALIKE_TEXT_MAX], second[ALIKE_TEXT_MAX];
};

/* Writes the properties that differ to out and returns their number. Properties of the device are compared only when
 * both journals have a device line. */
size_t alike_compare(enum alike_parts, const struct journal_data *first, const struct journal_data *second,
                     struct alike_difference out[ALIKE_MAX]);

/* Adds a name to the list in `differs`, such as "device, seed". */
void alike_add_name(const char *name, char differs[RECORD_DIFFERS_MAX]);
