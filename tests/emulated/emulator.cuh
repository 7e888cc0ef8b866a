/* A GPU of compute capability 9.0 as far as the kernels here need one, on a CPU: blocks whose threads are coroutines,
 * shared memory, barriers, the copy engine and wgmma. It shows whether a kernel is right, never how fast it is.
 *
 * What is asynchronous on a GPU happens here at a time that a seed decides: a copy at any time after its start, a
 * product at any time from its start to its wait. A warp waits for all its lanes wherever one lane needs another. So
 * a barrier that is missing shows as a wrong result, and one too many as a deadlock, which ends the process with what
 * each thread waits for.
 *
 * What it does not show: the order of stores that no barrier orders, bank conflicts, limits of registers. */
#ifndef ATTNBENCH_TESTS_EMULATED_EMULATOR_CUH
#define ATTNBENCH_TESTS_EMULATED_EMULATOR_CUH

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <array>
#include <functional>
#include <vector>

namespace emulated {

struct Index {
  uint32_t x, y, z;
};

/* Of the thread that runs. */
Index thread_index();
Index block_index();
Index grid_size();
Index block_size();

/* ---- launching ------------------------------------------------------------------------------------------------ */

struct Launch {
  Index grid, block;
  uint32_t cluster; /* blocks of a cluster, neighbours along x */
  uint32_t smem_bytes;
  uint64_t seed; /* decides when what is asynchronous happens, and who runs first */
};

/* Runs `thread` as every thread of every block. Returns when all have ended. */
void run(const Launch &, const std::function<void()> &thread);

/* Says what is wrong with the kernel and where, and ends the process. */
[[noreturn]] void fail(const char *what, ...) __attribute__((format(printf, 1, 2)));

/* ---- memory and barriers -------------------------------------------------------------------------------------- */

enum { SMEM_MAX = 232448 };

/* Shared memory of the thread's block, or of the one with this rank in its cluster. */
unsigned char *shared(uint32_t address, size_t bytes);
uint32_t cluster_rank();

/* Named barriers. `waits`: returns only when all have arrived. */
void named_barrier(uint32_t id, uint32_t threads, bool waits);
void cluster_arrive();
void cluster_wait();

/* mbarriers, by address; of the block with this rank. */
uint32_t own_rank();
void mbarrier_init(uint32_t address, uint32_t arrivals);
void mbarrier_arrive(uint32_t address, uint32_t rank, uint32_t expected_bytes);
void mbarrier_wait(uint32_t address, uint32_t parity);

/* ---- a warp's lanes ------------------------------------------------------------------------------------------- */

/* What every lane of the warp gave; valid until the next call. All lanes call it. */
const uint64_t *gather(uint64_t mine);

template <typename T>
inline uint64_t as_bits(T value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T>
inline T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
uint32_t lane();

/* ---- the copy engine ------------------------------------------------------------------------------------------ */

enum { MAP_DIMS_MAX = 5 };

/* A tensor of 16-bit elements, the innermost dimension first, in boxes with the 128-byte swizzle. */
struct TensorMap {
  unsigned char *data;
  uint32_t dims;
  uint64_t extent[MAP_DIMS_MAX], stride_bytes[MAP_DIMS_MAX]; /* stride_bytes[0] is that of an element */
  uint32_t box[MAP_DIMS_MAX];
};

/* Copies a box to this place in each block whose bit is set; their mbarriers at `barrier` count its bytes. */
void load_box(uint32_t to, const TensorMap &, uint32_t barrier, const int32_t (&at)[MAP_DIMS_MAX], uint32_t ranks);

/* ---- copies of a thread ---------------------------------------------------------------------------------------- */

/* Copies so many bytes to shared memory, or zeros where there is no source, in a group with the thread's others since
 * the last commit. A group happens at any time between its commit and the end of the thread's wait for it. */
void copy_async(uint32_t to, const void *from, uint32_t bytes);
void copies_commit();
void copies_wait(uint32_t pending);

/* ---- wgmma ---------------------------------------------------------------------------------------------------- */

enum Element { F16, BF16, E4M3, ELEMENTS };
constexpr uint32_t bytes_of(Element element) { return element == E4M3 ? 1 : 2; }

/* The matrices of one instruction with 64 rows and 32 bytes of summed columns. */
struct Product {
  Element element;
  uint32_t columns;
  bool from_registers; /* A; else by its descriptor */
  bool transposed;     /* B has the summed dimension outside: [16][columns] */
  bool keep;           /* adds to what the accumulators hold */
  uint64_t a, b;       /* descriptors */
};

/* Called by all threads of a warpgroup, each with its registers. */
void multiply(const Product &, float *accumulators, const uint32_t *a);
void multiply_commit();
void multiply_wait(uint32_t pending);

/* ATTN_EMULATED_CUT=1: sums of e4m3 are cut to 14 bits, as those of the GPU are. */
bool cuts();

/* By type and bits. */
extern const std::array<std::vector<float>, ELEMENTS> element_values;
inline float element_value(Element element, uint16_t bits) { return element_values[element][bits]; }

}  // namespace emulated

#endif
