/* The tables of verbs and of options. */
#pragma once

#include "cli/options/options.h"

/* NULL usage: an internal verb, which --help does not show. */
struct verb_row {
  const char *name, *brief, *usage, *help, *example;
  size_t reports_least, reports_most; /* number of words that belong to no option */
  const char *word;                   /* the name of such a word in messages; NULL: they are reports */
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
  OPTION_RELAYED = 1 << 2, /* passed on to the processes that measure the base and the candidate */
  OPTION_RELAYED_TO_CANDIDATE = 1 << 3,
  OPTION_TIMED = 1 << 4,   /* is about times; excludes options with OPTION_UNTIMED */
  OPTION_UNTIMED = 1 << 5, /* with this option nothing is timed */
  OPTION_STAYS = 1 << 6,   /* kept in the printed command that measures one row of a comparison again */
};

/* One option of some verbs. Rows of other verbs may have the same name. */
struct option_row {
  const char *group, *name, *value;
  unsigned verbs; /* 1 << enum verb */
  enum option_kind kind;
  size_t offset;      /* of the member of struct options that the value is stored in */
  double least, most; /* limits of a number; `most` is also the most values of a list */
  unsigned flags;
  unsigned required_by; /* verbs that need this option */
  const char *needs;    /* an option of the same verb that must be given with this one */
  const char *instead;  /* an alternative option: only one of both may be given, and either satisfies required_by */
  const char *letter;   /* the short form: "-h"; NULL: none */
  const char *default_value;
  const char *(*choices)(void); /* the possible values, for --help */
  const char *(*names)(size_t); /* values to offer in completion, NULL past the last; in lists after each comma */
  const char *help;
  const char *brief; /* of an option that most runs need: a line for the first screen of --help; else NULL */
};

const struct verb_row *options_table_verb(enum verb);
/* The next row of the verb after this one, or its first for NULL; NULL past the last. VERB_COUNT walks the rows of
 * all verbs. */
const struct option_row *options_table_next(enum verb, const struct option_row *);
#define EACH_OPTION(row, verb) \
  for (const struct option_row *row = NULL; ((row) = options_table_next((verb), (row))) != NULL;)
/* The verb's row of this name; NULL when there is none. */
const struct option_row *options_table_find(enum verb, const char *name, size_t length);

static inline bool option_is_of(const struct option_row *row, enum verb verb) {
  return (row->verbs & (1u << verb)) != 0;
}

/* The member of the options that the row fills, as a text or as a list. */
const char **options_table_text(const struct option_row *, const struct options *); /* not of a flag or a list */
struct options_list *options_table_list(const struct option_row *, const struct options *);
/* The texts that were given: those of a list, or the one text of any other kind. */
const char *const *options_table_values(const struct option_row *, const struct options *, size_t *count);
bool options_table_is_given(const struct option_row *, const struct options *);
/* Is the value optional and given with "=" only: --name[=VALUE]? */
bool options_table_is_joined(const struct option_row *);
/* The limits of a number, "5 to 32". */
enum { OPTION_RANGE_MAX = 80 };
void options_table_range(const struct option_row *, char out[OPTION_RANGE_MAX]);

/* Steps of options_parse after the words are stored: options_checks checks options against each other, options_values
 * converts texts into values. */
struct status options_checks(const struct options *);
struct status options_values(struct options *);
/* Reads --shard into shard_value. */
struct status options_shard(struct options *);
