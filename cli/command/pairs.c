/* Whole fresh processes of two programs in turns: their command lines, what they leave, and the verdict. */
#include "cli/command/pairs.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/signals.h"
#include "cli/command/run.h"
#include "cli/report/measured.h"
#include "kernels/cpu/cgroup.h"

static const struct {
  const char *name, *option;
} sides[PAIRS_SIDES] = {[PAIRS_BASE] = {"base", "--base"}, [PAIRS_CANDIDATE] = {"candidate", "--candidate"}};

/* One set of processes. The first begins with all cells and may go on with the open ones; a later one measures the
 * suspects. */
struct set {
  const char *name;            /* leads the names of its files */
  uint32_t number;             /* 0: the first */
  const struct suspects *only; /* NULL: all cells */
  struct journal_data *data;   /* PAIRS_SIDES */
  struct witness *witness;
};

/* ---- command lines ------------------------------------------------------------------------------------------- */

/* What a process of one side measures: this command line, with the base's own objects and the suspects only. A set
 * after the first measures only the modes that are suspected. All processes of the first set measure the same modes.
 */
static void options_of(const struct pairs *pairs, int side, const struct set *set, char modes[TIME_MODE_LIST_MAX],
                       struct options *out) {
  const struct suspects *only = set->only;
  *out = *pairs->options;
  if (side == PAIRS_BASE && out->base_load.count > 0) out->load = out->base_load;
  if (set->number > 0) {
    time_mode_write_list(only->modes, modes);
    out->modes = modes;
  }
  if (only == NULL || only->count > OPTIONS_LIST_MAX) return; /* more than can be named: all cells again */
  out->only.count = only->count;
  for (size_t i = 0; i < only->count; ++i) out->only.item[i] = only->only[i];
}

/* One round without a reference. The two sides differ in the program, in the objects that they load, and in the
 * options that are for the candidate alone. */
static char **write_arguments(const char *program, bool is_candidate, const struct options *options,
                              const char *journal) {
  const char *const fixed[] = {program, "run",    "--rounds",  "1",         "--quick", "--reference",
                               "none",  "--json", "/dev/null", "--journal", journal};
  enum { FIXED = sizeof fixed / sizeof *fixed };
  const size_t first = options->start_with != NULL;
  const char **out = calloc(first + FIXED + options_relay(options, is_candidate, NULL) + 1, sizeof *out);
  if (out == NULL) return NULL;
  out[0] = options->start_with;
  memcpy(out + first, fixed, sizeof fixed);
  options_relay(options, is_candidate, out + first + FIXED);
  return (char **)out;
}

/* ---- what a process left ------------------------------------------------------------------------------------- */

/* The end of a file, however long it is; "" when it cannot be read. */
static void read_end(const char *path, char *out, size_t size) {
  FILE *file = fopen(path, "rb");
  out[0] = '\0';
  if (file == NULL) return;
  if (fseek(file, -(long)(size - 1), SEEK_END) != 0) rewind(file);
  out[fread(out, 1, size - 1, file)] = '\0';
  fclose(file);
}

/* The last line that a process wrote, "" when it wrote none. */
static void last_line(const char *path, char *out, size_t size) {
  static const char lead[] = "attnbench: ";
  char text[4096];
  read_end(path, text, sizeof text);
  size_t length = strlen(text);
  while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
  const char *line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
  if (strncmp(line, lead, sizeof lead - 1) == 0) line += sizeof lead - 1;
  snprintf(out, size, "%s", line);
  for (char *c = out; *c != '\0'; ++c) {
    if ((unsigned char)*c < ' ') *c = '?';
  }
}

/* What only the base refuses is something that the two do not share. */
static enum status_code code_of_exit(int side, int exit_status) {
  static const struct {
    int exit_status;
    enum status_code code[PAIRS_SIDES];
  } codes[] = {{EXIT_CODE_USAGE, {STATUS_NOT_COMPARABLE, STATUS_USAGE}},
               {EXIT_CODE_NOT_COMPARABLE, {STATUS_NOT_COMPARABLE, STATUS_NOT_COMPARABLE}},
               {EXIT_CODE_INPUT, {STATUS_NOT_COMPARABLE, STATUS_INPUT}},
               {EXIT_CODE_OUTPUT, {STATUS_OUTPUT, STATUS_OUTPUT}},
               {EXIT_CODE_NO_GPU, {STATUS_NO_GPU, STATUS_NO_GPU}}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    if (codes[i].exit_status == exit_status) return codes[i].code[side];
  }
  return STATUS_DEVICE;
}

