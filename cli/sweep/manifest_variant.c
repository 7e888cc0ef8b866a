/* Computes a manifest's formulas for a problem: what it supports, plans and binds. */
#include "cli/sweep/manifest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REFUSAL_MAX = 320 };

/* A manifest and its variant. The registry keeps pointers to them until the process ends. Hooks do not get the
 * variant as an argument, so each slot has hooks of its own. */
static struct slot {
  struct manifest manifest;
  struct attn_variant variant;
  char refusal[REFUSAL_MAX];
  uint32_t sms; /* of the device that was planned for */
} slots[ATTN_PLUGINS_MAX];
static size_t slot_count;

/* ---- formulas -------------------------------------------------------------------------------------------------- */

struct values {
  int64_t value[MANIFEST_VALUES_MAX];
};

static struct values values_for(const struct manifest *m, const struct attn_problem *problem,
                                const struct device_info *device) {
  struct values out = {{0}};
  struct axis_number numbers[AXIS_NUMBERS_MAX];
  size_t count = axes_numbers(problem, numbers);
  for (size_t i = 0; i < count; ++i) out.value[i] = numbers[i].value;
  out.value[count++] = attn_dtype_bytes(problem->dtype);
  out.value[count++] = device->sms;
  memcpy(out.value + count, m->constant, m->constant_count * sizeof *m->constant);
  return out;
}

/* Computes formulas one after the other; the first that has no value within its limits is kept as the reason. */
struct computing {
  const struct values *values;
  const char *launch, *what; /* where the formula stands */
  char *refusal;             /* empty: all was well so far */
};

static int64_t compute(struct computing *c, const struct expression *expression, int64_t least, int64_t most) {
  int64_t value = 0;
  const char *problem = expression_value(expression, c->values->value, &value);
  if (problem == NULL && (value < least || value > most)) problem = "is out of range";
  if (problem == NULL) return value;
  if (c->refusal[0] == '\0')
    snprintf(c->refusal, REFUSAL_MAX, "%s%s%s of its manifest %s for this shape", c->launch,
             c->launch[0] != '\0' ? ": " : "", c->what, problem);
  return least;
}

static uint32_t compute_u32(struct computing *c, const char *what, const struct expression *expression) {
  c->what = what;
  return (uint32_t)compute(c, expression, 0, UINT32_MAX);
}

static void compute_axes(struct computing *c, const char *what, const struct expression from[3], uint32_t out[3]) {
  for (size_t axis = 0; axis < 3; ++axis) out[axis] = compute_u32(c, what, &from[axis]);
}

static void compute_launch(struct computing *c, const struct manifest_launch *launch, struct attn_pass *out) {
  c->launch = launch->name;
  out->name = launch->name;
  out->image = &launch->image;
  compute_axes(c, "grid", launch->grid, out->grid);
  compute_axes(c, "block", launch->block, out->block);
  compute_axes(c, "cluster", launch->cluster, out->cluster);
  out->dynamic_smem_bytes = compute_u32(c, "shared_memory", &launch->smem);
  out->row_threads = compute_u32(c, "row_threads", &launch->row_threads);
  out->producer_threads = compute_u32(c, "producer_threads", &launch->producer_threads);
  memcpy(out->covers, launch->covers, sizeof out->covers);
}

/* The integer arguments are computed here too, so that a shape is refused before it is bound. */
static void compute_arguments(struct computing *c, const struct manifest_launch *launch, struct attn_pass_args *out) {
  for (uint32_t i = 0; i < launch->image.argument_count; ++i) {
    const struct manifest_argument *argument = &launch->argument[i];
    if (argument->kind != MANIFEST_INTEGER) continue;
    c->launch = launch->name, c->what = "an argument";
    const int64_t most = argument->bytes == 8 ? INT64_MAX : (INT64_C(1) << (8 * argument->bytes - 1)) - 1;
    const int64_t value = compute(c, &argument->integer, -most - 1, most);
    if (out != NULL) memcpy(out->bytes + argument->offset, &value, argument->bytes); /* little-endian, as GPUs are */
  }
}

