/* The table of findings is complete, and results/findings.md is its page; ATTN_UPDATE_GOLDEN=1 writes it. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/analyse/finding.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

static void put_thresholds(FILE *file, enum finding_id id) {
  const char *separator = "";
  for (size_t i = 0; i < finding_threshold_count(); i++) {
    const struct finding_threshold *t = finding_threshold_at(i);
    if (t->id != id) continue;
    fprintf(file, "%s`%s` = %g: %s", separator, t->name, t->value, t->what);
    separator = "<br>";
  }
}

static char *make_page(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  fputs(
      "# Findings\n\n"
      "What `attnbench diagnose` can say of a row. This page is the table in `cli/analyse/finding.h`; a test holds "
      "the two\n"
      "together. Each finding comes with the measured fact, one change, and where a promise can be made the time "
      "that\n"
      "the change saves; [h200/advice.md](h200/advice.md) holds promises against measurements.\n\n"
      "Findings of a row are ordered by the microseconds that they stand for. The text of a run shows three per "
      "row,\n"
      "`attnbench diagnose` and the JSON all.\n\n"
      "| finding | severity | meaning | rule | thresholds | remedy | decided by |\n|---|---|---|---|---|---|---|\n",
      file);
  static const char *const deciders[FINDING_ID_COUNT] = {
#define DECIDER(source, name, severity, meaning, rule, remedy) \
  "`" #source "_" #name "` in `cli/analyse/" #source ".c`",
      FINDING_MAP(DECIDER)
#undef DECIDER
  };
  for (enum finding_id id = 0; id < FINDING_ID_COUNT; id++) {
    fprintf(file, "| `%s` | %s | %s | %s | ", finding_name(id), finding_severity_name(finding_severity(id)),
            finding_help(id), finding_rule(id));
    put_thresholds(file, id);
    fprintf(file, " | %s | %s |\n", finding_remedy(id), deciders[id]);
  }
  fclose(file);
  return text;
}

TEST(the_page_is_the_table) {
  char *page = make_page();
  compare_golden("results/findings.md", page);
  free(page);
}

TEST(every_row_is_complete) {
  for (enum finding_id id = 0; id < FINDING_ID_COUNT; id++) {
    assert_true(strlen(finding_help(id)) > 20);
    assert_true(strlen(finding_rule(id)) > 20);
    assert_true(strlen(finding_remedy(id)) > 5);
    for (enum finding_id other = 0; other < id; other++)
      assert_string_not_equal(finding_name(id), finding_name(other));
  }
  for (size_t i = 0; i < finding_threshold_count(); i++) {
    assert_true(finding_threshold_at(i)->id < FINDING_ID_COUNT);
    assert_true(finding_threshold_at(i)->value > 0);
  }
  assert_true(finding_limits.tail_waste_min > 0.19 && finding_limits.tail_waste_min < 0.21);
}

TEST(a_row_has_room_for_every_finding) { assert_true((int)FINDINGS_MAX > (int)FINDING_ID_COUNT); }
