/* style.css and script.js, as the Makefile turns them into numbers. */
#include "cli/page/assets.h"

const char assets_style[] = {
#include "page_style.css.inc"
    0};

const char assets_script[] = {
#include "page_script.js.inc"
    0};
