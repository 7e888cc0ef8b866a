/* An attention kernel as any compiler might emit it: arguments one by one, a symbol in a cubin. One warp per row. */
#include <cuda_fp16.h>

extern "C" __global__ void plain_attention(const __half *q, const __half *k, const __half *v, __half *o, int Sq,
                                           int Skv, int group, signed char causal, float scale_log2, long long head_q,
                                           long long head_kv, double one) {
  constexpr int kD = 64;
  const int row = blockIdx.x, lane = threadIdx.x;
  const size_t at = blockIdx.y * head_q + (size_t)row * kD, kv = blockIdx.y / group * head_kv;
  const int keys = causal ? min(max(row + 1 + Skv - Sq, 0), Skv) : Skv;
  const float q0 = __half2float(q[at + lane]), q1 = __half2float(q[at + 32 + lane]);
  float top = -INFINITY, sum = 0.0f, o0 = 0.0f, o1 = 0.0f;
  for (int key = 0; key < keys; ++key) {
    const size_t from = kv + (size_t)key * kD;
    float score = q0 * __half2float(k[from + lane]) + q1 * __half2float(k[from + 32 + lane]);
    for (int lanes = 16; lanes > 0; lanes /= 2) score += __shfl_xor_sync(0xffffffffu, score, lanes);
    score *= scale_log2;
    const float new_top = fmaxf(top, score), keep = exp2f(top - new_top), weight = exp2f(score - new_top);
    top = new_top;
    sum = sum * keep + weight;
    o0 = o0 * keep + weight * __half2float(v[from + lane]);
    o1 = o1 * keep + weight * __half2float(v[from + 32 + lane]);
  }
  const float inverse = keys > 0 ? (float)one / sum : 0.0f;
  o[at + lane] = __float2half_rn(o0 * inverse);
  o[at + 32 + lane] = __float2half_rn(o1 * inverse);
}
