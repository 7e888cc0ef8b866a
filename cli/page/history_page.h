/* A history as one HTML page: what changed, and a curve for each series with a mark at each change. */
#pragma once

#include <stdio.h>

#include "cli/gate/history.h"

/* Writes the whole page to an open stream; the caller checks ferror. */
struct status history_page_write(const struct history *, FILE *);
