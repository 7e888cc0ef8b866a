/* attnbench ab: whole fresh processes of two programs in turns on one device, ABBA, and the verdict on the second. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/command_suspects.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/rounds.h"

enum { BASE, CANDIDATE, SIDE_COUNT };

struct side {
  const char *name, *option, *path;
};

struct ab {
  const struct options *options;
  struct side side[SIDE_COUNT];
  char folder[512]; /* of journals and messages */
  double stall_s;
};

/* One set of processes: the first measurement of all cells, or the second one of the suspects. */
struct set {
  const char *name; /* leads the names of its files */
  const struct suspects *only;
  struct journal_data data[SIDE_COUNT];
};

/* ---- command lines ------------------------------------------------------------------------------------------- */

/* What the processes are told of this command line. */
static const struct relay {
  const char *name;
  size_t offset; /* of a const char * in struct options */
  bool candidate_only;
} relays[] = {
    {"--sweep", offsetof(struct options, sweep), false},
    {"--variants", offsetof(struct options, variants), false},
    {"--modes", offsetof(struct options, modes), false},
    {"--seed", offsetof(struct options, seed), false},
    {"--device", offsetof(struct options, device), false},
    {"--timeout", offsetof(struct options, timeout), false},
    {"--inject-slowdown", offsetof(struct options, inject), true},
};

enum { ARGUMENTS_MAX = 64 + 2 * (OPTIONS_FILTERS_MAX + OPTIONS_LOADS_MAX + OPTIONS_ONLY_MAX) };

struct arguments {
  char *item[ARGUMENTS_MAX];
  size_t count;
};

static void add_pair(struct arguments *out, const char *name, const char *value) {
  out->item[out->count++] = (char *)name;
  out->item[out->count++] = (char *)value;
}

static void add_list(struct arguments *out, const char *name, const char *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) add_pair(out, name, values[i]);
}

/* One round without a reference: two processes of the same kind differ in nothing but the program. */
static void write_arguments(const struct ab *ab, int side, const struct suspects *only, const char *journal,
                            struct arguments *out) {
  static char *const fixed[] = {"run", "--rounds", "1", "--quick", "--reference", "none", "--json", "/dev/null"};
  const struct options *o = ab->options;
  *out = (struct arguments){.item = {(char *)ab->side[side].path}, .count = 1};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i) out->item[out->count++] = fixed[i];
  add_pair(out, "--journal", journal);
  for (size_t i = 0; i < sizeof relays / sizeof *relays; ++i) {
    const char *value = *(const char *const *)((const char *)o + relays[i].offset);
    if (value != NULL && (side == CANDIDATE || !relays[i].candidate_only)) add_pair(out, relays[i].name, value);
  }
  add_list(out, "--filter", o->filter, o->filter_count);
  add_list(out, "--load", o->load, o->load_count);
  if (only == NULL) {
    add_list(out, "--only", o->only, o->only_count);
  } else if (only->count <= OPTIONS_ONLY_MAX) {
    add_list(out, "--only", only->only, only->count);
  }
}

/* ---- what a process left ------------------------------------------------------------------------------------- */

/* The last line that a process wrote, "" when it wrote none. */
static void last_line(const char *path, char *out, size_t size) {
  char *text = NULL;
  size_t length = 0;
  static const char lead[] = "attnbench: ";
  out[0] = '\0';
  const struct status status = json_read_file(path, UINT32_C(1) << 20, &text, &length);
  if (status_failed(&status)) return;
  while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
  const char *line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
  if (strncmp(line, lead, sizeof lead - 1) == 0) line += sizeof lead - 1;
  snprintf(out, size, "%s", line);
  for (char *c = out; *c != '\0'; ++c) {
    if ((unsigned char)*c < ' ') *c = '?';
  }
  free(text);
}

