/* What profilers are told: when to capture, and NVTX ranges in the domain "attnbench". nsys filters ranges by
 * registered strings only, so every name is registered once; names repeat for every cell, so the table stays small.
 */
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <string>

#include "kernels/cuda/backend.cuh"

namespace attn {

namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("attnbench");
  return handle;
}

nvtxStringHandle_t registered(const char *name) {
  static std::map<std::string, nvtxStringHandle_t> names;
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return names[name] = nvtxDomainRegisterStringA(domain(), name);
}

}  // namespace

void range_push(struct device *, const char *name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(name);
  nvtxDomainRangePushEx(domain(), &attributes);
}

void range_pop(struct device *) { nvtxDomainRangePop(domain()); }

/* Nothing may still run when a capture begins, or it would be in it. */
struct status profile_start(struct device *) {
  CUDA_TRY(cudaDeviceSynchronize());
  CUDA_TRY(cudaProfilerStart());
  return status_ok();
}

struct status profile_stop(struct device *) {
  CUDA_TRY(cudaProfilerStop());
  return status_ok();
}

}  // namespace attn
