/* Loads the shared objects of plugin.h: opens an object, checks everything that can be checked without calling it,
 * and adds its variants to the registry. For worker processes only, since opening runs the object's constructors. */
#ifndef ATTNBENCH_KERNELS_PLUGIN_LOAD_H
#define ATTNBENCH_KERNELS_PLUGIN_LOAD_H

#include "kernels/plugin.h"
#include "kernels/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the object and adds its variants. STATUS_USAGE names the object, what is wrong with it and what to do; then
 * none of its variants was added. The object stays open until the process ends. */
struct status plugin_load(const char *path);

/* Checks that this build understands the object's description. The message begins with `path`. */
struct status plugin_check(const char *path, const struct attn_plugin *);
/* Checks that the variant is complete, and that its texts and tunables are within the limits of attnbench. */
struct status plugin_check_variant(const char *path, const struct attn_variant *);
/* Checks the result of an object's plan(), which may be invalid. NULL: the plan can be launched and recorded on a
 * device of this kind. Else a static sentence that says why not. */
const char *plugin_plan_problem(const struct attn_variant *, const struct attn_plan *, const struct device_info *);
/* Makes a hook's status safe to use: a known code, and a text that is terminated and printable. */
struct status plugin_status(const struct status *);

/* The handle to launch a pass with: that of the plan for built-in variants, the result of the object's launch_handle
 * hook for loaded ones. Needs an open GPU. A failure names the object and what to do. */
struct status plugin_launch_handle(const struct attn_variant *, const struct attn_pass *, const void **handle);

#ifdef __cplusplus
}
#endif
#endif
