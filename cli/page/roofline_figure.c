/* Rooflines: FLOP per byte of the problem against TFLOP/s, cold and hot, with the device's roofs. */
#include <math.h>

#include "cli/analyse/roofs.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { TEXT_MAX = 512 };

/* NULL where the row was not timed, or no roof of its device is known. */
static const struct mode_metrics *metrics_at(const struct merge_row *row, enum time_mode mode) {
  const struct mode_metrics *metrics = &row->row->metrics.mode[mode];
  const bool is_shown = metrics_has_roof(metrics) && row->row->metrics.flop_per_byte > 0;
  return is_shown ? metrics : NULL;
}

static bool is_shown(const struct merge_row *row) {
  return metrics_at(row, TIME_HOT) != NULL || metrics_at(row, TIME_COLD) != NULL;
}

bool roofline_figure_any(const struct page *page) { return rows_any(page, is_shown); }

/* Rows of one device in one mode; `first` is the first of them, and stands for the device. */
struct view {
  const struct merge_row *first;
  enum time_mode mode;
};

static bool is_in(const struct view *view, const struct merge_row *row) {
  return metrics_at(row, view->mode) != NULL && merge_is_same_device(view->first->row->device, row->row->device);
}

/* ---- roofs ----------------------------------------------------------------------------------------------------- */

/* TFLOP/s of all SMs at the highest clock. */
static double whole_device(const struct device_info *device, double flop_per_clk_sm) {
  return flop_per_clk_sm * device->sms * device->sm_clock_max_mhz * 1e-6;
}

/* A line, with its name above its right end, or below its left end. */
static void put_roof(const struct plot *plot, const struct device_info *device, const char *name, double tflop,
                     const char *style, bool below) {
  char text[TEXT_MAX];
  if (!(tflop >= plot->y.low) || tflop > plot->y.high) return;
  const double knee = fmax(fmin(tflop * 1e3 / device->dram_gb_per_s, plot->x.high), plot->x.low);
  const double pixel = pow(plot->y.high / plot->y.low, 1 / (plot->y.from - plot->y.to));
  snprintf(text, sizeof text, "%s %s", name, units_fixed(tflop, 0).text);
  plot_line(plot, style, knee, tflop, plot->x.high, tflop);
  if (below) {
    plot_note(plot, knee, tflop * pow(pixel, -10), "start", text);
  } else {
    plot_note(plot, plot->x.high, tflop * pow(pixel, 3), "end", text);
  }
}

static void put_roofs(const struct plot *plot, const struct device_info *device) {
  const double tensor = whole_device(device, device->tensor_flop_per_clk_sm);
  const double fp32 = whole_device(device, device->fp32_flop_per_clk_sm);
  const double mma_sync = whole_device(device, roofs_products_rate(device, PRODUCTS_MMA_SYNC, ATTN_F16));
  const double slope = device->dram_gb_per_s * 1e-3;
  put_roof(plot, device, "tensor", tensor, "roof", false);
  put_roof(plot, device, "fp32", fp32, "roof", false);
  if (mma_sync < tensor * 0.9) put_roof(plot, device, "mma.sync", mma_sync, "roof reached", true);
  if (!(slope > 0)) return;
  const double top = fmin(fmin(plot->y.high, tensor > 0 ? tensor : plot->y.high) / slope, plot->x.high);
  const double bottom = fmax(plot->y.low / slope, plot->x.low);
  if (top > bottom) {
    plot_line(plot, "roof", bottom, bottom * slope, top, top * slope);
    plot_note(plot, bottom, bottom * slope, "start", "DRAM");
  }
}

/* ---- drawings -------------------------------------------------------------------------------------------------- */

