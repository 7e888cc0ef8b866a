/* Texts of any origin and numbers, as HTML and as CSV inside of HTML. */
#ifndef ATTNBENCH_CLI_PAGE_HTML_H
#define ATTNBENCH_CLI_PAGE_HTML_H

#include <stdio.h>

/* For text and for attributes in double quotes. What is no character, or would turn the direction of what follows, is
 * U+FFFD. */
void html_text(FILE *, const char *text);
/* A sentence of ours, whose `words` are code. */
void html_prose(FILE *, const char *text);
/* Text that may be broken behind each dot, as a case's key in a narrow column. */
void html_breakable(FILE *, const char *text);
/* <tag>text</tag>; the tag may have attributes. */
void html_element(FILE *, const char *tag, const char *text);
/* The shortest decimal text that reads back to it; nothing when not finite. */
void html_number(FILE *, double value);

/* A field of CSV. Quoted where it must be, with a quote mark before what a spreadsheet would take for a formula. */
void html_csv_text(FILE *, const char *text);
/* A comma and the number, for each. */
void html_csv_numbers(FILE *, const double *numbers, size_t count);

#endif
