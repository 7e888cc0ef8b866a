/* The output files of a command. It checks that they can be written before it starts, and writes them at its end. */
#pragma once

#include "cli/command/outcome.h"

/* Checks that every output can be written, and that no two outputs are the same file. */
struct status outputs_probe(const struct options *);
/* Whether the text report is printed on stdout. It is not with --quiet, when an output goes to stdout, and when
 * stdout is closed and there are other outputs. */
bool outputs_is_text_wanted(const struct options *);
/* Writes every report that the options name, and the text report on stdout. *outcome is what the rows ask for. When
 * one report cannot be written, the others are written nevertheless, and the first failure is returned. */
struct status outputs_write(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Writes the same without the text report on stdout. */
struct status outputs_write_files(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Whether the options name any report. */
bool outputs_is_report_wanted(const struct options *);
/* Writes the comparison to every output that the options name, and as text on stdout. */
struct status outputs_write_compare(const struct options *, const struct compare *);
