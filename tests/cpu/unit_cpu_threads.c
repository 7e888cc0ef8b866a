#include <stdatomic.h>
#include <stdbool.h>

#include "kernels/cpu/threads.h"
#include "tests/unit.h"

enum { TASKS = 1000 };

struct ledger {
  atomic_uint calls[TASKS];
  atomic_uint busy[CPU_THREADS_MAX];
  atomic_uint collisions;
  unsigned threads;
};

static void note_call(void *context, uint64_t index, unsigned worker) {
  struct ledger *ledger = context;
  if (worker >= ledger->threads || index >= TASKS || atomic_fetch_add(&ledger->busy[worker], 1) != 0) {
    ++ledger->collisions;
    return;
  }
  ++ledger->calls[index];
  --ledger->busy[worker];
}

TEST(every_index_runs_once_on_a_worker_of_its_own) {
  static const unsigned threads[] = {1, 2, 7, CPU_THREADS_MAX};
  for (size_t t = 0; t < sizeof threads / sizeof threads[0]; ++t) {
    struct ledger ledger = {.threads = threads[t]};
    cpu_parallel_for(threads[t], TASKS, note_call, &ledger);
    for (uint64_t i = 0; i < TASKS; ++i) assert_int_equal(ledger.calls[i], 1);
    assert_int_equal(ledger.collisions, 0);
  }
}

TEST(odd_counts_are_served) {
  struct ledger none = {.threads = 1}, one = {.threads = 1};
  cpu_parallel_for(4, 0, note_call, &none);
  assert_int_equal(none.calls[0], 0);
  cpu_parallel_for(0, 1, note_call, &one);
  assert_int_equal(one.calls[0], 1);
  assert_int_equal(one.collisions, 0);
}

TEST(more_threads_than_the_maximum_are_cut) {
  struct ledger ledger = {.threads = CPU_THREADS_MAX};
  cpu_parallel_for(4 * CPU_THREADS_MAX, TASKS, note_call, &ledger);
  assert_int_equal(ledger.collisions, 0);
}

TEST(at_least_one_processor_is_available) { assert_in_range(cpu_threads_available(), 1, CPU_THREADS_MAX); }
