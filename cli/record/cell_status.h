/* How a cell ended. */
#pragma once

#include "kernels/status.h"

/* CELL(name, exit code that a report with such a cell must give, what it means) */
#define CELL_STATUS_MAP(X)                                                                                    \
  X(ok, EXIT_CODE_OK, "ran, and matched the oracle before and after timing")                                  \
  X(wrong, EXIT_CODE_WRONG, "did not match the oracle; has no speed")                                         \
  X(skipped, EXIT_CODE_OK, "the variant does not take this case, or not on this device; the reason says why") \
  X(planned, EXIT_CODE_OK, "launch geometry alone, not measured: its GPU is not here")                        \
  X(oom_predicted, EXIT_CODE_COVERAGE, "would not fit in the device's free memory; was not started")          \
  X(error, EXIT_CODE_COVERAGE, "a call failed, of the device or of the variant's code; the reason names it")  \
  X(crashed, EXIT_CODE_COVERAGE, "its worker process died; the other cells go on in a new one")               \
  X(timeout, EXIT_CODE_COVERAGE, "its worker process was stopped at the cell's deadline (--timeout)")         \
  X(implausible, EXIT_CODE_COVERAGE, "faster than its case can be computed; has no speed")                    \
  X(left_out, EXIT_CODE_COVERAGE, "the run's time budget (--time-budget) had no room for it; was not started")

enum cell_status {
#define CELL_ENUM(name, exit, help) CELL_##name,
  CELL_STATUS_MAP(CELL_ENUM)
#undef CELL_ENUM
      CELL_STATUS_COUNT
};
const char *cell_status_name(enum cell_status);
enum exit_code cell_status_exit_code(enum cell_status);
const char *cell_status_help(enum cell_status);
