/* Kernels in files: cubins, fat binaries and PTX, loaded through the driver.
 *
 * A library that the driver loaded belongs to no runtime, and its kernels' handles are what every runtime since CUDA
 * 12.1 takes in the place of host handles. The driver's calls are looked up in libcuda, which the runtime has loaded
 * already: nothing links to it. */
#include <cuda.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cuda/backend.cuh"
#include "kernels/tiles/tensor_map.cuh"

namespace attn {

namespace {

constexpr long kFileBytesMax = 256l << 20;

struct library_calls {
  decltype(&cuLibraryLoadData) load;
  decltype(&cuLibraryUnload) unload;
  decltype(&cuLibraryGetKernel) kernel_of;
  decltype(&cuGetErrorString) error_text;
  CUresult (*argument)(CUkernel, size_t, size_t *, size_t *); /* CUDA 12.4; NULL before */
};

template <typename Function>
bool find_call(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_library_calls(struct library_calls *d) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  find_call(library, "cuKernelGetParamInfo", &d->argument);
  return find_call(library, "cuLibraryLoadData", &d->load) && find_call(library, "cuLibraryUnload", &d->unload) &&
         find_call(library, "cuLibraryGetKernel", &d->kernel_of) &&
         find_call(library, "cuGetErrorString", &d->error_text);
}

/* What cuTensorMapEncodeTiled takes: dimensions innermost first, strides in bytes of all but the innermost. */
struct encoding {
  cuuint64_t extent[DEVICE_TENSOR_MAP_DIMS_MAX], stride[DEVICE_TENSOR_MAP_DIMS_MAX];
  cuuint32_t box[DEVICE_TENSOR_MAP_DIMS_MAX], step[DEVICE_TENSOR_MAP_DIMS_MAX];
};

struct encoding encoding_of(const struct device_tensor_map *map) {
  struct encoding out = {};
  cuuint64_t bytes = attn_dtype_bytes(map->dtype);
  for (uint32_t i = 0; i < map->dims; ++i) {
    out.extent[i] = map->extent[map->dims - 1 - i];
    out.box[i] = map->box[map->dims - 1 - i];
    out.step[i] = 1;
    bytes *= out.extent[i];
    out.stride[i] = bytes;
  }
  return out;
}

CUtensorMapSwizzle swizzle_of(uint32_t bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

/* Whole, and with a NUL behind it: PTX is a text. */
struct status read_file(const char *path, std::vector<char> *out) {
  FILE *file = fopen(path, "rb");
  struct stat stat;
  if (file == nullptr) return status_make(STATUS_UNSUPPORTED, "%s: cannot be opened", path);
  const bool is_known = fstat(fileno(file), &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= kFileBytesMax;
  if (is_known) out->assign(static_cast<size_t>(stat.st_size) + 1, '\0');
  const bool is_read = is_known && fread(out->data(), 1, out->size() - 1, file) == out->size() - 1;
  fclose(file);
  if (is_read) return status_ok();
  return status_make(STATUS_UNSUPPORTED, "%s: is no file of at most %ld bytes that can be read", path, kFileBytesMax);
}

template <typename Number>
Number number_at(const std::vector<char> &code, uint64_t at) {
  Number out = 0;
  memcpy(&out, code.data() + at, sizeof out);
  return out;
}

/* The driver follows the section table of a cubin wherever it leads: a file that was cut short would crash it. */
bool is_cut_short(const std::vector<char> &code) {
  constexpr uint64_t kHeader = 64, kSection = 64, kNoBits = 8;
  const uint64_t size = code.size() - 1;
  if (size < 4 || memcmp(code.data(),
                         "\x7f"
                         "ELF",
                         4) != 0)
    return false;
  if (size < kHeader) return true;
  const auto table = number_at<uint64_t>(code, 0x28);
  const auto count = number_at<uint16_t>(code, 0x3c);
  if (table > size || count * kSection > size - table) return true;
  for (uint64_t section = table; section < table + count * kSection; section += kSection) {
    const auto offset = number_at<uint64_t>(code, section + 0x18), bytes = number_at<uint64_t>(code, section + 0x20);
    if (number_at<uint32_t>(code, section + 4) != kNoBits && (offset > size || bytes > size - offset)) return true;
  }
  return false;
}

const char *text_of(const struct library_calls *d, CUresult error) {
  const char *text = nullptr;
  return d->error_text(error, &text) == CUDA_SUCCESS && text != nullptr ? text : "unknown error";
}

struct status load_library(const struct library_calls *d, const char *path, CUlibrary *out) {
  std::vector<char> code;
  TRY(read_file(path, &code));
  if (is_cut_short(code)) return status_make(STATUS_UNSUPPORTED, "%s: is cut short; copy it again", path);
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  const CUresult loaded = d->load(out, code.data(), options, values, 2, nullptr, nullptr, 0);
  if (loaded == CUDA_SUCCESS) return status_ok();
  return status_make(STATUS_UNSUPPORTED, "%s: this GPU's driver cannot load it: %s%s%s; compile it for this GPU",
                     path, text_of(d, loaded), log[0] != '\0' ? ": " : "", log);
}

/* Arguments that the kernel does not have, or that are of another size, would be read from anywhere. */
struct status check_arguments(const struct library_calls *d, const struct attn_image *image, CUkernel kernel) {
  size_t offset = 0, bytes = 0;
  uint32_t count = 0;
  if (d->argument == nullptr) return status_ok();
  for (; d->argument(kernel, count, &offset, &bytes) == CUDA_SUCCESS; ++count) {
    if (count >= image->argument_count || image->argument[count].bytes == bytes) continue;
    return status_make(STATUS_UNSUPPORTED, "%s: argument %u of %s has %zu bytes, and it is described as one of %u",
                       image->path, count, image->entry, bytes, image->argument[count].bytes);
  }
  if (count == image->argument_count) return status_ok();
  return status_make(STATUS_UNSUPPORTED, "%s: %s takes %u arguments, and %u are described", image->path, image->entry,
                     count, image->argument_count);
}

struct status find_kernel(const struct library_calls *d, const struct attn_image *image, CUlibrary library,
                          const void **handle) {
  CUkernel kernel = nullptr;
  const CUresult found = d->kernel_of(&kernel, library, image->entry);
  if (found != CUDA_SUCCESS)
    return status_make(STATUS_UNSUPPORTED, "%s: has no kernel %s: %s", image->path, image->entry, text_of(d, found));
  *handle = kernel;
  return check_arguments(d, image, kernel);
}

}  // namespace

struct status image_open(const struct attn_image *image, void **library, const void **handle) {
  struct library_calls d = {};
  CUlibrary opened = nullptr;
  if (!find_library_calls(&d))
    return status_make(STATUS_UNSUPPORTED, "%s: the driver is older than CUDA 12.0 and loads no kernels from files",
                       image->path);
  TRY(load_library(&d, image->path, &opened));
  *library = opened;
  return find_kernel(&d, image, opened, handle);
}

void image_close(void *library) {
  struct library_calls d = {};
  if (library != nullptr && find_library_calls(&d)) d.unload(static_cast<CUlibrary>(library));
}

}  // namespace attn

extern "C" struct status device_tensor_map_write(const struct device_tensor_map *map, void *out) {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !attn::find_call(library, "cuTensorMapEncodeTiled", &encode))
    return status_make(STATUS_UNSUPPORTED, "the driver is older than CUDA 12.0 and makes no tensor maps");
  const struct attn::encoding e = attn::encoding_of(map);
  const CUresult result = encode(static_cast<CUtensorMap *>(out), attn::tensor_map_type(map->dtype), map->dims,
                                 const_cast<void *>(map->tensor), e.extent, e.stride, e.box, e.step,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, attn::swizzle_of(map->swizzle_bytes),
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return status_ok();
  return status_make(
      STATUS_UNSUPPORTED,
      "the driver refuses a tensor map (error %d): a box has 1 to 256 elements a side, the last side is "
      "a multiple of 16 bytes and no wider than the swizzle, and so are rows of the tensor",
      static_cast<int>(result));
}