/* Computes the boxes of the tensor maps, so that an invalid side is found before the kernel is bound. */
static void compute_maps(struct computing *c, const struct manifest_launch *launch,
                         uint32_t box[MANIFEST_MAPS_MAX][DEVICE_TENSOR_MAP_DIMS_MAX]) {
  enum { SIDE_MAX = 256 };
  c->launch = launch->name, c->what = "the box of a tensor map";
  for (uint32_t i = 0; i < launch->map_count; ++i) {
    for (uint32_t j = 0; j < launch->map[i].dims; ++j)
      box[i][j] = (uint32_t)compute(c, &launch->map[i].box[j], 1, SIDE_MAX);
  }
}

static void compute_plan(struct computing *c, const struct manifest *m, struct attn_plan *out) {
  c->launch = "", c->what = "workspace_bytes";
  out->workspace_bytes = (uint64_t)compute(c, &m->workspace_bytes, 0, INT64_MAX);
  out->tile_q = compute_u32(c, "tile_q", &m->tile_q);
  out->tile_kv = compute_u32(c, "tile_kv", &m->tile_kv);
  out->splits = compute_u32(c, "splits", &m->splits);
  out->stages = compute_u32(c, "stages", &m->stages);
  out->pass_count = m->launch_count;
  for (uint32_t i = 0; i < m->launch_count; ++i) compute_launch(c, &m->launch[i], &out->pass[i]);
}

/* ---- hooks ----------------------------------------------------------------------------------------------------- */

static bool takes_dim(const struct manifest *m, uint32_t dim) {
  for (uint32_t i = 0; i < m->dim_count; ++i) {
    if (m->dims[i] == dim) return true;
  }
  return false;
}

/* Machine code runs on later minor versions of its own major one, PTX on whatever comes after it. */
static bool runs_on(const struct manifest *m, const struct device_info *device) {
  const bool is_later = device->cc_major > m->cc_major;
  for (uint32_t i = 0; i < m->launch_count; ++i) {
    if (is_later && !m->launch[i].is_portable) return false;
  }
  return is_later || (device->cc_major == m->cc_major && device->cc_minor >= m->cc_minor);
}

static const char *unmet_requirement(const struct manifest *m, struct computing *c) {
  for (uint32_t i = 0; i < m->requirement_count; ++i) {
    c->launch = "", c->what = "a requirement";
    if (compute(c, &m->requirement[i].that, INT64_MIN, INT64_MAX) == 0) return m->requirement[i].because;
  }
  return NULL;
}

static bool has_maps(const struct manifest *m) {
  bool has = false;
  for (uint32_t i = 0; i < m->launch_count; ++i) has = has || m->launch[i].map_count > 0;
  return has;
}

static const char *slot_supports(struct slot *slot, const struct attn_problem *problem,
                                 const struct device_info *device) {
  const struct manifest *m = &slot->manifest;
  const struct values values = values_for(m, problem, device);
  struct attn_plan plan = {.pass_count = 0};
  struct computing c = {.values = &values, .launch = "", .what = "", .refusal = slot->refusal};
  slot->refusal[0] = '\0';
  if (!takes_dim(m, problem->D)) return "D is none of the values under \"D\" in its manifest";
  const bool has_window = axes_takes_of(problem) & ATTN_TAKES_WINDOW;
  if (has_maps(m) && attn_is_ragged(problem))
    return "batch must be left out: the tensor maps of a manifest are of dense [B][H][S][D] tensors";
  if (has_maps(m) && (attn_is_paged(problem) || problem->v_in_k))
    return "page and v_in_k must be left out: the tensor maps of a manifest are of dense [B][H][S][D] tensors";
  if (has_maps(m) && problem->layout != ATTN_BHSD)
    return "layout must be bhsd: the tensor maps of a manifest are of dense [B][H][S][D] tensors";
  if (!has_window && !m->causal[attn_is_causal(problem)])
    return "the mask is none of those under \"causal\" in its manifest";
  if (!runs_on(m, device)) return "the GPU's compute capability is not the one that its manifest names";
  const char *unmet = unmet_requirement(m, &c);
  if (unmet != NULL && slot->refusal[0] == '\0') return unmet;
  compute_plan(&c, m, &plan);
  for (uint32_t i = 0; i < m->launch_count; ++i) {
    uint32_t box[MANIFEST_MAPS_MAX][DEVICE_TENSOR_MAP_DIMS_MAX];
    compute_arguments(&c, &m->launch[i], NULL);
    compute_maps(&c, &m->launch[i], box);
  }
  return slot->refusal[0] != '\0' ? slot->refusal : NULL;
}

