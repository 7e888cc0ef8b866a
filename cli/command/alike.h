/* What two parts of one run must have in common: the part before and after it was continued (--resume), or two
 * shards. */
#ifndef ATTNBENCH_CLI_COMMAND_ALIKE_H
#define ATTNBENCH_CLI_COMMAND_ALIKE_H

#include "cli/record/journal.h"

enum alike_parts { ALIKE_RUN = 1, ALIKE_SHARDS = 2 };
enum { ALIKE_TEXT_MAX = 160, ALIKE_MAX = 24 };

struct alike_difference {
  const char *name;   /* of the property: "seed" */
  bool of_device;     /* of what measured, not of what was asked for */
  bool is_one_report; /* rows that differ in it cannot stand in one report */
  char first[ALIKE_TEXT_MAX], second[ALIKE_TEXT_MAX];
};

/* How many properties differ. Of a journal without a device's line nothing is known of the device. */
size_t alike_compare(enum alike_parts, const struct journal_data *first, const struct journal_data *second,
                     struct alike_difference out[ALIKE_MAX]);

/* Adds a name to "device, seed". */
void alike_add_name(const char *name, char differs[RECORD_DIFFERS_MAX]);

#endif
