/* What this binary is. */
#ifndef ATTNBENCH_CLI_BASE_VERSION_H
#define ATTNBENCH_CLI_BASE_VERSION_H

const char *version_string(void);     /* "0.1.0" */
const char *version_git_commit(void); /* short hash, or "unknown" outside a git checkout */
const char *version_cjson(void);      /* of the library that is linked at run time */

#endif