static void slot_plan(struct slot *slot, const struct attn_problem *problem, const struct device_info *device,
                      struct attn_plan *plan) {
  const struct values values = values_for(&slot->manifest, problem, device);
  struct computing c = {.values = &values, .launch = "", .what = "", .refusal = slot->refusal};
  compute_plan(&c, &slot->manifest, plan);
  slot->sms = device->sms;
}

static void bind_real(const struct manifest_argument *argument, const struct attn_problem *problem,
                      struct attn_pass_args *out) {
  const double scale = 1.0 / sqrt((double)problem->D);
  const double value = argument->kind == MANIFEST_SCALE        ? scale
                       : argument->kind == MANIFEST_SCALE_LOG2 ? scale * M_LOG2E
                       : argument->kind == MANIFEST_AXIS       ? axes_get(argument->axis, problem).first
                                                               : argument->number;
  const float rounded = (float)value;
  if (argument->bytes == sizeof value) memcpy(out->bytes + argument->offset, &value, sizeof value);
  if (argument->bytes == sizeof rounded) memcpy(out->bytes + argument->offset, &rounded, sizeof rounded);
}

/* The tensor with its outer dimensions folded into as many as the box has sides. */
static struct device_tensor_map map_of(const struct manifest_map *map, const struct attn_problem *problem,
                                       const struct attn_buffers *buffers, const uint32_t *box) {
  const uint32_t folded = DEVICE_TENSOR_MAP_DIMS_MAX - map->dims;
  struct attn_tensor tensor;
  attn_tensor_of(problem, map->tensor, &tensor);
  const uint64_t whole[DEVICE_TENSOR_MAP_DIMS_MAX] = {tensor.view.batch, tensor.view.heads, tensor.view.tokens,
                                                      tensor.view.columns};
  struct device_tensor_map out = {.tensor = buffers->tensor[map->tensor],
                                  .dtype = tensor.dtype,
                                  .dims = map->dims,
                                  .swizzle_bytes = map->swizzle_bytes};
  memcpy(out.box, box, sizeof out.box);
  memcpy(out.extent, whole + folded, map->dims * sizeof *whole);
  for (uint32_t i = 0; i < folded; ++i) out.extent[0] *= whole[i];
  return out;
}

static struct status bind_maps(struct computing *c, const struct manifest_launch *launch,
                               const struct attn_problem *problem, const struct attn_buffers *buffers,
                               struct attn_pass_args *out) {
  uint32_t box[MANIFEST_MAPS_MAX][DEVICE_TENSOR_MAP_DIMS_MAX] = {{0}};
  compute_maps(c, launch, box);
  for (uint32_t i = 0; i < launch->image.argument_count; ++i) {
    const struct manifest_argument *argument = &launch->argument[i];
    if (argument->kind != MANIFEST_TENSOR_MAP) continue;
    const struct device_tensor_map map = map_of(&launch->map[argument->map], problem, buffers, box[argument->map]);
    TRY(device_tensor_map_write(&map, out->bytes + argument->offset));
  }
  return status_ok();
}

