/* How tensor cores add: what a step of mma.sync and of wgmma keeps of the products and of the sum, found by sums
 * whose result depends on it. Prints which small products survive beside 1, then which model every one of many random
 * steps agrees with: "fits NAME KEYS BITS" for steps of so many keys whose terms keep so many bits below the leading
 * bit of the largest. Exit status 1: no model fits, 2: no GPU. The bounds of results/check.md rest on it. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_fp16.h>

namespace {

constexpr int kTerms = 16; /* products of a trial */
constexpr int kRows = 64;  /* trials of a block: rows of a wgmma */
constexpr int kBlocks = 512;
constexpr int kTrials = kRows * kBlocks;
constexpr int kScale = 14; /* the other factor of every product is 2^-kScale */

struct trials {
  const __half *factors; /* [kTrials][kTerms] */
  const float *sums;     /* [kTrials] */
  float *results;        /* [kTrials] */
};

__device__ uint32_t pair_at(const trials &t, int row, int key) {
  uint32_t pair;
  memcpy(&pair, t.factors + row * kTerms + key, sizeof pair);
  return pair;
}

/* ---- one step on each path: warp w of a block has rows 16 w to 16 w + 15, as the operands of mma.sync want it
 * ------ */

__global__ void mma_16_kernel(trials t, uint32_t scale) {
  const int row = blockIdx.x * kRows + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, key = threadIdx.x % 4 * 2;
  const uint32_t a[] = {pair_at(t, row, key), pair_at(t, row + 8, key), pair_at(t, row, key + 8),
                        pair_at(t, row + 8, key + 8)};
  float d[] = {t.sums[row], t.sums[row], t.sums[row + 8], t.sums[row + 8]};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(scale));
  if (key == 0) t.results[row] = d[0], t.results[row + 8] = d[2];
}

/* Of the first 8 products. */
__global__ void mma_8_kernel(trials t, uint32_t scale) {
  const int row = blockIdx.x * kRows + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, key = threadIdx.x % 4 * 2;
  const uint32_t a[] = {pair_at(t, row, key), pair_at(t, row + 8, key)};
  float d[] = {t.sums[row], t.sums[row], t.sums[row + 8], t.sums[row + 8]};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(scale));
  if (key == 0) t.results[row] = d[0], t.results[row + 8] = d[2];
}

/* B is the same throughout, so its layout does not matter. */
__global__ void wgmma_kernel(trials t, uint32_t scale) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ __align__(128) uint32_t b[8 * kTerms / 2];
  const int row = blockIdx.x * kRows + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, key = threadIdx.x % 4 * 2;
  const uint32_t a[] = {pair_at(t, row, key), pair_at(t, row + 8, key), pair_at(t, row, key + 8),
                        pair_at(t, row + 8, key + 8)};
  float d[] = {t.sums[row], t.sums[row], t.sums[row + 8], t.sums[row + 8]};
  if (threadIdx.x < 8 * kTerms / 2) b[threadIdx.x] = scale;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads(); /* orders the stores to b before the instruction that reads it */
  /* Start address, then the distances of the 8 x 8 parts along both dimensions, in units of 16 bytes; no swizzle. */
  const uint64_t part = 128 / 16, start = static_cast<uint64_t>(__cvta_generic_to_shared(b)) >> 4;
  const uint64_t descriptor = start | part << 16 | part << 32;
  asm volatile(
      "{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, add, 1, 1, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor)
      : "memory");
  if (key == 0) t.results[row] = d[0], t.results[row + 8] = d[2];
#else
  (void)t, (void)scale;
#endif
}

/* ---- models ------------------------------------------------------------------------------------------------------
 */

enum cutting { TOWARDS_ZERO, DOWN };

struct model {
  int keys, bits;
  cutting terms; /* the sum is cut towards zero in any case */
};
constexpr model kModels[] = {
    {16, 23, TOWARDS_ZERO}, {16, 24, TOWARDS_ZERO}, {16, 25, TOWARDS_ZERO}, {16, 26, TOWARDS_ZERO},
    {16, 27, TOWARDS_ZERO}, {8, 23, TOWARDS_ZERO},  {8, 24, TOWARDS_ZERO},  {8, 25, TOWARDS_ZERO},
    {8, 26, TOWARDS_ZERO},  {8, 27, TOWARDS_ZERO},  {4, 23, TOWARDS_ZERO},  {4, 24, TOWARDS_ZERO},
    {4, 25, TOWARDS_ZERO},  {16, 24, DOWN},         {16, 25, DOWN},         {16, 26, DOWN},
    {8, 24, DOWN},          {8, 25, DOWN},          {8, 26, DOWN}};

double cut(double x, int bits, cutting way) { /* to multiples of 2^-bits */
  const double scaled = std::ldexp(x, bits);
  return std::ldexp(way == DOWN ? std::floor(scaled) : std::trunc(scaled), -bits);
}

float step(const model &m, float sum, const double *products, int count) {
  double largest = std::fabs(sum), total = 0;
  for (int i = 0; i < count; ++i) largest = std::fmax(largest, std::fabs(products[i]));
  if (largest == 0) return 0;
  const int bits = m.bits - std::ilogb(largest);
  total = cut(sum, bits, m.terms);
  for (int i = 0; i < count; ++i) total += cut(products[i], bits, m.terms);
  return total == 0 ? 0.0f : static_cast<float>(cut(total, 23 - std::ilogb(total), TOWARDS_ZERO));
}

float modelled(const model &m, float sum, const double *products, int count) {
  for (int i = 0; i < count; i += m.keys) sum = step(m, sum, products + i, count - i < m.keys ? count - i : m.keys);
  return sum;
}

