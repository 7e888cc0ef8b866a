/* Dates in UTC as text, as RFC 3339 writes them. */
#pragma once

#include <stdbool.h>

/* Is it a day that exists, such as "2026-11-20"? */
bool calendar_is_day(const char *text);
/* Is it a second of a day that exists, such as "2026-11-20T11:04:00Z"? There are no leap seconds. */
bool calendar_is_second(const char *text);
