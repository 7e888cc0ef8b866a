/* Chooses the place of a run's journal, and removes it when nobody asked for it. */
#include "cli/command/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"

bool journal_file_beside(const struct options *o, char *out, size_t size) {
  const char *files[] = {o->json, o->csv, o->gbench};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (files[i] == NULL || strcmp(files[i], "-") == 0 || strncmp(files[i], "/dev/", 5) == 0) continue;
    snprintf(out, size, "%s.journal", files[i]);
    return true;
  }
  return false;
}

/* In a folder that others may write to, a name that can be guessed is one that they can take first. */
static uint64_t random_number(void) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  return (uint64_t)(clock_now_s() * 1e9) ^ (uint64_t)getpid() << 40;
}

struct journal_file journal_file_choose(const struct options *o) {
  struct journal_file out = {.is_kept = o->journal != NULL};
  const char *folder = getenv("TMPDIR");
  if (folder == NULL || *folder == '\0') folder = "/tmp";
  if (out.is_kept) {
    snprintf(out.path, sizeof out.path, "%s", o->journal);
  } else if (journal_file_beside(o, out.path, sizeof out.path)) {
    out.is_beside = true;
  } else {
    snprintf(out.path, sizeof out.path, "%s/attnbench-%016" PRIx64 ".journal", folder, random_number());
  }
  return out;
}

void journal_file_close(struct journal_file *file, struct journal *journal) {
  bool is_moved;
  snprintf(file->path, sizeof file->path, "%s", journal_path(journal, &is_moved));
  file->is_kept = file->is_kept || is_moved;
  journal_close(journal);
}

void journal_file_drop(const struct journal_file *file, const struct status *written, bool is_resumable) {
  if (file->path[0] == '\0') return;
  if (access(file->path, F_OK) != 0) {
    if (file->is_kept) text_say(stderr, "the journal %s was removed while the run went on", file->path);
  } else if (status_failed(written)) {
    text_say(stderr, "results so far are kept: attnbench report %s", file->path);
  } else if (is_resumable && (file->is_kept || file->is_beside)) {
    text_say(stderr, "to measure the rest, give the same command --journal %s --resume", file->path);
  } else if (!file->is_kept) {
    unlink(file->path);
  }
}
