/* Names of how a cell can end, and the exit codes they ask for. */
#include "cli/record/record.h"

static const struct {
  const char *name, *help;
  enum exit_code exit;
} rows[CELL_STATUS_COUNT] = {
#define CELL_ROW(name_, exit_, help_) [CELL_##name_] = {.name = #name_, .help = (help_), .exit = (exit_)},
    CELL_STATUS_MAP(CELL_ROW)
#undef CELL_ROW
};

const char *cell_status_name(uint32_t status) { return status < CELL_STATUS_COUNT ? rows[status].name : NULL; }
const char *cell_status_help(enum cell_status status) { return rows[status].help; }
enum exit_code cell_status_exit_code(enum cell_status status) { return rows[status].exit; }
