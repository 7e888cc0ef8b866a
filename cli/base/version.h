/* The versions of this program and of its libraries. */
#pragma once

const char *version_string(void);     /* "0.1.0" */
const char *version_git_commit(void); /* short hash, or "unknown" outside a git checkout */
const char *version_cjson(void);      /* the version of the cJSON library loaded at run time */
