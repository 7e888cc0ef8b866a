/* The table of verdicts: names, exit codes, help. */
#include "cli/gate/compare.h"

static const struct {
  const char *name, *help;
  enum exit_code exit;
} verdicts[COMPARE_VERDICT_COUNT] = {
#define COMPARE_ROW(name_, exit_, help_) [COMPARE_##name_] = {#name_, help_, exit_},
    COMPARE_VERDICT_MAP(COMPARE_ROW)
#undef COMPARE_ROW
};

const enum compare_verdict verdict_worst_first[COMPARE_VERDICT_COUNT] = {
    COMPARE_wrong, COMPARE_implausible,  COMPARE_missing,  COMPARE_regressed, COMPARE_cycles, COMPARE_added,
    COMPARE_clock, COMPARE_inconclusive, COMPARE_improved, COMPARE_same,      COMPARE_untimed};

const char *verdict_name(enum compare_verdict verdict) { return verdicts[verdict].name; }
const char *verdict_at(uint32_t index) { return index < COMPARE_VERDICT_COUNT ? verdicts[index].name : NULL; }
enum exit_code verdict_exit_code(enum compare_verdict verdict) { return verdicts[verdict].exit; }
const char *verdict_help(enum compare_verdict verdict) { return verdicts[verdict].help; }