static struct status check_end(const struct pairs *pairs, int side, const struct child_end *end,
                               const char *messages) {
  char how[128], said[320];
  const bool has_journal = !end->stalled && end->signal_number == 0 &&
                           (end->exit_status == EXIT_CODE_OK || end->exit_status == EXIT_CODE_WRONG ||
                            end->exit_status == EXIT_CODE_COVERAGE);
  if (has_journal && end->left_others)
    return status_make(STATUS_DEVICE,
                       "%s %s: left a process running behind it, which would disturb the other side; it was killed, "
                       "and nothing was judged",
                       sides[side].option, pairs->program[side]);
  if (has_journal) return status_ok();
  child_describe(end, pairs->stall_s, how, sizeof how);
  last_line(messages, said, sizeof said);
  const enum status_code code =
      end->stalled || end->signal_number != 0 ? STATUS_DEVICE : code_of_exit(side, end->exit_status);
  return status_make(code, "%s %s: %s%s%s%s", sides[side].option, pairs->program[side], how,
                     said[0] != '\0' ? ": " : "", said,
                     code == STATUS_NOT_COMPARABLE
                         ? "; the candidate takes this command, so choose variants and cells that both have"
                         : "");
}

/* Journals of older programs can be read, those of newer ones cannot: then the newer one has to judge. */
static struct status unreadable(const struct pairs *pairs, int side, const char *why) {
  const char *version = pairs->version[side];
  char lead[64];
  snprintf(lead, sizeof lead, "attnbench %s (commit %s)", version_string(), version_git_commit());
  if (strncmp(version, lead, strlen(lead)) == 0)
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s %s: left no readable journal (%s); is it an attnbench "
                       "like this one?",
                       sides[side].option, pairs->program[side], why);
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s %s: is %s; this program, %s, judges and cannot read its journal (%s). An attnbench reads "
                     "journals of older versions, not of newer ones: call `ab` of the newer program, and name the "
                     "older one with --base",
                     sides[side].option, pairs->program[side], version, lead, why);
}

static struct status load_journal(const struct pairs *pairs, int side, const char *path, struct journal_data *out) {
  const struct status status = measured_load(path, out, NULL);
  if (status_failed(&status)) return unreadable(pairs, side, status.text);
  if (pairs->options->sweep_is_kept) snprintf(out->run.sweep_path, sizeof out->run.sweep_path, "-");
  if (strcmp(out->state, "complete") == 0 && out->record_count == out->run.cell_count) return status;
  journal_free(out);
  return status_make(STATUS_NOT_COMPARABLE, "%s %s: ended well, but its journal is not complete", sides[side].option,
                     pairs->program[side]);
}

/* ---- measuring ----------------------------------------------------------------------------------------------- */

static void free_data(struct journal_data *data) {
  for (size_t i = 0; i < PAIRS_SIDES; ++i) journal_free(&data[i]);
}

enum { PROCESS_PATH_MAX = 640 };

/* A file of one process: its journal, or its log. */
static void process_path(const struct pairs *pairs, int side, const struct set *set, uint32_t round, const char *kind,
                         char out[PROCESS_PATH_MAX]) {
  snprintf(out, PROCESS_PATH_MAX, "%s/%s-%02u-%s.%s", pairs->folder, set->name, round, sides[side].name, kind);
}

/* The pair, where both of its processes ended in a run that was cut off later. What is left of a pair that did not is
 * removed: its two sides would be hours apart. */
static bool take_kept(const struct pairs *pairs, const struct set *set, uint32_t round, struct journal_data *pair) {
  char journal[PROCESS_PATH_MAX];
  struct status status = status_ok();
  for (int side = 0; side < PAIRS_SIDES && !status_failed(&status); ++side) {
    process_path(pairs, side, set, round, "journal", journal);
    status = load_journal(pairs, side, journal, &pair[side]);
    if (status_failed(&status)) pair[side] = (struct journal_data){.records = NULL};
  }
  if (!status_failed(&status)) return true;
  free_data(pair);
  for (int side = 0; side < PAIRS_SIDES; ++side) {
    process_path(pairs, side, set, round, "journal", journal);
    unlink(journal);
  }
  return false;
}

