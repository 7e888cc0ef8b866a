/* Libraries that launch their own kernels (struct attn_vendor) as variants. They launch kernels of their own, so what
 * is reported is read back from one captured launch: the same graph nodes that a hot sample replays.
 *
 * Such kernels belong to modules that the CUDA runtime does not know, hence the driver's calls. They are looked up in
 * libcuda, which the runtime has loaded already: nothing links to it, and a driver without one of them costs the
 * facts, never the row. */
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "kernels/cuda/backend.cuh"
#include "kernels/plugin_load.h"

namespace attn {

namespace {

/* ---- the driver's calls -------------------------------------------------------------------------------------- */

struct driver_calls {
  decltype(&cuGraphKernelNodeGetParams) node_params;
  decltype(&cuGraphKernelNodeGetAttribute) node_attribute;
  decltype(&cuKernelGetFunction) function_of;
  decltype(&cuFuncGetAttribute) attribute;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) resident_blocks;
  CUresult (*name_of)(const char **, CUfunction); /* CUDA 12.3; NULL before */
};

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_driver_calls(struct driver_calls *d) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  find(library, "cuFuncGetName", &d->name_of);
  return find(library, "cuGraphKernelNodeGetParams_v2", &d->node_params) &&
         find(library, "cuGraphKernelNodeGetAttribute", &d->node_attribute) &&
         find(library, "cuKernelGetFunction", &d->function_of) &&
         find(library, "cuFuncGetAttribute", &d->attribute) &&
         find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &d->resident_blocks);
}

/* ---- one kernel node as a pass ------------------------------------------------------------------------------- */

void write_geometry(const struct driver_calls *d, cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS &params,
                    struct attn_pass *pass) {
  const uint32_t grid[3] = {params.gridDimX, params.gridDimY, params.gridDimZ};
  const uint32_t block[3] = {params.blockDimX, params.blockDimY, params.blockDimZ};
  CUkernelNodeAttrValue cluster = {};
  pass->dynamic_smem_bytes = params.sharedMemBytes;
  const bool known = d->node_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster) == CUDA_SUCCESS;
  const uint32_t clusters[3] = {cluster.clusterDim.x, cluster.clusterDim.y, cluster.clusterDim.z};
  for (int axis = 0; axis < 3; ++axis) {
    pass->grid[axis] = grid[axis];
    pass->block[axis] = block[axis];
    pass->cluster[axis] = known && clusters[axis] > 0 ? clusters[axis] : 1;
    pass->covers[axis] = ATTN_COVERS_UNKNOWN;
  }
}

uint32_t attribute_of(const struct driver_calls *d, CUfunction function, CUfunction_attribute which) {
  int value = 0;
  return d->attribute(&value, which, function) == CUDA_SUCCESS ? static_cast<uint32_t>(value) : 0;
}

