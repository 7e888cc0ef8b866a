/* Opens a user's shared object and checks what it promises. */
#include "kernels/plugin_load.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/plugin_v5.h"

/* ---- checking a description ---------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  uint32_t bytes;
  bool grows;
} structs[ATTN_PLUGIN_STRUCT_COUNT] = {
#define PLUGIN_STRUCT(name, grows) {#name, (uint32_t)sizeof(struct name), grows},
    ATTN_PLUGIN_STRUCTS(PLUGIN_STRUCT)
#undef PLUGIN_STRUCT
};

/* An object as both ABIs describe it. */
struct description {
  uint32_t abi;
  const uint32_t *bytes, *expected; /* sizes of structs: the object's, and those of its ABI where it is an old one */
  uint32_t variant_count;
  const void *const *variants;
  const void *(*launch_handle)(const void *kernel);
};

static struct description describe(const struct attn_plugin *plugin) {
  if (plugin->abi != PLUGIN_V5)
    return (struct description){.abi = plugin->abi,
                                .bytes = plugin->bytes,
                                .variant_count = plugin->variant_count,
                                .variants = (const void *const *)plugin->variants,
                                .launch_handle = plugin->launch_handle};
  const struct attn_plugin_v5 *old = (const struct attn_plugin_v5 *)(const void *)plugin;
  return (struct description){.abi = old->abi,
                              .bytes = old->bytes,
                              .expected = plugin_v5_bytes,
                              .variant_count = old->variant_count,
                              .variants = (const void *const *)old->variants,
                              .launch_handle = old->launch_handle};
}

static struct status check_sizes(const char *path, const struct description *plugin) {
  for (size_t i = 0; i < ATTN_PLUGIN_STRUCT_COUNT; ++i) {
    const uint32_t expected = plugin->expected != NULL ? plugin->expected[i] : structs[i].bytes;
    const bool may_be_shorter = plugin->expected == NULL && structs[i].grows && plugin->bytes[i] > 0;
    if (plugin->bytes[i] == expected || (may_be_shorter && plugin->bytes[i] < expected)) continue;
    return status_make(STATUS_USAGE,
                       "--load %s: its struct %s has %" PRIu32 " bytes and attnbench's has %" PRIu32
                       "; build it again with this attnbench's kernels/plugin.h",
                       path, structs[i].name, plugin->bytes[i], expected);
  }
  return status_ok();
}

static struct status check_description(const char *path, const struct description *plugin) {
  if (plugin->abi != ATTN_PLUGIN_ABI && plugin->abi != PLUGIN_V5)
    return status_make(STATUS_USAGE,
                       "--load %s: was built for plugin ABI %" PRIu32
                       " and this attnbench has %u; build it again with "
                       "this attnbench's kernels/plugin.h",
                       path, plugin->abi, ATTN_PLUGIN_ABI);
  TRY(check_sizes(path, plugin));
  if (plugin->variants == NULL || plugin->variant_count == 0 || plugin->variant_count > ATTN_PLUGIN_VARIANTS_MAX)
    return status_make(STATUS_USAGE, "--load %s: attn_plugin lists %" PRIu32 " variants%s; list 1 to %d", path,
                       plugin->variant_count, plugin->variants == NULL ? " in an array that is NULL" : "",
                       ATTN_PLUGIN_VARIANTS_MAX);
  return status_ok();
}

struct status plugin_check(const char *path, const struct attn_plugin *plugin) {
  const struct description description = describe(plugin);
  return check_description(path, &description);
}

/* 1 to max bytes, all of them of `set`, or printable ASCII when set is NULL. */
static bool plugin_is_text(const char *text, size_t max, const char *set) {
  const size_t length = text != NULL ? strnlen(text, max + 1) : 0;
  for (size_t i = 0; i < length; ++i) {
    if (set != NULL ? strchr(set, text[i]) == NULL : text[i] < ' ' || text[i] > '~') return false;
  }
  return length > 0 && length <= max;
}

