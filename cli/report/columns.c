/* What tables show of a row. */
#include "cli/report/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/units.h"

bool columns_is_doubtful(const struct time_record *time) {
  return time->done && time->us.n > 1 &&
         (time->stop != STATS_STOP_INTERVAL || !time->settled || record_is_busy(time));
}

bool columns_is_unsteady(const struct ratio_record *ratio) {
  return ratio->done && ratio->drift_ratio > RATIO_DRIFT_MOST;
}

/* A number as tables show it. */
struct shown {
  double value;
  int decimals; /* after the point, or one of the two below */
  const char *mark;
};
enum { FOUR_DIGITS = -1, EXPONENT = -2 };

static double known(bool is_known, double value) { return is_known ? value : (double)NAN; }

static struct shown plain(double value, int decimals) { return (struct shown){value, decimals, ""}; }

static struct shown time_of(const struct time_record *time) {
  return (struct shown){known(time->done, time->us.median), FOUR_DIGITS, columns_is_doubtful(time) ? "*" : ""};
}

static struct shown ratio_of(double ratio, bool is_unsteady) {
  return (struct shown){ratio, ratio < 0.1 ? 3 : 2, is_unsteady ? "~" : ""};
}

static struct shown speedup_of(const struct ratio_record *ratio) {
  return ratio_of(known(ratio->done, ratio->ratio), columns_is_unsteady(ratio));
}

static struct shown scaling_number(const struct report_row *row, enum columns_id column) {
  const struct scaling *scaling = &row->scaling;
  const enum time_mode mode = isfinite(scaling->us_per_bh[TIME_HOT]) ? TIME_HOT : TIME_COLD;
  switch (column) {
    case COLUMNS_BH: return plain((double)scaling_pairs(&row->record->attn_case.shape), 0);
    case COLUMNS_FULL_BH: return plain(scaling->full_bh, 0);
    case COLUMNS_WORK_RATIO: return plain(scaling->work_ratio, FOUR_DIGITS);
    case COLUMNS_WAVE_RATIO: return plain(scaling->wave_ratio, FOUR_DIGITS);
    case COLUMNS_LOAD_RATIO: return plain(scaling->load_ratio, FOUR_DIGITS);
    case COLUMNS_HOT_RATIO: return plain(known(scaling->timed, scaling->time_ratio[TIME_HOT]), 2);
    case COLUMNS_COLD_RATIO: return plain(known(scaling->timed, scaling->time_ratio[TIME_COLD]), 2);
    case COLUMNS_RESIDUAL: return plain(known(scaling->timed, scaling->residual[TIME_HOT]), 2);
    case COLUMNS_PER_PAIR: return plain(known(scaling->timed, scaling->us_per_bh[mode]), FOUR_DIGITS);
    default: return plain(NAN, FOUR_DIGITS);
  }
}

