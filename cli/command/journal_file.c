/* Chooses the place of a run's journal, and removes it when nobody asked for it. */
#include "cli/command/journal_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct journal_file journal_file_choose(const struct options *o) {
  struct journal_file out = {.is_kept = o->journal != NULL};
  const char *files[] = {o->json, o->csv, o->gbench};
  if (out.is_kept) {
    snprintf(out.path, sizeof out.path, "%s", o->journal);
    return out;
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (files[i] == NULL || strcmp(files[i], "-") == 0 || strncmp(files[i], "/dev/", 5) == 0) continue;
    snprintf(out.path, sizeof out.path, "%s.journal", files[i]);
    return out;
  }
  const char *folder = getenv("TMPDIR");
  snprintf(out.path, sizeof out.path, "%s/attnbench-%ld.journal", folder != NULL ? folder : "/tmp", (long)getpid());
  return out;
}

void journal_file_drop(const struct journal_file *file, const struct status *written) {
  if (file->path[0] == '\0' || access(file->path, F_OK) != 0) return;
  if (status_failed(written)) {
    fprintf(stderr, "attnbench: results so far are kept: attnbench report %s\n", file->path);
  } else if (!file->is_kept) {
    unlink(file->path);
  }
}
