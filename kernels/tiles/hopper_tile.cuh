/* What Hopper (compute capability 9.0) adds, as PTX: tensor maps and the copy engine (TMA), mbarriers that count
 * bytes, wgmma, and registers that move from one warpgroup to another. It compiles for sm_90a alone; a kernel that
 * uses it puts its body behind ATTN_SM90A, so that the other architectures of a build get an empty one.
 *
 * Shared memory of an operand: slabs [rows][64 elements = 128 bytes], each aligned to 1024 bytes, whose 16-byte chunk
 * c of row r lies at c ^ (r % 8): what TMA writes with the 128-byte swizzle and wgmma reads with descriptor layout 1.
 */
#ifndef ATTNBENCH_KERNELS_HOPPER_TILE_CUH
#define ATTNBENCH_KERNELS_HOPPER_TILE_CUH

#include <cuda_fp8.h>

#include "kernels/tiles/ptx.cuh"
#include "kernels/tiles/tensor_map.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ATTN_SM90A 1
#endif

namespace attn::hopper {

constexpr uint32_t kGroup = 128;    /* threads of a warpgroup */
constexpr uint32_t kGroupRows = 64; /* of a wgmma instruction */
constexpr uint32_t kSlab = 64;      /* 16-bit elements of a slab's row */
constexpr uint32_t kSlabRow = 128;  /* its bytes */

#ifdef ATTN_SM90A

/* ---- mbarriers, by shared address ---------------------------------------------------------------------------- */

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/* After the last barrier_init: for the copy engine and for other blocks of a cluster. */
__device__ __forceinline__ void barrier_publish() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* The same at this place in the shared memory of another block of the cluster. */
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/* An arrival that also makes the phase last until so many bytes have come. */
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ bool barrier_ended(uint32_t barrier, uint32_t parity) {
  uint32_t ended;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(ended)
               : "r"(barrier), "r"(parity)
               : "memory");
  return ended != 0;
}
/* Waits for the end of the phase with this parity. A fresh barrier's phase before the first has parity 1. */
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
#ifdef ATTN_SPIN_LIMIT /* for debugging: a fault instead of a hang */
  for (uint32_t i = 0; !barrier_ended(barrier, parity); ++i)
    if (i == ATTN_SPIN_LIMIT) __trap();
#else
  while (!barrier_ended(barrier, parity)) {
  }
#endif
}

using ptx::named_arrive, ptx::named_sync;

/* ---- the copy engine ------------------------------------------------------------------------------------------ */

/* How long L2 keeps what is copied: as long as all else, shorter, longer. The encodings of createpolicy. */
constexpr uint64_t kEvictNormal = 0x1000000000000000ull, kEvictFirst = 0x12f0000000000000ull,
                   kEvictLast = 0x14f0000000000000ull;

__device__ __forceinline__ void prefetch_map(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/* Copies a box whose first element is [z][y][x] of the tensor; `barrier` counts its bytes, those outside the tensor
 * (zeros) included. One thread. */
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x,
                                         uint32_t y, uint32_t z, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}
/* The same of a tensor with one more dimension outside, [w][z][y][x]. */
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x,
                                         uint32_t y, uint32_t z, uint32_t w, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier), "l"(policy)
      : "memory");
}
/* Brings so many bytes into L2, a multiple of 16, as the address is. */
__device__ __forceinline__ void prefetch_bytes(const void *from, uint32_t bytes, uint64_t policy) {
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(__cvta_generic_to_global(from)),
               "r"(bytes), "l"(policy)
               : "memory");
}
/* A box of three dimensions to this place in every block of the cluster whose bit is set, each of whose barriers
 * counts the bytes. */
__device__ __forceinline__ void load_box_to_all(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t x,
                                                uint32_t y, uint32_t z, uint16_t blocks, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}
