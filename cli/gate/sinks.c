/* Texts and escapes that all sinks of a comparison share. */
#include "cli/gate/sinks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/text.h"

/* ---- words --------------------------------------------------------------------------------------------------- */

uint64_t sinks_expected(const struct compare *compare) {
  return compare->row_count - compare->verdict_count[COMPARE_added] - compare->verdict_count[COMPARE_untimed];
}

bool sinks_row_fails(const struct compare *compare, const struct compare_row *row) {
  return compare_exit_code_of(&compare->settings, row->verdict) != EXIT_CODE_OK;
}

struct sinks_line sinks_verdicts_text(const uint64_t count[COMPARE_VERDICT_COUNT]) {
  struct sinks_line out = {""};
  for (size_t i = 0; i < COMPARE_VERDICT_COUNT; ++i) {
    const enum compare_verdict verdict = verdict_worst_first[i];
    if (count[verdict] == 0) continue;
    text_append(out.text, sizeof out.text, "%s%" PRIu64 " %s", out.text[0] != '\0' ? ", " : "", count[verdict],
                verdict_name(verdict));
  }
  return out;
}

struct sinks_line sinks_counts_text(const struct compare *compare) {
  const struct sinks_line verdicts = sinks_verdicts_text(compare->verdict_count);
  struct sinks_line out;
  snprintf(out.text, sizeof out.text, "%" PRIu64 " compared of %" PRIu64 " expected%s%.400s", compare->compared,
           sinks_expected(compare), verdicts.text[0] != '\0' ? ": " : "", verdicts.text);
  return out;
}

/* Have all undecided rows fewer processes than a verdict needs? */
static bool all_have_few(const struct compare *compare) {
  const uint32_t least = compare->settings.paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (row->verdict == COMPARE_inconclusive && row->base.processes >= least && row->now.processes >= least)
      return false;
  }
  return true;
}

/* ": 1 process each, 3 needed" */
static void append_few(const struct compare *compare, char *out, size_t size) {
  uint32_t least = UINT32_MAX, most = 0;
  if (!all_have_few(compare)) {
    text_append(out, size, ", for the reasons below");
    return;
  }
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    const uint32_t base = row->base.processes, now = row->now.processes;
    if (row->verdict != COMPARE_inconclusive) continue;
    least = base < now ? (base < least ? base : least) : now < least ? now : least;
    most = base > now ? (base > most ? base : most) : now > most ? now : most;
  }
  const char *unit = compare->settings.paired ? most == 1 ? " pair" : " pairs"
                     : most == 1              ? " process"
                                              : " processes";
  text_append(out, size, ": %" PRIu32, least);
  if (most > least) text_append(out, size, " to %" PRIu32, most);
  text_append(out, size, "%s%s, %d needed", unit, compare->settings.paired ? "" : " each",
              compare->settings.paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN);
}

static void append_differences(const struct compare *compare, char *out, size_t size) {
  const char *before = ": they differ in ";
  text_append(out, size, "the two reports are not comparable");
  for (size_t i = 0; i < compare->difference_count; ++i) {
    if (!compare->difference[i].fatal) continue;
    text_append(out, size, "%s%s", before, compare->difference[i].key);
    before = ", ";
  }
}

/* Why nothing can be said where rows have no verdict that fails. */
static void append_unmeasured(const struct compare *compare, char *out, size_t size) {
  const struct record *record = compare->unmeasured;
  if (compare->compared == 0 || record == NULL)
    text_append(out, size, "nothing was compared: no row has times on both sides");
  else
    text_append(out, size, "every row of %s is skipped, first: %s: %s", record->variant_name, record->attn_case.key,
                record->reason);
}

