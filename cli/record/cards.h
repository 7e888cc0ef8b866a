/* The cards of a run with --devices. Each row names the card that measured it by UUID (record.card). */
#pragma once

#include "cli/record/journal.h"

/* Adds a card to data->card. STATUS_INPUT when it has no UUID, is there already, is of another model than the first
 * card, or would be more than JOURNAL_CARDS_MAX. */
struct status cards_add(struct journal_data *, const struct device_line *);
/* The index in data->card of the card with this UUID; card_count when there is none. */
size_t cards_find(const struct journal_data *, const char *uuid);

/* Can the row be of this run? False when it names a card that the run does not have. */
bool cards_has(const struct journal_data *, const struct record *);

/* The device that measured the row, the event overhead of that device (event_overhead.h), and its power limit. */
const struct device_info *cards_info(const struct journal_data *, const struct record *);
double cards_event_overhead_us(const struct journal_data *, const struct record *);
double cards_power_limit_w(const struct journal_data *, const struct record *);