/* The way back; what lies outside the tensor is not written. One thread, after fence_async() of all that wrote. */
__device__ __forceinline__ void store_box(const CUtensorMap *map, uint32_t from, uint32_t x, uint32_t y, uint32_t z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(from), "r"(x), "r"(y), "r"(z)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* Until the calling thread's stores have read shared memory. */
__device__ __forceinline__ void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
/* Orders this thread's ordinary accesses to shared memory before those of the copy engine and of wgmma. */
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* ---- registers ------------------------------------------------------------------------------------------------ */

template <uint32_t Registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <uint32_t Registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

/* ---- wgmma -------------------------------------------------------------------------------------------------------
 * Four warps multiply 64 rows. Thread t of the group holds, of the accumulator, row 16 (t / 32) + t % 32 / 4 + 8 i,
 * column 8 j + 2 (t % 4) + c in register 4 j + 2 i + c; packed in pairs, registers 4 k .. 4 k + 3 of that are the A
 * operand of 16 columns. Of the A operand of 8-bit elements, 32 columns, register 2 h + i has 16 h + 4 (t % 4) and
 * the three columns after it. Between a batch's first instruction and its wait nothing else may touch its registers.
 */

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/* Keeps the compiler from moving reads and writes of these registers across this place. */
template <uint32_t N>
__device__ __forceinline__ void pin(float (&r)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+f"(r[i])::"memory");
}
template <uint32_t N>
__device__ __forceinline__ void pin(uint32_t (&r)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+r"(r[i])::"memory");
}

/* Descriptor of an operand in shared memory; advance it by bytes / 16. Rows of 8 lie 1024 bytes apart. `next_slab`
 * counts only when the operand's rows are the summed dimension: bytes to the next 64 columns. */
__device__ __forceinline__ uint64_t operand(uint32_t address, uint32_t next_slab = 16) {
  constexpr uint64_t kSwizzle128 = 1ull << 62, kEightRows = (uint64_t)(1024 >> 4) << 32;
  return kSwizzle128 | kEightRows | (uint64_t)(next_slab >> 4) << 16 | (address & 0x3ffff) >> 4;
}

/* The inline assembly's lists of accumulator registers. */
#define ATTN_REGS_4   "%0, %1, %2, %3"
#define ATTN_REGS_8   "%0, %1, %2, %3, %4, %5, %6, %7"
#define ATTN_REGS_16  ATTN_REGS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define ATTN_REGS_24  ATTN_REGS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define ATTN_REGS_32  ATTN_REGS_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define ATTN_REGS_40  ATTN_REGS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define ATTN_REGS_48  ATTN_REGS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define ATTN_REGS_56  ATTN_REGS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define ATTN_REGS_64  ATTN_REGS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define ATTN_REGS_72  ATTN_REGS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define ATTN_REGS_80  ATTN_REGS_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define ATTN_REGS_88  ATTN_REGS_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define ATTN_REGS_96  ATTN_REGS_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define ATTN_REGS_104 ATTN_REGS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define ATTN_REGS_112 ATTN_REGS_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define ATTN_REGS_120 ATTN_REGS_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define ATTN_REGS_128 ATTN_REGS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define ATTN_ACC_8(r, i)                                                                                      \
  "+f"(r[i]), "+f"(r[i + 1]), "+f"(r[i + 2]), "+f"(r[i + 3]), "+f"(r[i + 4]), "+f"(r[i + 5]), "+f"(r[i + 6]), \
      "+f"(r[i + 7])
#define ATTN_ACCS_4(r)   "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
#define ATTN_ACCS_8(r)   ATTN_ACC_8(r, 0)
#define ATTN_ACCS_16(r)  ATTN_ACCS_8(r), ATTN_ACC_8(r, 8)
#define ATTN_ACCS_24(r)  ATTN_ACCS_16(r), ATTN_ACC_8(r, 16)
#define ATTN_ACCS_32(r)  ATTN_ACCS_24(r), ATTN_ACC_8(r, 24)
#define ATTN_ACCS_40(r)  ATTN_ACCS_32(r), ATTN_ACC_8(r, 32)
#define ATTN_ACCS_48(r)  ATTN_ACCS_40(r), ATTN_ACC_8(r, 40)
#define ATTN_ACCS_56(r)  ATTN_ACCS_48(r), ATTN_ACC_8(r, 48)
#define ATTN_ACCS_64(r)  ATTN_ACCS_56(r), ATTN_ACC_8(r, 56)
#define ATTN_ACCS_72(r)  ATTN_ACCS_64(r), ATTN_ACC_8(r, 64)
#define ATTN_ACCS_80(r)  ATTN_ACCS_72(r), ATTN_ACC_8(r, 72)
#define ATTN_ACCS_88(r)  ATTN_ACCS_80(r), ATTN_ACC_8(r, 80)
#define ATTN_ACCS_96(r)  ATTN_ACCS_88(r), ATTN_ACC_8(r, 88)
#define ATTN_ACCS_104(r) ATTN_ACCS_96(r), ATTN_ACC_8(r, 96)
#define ATTN_ACCS_112(r) ATTN_ACCS_104(r), ATTN_ACC_8(r, 104)
#define ATTN_ACCS_120(r) ATTN_ACCS_112(r), ATTN_ACC_8(r, 112)
#define ATTN_ACCS_128(r) ATTN_ACCS_120(r), ATTN_ACC_8(r, 120)

/* S[64][N] = or += A B^T; A [64][16] and B [N][16] in shared memory, both with the summed dimension along the row: 32
 * bytes, which are 32 elements of e4m3. */
template <typename T, uint32_t N>
struct MultiplyQk;
/* The same with A in registers. */
template <typename T, uint32_t N>
struct MultiplyQkRegisters;
/* O[64][N] = or += A B; A [64][16] in registers, B [16][N] in shared memory. */
template <typename T, uint32_t N>
struct MultiplyPv;
/* The same with A in shared memory. */
template <typename T, uint32_t N>
struct MultiplyPvShared;

#define ATTN_WGMMA_SS(NAME, TRANSPOSED, N, COUNT, A, B, KEEP, TYPE, PTX)                                             \
  template <>                                                                                                        \
  struct NAME<TYPE, N> {                                                                                             \
    static __device__ __forceinline__ void run(float (&r)[COUNT], uint64_t a, uint64_t b, uint32_t keep) {           \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" KEEP ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N            \
                   "k16.f32." PTX "." PTX " {" ATTN_REGS_##COUNT "}, %" A ", %" B ", p, 1, 1, 0, " TRANSPOSED ";\n}" \
                   : ATTN_ACCS_##COUNT(r)                                                                            \
                   : "l"(a), "l"(b), "r"(keep));                                                                     \
    }                                                                                                                \
  };
#define ATTN_WGMMA_RS(NAME, TRANSPOSED, N, COUNT, A0, A1, A2, A3, B, KEEP, TYPE, PTX)                             \
  template <>                                                                                                     \
  struct NAME<TYPE, N> {                                                                                          \
    static __device__ __forceinline__ void run(float (&r)[COUNT], const uint32_t *a, uint64_t b, uint32_t keep) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" KEEP ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N         \
                   "k16.f32." PTX "." PTX " {" ATTN_REGS_##COUNT "}, {%" A0 ", %" A1 ", %" A2 ", %" A3 "}, %" B   \
                                                                 ", p, 1, 1, " TRANSPOSED ";\n}"                  \
                   : ATTN_ACCS_##COUNT(r)                                                                         \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));                              \
    }                                                                                                             \
  };
#define ATTN_WGMMA_SS_BOTH(NAME, TRANSPOSED, N, COUNT, A, B, KEEP)     \
  ATTN_WGMMA_SS(NAME, TRANSPOSED, N, COUNT, A, B, KEEP, __half, "f16") \
  ATTN_WGMMA_SS(NAME, TRANSPOSED, N, COUNT, A, B, KEEP, __nv_bfloat16, "bf16")
#define ATTN_WGMMA_QK_BOTH(N, COUNT, A, B, KEEP) ATTN_WGMMA_SS_BOTH(MultiplyQk, "0", N, COUNT, A, B, KEEP)
#define ATTN_WGMMA_RS_BOTH(NAME, TRANSPOSED, N, COUNT, A0, A1, A2, A3, B, KEEP)     \
  ATTN_WGMMA_RS(NAME, TRANSPOSED, N, COUNT, A0, A1, A2, A3, B, KEEP, __half, "f16") \
  ATTN_WGMMA_RS(NAME, TRANSPOSED, N, COUNT, A0, A1, A2, A3, B, KEEP, __nv_bfloat16, "bf16")

/* e4m3: sums of 32 columns, and no transposed operand. */
#define ATTN_WGMMA_QK_E4M3(N, COUNT, A, B, KEEP)                                                           \
  template <>                                                                                              \
  struct MultiplyQk<__nv_fp8_e4m3, N> {                                                                    \
    static __device__ __forceinline__ void run(float (&r)[COUNT], uint64_t a, uint64_t b, uint32_t keep) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" KEEP ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N  \
                   "k32.f32.e4m3.e4m3 {" ATTN_REGS_##COUNT "}, %" A ", %" B ", p, 1, 1;\n}"                \
                   : ATTN_ACCS_##COUNT(r)                                                                  \
                   : "l"(a), "l"(b), "r"(keep));                                                           \
    }                                                                                                      \
  };
#define ATTN_WGMMA_RS_E4M3(N, COUNT, A0, A1, A2, A3, B, KEEP)                                                     \
  template <>                                                                                                     \
  struct MultiplyQkRegisters<__nv_fp8_e4m3, N> {                                                                  \
    static __device__ __forceinline__ void run(float (&r)[COUNT], const uint32_t *a, uint64_t b, uint32_t keep) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" KEEP ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N         \
                   "k32.f32.e4m3.e4m3 {" ATTN_REGS_##COUNT "}, {%" A0 ", %" A1 ", %" A2 ", %" A3 "}, %" B         \
                                                           ", p, 1, 1;\n}"                                        \
                   : ATTN_ACCS_##COUNT(r)                                                                         \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));                              \
    }                                                                                                             \
  };

ATTN_WGMMA_QK_BOTH(32, 16, "16", "17", "18")
ATTN_WGMMA_QK_BOTH(48, 24, "24", "25", "26")
ATTN_WGMMA_QK_BOTH(64, 32, "32", "33", "34")
ATTN_WGMMA_QK_BOTH(80, 40, "40", "41", "42")
ATTN_WGMMA_QK_BOTH(96, 48, "48", "49", "50")
ATTN_WGMMA_QK_BOTH(112, 56, "56", "57", "58")
ATTN_WGMMA_QK_BOTH(128, 64, "64", "65", "66")
ATTN_WGMMA_QK_BOTH(144, 72, "72", "73", "74")
ATTN_WGMMA_QK_BOTH(160, 80, "80", "81", "82")
ATTN_WGMMA_QK_BOTH(176, 88, "88", "89", "90")
ATTN_WGMMA_QK_BOTH(192, 96, "96", "97", "98")
ATTN_WGMMA_SS_BOTH(MultiplyPvShared, "1", 256, 128, "128", "129", "130")
ATTN_WGMMA_RS_BOTH(MultiplyPv, "1", 64, 32, "32", "33", "34", "35", "36", "37")
ATTN_WGMMA_RS_BOTH(MultiplyPv, "1", 96, 48, "48", "49", "50", "51", "52", "53")
ATTN_WGMMA_RS_BOTH(MultiplyPv, "1", 128, 64, "64", "65", "66", "67", "68", "69")
ATTN_WGMMA_RS_BOTH(MultiplyPv, "1", 192, 96, "96", "97", "98", "99", "100", "101")
ATTN_WGMMA_RS_BOTH(MultiplyPv, "1", 256, 128, "128", "129", "130", "131", "132", "133")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 48, 24, "24", "25", "26", "27", "28", "29")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 64, 32, "32", "33", "34", "35", "36", "37")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 80, 40, "40", "41", "42", "43", "44", "45")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 96, 48, "48", "49", "50", "51", "52", "53")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 112, 56, "56", "57", "58", "59", "60", "61")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 128, 64, "64", "65", "66", "67", "68", "69")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 144, 72, "72", "73", "74", "75", "76", "77")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 160, 80, "80", "81", "82", "83", "84", "85")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 176, 88, "88", "89", "90", "91", "92", "93")
ATTN_WGMMA_RS_BOTH(MultiplyQkRegisters, "0", 192, 96, "96", "97", "98", "99", "100", "101")
ATTN_WGMMA_QK_E4M3(64, 32, "32", "33", "34")
ATTN_WGMMA_QK_E4M3(96, 48, "48", "49", "50")
ATTN_WGMMA_QK_E4M3(128, 64, "64", "65", "66")
ATTN_WGMMA_RS_E4M3(8, 4, "4", "5", "6", "7", "8", "9")
ATTN_WGMMA_RS_E4M3(64, 32, "32", "33", "34", "35", "36", "37")
ATTN_WGMMA_RS_E4M3(128, 64, "64", "65", "66", "67", "68", "69")

#endif

}  // namespace attn::hopper

#endif
