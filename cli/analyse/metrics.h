/* FLOP and byte models, rates and roofs. FLOPs and bytes depend on the shape, never on the variant, so that rates of
 * variants can be compared. Pure. GB = 10^9 bytes, TFLOP = 10^12. */
#pragma once

#include "cli/record/record.h"

enum roof_kind { ROOF_NONE, ROOF_TENSOR, ROOF_TENSOR_E4M3, ROOF_FP32, ROOF_DRAM, ROOF_COUNT };
const char *metrics_roof_name(uint32_t roof); /* "none", "tensor_f16", "fp32", "dram"; NULL past the last */

struct mode_metrics {
  bool known;                   /* false: not timed */
  double tflop_per_s, gb_per_s; /* from the median; gb_per_s is algorithmic bytes over time, not DRAM traffic */
  enum roof_kind roof;   /* the roof with the longer least time: the compute roof of the pipe that the variant uses,
                            or DRAM. Hot runs whose tensors fit in L2 have no DRAM roof. */
  double roof_clock_mhz; /* the clock that was measured, else the device's highest; NAN: no roof */
  double roof_ratio;     /* share that was reached of the roof at that clock, 0..1; NAN when the roof is unknown */
  double peak_ratio;     /* the same of the roof at the device's highest clock: a row that lowers the clock by the
                            power that it takes does not lower this roof */
  double floor_us;       /* the shape's least time on this device (kernels/floor.h); NAN when unknown */
  double floor_ratio;    /* median / floor_us, >= 1; NAN when unknown */
};

static inline bool metrics_has_roof(const struct mode_metrics *mode) {
  return mode->known && mode->roof != ROOF_NONE;
}

/* Launch geometry of one pass, derived from the plan and the facts. */
struct pass_metrics {
  uint64_t blocks;
  uint32_t threads_per_block;
  uint32_t resident_blocks; /* per SM: measured, else computed (occupancy.h) */
  bool resident_exact;      /* false: registers unknown, so an upper bound */
  const char *limited_by;   /* "registers", "shared memory", "threads", "blocks" */
  double occupancy_ratio;   /* resident threads / threads an SM can hold */
  double waves;             /* blocks / (SMs * resident_blocks) */
  uint64_t tail_blocks;     /* blocks of the last, partial wave; 0 when it is full */
  double tail_waste_ratio;  /* idle share of the slots over all waves: 1 - waves / ceil(waves) */
  double sm_ratio;          /* min(1, blocks / SMs): share of the SMs that get a block */
  uint64_t sm_blocks_max;   /* ceil(blocks / SMs): blocks that the busiest SM runs in all */
  bool covers_b, covers_h;  /* some grid axis covers B / the heads */
  bool covers_bh;
  double idle_thread_ratio; /* threads of a block that hold no row in the compute phase / threads */
  double items_per_block;   /* (pair, q tile, split) items per block on the grid axes that cover them; >= 1 */
  double rounds;            /* items that the busiest block computes in sequence: whole ones, unless an axis covers
                               splits beside heads or sequences, whose kernel can cut keys into equal parts */
};

/* Bytes that the blocks of a plan request, from its tiles and grid; the bytes of struct metrics follow from the shape
 * alone. The model assumes that a block loads each tile once, so that every request goes to L2: Q once per split; K
 * and V once per q tile and query head, up to the last key that the tile's rows see; O and LSE once; the workspace
 * once written and once read. */
struct traffic {
  bool known; /* false: no launches, or no tiles */
  double requested_bytes;
  double held_bytes;        /* size of K and V */
  double reread_ratio;      /* bytes of K and V requested / held_bytes */
  double working_set_bytes; /* K and V of the heads that one wave of blocks works on, if blocks start in grid order */
  bool fits_l2;             /* the working set fits in L2, so that rereads are L2 hits */
  double dram_bytes; /* of a cold launch: each tensor once if the working set fits in L2, else requested_bytes */
};

/* Values derived from several counters of the row, for the whole plan. NAN when a needed counter is not known. */
struct counter_metrics {
  double dram_gb_per_s, dram_ratio; /* bytes read and written over the time; share of the device's peak */
  double shared_conflict_ratio;     /* shared-memory wavefronts that bank conflicts add / all: from the addresses when
                                       known, else from the hardware's conflict counter */
  double sectors_per_request;       /* of global loads: 4 for 4 bytes a lane side by side, 16 for 16 bytes */
  double global_excess_ratio;       /* sectors beyond the fewest that could hold the bytes asked for / all */
};

struct counted {
  bool known;
  struct counter_values total;
  struct counter_stall top_stall;
  struct counter_metrics metrics;
};

struct metrics {
  double flops, bytes, flop_per_byte;
  struct traffic traffic;
  struct mode_metrics mode[TIME_MODE_COUNT];
  struct pass_metrics pass[ATTN_PASSES_MAX];
  struct counted counted; /* from record.counters */
};

/* The index of the first pass that works on query rows; an earlier pass only prepares memory. Where no pass says so,
 * the one with the most threads. */
uint32_t metrics_main_pass(const struct record *);
/* q tiles of a head of a sequence in this pass, or of all query heads of a KV head where they share tiles; the mean
 * where sequences differ. */
double metrics_q_tiles(const struct record *, uint32_t pass);
const struct pass_metrics *metrics_of_main_pass(const struct record *, const struct metrics *);
/* Is it a library's kernel, or one from a file, of which attnbench does not know what its blocks cover? */
bool metrics_is_opaque(const struct record *);

/* The clock that the row ran at: measured, else the device's highest. */
double metrics_clock_mhz(const struct time_record *, const struct device_info *);
/* Do the shape's tensors stay in L2 from one launch to the next, so that DRAM does not limit the time? */
bool metrics_stays_in_l2(const struct device_info *, enum time_mode, double bytes);

/* The union of what the axes of the pass's grid cover: bits of ATTN_COVERS_*. */
unsigned metrics_covers(const struct attn_pass *);

/* Who has the splits of all heads or sequences on one axis can cut their keys where it likes. */
bool metrics_cuts_anywhere(const struct attn_pass *);
/* Shared memory of one block of the pass, in bytes. */
uint64_t metrics_smem_bytes(const struct pass_record *);

/* The number of query rows that a pass divides into q tiles: those of one head, or of all heads that share a KV head.
 */
uint64_t metrics_tiled_rows(const struct attn_problem *, const struct attn_pass *);

/* Shared-memory wavefronts that bank conflicts add, of one pass or a whole plan. */
double metrics_shared_repeats(const struct counter_values *);

/* Computes struct metrics for one record. Passes are filled whenever the plan has passes, also without times. */
void metrics_of(const struct record *, const struct device_info *, struct metrics *out);
