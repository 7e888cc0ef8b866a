/* The emulated GPU (emulator.cuh). One thread of the host runs one cluster after the other. */
#include "tests/emulated/emulator.cuh"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/problem/dtype.h"

/* The dynamic shared memory of kernels, as they declare it: only its address counts, which is 0 of every block. */
namespace attn {
alignas(1024) thread_local unsigned char smem_base[1024];
}

namespace emulated {

const std::array<std::vector<float>, ELEMENTS> element_values = [] {
  std::array<std::vector<float>, ELEMENTS> values;
  for (std::vector<float> &table : values) table.resize(1 << 16);
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    values[F16][bits] = attn_dtype_value(ATTN_F16, bits);
    values[BF16][bits] = attn_dtype_value(ATTN_BF16, bits);
    values[E4M3][bits] = attn_dtype_value(ATTN_E4M3, bits & 0xff);
  }
  return values;
}();

namespace {

enum { WARP = 32, GROUP = 128, STACK_BYTES = 128 << 10, NAMED_BARRIERS = 16 };

struct Block;

/* What a thread waits for: for a message, and as a condition. */
struct Wait {
  const char *what;
  uint32_t which;
  bool (*is_over)(const void *condition); /* nullptr: for nothing */
  const void *condition;
};

using Stack = std::unique_ptr<unsigned char[]>;

struct Thread {
  Stack stack;
  jmp_buf place; /* where it goes on */
  Block *block = nullptr;
  uint32_t index = 0;
  Wait wait = {};
  bool has_ended = false;
  uint32_t committed = 0;                    /* batches of products */
  uint32_t issued = 0;                       /* products */
  uint32_t cluster_barriers = 0;             /* that it has waited for */
  std::vector<std::function<void()>> copies; /* since the last commit */
  uint32_t groups = 0;                       /* of copies, committed */
  std::vector<bool> groups_done;
  uint32_t groups_before = 0; /* that are done, all of them */
};

struct Warp {
  uint64_t given[WARP] = {}, taken[2][WARP] = {};
  uint32_t arrived = 0, generation = 0;
};

struct NamedBarrier {
  uint32_t arrived = 0, threads = 0, generation = 0;
};

struct Mbarrier {
  uint32_t arrivals, missing;
  int64_t bytes;
  uint32_t parity;
};

/* Registers of a thread that products in flight write. Until the last of them is done they hold NaN. */
struct Accumulators {
  std::vector<float> value;
  uint32_t products = 0;
};

struct GroupProduct {
  Product product;
  uint32_t batch;
  uint32_t threads = 0; /* that have issued it */
  bool is_eager;
  float *accumulators[GROUP] = {};
  const uint32_t *a[GROUP] = {};
  uint32_t a_then[GROUP][4] = {};
};

struct Group {
  std::deque<GroupProduct> products; /* in flight */
  uint32_t done = 0;                 /* products before these */
  std::map<float *, Accumulators> accumulators;
};

struct Cluster;

struct Block {
  Cluster *cluster = nullptr;
  Index index = {};
  uint32_t rank = 0;
  std::vector<unsigned char> smem;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<Group> groups;
  NamedBarrier named[NAMED_BARRIERS];
  std::map<uint32_t, Mbarrier> mbarriers;
};

struct Cluster {
  const Launch *launch = nullptr;
  const std::function<void()> *body = nullptr;
  std::vector<Block> blocks;
  std::vector<std::function<void()>> copies; /* in flight */
  uint32_t arrived = 0, generation = 0;      /* of the cluster's barrier; each thread waits for each generation */
  std::mt19937_64 random;
};

thread_local Thread *current;
thread_local jmp_buf scheduler;
thread_local std::vector<Stack> stacks; /* of threads that have ended */

/* Back to the scheduler. (_setjmp and _longjmp ask nothing of the system, as swapcontext would.) */
void pause() {
  if (_setjmp(current->place) == 0) _longjmp(scheduler, 1);
}

Group &group_of(const Thread &thread) { return thread.block->groups[thread.index / GROUP]; }

template <typename Condition>
void wait_until(const char *what, uint32_t which, const Condition &is_over) {
  if (is_over()) return;
  Thread *thread = current;
  thread->wait = {what, which, [](const void *condition) { return (*static_cast<const Condition *>(condition))(); },
                  &is_over};
  pause();
  thread->wait = {};
}

void thread_main() {
  (*current->block->cluster->body)();
  current->has_ended = true;
  pause();
}

void start(Thread &thread) {
  if (stacks.empty()) stacks.emplace_back(new unsigned char[STACK_BYTES]);
  thread.stack = std::move(stacks.back());
  stacks.pop_back();
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = thread.stack.get();
  context.uc_stack.ss_size = STACK_BYTES;
  context.uc_link = nullptr;
  makecontext(&context, thread_main, 0);
  setcontext(&context);
}

/* Runs the thread until it waits or ends. */
void resume(Thread &thread) {
  current = &thread;
  if (_setjmp(scheduler) == 0) {
    if (thread.stack == nullptr) start(thread);
    _longjmp(thread.place, 1);
  }
  if (thread.has_ended) stacks.push_back(std::move(thread.stack));
  current = nullptr;
}

[[noreturn]] void fail_deadlocked(const Cluster &cluster) {
  std::map<std::string, uint32_t> counts;
  for (const Block &block : cluster.blocks)
    for (const auto &thread : block.threads) {
      if (thread->has_ended) continue;
      char text[128];
      snprintf(text, sizeof text, "block %u warp %u: %s %u", block.index.x, thread->index / WARP, thread->wait.what,
               thread->wait.which);
      ++counts[text];
    }
  for (const auto &[text, count] : counts) fprintf(stderr, "emulated GPU: %u threads of %s\n", count, text.c_str());
  fail("no thread can go on");
}

/* Some copies, in any order. */
void copy_some(Cluster &cluster, bool must) {
  while (!cluster.copies.empty() && (must || cluster.random() % 4 == 0)) {
    must = false;
    std::swap(cluster.copies[cluster.random() % cluster.copies.size()], cluster.copies.back());
    const auto copy = std::move(cluster.copies.back());
    cluster.copies.pop_back();
    copy();
  }
}

void run_cluster(Cluster &cluster) {
  std::vector<Thread *> all;
  for (Block &block : cluster.blocks)
    for (auto &thread : block.threads) all.push_back(thread.get());
  size_t running = all.size();
  while (running > 0) {
    const size_t first = cluster.random() % all.size();
    bool has_run = false;
    for (size_t i = 0; i < all.size(); ++i) {
      Thread &thread = *all[(first + i) % all.size()];
      if (thread.has_ended || (thread.wait.is_over != nullptr && !thread.wait.is_over(thread.wait.condition)))
        continue;
      resume(thread);
      has_run = true, running -= thread.has_ended;
    }
    if (running > 0 && !has_run && cluster.copies.empty()) fail_deadlocked(cluster);
    copy_some(cluster, !has_run);
  }
  if (!cluster.copies.empty()) fail("a block ended before a copy to it");
  for (const Block &block : cluster.blocks)
    for (const Group &group : block.groups)
      if (!group.products.empty()) fail("a warpgroup ended before its products");
}

Mbarrier &mbarrier_at(Block &block, uint32_t address) {
  const auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end()) fail("no mbarrier was initialised at shared address %u", address);
  return found->second;
}

