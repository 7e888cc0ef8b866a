/* device.h over the CUDA runtime: opening, what the device is, benches, binding, launching. */
#include <cxxabi.h>
#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/cuda/backend.cuh"
#include "kernels/gpu_models.h"
#include "kernels/kernel_resources.h"
#include "kernels/plugin_load.h"

namespace attn {

struct status cuda_status(cudaError_t error, const char *call, const char *file, int line) {
  cudaGetLastError();
  const bool no_memory = error == cudaErrorMemoryAllocation;
  return status_make(no_memory ? STATUS_MEMORY : STATUS_DEVICE, "%s: %s (%s:%d: %s)", cudaGetErrorName(error),
                     cudaGetErrorString(error), file, line, call);
}

namespace {

/* ---- what the device is --------------------------------------------------------------------------------------- */

struct status attribute(int ordinal, enum cudaDeviceAttr which, uint32_t *out) {
  int value = 0;
  CUDA_TRY(cudaDeviceGetAttribute(&value, which, ordinal));
  *out = static_cast<uint32_t>(value);
  return status_ok();
}

struct status read_attributes(int ordinal, struct device_info *info) {
  uint32_t clock_khz = 0, memory_clock_khz = 0, bus_bits = 0, l2_bytes = 0;
  const struct {
    enum cudaDeviceAttr which;
    uint32_t *out;
  } wanted[] = {
      {cudaDevAttrComputeCapabilityMajor, &info->cc_major},
      {cudaDevAttrComputeCapabilityMinor, &info->cc_minor},
      {cudaDevAttrMultiProcessorCount, &info->sms},
      {cudaDevAttrMaxThreadsPerMultiProcessor, &info->threads_per_sm},
      {cudaDevAttrMaxBlocksPerMultiprocessor, &info->blocks_per_sm},
      {cudaDevAttrMaxRegistersPerMultiprocessor, &info->regs_per_sm},
      {cudaDevAttrMaxThreadsPerBlock, &info->threads_per_block},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &info->smem_per_sm_bytes},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &info->smem_per_block_bytes},
      {cudaDevAttrReservedSharedMemoryPerBlock, &info->smem_reserved_bytes},
      {cudaDevAttrL2CacheSize, &l2_bytes},
      {cudaDevAttrClockRate, &clock_khz},
      {cudaDevAttrMemoryClockRate, &memory_clock_khz},
      {cudaDevAttrGlobalMemoryBusWidth, &bus_bits},
  };
  for (const auto &w : wanted) TRY(attribute(ordinal, w.which, w.out));
  info->l2_bytes = l2_bytes;
  info->sm_clock_max_mhz = clock_khz * 1e-3;
  info->dram_gb_per_s = 2.0 * memory_clock_khz * 1e3 * bus_bits / 8 * 1e-9; /* two transfers per clock */
  gpu_model_rates(info, &info->tensor_flop_per_clk_sm, &info->fp32_flop_per_clk_sm);
  return status_ok();
}

void write_uuid(const cudaUUID_t &uuid, char *out, size_t size) {
  const unsigned char *b = reinterpret_cast<const unsigned char *>(uuid.bytes);
  snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

struct status read_info(struct cuda_device *d) {
  struct device_info *info = &d->base.info;
  cudaDeviceProp properties;
  char pci_bus_id[32] = "";
  int driver = 0, runtime = 0;
  info->kind = DEVICE_CUDA;
  CUDA_TRY(cudaGetDeviceProperties(&properties, d->ordinal));
  snprintf(info->name, sizeof info->name, "%.*s", static_cast<int>(sizeof info->name) - 1, properties.name);
  write_uuid(properties.uuid, info->uuid, sizeof info->uuid);
  info->memory_bytes = properties.totalGlobalMem;
  TRY(read_attributes(d->ordinal, info));
  CUDA_TRY(cudaDriverGetVersion(&driver));
  CUDA_TRY(cudaRuntimeGetVersion(&runtime));
  info->driver_version = static_cast<uint32_t>(driver);
  info->runtime_version = static_cast<uint32_t>(runtime);
  CUDA_TRY(cudaDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, d->ordinal));
  d->nvml = nvml_open(pci_bus_id);
  nvml_driver_version(d->nvml, info->driver, sizeof info->driver);
  return status_ok();
}

/* ---- device --------------------------------------------------------------------------------------------------- */