static struct status run_process(const struct pairs *pairs, int side, const struct set *set, uint32_t round,
                                 struct journal_data *out) {
  struct witness_side *seen = side == PAIRS_BASE ? &set->witness->base : &set->witness->now;
  char journal[PROCESS_PATH_MAX], messages[PROCESS_PATH_MAX], modes[TIME_MODE_LIST_MAX];
  struct options options;
  struct child_end end;
  options_of(pairs, side, set, modes, &options);
  process_path(pairs, side, set, round, "journal", journal);
  process_path(pairs, side, set, round, "log", messages);
  OWNED(owned_free)
  char **arguments = write_arguments(pairs->program[side], side == PAIRS_CANDIDATE, &options, journal);
  if (arguments == NULL) return status_make(STATUS_MEMORY, "no memory for a command line");
  const struct child_watch watch = {.stderr_path = messages, .grows = journal, .stall_s = pairs->stall_s};
  const struct cgroup_seconds before = cgroup_seconds_used("");
  TRY(child_run(arguments, &watch, &end));
  TRY(check_end(pairs, side, &end, messages));
  const struct cgroup_seconds after = cgroup_seconds_used("");
  TRY(load_journal(pairs, side, journal, out));
  const double others_s = after.others - before.others;
  const double seen_s[WITNESS_COUNT] = {[WITNESS_journal] = end.growth_s,
                                        [WITNESS_process] = end.wall_s,
                                        [WITNESS_others] = others_s,
                                        [WITNESS_all] = others_s + after.own - before.own};
  witness_add(seen, out, seen_s);
  return status_ok();
}

/* How many of the cells a later process of the set measures. */
static size_t cells_of(const struct set *set, const struct journal_data *data) {
  const bool are_all = set->number > 0 || set->only == NULL || set->only->count > OPTIONS_LIST_MAX;
  return are_all ? data->record_count : set->only->count;
}

/* Measures with a process of the pair, or takes what one measured before the run was cut off: *kept, which is the
 * set's then. */
static struct status add_process(const struct pairs *pairs, int side, struct set *set, uint32_t round,
                                 struct journal_data *kept) {
  OWNED(journal_free) struct journal_data next = {.records = NULL};
  struct journal_data *data = &set->data[side], *out = round == 0 ? data : &next;
  if (kept == NULL) TRY(run_process(pairs, side, set, round, out));
  if (kept != NULL) *out = *kept;
  if (kept != NULL) *kept = (struct journal_data){.records = NULL};
  const struct status status = round > 0 ? rounds_add(data, &next, cells_of(set, data)) : status_ok();
  if (!status_failed(&status)) return status;
  return status_make(status.code, "%s %s: %s", sides[side].option, pairs->program[side], status.text);
}

/* A glob of the command line that is for no cell costs one process, not all. */
static struct status check_settings(const struct pairs *pairs, const struct journal_data *first) {
  struct compare_settings settings;
  return gate_options_settings(pairs->options, first, first, &settings);
}

/* The base refused the first command of all: when the candidate does too, it is the command that is wrong. */
static struct status blame(const struct pairs *pairs, struct set *set, struct status refused) {
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  if (refused.code != STATUS_NOT_COMPARABLE) return refused;
  TRY(run_process(pairs, PAIRS_CANDIDATE, set, 0, &data));
  return refused;
}

static uint32_t rounds_of(const struct pairs *pairs) { return (uint32_t)pairs->options->rounds.value; }

static void draw_order(const struct pairs *pairs, uint32_t number, bool *candidate_first) {
  if (number == 0 && pairs->options->rounds_in_steps) {
    order_draw_steps(pairs->order_seed, number, rounds_of(pairs), COMPARE_FEW_FIRST, COMPARE_FEW_STEP,
                     candidate_first);
  } else {
    order_draw(pairs->order_seed, number, rounds_of(pairs), candidate_first);
  }
}

/* Pairs `from` to `to` of the two programs in turns, in an order that no disturbance of the machine can follow. */
static struct status measure_set(const struct pairs *pairs, struct set *set, uint32_t from, uint32_t to) {
  const uint32_t rounds = rounds_of(pairs);
  bool candidate_first[PROCESSES_MAX];
  struct progress progress = progress_start((size_t)(to - from) * PAIRS_SIDES, pairs->options->quiet);
  struct status status = status_ok();
  struct journal_data pair[PAIRS_SIDES] = {{.records = NULL}};
  bool is_kept = false;
  char text[64];
  draw_order(pairs, set->number, candidate_first);
  for (uint32_t i = from * PAIRS_SIDES; i < to * PAIRS_SIDES && !status_failed(&status); ++i) {
    const uint32_t round = i / PAIRS_SIDES;
    if (i % PAIRS_SIDES == 0) is_kept = pairs->goes_on && take_kept(pairs, set, round, pair);
    const int side = (i % PAIRS_SIDES == 0) == candidate_first[round] ? PAIRS_CANDIDATE : PAIRS_BASE;
    snprintf(text, sizeof text, "%s round %u of %u:", set->name, round + 1, rounds);
    progress_cell(&progress, text, sides[side].name);
    status = add_process(pairs, side, set, round, is_kept ? &pair[side] : NULL);
    if (status_failed(&status) && i == 0 && side == PAIRS_BASE) status = blame(pairs, set, status);
    if (!status_failed(&status) && i == 0 && set->only == NULL) status = check_settings(pairs, &set->data[side]);
  }
  progress_end(&progress);
  free_data(pair);
  return status;
}

