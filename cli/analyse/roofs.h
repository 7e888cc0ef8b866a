/* The rate that kernels can reach on each pipe of the GPU, and the pipe whose limit a row is nearest to. metrics.h
 * takes the vendor's peak as roof; the rates here are those of the instructions that the row uses. Pure. */
#pragma once

#include "cli/analyse/metrics.h"

enum roofs_pipe { PIPE_DRAM, PIPE_PRODUCTS, PIPE_EX2, PIPE_L2, PIPE_SHARED, PIPE_COUNT };

/* The instructions that compute the products. mma.sync stands for every warp-level tensor instruction, also WMMA. */
enum roofs_products { PRODUCTS_NONE, PRODUCTS_FP32, PRODUCTS_MMA_SYNC, PRODUCTS_WGMMA };

struct roofs {
  bool known; /* false: the row was not timed, or the GPU's rates are not known */
  enum roofs_products products;
  double share[TIME_MODE_COUNT][PIPE_COUNT]; /* time that the pipe needs / time of the row; NAN: not known */
  bool counted[PIPE_COUNT];                  /* the share is from a profiler's counters; false: from a model */
  enum time_mode mode;                       /* mode and pipe of the largest share of all */
  enum roofs_pipe nearest;
};

void roofs_of(const struct record *, const struct metrics *, const struct device_info *, struct roofs *out);
/* "DRAM", "mma.sync", "the exponentials", ... */
const char *roofs_pipe_name(const struct roofs *, enum roofs_pipe);

/* FLOP per clock and SM that these instructions reach; 0 when not known. */
double roofs_products_rate(const struct device_info *, enum roofs_products, enum attn_dtype);
/* GB/s that L2 delivers to all SMs together, and that DRAM reaches; 0 when not known. */
double roofs_l2_gb_per_s(const struct device_info *);
double roofs_dram_gb_per_s(const struct device_info *);