void close_device(struct device *device) {
  struct cuda_device *d = as_cuda(device);
  timer_close(&d->timer);
  nvml_close(d->nvml);
  if (d->stream != nullptr) cudaStreamDestroy(d->stream);
  delete d;
}

uint32_t count_devices(const struct device *) {
  int count = 1;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? static_cast<uint32_t>(count) : 1;
}

uint64_t memory_free(const struct device *) {
  size_t free_bytes = 0, total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) return free_bytes;
  cudaGetLastError();
  return UINT64_MAX; /* unknown: the next call that needs the device says why */
}

void health_read(struct device *device, struct device_health *out) { nvml_read(as_cuda(device)->nvml, out); }

double energy_j(struct device *device) { return nvml_energy_j(as_cuda(device)->nvml); }

void policy_read(struct device *device, struct device_policy *out) { nvml_policy(as_cuda(device)->nvml, out); }

/* ---- bench ---------------------------------------------------------------------------------------------------- */

/* The workspace of the binding in use stands among the tensors, so that poison and guard see it. */
void swap_bench(struct bench *bench) {
  struct cuda_bench *p = as_cuda(bench);
  p->bound.workspace = p->block[BENCH_WORKSPACE];
  p->bound.workspace_bytes = p->bytes[BENCH_WORKSPACE];
  std::swap(p->bound, p->inactive);
  p->swapped = !p->swapped;
  p->block[BENCH_WORKSPACE] = p->bound.workspace;
  p->bytes[BENCH_WORKSPACE] = p->bound.workspace_bytes;
}

/* Leaves the bench without a variant. */
void drop_binding(struct cuda_bench *p) {
  if (p->bound.graph != nullptr) cudaGraphExecDestroy(p->bound.graph);
  vendor_close(p);
  for (void *image : p->bound.image) image_close(image);
  for (void *output : p->bound.verified) cudaFree(output);
  cudaFree(p->block[BENCH_WORKSPACE]);
  p->block[BENCH_WORKSPACE] = nullptr;
  p->bytes[BENCH_WORKSPACE] = 0;
  p->bound = {};
  p->base.variant = nullptr;
}

void close_bench(struct bench *bench) {
  struct cuda_bench *p = as_cuda(bench);
  drop_binding(p);
  bench_swap(bench);
  drop_binding(p);
  for (unsigned char *block : p->block) cudaFree(block);
  drop_references(p);
  cudaFree(p->witness);
  cudaFree(p->partials);
  cudaFree(p->counters);
  delete p;
}

struct status allocate_block(struct cuda_bench *p, unsigned t, uint64_t bytes) {
  if (bench_block_bytes(bytes) == 0)
    return status_make(STATUS_MEMORY, "%" PRIu64 " bytes cannot be allocated", bytes);
  p->bytes[t] = bytes;
  CUDA_TRY(cudaMalloc(&p->block[t], bench_block_bytes(bytes)));
  return fill_redzones(p, t);
}

struct status fill_bench(struct cuda_bench *p) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (attn_tensor_of(&p->base.shape, static_cast<enum attn_role>(role), &tensor) && tensor.memory == tensor.role)
      TRY(allocate_block(p, role, attn_tensor_bytes(&tensor)));
  }
  CUDA_TRY(cudaMalloc(&p->partials, COMPARE_BLOCKS * sizeof *p->partials));
  CUDA_TRY(cudaMalloc(&p->counters, kCounters * sizeof *p->counters));
  CUDA_TRY(cudaMalloc(&p->witness, 2 * sizeof *p->witness));
  CUDA_TRY(cudaMemsetAsync(p->witness, 0, 2 * sizeof *p->witness, stream_of(p)));
  TRY(fill_inputs(p));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

struct status open_bench(struct device *device, const struct attn_problem *shape, uint64_t seed, struct bench **out) {
  struct cuda_bench *p = new (std::nothrow) cuda_bench();
  if (p == nullptr) return status_make(STATUS_MEMORY, "no host memory for a problem");
  p->base.device = device;
  p->base.shape = *shape;
  p->base.inputs.problem = *shape;
  p->base.inputs.seed = seed;
  const struct status status = fill_bench(p);
  if (status_failed(&status)) {
    close_bench(&p->base);
    return status;
  }
  *out = &p->base;
  return status;
}

