/* Lets objects of plugin ABI 5 compute the problems that they know. */
#include "kernels/plugin_v5.h"

/* Structs that are not in plugin_v5.h are those of ABI 5 still, or have grown at their end. */
_Static_assert(sizeof(struct attn_tunable) == 32 && sizeof(struct attn_tuning) == 32, "ABI 5");
_Static_assert(sizeof(struct attn_image_argument) == 8 && sizeof(struct attn_image) == 792, "ABI 5");
_Static_assert(sizeof(struct attn_pass) == 88 && sizeof(struct attn_launched) == 16, "ABI 5");
_Static_assert(sizeof(struct attn_plan) == 448 && sizeof(struct attn_pass_args) == 32768, "ABI 5");
_Static_assert(sizeof(struct status) == 644 && sizeof(struct device_info) >= 256, "ABI 5");
_Static_assert(sizeof(struct attn_variant_v5) == 96 && sizeof(struct attn_vendor_v5) == 48, "ABI 5");
_Static_assert(sizeof(struct attn_shape_v5) == 32 && sizeof(struct attn_buffers_v5) == 48, "ABI 5");

const uint32_t plugin_v5_bytes[14] = {96, 48, 32, 32, 32, 256, 8, 792, 88, 16, 448, 48, 32768, 644};

/* Hooks are told of no variant: each slot has its own. */
static struct slot {
  const struct attn_variant_v5 *variant;
  struct attn_vendor vendor;
} slots[ATTN_PLUGIN_VARIANTS_MAX];

static struct attn_shape_v5 shape_of(const struct attn_problem *p) {
  return (struct attn_shape_v5){.B = p->B,
                                .Hq = p->Hq,
                                .Hkv = p->Hkv,
                                .Sq = p->Sq,
                                .Skv = p->Skv,
                                .D = p->D,
                                .dtype = p->dtype,
                                .causal = attn_is_causal(p),
                                .lse = p->lse};
}

/* The object's `limits` name its types already, so that attn_variant.dtypes stays 0. */
static const char *supports(const struct attn_variant_v5 *variant, const struct attn_problem *problem,
                            const struct attn_tuning *tuning, const struct device_info *device) {
  const struct attn_shape_v5 shape = shape_of(problem);
  if ((ATTN_DTYPES_FLOAT & ATTN_DTYPE_BIT(problem->dtype)) == 0)
    return "dtype must be f16, bf16 or f32: it was built for plugin ABI 5, which has no other";
  return variant->supports(&shape, tuning, device);
}

static struct attn_buffers_v5 buffers_of(const struct attn_buffers *b) {
  return (struct attn_buffers_v5){b->q, b->k, b->v, b->o, b->lse, b->workspace};
}

#define SLOT_HOOKS(i)                                                                                              \
  static const char *supports_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,            \
                                  const struct device_info *device) {                                              \
    return supports(slots[i].variant, problem, tuning, device);                                                    \
  }                                                                                                                \
  static void plan_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,                       \
                       const struct device_info *device, struct attn_plan *plan) {                                 \
    const struct attn_shape_v5 shape = shape_of(problem);                                                          \
    slots[i].variant->plan(&shape, tuning, device, plan);                                                          \
    plan->zeroed_bytes = 0; /* was padding */                                                                      \
  }                                                                                                                \
  static struct status bind_##i(const struct attn_problem *problem, const struct attn_plan *plan,                  \
                                const struct attn_buffers *buffers, struct attn_pass_args args[ATTN_PASSES_MAX]) { \
    const struct attn_shape_v5 shape = shape_of(problem);                                                          \
    const struct attn_buffers_v5 old = buffers_of(buffers);                                                        \
    return slots[i].variant->bind(&shape, plan, &old, args);                                                       \
  }                                                                                                                \
  static void run_##i(const struct attn_problem *problem, const struct attn_plan *plan,                            \
                      const struct attn_buffers *buffers, unsigned threads) {                                      \
    const struct attn_shape_v5 shape = shape_of(problem);                                                          \
    const struct attn_buffers_v5 old = buffers_of(buffers);                                                        \
    slots[i].variant->run(&shape, plan, &old, threads);                                                            \
  }                                                                                                                \
  static struct status open_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,              \
                                const struct device_info *device, void *stream, void **state,                      \
                                uint64_t *workspace_bytes) {                                                       \
    const struct attn_shape_v5 shape = shape_of(problem);                                                          \
    return slots[i].variant->vendor->open(&shape, tuning, device, stream, state, workspace_bytes);                 \
  }                                                                                                                \
  static struct status attach_##i(void *state, const struct attn_buffers *buffers) {                               \
    const struct attn_buffers_v5 old = buffers_of(buffers);                                                        \
    return slots[i].variant->vendor->attach(state, &old);                                                          \
  }
#define SLOTS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

SLOTS(SLOT_HOOKS)

#define SLOT_ROW(i) {supports_##i, plan_##i, bind_##i, run_##i, open_##i, attach_##i},
static const struct {
  const char *(*supports)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *);
  void (*plan)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *,
               struct attn_plan *);
  struct status (*bind)(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *,
                        struct attn_pass_args args[ATTN_PASSES_MAX]);
  void (*run)(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *, unsigned threads);
  struct status (*open)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *,
                        void *stream, void **state, uint64_t *workspace_bytes);
  struct status (*attach)(void *state, const struct attn_buffers *);
} hooks[] = {SLOTS(SLOT_ROW)};
_Static_assert(sizeof hooks / sizeof *hooks == ATTN_PLUGIN_VARIANTS_MAX, "a slot for every variant");

/* A library's calls, with those that take a shape or buffers through the slot. A hook that is missing stays missing,
 * to be told of. */
static const struct attn_vendor *vendor_in(uint32_t slot, const struct attn_vendor_v5 *vendor) {
  if (vendor == NULL) return NULL;
  slots[slot].vendor = (struct attn_vendor){.missing = vendor->missing,
                                            .library = vendor->library,
                                            .open = vendor->open != NULL ? hooks[slot].open : NULL,
                                            .attach = vendor->attach != NULL ? hooks[slot].attach : NULL,
                                            .enqueue = vendor->enqueue,
                                            .close = vendor->close};
  return &slots[slot].vendor;
}

struct attn_variant plugin_v5_variant(const struct attn_variant_v5 *variant, uint32_t slot) {
  slots[slot].variant = variant;
  return (struct attn_variant){.name = variant->name,
                               .summary = variant->summary,
                               .limits = variant->limits,
                               .runs_on = variant->runs_on,
                               .math = variant->math,
                               .takes = variant->writes_lse ? ATTN_TAKES_LSE : 0,
                               .tunables = variant->tunables,
                               .supports = variant->supports != NULL ? hooks[slot].supports : NULL,
                               .plan = variant->plan != NULL ? hooks[slot].plan : NULL,
                               .bind = variant->bind != NULL ? hooks[slot].bind : NULL,
                               .run = variant->run != NULL ? hooks[slot].run : NULL,
                               .vendor = vendor_in(slot, variant->vendor),
                               .picks = variant->picks};
}
