/* Machine code runs on later minor versions of the compute capability that it was compiled for. */
#include "kernels/machine_code.h"

#include <inttypes.h>
#include <stdio.h>

bool machine_code_is_missing(const uint32_t *archs, const struct device_info *device,
                             char note[MACHINE_CODE_NOTE_MAX]) {
  const uint32_t here = 100 * device->cc_major + 10 * device->cc_minor;
  note[0] = '\0';
  if (device->kind != DEVICE_CUDA) return false;
  for (const uint32_t *arch = archs; *arch != 0; ++arch) {
    if (*arch / 100 == device->cc_major && *arch <= here) return false;
  }
  snprintf(note, MACHINE_CODE_NOTE_MAX,
           "this program has no machine code for compute capability %" PRIu32 ".%" PRIu32
           ": the driver compiles its kernels from PTX first, which takes minutes once and is then kept "
           "(CUDA_CACHE_PATH says where); `make GENCODE=native` on this machine builds it in",
           device->cc_major, device->cc_minor);
  return true;
}
