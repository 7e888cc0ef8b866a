/* The table of what two parts of one run have in common. */
#include "cli/record/journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"

#define NUMBER(value)       isfinite(value) ? (value) : 0
#define NONE_IF_EMPTY(text) (text)[0] != '\0' ? (text) : "none"
#define BOTH                (ALIKE_RUN | ALIKE_SHARDS)
#define ALL                 (ALIKE_RUN | ALIKE_SHARDS | ALIKE_ROUNDS)

/* ALIKE(function, name, parts that must agree in it, is it a property of the device, must rows of one report agree in
 * it, printf format and values of its text from `data`). Properties of the device are unknown until the device line.
 */
#define ALIKE_MAP(X)                                                                                              \
  X(kind, "kind of device", BOTH, true, true, "%s", data->device.kind == DEVICE_CUDA ? "a GPU" : "the CPU")       \
  X(by_card, "--devices", ALIKE_RUN, false, true, "%s", data->run.by_card ? "given" : "not given")                \
  X(rounds, "number of --rounds", BOTH, false, true, "%" PRIu32, data->run.setup.rounds)                          \
  X(modes, "times taken", BOTH, false, true, "%s", NONE_IF_EMPTY(data->run.setup.modes))                          \
  X(sweep, "sweep", ALL, false, false, "%.64s (%s)", data->run.sweep_name, data->run.sweep_hash)                  \
  X(shard, "--shard", ALIKE_RUN, false, true, "%s", NONE_IF_EMPTY(data->run.shard))                               \
  X(shards, "number of shards", ALIKE_SHARDS, false, true, "%s", data->run.shard + strcspn(data->run.shard, "/")) \
  X(cells, "selected cells", ALIKE_RUN, false, false, "%" PRIu64 " (%s)", data->run.cell_count,                   \
    data->run.setup.cells)                                                                                        \
  X(selected, "selected cells", ALIKE_SHARDS, false, false, "%s", data->run.setup.cells)                          \
  X(seed, "seed", ALL, false, false, "%" PRIu64, data->run.seed)                                                  \
  X(reference, "reference", BOTH, false, false, "%s", NONE_IF_EMPTY(data->run.setup.reference))                   \
  X(inject, "injected slowdown", BOTH, false, false, "%s", NONE_IF_EMPTY(data->run.setup.inject))                 \
  X(quick, "time budget", BOTH, false, false, "%s", data->run.quick ? "--quick" : "full")                         \
  X(planned_gpu, "planned GPU", BOTH, false, false, "%s", data->run.planned_gpu)                                  \
  X(program, "program", ALL, false, false, "%s, commit %s (%s)", data->run.version, data->run.git_commit,         \
    data->run.setup.program)                                                                                      \
  X(objects, "objects of --load", ALL, false, false, "%s", NONE_IF_EMPTY(data->run.setup.objects))                \
  X(device, "device", ALL, true, false, "%s, %" PRIu32 " SMs, driver %s", data->device.name, data->device.sms,    \
    data->device.driver)                                                                                          \
  X(uuid, "device's UUID", ALIKE_RUN | ALIKE_ROUNDS, true, false, "%s", NONE_IF_EMPTY(data->device.uuid))         \
  X(policy, "device settings", BOTH, true, false, "MIG %s, ECC %s, %.0f W, clocks %.0f and %.0f MHz",             \
    data->policy.mig, data->policy.ecc, NUMBER(data->policy.power_limit_w),                                       \
    NUMBER(data->policy.application_sm_clock_mhz), NUMBER(data->policy.application_memory_clock_mhz))             \
  X(host, "host CPU", BOTH, true, false, "%s", data->policy.host_cpu)

#define ALIKE_TEXT(function, name_, parts_, of_device_, is_one_report_, format_, ...) \
  static void function(const struct journal_data *data, char out[ALIKE_TEXT_MAX]) {   \
    snprintf(out, ALIKE_TEXT_MAX, format_, __VA_ARGS__);                              \
  }
ALIKE_MAP(ALIKE_TEXT)
#undef ALIKE_TEXT

static const struct alike {
  const char *name;
  unsigned parts;
  bool of_device, is_one_report;
  void (*text)(const struct journal_data *, char out[ALIKE_TEXT_MAX]);
} alike[] = {
#define ALIKE_ROW(function, name_, parts_, of_device_, is_one_report_, ...) \
  {name_, parts_, of_device_, is_one_report_, function},
    ALIKE_MAP(ALIKE_ROW)
#undef ALIKE_ROW
};
_Static_assert(sizeof alike / sizeof *alike <= ALIKE_MAX, "every property may differ");

size_t alike_compare(enum alike_parts parts, const struct journal_data *first, const struct journal_data *second,
                     struct alike_difference out[ALIKE_MAX]) {
  const bool has_devices = first->has_device && second->has_device;
  size_t count = 0;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; ++i) {
    const struct alike *row = &alike[i];
    struct alike_difference *found = &out[count];
    if ((row->parts & parts) == 0 || (row->of_device && !has_devices)) continue;
    *found = (struct alike_difference){
        .name = row->name, .of_device = row->of_device, .is_one_report = row->is_one_report};
    row->text(first, found->first);
    row->text(second, found->second);
    count += strcmp(found->first, found->second) != 0;
  }
  return count;
}

void alike_add_name(const char *name, char differs[RECORD_DIFFERS_MAX]) {
  text_append(differs, RECORD_DIFFERS_MAX, "%s%s", differs[0] != '\0' ? ", " : "", name);
}
