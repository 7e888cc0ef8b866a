/* Loads the sweep that the options name. */
#include "cli/command/commands.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/owned.h"

/* The file outlives this process as long as one that inherited it runs. */
static struct status keep(const char *text, size_t length, char path[PATH_MAX]) {
  const int file = memfd_create("sweep", 0);
  if (file < 0 || write(file, text, length) != (ssize_t)length)
    return status_make(STATUS_MEMORY, "--sweep -: cannot be kept for other processes: %s", strerror(errno));
  snprintf(path, PATH_MAX, "/proc/self/fd/%d", file);
  return status_ok();
}

struct status sweep_source_keep(struct options *options) {
  OWNED(owned_free) char *text = NULL;
  size_t length;
  const bool starts_more = options->verb == VERB_AB || options->verb == VERB_GATE;
  if (!starts_more || options->sweep == NULL || strcmp(options->sweep, "-") != 0) return status_ok();
  TRY(json_read_file(options->sweep, JSON_FILE_BYTES_MAX, &text, &length));
  options->sweep = options->shipped_sweep;
  options->sweep_is_kept = true;
  return keep(text, length, options->shipped_sweep);
}

struct status sweep_source_load(const struct options *options, struct sweep *out) {
  *out = (struct sweep){.case_count = 0};
  if (options->shape.count > 0) return shape_spec_sweep(options->shape.item, options->shape.count, out);
  TRY(shipped_check(options->sweep));
  return sweep_load(options->sweep, out);
}
