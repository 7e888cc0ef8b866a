/* What stands in for backend.cu in a build without CUDA. */
#include "kernels/device_ops.h"

struct status device_cuda_open(int ordinal, struct device **out) {
  *out = NULL;
  return status_make(STATUS_NO_GPU,
                     "cuda:%d: this attnbench was built without CUDA; rebuild with `make CUDA=1` where nvcc is "
                     "installed, or use --device cpu",
                     ordinal);
}

const char *device_build_cuda(void) { return "none"; }

const uint32_t *device_build_archs(void) {
  static const uint32_t none[] = {0};
  return none;
}

struct status device_tensor_map_write(const struct device_tensor_map *map, void *out) {
  (void)map;
  (void)out;
  return status_make(STATUS_UNSUPPORTED, "this attnbench was built without CUDA and makes no tensor maps");
}

bool device_static_facts(const struct attn_pass *pass, const struct device_info *info, struct pass_facts *out) {
  (void)pass;
  (void)info;
  (void)out;
  return false;
}
