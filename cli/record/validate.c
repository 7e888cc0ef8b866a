/* Refuses journals and reports that contradict themselves. */
#include "cli/record/journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/calendar.h"
#include "cli/record/field_tables.h"
#include "kernels/gpu_models.h"

/* ---- the device ---------------------------------------------------------------------------------------------- */

/* A card may be made to run faster, and a later version may correct the table. A driver that does not tell says 0. */
static bool is_about(double said, double known) { return known == 0 || (said >= known / 2 && said <= known * 2); }
static bool is_about_or_0(double said, double known) { return said == 0 || is_about(said, known); }

/* Of a card with MIG some are switched off. */
static const char *model_problem(const struct device_info *said, const struct device_info *model) {
  if (said->cc_major != model->cc_major || said->cc_minor != model->cc_minor)
    return "has a compute capability that this GPU does not have";
  if (said->sms == 0 || said->sms > model->sms) return "has a number of SMs that this GPU does not have";
  if (said->memory_bytes > model->memory_bytes + model->memory_bytes / 10) return "has more memory than this GPU";
  if (!is_about_or_0(said->dram_gb_per_s, model->dram_gb_per_s)) return "has a DRAM rate that this GPU does not have";
  if (!is_about_or_0((double)said->l2_bytes, (double)model->l2_bytes)) return "has an L2 that this GPU does not have";
  return is_about_or_0(said->sm_clock_max_mhz, model->sm_clock_max_mhz)
             ? NULL
             : "has a highest clock that this GPU does not have";
}

/* NULL, or what no such device has. What is not in the table is not judged. */
static const char *device_problem(const struct device_info *info) {
  const struct gpu_model *model = gpu_model_of(info->name);
  double tensor, fp32;
  if (info->kind == DEVICE_CPU && info->name[0] != '\0' && info->sms == 0) return "has no thread";
  if (info->kind != DEVICE_CUDA) return NULL;
  if (info->driver_version > 0 && info->driver_version / 1000 < info->runtime_version / 1000)
    return "has a driver too old for its CUDA runtime";
  gpu_model_rates(info, &tensor, &fp32);
  if (!is_about(info->tensor_flop_per_clk_sm, tensor)) return "has a tensor rate that this GPU does not have";
  if (!is_about(info->fp32_flop_per_clk_sm, fp32)) return "has an fp32 rate that this GPU does not have";
  return model != NULL ? model_problem(info, &model->info) : NULL;
}

/* Is the clock unknown (NAN), or one that the device can have? */
static bool is_clock(const struct device_info *device, double sm_clock_mhz) {
  static const double slowest_mhz = 10, fastest_mhz = 10000,
                      reading = 1.05; /* a clock between two stamps is rounded */
  const bool is_known = device->kind == DEVICE_CUDA && device->sm_clock_max_mhz > 0;
  const double most_mhz = is_known ? reading * device->sm_clock_max_mhz : fastest_mhz;
  return isnan(sm_clock_mhz) || (sm_clock_mhz >= slowest_mhz && sm_clock_mhz <= most_mhz);
}

/* ---- times --------------------------------------------------------------------------------------------------- */

bool validate_is_time(double us) { return us >= 1e-3 && us <= 86400e6; }

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool is_ordered(const struct stats *us) {
  return us->min <= us->p25 && us->p25 <= us->median && us->median <= us->p75 && us->p75 <= us->p95 &&
         us->p95 <= us->max && us->min <= us->ci_low && us->ci_low <= us->median && us->median <= us->ci_high &&
         us->ci_high <= us->max;
}

/* Samples are taken one after the other, and half of them take the median or more. */
static bool is_longer_than_sampling(const struct time_record *time) {
  const uint32_t n = time->us.n;
  const double least_us = (n - n / 2) * time->us.median + n / 2 * time->us.min;
  return least_us * time->launches_per_sample > 1.01e6 * time->elapsed_s;
}

