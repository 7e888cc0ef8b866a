/* The names of Python functions for --load: [NAME=]FILE.py:FUNCTION or [NAME=]package.module:FUNCTION. */
#pragma once

#include <limits.h>

#include "cli/base/hash.h"
#include "kernels/plugin.h"
#include "kernels/status.h"

struct callable_spec {
  char name[ATTN_PLUGIN_NAME_MAX + 1]; /* of its variant: NAME, else the function's in lower case */
  char module[PATH_MAX];               /* a file, its path whole, or a module as Python imports it */
  char function[256];                  /* may be an attribute of a class or an object: "Attention.forward" */
};

/* Is this text of --load meant as the name of a Python function? It is, too, where it names a file of Python and no
 * function, or none that can be: parsing refuses it and says what to give. */
bool callable_spec_is(const char *text);
/* STATUS_USAGE when it is no such name, or its file is not there. */
struct status callable_spec_parse(const char *text, struct callable_spec *out);
/* The file that a text of --load names: of a function that of its module, "" where only Python knows it; else the
 * text itself. */
void callable_spec_file(const char *text, char out[PATH_MAX]);
/* The hash of that file; of the text where only Python knows the file. */
struct status callable_spec_hash(const char *text, char out[HASH_TEXT_MAX]);