/* Behind an arrival, and behind bytes that came. */
void mbarrier_advance(Mbarrier &barrier) {
  if (barrier.missing == 0 && barrier.bytes == 0) barrier.missing = barrier.arrivals, barrier.parity ^= 1;
}

/* 16-byte units of a row of 128 bytes lie at their number xor the row's, as addresses have them. */
uint32_t swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

/* Element i of a word of elements. */
float element_of(Element element, uint64_t word, uint32_t i) {
  return element_value(element, (uint16_t)(element == E4M3 ? word >> 8 * i & 0xff : word >> 16 * i));
}

/* The elements of the 16 bytes at an address, which swizzling keeps together. */
void load_unit(const Block &block, Element element, uint32_t address, float *out, uint32_t stride) {
  uint64_t words[2];
  if (address % 16 != 0 || address + 16 > block.smem.size())
    fail("a product reads shared address %u of %zu", address, block.smem.size());
  memcpy(words, &block.smem[address], sizeof words);
  const uint32_t half = 8 / bytes_of(element);
  for (uint32_t i = 0; i < 2 * half; ++i) out[i * stride] = element_of(element, words[i / half], i % half);
}

/* Byte k of row `row` of an operand whose summed dimension lies along the rows of 128 bytes. */
uint32_t address_along(uint64_t descriptor, uint32_t row, uint32_t k) {
  const uint32_t start = (uint32_t)(descriptor & 0x3fff) << 4, eight_rows = (uint32_t)(descriptor >> 32 & 0x3fff)
                                                                            << 4;
  return swizzled(start + row / 8 * eight_rows + row % 8 * 128 + k);
}
/* Element (k, column) of one whose summed dimension is that of the rows, 16 bits each. */
uint32_t address_across(uint64_t descriptor, uint32_t k, uint32_t column) {
  const uint32_t start = (uint32_t)(descriptor & 0x3fff) << 4, eight_rows = (uint32_t)(descriptor >> 32 & 0x3fff)
                                                                            << 4;
  const uint32_t next_slab = (uint32_t)(descriptor >> 16 & 0x3fff) << 4;
  return swizzled(start + column / 64 * next_slab + k / 8 * eight_rows + k % 8 * 128 + 2 * (column % 64));
}