/* ---- trials ------------------------------------------------------------------------------------------------------
 */

struct path {
  const char *name;
  void (*kernel)(trials, uint32_t);
  int keys, cc_major; /* 0: any */
};
constexpr path kPaths[] = {{"mma.m16n8k16", mma_16_kernel, 16, 0},
                           {"mma.m16n8k8", mma_8_kernel, 8, 0},
                           {"wgmma.m64n8k16", wgmma_kernel, 16, 9}};

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "accumulation: %s\n", cudaGetErrorString(error));
  std::exit(2);
}

struct table {
  std::vector<__half> factors = std::vector<__half>(kTrials * kTerms, __half(0.0f));
  std::vector<float> sums = std::vector<float>(kTrials), results = std::vector<float>(kTrials);
  double products[kTerms];

  const double *products_of(int trial) {
    for (int i = 0; i < kTerms; ++i)
      products[i] = std::ldexp(static_cast<double>(__half2float(factors[trial * kTerms + i])), -kScale);
    return products;
  }
};

void run(const path &p, table *t) {
  trials on_gpu;
  __half *factors;
  float *sums;
  const __half one = __float2half(std::ldexp(1.0f, -kScale));
  uint16_t bits;
  memcpy(&bits, &one, sizeof bits);
  must(cudaMalloc(&factors, t->factors.size() * sizeof *factors));
  must(cudaMalloc(&sums, 2 * t->sums.size() * sizeof *sums));
  must(cudaMemcpy(factors, t->factors.data(), t->factors.size() * sizeof *factors, cudaMemcpyHostToDevice));
  must(cudaMemcpy(sums, t->sums.data(), t->sums.size() * sizeof *sums, cudaMemcpyHostToDevice));
  on_gpu = {factors, sums, sums + kTrials};
  p.kernel<<<kBlocks, 2 * kRows>>>(on_gpu, bits * 0x10001u);
  must(cudaGetLastError());
  must(cudaMemcpy(t->results.data(), on_gpu.results, t->results.size() * sizeof(float), cudaMemcpyDeviceToHost));
  must(cudaFree(factors));
  must(cudaFree(sums));
}

/* 1 +- 2^-k for k = 20 to 28, by one product, then by as many of them as come to 2^-23. */
void print_survivors(const path &p) {
  table t;
  for (int k = 20; k <= 28; ++k) {
    const __half small = __float2half(std::ldexp(1.0f, kScale - k)),
                 minus = __float2half(-std::ldexp(1.0f, kScale - k));
    const int row = 3 * (k - 20), together = k <= 23 ? 1 : 1 << (k - 23);
    t.sums[row] = t.sums[row + 1] = t.sums[row + 2] = 1;
    t.factors[row * kTerms] = small;
    t.factors[(row + 1) * kTerms] = minus;
    for (int i = 0; i < together && i < p.keys; ++i) t.factors[(row + 2) * kTerms + i] = small;
  }
  run(p, &t);
  for (int k = 20; k <= 28; ++k) {
    const int row = 3 * (k - 20), together = k <= 23 ? 1 : 1 << (k - 23);
    std::printf("%-14s 1 + 2^-%d: %-11.4g 1 - 2^-%d: %-11.4g", p.name, k, static_cast<double>(t.results[row]) - 1, k,
                static_cast<double>(t.results[row + 1]) - 1);
    if (together <= p.keys)
      std::printf(" 1 + %2d x 2^-%d: %.4g", together, k, static_cast<double>(t.results[row + 2]) - 1);
    std::printf("\n");
  }
}

uint64_t mixed(uint64_t x) { /* SplitMix64 */
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Sums around 2^-4 to 2^4 and products of 11 bits around 2^-12 of that, of both signs: their last bits lie beside
 * those that are cut. */
void draw(table *t) {
  for (int trial = 0; trial < kTrials; ++trial) {
    const uint64_t random = mixed(trial);
    const float sum =
        std::ldexp(1.0f + static_cast<float>(random >> 41) * 0x1p-23f, static_cast<int>(random % 9) - 4);
    t->sums[trial] = (random & 256) != 0 ? -sum : sum;
    for (int i = 0; i < kTerms; ++i) {
      const uint64_t more = mixed(random + static_cast<uint64_t>(i) + 1);
      const float factor =
          std::ldexp(1024.0f + static_cast<float>(more & 1023), static_cast<int>(more >> 32 & 7) - 12);
      t->factors[trial * kTerms + i] = __float2half((more & 1024) != 0 ? -factor : factor);
    }
  }
}

bool print_fits(const path &p) {
  table t;
  bool any = false;
  draw(&t);
  run(p, &t);
  for (const model &m : kModels) {
    int agree = 0;
    if (m.keys > p.keys) continue;
    for (int trial = 0; trial < kTrials; ++trial)
      agree += modelled(m, t.sums[trial], t.products_of(trial), p.keys) == t.results[trial];
    any = any || agree == kTrials;
    std::printf("%s %s %d %d%s (%d of %d)\n", agree == kTrials ? "fits" : "differs from", p.name, m.keys, m.bits,
                m.terms == DOWN ? " down" : "", agree, kTrials);
  }
  return any;
}

}  // namespace

int main() {
  cudaDeviceProp device;
  bool right = true;
  must(cudaGetDeviceProperties(&device, 0));
  std::printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  for (const path &p : kPaths) {
    if (p.cc_major != 0 && p.cc_major != device.major) continue;
    print_survivors(p);
    right = print_fits(p) && right;
  }
  return right ? 0 : 1;
}
