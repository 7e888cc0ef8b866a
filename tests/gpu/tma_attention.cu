/* An attention kernel that gets tensor maps as arguments: K in boxes of one head with the 128-byte swizzle, V in
 * boxes of four dimensions without. One warp per row. */
#include <cuda.h>
#include <cuda_fp16.h>

constexpr int kD = 64, kKeys = 32, kTileBytes = kKeys * kD * 2;

__device__ unsigned shared_address(const void *at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

__device__ void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra again;\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/* Both tiles of keys first to first + 31; what lies behind the last key arrives as zeros. */
__device__ void fetch(const CUtensorMap *k_map, const CUtensorMap *v_map, __half *k, __half *v, unsigned barrier,
                      int first, int head, int heads) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(2 * kTileBytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(k)),
      "l"(k_map), "r"(0), "r"(first), "r"(head), "r"(barrier)
      : "memory");
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(shared_address(v)),
      "l"(v_map), "r"(0), "r"(first), "r"(head % heads), "r"(head / heads), "r"(barrier)
      : "memory");
}

/* Where element d of a row of K lies: the swizzle moves its 16 bytes. */
__device__ int swizzled(int row, int d) { return row * kD + ((d / 8) ^ (row % 8)) * 8 + d % 8; }

extern "C" __global__ void tma_attention(const __half *q, const __grid_constant__ CUtensorMap k_map,
                                         const __grid_constant__ CUtensorMap v_map, __half *o, int Sq, int Skv,
                                         int group, int heads_kv, signed char causal, float scale_log2) {
  __shared__ alignas(1024) __half k[kKeys * kD];
  __shared__ alignas(1024) __half v[kKeys * kD];
  __shared__ alignas(8) unsigned long long full;
  const int row = blockIdx.x, lane = threadIdx.x, head = blockIdx.y / group;
  const size_t at = ((size_t)blockIdx.y * Sq + row) * kD;
  const int keys = causal ? min(max(row + 1 + Skv - Sq, 0), Skv) : Skv;
  const float q0 = __half2float(q[at + lane]), q1 = __half2float(q[at + 32 + lane]);
  float top = -INFINITY, sum = 0.0f, o0 = 0.0f, o1 = 0.0f;
  if (lane == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncwarp();
  for (int first = 0, tile = 0; first < keys; first += kKeys, ++tile) {
    if (lane == 0) fetch(&k_map, &v_map, k, v, shared_address(&full), first, head, heads_kv);
    wait(shared_address(&full), tile & 1);
    for (int key = 0; key < min(kKeys, keys - first); ++key) {
      float score = q0 * __half2float(k[swizzled(key, lane)]) + q1 * __half2float(k[swizzled(key, 32 + lane)]);
      for (int lanes = 16; lanes > 0; lanes /= 2) score += __shfl_xor_sync(0xffffffffu, score, lanes);
      score *= scale_log2;
      const float new_top = fmaxf(top, score), keep = exp2f(top - new_top), weight = exp2f(score - new_top);
      top = new_top;
      sum = sum * keep + weight;
      o0 = o0 * keep + weight * __half2float(v[key * kD + lane]);
      o1 = o1 * keep + weight * __half2float(v[key * kD + 32 + lane]);
    }
    __syncwarp();
  }
  const float inverse = keys > 0 ? 1.0f / sum : 0.0f;
  o[at + lane] = __float2half_rn(o0 * inverse);
  o[at + 32 + lane] = __float2half_rn(o1 * inverse);
}
