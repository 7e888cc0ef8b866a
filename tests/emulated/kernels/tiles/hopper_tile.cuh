/* kernels/tiles/hopper_tile.cuh for the emulated GPU: what Hopper adds, under the same names. */
#ifndef ATTNBENCH_TESTS_EMULATED_HOPPER_TILE_CUH
#define ATTNBENCH_TESTS_EMULATED_HOPPER_TILE_CUH

#include "kernels/tiles/ptx.cuh"
#include "kernels/tiles/tensor_map.cuh"

#define ATTN_SM90A 1

namespace attn::hopper {

constexpr uint32_t kGroup = 128, kGroupRows = 64, kSlab = 64, kSlabRow = 128;
constexpr uint64_t kEvictNormal = 0, kEvictFirst = 0, kEvictLast = 0;

inline void barrier_init(uint32_t barrier, uint32_t arrivals) { emulated::mbarrier_init(barrier, arrivals); }
inline void barrier_publish() {}
inline void barrier_arrive(uint32_t barrier) { emulated::mbarrier_arrive(barrier, emulated::own_rank(), 0); }
inline void barrier_arrive_at(uint32_t barrier, uint32_t rank) { emulated::mbarrier_arrive(barrier, rank, 0); }
inline void barrier_expect(uint32_t barrier, uint32_t bytes) {
  emulated::mbarrier_arrive(barrier, emulated::own_rank(), bytes);
}
inline void barrier_wait(uint32_t barrier, uint32_t parity) { emulated::mbarrier_wait(barrier, parity); }
using ptx::named_arrive, ptx::named_sync;

inline void prefetch_map(const CUtensorMap *) {}
inline void prefetch_bytes(const void *, uint32_t, uint64_t) {}
inline void load_box_to_all(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x, uint32_t y, uint32_t z,
                            uint16_t blocks, uint64_t) {
  emulated::load_box(to, *map, barrier, {(int32_t)x, (int32_t)y, (int32_t)z}, blocks);
}
inline void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x, uint32_t y, uint32_t z,
                     uint64_t policy) {
  load_box_to_all(to, map, barrier, x, y, z, (uint16_t)(1u << emulated::own_rank()), policy);
}
inline void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x, uint32_t y, uint32_t z,
                     uint32_t w, uint64_t) {
  emulated::load_box(to, *map, barrier, {(int32_t)x, (int32_t)y, (int32_t)z, (int32_t)w}, 1u << emulated::own_rank());
}
inline void fence_async() {}

template <uint32_t>
inline void give_registers() {}
template <uint32_t>
inline void take_registers() {}

inline void wgmma_fence() {}
inline void wgmma_commit() { emulated::multiply_commit(); }
template <int Pending>
inline void wgmma_wait() {
  emulated::multiply_wait(Pending);
}
template <typename T, uint32_t N>
inline void pin(T (&)[N]) {}

inline uint64_t operand(uint32_t address, uint32_t next_slab = 16) {
  return 1ull << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)(next_slab >> 4) << 16 | (address & 0x3ffff) >> 4;
}

template <typename T>
constexpr emulated::Element kElementOf = std::is_same_v<T, __half>          ? emulated::F16
                                         : std::is_same_v<T, __nv_bfloat16> ? emulated::BF16
                                                                            : emulated::E4M3;

template <typename T, uint32_t N>
struct MultiplyQk {
  static void run(float (&r)[N / 2], uint64_t a, uint64_t b, uint32_t keep) {
    emulated::multiply({kElementOf<T>, N, false, false, keep != 0, a, b}, r, nullptr);
  }
};
template <typename T, uint32_t N>
struct MultiplyQkRegisters {
  static void run(float (&r)[N / 2], const uint32_t *a, uint64_t b, uint32_t keep) {
    emulated::multiply({kElementOf<T>, N, true, false, keep != 0, 0, b}, r, a);
  }
};
template <typename T, uint32_t N>
struct MultiplyPv {
  static void run(float (&r)[N / 2], const uint32_t *a, uint64_t b, uint32_t keep) {
    emulated::multiply({kElementOf<T>, N, true, true, keep != 0, 0, b}, r, a);
  }
};
template <typename T, uint32_t N>
struct MultiplyPvShared {
  static void run(float (&r)[N / 2], uint64_t a, uint64_t b, uint32_t keep) {
    emulated::multiply({kElementOf<T>, N, false, true, keep != 0, a, b}, r, nullptr);
  }
};

}  // namespace attn::hopper

#endif
