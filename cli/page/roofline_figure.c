/* Rooflines: FLOP per byte of the problem against TFLOP/s, cold and hot, with the device's roofs; where the cases
 * hardly differ in FLOP per byte, a line for each case with the percent of its roof that each variant reaches. */
#include <math.h>

#include "cli/analyse/roofs.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"
#include "kernels/gpu_models.h"

enum { TEXT_MAX = 512, NAME_WIDTH = 100, NAME_HEIGHT = 10, INTENSITIES_LEAST = 3 };
static const double SAME_INTENSITY = 1.05; /* the highest ratio of intensities that count as one */

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

static double intensity_of(const struct merge_row *row) { return row->row->metrics.flop_per_byte; }

/* Whether rows of the view have enough different intensities for an axis of them. */
static bool has_plane(const struct page *page, const struct view *view) {
  double seen[INTENSITIES_LEAST];
  size_t count = 0;
  for (size_t i = 0; i < page->row_count && count < INTENSITIES_LEAST; ++i) {
    bool is_new = is_in(view, &page->rows[i]);
    for (size_t j = 0; j < count && is_new; ++j)
      is_new = fabs(log(intensity_of(&page->rows[i]) / seen[j])) > log(SAME_INTENSITY);
    if (is_new) seen[count++] = intensity_of(&page->rows[i]);
  }
  return count == INTENSITIES_LEAST;
}

/* ---- roofs ----------------------------------------------------------------------------------------------------- */

/* What bounds the products of some rows: the peak of the pipe, and below it the rate of mma.sync. */
static const struct pipe {
  const char *name;
  enum roofs_products products; /* PRODUCTS_WGMMA: the peak of the tensor cores */
  enum attn_dtype dtype;        /* 16-bit types have one rate */
} pipes[] = {
    {"e4m3 tensor", PRODUCTS_WGMMA, ATTN_E4M3},
    {"16-bit tensor", PRODUCTS_WGMMA, ATTN_F16},
    {"e4m3 mma.sync", PRODUCTS_MMA_SYNC, ATTN_E4M3},
    {"16-bit mma.sync", PRODUCTS_MMA_SYNC, ATTN_F16},
    {"fp32", PRODUCTS_FP32, ATTN_F32},
};
enum { PIPE_TOTAL = sizeof pipes / sizeof *pipes };

/* TFLOP/s of all SMs at the highest clock; 0 when not known, or where the peak is reached but for a little. */
static double rate_of(const struct pipe *pipe, const struct device_info *device) {
  const double peak = gpu_tensor_rate(device, pipe->dtype);
  double rate = pipe->products == PRODUCTS_FP32 ? device->fp32_flop_per_clk_sm : peak;
  if (pipe->products == PRODUCTS_MMA_SYNC) rate = roofs_products_rate(device, PRODUCTS_MMA_SYNC, pipe->dtype);
  if (pipe->products == PRODUCTS_MMA_SYNC && rate > peak * 0.9) return 0;
  return rate * device->sms * device->sm_clock_max_mhz * 1e-6;
}

static bool is_bound(const struct pipe *pipe, const struct record *record) {
  if (pipe->products == PRODUCTS_FP32) return record->math == ATTN_MATH_FP32;
  const bool is_tensor =
      record->math == ATTN_MATH_TENSOR || (record->math == ATTN_MATH_WGMMA && pipe->products == PRODUCTS_WGMMA);
  return is_tensor && (record->attn_case.shape.dtype == ATTN_E4M3) == (pipe->dtype == ATTN_E4M3);
}

/* The rates of the pipes that rows of the view use; 0 of others. */
struct rates {
  double tflop[PIPE_TOTAL], most;
};

static struct rates rates_of(const struct page *page, const struct view *view) {
  struct rates rates = {{0}, 0};
  for (size_t p = 0; p < PIPE_TOTAL; ++p) {
    for (size_t i = 0; i < page->row_count && !(rates.tflop[p] > 0); ++i) {
      if (is_in(view, &page->rows[i]) && is_bound(&pipes[p], page->rows[i].row->record))
        rates.tflop[p] = rate_of(&pipes[p], view->first->row->device);
    }
    rates.most = fmax(rates.most, rates.tflop[p]);
  }
  return rates;
}