static struct status bind_launch(struct computing *c, const struct manifest_launch *launch,
                                 const struct attn_problem *problem, const struct attn_buffers *buffers,
                                 struct attn_pass_args *out) {
  for (uint32_t i = 0; i < launch->image.argument_count; ++i) {
    const struct manifest_argument *argument = &launch->argument[i];
    unsigned char *at = out->bytes + argument->offset;
    if (argument->kind == MANIFEST_POINTER) {
      void *pointer = argument->role < ATTN_ROLE_COUNT ? buffers->tensor[argument->role] : buffers->workspace;
      memcpy(at, &pointer, sizeof pointer);
    }
    if (argument->kind >= MANIFEST_NUMBER && argument->kind <= MANIFEST_AXIS) bind_real(argument, problem, out);
    if (argument->kind == MANIFEST_ZEROS) memset(at, 0, argument->bytes);
  }
  compute_arguments(c, launch, out);
  return bind_maps(c, launch, problem, buffers, out);
}

static struct status slot_bind(struct slot *slot, const struct attn_problem *problem,
                               const struct attn_buffers *buffers, struct attn_pass_args args[ATTN_PASSES_MAX]) {
  const struct manifest *m = &slot->manifest;
  const struct device_info device = {.sms = slot->sms};
  const struct values values = values_for(m, problem, &device);
  struct computing c = {.values = &values, .launch = "", .what = "", .refusal = slot->refusal};
  slot->refusal[0] = '\0';
  for (uint32_t i = 0; i < m->launch_count; ++i) TRY(bind_launch(&c, &m->launch[i], problem, buffers, &args[i]));
  return slot->refusal[0] == '\0' ? status_ok() : status_make(STATUS_UNSUPPORTED, "%s", slot->refusal);
}

#define SLOT_HOOKS(i)                                                                                              \
  static const char *supports_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,            \
                                  const struct device_info *device) {                                              \
    (void)tuning;                                                                                                  \
    return slot_supports(&slots[i], problem, device);                                                              \
  }                                                                                                                \
  static void plan_##i(const struct attn_problem *problem, const struct attn_tuning *tuning,                       \
                       const struct device_info *device, struct attn_plan *plan) {                                 \
    (void)tuning;                                                                                                  \
    slot_plan(&slots[i], problem, device, plan);                                                                   \
  }                                                                                                                \
  static struct status bind_##i(const struct attn_problem *problem, const struct attn_plan *plan,                  \
                                const struct attn_buffers *buffers, struct attn_pass_args args[ATTN_PASSES_MAX]) { \
    (void)plan;                                                                                                    \
    return slot_bind(&slots[i], problem, buffers, args);                                                           \
  }
#define SLOT_ROW(i) {.supports = supports_##i, .plan = plan_##i, .bind = bind_##i},
#define SLOTS(X)    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

SLOTS(SLOT_HOOKS)

static const struct attn_variant hooks[] = {SLOTS(SLOT_ROW)};
_Static_assert(sizeof hooks / sizeof *hooks == ATTN_PLUGINS_MAX, "a slot for every --load");

struct status manifest_variant_add(const char *path) {
  struct slot *slot = &slots[slot_count];
  if (slot_count == ATTN_PLUGINS_MAX) return status_make(STATUS_USAGE, "--load %s: one manifest too many", path);
  TRY(manifest_load(path, &slot->manifest));
  slot->variant = hooks[slot_count];
  slot->variant.name = slot->manifest.name;
  slot->variant.summary = slot->manifest.about;
  slot->variant.limits = slot->manifest.limits;
  slot->variant.runs_on = DEVICE_CUDA;
  slot->variant.math = slot->manifest.math;
  slot->variant.takes = slot->manifest.takes;
  slot->variant.dtypes = slot->manifest.dtypes;
  if (!variant_add(&slot->variant))
    return status_make(STATUS_USAGE, "--load %s: there is a variant %s already; rename one of them", path,
                       slot->manifest.name);
  ++slot_count;
  return status_ok();
}
