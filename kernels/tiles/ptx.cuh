/* The PTX instructions that CUDA C++ has no plain spelling for. */
#ifndef ATTNBENCH_KERNELS_TILES_PTX_CUH
#define ATTNBENCH_KERNELS_TILES_PTX_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

namespace attn::ptx {

/* 2^x within 2 ulp, subnormals flushed; 2^-inf = 0. exp2f spends three more instructions on subnormals, which a
 * softmax weight that is rounded to 16 bits cannot show. */
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* The logarithm to base 2, subnormals flushed; off by 2^-22, times itself where it is above 1. */
__device__ __forceinline__ float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* 1 / x within 1 ulp, subnormals flushed. */
__device__ __forceinline__ float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* An address in shared memory as the 32-bit number that PTX takes. */
__device__ __forceinline__ uint32_t shared_address(const void *shared) {
  return (uint32_t)__cvta_generic_to_shared(shared);
}

/* What lies at a shared address. */
__device__ __forceinline__ uint32_t *shared_words(uint32_t address) {
  return static_cast<uint32_t *>(__cvta_shared_to_generic(address));
}

/* 16 bytes at a shared address. */
__device__ __forceinline__ uint4 load_shared(uint32_t address) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(address)
               : "memory");
  return x;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint4 x) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}

/* Starts an asynchronous copy of 16 bytes, global to shared, around L1. valid = false writes 16 zero bytes and reads
 * nothing, though `global` must still be a mapped address. */
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global, bool valid) {
  const uint32_t bytes = valid ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_async_16(void *shared, const void *global, bool valid) {
  cp_async_16(shared_address(shared), global, valid);
}

/* Closes the calling thread's current group of copies. */
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits until at most `Pending` of the calling thread's groups are in flight. */
template <int Pending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/* Named barriers of the block: `threads` of them arrive or wait. Number 0 is the barrier of __syncthreads; a kernel
 * names the others that it uses, by who waits for what. */
__device__ __forceinline__ void named_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Counts up to `last`, then from 0 again; returns the count before. What the block stored and ordered before is seen
 * by those who count later, who see it. */
__device__ __forceinline__ uint32_t count_arrival(uint32_t *counter, uint32_t last) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
  return before;
}

/* mbarrier objects in shared memory. A phase ends when `arrivals` threads have arrived, and the next one begins;
 * phases are told apart by their parity, 0 for the first. An arrival releases the thread's earlier accesses to those
 * who then see the phase ended. The initialisation must be made visible by a block barrier. */
__device__ __forceinline__ void mbarrier_init(uint64_t *barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(arrivals)
               : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(uint64_t *barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(barrier))
               : "memory");
}
/* Waits for the end of the phase with this parity. Called by whole warps, which leave it converged. */
__device__ __forceinline__ void mbarrier_wait(uint64_t *barrier, uint32_t parity) {
  const uint32_t address = (uint32_t)__cvta_generic_to_shared(barrier);
  uint32_t ended = 0;
  while (!ended) {
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(ended)
                 : "r"(address), "r"(parity)
                 : "memory");
  }
  __syncwarp();
}

/* ---- passes that overlap, compute capability 9.0 and up; no effect below, nor in a kernel that was launched without
 * (attn_pass.early_start). Once all blocks of a kernel have called the first, the next pass may start; it then waits
 * by the second until all earlier passes have ended and their stores are seen. */
