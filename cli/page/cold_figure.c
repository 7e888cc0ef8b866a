/* Cold beside hot: of every row, how much longer the cold median is, over the hot one. */
#include "cli/base/units.h"
#include "cli/page/plot.h"

static bool has_both(const struct merge_row *row) {
  return rows_time(row, TIME_HOT) != NULL && rows_time(row, TIME_COLD) != NULL;
}

static double median_us(const struct merge_row *row, enum time_mode mode) { return rows_time(row, mode)->us.median; }

bool cold_figure_any(const struct page *page) { return rows_any(page, has_both); }

/* How much longer cold takes than hot: near 0 the two differ too little for two axes of time to show it. */
static double percent_longer(const struct merge_row *row, double cold_us) {
  return 100 * (cold_us / median_us(row, TIME_HOT) - 1);
}

static void put_point(const struct plot *plot, const struct merge_row *row, const void *of) {
  (void)of;
  if (!has_both(row)) return;
  const struct stats *us = &rows_time(row, TIME_COLD)->us;
  plot_point(plot, row, median_us(row, TIME_HOT), percent_longer(row, us->median), percent_longer(row, us->ci_low),
             percent_longer(row, us->ci_high), "%s us hot, %s us cold", units_short(median_us(row, TIME_HOT)).text,
             units_short(us->median).text);
}

static void put_drawing(const struct page *page, FILE *file) {
  struct axis_range longer = axis_range_none(), hot = axis_range_none();
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (!has_both(row)) continue;
    axis_range_add(&hot, median_us(row, TIME_HOT));
    axis_range_add(&longer, percent_longer(row, rows_time(row, TIME_COLD)->us.ci_low));
    axis_range_add(&longer, percent_longer(row, rows_time(row, TIME_COLD)->us.ci_high));
    axis_range_add(&longer, percent_longer(row, median_us(row, TIME_COLD)));
  }
  const struct plot plot = {.file = file,
                            .page = page,
                            .x = axis_log(hot.least, hot.most, PLOT_LEFT, PLOT_RIGHT),
                            .y = axis_around(longer.least, longer.most, PLOT_BOTTOM, PLOT_TOP)};
  plot_open(&plot, PLOT_HEIGHT, "All cases", "How much longer cold takes than hot");
  plot_y_ticks(&plot, "cold longer than hot, %");
  plot_x_ticks(&plot, "hot us, logarithmic");
  plot_line(&plot, "zero", plot.x.low, 0, plot.x.high, 0);
  plot_rows(&plot, put_point, NULL);
  plot_close(&plot);
}

struct status cold_figure_write(const struct page *page, FILE *file) {
  static const struct plot_figure figure = {
      .id = "cold",
      .heading = "Cold beside hot",
      .caption =
          "How much longer one launch after a flush of the L2 takes (cold) than launches back to back (hot). "
          "At 0 the two are equal. What lies far above pays for DRAM, or for its start. "
          "Bars: the 95&nbsp;% interval of the cold median."};
  plot_figure_open(page, file, &figure);
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
  plot_figure_close(file, &figure);
  return status_ok();
}
