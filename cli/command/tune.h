/* One search for the fastest tunings of a variant: a run whose cells are each case with each tuning, measured in
 * rounds as halving.h asks for them. Everything it decides follows from its journal, so a search that was cut off
 * goes on. */
#ifndef ATTNBENCH_CLI_COMMAND_TUNE_H
#define ATTNBENCH_CLI_COMMAND_TUNE_H

#include "cli/command/run.h"
#include "cli/measure/halving.h"

struct tune_case {
  const struct attn_case *attn_case;
  size_t first_cell;    /* of run.cells: its candidates, the default first */
  size_t left_out;      /* tunings that are not candidates: there are too many */
  enum exit_code worst; /* what its failures ask for; that a tuning is not taken is no failure */
  struct halving search;
};

struct tune {
  struct run run;
  struct options own; /* run.options: those of the user, with what a search fixes */
  struct variant_spec base;
  enum time_mode mode; /* that is made fast */
  struct tune_case *cases;
  size_t case_count;
  struct journal_data earlier;  /* what the journal held when this search continued it */
  const struct record **sorted; /* the same, by case and variant */
  double spent_s, last_round_s; /* on measuring; in the last round */
  bool has_process;             /* one that measures this round and no other */
  char device[64];
};

/* Reads the options, opens the device, lists the tunings and starts the journal. Ends with tune_close in any case. */
struct status tune_open(const struct options *, const struct invocation *, struct tune *out);
/* Searches; *measured says what stopped it, if anything did. What was found so far holds whatever happens. */
struct status tune_search(struct tune *, struct status *measured);
void tune_close(struct tune *);

/* The spec of a candidate. */
const struct variant_spec *tune_spec(const struct tune *, const struct tune_case *, size_t candidate);

#endif
