/* The axes of a problem: the table of axes.def as data (names, limits, defaults, texts), and functions to read and
 * write problems by it.
 *
 * A value has the same text on the command line, in --filter and in a key: "512", "f16", "true". Lists, ranges and
 * JSON are left to the callers. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_AXES_H
#define ATTNBENCH_KERNELS_PROBLEM_AXES_H

#include <stddef.h>

#include "kernels/problem/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

enum axis_id {
#define AXIS(id, ...)  AXIS_##id,
#define ALIAS(id, ...) AXIS_##id,
#include "kernels/problem/axes.def"
#undef AXIS
#undef ALIAS
};

enum {
#define AXIS(id, ...)  +1
#define ALIAS(id, ...) +1
  AXIS_COUNT = 0
#include "kernels/problem/axes.def"
#undef AXIS
#undef ALIAS
};

/* When an axis is written in keys and files. */
enum axis_presence { AXIS_ALWAYS, AXIS_UNLESS_DEFAULT, AXIS_NEVER };

enum axis_kind {
  AXIS_WHOLE,  /* uint32_t, one or two of them, from 1 to `most`; or one that may be left out, which is then 0 */
  AXIS_DTYPE,  /* enum attn_dtype */
  AXIS_FLAG,   /* bool */
  AXIS_NAME,   /* an enum, by the names of its values; the first one is the default */
  AXIS_CAUSAL, /* the mask's bounds as a boolean: 1 for right = 0, 0 for no bound, neither for other bounds */
  AXIS_REAL,   /* float, 0 or a multiple of 0.001 from 0.001 to `most` */
  AXIS_BATCH,  /* struct attn_batch */
  AXIS_SPARSE, /* struct attn_sparse */
  AXIS_BOUNDS, /* two int32_t from -1 to `most`; the default is whatever an AXIS_CAUSAL of the same members says */
};

enum { AXIS_NAMES_MAX = 4 };

struct attn_axis {
  const char *name;       /* in JSON, --shape, --filter and CSV */
  const char *help;       /* one line of text */
  const char *convention; /* exact meaning of a value other than the default, or of e4m3; NULL: the help says it */
  enum axis_kind kind;
  size_t offset, also;        /* offsets of its members in struct attn_problem; equal when it has one member */
  const char *member[2];      /* names of these members */
  uint32_t most;              /* the largest number; 0: the value is no number */
  bool required;              /* has no default */
  bool listed;                /* a batch that lists its sequences determines it, so that it need not be given */
  size_t like;                /* offset of the member whose value is the default; 0: the default is fixed */
  enum axis_presence written; /* in keys and files; AXIS_NEVER for an alias */
  char pair;                  /* separator of two numbers; 0: there is one number */
  const char *example;        /* example of two numbers and their meaning; NULL: there is one number */
  const char *key;            /* prefix of the value in a key; NULL: the value is written as a word */
  /* Of an AXIS_NAME's values, NULL behind the last; words in keys, --shape and --filter. */
  const char *names[AXIS_NAMES_MAX];
  const char *yes, *no;         /* words for a boolean's values in keys, --shape and --filter; NULL: none */
  const char *trait, *no_trait; /* words for a boolean's values in a title; NULL: none */
  unsigned takes;               /* bits of enum attn_takes that a variant needs for a value other than the default */
  const char *refusal;          /* why a variant without these bits refuses the problem */
};

const struct attn_axis *axes_at(size_t id);
/* The axis of this name; NULL when there is none. */
const struct attn_axis *axes_find(const char *name, size_t length);
enum axis_id axes_id_of(const struct attn_axis *);
/* The two axes that an alias stands for; false for an axis that is no alias. */
bool axes_parts(const struct attn_axis *alias, const struct attn_axis *part[2]);

/* ---- values -------------------------------------------------------------------------------------------------- */

/* The value of an axis: the numbers of its one or two members; `second` equals `first` when there is one. A dtype or
 * a name is its enumerator, a boolean 0 or 1. A batch and a rule of blocks are no numbers, and have members of their
 * own. */
struct axis_value {
  double first, second;
  struct attn_batch batch;
  struct attn_sparse sparse;
};

enum { AXIS_VALUE_TEXT_MAX = ATTN_BATCH_TEXT_MAX, AXIS_WANTED_MAX = ATTN_DTYPE_LIST_MAX };

/* Reads the value at the beginning of `text`. Returns the text after it, or NULL when there is no value. Does not
 * check limits. */
const char *axes_value_read(const struct attn_axis *, const char *text, struct axis_value *out);
void axes_value_write(const struct attn_axis *, struct axis_value, char out[AXIS_VALUE_TEXT_MAX]);
/* The least of an AXIS_WHOLE: 1, or 0 where that is the default. */
uint32_t axes_least(const struct attn_axis *);
bool axes_value_is_allowed(const struct attn_axis *, struct axis_value);
/* The allowed values as the object of "give": "a whole number from 1 to 65536". `quote` is put around each name;
 * where it is not empty, the values are those of JSON. */