static const char name_set[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
static const char pass_name_set[] = "abcdefghijklmnopqrstuvwxyz_";

static bool plugin_lacks_hook(const struct attn_vendor *v) {
  return v->missing == NULL || v->library == NULL || v->open == NULL || v->attach == NULL || v->enqueue == NULL ||
         v->close == NULL;
}

/* What is wrong with a variant's own fields; NULL: nothing. */
static const char *plugin_variant_problem(const struct attn_variant *v) {
  const struct {
    bool broken;
    const char *sentence;
  } rules[] = {
      {!plugin_is_text(v->summary, ATTN_PLUGIN_TEXT_MAX, NULL),
       "summary must be a line of 1 to 240 ASCII characters"},
      {v->limits != NULL && !plugin_is_text(v->limits, ATTN_PLUGIN_TEXT_MAX, NULL),
       "limits must be NULL or a line of 1 to 240 ASCII characters"},
      {v->dtypes_why != NULL && !plugin_is_text(v->dtypes_why, ATTN_PLUGIN_WHY_MAX, NULL),
       "dtypes_why must be NULL or a line of 1 to 120 ASCII characters"},
      {v->dims.why != NULL && !plugin_is_text(v->dims.why, ATTN_PLUGIN_WHY_MAX, NULL),
       "dims.why must be NULL or a line of 1 to 120 ASCII characters"},
      {v->dtypes >> ATTN_DTYPE_COUNT != 0, "dtypes holds bits ATTN_DTYPE_BIT of enum attn_dtype"},
      {v->runs_on != DEVICE_CPU && v->runs_on != DEVICE_CUDA, "runs_on must be DEVICE_CPU or DEVICE_CUDA"},
      {(unsigned)v->math >= ATTN_MATH_FP32_OR_TENSOR, "math must be one of enum attn_math"},
      {v->supports == NULL, "supports is NULL; it must say what shapes the variant takes"},
      {v->plan == NULL, "plan is NULL; it must fill in the launch"},
      {v->runs_on == DEVICE_CPU && v->run == NULL, "run is NULL; a CPU variant must have it"},
      {v->runs_on == DEVICE_CUDA && v->run != NULL,
       "run must be NULL in a CUDA variant, which is launched from its plan"},
      {v->runs_anywhere, "runs_anywhere must be false: an object's variant is for one kind of device"},
      {v->picks != NULL, "picks must be NULL; a variant that picks others is attnbench's own"},
      {v->vendor != NULL && v->runs_on != DEVICE_CUDA,
       "vendor is for CUDA variants; a CPU variant calls its library in run"},
      {v->vendor != NULL && v->bind != NULL,
       "bind must be NULL beside vendor, whose library launches its own kernels"},
      {v->vendor != NULL && plugin_lacks_hook(v->vendor),
       "vendor must have all of missing, library, open, attach, enqueue and close"},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    if (rules[i].broken) return rules[i].sentence;
  }
  return NULL;
}

_Static_assert(ATTN_TUNABLES_MAX == 8, "the message below names the limit");
static const char *plugin_tunables_problem(const struct attn_tunable *tunables) {
  size_t count = 0;
  for (; tunables != NULL && tunables[count].name != NULL; ++count) {
    const struct attn_tunable *t = &tunables[count];
    if (count == ATTN_TUNABLES_MAX)
      return "tunables has no NULL name within its first 9 entries; 8 tunables are the most";
    if (!plugin_is_text(t->name, ATTN_PLUGIN_NAME_MAX, name_set))
      return "a tunable's name must be 1 to 32 of [a-z0-9_]";
    if (!plugin_is_text(t->help, ATTN_PLUGIN_TEXT_MAX, NULL))
      return "a tunable's help must be 1 to 240 ASCII characters";
    if (t->min > t->default_value || t->default_value > t->max)
      return "a tunable's default_value must be in min..max";
    for (size_t i = 0; i < count; ++i) {
      if (strcmp(tunables[i].name, t->name) == 0) return "two tunables have one name";
    }
  }
  return NULL;
}

struct status plugin_check_variant(const char *path, const struct attn_variant *variant) {
  if (variant == NULL) return status_make(STATUS_USAGE, "--load %s: attn_plugin lists a variant that is NULL", path);
  if (!plugin_is_text(variant->name, ATTN_PLUGIN_NAME_MAX, name_set))
    return status_make(STATUS_USAGE, "--load %s: a variant's name must be 1 to %d of [a-z0-9_]; rename it", path,
                       ATTN_PLUGIN_NAME_MAX);
  const char *problem = plugin_variant_problem(variant);
  if (problem == NULL) problem = plugin_tunables_problem(variant->tunables);
  if (problem == NULL) return status_ok();
  return status_make(STATUS_USAGE, "--load %s: variant %s: %s", path, variant->name, problem);
}

struct status plugin_status(const struct status *status) {
  static const enum status_code known[] = {STATUS_OK, STATUS_UNSUPPORTED, STATUS_MEMORY, STATUS_INTERNAL};
  enum status_code code = STATUS_DEVICE;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (status->code == known[i]) code = known[i];
  }
  if (code == STATUS_OK) return status_ok();
  struct status out = status_make(code, "%.*s", STATUS_TEXT_MAX - 1, status->text);
  for (char *c = out.text; *c != '\0'; ++c) {
    if (*c < ' ' || *c > '~') *c = '?';
  }
  return out;
}