/* All versions asked for 0.5 %. Intervals of fewer samples are their range. */
static bool is_stopped_too_early(const struct time_record *time) {
  return time->stop == STATS_STOP_INTERVAL && time->us.n >= 6 && stats_relative_half_width(&time->us) > 0.0051;
}

/* NULL, or what is wrong with the time of one mode. */
static const char *time_problem(enum time_mode mode, const struct time_record *time,
                                const struct device_info *device) {
  const struct stats *us = &time->us;
  if (!validate_is_time(us->min) || !validate_is_time(us->max)) return "has an impossible time";
  if (us->n == 0 || us->n > TIME_SAMPLES_MAX) return "has times of no samples, or of more than a time is made of";
  if (!is_ordered(us)) return "has quantiles that are out of order";
  if (!(us->mad >= 0) || us->mad > fmax(us->max - us->median, us->median - us->min))
    return "has an impossible deviation (mad)";
  if (us->n == 1 && us->min < us->max) return "has a spread of a single sample";
  if (us->mad == 0 && us->p25 < us->median && us->median < us->p75)
    return "has quartiles on both sides of its median, and no deviation (mad)"; /* half of the samples are the median
                                                                                 */
  if (time->waited_ratio < 0) return "has waited for less than no time";
  if (time->others_load < 0) return "was measured beside less than no load";
  if (is_stopped_too_early(time)) return "has samples that ended for a narrow interval, which is wide";
  if (time->launches_per_sample == 0) return "has samples of no launches";
  if (mode == TIME_COLD && time->launches_per_sample != 1) return "has cold samples of several launches";
  if (is_longer_than_sampling(time)) return "has samples that take longer than all of its sampling";
  return is_clock(device, time->sm_clock_mhz) ? NULL : "has an impossible SM clock";
}

/* NULL, or that statistics are not those of the samples. Both were written with all digits; a machine that fuses a
 * product and a sum rounds an interpolated quantile in another way. */
static const char *samples_problem(const struct time_record *time) {
  const struct stats *said = &time->us, are = stats_of(time->samples_us.value, time->samples_us.count);
  const double pairs[][2] = {
      {said->min, are.min}, {said->p25, are.p25},       {said->median, are.median},
      {said->p75, are.p75}, {said->p95, are.p95},       {said->max, are.max},
      {said->mad, are.mad}, {said->ci_low, are.ci_low}, {said->ci_high, are.ci_high},
  };
  bool is_alike = said->n == are.n;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i)
    is_alike = is_alike && fabs(pairs[i][0] - pairs[i][1]) <= 1e-12 * are.max;
  return is_alike ? NULL : "has samples that contradict its time";
}

/* Of one process. Quantiles and samples of times entered by hand, and of later rounds of version 0.1.0, are not
 * known. */
static const char *mode_problem(enum time_mode mode, const struct time_record *time, const struct device_info *device,
                                bool has_quantiles) {
  const char *problem = NULL;
  if (!time->done) return NULL;
  if (!validate_is_time(time->us.median)) return "has an impossible median";
  if (has_quantiles) problem = time_problem(mode, time, device);
  return problem == NULL && time->samples_us.value != NULL ? samples_problem(time) : problem;
}

