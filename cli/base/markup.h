/* Texts of any origin in XML, in Markdown and in the annotations of a CI log. */
#ifndef ATTNBENCH_CLI_BASE_MARKUP_H
#define ATTNBENCH_CLI_BASE_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/status.h"

/* The next character of a text of any origin, which moves on behind it; 0 at its end. Tab, line feed and carriage
 * return come as they are; every other control and every malformed byte is U+FFFD, so that what is written is UTF-8
 * and XML. */
uint32_t markup_next_char(const char **text);
void markup_put_char(FILE *, uint32_t character);
/* The text on one line: line ends and tabs as spaces. */
void markup_put_line(FILE *, const char *text);

/* At most `most` bytes of text, cut behind a whole line that then says so. */
void markup_put_capped(FILE *, const char *text, size_t length, size_t most);

void markup_xml_text(FILE *, const char *text);
/* " name=\"value\"" */
void markup_xml_attribute(FILE *, const char *name, const char *value);

/* On one line, with a backslash before what Markdown or a table would take for its own. */
void markup_markdown(FILE *, const char *text);
/* What `write` writes of `data`, no more than GitHub shows. */
struct status markup_markdown_file(FILE *, void (*write)(const void *data, FILE *), const void *data);

/* GitHub shows ten annotations of a step and drops the others. */
enum { MARKUP_ANNOTATIONS_MAX = 10 };
/* Begins one, an error or a warning; what follows up to the end of the line is its text. `path` is the file that it
 * stands beside in the diff view when that is in the repository: relative, else it is left out, as are "-" and
 * "--shape". */
void markup_annotation_start(FILE *, bool is_error, const char *path, const char *title);
void markup_annotation_text(FILE *, const char *text);

#endif
