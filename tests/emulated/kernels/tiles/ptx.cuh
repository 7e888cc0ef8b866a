/* kernels/tiles/ptx.cuh for the emulated GPU: the instructions that the emulated kernels use, under the same names.
 */
#ifndef ATTNBENCH_TESTS_EMULATED_PTX_CUH
#define ATTNBENCH_TESTS_EMULATED_PTX_CUH

#include "kernels/input.h"
#include "tests/emulated/cuda.cuh"

namespace attn::ptx {

/* Subnormal results become zeros, as with .ftz. */
inline float ex2(float x) { return x < -126.0f ? 0.0f : exp2f(x); }
inline float lg2(float x) { return log2f(x); }
inline float rcp(float x) { return 1.0f / x; }

inline uint32_t shared_address(const void *shared) {
  return (uint32_t)(static_cast<const unsigned char *>(shared) - smem_base);
}
inline uint32_t *shared_words(uint32_t address) {
  return reinterpret_cast<uint32_t *>(emulated::shared(address, sizeof(uint32_t)));
}
inline uint4 load_shared(uint32_t address) {
  uint4 x;
  memcpy(&x, emulated::shared(address, sizeof x), sizeof x);
  return x;
}
inline void store_shared(uint32_t address, uint4 x) { memcpy(emulated::shared(address, sizeof x), &x, sizeof x); }

inline void named_sync(uint32_t id, uint32_t threads) { emulated::named_barrier(id, threads, true); }
inline void named_arrive(uint32_t id, uint32_t threads) { emulated::named_barrier(id, threads, false); }
inline uint32_t count_arrival(uint32_t *counter, uint32_t last) {
  const uint32_t before = *counter;
  *counter = before >= last ? 0 : before + 1;
  return before;
}

inline void cp_async_16(uint32_t shared, const void *global, bool valid) {
  emulated::copy_async(shared, valid ? global : nullptr, 16);
}
inline void cp_async_commit() { emulated::copies_commit(); }
template <int Pending>
inline void cp_async_wait() {
  emulated::copies_wait(Pending);
}

/* A pass is emulated when those before it have ended. */
inline void wait_for_earlier_passes() {}

inline uint32_t cluster_rank() { return emulated::cluster_rank(); }
inline void cluster_arrive_relaxed() { emulated::cluster_arrive(); }
inline void cluster_arrive() { emulated::cluster_arrive(); }
inline void cluster_wait() { emulated::cluster_wait(); }

inline void ldmatrix_x4(uint32_t (&m)[4], uint32_t address) {
  const uint64_t *const rows = emulated::gather(address);
  const uint32_t lane = emulated::lane();
  for (uint32_t i = 0; i < 4; ++i)
    memcpy(&m[i], emulated::shared((uint32_t)rows[8 * i + lane / 4] + lane % 4 * 4, 4), 4);
}

inline void ldmatrix_x4_trans(uint32_t (&m)[4], uint32_t address) {
  const uint64_t *const rows = emulated::gather(address);
  const uint32_t lane = emulated::lane();
  for (uint32_t i = 0; i < 4; ++i) {
    uint16_t two[2];
    for (uint32_t j = 0; j < 2; ++j)
      memcpy(&two[j], emulated::shared((uint32_t)rows[8 * i + lane % 4 * 2 + j] + lane / 4 * 2, 2), 2);
    m[i] = two[0] | (uint32_t)two[1] << 16;
  }
}
inline void stmatrix_x4(uint32_t address, const uint32_t (&m)[4]) {
  const uint64_t *const rows = emulated::gather(address);
  const uint32_t lane = emulated::lane();
  for (uint32_t i = 0; i < 4; ++i)
    memcpy(emulated::shared((uint32_t)rows[8 * i + lane / 4] + lane % 4 * 4, 4), &m[i], 4);
}
inline uint32_t pack_e4m3(float a, float b, float c, float d) {
  return input_to_e4m3(a) | (uint32_t)input_to_e4m3(b) << 8 | (uint32_t)input_to_e4m3(c) << 16 |
         (uint32_t)input_to_e4m3(d) << 24;
}

inline void f16_of_e4m3(uint32_t (&to)[2], uint32_t four) {
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t first = four >> 16 * i & 0xff, second = four >> (16 * i + 8) & 0xff;
    to[i] = input_to_f16(input_from_e4m3((uint8_t)first)) | (uint32_t)input_to_f16(input_from_e4m3((uint8_t)second))
                                                                << 16;
  }
}

namespace emulated_mma {
struct Operands {
  const uint32_t *a;
  uint32_t b[2];
};

/* Operands have 32 bytes of summed columns. */
template <emulated::Element kElement>
inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  constexpr uint32_t kBits = 8 * emulated::bytes_of(kElement), kInWord = 32 / kBits, kSummed = 256 / kBits;
  const Operands mine = {a, {b0, b1}};
  const uint64_t *const given = emulated::gather(reinterpret_cast<uintptr_t>(&mine));
  const Operands *lane[32];
  for (uint32_t i = 0; i < 32; ++i) lane[i] = reinterpret_cast<const Operands *>(given[i]);
  const uint32_t g = emulated::lane() / 4, t = emulated::lane() % 4;
  float rows[2][kSummed], columns[2][kSummed];
  for (uint32_t i = 0; i < 2; ++i)
    for (uint32_t k = 0; k < kSummed; ++k) {
      const uint32_t word = k / kInWord, quad = word % 4, upper = word / 4;
      const auto value = [&](uint32_t packed) {
        return emulated::element_value(kElement, (uint16_t)(packed >> k % kInWord * kBits & ((1u << kBits) - 1)));
      };
      rows[i][k] = value(lane[4 * g + quad]->a[i + 2 * upper]);
      columns[i][k] = value(lane[4 * (2 * t + i) + quad]->b[upper]);
    }
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t k = 0; k < kSummed; ++k) c[i] += rows[i / 2][k] * columns[i % 2][k];
  emulated::gather(0); /* the others have read `mine` */
}
}  // namespace emulated_mma

template <typename T>
inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulated_mma::mma<std::is_same_v<T, __half> ? emulated::F16 : emulated::BF16>(c, a, b0, b1);
}
inline void mma_16x8x32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulated_mma::mma<emulated::E4M3>(c, a, b0, b1);
}

inline uint32_t opaque(uint32_t x) { return x; }

}  // namespace attn::ptx

#endif