static struct status check_one_device(const struct journal_data *data) {
  const struct device_info *base = &data[PAIRS_BASE].device, *now = &data[PAIRS_CANDIDATE].device;
  if (strcmp(base->uuid, now->uuid) == 0) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "the programs measured on two devices, %s %s and %s %s; name one with "
                     "--device",
                     base->name, base->uuid, now->name, now->uuid);
}

/* ---- judging ------------------------------------------------------------------------------------------------- */

static void free_sides(struct journal_data (*data)[PAIRS_SIDES]) { free_data(*data); }

static struct status look_again(const struct pairs *pairs, uint32_t number, struct compare *compare) {
  OWNED(free_sides) struct journal_data data[PAIRS_SIDES] = {{.records = NULL}};
  OWNED(suspects_free) struct suspects suspects = {.count = 0};
  OWNED(compare_free) struct compare fresh = {.rows = NULL};
  struct witness witness = {.now.count = 0};
  char name[16] = "again";
  if (number > 1) snprintf(name, sizeof name, "again%u", (unsigned)number);
  TRY(suspects_of(compare, &suspects));
  struct set set = {.name = name, .number = number, .only = &suspects, .data = data, .witness = &witness};
  TRY(measure_set(pairs, &set, 0, rounds_of(pairs)));
  TRY(compare_build(&data[PAIRS_BASE], &data[PAIRS_CANDIDATE], &compare->settings, &fresh));
  TRY(confirm_add(compare, &fresh));
  witness_judge(&witness, compare);
  return status_ok();
}

/* What failed or did not decide is measured again, a few times at most. */
static struct status confirm(const struct pairs *pairs, struct compare *compare) {
  for (uint32_t look = 1; look <= COMPARE_LOOKS_MAX && confirm_wants_any(compare); ++look)
    TRY(look_again(pairs, look, compare));
  return status_ok();
}

static struct status build_compare(const struct pairs *pairs, bool only_verdicts, struct compare *out) {
  const struct journal_data *base = &pairs->data[PAIRS_BASE], *now = &pairs->data[PAIRS_CANDIDATE];
  struct compare_settings settings;
  TRY(gate_options_settings(pairs->options, base, now, &settings));
  settings.paired = true;
  settings.order_seed = pairs->order_seed;
  settings.pairs_planned = pairs->options->rounds_in_steps ? rounds_of(pairs) : 0;
  settings.only_verdicts = only_verdicts;
  return compare_build(base, now, &settings, out);
}

/* What is measured further: nothing where every verdict is clear. A program that may have a clock of its own is
 * measured on with all cells, since few pairs cannot tell. */
static struct status find_open(const struct pairs *pairs, struct suspects *open, bool *all) {
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  TRY(build_compare(pairs, true, &compare));
  *all = compare.comparable && witness_doubts(&pairs->witness);
  return suspects_open(&compare, open);
}

/* The pairs up to number `to`. Returns through *ends whether they were the last ones. */
static struct status measure_step(struct pairs *pairs, struct set *set, uint32_t to, bool *ends) {
  OWNED(suspects_free) struct suspects open = {.count = 0};
  bool all = true;
  if (pairs->measured > 0) TRY(find_open(pairs, &open, &all));
  *ends = !all && open.count == 0;
  if (*ends) return status_ok();
  set->only = all ? NULL : &open;
  TRY(measure_set(pairs, set, pairs->measured, to));
  set->only = NULL;
  pairs->measured = to;
  *ends = to >= rounds_of(pairs);
  return status_ok();
}

struct status pairs_judge(const struct pairs *pairs, struct compare *out) {
  TRY(build_compare(pairs, false, out));
  out->pairs = pairs->measured;
  out->pairs_most = rounds_of(pairs);
  witness_judge(&pairs->witness, out);
  const struct status status = confirm(pairs, out);
  if (status_failed(&status)) compare_free(out);
  return status;
}

/* ---- folder and programs ------------------------------------------------------------------------------------- */

