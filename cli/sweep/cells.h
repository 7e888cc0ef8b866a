/* The cells of a run: the sweep's cases that the filters keep, times the variants that are asked for. */
#pragma once

#include "cli/sweep/sweep.h"

struct cell {
  const struct attn_case *attn_case; /* in the sweep */
  struct variant_spec spec;
};

struct cells {
  struct cell *items; /* case by case, all variants of a case next to each other */
  size_t count;
};

/* Selects the cells of a run.
 *
 * variants: the text of --variants ("a,b:key=value,key=value", or groups). Without it (NULL), the variants are: the
 * loaded variants and the vendor's library, if any variant was loaded and the sweep names none of these; else the
 * sweep's list; else the group "all".
 *
 * gpu: the GPU that measures or is planned for; NULL: not known yet. A variant that was not named itself, but came
 * with a group or by default, is left out when it takes none of the selected shapes on this GPU. Every other variant
 * stays, and its cells of shapes that it does not take are reported as skipped.
 *
 * The sweep's "only" holds for its own list of variants.
 *
 * filters: texts for filter_parse. STATUS_USAGE when no cell is left. The sweep must outlive *out; free with
 * cells_free. */
struct status cells_select(const struct sweep *, const char *variants, const char *const *filters,
                           size_t filter_count, enum device_kind kind, const struct device_info *gpu,
                           struct cells *out);
void cells_free(struct cells *);

/* Keeps the named cells in their present order. A name is "KEY/VARIANT", or "KEY" for all cells of a case; without
 * names all cells stay. STATUS_USAGE when a name is of no cell. */
struct status cells_keep_only(struct cells *, const char *const *only, size_t only_count);

/* --filter: which cases of a sweep are kept. */

enum { FILTER_VALUES_MAX = 32 };

/* How a case's value must compare with the filter's, as bits: <= is FILTER_LESS | FILTER_EQUAL. */
enum filter_order { FILTER_LESS = 1, FILTER_EQUAL = 2, FILTER_MORE = 4 };

struct filter {
  const struct attn_axis *axis; /* NULL: the filter is the key of one case, in `problem` */
  unsigned orders;              /* bits of enum filter_order */
  struct axis_value value[FILTER_VALUES_MAX];
  size_t count; /* of value[]: one of them has to be met; with != all of them have to differ */
  struct attn_problem problem;
};

/* Writes the value of an axis, as the command line has it, without k: where it counts tokens, a number with k behind
 * it is 1024 times as large. "1x4k" is "1x4096"; other axes take no k. */
void kilo_expand(const struct attn_axis *, const char *text, char *out, size_t size);

/* Reads "S=512", "S=128,200", "S>=1024", "B!=1", "dtype=bf16", "causal", "lse", "f16", or the key of a case.
 * STATUS_USAGE names what is wrong. */
struct status filter_parse(const char *text, struct filter *out);
/* Does the filter keep this problem? S (Sq and Skv) and H (Hq and Hkv) must hold for both axes. */
bool filter_keeps(const struct filter *, const struct attn_problem *);

/* The names of all cells that a run selected, in order. All shards of a run have the same selection, and a complete
 * run has a result for each name. */

struct cells;

struct selection {
  char (*name)[CELL_NAME_MAX]; /* "KEY/VARIANT", filled up with zeros */
  size_t count;
};

/* On success the caller frees with selection_free. */
struct status selection_of(const struct cells *, struct selection *out);
/* Makes a selection of `count` empty names, which the caller fills and frees with selection_free. */
struct status selection_make(size_t count, struct selection *out);
void selection_free(struct selection *);

/* A hash of the names in their order. */
void selection_hash(const struct selection *, char out[HASH_TEXT_MAX]);

/* Writes the index of each of `names` in the selection to out; SIZE_MAX when it is not there. */
struct status selection_ranks(const struct selection *, const struct selection *names, size_t *out);

/* Part `index` of `count` parts of a run, counted from 1; count 0: the whole run. */
struct shard {
  uint32_t index, count;
};
enum { SHARD_TEXT_MAX = 24 };
/* Writes "2/4"; "" for the whole run. */
void selection_shard_text(const struct shard *, char out[SHARD_TEXT_MAX]);

/* Assigns each name to one of `shards` shards: out[i] is the shard of name i, from 1. Cells of one case get the same
 * shard, so that one process measures a row and its reference. Cases are sorted by the hashes of their keys and dealt
 * out in turn. So every node computes the same assignment, the numbers of cases differ by at most one, and neighbours
 * in the sweep, which take about as long, are spread. STATUS_USAGE when there are fewer cases than shards. */
struct status selection_deal(const struct selection *, uint32_t shards, uint32_t *out);

/* Removes the cells of other shards from `cells`, which must be the cells of the selection. */
struct status selection_keep_shard(const struct selection *, const struct shard *, struct cells *cells);