/* "264 of 396 rows are missing in the new report; 132 cannot be judged: 1 process each, 3 needed" */
static void append_causes(const struct compare *compare, char *out, size_t size) {
  static const struct {
    const char *one, *many;
  } causes[COMPARE_VERDICT_COUNT] = {
      [COMPARE_wrong] = {"is wrong", "are wrong"},
      [COMPARE_implausible] = {"has a time that cannot be", "have times that cannot be"},
      [COMPARE_missing] = {"is missing in the new report", "are missing in the new report"},
      [COMPARE_regressed] = {"is slower", "are slower"},
      [COMPARE_cycles] = {"needs more SM cycles", "need more SM cycles"},
      [COMPARE_added] = {"is only in the new report", "are only in the new report"},
      [COMPARE_clock] = {"cannot be judged at unlike clocks", "cannot be judged at unlike clocks"},
      [COMPARE_inconclusive] = {"cannot be judged", "cannot be judged"}};
  bool any = false;
  for (size_t i = 0; i < COMPARE_VERDICT_COUNT; ++i) {
    const enum compare_verdict verdict = verdict_worst_first[i];
    const uint64_t count = compare->verdict_count[verdict];
    if (count == 0 || compare_exit_code_of(&compare->settings, verdict) == EXIT_CODE_OK) continue;
    text_append(out, size, "%s%" PRIu64, any ? "; " : "", count);
    if (!any) text_append(out, size, " of %zu rows", compare->row_count);
    text_append(out, size, " %s", count == 1 ? causes[verdict].one : causes[verdict].many);
    if (verdict == COMPARE_inconclusive) append_few(compare, out, size);
    any = true;
  }
  const bool is_suite = sinks_has_suite(compare) && verdict_exit_code(compare->suite.verdict) == compare->exit_code;
  if (is_suite && (!any || compare->exit_code == EXIT_CODE_REGRESSION)) {
    text_append(out, size, "%sall cases together: %s, %s", any ? "; " : "", verdict_name(compare->suite.verdict),
                sinks_numbers(&compare->suite).change);
  } else if (!any) {
    append_unmeasured(compare, out, size);
  }
}

struct sinks_line sinks_outcome_text(const struct compare *compare) {
  struct sinks_line out = {"passed: every expected case is present, right and not slower"};
  if (compare->exit_code == EXIT_CODE_OK) return out;
  snprintf(out.text, sizeof out.text,
           "%s, exit code %d: ", compare->exit_code == EXIT_CODE_INCONCLUSIVE ? "UNDECIDED" : "FAILED",
           (int)compare->exit_code);
  if (compare->exit_code == EXIT_CODE_NOT_COMPARABLE) {
    append_differences(compare, out.text, sizeof out.text);
  } else {
    append_causes(compare, out.text, sizeof out.text);
  }
  return out;
}

/* The rows whose verdicts ask for the comparison's exit code; the first of them in *first. */
static size_t rows_behind(const struct compare *compare, uint64_t count[COMPARE_VERDICT_COUNT],
                          const struct compare_row **first) {
  size_t rows = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (verdict_exit_code(row->verdict) != compare->exit_code || !sinks_row_fails(compare, row)) continue;
    ++count[row->verdict];
    if (rows++ == 0) *first = row;
  }
  return rows;
}

/* The first difference that forbids the comparison. */
static void put_difference(const struct compare *compare, char out[COMPARE_FAILURE_MAX]) {
  size_t i = 0;
  while (i + 1 < compare->difference_count && !compare->difference[i].fatal) ++i;
  const struct compare_difference *difference = &compare->difference[i];
  snprintf(out, COMPARE_FAILURE_MAX, "the two sides are not comparable, first difference: %s: %s | %s",
           difference->key, difference->base, difference->now);
}

void sinks_failure_text(const struct compare *compare, char out[COMPARE_FAILURE_MAX]) {
  uint64_t count[COMPARE_VERDICT_COUNT] = {0};
  const struct compare_row *first = NULL;
  out[0] = '\0';
  const size_t rows = rows_behind(compare, count, &first);
  if (compare->exit_code == EXIT_CODE_OK) return;
  if (!compare->comparable && compare->difference_count > 0) {
    put_difference(compare, out);
  } else if (rows > 0) {
    snprintf(out, COMPARE_FAILURE_MAX, "%zu of %zu rows: %.200s", rows, compare->row_count,
             sinks_verdicts_text(count).text);
    if (count[COMPARE_inconclusive] == rows && all_have_few(compare)) {
      append_few(compare, out, COMPARE_FAILURE_MAX);
    } else {
      text_append(out, COMPARE_FAILURE_MAX, ", first: %s %s %s: %s", first->key, first->variant,
                  time_mode_name(first->mode), sinks_row_text(first));
    }
  } else if (sinks_has_suite(compare) && verdict_exit_code(compare->suite.verdict) == compare->exit_code) {
    snprintf(out, COMPARE_FAILURE_MAX, "%s", sinks_suite_text(compare).text);
  } else {
    out[0] = '\0';
    append_unmeasured(compare, out, COMPARE_FAILURE_MAX);
  }
}

