/* Every pipe of the GPU at the rate that kernels reach, and which of them a row is nearest to. The roof of metrics.h
 * is the vendor's peak; these are what the instructions that the row uses can get. Pure. */
#ifndef ATTNBENCH_CLI_ANALYSE_ROOFS_H
#define ATTNBENCH_CLI_ANALYSE_ROOFS_H

#include "cli/analyse/metrics.h"

enum roofs_pipe { PIPE_DRAM, PIPE_PRODUCTS, PIPE_EX2, PIPE_L2, PIPE_SHARED, PIPE_COUNT };

/* What the products are computed with. mma.sync is every tensor instruction of a warp, WMMA among them. */
enum roofs_products { PRODUCTS_NONE, PRODUCTS_FP32, PRODUCTS_MMA_SYNC, PRODUCTS_WGMMA };

struct roofs {
  bool known; /* false: not timed on a GPU whose rates are known */
  enum roofs_products products;
  double share[TIME_MODE_COUNT][PIPE_COUNT]; /* time that the pipe needs over the time of the row; NAN: not known */
  bool counted[PIPE_COUNT];                  /* by a profiler's counters, not by the model of tiles */
  enum time_mode mode;                       /* the largest share of all is this one */
  enum roofs_pipe nearest;
};

void roofs_of(const struct record *, const struct metrics *, const struct device_info *, struct roofs *out);
/* "DRAM", "mma.sync", "the exponentials", ... */
const char *roofs_pipe_name(const struct roofs *, enum roofs_pipe);

/* FLOP per clock and SM that such products reach; 0 when not known. */
double roofs_products_rate(const struct device_info *, enum roofs_products);
/* GB/s that L2 gives all SMs, 0 when not known; and DRAM. */
double roofs_l2_gb_per_s(const struct device_info *);
double roofs_dram_gb_per_s(const struct device_info *);

#endif
