/* Variants that take their process down or never return: the supervisor must lose one cell and no more. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/faults/fault.h"

static void fault_crash_run(const struct attn_shape *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  raise(SIGSEGV);
}
FAULT(crash, "raises SIGSEGV");

static void fault_abort_run(const struct attn_shape *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  abort();
}
FAULT(abort, "calls abort()");

static void fault_exit_run(const struct attn_shape *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  exit(0);
}
FAULT(exit, "calls exit(0), as if all were done");

static void fault_hang_run(const struct attn_shape *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  for (;;) sleep(1);
}
FAULT(hang, "never returns");