/* ---- checking a plan ----------------------------------------------------------------------------------------- */

enum { GRID_X_MAX = INT32_MAX, GRID_YZ_MAX = 65535, PASS_NAME_MAX = 23 };
/* Whoever plans a launch knows what its axes walk over: not ATTN_COVERS_UNKNOWN. */
enum {
  COVERS_ALL = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q | ATTN_COVERS_SPLIT | ATTN_COVERS_D | ATTN_COVERS_HKV
};

/* The product of three sizes that may be anything, without overflow; 0 when one of them is. */
static uint64_t product_of(const uint32_t size[3], uint64_t most) {
  uint64_t product = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    product *= size[axis];
    if (product > most) return most + 1;
  }
  return product;
}

static bool pass_splits_cluster(const struct attn_pass *pass) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (pass->cluster[axis] != 0 && pass->grid[axis] % pass->cluster[axis] != 0) return true;
  }
  return false;
}

/* Whoever brings a kernel from a file may not know, and then is not advised. */
static bool pass_is_unknown(const struct attn_pass *pass) {
  return pass->image != NULL && pass->covers[0] == ATTN_COVERS_UNKNOWN && pass->covers[1] == ATTN_COVERS_UNKNOWN &&
         pass->covers[2] == ATTN_COVERS_UNKNOWN;
}

static const char *pass_problem(const struct attn_pass *pass, const struct device_info *device) {
  const uint32_t most = device->threads_per_block != 0 ? device->threads_per_block : 1024;
  const uint64_t threads = product_of(pass->block, most);
  const struct {
    bool broken;
    const char *sentence;
  } rules[] = {
      {!plugin_is_text(pass->name, PASS_NAME_MAX, pass_name_set), "plan: a pass's name must be 1 to 23 of [a-z_]"},
      {pass->grid[0] < 1 || pass->grid[0] > GRID_X_MAX, "plan: grid.x must be 1 to 2^31-1"},
      {pass->grid[1] < 1 || pass->grid[1] > GRID_YZ_MAX, "plan: grid.y must be 1 to 65535"},
      {pass->grid[2] < 1 || pass->grid[2] > GRID_YZ_MAX, "plan: grid.z must be 1 to 65535"},
      {threads < 1 || threads > most, "plan: the threads of a block must be 1 to the device's threads_per_block"},
      {product_of(pass->cluster, 16) - 1 >= 16, "plan: a cluster must have 1 to 16 blocks"},
      {product_of(pass->cluster, 16) > 1 && device->cc_major < 9,
       "plan: a cluster needs compute capability 9.0; supports must refuse this device"},
      {pass_splits_cluster(pass), "plan: the grid must be a multiple of the cluster on every axis"},
      {pass->dynamic_smem_bytes > device->smem_per_block_bytes,
       "plan: dynamic_smem_bytes is above the device's smem_per_block_bytes; supports must refuse this shape"},
      {(uint64_t)pass->row_threads + pass->producer_threads > threads,
       "plan: row_threads and producer_threads together must be at most the threads of a block"},
      {((pass->covers[0] | pass->covers[1] | pass->covers[2]) & ~(unsigned)COVERS_ALL) != 0 && !pass_is_unknown(pass),
       "plan: covers holds bits of enum attn_cover"},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    if (rules[i].broken) return rules[i].sentence;
  }
  return NULL;
}

