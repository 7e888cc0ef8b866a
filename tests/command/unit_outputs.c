/* Every output option of every verb, against everything that it must not replace. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/commands.h"
#include "cli/options/table.h"
#include "tests/unit.h"
#include "tests/unit_scratch.h"

/* `file`, the hard link and the symbolic link are one file. The manifest names the kernel. */
enum { FILE_ITSELF, HARD_LINK, SOFT_LINK, KERNEL, KERNEL_LINK, MANIFEST, PROGRAM_LINK, NAMES };
static const char *const names[] = {"file", "hard", "soft", "plain.cubin", "kernel_link", "k.json", "program"};
static char folder[PATH_MAX], path[NAMES][PATH_MAX + 16];

static int create(const char *name) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  return fd < 0 ? -1 : close(fd);
}

static int make_files(void **state) {
  (void)state;
  char manifest[PATH_MAX];
  scratch_name(folder);
  if (mkdtemp(folder) == NULL || realpath("tests/data/plain_attention.json", manifest) == NULL) return -1;
  for (size_t i = 0; i < NAMES; ++i) snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
  if (create(path[FILE_ITSELF]) != 0 || create(path[KERNEL]) != 0) return -1;
  if (link(path[FILE_ITSELF], path[HARD_LINK]) != 0 || symlink("file", path[SOFT_LINK]) != 0) return -1;
  if (link(path[KERNEL], path[KERNEL_LINK]) != 0 || symlink(manifest, path[MANIFEST]) != 0) return -1;
  return symlink("/proc/self/exe", path[PROGRAM_LINK]);
}

static int remove_files(void **state) {
  (void)state;
  for (size_t i = 0; i < NAMES; ++i) unlink(path[i]);
  return rmdir(folder);
}

static struct options options;

static void set(const struct option_row *row, const char *text) {
  if (row->kind == OPTION_LIST) {
    struct options_list *list = options_table_list(row, &options);
    list->item[list->count++] = text;
  } else {
    *options_table_text(row, &options) = text;
  }
}

static void begin(enum verb verb, const struct option_row *output, const char *text) {
  memset(&options, 0, sizeof options);
  options.verb = verb;
  set(output, text);
}

static void expect_refused(const char *other) {
  const struct status status = outputs_probe(&options);
  const bool is_told =
      strstr(status.text, "are one file") != NULL || strstr(status.text, "the journal of this run would be") != NULL;
  if (status.code != STATUS_USAGE || !is_told) fail_msg("%s: %s", other, status.text);
}

static void expect_apart_from_files(enum verb verb, const struct option_row *output) {
  EACH_OPTION(row, verb) {
    if (row == output || (row->flags & (OPTION_READS | OPTION_WRITES)) == 0) continue;
    for (int other = HARD_LINK; other <= SOFT_LINK; ++other) {
      begin(verb, output, path[FILE_ITSELF]);
      set(row, path[other]);
      expect_refused(row->name);
    }
  }
  begin(verb, output, path[SOFT_LINK]);
  options.reports = (struct options_list){.count = 2, .item = {path[MANIFEST], path[HARD_LINK]}};
  expect_refused("the report");
}

static void expect_apart_from_kernels(enum verb verb, const struct option_row *output) {
  static const char *const loads[] = {"--load", "--base-load"};
  for (size_t i = 0; i < 2; ++i) {
    const struct option_row *row = options_table_find(verb, loads[i], strlen(loads[i]));
    for (int kernel = KERNEL; kernel <= KERNEL_LINK && row != NULL; ++kernel) {
      begin(verb, output, path[kernel]);
      set(row, path[FILE_ITSELF]);
      set(row, path[MANIFEST]);
      expect_refused("a manifest's kernel");
    }
  }
}

static void expect_apart_from_the_program(enum verb verb, const struct option_row *output) {
  begin(verb, output, path[PROGRAM_LINK]);
  expect_refused("the program, by a link");
  begin(verb, output, "/proc/self/exe");
  expect_refused("the program");
}

TEST(no_output_replaces_what_is_read_or_runs) {
  size_t count = 0;
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    EACH_OPTION(row, verb) {
      if ((row->flags & OPTION_WRITES) == 0) continue;
      expect_apart_from_files(verb, row);
      expect_apart_from_kernels(verb, row);
      expect_apart_from_the_program(verb, row);
      ++count;
    }
  }
  assert_true(count > 0);
}

TEST(every_one_of_many_journals_is_an_input) {
  const struct option_row *json = options_table_find(VERB_MERGE, "--json", strlen("--json"));
  begin(VERB_MERGE, json, path[SOFT_LINK]);
  options.reports.count = OPTIONS_LIST_MAX;
  for (size_t i = 0; i < OPTIONS_LIST_MAX; ++i) options.reports.item[i] = path[MANIFEST];
  options.reports.item[OPTIONS_LIST_MAX - 1] = path[FILE_ITSELF];
  expect_refused("the last journal");
}

UNIT_FIXTURE(make_files, remove_files)
