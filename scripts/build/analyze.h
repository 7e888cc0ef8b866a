/* What analysers cannot see in another file, said here: a status that was made has failed, one that is ok has not. For
 * scripts/build/analyze.sh, which includes it before every source but status.c. */
#include "kernels/status.h"

#define status_make(made, ...) ((struct status){.code = (made) == STATUS_OK ? STATUS_INTERNAL : (made), .text = "?"})
#define status_ok() ((struct status){.code = STATUS_OK})
#define status_failed(made) ((made)->code != STATUS_OK)
