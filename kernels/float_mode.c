/* Restores the default floating-point mode. */
#include "kernels/float_mode.h"

#include <fenv.h>

static bool has_strayed;

/* The bits of the register that flush denormals; the C library tells the others. */
static bool flushes_denormals(void) {
#if defined(__SSE__)
  return (__builtin_ia32_stmxcsr() & 0x8040u) != 0;
#elif defined(__aarch64__)
  return (__builtin_aarch64_get_fpcr() & 0x1000000u) != 0;
#else
  return false;
#endif
}

void float_mode_restore(void) {
  if (fegetround() == FE_TONEAREST && fegetexcept() == 0 && !flushes_denormals()) return;
  has_strayed = true;
  fesetenv(FE_DFL_ENV);
}

bool float_mode_strayed(void) {
  float_mode_restore();
  const bool result = has_strayed;
  has_strayed = false;
  return result;
}
