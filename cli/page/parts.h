/* The parts of a page. */
#pragma once

#include "cli/page/rows.h"

/* Everything before the parts and behind them; a part of <header>, up to <main>, is the caller's. */
void page_open(FILE *, const char *title);
void page_close(FILE *);

/* The parts, in the order of the page. */
void head_write(const struct page *, FILE *);
void verdict_part_write(const struct page *, FILE *);
void table_part_write(const struct page *, FILE *);
struct status rate_figures_write(const struct page *, FILE *);
void roofline_figure_write(const struct page *, FILE *);
struct status scaling_figure_write(const struct page *, FILE *);
void cold_figure_write(const struct page *, FILE *);
struct status findings_part_write(const struct page *, FILE *);

/* Whether each of these parts has anything to show. */
bool rate_figures_any(const struct page *);
bool roofline_figure_any(const struct page *);
bool scaling_figure_any(const struct page *);
bool cold_figure_any(const struct page *);
bool findings_part_any(const struct page *);
