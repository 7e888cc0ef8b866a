/* The cards of a run with --devices: its rows name theirs, by uuid. */
#ifndef ATTNBENCH_CLI_RECORD_CARDS_H
#define ATTNBENCH_CLI_RECORD_CARDS_H

#include "cli/record/journal.h"

/* STATUS_INPUT when the card has no uuid, is there already, is of another model than the first, or is one too many.
 */
struct status cards_add(struct journal_data *, const struct device_line *);
/* Its place in data->card; card_count when it is not there. */
size_t cards_find(const struct journal_data *, const char *uuid);

/* May the row be of this run: does it name one of its cards, or none where none is to be named? */
bool cards_has(const struct journal_data *, const struct record *);

/* The device that measured the row, and its timer's constant cost. */
const struct device_info *cards_info(const struct journal_data *, const struct record *);
double cards_event_overhead_us(const struct journal_data *, const struct record *);

#endif