constexpr uint32_t MAX_SUMMED = 32, MAX_COLUMNS = 256, ROWS = 64;

/* Adds the products of a row of A with all columns of B to the sums. */
void add_products(uint32_t summed, uint32_t columns, const float *a, const float (*b)[MAX_COLUMNS], float *sums) {
  float c[MAX_COLUMNS] = {};
  for (uint32_t k = 0; k < summed; ++k)
    for (uint32_t n = 0; n < columns; ++n) c[n] += a[k] * b[k][n];
  for (uint32_t n = 0; n < columns; ++n) sums[n] += c[n];
}
/* The same as the tensor cores of compute capability 9.0 do it for e4m3: every term, and the sum, is cut to 14 bits
 * of the largest. */
void add_products_cut(uint32_t columns, const float *a, const float (*b)[MAX_COLUMNS], float *sums) {
  float most[MAX_COLUMNS], unit[MAX_COLUMNS], c[MAX_COLUMNS];
  for (uint32_t n = 0; n < columns; ++n) most[n] = fabsf(sums[n]);
  for (uint32_t k = 0; k < MAX_SUMMED; ++k)
    for (uint32_t n = 0; n < columns; ++n) most[n] = std::max(most[n], fabsf(a[k] * b[k][n]));
  for (uint32_t n = 0; n < columns; ++n) {
    const uint32_t exponent = (uint32_t)as_bits(most[n]) & 0x7f800000u;
    unit[n] = exponent < 20u << 23 ? 0x1p-120f : from_bits<float>(exponent - (13u << 23));
    c[n] = truncf(sums[n] / unit[n]);
  }
  for (uint32_t k = 0; k < MAX_SUMMED; ++k)
    for (uint32_t n = 0; n < columns; ++n) c[n] += truncf(a[k] * b[k][n] / unit[n]);
  for (uint32_t n = 0; n < columns; ++n) {
    const float sum = c[n] * unit[n], exponent = from_bits<float>((uint32_t)as_bits(sum) & 0x7f800000u);
    const float last = std::max(exponent * 0x1p-13f, 0x1p-120f);
    sums[n] = sum == sum ? truncf(sum / last) * last : sum;
  }
}