/* Names stand left of where their lines begin: points lie to the right of there, or far below. */
static void put_roofs(const struct plot *plot, const struct device_info *device, const struct rates *rates) {
  const double slope = device->dram_gb_per_s * 1e-3,
               pixel = pow(plot->y.high / plot->y.low, 1 / (plot->y.from - plot->y.to));
  double before = INFINITY;
  char text[TEXT_MAX];
  for (size_t p = 0; p < PIPE_TOTAL; ++p) {
    const double tflop = rates->tflop[p];
    if (!(tflop >= plot->y.low) || tflop > plot->y.high) continue;
    const double knee = fmax(fmin(tflop / slope, plot->x.high), plot->x.low);
    const bool has_room = axis_at(&plot->x, knee) > plot->x.from + NAME_WIDTH;
    before = fmin(before * pow(pixel, -NAME_HEIGHT), has_room ? tflop : tflop * pow(pixel, NAME_HEIGHT / 2));
    snprintf(text, sizeof text, "%s %s", pipes[p].name, units_fixed(tflop, 0).text);
    plot_line(plot, pipes[p].products == PRODUCTS_MMA_SYNC ? "roof reached" : "roof", knee, tflop, plot->x.high,
              tflop);
    plot_note(plot, has_room ? knee * 0.97 : plot->x.high, before * pow(pixel, has_room ? 1 : 0), "end", text);
  }
  if (!(slope > 0)) return;
  const double top = fmin(fmin(plot->y.high, rates->most > 0 ? rates->most : plot->y.high) / slope, plot->x.high);
  const double bottom = fmax(plot->y.low / slope, plot->x.low);
  if (top > bottom) {
    plot_line(plot, "roof", bottom, bottom * slope, top, top * slope);
    snprintf(text, sizeof text, "DRAM %s GB/s", units_fixed(device->dram_gb_per_s, 0).text);
    const double middle = sqrt(bottom * top);
    if (axis_at(&plot->x, middle) > plot->x.from + NAME_WIDTH)
      plot_note(plot, middle * 0.97, middle * slope, "end", text);
    else
      plot_note(plot, middle * 1.1, middle * slope * pow(pixel, 1.5 * NAME_HEIGHT), "start", text);
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

static struct plot axes_of(const struct page *page, FILE *file, const struct view *view, double most) {
  const struct device_info *device = view->first->row->device;
  struct axis_range x = axis_range_none(), y = axis_range_none();
  for (size_t i = 0; i < page->row_count; ++i) {
    if (!is_in(view, &page->rows[i])) continue;
    axis_range_add(&x, page->rows[i].row->metrics.flop_per_byte);
    axis_range_add(&y, metrics_at(&page->rows[i], view->mode)->tflop_per_s);
  }
  if (most > 0) axis_range_add(&y, most * 1.3);
  if (most > 0 && device->dram_gb_per_s > 0) {
    const double knee = most * 1e3 / device->dram_gb_per_s;
    axis_range_add(&x, knee / 8);
    axis_range_add(&x, knee * 3);
  }
  return (struct plot){.file = file,
                       .page = page,
                       .x = axis_log(x.least, x.most, PLOT_LEFT, PLOT_RIGHT),
                       .y = axis_log(y.least, y.most, PLOT_BOTTOM, PLOT_TOP)};
}

static void put_title(const struct view *view, char out[TEXT_MAX]) {
  snprintf(out, TEXT_MAX, "%s, %s", view->first->row->device->name,
           view->mode == TIME_COLD ? "cold (after an L2 flush)" : time_mode_name(view->mode));
}

static void put_plane(const struct page *page, FILE *file, const struct view *view) {
  const struct rates rates = rates_of(page, view);
  const struct plot plot = axes_of(page, file, view, rates.most);
  char title[TEXT_MAX];
  put_title(view, title);
  plot_open(&plot, PLOT_HEIGHT, title, "Roofline");
  plot_y_ticks(&plot, "TFLOP/s, logarithmic");
  plot_x_ticks(&plot, "FLOP per byte of Q, K, V and O, logarithmic");
  plot_rows(&plot, put_point, view);
  /* Over the points, so that no name is hidden. */
  put_roofs(&plot, view->first->row->device, &rates);
  plot_close(&plot);
}

/* ---- lines of percent ------------------------------------------------------------------------------------------ */

static double percent_of(const struct view *view, const struct merge_row *row) {
  return 100 * metrics_at(row, view->mode)->peak_ratio;
}

static void put_strip_point(const struct plot *plot, const struct view *view, const struct merge_row *row) {
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%s %% of the %s roof", units_fixed(percent_of(view, row), 1).text,
           metrics_roof_name(metrics_at(row, view->mode)->roof));
  plot_strip_point(plot, row, percent_of(view, row), NAN, NAN, text);
}

/* The line of the case of the row `first`. */
static void put_strip(const struct plot *plot, const struct view *view, size_t first, const char *common) {
  const struct page *page = plot->page;
  char name[ROWS_TEXT_MAX];
  double most = 0;
  rows_rest(rows_shape(&page->rows[first]), common, name);
  plot_strip_open(plot, name);
  for (size_t i = first; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (!is_in(view, row) || row->case_number != page->rows[first].case_number) continue;
    put_strip_point(plot, view, row);
    most = fmax(most, percent_of(view, row));
  }
  plot_strip_close(plot, units_fixed(most, 1).text);
}

static bool is_first_of_case(const struct page *page, const struct view *view, size_t index) {
  if (!is_in(view, &page->rows[index])) return false;
  for (size_t i = 0; i < index; ++i) {
    if (is_in(view, &page->rows[i]) && page->rows[i].case_number == page->rows[index].case_number) return false;
  }
  return true;
}

static void put_strips(const struct page *page, FILE *file, const struct view *view) {
  char device[TEXT_MAX], common[ROWS_TEXT_MAX] = "", title[TEXT_MAX + ROWS_TEXT_MAX];
  double most = 0;
  size_t cases = 0;
  for (size_t i = 0; i < page->row_count; ++i) {
    if (!is_in(view, &page->rows[i])) continue;
    most = fmax(most, percent_of(view, &page->rows[i]));
    if (is_first_of_case(page, view, i)) rows_share(rows_shape(&page->rows[i]), cases++ == 0, common);
  }
  if (cases == 1) common[0] = '\0';
  put_title(view, device);
  snprintf(title, sizeof title, "%s%s%s", device, common[0] != '\0' ? ": " : "", common);
  const struct plot plot = {.file = file, .page = page, .x = axis_linear(most, PLOT_STRIP_LEFT, PLOT_STRIP_RIGHT)};
  plot_strips_open(&plot, title, "% of the roof", "highest, %");
  for (size_t i = 0; i < page->row_count; ++i) {
    if (is_first_of_case(page, view, i)) put_strip(&plot, view, i, common);
  }
  plot_strips_close(&plot);
}

/* ---- the figure ------------------------------------------------------------------------------------------------ */

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
}