static bool is_dot(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static bool is_empty_folder(const char *path) {
  DIR *folder = opendir(path);
  bool empty = folder != NULL;
  for (const struct dirent *entry; empty && (entry = readdir(folder)) != NULL;) empty = is_dot(entry->d_name);
  if (folder != NULL) closedir(folder);
  return empty;
}

static struct status make_folder(struct pairs *pairs) {
  const char *keep = pairs->options->keep, *temporary = getenv("TMPDIR");
  if (keep == NULL) {
    snprintf(pairs->folder, sizeof pairs->folder, "%s/attnbench-ab-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(pairs->folder) != NULL) return status_ok();
    return status_make(STATUS_OUTPUT, "%s: cannot make a temporary folder: %s; TMPDIR names another place",
                       pairs->folder, strerror(errno));
  }
  if (strlen(keep) >= sizeof pairs->folder)
    return status_make(STATUS_OUTPUT, "--keep %s: the path is too long", keep);
  snprintf(pairs->folder, sizeof pairs->folder, "%s", keep);
  if (mkdir(keep, 0777) == 0 || is_empty_folder(keep)) return status_ok();
  pairs->goes_on = pairs->options->resume_kept && kept_is_there(keep);
  if (pairs->goes_on) return status_ok();
  return status_make(STATUS_OUTPUT, "--keep %s: is not a new or empty folder: %s", keep, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *walk) {
  (void)stat, (void)kind, (void)walk;
  return remove(path);
}

/* With whatever a program left in it. */
static void drop_folder(const struct pairs *pairs) {
  enum { OPEN_FOLDERS_MAX = 8 };
  if (pairs->options->keep != NULL || pairs->is_kept) return;
  nftw(pairs->folder, remove_entry, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
}

/* Asks before anything is measured, and in seconds, whether this is attnbench at all. */
static struct status check_program(struct pairs *pairs, int side) {
  char path[640], said[320];
  const char *start_with = pairs->options->start_with;
  char *const argv[] = {(char *)start_with, (char *)pairs->program[side], "--version", NULL};
  struct child_end end;
  snprintf(path, sizeof path, "%s/%s.version", pairs->folder, sides[side].name);
  const struct child_watch watch = {.stdout_path = path, .stall_s = 10.0};
  struct status status = child_run(start_with != NULL ? argv : argv + 1, &watch, &end);
  last_line(path, said, sizeof said);
  snprintf(pairs->version[side], sizeof pairs->version[side], "%.*s", (int)strcspn(said, ","), said);
  unlink(path);
  if (status_failed(&status))
    return status.code == STATUS_USAGE ? status_make(STATUS_USAGE, "%s %s", sides[side].option, status.text) : status;
  if (!end.stalled && end.signal_number == 0 && end.exit_status == 0 && strstr(said, "commit") != NULL) return status;
  return status_make(STATUS_USAGE,
                     "%s %s: does not answer --version as attnbench does (\"%s\"); name an attnbench "
                     "program",
                     sides[side].option, pairs->program[side], said);
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

/* The order of a comparison that goes on is that of its beginning. */
static struct status settle_order(struct pairs *pairs) {
  struct kept kept = {.folder = pairs->folder,
                      .options = pairs->options,
                      .programs = pairs->program,
                      .order_seed = pairs->order_seed};
  if (!pairs->goes_on) return kept_write(&kept);
  TRY(kept_resume(&kept));
  pairs->order_seed = kept.order_seed;
  return status_ok();
}

struct status pairs_open(const struct options *options, struct pairs *out) {
  const char *this_program = program_path();
  const double timeout_s = options->timeout.value;
  *out =
      (struct pairs){.options = options,
                     .program = {[PAIRS_BASE] = options->base != NULL ? options->base : this_program,
                                 [PAIRS_CANDIDATE] = options->candidate != NULL ? options->candidate : this_program},
                     .order_seed = order_seed(),
                     .stall_s = timeout_s + (timeout_s < 12 ? 5 * timeout_s : 60)};
  signals_watch();
  const struct status status = make_folder(out);
  if (status_failed(&status)) out->folder[0] = '\0';
  TRY(status);
  for (int side = 0; side < PAIRS_SIDES; ++side) TRY(check_program(out, side));
  return settle_order(out);
}

struct status pairs_measure(struct pairs *pairs) {
  struct set set = {.name = "first", .data = pairs->data, .witness = &pairs->witness};
  const uint32_t rounds = rounds_of(pairs), first = pairs->options->rounds_in_steps ? COMPARE_FEW_FIRST : rounds;
  bool ends = false;
  for (uint32_t to = first; !ends; to += COMPARE_FEW_STEP) TRY(measure_step(pairs, &set, to, &ends));
  return check_one_device(pairs->data);
}

void pairs_close(struct pairs *pairs) {
  if (pairs->folder[0] != '\0') drop_folder(pairs);
  free_data(pairs->data);
}
