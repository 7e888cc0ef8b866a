/* The constants of the model of time, and what they are derived from. */
#include "cli/analyse/gain.h"

#include <math.h>

/* Intercepts of time over the number of K/V tiles, one block, H200: 1.8 us (wmma) to 2.9 us (mma_swizzle) hot; cold
 * samples add the events around them and misses. */
static const double FIXED_US[TIME_MODE_COUNT] = {[TIME_COLD] = 4.7, [TIME_HOT] = 2.0, [TIME_STEADY] = 2.0};
static const double LAUNCH_US = 1.5; /* each further pass of the plan */
static const double PASS_US = 2.5;

/* n blocks on an SM take n^0.75 as long as one: between 0, where each leaves room for the others, and 1, where one
 * alone keeps a pipe busy. Kernels on CUDA cores and on tensor cores lie between 0.5 and 0.9. */
static const double SHARING = 0.75;
/* A resource that is r times faster gives a speedup of r^0.7, between 1 and r. */
static const double FASTER_PART = 0.7;

double gain_fixed_us(enum time_mode mode, uint32_t passes) {
  return FIXED_US[mode] + LAUNCH_US * (passes > 1 ? passes - 1 : 0);
}
double gain_pass_us(void) { return PASS_US; }

double gain_shared(uint32_t blocks) { return pow(blocks > 1 ? blocks : 1, SHARING); }

double gain_blocks(const struct device_info *dev, uint64_t blocks, uint32_t resident_blocks) {
  const double resident = resident_blocks > 0 ? resident_blocks : 1, per_sm = ceil((double)blocks / dev->sms);
  if (per_sm <= resident) return pow(fmax(per_sm, 1), SHARING);
  return pow(resident, SHARING) * per_sm / resident;
}

double gain_fewer_rows(double parts) { return pow(parts, -SHARING); }
double gain_residency(double ratio) { return pow(ratio, 1 - SHARING); }
double gain_faster_part(double ratio) { return pow(ratio, FASTER_PART); }
