/* Shows on a terminal which cell is being measured. */
#include "cli/command/progress.h"
#include "cli/base/clock.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/measure/measure.h"

struct progress progress_start(size_t total) {
  return (struct progress){.shown = isatty(STDERR_FILENO) != 0, .total = total, .start_s = clock_now_s()};
}

void progress_cell(struct progress *p, const char *case_key, const char *variant) {
  const size_t number = ++p->done;
  if (!p->shown) return;
  const double elapsed_s = clock_now_s() - p->start_s;
  fprintf(stderr, "\r\033[K[%zu/%zu] %s %s", number, p->total, case_key, variant);
  if (number > 1) fprintf(stderr, "  ETA %.0f s", elapsed_s / (double)(number - 1) * (double)(p->total - number + 1));
  fflush(stderr);
}

void progress_end(struct progress *p) {
  if (p->shown && p->done > 0) fputs("\r\033[K", stderr);
}