void execute(Block &block, Group &group, GroupProduct &p) {
  const Product &product = p.product;
  const uint32_t bytes = bytes_of(product.element), unit = 16 / bytes, summed = 2 * unit;
  static thread_local float a[ROWS][MAX_SUMMED], b[MAX_SUMMED][MAX_COLUMNS], c[MAX_COLUMNS];
  for (uint32_t k = 0; k < summed && product.transposed; ++k)
    for (uint32_t n = 0; n < product.columns; n += unit)
      load_unit(block, product.element, address_across(product.b, k, n), &b[k][n], 1);
  for (uint32_t n = 0; n < product.columns && !product.transposed; ++n)
    for (uint32_t k = 0; k < summed; k += unit)
      load_unit(block, product.element, address_along(product.b, n, k * bytes), &b[k][n], MAX_COLUMNS);
  for (uint32_t t = 0; t < GROUP; ++t) {
    if (!product.from_registers) break;
    for (uint32_t i = 0; i < 4; ++i) {
      if (p.a[t][i] != p.a_then[t][i]) fail("thread %u changed an operand register of a product in flight", t);
      const uint32_t row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8, column = t % 4 * (4 / bytes) + i / 2 * unit;
      for (uint32_t j = 0; j < 4 / bytes; ++j) a[row][column + j] = element_of(product.element, p.a_then[t][i], j);
    }
  }
  for (uint32_t row = 0; row < ROWS && !product.from_registers; ++row)
    for (uint32_t k = 0; k < summed; k += unit)
      load_unit(block, product.element, address_along(product.a, row, k * bytes), &a[row][k], 1);
  for (uint32_t row = 0; row < ROWS; ++row) {
    const auto for_elements = [&](auto with) {
      for (uint32_t quad = 0; quad < 4; ++quad) {
        Accumulators &held = group.accumulators.at(p.accumulators[row / 16 * 32 + row % 8 * 4 + quad]);
        for (uint32_t j = 0; j < product.columns / 8; ++j)
          for (uint32_t i = 0; i < 2; ++i) with(held.value[4 * j + 2 * (row % 16 / 8) + i], c[8 * j + 2 * quad + i]);
      }
    };
    for_elements([&](float &x, float &sum) { sum = product.keep ? x : 0.0f; });
    if (product.element == E4M3 && cuts())
      add_products_cut(product.columns, a[row], b, c);
    else
      add_products(summed, product.columns, a[row], b, c);
    for_elements([](float &x, float &sum) { x = sum; });
  }
  for (float *registers : p.accumulators) {
    const auto held = group.accumulators.find(registers);
    if (--held->second.products > 0) continue;
    std::copy(held->second.value.begin(), held->second.value.end(), registers);
    group.accumulators.erase(held);
  }
}

/* The products before this number. */
void execute_until(Block &block, Group &group, uint32_t end) {
  while (group.done < end) {
    execute(block, group, group.products.front());
    group.products.pop_front(), ++group.done;
  }
}

}  // namespace

void fail(const char *what, ...) {
  va_list list;
  va_start(list, what);
  fputs("emulated GPU: ", stderr);
  vfprintf(stderr, what, list);
  va_end(list);
  if (current != nullptr) fprintf(stderr, " (block %u, thread %u)", current->block->index.x, current->index);
  fputc('\n', stderr);
  abort();
}

bool cuts() {
  static const char *const set = getenv("ATTN_EMULATED_CUT");
  static const bool is_set = set != nullptr && strcmp(set, "1") == 0;
  return is_set;
}

Index thread_index() { return {current->index, 0, 0}; }
Index block_index() { return current->block->index; }
Index grid_size() { return current->block->cluster->launch->grid; }
Index block_size() { return current->block->cluster->launch->block; }
uint32_t lane() { return current->index % WARP; }
uint32_t cluster_rank() { return current->block->rank; }
uint32_t own_rank() { return current->block->rank; }

