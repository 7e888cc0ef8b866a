/* A search for the fastest tuning of a variant for each case: a run whose cells are every case with every tuning,
 * measured in the rounds of halving.h. All decisions follow from the journal, so that an interrupted search can be
 * continued. */
#pragma once

#include "cli/command/run.h"
#include "cli/measure/halving.h"

struct tune_case {
  const struct attn_case *attn_case;
  size_t first_cell;    /* index in run.cells of the first candidate, the default tuning */
  size_t left_out;      /* number of tunings that are no candidates, since there are too many */
  enum exit_code worst; /* of the failures; a tuning that the variant does not take is no failure */
  struct halving search;
};

struct tune {
  struct run run;
  struct options own; /* run.options: those of the user, except for settings that every search needs */
  struct variant_spec base;
  enum time_mode mode; /* whose time is minimised */
  struct tune_case *cases;
  size_t case_count;
  struct journal_data earlier;  /* with --resume: the contents of the journal */
  const struct record **sorted; /* the records of `earlier`, sorted by case and variant */
  double spent_s, last_round_s; /* time of all measuring, and of the last round */
  bool has_process;             /* a fresh process was started for this round */
  char device[64];
};

/* Reads the options, opens the device, lists the tunings and starts the journal. Ends with tune_close in any case. */
struct status tune_open(const struct options *, const struct invocation *, struct tune *out);
/* Searches. *measured is the failure that stopped the search, if any; the results before it remain valid. */
struct status tune_search(struct tune *, struct status *measured);
void tune_close(struct tune *);

/* The variant with the tuning of a candidate. */
const struct variant_spec *tune_spec(const struct tune *, const struct tune_case *, size_t candidate);
