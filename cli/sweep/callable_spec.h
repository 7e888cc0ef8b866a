/* The names of Python functions for --load: [NAME=]FILE.py:FUNCTION or [NAME=]package.module:FUNCTION. */
#pragma once

#include <limits.h>

#include "cli/base/hash.h"
#include "kernels/plugin.h"

struct callable_spec {
  char name[ATTN_PLUGIN_NAME_MAX + 1]; /* of its variant: NAME, else the function's in lower case */
  char module[PATH_MAX];               /* the whole path of a file, or a module as Python imports it */
  char function[256];                  /* may be an attribute of a class or an object: "Attention.forward" */
};

/* Whether this text of --load is meant as the name of a Python function. Also true for a Python file without a
 * function, or with an impossible name behind the colon; callable_spec_parse then refuses the text and says what to
 * give. */
bool callable_spec_is(const char *text);
/* STATUS_USAGE when the text is no such name, or its file does not exist. */
struct status callable_spec_parse(const char *text, struct callable_spec *out);
/* The file behind a text of --load. For a Python function it is the file of its module, or "" where only Python knows
 * it; for everything else it is the text itself. */
void callable_spec_file(const char *text, char out[PATH_MAX]);
/* The hash of that file, or of the text where only Python knows the file. */
struct status callable_spec_hash(const char *text, char out[HASH_TEXT_MAX]);
