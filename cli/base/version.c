/* The version of this program and of the libraries in it. */
#include "cli/base/program.h"

#include <cjson/cJSON.h>

#include "version_data.h" /* written by the build */

const char *version_string(void) { return ATTNBENCH_VERSION; }
const char *version_git_commit(void) { return ATTNBENCH_GIT_COMMIT; }
const char *version_cjson(void) { return cJSON_Version(); }
