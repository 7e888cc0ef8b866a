/* The rows behind the command line: verbs and options. */
#ifndef ATTNBENCH_CLI_OPTIONS_TABLE_H
#define ATTNBENCH_CLI_OPTIONS_TABLE_H

#include "cli/options/options.h"

/* NULL usage: an internal verb, which --help does not show. */
struct verb_row {
  const char *name, *brief, *usage, *help, *example;
  size_t reports_least, reports_most; /* words without an option */
  const char *word;                   /* what they are; NULL: reports */
};

enum option_kind {
  OPTION_TEXT,     /* const char * */
  OPTION_CHOICE,   /* const char *, one of the words that `value` separates with "|" */
  OPTION_FLAG,     /* bool, no value */
  OPTION_COUNT,    /* struct options_whole; a flag that may be given a number with "=", else 1 */
  OPTION_WORD,     /* const char *; a flag that may be given the one word of `value` with "=", else "" */
  OPTION_WHOLE,    /* struct options_whole */
  OPTION_NUMBER,   /* struct options_number */
  OPTION_DURATION, /* struct options_number, in seconds; "90", "90s", "30min", "2h" */
  OPTION_LIST,     /* struct options_list: may be repeated, `most` times */
};

enum option_flag {
  OPTION_READS = 1 << 0,   /* the value is a file that is read */
  OPTION_WRITES = 1 << 1,  /* the value is a file that is written: "-" is stdout, and it is probed before any work */
  OPTION_RELAYED = 1 << 2, /* `ab` passes it on to the processes of both programs */
  OPTION_RELAYED_TO_CANDIDATE = 1 << 3,
  OPTION_TIMED = 1 << 4,   /* is about times: not together with an option that is UNTIMED */
  OPTION_UNTIMED = 1 << 5, /* nothing is timed */
  OPTION_STAYS = 1 << 6,   /* stays in the command that measures one row of a comparison again */
};

/* A row is of some verbs; the same name may have rows of other verbs. */
struct option_row {
  const char *group, *name, *value;
  unsigned verbs; /* 1 << enum verb */
  enum option_kind kind;
  size_t offset;      /* of the member that it fills, in struct options */
  double least, most; /* of a number; most: also of a list */
  unsigned flags;
  unsigned required_by; /* verbs that do not work without it */
  const char *needs;    /* an option of the same verb without which this one would do nothing */
  const char *instead;  /* an option that takes its place: not both, and one is enough where this one is required */
  const char *letter;   /* the same, short: "-h"; NULL: none */
  const char *default_value;
  const char *(*choices)(void); /* for --help: the values that there are */
  const char *help;
};

const struct verb_row *options_table_verb(enum verb);
const struct option_row *options_table_row(size_t index); /* NULL past the last */
/* The row of this name that the verb has; NULL: none. */
const struct option_row *options_table_find(enum verb, const char *name, size_t length);

static inline bool option_is_of(const struct option_row *row, enum verb verb) {
  return (row->verbs & (1u << verb)) != 0;
}

/* The text, list or number of this row: what `offset` leads to. */
const char **options_table_text(const struct option_row *, const struct options *); /* not of a flag or a list */
struct options_list *options_table_list(const struct option_row *, const struct options *);
bool options_table_is_given(const struct option_row *, const struct options *);
/* Is its value given with "=" only: --name[=VALUE]? */
bool options_table_is_joined(const struct option_row *);
/* "5 to 32", of a number. */
enum { OPTION_RANGE_MAX = 80 };
void options_table_range(const struct option_row *, char out[OPTION_RANGE_MAX]);

/* The steps of options_parse after the words are stored: checks of options with each other; texts into values. */
struct status options_checks(const struct options *);
struct status options_values(struct options *);
/* --shard. */
struct status options_shard(struct options *);

#endif