/* The candidate goes first, so what only the base refuses is something that the two do not share. */
static enum status_code code_of_exit(int side, int exit_status) {
  static const struct {
    int exit_status;
    enum status_code code[SIDE_COUNT];
  } codes[] = {{EXIT_CODE_USAGE, {STATUS_NOT_COMPARABLE, STATUS_USAGE}},
               {EXIT_CODE_INPUT, {STATUS_NOT_COMPARABLE, STATUS_INPUT}},
               {EXIT_CODE_OUTPUT, {STATUS_OUTPUT, STATUS_OUTPUT}},
               {EXIT_CODE_NO_GPU, {STATUS_NO_GPU, STATUS_NO_GPU}}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    if (codes[i].exit_status == exit_status) return codes[i].code[side];
  }
  return STATUS_DEVICE;
}

static struct status check_end(const struct ab *ab, int side, const struct child_end *end, const char *messages) {
  const struct side *s = &ab->side[side];
  char how[128], said[320];
  const bool has_journal = !end->stalled && end->signal_number == 0 &&
                           (end->exit_status == EXIT_CODE_OK || end->exit_status == EXIT_CODE_WRONG ||
                            end->exit_status == EXIT_CODE_COVERAGE);
  if (has_journal) return status_ok();
  child_describe(end, ab->stall_s, how, sizeof how);
  last_line(messages, said, sizeof said);
  const enum status_code code =
      end->stalled || end->signal_number != 0 ? STATUS_DEVICE : code_of_exit(side, end->exit_status);
  return status_make(code, "%s %s: %s%s%s%s", s->option, s->path, how, said[0] != '\0' ? ": " : "", said,
                     code == STATUS_NOT_COMPARABLE
                         ? "; the candidate takes this command, so choose variants and cells that both have"
                         : "");
}

static struct status load_journal(const struct ab *ab, int side, const char *path, struct journal_data *out) {
  const struct side *s = &ab->side[side];
  const struct status status = journal_load(path, out);
  if (status_failed(&status)) {
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s %s: left no journal that can be read (%s); is it an attnbench "
                       "like this one?",
                       s->option, s->path, status.text);
  }
  if (strcmp(out->state, "complete") == 0 && out->record_count == out->run.cell_count) return status;
  journal_free(out);
  return status_make(STATUS_NOT_COMPARABLE, "%s %s: ended well, but its journal is not complete", s->option, s->path);
}

/* ---- measuring ----------------------------------------------------------------------------------------------- */

static struct status run_process(const struct ab *ab, int side, const struct set *set, uint32_t round,
                                 struct journal_data *out) {
  char journal[640], messages[640];
  struct arguments *arguments = malloc(sizeof *arguments);
  struct child_end end;
  if (arguments == NULL) return status_make(STATUS_MEMORY, "no memory for a command line");
  snprintf(journal, sizeof journal, "%s/%s-%02u-%s.journal", ab->folder, set->name, round, ab->side[side].name);
  snprintf(messages, sizeof messages, "%s/%s-%02u-%s.log", ab->folder, set->name, round, ab->side[side].name);
  write_arguments(ab, side, set->only, journal, arguments);
  const struct child_watch watch = {.stderr_path = messages, .grows = journal, .stall_s = ab->stall_s};
  struct status status = child_run(arguments->item, &watch, &end);
  if (!status_failed(&status)) status = check_end(ab, side, &end, messages);
  free(arguments);
  return status_failed(&status) ? status : load_journal(ab, side, journal, out);
}

static struct status add_process(const struct ab *ab, int side, struct set *set, uint32_t round) {
  struct journal_data next;
  struct journal_data *data = &set->data[side];
  if (round == 0) return run_process(ab, side, set, round, data);
  struct status status = run_process(ab, side, set, round, &next);
  if (status_failed(&status)) return status;
  status = rounds_add(data, &next);
  journal_free(&next);
  if (!status_failed(&status)) return status;
  return status_make(status.code, "%s %s: %s", ab->side[side].option, ab->side[side].path, status.text);
}

