/* Cold beside hot: both medians of every row, against each other. */
#include <math.h>

#include "cli/base/units.h"
#include "cli/page/plot.h"

static bool has_both(const struct merge_row *row) {
  return rows_time(row, TIME_HOT) != NULL && rows_time(row, TIME_COLD) != NULL;
}

static double median_us(const struct merge_row *row, enum time_mode mode) { return rows_time(row, mode)->us.median; }

bool cold_figure_any(const struct page *page) { return rows_any(page, has_both); }

static void put_point(const struct plot *plot, const struct merge_row *row, const void *of) {
  (void)of;
  if (!has_both(row)) return;
  const struct stats *us = &rows_time(row, TIME_COLD)->us;
  plot_point(plot, row, median_us(row, TIME_HOT), us->median, us->ci_low, us->ci_high, "%s us hot, %s us cold",
             units_short(median_us(row, TIME_HOT)).text, units_short(us->median).text);
}

static void put_drawing(const struct page *page, FILE *file) {
  struct axis_range range = axis_range_none(), hot = axis_range_none();
  for (size_t i = 0; i < page->row_count; ++i) {
    if (!has_both(&page->rows[i])) continue;
    axis_range_add(&hot, median_us(&page->rows[i], TIME_HOT));
    axis_range_add(&range, median_us(&page->rows[i], TIME_HOT));
    axis_range_add(&range, median_us(&page->rows[i], TIME_COLD));
  }
  const struct plot plot = {.file = file,
                            .page = page,
                            .x = axis_log(hot.least, hot.most, PLOT_LEFT, PLOT_RIGHT),
                            .y = axis_log(range.least, range.most, PLOT_BOTTOM, PLOT_TOP)};
  plot_open(&plot, "All cases", "Cold against hot time");
  plot_y_ticks(&plot, "cold us, logarithmic");
  plot_x_ticks(&plot, "hot us, logarithmic");
  plot_line(&plot, "roof", hot.least, hot.least, hot.most, hot.most);
  plot_rows(&plot, put_point, NULL);
  plot_note(&plot, hot.most, pow(range.least, 0.15) * pow(hot.most, 0.85), "end", "cold = hot");
  plot_close(&plot);
}

void cold_figure_write(const struct page *page, FILE *file) {
  plot_figure_open(page, file, "cold", "Cold beside hot",
                   "Cold is one launch after the L2 was flushed, hot are launches back to back. What lies far above "
                   "the line pays for DRAM, or for its start.");
  put_drawing(page, file);
  plot_data_open(file, "variant,key,hot_us,cold_us,cold_over_hot");
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (!has_both(row)) continue;
    plot_data_row(page, file, row);
    const double hot = median_us(row, TIME_HOT), cold = median_us(row, TIME_COLD),
                 numbers[] = {hot, cold, cold / hot};
    plot_data_numbers(file, numbers, sizeof numbers / sizeof *numbers);
  }
  plot_data_close(file);
  plot_figure_close(file);
}