static void put_point(const struct plot *plot, const struct merge_row *row, const void *of) {
  const struct view *view = of;
  const struct mode_metrics *metrics = metrics_at(row, view->mode);
  if (!is_in(view, row)) return;
  plot_point(plot, row, row->row->metrics.flop_per_byte, metrics->tflop_per_s, NAN, NAN,
             "%s TFLOP/s, %s %% of the %s roof", units_short(metrics->tflop_per_s).text,
             units_fixed(100 * metrics->peak_ratio, 1).text, metrics_roof_name(metrics->roof));
}

static struct plot axes_of(const struct page *page, FILE *file, const struct view *view) {
  const struct device_info *device = view->first->row->device;
  struct axis_range x = axis_range_none(), y = axis_range_none();
  for (size_t i = 0; i < page->row_count; ++i) {
    if (!is_in(view, &page->rows[i])) continue;
    axis_range_add(&x, page->rows[i].row->metrics.flop_per_byte);
    axis_range_add(&y, metrics_at(&page->rows[i], view->mode)->tflop_per_s);
  }
  const double tensor = whole_device(device, device->tensor_flop_per_clk_sm);
  if (tensor > 0) axis_range_add(&y, tensor * 1.3);
  if (tensor > 0 && device->dram_gb_per_s > 0) {
    const double knee = tensor * 1e3 / device->dram_gb_per_s;
    axis_range_add(&x, knee / 8);
    axis_range_add(&x, knee * 3);
  }
  return (struct plot){.file = file,
                       .page = page,
                       .x = axis_log(x.least, x.most, PLOT_LEFT, PLOT_RIGHT),
                       .y = axis_log(y.least, y.most, PLOT_BOTTOM, PLOT_TOP)};
}

static void put_drawing(const struct page *page, FILE *file, const struct view *view) {
  const struct plot plot = axes_of(page, file, view);
  char title[TEXT_MAX];
  snprintf(title, sizeof title, "%s, %s", view->first->row->device->name,
           view->mode == TIME_COLD ? "cold (after an L2 flush)" : time_mode_name(view->mode));
  plot_open(&plot, title, "Roofline");
  plot_y_ticks(&plot, "TFLOP/s, logarithmic");
  plot_x_ticks(&plot, "FLOP per byte of Q, K, V and O, logarithmic");
  plot_rows(&plot, put_point, view);
  /* Over the points, so that no name is hidden. */
  put_roofs(&plot, view->first->row->device);
  plot_close(&plot);
}

static void put_data(const struct page *page, FILE *file) {
  plot_data_open(file, "variant,key,mode,flop_per_byte,tflop_per_s,roof,peak_ratio");
  for (size_t i = 0; i < page->row_count; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct merge_row *row = &page->rows[i];
      const struct mode_metrics *metrics = metrics_at(row, mode);
      if (metrics == NULL) continue;
      plot_data_row(page, file, row);
      const double rates[] = {row->row->metrics.flop_per_byte, metrics->tflop_per_s};
      fprintf(file, ",%s", time_mode_name(mode));
      html_csv_numbers(file, rates, sizeof rates / sizeof *rates);
      fprintf(file, ",%s", metrics_roof_name(metrics->roof));
      plot_data_numbers(file, &metrics->peak_ratio, 1);
    }
  }
  plot_data_close(file);
}

static bool is_first(const struct page *page, const struct view *view) {
  const struct merge_row *row = page->rows;
  if (!is_in(view, view->first)) return false;
  while (!is_in(view, row)) ++row;
  return row == view->first;
}

void roofline_figure_write(const struct page *page, FILE *file) {
  plot_figure_open(
      page, file, "roofline", "Roofline",
      "A point per case. Lines: the vendor's peaks at the highest SM clock, with the rate that mma.sync reaches "
      "where that is less, and DRAM's bandwidth. Hot runs whose tensors fit in L2 may lie above the DRAM line.");
  for (size_t i = 0; i < page->row_count; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct view view = {&page->rows[i], mode};
      if (is_first(page, &view)) put_drawing(page, file, &view);
    }
  }
  put_data(page, file);
  plot_figure_close(file);
}