const char *plugin_plan_problem(const struct attn_variant *variant, const struct attn_plan *plan,
                                const struct device_info *device) {
  const bool launches = device->kind == DEVICE_CUDA && variant->vendor == NULL;
  if (plan->pass_count > ATTN_PASSES_MAX) return "plan: pass_count must be at most 4";
  if (plan->picked != NULL || plan->picked_by != NULL) return "plan: picked and picked_by must be NULL";
  if (launches != (plan->pass_count > 0))
    return launches ? "plan: pass_count is 0; a CUDA variant launches at least one pass, or has a vendor that does"
           : variant->vendor != NULL ? "plan: pass_count must be 0 beside vendor, whose library chooses the launches"
                                     : "plan: pass_count must be 0 in a CPU variant";
  const bool is_described = launches && !pass_is_unknown(&plan->pass[0]);
  if (is_described && (plan->tile_q < 1 || plan->tile_kv < 1 || plan->splits < 1 || plan->stages < 1))
    return "plan: tile_q, tile_kv, splits and stages must be at least 1";
  uint32_t row_threads = 0;
  for (uint32_t i = 0; i < plan->pass_count; ++i) {
    const char *problem = pass_problem(&plan->pass[i], device);
    if (problem != NULL) return problem;
    row_threads |= plan->pass[i].row_threads;
    for (uint32_t j = 0; j < i; ++j) {
      if (strcmp(plan->pass[i].name, plan->pass[j].name) == 0) return "plan: two passes have one name";
    }
  }
  if (is_described && row_threads == 0)
    return "plan: row_threads is 0 in every pass; some pass must work on query rows";
  return NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

static struct plugin {
  char path[4096];
  const void *symbol; /* attn_plugin, which lies in the object */
  const void *(*launch_handle)(const void *kernel);
} plugins[ATTN_PLUGINS_MAX];
static size_t plugin_count;

/* Variants of objects, as structs of today. */
static struct loaded {
  struct attn_variant variant;
  struct attn_vendor vendor;
  const struct plugin *plugin;
} loaded[ATTN_PLUGIN_VARIANTS_MAX];
static uint32_t loaded_count;

static struct status plugin_open(const char *path, const struct attn_plugin **out) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == NULL)
    return status_make(STATUS_USAGE,
                       "--load %s: cannot be opened as a shared object: %s; give one that was built on this system "
                       "with -shared, with the libraries that it needs in reach (kernels/example/README.md)",
                       path, dlerror());
  *out = dlsym(object, ATTN_PLUGIN_SYMBOL);
  if (*out != NULL) return status_ok();
  return status_make(STATUS_USAGE,
                     "--load %s: exports no symbol " ATTN_PLUGIN_SYMBOL
                     "; end its source with ATTN_PLUGIN(...) of "
                     "kernels/plugin.h",
                     path);
}

/* The object's variant in the next free place. */
static struct attn_variant variant_of_today(const struct description *plugin, uint32_t index, uint32_t slot) {
  struct attn_variant variant = {.name = NULL};
  if (plugin->abi == PLUGIN_V5) return plugin_v5_variant(plugin->variants[index], slot);
  memcpy(&variant, plugin->variants[index], plugin->bytes[ATTN_PLUGIN_STRUCT_attn_variant]);
  if (variant.vendor == NULL) return variant;
  loaded[slot].vendor = (struct attn_vendor){.missing = NULL};
  memcpy(&loaded[slot].vendor, variant.vendor, plugin->bytes[ATTN_PLUGIN_STRUCT_attn_vendor]);
  variant.vendor = &loaded[slot].vendor;
  return variant;
}

