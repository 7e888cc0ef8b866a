/* Python functions as variants (callable_spec.h): a worker opens libpython, and the function becomes a library that
 * launches its own kernels (struct attn_vendor), on a GPU through PyTorch, on a CPU through NumPy. For worker
 * processes only: opening runs the user's code. */
#pragma once

#include "kernels/variant.h"

/* Imports the function and adds its variant to the registry until the process ends. STATUS_USAGE says what is wrong
 * with the text, the interpreter or the module, in the words of Python's exception. The interpreter is that of
 * ATTN_PYTHON, else python3; device_spec is as for device_open, NULL in a process that only describes. */
struct status callable_add(const char *text, const char *device_spec);