static const char *process_problem(const struct process_record *process, const struct time_record *time,
                                   const struct device_info *device) {
  if (process->count == 0) return NULL;
  if (!time->done) return "has processes beside no time";
  for (uint32_t i = 0; i < process->count; ++i) {
    if (!validate_is_time(process->median_us[i])) return "has a process with an impossible time";
    if (!is_clock(device, process->sm_clock_mhz[i])) return "has a process with an impossible SM clock";
  }
  /* The first process is the one whose statistics are the cell's. Bit for bit, since both come from one number. */
  return process->median_us[0] == time->us.median && is_same(process->sm_clock_mhz[0], time->sm_clock_mhz) &&
                 process->throttle_reasons[0] == time->throttle_reasons
             ? NULL
             : "has processes that contradict its time";
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

static bool is_ratio(double x) { return isfinite(x) && x > 0; }

/* The median of each half of the rounds lies within the interval, and so does their difference. Not so where the time
 * of events was taken off: the drift is that of the times with it. */
static bool is_drift(const struct ratio_record *ratio) {
  static const double rounding = 1e-9;
  const bool is_bounded = !(ratio->event_overhead_us > 0);
  return !(ratio->drift_ratio < 0) &&
         !(is_bounded && ratio->drift_ratio > ratio->ci_high / ratio->ci_low - 1 + rounding);
}

static const char *speedup_problem(const struct ratio_record *ratio, const struct device_info *device) {
  if (!ratio->done) return NULL;
  if (!is_ratio(ratio->ratio) || !is_ratio(ratio->ci_low) || !is_ratio(ratio->ci_high))
    return "has a ratio to its reference that is not a number above 0";
  if (ratio->ci_low > ratio->ratio || ratio->ratio > ratio->ci_high)
    return "has a ratio to its reference outside its own interval";
  if (ratio->rounds < RATIO_ROUNDS_MIN) return "has a ratio to its reference from too few rounds";
  if (!is_drift(ratio)) return "has a ratio to its reference with a negative drift, or one beyond its interval";
  return is_clock(device, ratio->sm_clock_mhz) ? NULL : "has a ratio to its reference at an impossible clock";
}

/* Of a cell without a speed: one that was never begun has measured nothing. */
static const char *untimed_problem(const struct record *record) {
  bool is_begun = record->check.done;
  if (cell_status_exit_code(record->status) != EXIT_CODE_OK) return NULL;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode)
    is_begun = is_begun || record->time[mode].done || record->process[mode].count > 0;
  return is_begun ? "was not measured, but has a time or a check" : NULL;
}

/* Every round adds to the durations of the cell, whose parts are those of the first. */
static const char *cost_problem(const struct record *record) {
  double within_s = 0;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct time_record *time = &record->time[mode];
    if (time->done) within_s += time->warmup_s + time->elapsed_s;
  }
  return fmax(fmax(within_s, record->gpu_s), record->check.seconds) > 1.01 * record->wall_s
             ? "took less time than its parts"
             : NULL;
}

const char *validate_round(const struct record *round, const struct device_info *device) {
  const char *problem = NULL;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && problem == NULL && round->status == CELL_ok; ++mode) {
    const struct time_record *time = &round->time[mode];
    problem = mode_problem(mode, time, device, time->us.n > 0);
  }
  return problem == NULL && round->status == CELL_ok ? cost_problem(round) : problem;
}

/* Of the modes that several processes measured. */
static bool has_equal_rounds(const struct record *record) {
  uint32_t rounds = 0;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const uint32_t count = record->process[mode].count;
    if (count == 0) continue;
    if (rounds != 0 && count != rounds) return false;
    rounds = count;
  }
  return true;
}

/* Is the run one of attnbench 0.3.0 or later, from beginning to end? */
static bool tells_rows(const struct journal_data *data) {
  unsigned major = 0, minor = 0;
  return run_info_is_own(&data->run) && data->run.resumed == 0 &&
         sscanf(data->run.version, "%u.%u", &major, &minor) == 2 && (major > 0 || minor >= 3);
}

static bool lacks_rows(const struct journal_data *data, const struct check_record *check) {
  return check->known && check->timed_samples > 0 && isnan(check->timed_rows_ratio) && tells_rows(data);
}

/* NULL, or what a row has that its run did not set out for. A run that was continued may have been another before. */
static const char *setup_problem(const struct run_info *run, const struct record *record) {
  const struct run_setup *setup = &run->setup;
  const char *reference = record->speedup.reference;
  if (run->profile_launches > 0 && record_is_timed(record)) return "was launched for a profiler, but has a time";
  if (!setup->known || run->resumed > 0) return NULL;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (record->time[mode].done && strstr(setup->modes, time_mode_name(mode)) == NULL)
      return "has a time of a mode that its run was not to take";
  }
  return reference[0] == '\0' || strcmp(reference, setup->reference) == 0
             ? NULL
             : "has a ratio to another reference than that of its run";
}