void write_facts(const struct driver_calls *d, CUfunction function, const struct attn_pass *pass,
                 struct pass_facts *facts) {
  const char *symbol = nullptr;
  int resident_blocks = 0;
  const int threads = static_cast<int>(pass->block[0] * pass->block[1] * pass->block[2]);
  if (d->name_of != nullptr && d->name_of(&symbol, function) == CUDA_SUCCESS && symbol != nullptr) {
    write_demangled(symbol, facts->kernel_name, sizeof facts->kernel_name);
  }
  facts->registers = attribute_of(d, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  facts->static_smem_bytes = attribute_of(d, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  facts->local_bytes = attribute_of(d, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  if (d->resident_blocks(&resident_blocks, function, threads, pass->dynamic_smem_bytes) == CUDA_SUCCESS) {
    facts->resident_blocks = static_cast<uint32_t>(resident_blocks);
  }
}

bool node_is(cudaGraphNode_t node, enum cudaGraphNodeType wanted) {
  enum cudaGraphNodeType type;
  return cudaGraphNodeGetType(node, &type) == cudaSuccess && type == wanted;
}

/* False for what is no kernel, or one that the driver does not describe. */
bool read_node(const struct driver_calls *d, cudaGraphNode_t node, struct attn_pass *pass, struct pass_facts *facts) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  if (!node_is(node, cudaGraphNodeTypeKernel)) return false;
  if (d->node_params(node, &params) != CUDA_SUCCESS) return false;
  CUfunction function = params.func;
  if (function == nullptr && d->function_of(&function, params.kern) != CUDA_SUCCESS) return false;
  write_geometry(d, node, params, pass);
  write_facts(d, function, pass, facts);
  return true;
}

void count_memset(cudaGraphNode_t node, struct attn_launched *launched) {
  cudaMemsetParams params = {};
  if (!node_is(node, cudaGraphNodeTypeMemset)) return;
  ++launched->memsets;
  if (cudaGraphMemsetNodeGetParams(node, &params) == cudaSuccess)
    launched->memset_bytes += uint64_t{params.elementSize} * params.width * params.height;
}

void read_nodes(cudaGraph_t graph, const char *library, struct attn_plan *plan, struct pass_facts *facts) {
  struct driver_calls d = {};
  size_t count = 0;
  if (!find_driver_calls(&d) || cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess) return;
  std::vector<cudaGraphNode_t> nodes(count);
  if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return;
  for (const cudaGraphNode_t node : nodes) {
    const uint32_t pass = plan->pass_count;
    count_memset(node, &plan->launched);
    if (pass == ATTN_PASSES_MAX) {
      plan->launched.more_kernels += node_is(node, cudaGraphNodeTypeKernel);
    } else if (read_node(&d, node, &plan->pass[pass], &facts[pass])) {
      plan->pass[pass].name = library != nullptr ? library : "library";
      ++plan->pass_count;
    }
  }
}

}  // namespace

struct status vendor_open(struct cuda_bench *p, const struct attn_vendor *vendor, struct attn_plan *plan) {
  const struct status opened = vendor->open(&p->base.shape, &plan->tuning, &p->base.device->info, stream_of(p),
                                            &p->bound.vendor_state, &plan->workspace_bytes);
  if (status_failed(&opened)) p->bound.vendor_state = nullptr; /* there is nothing to close */
  return plugin_status(&opened);
}

namespace {

/* ---- libraries with outputs of their own (attn_vendor.collect) ------------------------------------------------- */

constexpr int kSetUpLaunches = 3; /* compilers, tuners and allocators settle */

struct status call_library(struct cuda_bench *p) {
  const struct status enqueued = p->base.variant->vendor->enqueue(p->bound.vendor_state);
  return plugin_status(&enqueued);
}

/* Whatever stream its launches are on. */
struct status call_and_wait(struct cuda_bench *p) {
  TRY(call_library(p));
  CUDA_TRY(cudaDeviceSynchronize());
  return status_ok();
}

/* Puts the captured launch behind what the stream captures. */
struct status add_to_capture(cudaStream_t stream, cudaGraph_t launch) {
  enum cudaStreamCaptureStatus capturing;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t *before = nullptr;
  cudaGraphNode_t node;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData *edges = nullptr;
  CUDA_TRY(cudaStreamGetCaptureInfo(stream, &capturing, nullptr, &graph, &before, &edges, &count));
  CUDA_TRY(cudaGraphAddChildGraphNode(&node, graph, before, count, launch));
  CUDA_TRY(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
#else
  CUDA_TRY(cudaStreamGetCaptureInfo_v2(stream, &capturing, nullptr, &graph, &before, &count));
  CUDA_TRY(cudaGraphAddChildGraphNode(&node, graph, before, count, launch));
  CUDA_TRY(cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies));
#endif
  return status_ok();
}

/* What the library launches on other streams is not in the graph. */
struct status require_launches(cudaGraph_t graph) {
  size_t count = 0;
  CUDA_TRY(cudaGraphGetNodes(graph, nullptr, &count));
  return count > 0 ? status_ok() : status_make(STATUS_UNSUPPORTED, "it launched nothing on the current stream");
}

struct status capture_library(struct cuda_bench *p) {
  TRY(capture_launches(p, 1, call_library, &p->bound.captured));
  TRY(require_launches(p->bound.captured));
  CUDA_TRY(cudaGraphInstantiate(&p->bound.captured_exec, p->bound.captured, 0));
  CUDA_TRY(cudaGraphUpload(p->bound.captured_exec, stream_of(p)));
  return status_ok();
}

void drop_capture(struct cuda_bench *p) {
  if (p->bound.captured_exec != nullptr) cudaGraphExecDestroy(p->bound.captured_exec);
  if (p->bound.captured != nullptr) cudaGraphDestroy(p->bound.captured);
  p->bound.captured_exec = nullptr;
  p->bound.captured = nullptr;
}

/* Where it cannot be captured the bench says why, and the library is called for each launch. */
struct status settle_library(struct cuda_bench *p) {
  for (int i = 0; i < kSetUpLaunches; ++i) TRY(call_and_wait(p));
  const struct status captured = capture_library(p);
  if (!status_failed(&captured)) return status_ok();
  drop_capture(p);
  cudaGetLastError();
  p->bound.is_synchronous = true;
  snprintf(p->base.uncaptured, sizeof p->base.uncaptured, "%.*s", static_cast<int>(sizeof p->base.uncaptured) - 1,
           captured.text);
  return call_and_wait(p);
}

}  // namespace

struct status vendor_enqueue(struct cuda_bench *p) {
  enum cudaStreamCaptureStatus capturing;
  if (p->bound.is_synchronous) return call_and_wait(p);
  if (p->bound.captured == nullptr) return call_library(p);
  CUDA_TRY(cudaStreamIsCapturing(stream_of(p), &capturing));
  if (capturing == cudaStreamCaptureStatusActive) return add_to_capture(stream_of(p), p->bound.captured);
  CUDA_TRY(cudaGraphLaunch(p->bound.captured_exec, stream_of(p)));
  return status_ok();
}

struct status vendor_collect(struct cuda_bench *p) {
  const struct attn_vendor *vendor = p->base.variant->vendor;
  if (vendor == nullptr || vendor->collect == nullptr) return status_ok();
  const struct status collected = vendor->collect(p->bound.vendor_state);
  return plugin_status(&collected);
}

void vendor_close(struct cuda_bench *p) {
  drop_capture(p);
  if (p->bound.vendor_state != nullptr) p->base.variant->vendor->close(p->bound.vendor_state);
}

/* The first launch is a plain one: it may load modules, which has no place in a capture or behind the blocker. */
struct status vendor_attach(struct cuda_bench *p, const struct attn_vendor *vendor,
                            const struct attn_buffers *buffers, struct attn_plan *plan, struct pass_facts *facts) {
  const bool keeps_outputs = vendor->collect != nullptr;
  cudaGraph_t graph = nullptr;
  const struct status attached = vendor->attach(p->bound.vendor_state, buffers);
  TRY(plugin_status(&attached));
  if (keeps_outputs) {
    TRY(settle_library(p));
  } else {
    TRY(enqueue_plan(p));
    CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
    TRY(capture_launches(p, 1, enqueue_plan, &graph));
  }
  const cudaGraph_t launch = keeps_outputs ? p->bound.captured : graph;
  if (launch != nullptr) read_nodes(launch, vendor->library(), plan, facts);
  for (uint32_t i = 0; i < plan->pass_count && vendor->choice != nullptr; ++i)
    vendor->choice(p->bound.vendor_state, &facts[i].choice, &facts[i].choices);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError(); /* a fact that could not be read is no error */
  return status_ok();
}

}  // namespace attn
