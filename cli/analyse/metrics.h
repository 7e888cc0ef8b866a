/* FLOP and byte models, rates and roofs. Models are per shape, never per variant, so that ratios compare like with
 * like. Pure. GB = 10^9 bytes, TFLOP = 10^12. */
#ifndef ATTNBENCH_CLI_ANALYSE_METRICS_H
#define ATTNBENCH_CLI_ANALYSE_METRICS_H

#include "cli/record/record.h"

enum roof_kind { ROOF_NONE, ROOF_TENSOR, ROOF_FP32, ROOF_DRAM, ROOF_COUNT };
const char *metrics_roof_name(enum roof_kind); /* "none", "tensor_f16", "fp32", "dram" */

struct mode_metrics {
  bool known;                   /* false: not timed */
  double tflop_per_s, gb_per_s; /* from the median; gb_per_s is algorithmic bytes over time, not DRAM traffic */
  enum roof_kind roof;   /* the roof that binds: the compute roof of the pipe the variant uses, or DRAM when the byte
                            floor is the longer one. Hot runs whose tensors fit in L2 are not held against DRAM. */
  double roof_clock_mhz; /* clock the compute roof was taken at: measured, else the device's maximum; NAN: no roof */
  double roof_ratio;     /* share of that roof reached, 0..1; NAN when the roof is unknown */
  double floor_us;       /* the shape's least time on this device (record/floor.h); NAN when unknown */
  double floor_ratio;    /* median / floor_us, >= 1; NAN when unknown */
};

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
  bool covers_b, covers_h;  /* some grid axis walks B / the heads */
  bool covers_bh;
  double idle_thread_ratio; /* threads of a block that hold no row in the compute phase / threads */
  double items_per_block;   /* (pair, q tile, split) that a block loops over, on the axes that cover them; >= 1 */
};

/* What the blocks of a plan ask for, by its tiles and grid alone; the byte model above is the shape's and does not
 * know them. A block is taken to stage each tile once, so L1 adds nothing and requests go to L2: Q once per split; K
 * and V once per q tile and query head, under a causal mask up to the tile's last row; O and LSE once; the workspace
 * written once and read once. */
struct traffic {
  bool known; /* false: no launches, or no tiles */
  double requested_bytes;
  double held_bytes;        /* K and V */
  double reread_ratio;      /* K and V asked for / K and V held */
  double working_set_bytes; /* K and V of the heads that one wave of blocks works on, blocks starting in grid order */
  bool fits_l2;             /* that working set does, so that rereads are L2 hits */
  double dram_bytes;        /* of a cold launch: each tensor once when it fits, else up to all that is requested */
};

/* What the counters of the row say together, for the whole plan. NAN where one that is needed is not known. */
struct counter_metrics {
  double dram_gb_per_s, dram_ratio; /* bytes read and written over the time; share of the device's peak */
  double shared_conflict_ratio; /* passes through shared memory that are repeats / all: by the addresses where that
                                   is known, else by the hardware's count */
  double sectors_per_request;   /* of global loads: 4 for 4 bytes a lane side by side, 16 for 16 bytes */
  double global_excess_ratio;   /* sectors that the addresses cost beyond the fewest / all */
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

/* The first pass that works on query rows: one before it only prepares memory. */
uint32_t metrics_main_pass(const struct record *);

/* Query rows that a pass cuts into q tiles together: of one head, or of all that read one KV head. */
uint64_t metrics_tiled_rows(const struct attn_shape *, const struct attn_pass *);

/* Passes through shared memory that are repeats, of one pass or a whole plan. */
double metrics_shared_repeats(const struct counter_values *);

/* Everything above for one record on one device. Passes are filled whenever the plan has passes, planned or not. */
void metrics_of(const struct record *, const struct device_info *, struct metrics *out);

#endif