struct sinks_line sinks_report_text(const struct journal_data *journal) {
  const struct run_info *run = &journal->run;
  struct sinks_line out;
  snprintf(out.text, sizeof out.text, "attnbench %s (commit %s), %s%s%s, sweep %s%s%s", run->version, run->git_commit,
           journal->has_device ? journal->device.name : "nothing measured",
           journal->has_device && journal->device.driver[0] != '\0' ? ", driver " : "",
           journal->has_device ? journal->device.driver : "", run->sweep_name,
           run->started_utc[0] != '\0' ? ", " : "", run->started_utc);
  return out;
}

bool sinks_has_suite(const struct compare *compare) { return compare->suite.key != NULL; }

struct sinks_line sinks_suite_text(const struct compare *compare) {
  struct sinks_line out;
  const struct compare_row *suite = &compare->suite;
  const struct sinks_numbers is = sinks_numbers(suite);
  /* A reason has the bounds itself; that of the rows is told with them. */
  const bool has_reason = suite->reason[0] != '\0', has_bounds = strcmp(is.bounds, "-") != 0 && !has_reason;
  bool is_told = false;
  for (size_t i = 0; i < compare->row_count && has_reason && !is_told; ++i)
    is_told = strcmp(compare->rows[i].reason, suite->reason) == 0;
  snprintf(out.text, sizeof out.text, "all cases together: %s, %s in the geometric mean of %zu rows%s%s%s%s%.300s",
           verdict_name(suite->verdict), is.change, compare->suite_rows, has_bounds ? " (bounds " : "",
           has_bounds ? is.bounds : "", has_bounds ? ")" : "", has_reason && !is_told ? ": " : "",
           is_told ? "" : suite->reason);
  return out;
}

const char *sinks_stop(const struct compare *compare) {
  const bool in_steps = compare->settings.pairs_planned > 0;
  if (compare->pairs == 0) return "";
  if (!in_steps) return "as many as --rounds says";
  if (compare->pairs == compare->pairs_most) return "as many as there may be";
  return compare->comparable ? "every verdict was clear" : "the two sides cannot be compared";
}

size_t sinks_clear_before(const struct compare *compare) {
  size_t clear = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    clear += row->looks == 0 && row->has_ratio && row->now.processes < compare->pairs;
  }
  return clear;
}

/* Rows that were measured again have more processes than there were pairs at first. */
static uint32_t most_processes(const struct compare *compare) {
  uint32_t most = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const uint32_t processes = compare->rows[i].now.processes;
    if (compare->rows[i].was_suspect && processes > most) most = processes;
  }
  return most;
}

struct sinks_line sinks_pairs_text(const struct compare *compare) {
  const size_t clear = sinks_clear_before(compare);
  struct sinks_line out = {""};
  if (compare->pairs > 0)
    snprintf(out.text, sizeof out.text, "%u of at most %u pairs of processes: %s", (unsigned)compare->pairs,
             (unsigned)compare->pairs_most, sinks_stop(compare));
  if (compare->pairs > 0 && clear > 0)
    text_append(out.text, sizeof out.text, "; %zu of %" PRIu64 " rows were clear after fewer", clear,
                compare->compared);
  if (compare->pairs > 0 && most_processes(compare) > compare->pairs)
    text_append(out.text, sizeof out.text,
                "; rows that were measured again have up to %" PRIu32 " processes of each side",
                most_processes(compare));
  return out;
}

bool sinks_needs_processes(const struct compare *compare) {
  const bool is_undecided = compare->exit_code == EXIT_CODE_INCONCLUSIVE && !compare->is_same_file;
  return is_undecided && compare->pairs == 0 && all_have_few(compare);
}