/* Of an `ok` cell; without `policy` the device is not known. */
static const char *measured_problem(const struct record *record, bool is_capture, const struct device_info *device,
                                    const struct device_policy *policy) {
  const char *problem = checked_problem(record, is_capture);
  if (problem == NULL) problem = cost_problem(record);
  if (problem == NULL && policy != NULL) problem = within_problem(record, device, policy);
  return problem;
}

const char *validate_answer(const struct record *record, bool again, const struct device_info *device,
                            const struct device_policy *policy) {
  if (record->status != CELL_ok) return untimed_problem(record);
  if (again) return validate_round(record, device);
  const char *problem = measured_problem(record, false, device, policy);
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && problem == NULL; ++mode) {
    problem = mode_problem(mode, &record->time[mode], device, true);
    if (problem == NULL) problem = speedup_problem(&record->speedup.mode[mode], device);
  }
  return problem;
}

static const char *cell_problem(const struct journal_data *data, const struct record *record, bool is_measured) {
  const struct device_info *device = cards_info(data, record);
  const char *problem = NULL;
  if (!cards_has(data, record)) return "names a card that is none of its run";
  if (record->status != CELL_ok) return untimed_problem(record);
  if (is_measured)
    problem = measured_problem(record, data->run.profile_launches > 0, device,
                               data->has_device ? cards_policy(data, record) : NULL);
  if (problem == NULL) problem = setup_problem(&data->run, record);
  if (problem == NULL && is_measured && lacks_rows(data, &record->check))
    problem = "is ok with timed samples of which no row was compared";
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && problem == NULL; ++mode) {
    problem = mode_problem(mode, &record->time[mode], device, is_measured);
    if (problem == NULL) problem = process_problem(&record->process[mode], &record->time[mode], device);
    if (problem == NULL) problem = speedup_problem(&record->speedup.mode[mode], device);
  }
  return problem != NULL || has_equal_rounds(record) ? problem
                                                     : "has times of unequal numbers of processes in its modes";
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

/* Did attnbench measure it from beginning to end in one go? */
static bool is_one_run(const struct run_info *run) {
  return run_info_is_own(run) && run->resumed == 0 && run->merged_shards == 0;
}

static struct status check_state(const char *path, const struct journal_data *data) {
  const char *state = data->state;
  if (strcmp(state, "complete") != 0 && strcmp(state, "interrupted") != 0 && strcmp(state, "partial") != 0)
    return status_make(STATUS_INPUT, "%s: its run is \"%s\", not complete, interrupted or partial; measure again",
                       path, state);
  if (data->wall_s < 0 || data->wall_s > RECORD_SECONDS_MOST)
    return status_make(STATUS_INPUT, "%s: its run took %g s, which cannot be; measure again", path, data->wall_s);
  if (data->record_count <= data->run.cell_count) return status_ok();
  return status_make(STATUS_INPUT, "%s: has %zu cells, but its run set out to measure %" PRIu64 "; measure again",
                     path, data->record_count, data->run.cell_count);
}

/* A timed cell whose number of processes is not the one that the run was to have, or where that is not known, not the
 * one of other cells; NULL when there is none. Only in a complete run: `attnbench tune` measures slow cells in fewer
 * rounds, and `ab` those that are clear. */
static const struct record *find_dropped(const struct journal_data *data) {
  uint32_t rounds = data->run.setup.known ? data->run.setup.rounds : 0;
  const bool is_even = strcmp(data->state, "complete") == 0 && !data->run.tuned && !data->run.in_steps;
  for (size_t i = 0; i < data->record_count && is_even; ++i) {
    const struct record *record = &data->records[i];
    if (!record_is_timed(record)) continue;
    if (rounds == 0) rounds = process_count(record);
    if (process_count(record) != rounds) return record;
  }
  return NULL;
}

/* NULL, or a timed cell without samples, though others of its run have theirs (--samples). A part of a run that was
 * continued or merged may have been without. */