static struct shown number_of(const struct report_row *row, enum columns_id column) {
  const struct record *record = row->record;
  const struct mode_metrics *hot = &row->metrics.mode[TIME_HOT];
  const struct pass_metrics *pass = metrics_of_main_pass(row->record, &row->metrics);
  const struct ratio_record *ratio = &record->speedup.mode[TIME_HOT];
  const struct time_record *steady = &record->time[TIME_STEADY];
  const bool has_launch = record->plan.pass_count > 0;
  switch (column) {
    case COLUMNS_HOT: return time_of(&record->time[TIME_HOT]);
    case COLUMNS_COLD: return time_of(&record->time[TIME_COLD]);
    case COLUMNS_STEADY: return time_of(steady);
    case COLUMNS_STEADY_RATE: return plain(row->metrics.mode[TIME_STEADY].tflop_per_s, FOUR_DIGITS);
    case COLUMNS_POWER: return plain(known(steady->done, steady->power_w), 0);
    case COLUMNS_ENERGY: return plain(row->energy_pj_per_flop, FOUR_DIGITS);
    case COLUMNS_RATE: return plain(known(hot->known, hot->tflop_per_s), FOUR_DIGITS);
    case COLUMNS_ROOF: return plain(known(metrics_has_roof(hot), 100 * hot->peak_ratio), 1);
    case COLUMNS_BLOCKS: return plain(known(has_launch, (double)pass->blocks), 0);
    /* Without the kernel's registers the blocks that fit are an upper bound, so the waves are a lower one. */
    case COLUMNS_WAVES:
      return (struct shown){known(has_launch, pass->waves), 2, has_launch && !pass->resident_exact ? ">=" : ""};
    case COLUMNS_ERROR: return plain(known(record->check.done, record->check.compare.max_abs_error), EXPONENT);
    case COLUMNS_SPEEDUP: return speedup_of(ratio);
    case COLUMNS_STEADY_SPEEDUP: return speedup_of(&record->speedup.mode[TIME_STEADY]);
    case COLUMNS_KERNEL:
      if (isfinite(row->kernel_ratio)) return ratio_of(row->kernel_ratio, false);
      return ratio_of(known(ratio->kernels_alone > 0, ratio->kernels_alone), false);
    default: return scaling_number(row, column);
  }
}

double columns_number(const struct report_row *row, enum columns_id column) { return number_of(row, column).value; }

static void number_text(const struct report_row *row, enum columns_id column, char out[TEXT_CELL_MAX]) {
  const struct shown number = number_of(row, column);
  const bool has_roof = column == COLUMNS_ROOF && isfinite(number.value);
  const char *roof = has_roof ? metrics_roof_name(row->metrics.mode[TIME_HOT].roof) : "";
  char text[UNITS_TEXT_MAX];
  if (number.decimals == EXPONENT) {
    units_format_exponent(number.value, text);
  } else if (number.decimals == FOUR_DIGITS) {
    units_format(number.value, text);
  } else {
    units_format_fixed(number.value, number.decimals, text);
  }
  if (column == COLUMNS_WAVES && number.value < 0.005 && number.mark[0] == '\0') snprintf(text, sizeof text, "<0.01");
  snprintf(out, TEXT_CELL_MAX, "%s%s%s%.*s", number.mark, text, has_roof ? " " : "", (int)strcspn(roof, "_"), roof);
}

static void variant_text(const struct record *record, char out[TEXT_CELL_MAX]) {
  const bool has_picked = record->picked[0] != '\0';
  snprintf(out, TEXT_CELL_MAX, "%s%s%s%s", record->variant, has_picked ? " (" : "", record->picked,
           has_picked ? ")" : "");
}

static void grid_text(const struct record *record, char out[TEXT_CELL_MAX]) {
  const uint32_t *grid = record->pass[metrics_main_pass(record)].pass.grid, count = record->plan.pass_count;
  char more[16] = "";
  if (count > 1) snprintf(more, sizeof more, " +%" PRIu32, count - 1);
  snprintf(out, TEXT_CELL_MAX, "%" PRIu32 "x%" PRIu32 "x%" PRIu32 "%s", grid[0], grid[1], grid[2], more);
  if (count == 0) snprintf(out, TEXT_CELL_MAX, "-");
}

/* The verdicts are about waves of blocks, and about launches that are not known. */
static const char *verdict_of(const struct report_row *row) {
  if (row->scaling.is_baseline) return "baseline";
  const bool has_verdict = row->scaling.verdict != SCALING_none && row->device->kind != DEVICE_CPU;
  return has_verdict ? scaling_verdict_name(row->scaling.verdict) : "-";
}