/* Candidate, base, base, candidate, ...: a drift that is linear over four processes favours neither. */
static struct status measure_set(const struct ab *ab, struct set *set) {
  const uint32_t rounds = ab->options->rounds_value;
  struct progress progress = progress_start((size_t)rounds * SIDE_COUNT);
  struct status status = status_ok();
  char text[64];
  for (uint32_t i = 0; i < rounds * SIDE_COUNT && !status_failed(&status); ++i) {
    const uint32_t round = i / SIDE_COUNT;
    const int side = (i + round) % SIDE_COUNT == 0 ? CANDIDATE : BASE;
    snprintf(text, sizeof text, "%s round %u of %u:", set->name, round + 1, rounds);
    progress_cell(&progress, text, ab->side[side].name);
    status = add_process(ab, side, set, round);
  }
  progress_end(&progress);
  return status;
}

static void free_set(struct set *set) {
  for (size_t i = 0; i < SIDE_COUNT; ++i) journal_free(&set->data[i]);
}

static struct status check_one_device(const struct set *set) {
  const struct device_info *base = &set->data[BASE].device, *now = &set->data[CANDIDATE].device;
  if (strcmp(base->uuid, now->uuid) == 0) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "the programs measured on two devices, %s %s and %s %s; name one with "
                     "--device",
                     base->name, base->uuid, now->name, now->uuid);
}

/* ---- judging ------------------------------------------------------------------------------------------------- */

static struct status confirm(const struct ab *ab, const struct suspects *suspects, struct compare *compare) {
  struct set set = {.name = "again", .only = suspects};
  struct compare again;
  struct status status = measure_set(ab, &set);
  if (!status_failed(&status))
    status = compare_build(&set.data[BASE], &set.data[CANDIDATE], &compare->settings, &again);
  if (!status_failed(&status)) {
    compare_confirm(compare, &again);
    compare_free(&again);
  }
  free_set(&set);
  return status;
}

static struct status judge(const struct ab *ab, const struct set *set, enum exit_code *exit_code) {
  struct compare_settings settings;
  struct compare compare;
  struct suspects suspects;
  struct status status = command_gate_settings(ab->options, &set->data[CANDIDATE], &settings);
  settings.paired = true;
  if (!status_failed(&status)) status = compare_build(&set->data[BASE], &set->data[CANDIDATE], &settings, &compare);
  if (status_failed(&status)) return status;
  status = suspects_of(&compare, &suspects);
  if (!status_failed(&status)) {
    if (suspects.count > 0) status = confirm(ab, &suspects, &compare);
    suspects_free(&suspects);
  }
  if (!status_failed(&status)) status = command_write_compare(ab->options, ab->options->compare_json, &compare);
  *exit_code = gate_exit_code(&compare);
  compare_free(&compare);
  return status;
}

static struct status save_side(const struct journal_data *data, const char *path) {
  struct report report;
  if (path == NULL || data->records == NULL) return status_ok();
  struct status status = report_build(data, &report);
  if (status_failed(&status)) return status;
  status = report_save(&report, path, report_write_json);
  report_free(&report);
  return status;
}

/* Whole rounds or not: what was measured is written where it was asked for. */
static struct status save_sides(const struct ab *ab, int argc, char **argv, struct set *set, bool is_whole) {
  for (size_t i = 0; i < SIDE_COUNT; ++i) {
    struct journal_data *data = &set->data[i];
    command_quote(argc, argv, data->run.command, sizeof data->run.command);
    if (!is_whole) snprintf(data->state, sizeof data->state, "interrupted");
  }
  const struct status status = save_side(&set->data[BASE], ab->options->base_json);
  return status_failed(&status) ? status : save_side(&set->data[CANDIDATE], ab->options->json);
}

/* ---- the folder ---------------------------------------------------------------------------------------------- */

