/* What a search found, case by case: as a table, as a sweep, and as the verb's outcome. Pure. */
#ifndef ATTNBENCH_CLI_COMMAND_TUNED_H
#define ATTNBENCH_CLI_COMMAND_TUNED_H

#include "cli/command/outcome.h"
#include "cli/command/tune.h"

/* VERDICT(name, what is printed) */
#define TUNED_VERDICT_MAP(X)                               \
  X(better, "better")                                      \
  X(no_better, "no better than the default")               \
  X(worse, "slower than the default after all: keep that") \
  X(default_best, "the default is the fastest")            \
  X(no_default, "the default itself is not right here")    \
  X(not_taken, "the variant does not take this case")      \
  X(none, "no tuning is right here") X(unfinished, "not compared with the default: cut off")

enum tuned_verdict {
#define TUNED_ENUM(name, text) TUNED_##name,
  TUNED_VERDICT_MAP(TUNED_ENUM)
#undef TUNED_ENUM
      TUNED_VERDICT_COUNT
};

/* The verdict on a finished or unfinished search. worst: what failures among its tunings ask for. */
enum tuned_verdict tuned_verdict(const struct halving *, const struct halving_result *, enum exit_code worst);

struct status tuned_write_text(const struct tune *, FILE *);
/* A sweep (shapes/README.md) whose variants are the default and every tuning that is better in some case; which one
 * in which case is there too, for a variant that picks others. */
struct status tuned_write_sweep(const struct tune *, FILE *);
void tuned_outcome(const struct tune *, struct outcome *out);

#endif