/* What a user does next, by exit code; the first row that fits. */
static bool is_any(const struct compare *compare) { return compare->exit_code != EXIT_CODE_OK; }
static bool is_same_file(const struct compare *compare) { return compare->is_same_file; }
static bool has_implausible(const struct compare *compare) { return compare->verdict_count[COMPARE_implausible] > 0; }
static bool has_missing(const struct compare *compare) { return compare->verdict_count[COMPARE_missing] > 0; }
static bool has_unmeasured(const struct compare *compare) { return compare->unmeasured != NULL; }
static bool has_added(const struct compare *compare) { return compare->verdict_count[COMPARE_added] > 0; }
static bool has_few_pairs(const struct compare *compare) {
  return compare->pairs > 0 && compare->verdict_count[COMPARE_inconclusive] > 0 && all_have_few(compare);
}
static bool is_once(const struct compare *compare) { return compare->settings.once; }

static const struct {
  enum exit_code code;
  bool (*applies)(const struct compare *);
  const char *advice;
} advices[] = {
    {EXIT_CODE_REGRESSION, is_once,
     "look at the rows below. These two reports were judged once, and nothing was measured again; `attnbench ab` "
     "measures both programs in turns and confirms what it finds"},
    {EXIT_CODE_REGRESSION, is_any, "look at the rows below; each has the command that measures it again"},
    {EXIT_CODE_WRONG, is_any, "fix the kernel: a result that is wrong has no speed"},
    {EXIT_CODE_COVERAGE, has_implausible,
     "find out why a time below cannot be: a kernel that does not do its work, or a fault of the measurement. If the "
     "new times are right, measure a new base"},
    {EXIT_CODE_COVERAGE, has_missing,
     "make the cells below run again as in the base; --allow-new accepts cells that only the new report has"},
    {EXIT_CODE_COVERAGE, has_added,
     "accept the cells that only the new report has with --allow-new, or measure a new base that has them"},
    {EXIT_CODE_COVERAGE, has_unmeasured, "measure cases that the loaded variant takes, or do not name it"},
    {EXIT_CODE_COVERAGE, is_any, "compare two reports that have times of the same cells"},
    {EXIT_CODE_INCONCLUSIVE, is_same_file, "name the reports of two runs: both sides are one file"},
    {EXIT_CODE_INCONCLUSIVE, sinks_needs_processes,
     "measure both sides again with more processes, as the commands below do, and compare the new files; or measure "
     "both programs in turns with `attnbench ab --base PROGRAM`"},
    {EXIT_CODE_INCONCLUSIVE, has_few_pairs,
     "leave --rounds out, and ab measures as many pairs of processes as it needs; or give at least --rounds 7"},
    {EXIT_CODE_INCONCLUSIVE, is_once,
     "measure more rounds (the rows say how many), or measure both programs in turns with `attnbench ab`, which "
     "measures again by itself what it cannot decide"},
    {EXIT_CODE_INCONCLUSIVE, is_any,
     "find out what disturbs this device (other jobs, heat, changing clocks) and run the gate again; --noise=warn "
     "lets undecided cases pass"},
    {EXIT_CODE_NOT_COMPARABLE, is_any,
     "measure both sides on one machine, with one sweep and the same settings; what differs is listed below"},
};

const char *sinks_advice(const struct compare *compare) {
  for (size_t i = 0; i < sizeof advices / sizeof *advices; ++i) {
    if (advices[i].code == compare->exit_code && advices[i].applies(compare)) return advices[i].advice;
  }
  return "";
}

