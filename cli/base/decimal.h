/* Numbers as text have a decimal point, whatever locale a loaded library sets for the process. */
#pragma once

/* Gives the calling thread the locale "C", which setlocale does not change. Every thread that writes or reads numbers
 * calls it; the main thread does so before main. */
void decimal_start(void);
