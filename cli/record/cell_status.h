/* How a cell ended. */
#pragma once

#include "kernels/status.h"

/* CELL(name, exit code that a report with such a cell must give) */
#define CELL_STATUS_MAP(X)                                                                             \
  X(ok, EXIT_CODE_OK)                  /* ran, matched the oracle before and after timing */           \
  X(wrong, EXIT_CODE_WRONG)            /* did not match the oracle; has no speed */                    \
  X(skipped, EXIT_CODE_OK)             /* the variant does not take this shape; the reason says why */ \
  X(planned, EXIT_CODE_OK)             /* geometry only, not measured: no GPU here */                  \
  X(oom_predicted, EXIT_CODE_COVERAGE) /* would not fit in the device's free memory; not started */    \
  X(error, EXIT_CODE_COVERAGE)         /* a call failed; the reason names it */                        \
  X(crashed, EXIT_CODE_COVERAGE)       /* the worker process died on this cell */                      \
  X(timeout, EXIT_CODE_COVERAGE)       /* the worker was stopped at the cell's deadline */             \
  X(implausible, EXIT_CODE_COVERAGE)   /* faster than its shape can be computed; has no speed */       \
  X(left_out, EXIT_CODE_COVERAGE)      /* the run's time budget had no room for it; not started */

enum cell_status {
#define CELL_ENUM(name, exit) CELL_##name,
  CELL_STATUS_MAP(CELL_ENUM)
#undef CELL_ENUM
      CELL_STATUS_COUNT
};
const char *cell_status_name(enum cell_status);
enum exit_code cell_status_exit_code(enum cell_status);