/* ---- binding and launching ------------------------------------------------------------------------------------ */

/* The symbol behind a plan's kernel: the host stub has the kernel's own mangled name. "" when it is not exported. */
const char *kernel_symbol(const void *kernel) {
  Dl_info info;
  return kernel != nullptr && dladdr(kernel, &info) != 0 && info.dli_sname != nullptr && info.dli_saddr == kernel
             ? info.dli_sname
             : "";
}

/* A loaded object may have a kernel of the same name, with registers of its own. */
bool is_built_in(const void *kernel) {
  Dl_info of_kernel, of_this;
  return dladdr(kernel, &of_kernel) != 0 &&
         dladdr(reinterpret_cast<const void *>(&device_cuda_open), &of_this) != 0 &&
         of_kernel.dli_fbase == of_this.dli_fbase;
}

/* The runtime knows what the dynamic linker was not told: kernels that an object keeps to itself. */
const char *runtime_symbol(const void *handle) {
#if CUDART_VERSION >= 12030
  const char *name = nullptr;
  if (cudaFuncGetName(&name, handle) == cudaSuccess && name != nullptr) return name;
  cudaGetLastError();
#else
  (void)handle;
#endif
  return "";
}

uint32_t cluster_blocks(const struct attn_pass *pass) {
  return pass->cluster[0] * pass->cluster[1] * pass->cluster[2];
}

enum { LAUNCH_ATTRIBUTES_MAX = 2 };

/* `attributes` has room for LAUNCH_ATTRIBUTES_MAX, to which the configuration refers. */
cudaLaunchConfig_t launch_config(const struct attn_pass *pass, cudaStream_t stream, bool early,
                                 cudaLaunchAttribute *attributes) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(pass->grid[0], pass->grid[1], pass->grid[2]);
  config.blockDim = dim3(pass->block[0], pass->block[1], pass->block[2]);
  config.dynamicSmemBytes = pass->dynamic_smem_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (cluster_blocks(pass) > 1) {
    cudaLaunchAttribute *cluster = &attributes[config.numAttrs++];
    cluster->id = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = pass->cluster[0];
    cluster->val.clusterDim.y = pass->cluster[1];
    cluster->val.clusterDim.z = pass->cluster[2];
  }
  if (early) {
    cudaLaunchAttribute *ahead = &attributes[config.numAttrs++];
    ahead->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    ahead->val.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

/* Whether a pass is launched ahead of the end of the one before it: the same launch's, so never the first. */
bool starts_early(const struct cuda_bench *p, uint32_t index) {
  return index > 0 && p->base.plan.pass[index].early_start && launches_ahead(&p->base.device->info);
}

/* More than 8 blocks in a cluster are not portable, and even 8 need as many SMs that lie together. */
struct status prepare_cluster(const struct attn_pass *pass, const void *handle) {
  constexpr uint32_t kPortable = 8;
  int clusters = 0;
  cudaLaunchAttribute attributes[LAUNCH_ATTRIBUTES_MAX] = {};
  const cudaLaunchConfig_t config = launch_config(pass, nullptr, false, attributes);
  if (cluster_blocks(pass) > kPortable)
    CUDA_TRY(cudaFuncSetAttribute(handle, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA_TRY(cudaOccupancyMaxActiveClusters(&clusters, handle, &config));
  if (clusters > 0) return status_ok();
  return status_make(STATUS_UNSUPPORTED,
                     "this GPU has no room for a cluster of %u blocks with %u bytes of shared memory each",
                     cluster_blocks(pass), pass->dynamic_smem_bytes);
}

struct status prepare_pass(const struct attn_pass *pass, const void *handle, struct pass_facts *facts) {
  cudaFuncAttributes attributes;
  int resident_blocks = 0;
  const char *symbol = kernel_symbol(pass->kernel);
  CUDA_TRY(cudaFuncGetAttributes(&attributes, handle));
  /* Never lowered: another binding of the same kernel may need more. */
  if (static_cast<int64_t>(pass->dynamic_smem_bytes) > attributes.maxDynamicSharedSizeBytes) {
    CUDA_TRY(cudaFuncSetAttribute(handle, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(pass->dynamic_smem_bytes)));
  }
  if (cluster_blocks(pass) > 1) TRY(prepare_cluster(pass, handle));
  CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident_blocks, handle, static_cast<int>(pass->block[0] * pass->block[1] * pass->block[2]),
      pass->dynamic_smem_bytes));
  write_demangled(symbol[0] != '\0' ? symbol : runtime_symbol(handle), facts->kernel_name, sizeof facts->kernel_name);
  facts->registers = static_cast<uint32_t>(attributes.numRegs);
  facts->static_smem_bytes = static_cast<uint32_t>(attributes.sharedSizeBytes);
  facts->local_bytes = static_cast<uint32_t>(attributes.localSizeBytes);
  facts->resident_blocks = static_cast<uint32_t>(resident_blocks);
  return status_ok();
}

struct status bind_kernels(struct cuda_bench *p, const struct attn_variant *variant, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, struct pass_facts *facts) {
  for (uint32_t i = 0; i < plan->pass_count; ++i) {
    const struct attn_pass *pass = &plan->pass[i];
    TRY(pass->image != nullptr ? image_open(pass->image, &p->bound.image[i], &p->bound.handle[i])
                               : plugin_launch_handle(variant, pass, &p->bound.handle[i]));
    TRY(prepare_pass(&plan->pass[i], p->bound.handle[i], &facts[i]));
  }
  const struct status bound = variant->bind(&p->base.shape, plan, buffers, p->bound.args);
  return plugin_status(&bound);
}

struct status bind_dropped(struct cuda_bench *p, const struct attn_variant *variant, struct attn_plan *plan,
                           struct pass_facts *facts) {
  const struct attn_vendor *vendor = variant->vendor;
  if (vendor != nullptr) TRY(vendor_open(p, vendor, plan));
  p->base.variant = variant; /* from here on drop_binding can close what was opened */
  if (plan->workspace_bytes > 0) TRY(allocate_block(p, BENCH_WORKSPACE, plan->workspace_bytes));
  if (bench_zeroed_bytes(plan) > 0)
    CUDA_TRY(cudaMemsetAsync(data_of(p, BENCH_WORKSPACE), 0, bench_zeroed_bytes(plan), stream_of(p)));
  struct attn_buffers buffers = {};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) buffers.tensor[role] = data_of(p, role);
  buffers.workspace = data_of(p, BENCH_WORKSPACE);
  TRY(vendor != nullptr ? vendor_attach(p, vendor, &buffers, plan, facts)
                        : bind_kernels(p, variant, plan, &buffers, facts));
  p->base.plan = *plan;
  return status_ok();
}

