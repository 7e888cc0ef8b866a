/* Runs a loop's items on all cores. */
#include "kernels/cpu/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

struct cpu_loop {
  void (*task)(void *context, uint64_t index, unsigned worker);
  void *context;
  uint64_t tasks;
  atomic_uint_fast64_t next;
};

struct cpu_worker {
  struct cpu_loop *loop;
  unsigned index;
  bool started;
  pthread_t thread;
};

unsigned cpu_threads_available(void) {
  cpu_set_t set;
  /* Fails on machines with more processors than cpu_set_t has bits. */
  long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  if (count < 1) count = 1;
  return count > CPU_THREADS_MAX ? CPU_THREADS_MAX : (unsigned)count;
}

static void *cpu_worker_run(void *argument) {
  const struct cpu_worker *worker = argument;
  struct cpu_loop *loop = worker->loop;
  for (;;) {
    const uint64_t index = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (index >= loop->tasks) return NULL;
    loop->task(loop->context, index, worker->index);
  }
}

void cpu_parallel_for(unsigned threads, uint64_t tasks, void (*task)(void *context, uint64_t index, unsigned worker),
                      void *context) {
  struct cpu_loop loop = {.task = task, .context = context, .tasks = tasks};
  struct cpu_worker workers[CPU_THREADS_MAX];
  if (threads > CPU_THREADS_MAX) threads = CPU_THREADS_MAX;
  if (threads > tasks) threads = (unsigned)tasks;
  if (threads < 1) threads = 1;
  for (unsigned i = 0; i < threads; ++i) {
    workers[i] = (struct cpu_worker){.loop = &loop, .index = i};
    if (i > 0) workers[i].started = pthread_create(&workers[i].thread, NULL, cpu_worker_run, &workers[i]) == 0;
  }
  cpu_worker_run(&workers[0]);
  for (unsigned i = 1; i < threads; ++i) {
    if (workers[i].started) pthread_join(workers[i].thread, NULL);
  }
}
