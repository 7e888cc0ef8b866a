/* Reports as one HTML page that a browser shows without a network, and without JavaScript too: head, table, figures
 * as SVG, findings, and for two reports how they compare. Everything that comes from a file is escaped. */
#pragma once

#include <stdio.h>

#include "cli/gate/compare.h"
#include "cli/gate/history.h"
#include "cli/report/merge.h"

/* Each writes the whole page to an open stream; the caller checks ferror. */
struct status page_write_report(const struct report *, FILE *);
/* `compare` compares the first two sources; it may be NULL. */
struct status page_write_merge(const struct merge *, const struct compare *, FILE *);
/* The page of a comparison and its two reports. */
struct status page_write_compare(const struct compare *, FILE *);

/* A history as one HTML page: what changed, and a curve for each series with a mark at each change. */

/* Writes the whole page to an open stream; the caller checks ferror. */
struct status history_page_write(const struct history *, FILE *);
