/* Writes texts and numbers as HTML, and as CSV within HTML. Texts may come from untrusted files. */
#pragma once

#include <stdio.h>

/* Escapes a text for element content and for attributes in double quotes. Invalid characters, and those that change
 * the direction of the following text, are replaced by U+FFFD. */
void html_text(FILE *, const char *text);
/* A sentence of attnbench itself, in which `words` in backquotes become <code>. */
void html_prose(FILE *, const char *text);
/* A text in which a line may break after each dot, such as a case's key in a narrow column. */
void html_breakable(FILE *, const char *text);
/* <tag>text</tag>; the tag may have attributes. */
void html_element(FILE *, const char *tag, const char *text);
/* Opens a table's cell of a number, by which the script sorts; NAN: it has none. */
void html_number_cell(FILE *, double value);
/* The shortest decimal text that reads back as the same value; nothing when it is not finite. */
void html_number(FILE *, double value);

/* A field of CSV (markup_csv). */
void html_csv_text(FILE *, const char *text);
/* For each number, a comma and the number. */
void html_csv_numbers(FILE *, const double *numbers, size_t count);
