/* The columns of a row in tables: of the text report, of merged reports and of the HTML page. */
#pragma once

#include "cli/base/text.h"
#include "cli/report/report.h"

enum columns_id {
  COLUMNS_CASE,       /* its key */
  COLUMNS_SHORT_CASE, /* "1,32/8,1x4096,128 f16 full": B,H,S,D, where H and S may have two values, then the rest */
  COLUMNS_VARIANT,    /* "auto (wgmma)" when it picked another */
  COLUMNS_STATUS,
  COLUMNS_GRID,           /* of the launch that computes */
  COLUMNS_VERDICT,        /* of the scaling */
  COLUMNS_HOT,            /* us */
  COLUMNS_COLD,           /* us */
  COLUMNS_STEADY,         /* us */
  COLUMNS_RATE,           /* TFLOP/s, hot */
  COLUMNS_STEADY_RATE,    /* TFLOP/s */
  COLUMNS_POWER,          /* W, steady */
  COLUMNS_ENERGY,         /* pJ/FLOP, steady */
  COLUMNS_STEADY_SPEEDUP, /* time of the reference over the row's, each at the clock that it keeps */
  COLUMNS_ROOF,           /* % of the roof at the highest clock, hot */
  COLUMNS_BLOCKS,         /* of that launch */
  COLUMNS_WAVES,          /* of that launch */
  COLUMNS_ERROR,          /* largest absolute error */
  COLUMNS_SPEEDUP,        /* time of the reference over the row's, hot */
  COLUMNS_KERNEL,         /* the same ratio of the kernels alone: timed by a profiler, else without the memsets */
  /* Of the scaling over B*H: */
  COLUMNS_BH,
  COLUMNS_FULL_BH,    /* where one wave is full */
  COLUMNS_WORK_RATIO, /* this and the next four: value / value of the baseline row */
  COLUMNS_WAVE_RATIO,
  COLUMNS_LOAD_RATIO,
  COLUMNS_HOT_RATIO,
  COLUMNS_COLD_RATIO,
  COLUMNS_RESIDUAL, /* hot over waves */
  COLUMNS_PER_PAIR  /* us per B*H, hot if timed, else cold */
};

/* The number of a column; NAN where the row has none, or the column is a text. */
double columns_number(const struct report_row *, enum columns_id);
/* The text, or the number with its mark: "*12.3" of a time that is doubtful, "~1.02" of a ratio that was not steady,
 * ">=0.5" of waves that are a lower bound. "-" where there is none. */
void columns_text(const struct report_row *, enum columns_id, char out[TEXT_CELL_MAX]);

/* A word of the text report's tables and what it means. Several words may have one meaning: "power, energy". */
struct columns_word {
  const char *names, *help;
};
/* The columns in the words of README, then those of the table of scaling; NULL past the last. */
const struct columns_word *columns_word(uint32_t index);
/* The marks of the table, such as "*". */
const struct columns_word *columns_mark(uint32_t index);

/* Adds the card that measured the row, in a run with --devices. */
void columns_add_card(const struct report_row *, char out[TEXT_CELL_MAX]);

/* Whether the 95 % interval of this median is wide, the time still drifted, or the machine was busy with other
 * threads. A single sample, which was entered by hand, is not doubtful. */
bool columns_is_doubtful(const struct time_record *);
/* Whether the ratio to the reference drifted by more than RATIO_DRIFT_MOST while it was measured. */
bool columns_is_unsteady(const struct ratio_record *);

/* Paragraphs of the text report around its tables. */

/* Prints the line of the device, and a note when its roofs are not known. */
void notes_device(FILE *, const struct device_info *);

/* Prints what the planned rows were planned for; nothing where there are none. */
void notes_planned(FILE *, const struct report *);

/* Prints everything below the table of rows: what its marks and intervals mean, which rows are doubtful, which
 * variants were picked, and why rows have no times. `fit` is that of the table; NULL: there is
 * none, and only the reasons of rows without times are printed. Fails only for lack of memory. */
struct status notes_print(FILE *, const struct report *, const struct text_fit *fit);
