/* A comparison as JUnit XML. */
#include <math.h>

#include "cli/base/text.h"
#include "cli/gate/sinks.h"

static enum junit_outcome outcome_of(const struct compare *compare, const struct compare_row *row) {
  const enum exit_code code = verdict_exit_code(row->verdict);
  if (row->verdict == COMPARE_untimed) return JUNIT_SKIPPED;
  if (sinks_row_fails(compare, row))
    return code == EXIT_CODE_COVERAGE || code == EXIT_CODE_INCONCLUSIVE ? JUNIT_ERROR : JUNIT_FAILURE;
  return code == EXIT_CODE_INCONCLUSIVE ? JUNIT_SKIPPED : JUNIT_PASSED;
}

/* Without this case a comparison of nothing would be a file without failures. */
static enum junit_outcome outcome_of_sides(const struct compare *compare) {
  return compare->comparable && compare->compared > 0 ? JUNIT_PASSED : JUNIT_ERROR;
}

static const char *suite_name(const struct compare *compare) {
  const char *name = compare->now->run.sweep_name;
  return name[0] != '\0' ? name : "attnbench";
}

static void put_properties(FILE *file, const struct compare *compare) {
  const struct {
    const char *name;
    struct sinks_line value;
  } rows[] = {{"counts", sinks_counts_text(compare)},
              {"outcome", sinks_outcome_text(compare)},
              {"base", sinks_report_text(compare->base)},
              {"new", sinks_report_text(compare->now)}};
  fputs("    <properties>\n", file);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    markup_put(file, markup_xml_text, "      <property name=\"%s\" value=\"%s\"/>\n", rows[i].name,
               rows[i].value.text);
  fputs("    </properties>\n", file);
}

static void put_sides(FILE *file, const struct compare *compare) {
  char body[COMPARE_DIFFERENCES_MAX * (sizeof(struct compare_difference) + 16)] = "";
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    if (difference->fatal)
      text_append(body, sizeof body, "%s: base %s, new %s\n", difference->key, difference->base, difference->now);
  }
  markup_junit_case(file, &(struct junit_case){.suite = suite_name(compare),
                                               .name = "comparable",
                                               .outcome = outcome_of_sides(compare),
                                               .type = "comparable",
                                               .message = sinks_outcome_text(compare).text,
                                               .body = body});
}

/* All cases together, as a test case of their own. */
static void put_suite(FILE *file, const struct compare *compare) {
  if (!sinks_has_suite(compare)) return;
  markup_junit_case(file, &(struct junit_case){.suite = suite_name(compare),
                                               .name = "all cases together",
                                               .outcome = outcome_of(compare, &compare->suite),
                                               .type = verdict_name(compare->suite.verdict),
                                               .message = sinks_suite_text(compare).text});
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char name[AXIS_KEY_MAX + 16], command[COMPARE_COMMAND_MAX], body[COMPARE_COMMAND_MAX + COMPARE_LINE_MAX];
  const struct sinks_numbers is = sinks_numbers(row);
  again_command(compare, row, command, sizeof command);
  snprintf(name, sizeof name, "%s %s", row->key, time_mode_name(row->mode));
  snprintf(body, sizeof body, "base %s us, new %s us, change %s, bounds %s\nagain: %s", is.base, is.now, is.change,
           is.bounds, command);
  markup_junit_case(file, &(struct junit_case){.suite = suite_name(compare),
                                               .variant = row->variant,
                                               .name = name,
                                               .us = row->now.record != NULL ? row->now.median_us : (double)NAN,
                                               .outcome = outcome_of(compare, row),
                                               .type = verdict_name(row->verdict),
                                               .message = sinks_row_text(row),
                                               .body = body});
}

struct status verdict_junit_write(const struct compare *compare, FILE *file) {
  size_t count[JUNIT_OUTCOMES] = {0};
  ++count[outcome_of_sides(compare)];
  if (sinks_has_suite(compare)) ++count[outcome_of(compare, &compare->suite)];
  for (size_t i = 0; i < compare->row_count; ++i) ++count[outcome_of(compare, &compare->rows[i])];
  markup_junit_open(file, "attnbench gate", suite_name(compare), count);
  put_properties(file, compare);
  put_sides(file, compare);
  put_suite(file, compare);
  for (size_t i = 0; i < compare->row_count; ++i) put_row(file, compare, &compare->rows[i]);
  markup_junit_close(file);
  return status_ok();
}
