/* Shapes as the command line writes them, without a sweep file:
 *
 *   B=1,H=8,S=512,D=64                       one case; f16 and full unless a dtype or a mask is named
 *   B=1,8,H=32/8,S=1x4096,D=128,bf16,causal  lists; query heads / KV heads; query rows x keys
 *   B=1,H=8,S=512:4096:*2,D=64,full,causal   ranges with a factor (*2) or a step (+512): 512, 1024, 2048, 4096
 *   B1.H8.Hkv8.Sq512.Skv512.D64.f16.full     a case's key, as reports write it */
#pragma once

#include "cli/sweep/sweep.h"

/* The path of a sweep that comes from --shape (sweep.path). */
#define SHAPE_SPEC_PATH "--shape"

/* Makes a sweep of the cases of all specs, without repeats, in the order of the specs. Within a spec, the last of B,
 * H, S, D, dtype and mask varies fastest. The hash is that of the cases, so it does not depend on how they are
 * written. STATUS_USAGE names the spec and what is wrong. On success the caller frees with sweep_free. */
struct status shape_spec_sweep(const char *const *specs, size_t count, struct sweep *out);
