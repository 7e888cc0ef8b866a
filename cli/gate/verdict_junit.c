/* A comparison as JUnit XML. */
#include <math.h>

#include "cli/gate/sinks.h"

/* What a verdict is in JUnit's words. A failure is a judgement, an error is one that could not be made. */
enum outcome { OUTCOME_PASSED, OUTCOME_FAILURE, OUTCOME_ERROR, OUTCOME_SKIPPED, OUTCOME_COUNT };

static enum outcome outcome_of(const struct compare *compare, const struct compare_row *row) {
  const enum exit_code code = verdict_exit_code(row->verdict);
  if (row->verdict == COMPARE_untimed) return OUTCOME_SKIPPED;
  if (sinks_row_fails(compare, row))
    return code == EXIT_CODE_COVERAGE || code == EXIT_CODE_INCONCLUSIVE ? OUTCOME_ERROR : OUTCOME_FAILURE;
  return code == EXIT_CODE_INCONCLUSIVE ? OUTCOME_SKIPPED : OUTCOME_PASSED;
}

static void put_property(FILE *file, const char *name, const char *value) {
  markup_put(file, markup_xml_text, "      <property name=\"%s\" value=\"%s\"/>\n", name, value);
}

/* ---- test cases ---------------------------------------------------------------------------------------------- */

static const char *suite_name(const struct compare *compare) {
  const char *name = compare->now->run.sweep_name;
  return name[0] != '\0' ? name : "attnbench";
}

/* classname is SWEEP.VARIANT: viewers show the part up to the last point as a folder. */
static void put_row_start(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char class[SWEEP_NAME_MAX + VARIANT_SPEC_MAX + 2], name[AXIS_KEY_MAX + 16];
  snprintf(class, sizeof class, "%s.%s", suite_name(compare), row->variant);
  snprintf(name, sizeof name, "%s %s", row->key, time_mode_name(row->mode));
  const bool timed = row->now.record != NULL && isfinite(row->now.median_us);
  markup_put(file, markup_xml_text, "    <testcase classname=\"%s\" name=\"%s\" time=\"%s\"", class, name,
             units_fixed(timed ? row->now.median_us * 1e-6 : 0, 9).text);
}

static void put_numbers(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char command[COMPARE_COMMAND_MAX];
  const struct sinks_numbers is = sinks_numbers(row);
  again_command(compare, row, command, sizeof command);
  markup_put(file, markup_xml_text, "base %s us, new %s us, change %s, bounds %s&#10;again: %s", is.base, is.now,
             is.change, is.bounds, command);
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  const enum outcome outcome = outcome_of(compare, row);
  put_row_start(file, compare, row);
  if (outcome == OUTCOME_PASSED) {
    fputs("/>\n", file);
    return;
  }
  fputs(">\n      ", file);
  if (outcome == OUTCOME_SKIPPED) {
    markup_put(file, markup_xml_text, "<skipped message=\"%s\"/>\n", sinks_row_text(row));
  } else {
    const char *tag = outcome == OUTCOME_ERROR ? "error" : "failure";
    markup_put(file, markup_xml_text, "<%s type=\"%s\" message=\"%s\">", tag, verdict_name(row->verdict),
               sinks_row_text(row));
    put_numbers(file, compare, row);
    fprintf(file, "</%s>\n", tag);
  }
  fputs("    </testcase>\n", file);
}

/* Without this case a comparison of nothing would be a file without failures. */
static bool can_judge(const struct compare *compare) { return compare->comparable && compare->compared > 0; }

static void put_comparable(FILE *file, const struct compare *compare) {
  markup_put(file, markup_xml_text, "    <testcase classname=\"%s\" name=\"comparable\" time=\"0\"",
             suite_name(compare));
  if (can_judge(compare)) {
    fputs("/>\n", file);
    return;
  }
  markup_put(file, markup_xml_text, ">\n      <error type=\"comparable\" message=\"%s\">",
             sinks_outcome_text(compare).text);
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    if (!difference->fatal) continue;
    markup_put(file, markup_xml_text, "%s: base %s, new %s&#10;", difference->key, difference->base, difference->now);
  }
  fputs("</error>\n    </testcase>\n", file);
}

/* All cases together, as a test case of their own. */
static void put_suite(FILE *file, const struct compare *compare) {
  const enum outcome outcome = outcome_of(compare, &compare->suite);
  static const char *const tags[OUTCOME_COUNT] = {
      [OUTCOME_FAILURE] = "failure", [OUTCOME_ERROR] = "error", [OUTCOME_SKIPPED] = "skipped"};
  if (!sinks_has_suite(compare)) return;
  markup_put(file, markup_xml_text, "    <testcase classname=\"%s\" name=\"all cases together\" time=\"0\"",
             suite_name(compare));
  if (tags[outcome] == NULL) {
    fputs("/>\n", file);
    return;
  }
  fprintf(file, ">\n      <%s", tags[outcome]);
  if (outcome != OUTCOME_SKIPPED) markup_xml_attribute(file, "type", verdict_name(compare->suite.verdict));
  markup_put(file, markup_xml_text, " message=\"%s\"/>\n    </testcase>\n", sinks_suite_text(compare).text);
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

static void put_counts(FILE *file, const struct compare *compare) {
  size_t count[OUTCOME_COUNT] = {0};
  for (size_t i = 0; i < compare->row_count; ++i) ++count[outcome_of(compare, &compare->rows[i])];
  if (sinks_has_suite(compare)) ++count[outcome_of(compare, &compare->suite)];
  fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
          compare->row_count + 1 + sinks_has_suite(compare), count[OUTCOME_FAILURE],
          count[OUTCOME_ERROR] + !can_judge(compare), count[OUTCOME_SKIPPED]);
}

static void put_properties(FILE *file, const struct compare *compare) {
  fputs("    <properties>\n", file);
  put_property(file, "counts", sinks_counts_text(compare).text);
  put_property(file, "outcome", sinks_outcome_text(compare).text);
  put_property(file, "base", sinks_report_text(compare->base).text);
  put_property(file, "new", sinks_report_text(compare->now).text);
  fputs("    </properties>\n", file);
}

struct status verdict_junit_write(const struct compare *compare, FILE *file) {
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"attnbench gate\"", file);
  put_counts(file, compare);
  fputs(">\n  <testsuite", file);
  markup_xml_attribute(file, "name", suite_name(compare));
  put_counts(file, compare);
  fputs(">\n", file);
  put_properties(file, compare);
  put_comparable(file, compare);
  put_suite(file, compare);
  for (size_t i = 0; i < compare->row_count; ++i) put_row(file, compare, &compare->rows[i]);
  fputs("  </testsuite>\n</testsuites>\n", file);
  return status_ok();
}