static bool is_loaded_before(const char *name, uint32_t slot) {
  for (uint32_t i = loaded_count; i < slot; ++i) {
    if (strcmp(loaded[i].variant.name, name) == 0) return true;
  }
  return variant_find(name) != NULL;
}

/* All of them before the first is added, so that a bad one leaves the registry as it was. */
static struct status take_variants(const char *path, const struct description *plugin) {
  if (loaded_count + plugin->variant_count > ATTN_PLUGIN_VARIANTS_MAX)
    return status_make(STATUS_USAGE, "--load %s: more than %d variants would be loaded; load fewer objects", path,
                       ATTN_PLUGIN_VARIANTS_MAX);
  for (uint32_t i = 0; i < plugin->variant_count; ++i) {
    const uint32_t slot = loaded_count + i;
    if (plugin->variants[i] == NULL) return plugin_check_variant(path, NULL);
    loaded[slot].variant = variant_of_today(plugin, i, slot);
    TRY(plugin_check_variant(path, &loaded[slot].variant));
    if (!is_loaded_before(loaded[slot].variant.name, slot)) continue;
    return status_make(STATUS_USAGE, "--load %s: there is a variant %s already; rename it in the object", path,
                       loaded[slot].variant.name);
  }
  return status_ok();
}

static void add_variants(const struct description *plugin, const struct plugin *owner) {
  for (uint32_t i = 0; i < plugin->variant_count; ++i) {
    struct loaded *one = &loaded[loaded_count++];
    one->plugin = owner;
    variant_add(&one->variant); /* its name was found free, and there is room */
  }
}

struct status plugin_load(const char *path) {
  const struct attn_plugin *symbol = NULL;
  if (plugin_count == ATTN_PLUGINS_MAX)
    return status_make(STATUS_USAGE, "--load %s: more than %d objects; load fewer", path, ATTN_PLUGINS_MAX);
  TRY(plugin_open(path, &symbol));
  const struct description description = describe(symbol);
  TRY(check_description(path, &description));
  TRY(take_variants(path, &description));
  struct plugin *plugin = &plugins[plugin_count++];
  snprintf(plugin->path, sizeof plugin->path, "%s", path);
  plugin->symbol = symbol;
  plugin->launch_handle = description.launch_handle;
  add_variants(&description, plugin);
  return status_ok();
}

/* ---- launching ----------------------------------------------------------------------------------------------- */

static const struct plugin *plugin_of(const struct attn_variant *variant) {
  for (uint32_t i = 0; i < loaded_count; ++i) {
    if (&loaded[i].variant == variant) return loaded[i].plugin;
  }
  return NULL;
}

/* A kernel that the dynamic linker took from elsewhere would be measured under the wrong name. */
static bool plugin_owns(const struct plugin *plugin, const void *kernel) {
  Dl_info of_kernel, of_plugin;
  return dladdr(kernel, &of_kernel) != 0 && dladdr(plugin->symbol, &of_plugin) != 0 &&
         of_kernel.dli_fbase == of_plugin.dli_fbase;
}

struct status plugin_launch_handle(const struct attn_variant *variant, const struct attn_pass *pass,
                                   const void **handle) {
  const struct plugin *plugin = plugin_of(variant);
  *handle = pass->kernel;
  if (plugin == NULL) return status_ok();
  const char *problem = NULL;
  if (variant->bind == NULL || pass->kernel == NULL) {
    problem = "has no GPU code; build the object with nvcc";
  } else if (!plugin_owns(plugin, pass->kernel)) {
    problem = "has a kernel that the linker took from elsewhere; link the object with -Wl,-Bsymbolic";
  } else if (plugin->launch_handle == NULL) {
    problem = "cannot be launched: the object's launch_handle is NULL; give ATTN_PLUGIN_LAUNCH_HANDLE";
  } else if ((*handle = plugin->launch_handle(pass->kernel)) == NULL) {
    problem = "has a kernel that its CUDA runtime cannot load; build the object for this GPU";
  }
  if (problem == NULL) return status_ok();
  return status_make(STATUS_DEVICE, "%s: pass %s of %s %s", plugin->path, pass->name, variant->name, problem);
}