static bool is_first(const struct page *page, const struct view *view) {
  const struct merge_row *row = page->rows;
  if (!is_in(view, view->first)) return false;
  while (!is_in(view, row)) ++row;
  return row == view->first;
}

/* Calls `put` for each view whose rows have, or lack, enough intensities for a plane; NULL: only counts them. */
static size_t each_view(const struct page *page, bool as_plane, FILE *file,
                        void (*put)(const struct page *, FILE *, const struct view *)) {
  size_t count = 0;
  for (size_t i = 0; i < page->row_count; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct view view = {&page->rows[i], mode};
      if (!is_first(page, &view) || has_plane(page, &view) != as_plane) continue;
      if (put != NULL) put(page, file, &view);
      ++count;
    }
  }
  return count;
}

struct status roofline_figure_write(const struct page *page, FILE *file) {
  const char *caption =
      each_view(page, true, file, NULL) > 0
          ? "A point per case. Lines: the vendor's peaks of the pipes and element types that rows use, in TFLOP/s at "
            "the highest SM clock, and DRAM's bandwidth. Dashed: the rate that mma.sync reaches. Hot runs whose "
            "tensors fit in L2 may lie above the DRAM line."
          : "All cases have about the same FLOP per byte, so one number says where each row stands: the percent of "
            "its roof that it reaches. The roof is the peak of the pipe that it uses, or DRAM's bandwidth. The "
            "tooltip of a point names its roof.";
  const struct plot_figure figure = {.id = "roofline", .heading = "Roofline", .caption = caption};
  plot_figure_open(page, file, &figure);
  each_view(page, true, file, put_plane);
  each_view(page, false, file, put_strips);
  put_data(page, file);
  plot_figure_close(file, &figure);
  return status_ok();
}
