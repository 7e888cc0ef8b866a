/* Checks the launches, readings and ratios of a cell against its device, and against each other. */
#include "cli/record/journal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/variant.h"

static bool is_apart(double a, double b, double relative) { return fabs(a - b) > relative * fmax(fabs(a), fabs(b)); }

/* Is it more than the device's limit? A limit of 0 is not known. */
static bool is_beyond(uint64_t value, uint64_t limit) { return limit > 0 && value > limit; }

/* ---- launches -------------------------------------------------------------------------------------------------- */

static uint64_t volume(const uint32_t extent[3]) { return (uint64_t)extent[0] * extent[1] * extent[2]; }

static bool is_split_cluster(const struct attn_pass *pass) {
  bool is_split = false;
  for (size_t i = 0; i < 3; ++i) is_split = is_split || pass->grid[i] % pass->cluster[i] != 0;
  return is_split;
}

/* The occupancy calculator does not know future compute capabilities. So each limit of the device is checked by
 * itself, without units of allocation. */
static const char *launch_problem(const struct pass_record *launch, const struct device_info *device) {
  enum { REGISTERS_MOST = 255, CLUSTER_MOST = 16 };
  const struct attn_pass *pass = &launch->pass;
  const struct pass_facts *facts = &launch->facts;
  const uint64_t threads = volume(pass->block), resident = facts->resident_blocks,
                 smem_bytes = (uint64_t)pass->dynamic_smem_bytes + facts->static_smem_bytes;
  const struct rule rules[] = {
      {is_beyond(threads, device->threads_per_block),
       "was launched with more threads in a block than its GPU allows"},
      {is_beyond(smem_bytes, device->smem_per_block_bytes),
       "was launched with more shared memory in a block than its GPU allows"},
      {facts->registers > REGISTERS_MOST, "has more registers in a thread than GPUs have"},
      {volume(pass->cluster) > CLUSTER_MOST || is_split_cluster(pass),
       "was launched with clusters that are too large, or that its grid does not consist of"},
      {is_beyond(resident, device->blocks_per_sm) || is_beyond(resident * threads, device->threads_per_sm) ||
           is_beyond(resident * threads * facts->registers, device->regs_per_sm) ||
           is_beyond(resident * smem_bytes, device->smem_per_sm_bytes),
       "has more blocks on an SM than fit there"},
  };
  return RULE_FIRST_BROKEN(rules);
}

/* A pass that is measured alone finds nothing in caches, and its time includes that of the events. In 314 passes on
 * an H200 the slowest took 1.1 times as long as all passes of its plan together. Refused: more than 8 times their
 * cold time and 50 us. */
static bool is_longer_than_all(const struct pass_record *launch, const struct record *record) {
  const struct time_record *cold = &record->time[TIME_COLD];
  return cold->done && launch->cold_us > 8 * cold->us.median + 50;
}

static const char *launches_problem(const struct record *record, const struct device_info *device) {
  const char *problem = NULL;
  if (is_beyond(record->plan.workspace_bytes, device->memory_bytes)) return "has a workspace beyond its GPU's memory";
  for (uint32_t i = 0; i < record->plan.pass_count && problem == NULL; ++i) {
    problem = launch_problem(&record->pass[i], device);
    if (problem == NULL && (record->pass[i].cold_us < 0 || is_longer_than_all(&record->pass[i], record)))
      problem = "has a pass that takes longer than all of them, or less than no time";
  }
  return problem;
}

/* ---- readings -------------------------------------------------------------------------------------------------- */

/* Only steady times have an energy, which is their power times their duration (steady_measure). Refused: an energy
 * that differs from that by more than 1 %, or of another mode. */
static bool is_energy(enum time_mode mode, const struct time_record *time) {
  const double energy_j = time->energy_j, product_j = time->power_w * time->elapsed_s;
  if (isnan(energy_j) || energy_j == 0) return true;
  return mode == TIME_STEADY && energy_j > 0 && !(is_apart(energy_j, product_j, 0.01));
}

/* For a moment a board may draw more than its limit: in 4000 times of an H200, 1 % more. Refused: more than 75 %
 * above the limit, and clocks more than 5 % above the highest. */
static const char *gpu_reading_problem(enum time_mode mode, const struct time_record *time,
                                       const struct device_policy *policy) {
  const struct rule rules[] = {
      {policy->known && policy->power_limit_w > 0 && time->power_w > 1.75 * policy->power_limit_w,
       "drew more power than the limit of its GPU"},
      {policy->known && policy->max_sm_clock_mhz > 0 && time->sm_clock_mhz > 1.05 * policy->max_sm_clock_mhz,
       "ran at a clock above the highest that its GPU may be asked for"},
      {policy->known && policy->max_sm_clock_mhz > 0 &&
           policy->application_sm_clock_mhz > 1.05 * policy->max_sm_clock_mhz,
       "was measured at a clock asked for that is above the highest that may be"},
      {!is_energy(mode, time), "has an energy that is not its power over its time"},
      {time->waited_ratio > 0 || time->others_load > 0, "has the load of a CPU on a GPU"},
  };
  return RULE_FIRST_BROKEN(rules);
}