const char *sinks_row_text(const struct compare_row *row) {
  return row->reason[0] != '\0' ? row->reason : verdict_help(row->verdict);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static struct sinks_percent signed_percent(double ratio) {
  const double percent = (ratio - 1) * 100;
  const struct units_text digits = units_fixed(fabs(percent), 2);
  struct sinks_percent out;
  snprintf(out.text, sizeof out.text, "%s%s", percent < 0 && strcmp(digits.text, "0.00") != 0 ? "-" : "+",
           digits.text);
  return out;
}

struct sinks_percent sinks_percent(double ratio) {
  struct sinks_percent out;
  snprintf(out.text, sizeof out.text, isfinite(ratio) ? "%.24s %%" : "-", signed_percent(ratio).text);
  return out;
}

/* Too few processes give an interval of less confidence, which is no bound. The last digits are not to decide. */
static const double least_confidence = COMPARE_CONFIDENCE - 1e-9;

static bool has_bounds(const struct compare_row *row) {
  return isfinite(row->ci_low) && isfinite(row->ci_high) && row->confidence > least_confidence;
}

static void side_text(const struct compare_side *side, char median[UNITS_TEXT_MAX], char processes[16]) {
  const bool known = side->record != NULL && side->processes > 0;
  units_format(side->record != NULL ? side->median_us : (double)NAN, median);
  snprintf(processes, 16, known ? "%" PRIu32 : "-", side->processes);
}

struct sinks_numbers sinks_numbers(const struct compare_row *row) {
  struct sinks_numbers out;
  char base[16], now[16];
  side_text(&row->base, out.base, base);
  side_text(&row->now, out.now, now);
  snprintf(out.change, sizeof out.change, "%s", sinks_percent(row->ratio).text);
  snprintf(out.bounds, sizeof out.bounds, has_bounds(row) ? "%.10s to %.10s %%" : "-",
           signed_percent(row->ci_low).text, signed_percent(row->ci_high).text);
  snprintf(out.processes, sizeof out.processes, "%s+%s", base, now);
  return out;
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

enum { GROUP_MIN = 4 };

static bool is_like(const struct compare_row *a, const struct compare_row *b) {
  return a->verdict == b->verdict && strcmp(a->reason, b->reason) == 0;
}

bool sinks_is_grouped(const struct compare *compare, const struct compare_row *row) {
  size_t alike = 0;
  const bool may_share = row->verdict == COMPARE_inconclusive || row->verdict == COMPARE_missing ||
                         row->verdict == COMPARE_added || row->verdict == COMPARE_clock;
  const bool is_dull = row->verdict == COMPARE_untimed || (row->verdict == COMPARE_same && row->reason[0] == '\0');
  for (size_t i = 0; i < compare->row_count && alike < GROUP_MIN && may_share; ++i)
    alike += is_like(&compare->rows[i], row);
  return is_dull || alike >= GROUP_MIN;
}

/* The rows of one line, and what their changes and bounds span. */
struct group {
  size_t rows;
  double least, most, ci_low, ci_high; /* ratios */
  bool has_bounds;                     /* every row has some */
};

static void add_to_group(const struct compare_row *row, struct group *group) {
  group->least = fmin(group->least, row->ratio);
  group->most = fmax(group->most, row->ratio);
  group->ci_low = fmin(group->ci_low, row->ci_low);
  group->ci_high = fmax(group->ci_high, row->ci_high);
  group->has_bounds = group->has_bounds && has_bounds(row);
  ++group->rows;
}

/* ": -3.29 % to -1.20 %, bounds -5.60 % to +0.51 %" */
static void append_changes(const struct group *group, char out[COMPARE_LINE_MAX]) {
  const struct sinks_percent least = sinks_percent(group->least), most = sinks_percent(group->most);
  if (!isfinite(group->least)) return;
  text_append(out, COMPARE_LINE_MAX, ": %s", least.text);
  if (strcmp(least.text, most.text) != 0) text_append(out, COMPARE_LINE_MAX, " to %s", most.text);
  if (group->has_bounds)
    text_append(out, COMPARE_LINE_MAX, ", bounds %s to %s", sinks_percent(group->ci_low).text,
                sinks_percent(group->ci_high).text);
}

bool sinks_group_text(const struct compare *compare, const struct compare_row *row, char out[COMPARE_LINE_MAX]) {
  struct group group = {
      .least = INFINITY, .most = -INFINITY, .ci_low = INFINITY, .ci_high = -INFINITY, .has_bounds = true};
  if (!sinks_is_grouped(compare, row)) return false;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *other = &compare->rows[i];
    if (!is_like(other, row)) continue;
    if (group.rows == 0 && other != row) return false;
    add_to_group(other, &group);
  }
  snprintf(out, COMPARE_LINE_MAX, "%zu row%s the verdict %s", group.rows, group.rows == 1 ? " has" : "s have",
           verdict_name(row->verdict));
  append_changes(&group, out);
  if (row->reason[0] != '\0') text_append(out, COMPARE_LINE_MAX, "; %.400s", row->reason);
  if (row->verdict == COMPARE_missing || row->verdict == COMPARE_added)
    text_append(out, COMPARE_LINE_MAX, "; the first is %s %s %s", row->key, row->variant, time_mode_name(row->mode));
  return true;
}
