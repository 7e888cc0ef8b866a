/* The table of what two parts of one run have in common. */
#include "cli/command/alike.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"

typedef void alike_text(const struct journal_data *, char out[ALIKE_TEXT_MAX]);

#define TEXT(name_, format_, ...)                                                \
  static void name_(const struct journal_data *data, char out[ALIKE_TEXT_MAX]) { \
    snprintf(out, ALIKE_TEXT_MAX, format_, __VA_ARGS__);                         \
  }
#define NUMBER(value) isfinite(value) ? (value) : 0

TEXT(kind, "%s", data->device.kind == DEVICE_CUDA ? "a GPU" : "the CPU")
TEXT(by_card, "%s", data->run.by_card ? "given" : "not given")
TEXT(rounds, "%" PRIu32, data->run.setup.rounds)
TEXT(modes, "%s", data->run.setup.modes[0] != '\0' ? data->run.setup.modes : "none")
TEXT(sweep, "%.64s (%s)", data->run.sweep_name, data->run.sweep_hash)
TEXT(shard, "%s", data->run.shard[0] != '\0' ? data->run.shard : "none")
TEXT(shards, "%s", data->run.shard + strcspn(data->run.shard, "/"))
TEXT(selected, "%s", data->run.setup.cells)
TEXT(cells, "%" PRIu64 " (%s)", data->run.cell_count, data->run.setup.cells)
TEXT(seed, "%" PRIu64, data->run.seed)
TEXT(reference, "%s", data->run.setup.reference[0] != '\0' ? data->run.setup.reference : "none")
TEXT(inject, "%s", data->run.setup.inject[0] != '\0' ? data->run.setup.inject : "none")
TEXT(quick, "%s", data->run.quick ? "--quick" : "full")
TEXT(planned_gpu, "%s", data->run.planned_gpu)
TEXT(program, "%s, commit %s (%s)", data->run.version, data->run.git_commit, data->run.setup.program)
TEXT(objects, "%s", data->run.setup.objects[0] != '\0' ? data->run.setup.objects : "none")
TEXT(device, "%s, %" PRIu32 " SMs, driver %s", data->device.name, data->device.sms, data->device.driver)
TEXT(uuid, "%s", data->device.uuid[0] != '\0' ? data->device.uuid : "none")
TEXT(policy, "MIG %s, ECC %s, %.0f W, clocks %.0f and %.0f MHz", data->policy.mig, data->policy.ecc,
     NUMBER(data->policy.power_limit_w), NUMBER(data->policy.application_sm_clock_mhz),
     NUMBER(data->policy.application_memory_clock_mhz))
TEXT(host, "%s", data->policy.host_cpu)

static const struct alike {
  const char *name;
  unsigned parts;     /* that must have it in common */
  bool of_device;     /* not known before the device's line was written */
  bool is_one_report; /* as in struct alike_difference */
  alike_text *text;
} alike[] = {
    {"kind of device", ALIKE_RUN | ALIKE_SHARDS, true, true, kind},
    {"--devices", ALIKE_RUN, false, true, by_card},
    {"number of --rounds", ALIKE_RUN | ALIKE_SHARDS, false, true, rounds},
    {"times taken", ALIKE_RUN | ALIKE_SHARDS, false, true, modes},
    {"sweep", ALIKE_RUN | ALIKE_SHARDS, false, false, sweep},
    {"--shard", ALIKE_RUN, false, true, shard},
    {"number of shards", ALIKE_SHARDS, false, true, shards},
    {"selected cells", ALIKE_RUN, false, false, cells},
    {"selected cells", ALIKE_SHARDS, false, false, selected},
    {"seed", ALIKE_RUN | ALIKE_SHARDS, false, false, seed},
    {"reference", ALIKE_RUN | ALIKE_SHARDS, false, false, reference},
    {"injected slowdown", ALIKE_RUN | ALIKE_SHARDS, false, false, inject},
    {"time budget", ALIKE_RUN | ALIKE_SHARDS, false, false, quick},
    {"planned GPU", ALIKE_RUN | ALIKE_SHARDS, false, false, planned_gpu},
    {"program", ALIKE_RUN | ALIKE_SHARDS, false, false, program},
    {"objects of --load", ALIKE_RUN | ALIKE_SHARDS, false, false, objects},
    {"device", ALIKE_RUN | ALIKE_SHARDS, true, false, device},
    {"device's UUID", ALIKE_RUN, true, false, uuid},
    {"device settings", ALIKE_RUN | ALIKE_SHARDS, true, false, policy},
    {"host CPU", ALIKE_RUN | ALIKE_SHARDS, true, false, host},
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
