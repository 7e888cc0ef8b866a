/* --shard: which part of a run this process measures, as given or as its launcher says. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/table.h"

/* What launchers tell each process. Where the first task's number is not 0, `first` says which it is. */
static const struct launcher {
  const char *index, *count, *first, *step;
} jobs[] = {{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"}},
  /* The innermost first: a process that mpirun starts inside of a Slurm job has the variables of both. */
    processes[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
                   {"PMI_RANK", "PMI_SIZE", NULL, NULL},
                   {"SLURM_PROCID", "SLURM_NTASKS", NULL, NULL}};

static bool read_whole(const char *text, const char **end, uint64_t *out) {
  char *after = NULL;
  if (text == NULL || text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  *out = strtoull(text, &after, 10);
  *end = after;
  return errno == 0;
}

/* `otherwise` where the variable has no name or is not set. */
static struct status read_variable(const char *name, uint64_t otherwise, uint64_t *out) {
  const char *text = name != NULL ? getenv(name) : NULL, *end = "";
  *out = otherwise;
  if (text == NULL || (read_whole(text, &end, out) && *end == '\0')) return status_ok();
  return status_make(STATUS_USAGE, "--shard auto: %s is \"%.40s\", not a whole number; give --shard I/N", name, text);
}

/* Multiplies the parts that there are by those of this launcher. */
static struct status take_part(const struct launcher *launcher, uint64_t *index, uint64_t *count) {
  uint64_t id, of, first, step;
  TRY(read_variable(launcher->index, 0, &id));
  TRY(read_variable(launcher->count, 0, &of));
  TRY(read_variable(launcher->first, 0, &first));
  TRY(read_variable(launcher->step, 1, &step));
  const bool is_sound = of > 0 && of <= SWEEP_CASES_MAX && step > 0 && id >= first && (id - first) % step == 0 &&
                        (id - first) / step < of;
  if (!is_sound)
    return status_make(STATUS_USAGE,
                       "--shard auto: %s is %" PRIu64 " and %s is %" PRIu64
                       ", but the tasks must be numbered without a gap; give --shard I/N",
                       launcher->index, id, launcher->count, of);
  *index = *index * of + (id - first) / step;
  *count *= of;
  return status_ok();
}

static struct status take_first(const struct launcher *launchers, size_t launcher_count, bool *is_any,
                                uint64_t *index, uint64_t *count) {
  for (size_t i = 0; i < launcher_count; ++i) {
    if (getenv(launchers[i].index) == NULL || getenv(launchers[i].count) == NULL) continue;
    *is_any = true;
    return take_part(&launchers[i], index, count);
  }
  return status_ok();
}

static struct status read_auto(uint64_t *index, uint64_t *count) {
  bool is_any = false;
  *index = 0;
  *count = 1;
  TRY(take_first(jobs, sizeof jobs / sizeof *jobs, &is_any, index, count));
  TRY(take_first(processes, sizeof processes / sizeof *processes, &is_any, index, count));
  ++*index;
  if (is_any) return status_ok();
  return status_make(STATUS_USAGE,
                     "--shard auto: no launcher says which task this is: neither SLURM_ARRAY_TASK_ID and _COUNT, nor "
                     "SLURM_PROCID and SLURM_NTASKS, nor those of Open MPI or PMI are set; give --shard I/N");
}

static struct status read_given(const char *text, uint64_t *index, uint64_t *count) {
  const char *end = "";
  const bool is_read =
      read_whole(text, &end, index) && *end == '/' && read_whole(end + 1, &end, count) && *end == '\0';
  if (is_read) return status_ok();
  return status_make(STATUS_USAGE, "--shard %.60s is not I/N, such as 2/4 for the second of four shards, nor auto",
                     text);
}

struct status options_shard(struct options *out) {
  const char *text = out->shard;
  uint64_t index, count;
  if (text == NULL) return status_ok();
  TRY(strcmp(text, "auto") == 0 ? read_auto(&index, &count) : read_given(text, &index, &count));
  if (index < 1 || index > count || count > SWEEP_CASES_MAX)
    return status_make(STATUS_USAGE,
                       "--shard %.60s: there is no shard %" PRIu64 " of %" PRIu64
                       "; shards are numbered from 1, and there are at most %d",
                       text, index, count, SWEEP_CASES_MAX);
  out->shard_value = (struct shard){.index = (uint32_t)index, .count = (uint32_t)count};
  return status_ok();
}
