/* Texts of any origin in XML, in Markdown and in the annotations of a CI log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/status.h"

/* Returns the character at *text and advances *text past it; 0 at the end. Tab, line feed and carriage return are
 * returned unchanged. Every other unsafe character (utf8_is_unsafe) and every malformed byte becomes U+FFFD, so that
 * the output is valid UTF-8 and XML. */
uint32_t markup_next_char(const char **text);
void markup_put_char(FILE *, uint32_t character);
/* Writes the text on one line: line ends and tabs become spaces, and one divides each "#[" (text_clean). */
void markup_put_line(FILE *, const char *text);

/* Like fprintf, but each %s is written by `put`, which escapes it. The other conversions are %zu, %u, %d, %.Nf with
 * one digit, and %%. */
void markup_put(FILE *, void (*put)(FILE *, const char *text), const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes at most `most` bytes of text. A longer text is cut at the end of a line, and a line after it says so. */
void markup_put_capped(FILE *, const char *text, size_t length, size_t most);

/* The entity of & < > " ' in XML and HTML, and of [, with which a CI runner's command begins; NULL for any other
 * character. */
const char *markup_entity(uint32_t character);
void markup_xml_text(FILE *, const char *text);

/* JUnit XML. A failure is a judgement, an error is one that could not be made. */
enum junit_outcome { JUNIT_PASSED, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED, JUNIT_OUTCOMES };
struct junit_case {
  const char *suite, *variant, *name; /* classname is SUITE.VARIANT, since viewers show the part up to the last point
                                         as a folder; variant NULL: a case of the suite itself, which takes no time */
  double us;                          /* NAN: not known */
  enum junit_outcome outcome;
  const char *type, *message; /* why it did not pass */
  const char *body;           /* more of a failure or an error; NULL: nothing */
};
/* Opens a file whose one suite has so many cases of each outcome. */
void markup_junit_open(FILE *, const char *title, const char *suite, const size_t count[JUNIT_OUTCOMES]);
void markup_junit_case(FILE *, const struct junit_case *);
void markup_junit_close(FILE *);

/* Writes a field of CSV on one line, each character by `put`. It is quoted where necessary, and where a CI runner
 * would take the line for a command. A text that a spreadsheet would take for a formula gets an apostrophe in front.
 */
void markup_csv(FILE *, const char *text, void (*put)(FILE *, uint32_t character));

/* Writes the text on one line, with a backslash before each character that is special in Markdown or its tables. */
void markup_markdown(FILE *, const char *text);
/* Writes the output of `write`, cut to the size of step summary that GitHub shows. */
struct status markup_markdown_file(FILE *, void (*write)(const void *data, FILE *), const void *data);

/* GitHub shows ten annotations of a step and drops the others. */
enum { MARKUP_ANNOTATIONS_MAX = 10 };
/* Begins an annotation, an error or a warning; the rest of the line is its text. The diff view shows the annotation
 * at the file `path`. The file must be in the repository, so an absolute path is left out, as are "-" and
 * "--shape". */
void markup_annotation_start(FILE *, bool is_error, const char *path, const char *title);
void markup_annotation_text(FILE *, const char *text);