struct status bind_bench(struct bench *bench, const struct attn_variant *variant, struct attn_plan *plan,
                         struct pass_facts *facts) {
  struct cuda_bench *p = as_cuda(bench);
  drop_binding(p);
  const struct status status = bind_dropped(p, variant, plan, facts);
  if (status_failed(&status)) drop_binding(p);
  return status;
}

struct status launch_bench(struct bench *bench) {
  struct cuda_bench *p = as_cuda(bench);
  TRY(enqueue_plan(p));
  TRY(vendor_collect(p));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* A kernel with a host handle takes one struct. */
void list_arguments(const struct attn_image *image, unsigned char *bytes, void **arguments) {
  arguments[0] = bytes;
  for (uint32_t i = 0; image != nullptr && i < image->argument_count; ++i)
    arguments[i] = bytes + image->argument[i].offset;
}

const struct device_ops kOps = {
    .close = close_device,
    .count = count_devices,
    .memory_free = memory_free,
    .range_push = range_push,
    .range_pop = range_pop,
    .profile_start = profile_start,
    .profile_stop = profile_stop,
    .health_read = health_read,
    .energy_j = energy_j,
    .policy_read = policy_read,
    .bench_open = open_bench,
    .bench_close = close_bench,
    .fill = check_fill,
    .reference = check_reference,
    .bind = bind_bench,
    .swap = swap_bench,
    .poison = check_poison,
    .launch = launch_bench,
    .compare = check_compare,
    .guard = check_guard,
    .time_prepare = timer_prepare,
    .sample = timer_sample,
    .sample_changed = timer_sample_changed,
    .sample_memsets = timer_sample_memsets,
    .witness = check_witness,
    .sample_passes = timer_sample_passes,
    .selftest = selftest_run,
    .delay = timer_delay,
};

struct status open_device(struct cuda_device *d) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    return status_make(STATUS_NO_GPU, "no CUDA device on this machine (%s)", cudaGetErrorName(error));
  }
  if (d->ordinal >= count) {
    return status_make(STATUS_NO_GPU, "no CUDA device %d: this machine has %d, numbered from 0", d->ordinal, count);
  }
  CUDA_TRY(cudaSetDevice(d->ordinal));
  CUDA_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
  TRY(read_info(d));
  return timer_open(d);
}

}  // namespace