static const struct record *find_sampleless(const struct journal_data *data) {
  const bool is_one = is_one_run(&data->run);
  const struct record *without = NULL;
  bool any = false;
  for (size_t i = 0; i < data->record_count && is_one; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct time_record *time = &data->records[i].time[mode];
      if (!time->done) continue;
      any = any || time->samples_us.value != NULL;
      if (time->samples_us.value == NULL) without = &data->records[i];
    }
  }
  return any ? without : NULL;
}

/* NULL, or a timed cell of a whole side of `ab` with a number of processes that no step ends with: it begins with 3
 * pairs and goes on by 2. */
static const struct record *find_off_step(const struct journal_data *data) {
  const bool is_whole = data->run.in_steps && strcmp(data->state, "complete") == 0;
  for (size_t i = 0; i < data->record_count && is_whole; ++i) {
    const uint32_t count = process_count(&data->records[i]);
    if (record_is_timed(&data->records[i]) && (count < 3 || count % 2 == 0)) return &data->records[i];
  }
  return NULL;
}

/* NULL, or a timed cell that tells of no slowdown, though its run put one in (--inject-slowdown). */
static const struct record *find_uninjected(const struct journal_data *data) {
  const char *inject = data->run.setup.inject;
  char glob[sizeof data->run.setup.inject];
  if (!data->run.setup.known || inject[0] == '\0' || data->run.resumed > 0) return NULL;
  const char *percent = strrchr(inject, ':');
  snprintf(glob, sizeof glob, "%.*s", (int)(percent != NULL ? percent - inject : 0), inject);
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[i];
    if (record_is_timed(record) && !record->injected.done &&
        cell_name_matches(glob, record->attn_case.key, record->variant))
      return record;
  }
  return NULL;
}

static struct status check_samples(const char *path, const struct journal_data *data) {
  const struct record *without = find_sampleless(data);
  if (without == NULL) return status_ok();
  return status_make(STATUS_INPUT, "%s: cell %s of %s has no samples, and others of its run have; measure again",
                     path, without->attn_case.key, without->variant);
}

/* On an H200 the ratio of a row to its reference, which is measured in turns, is 0.88 to 1.2 times that of their own
 * hot times, 0.6 to 1.5 times that of short cold ones. */
static bool is_other_ratio(enum time_mode mode, const struct record *record, const struct record *reference) {
  const struct ratio_record *ratio = &record->speedup.mode[mode];
  const struct time_record *own = &record->time[mode], *other = &reference->time[mode];
  const double most = mode == TIME_COLD ? 4 : 2;
  if (!ratio->done || !own->done || !other->done || record->injected.done || reference->injected.done) return false;
  const double quotient = ratio->ratio * own->us.median / other->us.median;
  return quotient > most || quotient < 1 / most;
}

static bool contradicts(const struct journal_data *data, const struct record *record,
                        const struct record *reference) {
  bool is_other = false;
  if (reference->status != CELL_ok || strcmp(reference->variant, record->speedup.reference) != 0 ||
      !record_same_card(record, reference) || cards_info(data, record)->kind != DEVICE_CUDA)
    return false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode)
    is_other = is_other || is_other_ratio(mode, record, reference);
  return is_other;
}

/* NULL, or a row whose ratio to its reference is not that of the two rows' times. Rows of a case stand together, and
 * are few: a file of so many rows of one case that a look at all of them would take long is nobody's. */
static const struct record *find_other_ratio(const struct journal_data *data) {
  enum { AWAY_MOST = 512 };
  const struct record *records = data->records;
  for (size_t i = 0; i < data->record_count && data->run.resumed == 0; ++i) {
    const char *key = records[i].attn_case.key;
    size_t begin = i, end = i + 1;
    if (records[i].status != CELL_ok || records[i].speedup.reference[0] == '\0') continue;
    while (begin > 0 && i - begin < AWAY_MOST && strcmp(records[begin - 1].attn_case.key, key) == 0) --begin;
    while (end < data->record_count && end - i < AWAY_MOST && strcmp(records[end].attn_case.key, key) == 0) ++end;
    for (size_t j = begin; j < end; ++j) {
      if (contradicts(data, &records[i], &records[j])) return &records[i];
    }
  }
  return NULL;
}