void columns_text(const struct report_row *row, enum columns_id column, char out[TEXT_CELL_MAX]) {
  const struct record *record = row->record;
  switch (column) {
    case COLUMNS_CASE: snprintf(out, TEXT_CELL_MAX, "%s", record->attn_case.key); break;
    case COLUMNS_SHORT_CASE: cell_name_short_case(record->attn_case.key, out, TEXT_CELL_MAX); break;
    case COLUMNS_VARIANT: variant_text(record, out); break;
    case COLUMNS_STATUS: snprintf(out, TEXT_CELL_MAX, "%s", cell_status_name(record->status)); break;
    case COLUMNS_GRID: grid_text(record, out); break;
    case COLUMNS_VERDICT: snprintf(out, TEXT_CELL_MAX, "%s", verdict_of(row)); break;
    default: number_text(row, column, out); break;
  }
}

void columns_add_card(const struct report_row *row, char out[TEXT_CELL_MAX]) {
  if (row->record->card[0] != '\0') text_append(out, TEXT_CELL_MAX, "  on %s", row->record->card);
}

const struct columns_word *columns_word(uint32_t index) {
  static const struct columns_word rows[] = {
      {"variant", "the kernel. > marks the fastest of the case, ! a row that failed"},
      {"status", "ok: the result is right. Other values, such as wrong or skipped, have a reason below the table"},
      {"hot",
       "median time of one launch in a CUDA graph of launches back to back. *: its interval was still wide when "
       "the time budget was used up"},
      {"cold",
       "median time of one launch after the L2 cache was flushed. It includes the time of the two events around the "
       "launch; a line above the table says how long they take"},
      {"steady",
       "only with --modes steady: median time of one launch, and its rate, after launches back to back for "
       "seconds: the sustained speed under the power limit. hot is measured within some milliseconds, before the "
       "card is warm"},
      {"power, energy",
       "only with --modes steady: the power that the whole card drew during the steady time, and its energy for "
       "each floating-point operation"},
      {"rate", "floating-point operations that the case needs, over the hot time"},
      {"roof",
       "percent of the hardware limit that the row reached. The limit is the peak rate of the units that the variant "
       "uses, tensor cores (tensor) or fp32 units (fp32), or the bandwidth of DRAM (dram) where moving the bytes "
       "takes longer than the operations. Where all tensors of a case fit in L2, they stay there from one hot "
       "launch to the next, so DRAM is no limit of that case. Peaks are those at the highest clock. Rows of one case "
       "may have different limits"},
      {"grid, blocks", "blocks of the launch along x, y and z, and their number"},
      {"waves",
       "blocks of the launch, divided by the blocks that the GPU can hold at once. Below 1 a part of the GPU "
       "stays idle; 1.1 waves take about as long as 2"},
      {"error", "largest difference from the fp64 oracle"},
      {"vs ref",
       "hot time of the reference (cudnn) over that of the row, the two timed in turns: above 1 the row is faster"},
      {"kernel", "vs ref with the reference's memset nodes subtracted, for rows below 30 us"},
      {"B*H",
       "number of (batch, query head) pairs: in the row with the fewest, which the others are compared with, and "
       "in the row with the most"},
      {"full at", "the number of (batch, head) pairs at which the grid fills one wave"},
      {"work", "how many times the operations grew from the row with the fewest pairs"},
      {"per SM", "how many times the blocks of the busiest SM grew from the row with the fewest pairs"},
      {"residual", "growth of the hot time, divided by the growth of the waves: 1 where the waves explain it"},
      {"us/B*H", "hot time of one (batch, head) pair"},
  };
  return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const struct columns_word *columns_mark(uint32_t index) {
  static const struct columns_word rows[] = {
      {">", "the fastest row of its case"},
      {"!", "the row failed; the reason is below the table"},
      {"*",
       "the time is doubtful: its interval was still wide when the time budget or the sample limit was reached, it "
       "still drifted, or other programs used the processor"},
      {"~",
       "before a ratio: it still moved when the time for it was used up; behind a text: cut to fit the terminal"},
      {">=", "at least so many waves: the registers of the kernel are not known, so fewer blocks may fit on an SM"},
  };
  return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}