void write_demangled(const char *symbol, char *out, size_t size) {
  int failed = 0;
  char *demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &failed);
  snprintf(out, size, "%s", failed == 0 ? demangled : symbol);
  free(demangled);
}

struct status enqueue_pass(struct cuda_bench *p, uint32_t index, bool alone) {
  cudaLaunchAttribute attributes[LAUNCH_ATTRIBUTES_MAX] = {};
  const bool early = !alone && starts_early(p, index);
  const cudaLaunchConfig_t config = launch_config(&p->base.plan.pass[index], stream_of(p), early, attributes);
  void *arguments[ATTN_IMAGE_ARGUMENTS_MAX];
  list_arguments(p->base.plan.pass[index].image, p->bound.args[index].bytes, arguments);
  CUDA_TRY(cudaLaunchKernelExC(&config, p->bound.handle[index], arguments));
  return status_ok();
}

struct status enqueue_plan(struct cuda_bench *p) {
  if (p->base.variant->vendor != nullptr) return vendor_enqueue(p);
  for (uint32_t i = 0; i < p->base.plan.pass_count; ++i) TRY(enqueue_pass(p, i, false));
  return status_ok();
}

static struct status enqueue_times(struct cuda_bench *p, uint32_t launches,
                                   struct status (*enqueue)(struct cuda_bench *)) {
  for (uint32_t i = 0; i < launches; ++i) TRY(enqueue(p));
  return status_ok();
}

struct status capture_launches(struct cuda_bench *p, uint32_t launches, struct status (*enqueue)(struct cuda_bench *),
                               cudaGraph_t *out) {
  cudaGraph_t graph = nullptr;
  CUDA_TRY(cudaStreamBeginCapture(stream_of(p), cudaStreamCaptureModeThreadLocal));
  const struct status enqueued = enqueue_times(p, launches, enqueue);
  const cudaError_t ended = cudaStreamEndCapture(stream_of(p), &graph);
  if (!status_failed(&enqueued) && ended == cudaSuccess) {
    *out = graph;
    return status_ok();
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError(); /* a capture that a failure broke leaves an error of its own behind */
  TRY(enqueued);
  CUDA_TRY(ended);
  return status_ok();
}

}  // namespace attn

extern "C" struct status device_cuda_open(int ordinal, struct device **out) {
  struct attn::cuda_device *d = new (std::nothrow) attn::cuda_device();
  if (d == nullptr) return status_make(STATUS_MEMORY, "no host memory for the device");
  d->base.ops = &attn::kOps;
  d->ordinal = ordinal;
  const struct status status = attn::open_device(d);
  if (status_failed(&status)) {
    attn::close_device(&d->base);
    return status;
  }
  *out = &d->base;
  return status;
}

extern "C" const uint32_t *device_build_archs(void) {
  static const uint32_t archs[] = {
#include "machine_code.inc" /* by the build: PTX of one architecture becomes machine code of several */
      0};
  return archs;
}

extern "C" const char *device_build_cuda(void) {
  static char text[16];
  snprintf(text, sizeof text, "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  return text;
}

extern "C" bool device_static_facts(const struct attn_pass *pass, const struct device_info *device,
                                    struct pass_facts *out) {
  const char *symbol = attn::kernel_symbol(pass->kernel);
  if (pass->kernel == nullptr || !attn::is_built_in(pass->kernel)) return false;
  for (size_t i = 0; i < kernel_resource_count; ++i) {
    const struct kernel_resource *r = &kernel_resources[i];
    if (r->cc_major != device->cc_major || r->cc_minor != device->cc_minor || strcmp(r->symbol, symbol) != 0)
      continue;
    memset(out, 0, sizeof *out);
    attn::write_demangled(symbol, out->kernel_name, sizeof out->kernel_name);
    out->registers = r->registers;
    out->static_smem_bytes = r->static_smem_bytes;
    out->local_bytes = r->local_bytes;
    return true;
  }
  return false;
}