static struct status check_ratios(const char *path, const struct journal_data *data) {
  const struct record *other = find_other_ratio(data);
  if (other == NULL) return status_ok();
  return status_make(STATUS_INPUT,
                     "%s: cell %s of %s has a ratio to %s that is not that of their times; measure again", path,
                     other->attn_case.key, other->variant, other->speedup.reference);
}

static struct status check_steps(const char *path, const struct journal_data *data) {
  const struct record *off = find_off_step(data), *uninjected = find_uninjected(data);
  if (off != NULL)
    return status_make(
        STATUS_INPUT,
        "%s: cell %s of %s was measured by %u processes, and no step of ab ends with so many; measure again", path,
        off->attn_case.key, off->variant, (unsigned)process_count(off));
  if (uninjected == NULL) return status_ok();
  return status_make(STATUS_INPUT, "%s: cell %s of %s has no slowdown, and its run put one in; measure again", path,
                     uninjected->attn_case.key, uninjected->variant);
}

/* The GPU of measured rows, each card of a run with several, and the GPU of planned rows. */
static struct status check_devices(const char *path, const struct journal_data *data) {
  for (size_t i = 0; i < data->card_count + 2; ++i) {
    const struct device_info *info = i == 0   ? &data->device
                                     : i == 1 ? &data->planned_device
                                              : &data->card[i - 2].info;
    const char *problem = device_problem(info);
    if (problem != NULL)
      return status_make(STATUS_INPUT, "%s: its device, %s, %s; measure again", path, info->name, problem);
  }
  return status_ok();
}

/* An empty kernel between two events takes no longer than every kernel did. It may be measured by chance as much
 * longer as the timer's selftest allows. */
static struct status check_overhead(const char *path, const struct journal_data *data, const struct device_info *info,
                                    double event_overhead_us) {
  static const double chance_us = 0.5;
  const double overhead_us = event_overhead_in(TIME_COLD, info, event_overhead_us);
  double longest_us = NAN;
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[i];
    const struct time_record *cold = &record->time[TIME_COLD];
    if (record->status == CELL_ok && cold->done && cards_info(data, record) == info)
      longest_us = fmax(longest_us, fmax(cold->us.median, cold->us.max));
  }
  if (!(overhead_us > longest_us + chance_us)) return status_ok();
  return status_make(STATUS_INPUT,
                     "%s: its device, %s, has an event overhead of %g us, and no cold time is as long; measure again",
                     path, info->name, overhead_us);
}

static struct status check_overheads(const char *path, const struct journal_data *data) {
  for (size_t i = 0; i < data->card_count; ++i)
    TRY(check_overhead(path, data, &data->card[i].info, data->card[i].event_overhead_us));
  return check_overhead(path, data, &data->device, data->event_overhead_us);
}

/* A card measures one cell after the other. */
static bool is_longer_than_run(const struct journal_data *data) {
  double wall_s = 0;
  for (size_t i = 0; i < data->record_count; ++i) {
    if (data->records[i].wall_s > 0) wall_s += data->records[i].wall_s;
  }
  return wall_s > 1.01 * data->wall_s * (double)(data->card_count > 1 ? data->card_count : 1);
}

/* The duration of a run that was continued is that of its last part, and shards may have been. A run without an end
 * has none. */
static bool has_duration(const struct journal_data *data) {
  return is_one_run(&data->run) && strcmp(data->state, "partial") != 0;
}
static const struct record *find_too_long(const struct journal_data *data) {
  for (size_t i = 0; i < data->record_count; ++i) {
    if (data->records[i].wall_s > 1.01 * data->wall_s) return &data->records[i];
  }
  return NULL;
}