static bool is_dot(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static bool is_empty_folder(const char *path) {
  DIR *folder = opendir(path);
  bool empty = folder != NULL;
  for (const struct dirent *entry; empty && (entry = readdir(folder)) != NULL;) empty = is_dot(entry->d_name);
  if (folder != NULL) closedir(folder);
  return empty;
}

static struct status make_folder(struct ab *ab) {
  const char *keep = ab->options->keep, *temporary = getenv("TMPDIR");
  if (keep == NULL) {
    snprintf(ab->folder, sizeof ab->folder, "%s/attnbench-ab-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(ab->folder) != NULL) return status_ok();
    return status_make(STATUS_OUTPUT, "%s: cannot make a temporary folder: %s; TMPDIR names another place",
                       ab->folder, strerror(errno));
  }
  if (strlen(keep) >= sizeof ab->folder) return status_make(STATUS_OUTPUT, "--keep %s: the path is too long", keep);
  snprintf(ab->folder, sizeof ab->folder, "%s", keep);
  if (mkdir(keep, 0777) == 0 || is_empty_folder(keep)) return status_ok();
  return status_make(STATUS_OUTPUT, "--keep %s: is not a new or empty folder: %s", keep, strerror(errno));
}

static void drop_folder(const struct ab *ab) {
  char path[1024];
  if (ab->options->keep != NULL) return;
  DIR *folder = opendir(ab->folder);
  for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", ab->folder, entry->d_name);
    if (!is_dot(entry->d_name)) unlink(path);
  }
  if (folder != NULL) closedir(folder);
  rmdir(ab->folder);
}

/* ---- from programs to exit code ------------------------------------------------------------------------------ */

/* Asks before anything is measured, and in seconds, whether this is attnbench at all. */
static struct status check_program(const struct ab *ab, int side) {
  const struct side *s = &ab->side[side];
  char path[640], said[320];
  char *const argv[] = {(char *)s->path, "--version", NULL};
  struct child_end end;
  snprintf(path, sizeof path, "%s/%s.version", ab->folder, s->name);
  const struct child_watch watch = {.stdout_path = path, .stall_s = 10.0};
  struct status status = child_run(argv, &watch, &end);
  if (status_failed(&status)) {
    return status.code == STATUS_USAGE ? status_make(STATUS_USAGE, "%s %s", s->option, status.text) : status;
  }
  last_line(path, said, sizeof said);
  if (!end.stalled && end.signal_number == 0 && end.exit_status == 0 && strstr(said, "commit") != NULL) return status;
  return status_make(STATUS_USAGE,
                     "%s %s: does not answer --version as attnbench does (\"%s\"); name an attnbench "
                     "program",
                     s->option, s->path, said);
}

static struct status measure_and_judge(const struct ab *ab, int argc, char **argv, enum exit_code *exit_code) {
  struct set set = {.name = "first"};
  struct status status = measure_set(ab, &set);
  if (!status_failed(&status)) status = check_one_device(&set);
  const struct status saved = save_sides(ab, argc, argv, &set, !status_failed(&status));
  if (!status_failed(&status)) status = saved;
  if (!status_failed(&status)) status = judge(ab, &set, exit_code);
  free_set(&set);
  return status;
}

struct status command_ab(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  struct ab ab = {.options = options,
                  .side = {[BASE] = {"base", "--base", options->base},
                           [CANDIDATE] = {"candidate", "--candidate", options->candidate}},
                  .stall_s = options->timeout_s + (options->timeout_s < 12 ? 5 * options->timeout_s : 60)};
  if (options->candidate == NULL) ab.side[CANDIDATE].path = "/proc/self/exe";
  supervise_watch_signals();
  struct status status = command_probe_outputs(options);
  if (!status_failed(&status)) status = make_folder(&ab);
  if (status_failed(&status)) return status;
  for (int side = 0; side < SIDE_COUNT && !status_failed(&status); ++side) status = check_program(&ab, side);
  if (!status_failed(&status)) status = measure_and_judge(&ab, argc, argv, exit_code);
  drop_folder(&ab);
  const int signal_number = supervise_interrupted();
  if (signal_number == 0 || status.code != STATUS_INTERNAL) return status;
  if (options->keep != NULL) fprintf(stderr, "attnbench: journals so far are kept in %s\n", ab.folder);
  *exit_code = signal_number == SIGINT ? EXIT_CODE_SIGINT : EXIT_CODE_SIGTERM;
  return status_ok();
}
