/* A shared object for --load, sound as it stands; each file here spoils one thing by defining a macro before it
 * includes this. The variant is named after the defect, so that a test knows it by its file. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/plugin.h"

#ifndef NAME
#define NAME "sound"
#endif
#ifndef RUNS_ON
#define RUNS_ON DEVICE_CPU
#endif
#ifndef SUPPORTS
#define SUPPORTS supports
#endif
#ifndef PLAN
#define PLAN plan
#endif
#ifndef RUN
#define RUN run
#endif
#ifndef TUNABLES
#define TUNABLES NULL
#endif
#ifndef ABI
#define ABI ATTN_PLUGIN_ABI
#endif
#ifndef EXTRA_BYTES
#define EXTRA_BYTES 0
#endif
#ifndef VARIANTS
#define VARIANTS \
  { &variant }
#endif
#ifndef VENDOR
#define VENDOR NULL
#endif
#define UNUSED __attribute__((unused))

UNUSED static const char *supports(const struct attn_problem *shape UNUSED, const struct attn_tuning *tuning UNUSED,
                                   const struct device_info *device UNUSED) {
  return NULL;
}

UNUSED static void plan(const struct attn_problem *shape, const struct attn_tuning *tuning UNUSED,
                        const struct device_info *device UNUSED, struct attn_plan *out) {
  out->tile_q = 1;
  out->tile_kv = shape->Skv;
  out->splits = out->stages = 1;
}

/* Zeros: wrong, but quick, and nothing outside the output is touched. */
UNUSED static void run(const struct attn_problem *s, const struct attn_plan *planned UNUSED,
                       const struct attn_buffers *buffers, unsigned threads UNUSED) {
  const size_t bytes = s->dtype == ATTN_F32 ? 4 : 2;
  memset(buffers->o, 0, bytes * s->B * s->Hq * s->Sq * s->D);
}

#ifdef HOOKS
HOOKS
#endif

UNUSED static const struct attn_variant variant = {
    .name = NAME,
    .summary = "a loaded variant of the tests",
    .limits = "none",
    .runs_on = RUNS_ON,
    .math = ATTN_MATH_FP32_HOST,
    .tunables = TUNABLES,
    .supports = SUPPORTS,
    .plan = PLAN,
    .run = RUNS_ON == DEVICE_CPU ? RUN : NULL,
    .vendor = VENDOR,
};

static const struct attn_variant *const variants[] = VARIANTS;

#define STRUCT_BYTES(name, grows) (uint32_t)sizeof(struct name) + EXTRA_BYTES,
const struct attn_plugin attn_plugin = {
    ABI, {ATTN_PLUGIN_STRUCTS(STRUCT_BYTES)}, sizeof variants / sizeof *variants, variants, NULL};
