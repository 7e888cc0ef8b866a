/* Variants that take their process down or never return: the supervisor must lose one cell and no more. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/fault.h"

static void fault_crash_run(const struct attn_problem *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  raise(SIGSEGV);
}
FAULT(crash, "raises SIGSEGV");

static void fault_illegal_run(const struct attn_problem *shape, const struct attn_plan *plan,
                              const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  static volatile uintptr_t address = 16;
  *(volatile int *)address = 1;
}
FAULT(illegal, "writes to an illegal address");

/* This processor takes misaligned addresses; its bus error is memory of a file that is too short. */
static void fault_misaligned_run(const struct attn_problem *shape, const struct attn_plan *plan,
                                 const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  const int fd = memfd_create("empty", MFD_CLOEXEC);
  volatile char *memory = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *memory = 1;
}
FAULT(misaligned, "has a bus error");

static void fault_trap_run(const struct attn_problem *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  __builtin_trap();
}
FAULT(trap, "traps");

static void fault_killed_run(const struct attn_problem *shape, const struct attn_plan *plan,
                             const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  raise(SIGKILL);
}
FAULT(killed, "is killed, as where memory runs out");

static void fault_abort_run(const struct attn_problem *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  abort();
}
FAULT(abort, "calls abort()");

static void fault_exit_run(const struct attn_problem *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  exit(0);
}
FAULT(exit, "calls exit(0), as if all were done");

static void fault_hang_run(const struct attn_problem *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  for (;;) sleep(1);
}
FAULT(hang, "never returns");