void run(const Launch &launch, const std::function<void()> &body) {
  const uint32_t threads = launch.block.x;
  if (launch.grid.x % launch.cluster != 0 || launch.block.y != 1 || launch.block.z != 1 || threads % WARP != 0 ||
      launch.smem_bytes > SMEM_MAX)
    fail("this grid, block or shared memory cannot be emulated");
  for (uint32_t z = 0; z < launch.grid.z; ++z)
    for (uint32_t y = 0; y < launch.grid.y; ++y)
      for (uint32_t x = 0; x < launch.grid.x; x += launch.cluster) {
        Cluster cluster;
        cluster.launch = &launch, cluster.body = &body;
        cluster.random.seed(launch.seed + x);
        cluster.blocks = std::vector<Block>(launch.cluster);
        for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
          Block &block = cluster.blocks[rank];
          block.cluster = &cluster, block.index = {x + rank, y, z}, block.rank = rank;
          block.smem.assign(launch.smem_bytes, 0xff); /* NaN in every type */
          block.warps.resize(threads / WARP), block.groups.resize((threads + GROUP - 1) / GROUP);
          for (uint32_t t = 0; t < threads; ++t) {
            block.threads.push_back(std::make_unique<Thread>());
            block.threads.back()->block = &block, block.threads.back()->index = t;
          }
        }
        run_cluster(cluster);
      }
}

unsigned char *shared(uint32_t address, size_t bytes) {
  std::vector<unsigned char> &smem = current->block->smem;
  if (address + bytes > smem.size()) fail("shared address %u is outside of %zu bytes", address, smem.size());
  return &smem[address];
}

void named_barrier(uint32_t id, uint32_t threads, bool waits) {
  NamedBarrier &barrier = current->block->named[id];
  const uint32_t generation = barrier.generation;
  if (barrier.arrived > 0 && barrier.threads != threads)
    fail("named barrier %u is for %u threads and for %u", id, barrier.threads, threads);
  barrier.threads = threads;
  if (++barrier.arrived == threads) barrier.arrived = 0, ++barrier.generation;
  if (waits) wait_until("named barrier", id, [&] { return barrier.generation != generation; });
}

void cluster_arrive() {
  Cluster &cluster = *current->block->cluster;
  if (++cluster.arrived == cluster.blocks.size() * cluster.launch->block.x) cluster.arrived = 0, ++cluster.generation;
}

void cluster_wait() {
  const Cluster &cluster = *current->block->cluster;
  const uint32_t before = current->cluster_barriers++;
  wait_until("cluster barrier", before, [&] { return cluster.generation > before; });
}

void mbarrier_init(uint32_t address, uint32_t arrivals) {
  if (address % 8 != 0) fail("an mbarrier at shared address %u", address);
  shared(address, 8);
  current->block->mbarriers[address] = {arrivals, arrivals, 0, 0};
}

void mbarrier_arrive(uint32_t address, uint32_t rank, uint32_t expected_bytes) {
  Mbarrier &barrier = mbarrier_at(current->block->cluster->blocks[rank], address);
  if (barrier.missing == 0) fail("more than %u arrivals at the mbarrier at %u", barrier.arrivals, address);
  barrier.bytes += expected_bytes;
  --barrier.missing;
  mbarrier_advance(barrier);
}

void mbarrier_wait(uint32_t address, uint32_t parity) {
  Mbarrier &barrier = mbarrier_at(*current->block, address);
  wait_until(parity ? "mbarrier, parity 1, at" : "mbarrier, parity 0, at", address,
             [&] { return barrier.parity != parity; });
}

const uint64_t *gather(uint64_t mine) {
  Warp &warp = current->block->warps[current->index / WARP];
  const uint32_t generation = warp.generation;
  warp.given[lane()] = mine;
  if (++warp.arrived == WARP) {
    std::copy_n(warp.given, (int)WARP, warp.taken[generation % 2]);
    warp.arrived = 0, ++warp.generation;
  }
  wait_until("other lanes", generation, [&] { return warp.generation != generation; });
  return warp.taken[generation % 2];
}

