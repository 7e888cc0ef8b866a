/* attnbench's side of plugin.h: opens an object, checks all that can be checked without calling it, and adds its
 * variants to the registry. Belongs to worker processes: opening runs the object's constructors. */
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

/* Is this an object's description that this build understands? `path` leads the message. */
struct status plugin_check(const char *path, const struct attn_plugin *);
/* Is this variant complete, and are its texts and tunables within what attnbench can hold? */
struct status plugin_check_variant(const char *path, const struct attn_variant *);
/* NULL: the variant's plan can be launched and recorded on a device of this kind. Else a static sentence. A plan that
 * breaks the limits would break the executor, and an object's plan() is nobody's to trust. */
const char *plugin_plan_problem(const struct attn_variant *, const struct attn_plan *, const struct device_info *);
/* What a hook returned, as attnbench can use it: a known code, and a text that ends and is printable. */
struct status plugin_status(const struct status *);

/* The handle to launch a pass with: the plan's own for built-in variants, what the object's hook makes of it for
 * loaded ones. Needs an open GPU. A failure names the object and what to do. */
struct status plugin_launch_handle(const struct attn_variant *, const struct attn_pass *, const void **handle);

#ifdef __cplusplus
}
#endif
#endif