__device__ __forceinline__ void start_next_pass() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_earlier_passes() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- clusters, compute capability 9.0 and up: blocks that run at once and reach each other's shared memory. In
 * a kernel launched without a cluster some of these instructions are illegal. */
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/* Which cluster along x of the grid. */
__device__ __forceinline__ uint32_t cluster_x() {
  uint32_t x;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(x));
  return x;
}
/* The cluster's barrier: all threads of all its blocks arrive, then wait. This arrival publishes no stores but
 * mbarriers that cluster_publish_mbarriers() came after; one that does costs four times as much. */
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
/* An arrival that publishes what the thread stored before. */
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_publish_mbarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* The same place as `own`, in the shared memory of the block of this rank. */
__device__ __forceinline__ uint32_t cluster_address(const void *own, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(own)), "r"(rank));
  return address;
}
/* Asynchronous stores to a block of the cluster: `mbarrier`, in the same block, counts the bytes as they arrive. */
__device__ __forceinline__ void cluster_send(uint32_t to, uint32_t mbarrier, float4 x) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w), "r"(mbarrier)
               : "memory");
}
__device__ __forceinline__ void cluster_send(uint32_t to, uint32_t mbarrier, float2 x) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
               "f"(x.x), "f"(x.y), "r"(mbarrier)
               : "memory");
}
__device__ __forceinline__ void cluster_send(uint32_t to, uint32_t mbarrier, float x) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to), "f"(x),
               "r"(mbarrier)
               : "memory");
}
__device__ __forceinline__ void cluster_send(uint32_t to, uint32_t mbarrier, uint32_t x) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(x),
               "r"(mbarrier)
               : "memory");
}
/* An arrival that also makes the phase last until so many bytes have come. */
__device__ __forceinline__ void mbarrier_expect(uint64_t *barrier, uint32_t bytes) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n}" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/* Waits for the end of the first phase; what was sent to the block is then there. */
__device__ __forceinline__ void mbarrier_wait_received(uint64_t *barrier) {
  const uint32_t address = shared_address(barrier);
  uint32_t ended = 0;
  while (!ended) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(ended)
        : "r"(address)
        : "memory");
  }
  __syncwarp();
}

/* Loads four 8 x 8 matrices of 16-bit elements. Lanes 8 i .. 8 i + 7 give the addresses of the 16-byte rows of matrix
 * i; of matrix i, lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4. */
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}
/* The same of the transposed matrices: lane l receives elements l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1. */
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

/* Stores four 8 x 8 matrices of 16-bit elements, as ldmatrix_x4 loads them. Compute capability 9.0. */
__device__ __forceinline__ void stmatrix_x4(uint32_t address, const uint32_t (&m)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m[0]),
               "r"(m[1]), "r"(m[2]), "r"(m[3])
               : "memory");
}

/* Four numbers as e4m3, the first in the lowest byte. NaN stays NaN, what is too large becomes 448. Compute
 * capability 8.9 and up. */
__device__ __forceinline__ uint32_t pack_e4m3(float a, float b, float c, float d) {
  uint32_t packed;
  asm("{\n.reg .b16 low, high;\ncvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\nmov.b32 %0, {low, high};\n}"
      : "=r"(packed)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return packed;
}

/* Four numbers of e4m3 as f16, exactly: those of the two lower bytes, the first in the lower half, and of the two
 * upper ones. Compute capability 8.9 and up. */
__device__ __forceinline__ void f16_of_e4m3(uint32_t (&to)[2], uint32_t four) {
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high;\n}"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(four));
}

/* c[16][8] += a[16][16] b[16][8] with fp32 accumulation. With g = lane / 4 and t = lane % 4:
 *   c[0], c[1]: row g, columns 2t, 2t + 1          c[2], c[3]: row g + 8
 *   a[0]: row g, columns 2t, 2t + 1; a[1]: row g + 8; a[2]: row g, columns 2t + 8, 2t + 9; a[3]: row g + 8
 *   b0: rows 2t, 2t + 1 of column g; b1: rows 2t + 8, 2t + 9 */
template <typename T>
__device__ __forceinline__ void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
__device__ __forceinline__ void mma_16x8x16<__half>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void mma_16x8x16<__nv_bfloat16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                           uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* c[16][8] += a[16][32] b[32][8] with fp32 accumulation, of e4m3. With g and t as above: c as above; a[0]: row g,
 * columns 4t .. 4t + 3; a[1]: row g + 8; a[2]: row g, columns 4t + 16 .. 4t + 19; a[3]: row g + 8; b0: rows 4t .. 4t
 * + 3 of column g; b1: rows 4t + 16 .. 4t + 19. Compute capability 8.9 and up. */
__device__ __forceinline__ void mma_16x8x32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* c[16][8] += a[16][8] b[8][8] with fp32 accumulation, of fp32 words of which the 19 upper bits are read: TF32. With
 * g and t as above: c as above; a[0]: row g, column t; a[1]: row g + 8; a[2]: row g, column t + 4; a[3]: row g + 8;
 * b0: row t of column g; b1: row t + 4 */
__device__ __forceinline__ void mma_16x8x8(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* x, of which the compiler knows nothing: what is computed from it is computed here, not kept in registers. */
__device__ __forceinline__ uint32_t opaque(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

}  // namespace attn::ptx

#endif
