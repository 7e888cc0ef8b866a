/* Cold beside hot: both medians of every row, against each other. */
#include <math.h>

#include "cli/base/units.h"
#include "cli/page/html.h"
#include "cli/page/plot.h"

enum { TEXT_MAX = 512 };

static bool has_both(const struct page_row *row) {
  return rows_time(row, TIME_HOT) != NULL && rows_time(row, TIME_COLD) != NULL;
}

static double median_us(const struct page_row *row, enum time_mode mode) { return rows_time(row, mode)->us.median; }

bool cold_figure_any(const struct page *page) {
  for (size_t i = 0; i < page->row_count; ++i) {
    if (has_both(&page->rows[i])) return true;
  }
  return false;
}

static void put_point(const struct plot *plot, const struct page_row *row) {
  char text[TEXT_MAX], name[PAGE_NAME_MAX], hot[UNITS_TEXT_MAX], cold[UNITS_TEXT_MAX];
  const struct time_record *time = rows_time(row, TIME_COLD);
  rows_series_text(plot->page, row->series, name);
  units_format(median_us(row, TIME_HOT), hot);
  units_format(median_us(row, TIME_COLD), cold);
  snprintf(text, sizeof text, "%s at %s: %s us hot, %s us cold", name, row->row->record->attn_case.key, hot, cold);
  plot_point(plot, row, median_us(row, TIME_HOT), time->us.median, time->us.ci_low, time->us.ci_high, text);
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
  for (size_t s = 0; s < page->series_count; ++s) {
    plot_series_open(&plot, s);
    for (size_t i = 0; i < page->row_count; ++i) {
      if (page->rows[i].series == s && has_both(&page->rows[i])) put_point(&plot, &page->rows[i]);
    }
    plot_series_close(&plot);
  }
  plot_note(&plot, hot.most, pow(range.least, 0.15) * pow(hot.most, 0.85), "end", "cold = hot");
  plot_close(&plot);
}

void cold_figure_write(const struct page *page, FILE *file) {
  plot_figure_open(page, file, "cold", "Cold beside hot",
                   "Cold is one launch after the L2 was flushed, hot are launches back to back. What lies far above "
                   "the line pays for DRAM, or for its start.");
  put_drawing(page, file);
  plot_data_open(file);
  fputs("variant,key,hot_us,cold_us,cold_over_hot\n", file);
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct page_row *row = &page->rows[i];
    if (!has_both(row)) continue;
    plot_data_row(page, file, row);
    const double hot = median_us(row, TIME_HOT), cold = median_us(row, TIME_COLD),
                 numbers[] = {hot, cold, cold / hot};
    html_csv_numbers(file, numbers, sizeof numbers / sizeof *numbers);
    fputc('\n', file);
  }
  plot_data_close(file);
  plot_figure_close(file);
}
