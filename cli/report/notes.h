/* Paragraphs of the text report around its tables. */
#pragma once

#include "cli/base/text.h"
#include "cli/report/report.h"

/* Prints the line of the device, and a note when its roofs are not known. */
void notes_device(FILE *, const struct device_info *);

/* Prints what the planned rows were planned for; nothing where there are none. */
void notes_planned(FILE *, const struct report *);

/* Prints everything below the table of rows: what its marks and intervals mean, which rows are doubtful, which
 * variants were picked, and why rows have no times. `fit` is that of the table. Fails only for lack of memory. */
struct status notes_print(FILE *, const struct report *, const struct text_fit *fit);