void load_box(uint32_t to, const TensorMap &map, uint32_t barrier, const int32_t (&at)[MAP_DIMS_MAX],
              uint32_t ranks) {
  Cluster &cluster = *current->block->cluster;
  const TensorMap source = map;
  std::vector<int32_t> place(at, at + MAP_DIMS_MAX);
  uint32_t rows = 1;
  for (uint32_t i = 1; i < map.dims; ++i) rows *= map.box[i];
  const uint32_t bytes = rows * 128;
  if (to % 128 != 0 || map.box[0] != 64) fail("a box of %u columns to shared address %u", map.box[0], to);
  for (uint32_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    Block &block = cluster.blocks[rank];
    if (to + bytes > block.smem.size()) fail("a box to shared address %u", to);
    mbarrier_at(block, barrier);
    cluster.copies.push_back([=, &block] {
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < 64; ++column) {
          const unsigned char *from = source.data;
          bool is_inside = (uint64_t)((int64_t)place[0] + column) < source.extent[0];
          from += ((int64_t)place[0] + column) * (int64_t)source.stride_bytes[0];
          for (uint32_t i = 1, rest = row; i < source.dims; rest /= source.box[i], ++i) {
            const int64_t index = (int64_t)place[i] + rest % source.box[i];
            is_inside = is_inside && index >= 0 && (uint64_t)index < source.extent[i];
            from += index * (int64_t)source.stride_bytes[i];
          }
          unsigned char *target = &block.smem[swizzled(to + row * 128 + column * 2)];
          if (is_inside)
            memcpy(target, from, 2);
          else
            memset(target, 0, 2);
        }
      Mbarrier &full = mbarrier_at(block, barrier);
      full.bytes -= bytes;
      mbarrier_advance(full);
    });
  }
}

void copy_async(uint32_t to, const void *from, uint32_t bytes) {
  unsigned char *const target = shared(to, bytes);
  if (to % bytes != 0 || (uintptr_t)from % bytes != 0) fail("a copy of %u bytes to shared address %u", bytes, to);
  current->copies.push_back([=] {
    if (from != nullptr)
      memcpy(target, from, bytes);
    else
      memset(target, 0, bytes);
  });
}

void copies_commit() {
  Thread *const thread = current;
  const uint32_t group = thread->groups++;
  thread->groups_done.push_back(thread->copies.empty());
  if (thread->copies.empty()) return;
  thread->block->cluster->copies.push_back([thread, group, copies = std::move(thread->copies)] {
    for (const auto &copy : copies) copy();
    thread->groups_done[group] = true;
  });
  thread->copies.clear();
}

void copies_wait(uint32_t pending) {
  Thread &thread = *current;
  const uint32_t end = thread.groups - std::min(pending, thread.groups);
  wait_until("groups of copies", end, [&] {
    while (thread.groups_before < end && thread.groups_done[thread.groups_before]) ++thread.groups_before;
    return thread.groups_before >= end;
  });
}

void multiply(const Product &product, float *accumulators, const uint32_t *a) {
  Group &group = group_of(*current);
  const uint32_t thread = current->index % GROUP, index = current->issued++;
  if (index - group.done == group.products.size()) {
    group.products.emplace_back();
    group.products.back().product = product, group.products.back().batch = current->committed;
    group.products.back().is_eager = current->block->cluster->random() % 2 == 0;
  }
  GroupProduct &p = group.products[index - group.done];
  const Product &other = p.product;
  if (other.columns != product.columns || other.a != product.a || other.b != product.b ||
      other.keep != product.keep || p.batch != current->committed)
    fail("the threads of a warpgroup issue different products");
  const uint32_t count = product.columns / 2;
  p.accumulators[thread] = accumulators, p.a[thread] = a;
  if (product.from_registers) std::copy_n(a, 4, p.a_then[thread]);
  Accumulators &held = group.accumulators[accumulators];
  if (held.products++ == 0) held.value.assign(accumulators, accumulators + count);
  std::fill_n(accumulators, count, NAN);
  if (++p.threads == GROUP && p.is_eager) execute_until(*current->block, group, index + 1);
}

void multiply_commit() { ++current->committed; }

void multiply_wait(uint32_t pending) {
  Group &group = group_of(*current);
  const uint32_t batches = current->committed - std::min(pending, current->committed);
  const auto end = [&] {
    uint32_t count = 0;
    while (count < group.products.size() && group.products[count].batch < batches) ++count;
    return count;
  };
  wait_until("products", batches, [&] {
    const uint32_t count = end();
    return count == 0 || group.products[count - 1].threads == GROUP;
  });
  execute_until(*current->block, group, group.done + end());
}

}  // namespace emulated