void axes_value_wanted(const struct attn_axis *, const char *quote, char out[AXIS_WANTED_MAX]);
/* The text of the default: a value, or the name of the axis whose value it is; "" for a required axis. */
void axes_default_text(const struct attn_axis *, char out[AXIS_VALUE_TEXT_MAX]);
/* Whether its values are numbers, which can be compared with < and >. */
bool axes_is_ordered(const struct attn_axis *);
/* Reads a word that is a value without the name of its axis: "f16", "causal", "lse". False when `text` is no such
 * word. */
bool axes_word_read(const char *text, const struct attn_axis **axis, struct axis_value *out);

bool axes_value_same(const struct axis_value *, const struct axis_value *);

struct axis_value axes_get(const struct attn_axis *, const struct attn_problem *);
void axes_set(const struct attn_axis *, struct axis_value, struct attn_problem *);
bool axes_is_default(const struct attn_axis *, const struct attn_problem *);
static inline bool axes_is_alias(const struct attn_axis *axis) { return axis->written == AXIS_NEVER; }
/* Whether the axis is written in the key and in the files of this problem. */
bool axes_is_written(const struct attn_axis *, const struct attn_problem *);
/* Whether its value has more to it than the help says (attn_axis.convention). */
bool axes_needs_words(const struct attn_axis *, const struct attn_problem *);
/* Sets the default of an axis that has one. */
void axes_reset(const struct attn_axis *, struct attn_problem *);

/* ---- problems ------------------------------------------------------------------------------------------------ */

/* The values that are given, by axis. */
struct axis_values {
  bool given[AXIS_COUNT];
  struct axis_value value[AXIS_COUNT];
};

/* Sets members that are 0 and default to another member (attn_axis.like) to that member's value, and types that are
 * those by default to 0. */
void axes_complete(struct attn_problem *);

/* Makes a problem. An axis that is not given has its default; an axis that is given takes precedence over its alias.
 * Returns NULL, or the name of a required axis that is not given. */
const char *axes_build(const struct axis_values *, struct attn_problem *out);
/* Whether both axes set the same members, so that a problem can be given only one of them, as causal and window. */
bool axes_excludes(const struct attn_axis *, const struct attn_axis *);

/* Checks that all members are within their limits, Hkv divides Hq, members agree, and no tensor is too large. When
 * false, `why` says what is wrong and what to do; the caller puts the place of the problem before it. */
enum { AXIS_WHY_MAX = 760 };
bool axes_problem_is_sound(const struct attn_problem *, char why[AXIS_WHY_MAX]);

/* Bits of enum attn_takes that a variant needs for this problem. */
unsigned axes_takes_of(const struct attn_problem *);
/* Why a variant that takes only these bits refuses the problem; NULL when they suffice. */
const char *axes_refusal(const struct attn_problem *, unsigned takes);

/* The names of the axes that need these bits, "lse, window". */
enum { AXIS_TAKES_MAX = 192 };
void axes_takes_names(unsigned takes, char out[AXIS_TAKES_MAX]);

/* Whether all members are equal. */
bool axes_same_problem(const struct attn_problem *, const struct attn_problem *);

/* Orders problems by their traits, the axes that are not sizes present in every problem. 0: equal traits. */
int axes_compare_traits(const struct attn_problem *, const struct attn_problem *);
/* The traits for a title: "f16, causal mask, LSE too". */
enum { AXIS_TRAITS_MAX = 480 };
void axes_traits(const struct attn_problem *, char out[AXIS_TRAITS_MAX]);

/* An integer of a problem and its name, for formulas. Aliases are left out; booleans are 0 or 1. */
struct axis_number {
  const char *name;
  int64_t value;
};
enum { AXIS_NUMBERS_MAX = AXIS_COUNT + 3 };
/* Returns how many; the names are the same for every problem. */
size_t axes_numbers(const struct attn_problem *, struct axis_number out[AXIS_NUMBERS_MAX]);

/* The key: the problem's name in every file, table and message, "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full". Axes at their
 * default are left out, but for those that every key has. */
enum { AXIS_KEY_MAX = 480 };
void axes_key(const struct attn_problem *, char out[AXIS_KEY_MAX]);
/* Reads a key, also one that was typed by hand: H may stand for Hq and Hkv, S for Sq and Skv, the parts may have any
 * order, and an axis that is left out has its default. False when the text is no key. Does not check limits. */
bool axes_key_read(const char *text, struct attn_problem *out);

#ifdef __cplusplus
}
#endif
#endif
