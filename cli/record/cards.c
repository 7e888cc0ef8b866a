/* Finds a row's card among those of its run. */
#include "cli/record/journal.h"

#include <string.h>

static bool is_alike(const struct device_info *a, const struct device_info *b) {
  return a->kind == b->kind && a->sms == b->sms && strcmp(a->name, b->name) == 0;
}

struct status cards_add(struct journal_data *data, const struct device_line *line) {
  const struct device_info *info = &line->info;
  if (data->card_count == JOURNAL_CARDS_MAX)
    return status_make(STATUS_INPUT, "device: at most %d cards measure in one run", JOURNAL_CARDS_MAX);
  if (info->uuid[0] == '\0')
    return status_make(STATUS_INPUT, "device: %s has no uuid to tell its rows by", info->name);
  if (cards_find(data, info->uuid) < data->card_count)
    return status_make(STATUS_INPUT, "device: %s is there twice", info->uuid);
  if (data->card_count > 0 && !is_alike(&data->card[0].info, info))
    return status_make(STATUS_INPUT, "device: %s (%s) and %s (%s) are not of one model", data->card[0].info.name,
                       data->card[0].info.uuid, info->name, info->uuid);
  data->card[data->card_count++] = *line;
  return status_ok();
}

size_t cards_find(const struct journal_data *data, const char *uuid) {
  size_t i = 0;
  while (i < data->card_count && strcmp(data->card[i].info.uuid, uuid) != 0) ++i;
  return i;
}

bool cards_has(const struct journal_data *data, const struct record *record) {
  const bool names_none = record->card[0] == '\0';
  return data->card_count == 0 ? names_none : names_none || cards_find(data, record->card) < data->card_count;
}

const struct device_info *cards_info(const struct journal_data *data, const struct record *record) {
  const size_t i = cards_find(data, record->card);
  return i < data->card_count ? &data->card[i].info : &data->device;
}

double cards_event_overhead_us(const struct journal_data *data, const struct record *record) {
  const size_t i = cards_find(data, record->card);
  return i < data->card_count ? data->card[i].event_overhead_us : data->event_overhead_us;
}

const struct device_policy *cards_policy(const struct journal_data *data, const struct record *record) {
  const size_t i = cards_find(data, record->card);
  return i < data->card_count ? &data->card[i].policy : &data->policy;
}