static struct status check_run(const char *path, const struct journal_data *data) {
  if (!calendar_is_second(data->run.started_utc))
    return status_make(STATUS_INPUT, "%s: its run started at \"%s\", which is no date; measure again", path,
                       data->run.started_utc);
  const struct record *record = has_duration(data) ? find_too_long(data) : NULL;
  if (record != NULL)
    return status_make(STATUS_INPUT, "%s: its run took %g s, less than cell %s of %s with %g s; measure again", path,
                       data->wall_s, record->attn_case.key, record->variant, record->wall_s);
  if (has_duration(data) && is_longer_than_run(data))
    return status_make(STATUS_INPUT, "%s: its run took %g s, less than its cells together; measure again", path,
                       data->wall_s);
  return check_overheads(path, data);
}

struct status validate_data(const char *path, const struct journal_data *data) {
  const bool is_measured = data->run.started_utc[0] != '\0';
  TRY(check_state(path, data));
  TRY(check_devices(path, data));
  if (is_measured) TRY(check_run(path, data));
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[i];
    const char *problem = cell_problem(data, record, is_measured);
    if (problem == NULL) continue;
    return status_make(STATUS_INPUT, "%s: cell %s of %s %s; attnbench writes no such file, so measure again", path,
                       record->attn_case.key, record->variant, problem);
  }
  TRY(check_samples(path, data));
  TRY(check_steps(path, data));
  if (is_measured) TRY(check_ratios(path, data));
  const struct record *dropped = find_dropped(data);
  if (dropped == NULL) return status_ok();
  return status_make(STATUS_INPUT, "%s: cell %s of %s was measured by another number of processes than %s", path,
                     dropped->attn_case.key, dropped->variant,
                     data->run.setup.known ? "its run has rounds" : "other cells");
}

/* A status that the report does not list is one that its attnbench did not know. */
static struct status check_count(const struct json_doc *doc, const cJSON *summary, const char *key, uint64_t count) {
  const cJSON *item = json_get(summary, key);
  uint64_t said = 0;
  if (item == NULL && count == 0) return status_ok();
  if (item == NULL) return json_error(doc, summary, false, "has no \"%s\"", key);
  TRY(json_whole(doc, item, 0, UINT32_MAX, &said));
  return said == count ? status_ok()
                       : json_error(doc, item, false, "is not what the results ask for, %" PRIu64, count);
}

static enum exit_code exit_code_of(const struct journal_data *data) {
  enum exit_code code = data->record_count < data->run.cell_count ? EXIT_CODE_COVERAGE : EXIT_CODE_OK;
  for (size_t i = 0; i < data->record_count; ++i) {
    const enum exit_code asked = cell_status_exit_code(data->records[i].status);
    if (asked == EXIT_CODE_WRONG) return asked;
    if (asked != EXIT_CODE_OK) code = asked;
  }
  return code;
}

/* What a run without a result ends with; older versions ended with 0 where only a loaded variant had none. */
static bool says_coverage(const cJSON *summary) {
  const cJSON *said = json_get(summary, "exit_code");
  return cJSON_IsNumber(said) && said->valuedouble == EXIT_CODE_COVERAGE;
}

struct status validate_summary(const struct json_doc *doc, const struct journal_data *data) {
  const cJSON *summary = json_get(doc->root, "summary");
  uint64_t count[CELL_STATUS_COUNT] = {0};
  if (!cJSON_IsObject(summary)) return json_error(doc, doc->root, false, "has no \"summary\"");
  if (json_get(summary, "cells") == NULL || json_get(summary, "exit_code") == NULL)
    return json_error(doc, summary, false, "has no \"cells\" or no \"exit_code\"");
  for (size_t i = 0; i < data->record_count; ++i) ++count[data->records[i].status];
  TRY(check_count(doc, summary, "cells", data->record_count));
  for (enum cell_status cell = 0; cell < CELL_STATUS_COUNT; ++cell)
    TRY(check_count(doc, summary, cell_status_name(cell), count[cell]));
  if (exit_code_of(data) == EXIT_CODE_OK && failures_lack_result(data) && says_coverage(summary)) return status_ok();
  return check_count(doc, summary, "exit_code", (uint64_t)exit_code_of(data));
}
