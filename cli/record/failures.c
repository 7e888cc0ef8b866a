/* Counts and names the cells that ask for an exit code. */
#include "cli/record/journal.h"

#include <inttypes.h>
#include <string.h>

#include "cli/base/text.h"

static bool is_failed(const struct record *record) { return cell_status_exit_code(record->status) != EXIT_CODE_OK; }

/* The cell that determines the exit code: the first wrong one, else the first that failed. */
static const struct record *first_failed(const struct record *records, size_t count) {
  const struct record *first = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (records[i].status == CELL_wrong) return &records[i];
    if (first == NULL && is_failed(&records[i])) first = &records[i];
  }
  return first;
}

static void append_counts(const struct record *records, size_t count, char out[FAILURES_TEXT_MAX]) {
  const char *before = " (";
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    size_t of_status = 0;
    for (size_t i = 0; i < count; ++i) of_status += records[i].status == status;
    if (of_status == 0 || cell_status_exit_code(status) == EXIT_CODE_OK) continue;
    text_append(out, FAILURES_TEXT_MAX, "%s%zu %s", before, of_status, cell_status_name(status));
    before = ", ";
  }
  text_append(out, FAILURES_TEXT_MAX, ")");
}

/* Was the variant loaded? It is none of those that are built in. */
static bool is_loaded(const char *name) {
  const struct attn_variant *variant = variant_find(name);
  return variant == NULL || variant_is_added(variant);
}

static bool is_always_skipped(const struct record *records, size_t count, const struct record *of) {
  for (size_t i = 0; i < count; ++i) {
    if (records[i].status != CELL_skipped && strcmp(records[i].variant_name, of->variant_name) == 0) return false;
  }
  return true;
}

const struct record *failures_loaded_skipped(const struct record *records, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const struct record *record = &records[i];
    if (record->status == CELL_skipped && is_loaded(record->variant_name) &&
        is_always_skipped(records, count, record))
      return record;
  }
  return NULL;
}

bool failures_lost_ratio(const struct record *record) {
  return record->status == CELL_ok && strchr(record->speedup.reason, ':') != NULL;
}

/* The first row that lost its ratio, if the reference is a loaded variant and no row has a ratio to it, because the
 * reference failed or took none of the cases. Otherwise NULL. */
static const struct record *lost_reference(const struct record *records, size_t count) {
  const struct record *first = NULL;
  char name[VARIANT_SPEC_MAX];
  for (size_t i = 0; i < count; ++i) {
    const struct speedup_record *speedup = &records[i].speedup;
    if (speedup->reference[0] != '\0' && speedup->reason[0] == '\0') return NULL;
    if (first == NULL && failures_lost_ratio(&records[i])) first = &records[i];
  }
  if (first == NULL) return NULL;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(first->speedup.reason, ":"), first->speedup.reason);
  return is_loaded(name) ? first : NULL;
}

bool failures_lack_result(const struct journal_data *data) {
  size_t skipped = 0;
  if (data->run.shard[0] != '\0' || !run_info_is_own(&data->run) || data->record_count == 0) return false;
  for (size_t i = 0; i < data->record_count; ++i) skipped += data->records[i].status == CELL_skipped;
  if (skipped == data->record_count) return true;
  return !data->is_complete_as_is && (failures_loaded_skipped(data->records, data->record_count) != NULL ||
                                      lost_reference(data->records, data->record_count) != NULL);
}

void failures_text(const struct record *records, size_t count, uint64_t expected, char out[FAILURES_TEXT_MAX]) {
  const struct record *first = first_failed(records, count), *unmeasured = failures_loaded_skipped(records, count),
                      *no_ratio = lost_reference(records, count);
  const uint64_t missing = expected > count ? expected - count : 0;
  size_t failed = 0, left_out = 0, skipped = 0;
  out[0] = '\0';
  for (size_t i = 0; i < count; ++i) {
    failed += is_failed(&records[i]);
    left_out += records[i].status == CELL_left_out;
    skipped += records[i].status == CELL_skipped;
  }
  if (missing > 0)
    text_append(out, FAILURES_TEXT_MAX, "%" PRIu64 " of %" PRIu64 " cells %s not measured", missing, expected,
                missing == 1 ? "was" : "were");
  if (skipped == count && count > 0)
    text_append(out, FAILURES_TEXT_MAX, "%severy row is skipped, first: %s %s: %s", missing > 0 ? ", " : "",
                records[0].attn_case.key, records[0].variant, records[0].reason);
  else if (unmeasured != NULL)
    text_append(out, FAILURES_TEXT_MAX, "%severy row of %s is skipped, first: %s: %s", missing > 0 ? ", " : "",
                unmeasured->variant_name, unmeasured->attn_case.key, unmeasured->reason);
  if (no_ratio != NULL)
    text_append(out, FAILURES_TEXT_MAX, "%sno row has a ratio to the reference, first: %s %s: %s",
                out[0] != '\0' ? ", " : "", no_ratio->attn_case.key, no_ratio->variant, no_ratio->speedup.reason);
  if (first == NULL) return;
  text_append(out, FAILURES_TEXT_MAX, "%s%zu of %" PRIu64 " cells %s", out[0] != '\0' ? ", " : "", failed, expected,
              left_out < failed ? "failed" : "have no result");
  append_counts(records, count, out);
  text_append(out, FAILURES_TEXT_MAX, ", first: %s %s: %s", first->attn_case.key, first->variant, first->reason);
}