static const char *cpu_reading_problem(const struct time_record *time) {
  const struct rule rules[] = {
      {time->sm_clock_mhz > 0, "has an SM clock on a CPU"},
      {time->throttle_reasons != 0, "has a GPU's reasons for a lower clock on a CPU"},
      {time->power_w > 0 || time->energy_j > 0 || time->temperature_c > 0, "has a GPU's readings on a CPU"},
      {time->waited_ratio > 1.01, "waited for a processor longer than it took"},
  };
  return RULE_FIRST_BROKEN(rules);
}

static const char *reading_problem(enum time_mode mode, const struct time_record *time,
                                   const struct device_info *device, const struct device_policy *policy) {
  if (!time->done) return NULL;
  return device->kind == DEVICE_CUDA ? gpu_reading_problem(mode, time, policy) : cpu_reading_problem(time);
}

/* ---- ratios ---------------------------------------------------------------------------------------------------- */

/* kernels_alone is the ratio without the time of memsets. They are timed for short launches only, so the value may be
 * missing. */
static bool is_kernels_alone(const struct ratio_record *ratio, const struct time_record *time) {
  const double follows =
      record_kernels_alone(ratio->ratio, time->us.median, ratio->reference_memset_us, ratio->memset_us);
  const bool is_none = !(ratio->kernels_alone != 0) || isnan(ratio->kernels_alone);
  if (is_none) return !(ratio->memset_us > 0) && !(ratio->reference_memset_us > 0);
  return time->done && !is_apart(ratio->kernels_alone, follows, 1e-9);
}

static const char *ratio_problem(const struct record *record) {
  bool any = false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct ratio_record *ratio = &record->speedup.mode[mode];
    if (!ratio->done) continue;
    any = true;
    if (!is_kernels_alone(ratio, &record->time[mode]))
      return "has a ratio of kernels alone that is not that of its times";
  }
  if (any && strcmp(record->speedup.reference, record->variant) == 0) return "has a ratio to itself";
  return NULL;
}

/* The time of a kernel on growing maxima over that on random inputs: 0.59 to 2 on an H200. Refused: above 20 or below
 * 1/20 on a GPU, above 1000 or below 1/1000 on a CPU, which may be busy. */
static bool is_dependence(double ratio, enum device_kind kind) {
  const double most = kind == DEVICE_CUDA ? 20 : 1000;
  return isnan(ratio) || ratio == 0 || (ratio >= 1 / most && ratio <= most);
}

/* The bound of an error is an absolute part and a relative part, times the magnitude of the output. In 2000 rows of
 * an H200 the largest error was 8 times the relative part. Refused: 256 times, or 1e6 times where the output has 32
 * bits or the inputs have outliers or scales. */
static bool is_error(const struct record *record) {
  const struct attn_problem *shape = &record->attn_case.shape;
  const struct check_record *check = &record->check;
  const bool is_plain = shape->outliers == 0 && !attn_dtype_is_scaled(shape->dtype) &&
                        !attn_dtype_is_scaled(attn_kv_dtype(shape)) && attn_dtype_bytes(attn_out_dtype(shape)) == 2;
  const double magnitude = is_plain ? 256 : 1e6;
  return !check->known ||
         !(check->compare.max_abs_error > check->tolerance.absolute + magnitude * check->tolerance.relative);
}

static bool is_host(enum attn_math math) { return math == ATTN_MATH_FP64_HOST || math == ATTN_MATH_FP32_HOST; }

/* Only of built-in variants is it known whether they compute on the host. */
static bool is_own_math(const struct record *record) {
  char name[sizeof record->picked];
  const char *of = record->picked[0] != '\0' ? record->picked : record->variant;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(of, ":"), of);
  const struct attn_variant *variant = variant_find(name);
  if (variant == NULL || variant_is_added(variant)) return true;
  return is_host(record->math) == is_host(variant_math(variant, record->attn_case.shape.dtype));
}

static const char *check_problem(const struct record *record, const struct device_info *device) {
  const struct oracle_result *oracle = &record->check.oracle;
  const struct rule rules[] = {
      {device->kind == DEVICE_CPU && oracle->name != NULL && strcmp(oracle->name, "gpu_fp64") == 0,
       "was measured on a CPU and checked on a GPU"},
      {!is_own_math(record), "computes on a GPU where its variant does on a CPU, or the other way round"},
      {!is_error(record), "is ok with an error beyond every output of random inputs"},
      {oracle->quantisation.rmse < 0 || oracle->quantisation.rmse > oracle->quantisation.max,
       "has a mean error of quantisation that is not within its largest"},
      {!is_dependence(record->data_dependence_ratio, device->kind), "has times on growing maxima that no kernel has"},
  };
  return RULE_FIRST_BROKEN(rules);
}

const char *within_problem(const struct record *record, const struct device_info *device,
                           const struct device_policy *policy) {
  const char *problem = check_problem(record, device);
  if (problem == NULL) problem = ratio_problem(record);
  if (problem == NULL && device->kind == DEVICE_CUDA) problem = launches_problem(record, device);
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && problem == NULL; ++mode)
    problem = reading_problem(mode, &record->time[mode], device, policy);
  return problem;
}
