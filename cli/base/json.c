/* Parses JSON strictly through cJSON, names places in it, and writes it. */
#include "cli/base/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/decimal.h"
#include "cli/base/json_scan.h"

enum {
  POINTER_TEXT_MAX = 160, /* "grid[0].D[2]" in messages */
  QUOTED_BYTES_MAX = 40,  /* of a string shown in messages */
};

/* ---- text for messages --------------------------------------------------------------------------------------- */

/* Text built up in a fixed buffer; what does not fit is dropped. */
struct text {
  char *bytes;
  size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(text->bytes + text->used, text->size - text->used, format, args);
  va_end(args);
  if (length < 0) return;
  const size_t left = text->size - text->used - 1;
  text->used += (size_t)length < left ? (size_t)length : left;
}

/* Control bytes could drive a terminal, so they are shown as escapes; so are C1 controls, which UTF-8 writes as
 * 0xc2 0x80..0x9f. */
static void text_add_quoted(struct text *text, const char *string) {
  const size_t length = strlen(string);
  size_t at = 0;
  text_add(text, "\"");
  /* Room for the longest escape, the closing mark and the NUL. */
  while (at < length && at < QUOTED_BYTES_MAX && text->size - text->used > sizeof "\\u0000...\"") {
    const size_t bytes = json_scan_utf8(string + at, length - at);
    const unsigned char first = (unsigned char)string[at], second = (unsigned char)(bytes == 2 ? string[at + 1] : 0);
    if (bytes == 0 || first < 0x20 || first == 0x7f) {
      text_add(text, "\\u%04x", (unsigned)first);
    } else if (first == 0xc2 && second < 0xa0) {
      text_add(text, "\\u%04x", (unsigned)second);
    } else {
      text_add(text, "%.*s", (int)bytes, string + at);
    }
    at += bytes ? bytes : 1;
  }
  text_add(text, at < length ? "...\"" : "\"");
}

void json_quote(const char *string, char out[JSON_VALUE_TEXT_MAX]) {
  struct text text = {.bytes = out, .size = JSON_VALUE_TEXT_MAX};
  text_add_quoted(&text, string);
}

void json_describe(const cJSON *item, char out[JSON_VALUE_TEXT_MAX]) {
  if (cJSON_IsString(item)) {
    json_quote(item->valuestring, out);
  } else if (cJSON_IsNumber(item)) {
    json_format_number(item->valuedouble, out);
  } else {
    snprintf(out, JSON_VALUE_TEXT_MAX, "%s",
             !item                  ? "missing"
             : cJSON_IsObject(item) ? "an object"
             : cJSON_IsArray(item)  ? "an array"
             : cJSON_IsTrue(item)   ? "true"
             : cJSON_IsFalse(item)  ? "false"
                                    : "null");
  }
}

static bool is_plain_key(const char *key) {
  if (!isalpha((unsigned char)*key) && *key != '_') return false;
  while (isalnum((unsigned char)*key) || *key == '_') ++key;
  return *key == '\0';
}

/* ---- places -------------------------------------------------------------------------------------------------- */

/* An item's place in the tree: the ancestors below the root, itself last, and each one's index in its parent. */
struct place {
  const cJSON *item[JSON_DEPTH_MAX];
  size_t index[JSON_DEPTH_MAX];
  size_t depth;
};

static bool place_find(const cJSON *parent, const cJSON *wanted, struct place *place) {
  const cJSON *child = NULL;
  const size_t level = place->depth;
  size_t index = 0;
  if (parent == wanted) return true;
  if (level >= JSON_DEPTH_MAX) return false;
  cJSON_ArrayForEach(child, parent) {
    place->item[level] = child;
    place->index[level] = index++;
    place->depth = level + 1;
    if (place_find(child, wanted, place)) return true;
  }
  place->depth = level;
  return false;
}

static struct place place_of(const struct json_doc *doc, const cJSON *item) {
  struct place place = {.depth = 0};
  place_find(doc->root, item, &place);
  return place;
}

static void place_pointer(const struct place *place, char out[POINTER_TEXT_MAX]) {
  struct text text = {.bytes = out, .size = POINTER_TEXT_MAX};
  out[0] = '\0';
  for (size_t i = 0; i < place->depth; ++i) {
    const char *key = place->item[i]->string;
    if (!key) {
      text_add(&text, "[%zu]", place->index[i]);
    } else if (is_plain_key(key)) {
      text_add(&text, "%s%.*s%s", i ? "." : "", QUOTED_BYTES_MAX, key, strlen(key) > QUOTED_BYTES_MAX ? "..." : "");
    } else {
      text_add(&text, "[");
      text_add_quoted(&text, key);
      text_add(&text, "]");
    }
  }
  if (place->depth == 0) text_add(&text, "top level");
}

static void place_position(const struct json_doc *doc, const struct place *place, bool at_key, size_t *line,
                           size_t *column) {
  const size_t offset = json_scan_find(doc->text, doc->length, place->index, place->depth, at_key);
  json_scan_position(doc->text, offset, line, column);
}

size_t json_line(const struct json_doc *doc, const cJSON *item) {
  const struct place place = place_of(doc, item);
  size_t line, column;
  place_position(doc, &place, false, &line, &column);
  return line;
}

struct status json_error(const struct json_doc *doc, const cJSON *item, bool at_key, const char *format, ...) {
  const struct place place = place_of(doc, item);
  char pointer[POINTER_TEXT_MAX], message[STATUS_TEXT_MAX];
  size_t line, column;
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  place_pointer(&place, pointer);
  place_position(doc, &place, at_key && place.depth > 0 && place.item[place.depth - 1]->string, &line, &column);
  return status_make(STATUS_INPUT, "%s:%zu:%zu: %s %s", doc->path, line, column, pointer, message);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* Reads until `size` bytes or the end of the file. */
static struct status read_whole(const char *path, int file, char *text, size_t size, size_t *length) {
  *length = 0;
  while (*length < size) {
    const ssize_t got = read(file, text + *length, size - *length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_make(STATUS_INPUT, "%s: cannot be read (%s); check the file", path, strerror(errno));
    if (got == 0) break;
    *length += (size_t)got;
  }
  return status_ok();
}

static struct status check_file(const char *path, const struct stat *info, size_t max_bytes) {
  if (S_ISDIR(info->st_mode)) return status_make(STATUS_INPUT, "%s: is a directory; name a file in it", path);
  if (!S_ISREG(info->st_mode)) {
    return status_make(STATUS_INPUT, "%s: is not a regular file; save its content to one and name that", path);
  }
  if ((uintmax_t)info->st_size > max_bytes) {
    return status_make(STATUS_INPUT, "%s: has %jd bytes, more than the limit of %zu; split it", path,
                       (intmax_t)info->st_size, max_bytes);
  }
  return status_ok();
}

static struct status read_open_file(const char *path, int file, size_t max_bytes, char **text, size_t *length) {
  struct stat info;
  if (fstat(file, &info) != 0) {
    return status_make(STATUS_INPUT, "%s: cannot be examined (%s); check the file", path, strerror(errno));
  }
  TRY(check_file(path, &info, max_bytes));
  const size_t size = (size_t)info.st_size;
  char *bytes = malloc(size + 1);
  if (!bytes) return status_make(STATUS_MEMORY, "%s: no memory for its %zu bytes; free some", path, size);
  struct status status = read_whole(path, file, bytes, size, length);
  if (status_failed(&status)) {
    free(bytes);
    return status;
  }
  bytes[*length] = '\0';
  *text = bytes;
  return status_ok();
}

enum { STREAM_STEP_BYTES = 1 << 16 };

/* A stream does not say how long it is. */
static struct status read_stream(int file, size_t max_bytes, char **bytes, size_t *length) {
  size_t size = 0, got;
  do {
    char *grown = size <= max_bytes ? realloc(*bytes, size + STREAM_STEP_BYTES + 1) : NULL;
    if (size > max_bytes)
      return status_make(STATUS_INPUT, "stdin: has more bytes than the limit of %zu; split it", max_bytes);
    if (grown == NULL) return status_make(STATUS_MEMORY, "stdin: no memory for more than %zu bytes", size);
    *bytes = grown;
    TRY(read_whole("stdin", file, grown + size, STREAM_STEP_BYTES, &got));
    size += got;
  } while (got > 0);
  (*bytes)[size] = '\0';
  *length = size;
  return status_ok();
}

static struct status read_stdin(size_t max_bytes, char **text, size_t *length) {
  char *bytes = NULL;
  const struct status status = read_stream(STDIN_FILENO, max_bytes, &bytes, length);
  if (status_failed(&status)) {
    free(bytes);
    return status;
  }
  *text = bytes;
  return status_ok();
}

struct status json_read_file(const char *path, size_t max_bytes, char **text, size_t *length) {
  if (strcmp(path, "-") == 0) return read_stdin(max_bytes, text, length);
  /* Without O_NONBLOCK, opening a FIFO waits for a writer that may never come. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return status_make(STATUS_INPUT, "%s: cannot be opened (%s); check the path and its permissions", path,
                       strerror(errno));
  }
  const struct status status = read_open_file(path, file, max_bytes, text, length);
  close(file);
  return status;
}

static struct status syntax_error(const char *path, const struct json_scan *scan) {
  char found[24] = "the end of the file";
  size_t line, column;
  json_scan_position(scan->text, scan->at, &line, &column);
  if (!scan->wants) return status_make(STATUS_INPUT, "%s:%zu:%zu: %s", path, line, column, scan->problem);
  if (scan->at < scan->length) {
    const unsigned char byte = (unsigned char)scan->text[scan->at];
    snprintf(found, sizeof found, byte > 0x20 && byte < 0x7f ? "'%c'" : "byte 0x%02x", byte);
  }
  return status_make(STATUS_INPUT, "%s:%zu:%zu: %s, found %s; correct the JSON there", path, line, column,
                     scan->problem, found);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* What a document is read into lies in blocks that go with it: large reports have millions of values. */
struct json_block {
  struct json_block *next;
  size_t used, size;
  _Alignas(max_align_t) char bytes[];
};

static bool is_refused;                       /* an allocation of a document */
static _Thread_local struct json_doc *parsed; /* the document that cJSON is reading */

static void *refuse_unless(void *allocated) {
  if (allocated == NULL) is_refused = true;
  return allocated;
}

static struct json_block *add_block(struct json_doc *doc, size_t bytes) {
  enum { LEAST = 1 << 12, MOST = 1 << 20 };
  size_t size = doc->blocks != NULL ? 2 * doc->blocks->size : LEAST;
  if (size > MOST) size = MOST;
  if (size < bytes) size = bytes;
  struct json_block *block = refuse_unless(malloc(sizeof *block + size));
  if (block == NULL) return NULL;
  *block = (struct json_block){.next = doc->blocks, .size = size};
  return doc->blocks = block;
}

static void *take(struct json_doc *doc, size_t bytes) {
  const size_t unit = _Alignof(cJSON), whole = (bytes + unit - 1) / unit * unit;
  struct json_block *block = doc->blocks;
  if (block == NULL || block->size - block->used < whole) block = add_block(doc, whole);
  if (block == NULL) return NULL;
  block->used += whole;
  return block->bytes + block->used - whole;
}

static void *allocate(size_t bytes) { return parsed != NULL ? take(parsed, bytes) : refuse_unless(malloc(bytes)); }

static void release(void *allocated) {
  if (parsed == NULL) free(allocated);
}

__attribute__((constructor)) void json_take_allocations(void) {
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = release});
}

/* ---- large numbers ------------------------------------------------------------------------------------------- */

static int by_item(const void *a, const void *b) {
  const cJSON *left = ((const struct json_large *)a)->item, *right = ((const struct json_large *)b)->item;
  return (left > right) - (left < right);
}

/* Most numbers are told from a large one by their length. */
static bool is_large(const char *token, size_t length) {
  const char *point = memchr(token, '.', length);
  const size_t whole = point != NULL ? (size_t)(point - token) : length;
  const bool has_exponent = memchr(token, 'e', length) != NULL || memchr(token, 'E', length) != NULL;
  return (whole >= 16 || has_exponent) && strtod(token, NULL) >= JSON_SCAN_LARGE;
}

static const char *skip_string(const char *text) {
  for (++text; *text != '"'; ++text) text += *text == '\\';
  return text + 1;
}

/* Notes where the large numbers of a text that is known to be JSON begin, in its order; how many. out may be NULL. */
static size_t find_large(const char *text, struct json_large *out) {
  size_t count = 0;
  for (const char *at = text; *at != '\0';) {
    const size_t length = strspn(at, "0123456789+-.eE");
    const bool is_number = length > 0 && *at != 'e'; /* of true or false */
    if (is_number && is_large(at, length)) {
      if (out != NULL) out[count].offset = (size_t)(at - text);
      ++count;
    }
    at = *at == '"' ? skip_string(at) : at + (length > 0 ? length : 1);
  }
  return count;
}

/* The items of the same numbers, in the same order. */
static void pair_large(const cJSON *value, struct json_large *out, size_t most, size_t *count) {
  if (cJSON_IsNumber(value) && value->valuedouble >= JSON_SCAN_LARGE && *count < most) out[(*count)++].item = value;
  for (const cJSON *item = value->child; item != NULL; item = item->next) pair_large(item, out, most, count);
}

/* cJSON keeps neither the digits nor the place of a number. */
static struct status keep_large(struct json_doc *doc) {
  const size_t most = find_large(doc->text, NULL);
  if (most == 0) return status_ok();
  doc->large = calloc(most, sizeof *doc->large);
  if (doc->large == NULL) return status_make(STATUS_MEMORY, "%s: no memory for its values; free some", doc->path);
  find_large(doc->text, doc->large);
  pair_large(doc->root, doc->large, most, &doc->large_count);
  qsort(doc->large, doc->large_count, sizeof *doc->large, by_item);
  return status_ok();
}

/* The caller frees the document on failure. */
static struct status parse_text(struct json_doc *doc) {
  struct json_scan scan = {.text = doc->text, .length = doc->length};
  const char *end = NULL;
  if (doc->length == 0) return status_make(STATUS_INPUT, "%s:1:1: is empty; write a JSON value into it", doc->path);
  if (!json_scan_document(&scan)) return syntax_error(doc->path, &scan);
  if (scan.values > JSON_VALUES_FREE && scan.values > doc->length / JSON_VALUE_BYTES_LEAST) {
    return status_make(STATUS_INPUT, "%s: has %zu values in %zu bytes, which no measurements have; give a report",
                       doc->path, scan.values, doc->length);
  }
  /* The NUL must lie inside the length: cJSON before 1.7.18 reads past a text that it thinks is cut. */
  parsed = doc;
  doc->root = cJSON_ParseWithLengthOpts(doc->text, doc->length + 1, &end, 1);
  parsed = NULL;
  if (!doc->root) return status_make(STATUS_MEMORY, "%s: no memory for its values; free some", doc->path);
  return scan.has_large_number ? keep_large(doc) : status_ok();
}

struct status json_adopt(const char *path, char *text, size_t length, struct json_doc *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->path, sizeof out->path, "%s", path);
  out->length = length;
  out->text = text;
  const struct status status = parse_text(out);
  if (status_failed(&status)) json_free(out);
  return status;
}

struct status json_parse(const char *path, const char *text, size_t length, struct json_doc *out) {
  char *copy = malloc(length + 1);
  if (!copy) return status_make(STATUS_MEMORY, "%s: no memory for its %zu bytes; free some", path, length);
  if (length > 0) memcpy(copy, text, length);
  copy[length] = '\0';
  return json_adopt(path, copy, length, out);
}

void json_free(struct json_doc *doc) {
  while (doc->blocks != NULL) {
    struct json_block *next = doc->blocks->next;
    free(doc->blocks);
    doc->blocks = next;
  }
  free(doc->text);
  free(doc->large);
  doc->large = NULL;
  doc->large_count = 0;
  doc->root = NULL;
  doc->text = NULL;
}

struct status json_load(const char *path, size_t max_bytes, struct json_doc *out) {
  char *text;
  size_t length;
  TRY(json_read_file(path, max_bytes, &text, &length));
  return json_adopt(path, text, length, out);
}

const cJSON *json_get(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

/* ---- keys ---------------------------------------------------------------------------------------------------- */

enum { NEAREST_TEXT_MAX = 64, NEAREST_EDITS_MAX = 3, NEAREST_SHORT_NAME = 4, NEAREST_SHORT_EDITS_MAX = 2 };

/* Levenshtein distance, letter case free. Both texts are shorter than NEAREST_TEXT_MAX. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t row[NEAREST_TEXT_MAX];
  for (size_t j = 0; j <= b_length; ++j) row[j] = j;
  for (size_t i = 1; i <= a_length; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      const bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
      const size_t replaced = diagonal + !same;
      const size_t inserted = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
      diagonal = row[j];
      row[j] = replaced < inserted ? replaced : inserted;
    }
  }
  return row[b_length];
}

const char *json_nearest(const char *text, const char *const *names) {
  const size_t length = strlen(text);
  const char *nearest = NULL;
  size_t least = SIZE_MAX;
  for (; *names; ++names) {
    const size_t name_length = strlen(*names);
    if (length >= NEAREST_TEXT_MAX || name_length >= NEAREST_TEXT_MAX) continue;
    const size_t edits = edit_distance(text, length, *names, name_length);
    const size_t most = name_length <= NEAREST_SHORT_NAME ? NEAREST_SHORT_EDITS_MAX : NEAREST_EDITS_MAX;
    /* As many edits as letters would be another name altogether. */
    const bool shares_a_letter = edits < (length > name_length ? length : name_length);
    if (edits > most || !shares_a_letter || edits >= least) continue;
    least = edits;
    nearest = *names;
  }
  return nearest;
}

static struct status unknown_key(const struct json_doc *doc, const cJSON *item, const char *const *known) {
  const char *nearest = json_nearest(item->string, known);
  char list[256];
  struct text text = {.bytes = list, .size = sizeof list};
  if (nearest) return json_error(doc, item, true, "is not a key known here; did you mean \"%s\"?", nearest);
  list[0] = '\0';
  for (const char *const *name = known; *name; ++name) text_add(&text, "%s%s", name == known ? "" : ", ", *name);
  return json_error(doc, item, true, "is not a key known here; remove it or use one of %s", list);
}

struct status json_check_keys(const struct json_doc *doc, const cJSON *object, const char *const *known) {
  enum { SEEN_MAX = 64 };
  uint64_t seen = 0;
  const cJSON *item = NULL;
  size_t index = 0;
  cJSON_ArrayForEach(item, object) {
    /* Most keys stand in the order of `known`. */
    if (index > 0 && known[index] != NULL && strcmp(known[index], item->string) != 0) index = 0;
    if (known[index] == NULL) index = 0;
    while (known[index] && strcmp(known[index], item->string) != 0) ++index;
    if (!known[index] || index >= SEEN_MAX) return unknown_key(doc, item, known);
    if (seen >> index & 1u) return json_error(doc, item, true, "appears twice in its object; remove one of the two");
    seen |= UINT64_C(1) << index++;
  }
  return status_ok();
}

static int by_key(const void *a, const void *b) {
  return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Keys that differ seldom share a bit here; false says that they may be the same. */
static bool has_distinct_bits(const cJSON *object) {
  enum { BITS = 4096 };
  uint64_t seen[BITS / 64] = {0};
  for (const cJSON *item = object->child; item != NULL; item = item->next) {
    uint32_t hash = 0;
    for (const char *c = item->string; *c != '\0'; ++c) hash = hash * 31 + (unsigned char)*c;
    uint64_t *word = &seen[hash % BITS / 64];
    const uint64_t bit = UINT64_C(1) << hash % 64;
    if ((*word & bit) != 0) return false;
    *word |= bit;
  }
  return true;
}

static struct status twice_in(const struct json_doc *doc, const cJSON *object) {
  enum { FEW = 64 };
  const size_t count = (size_t)cJSON_GetArraySize(object);
  const cJSON *few[FEW], **sorted = count <= FEW ? few : malloc(count * sizeof *sorted), *item = NULL;
  struct status status = status_ok();
  size_t used = 0;
  if (sorted == NULL) return status_make(STATUS_MEMORY, "%s: no memory for %zu keys", doc->path, count);
  cJSON_ArrayForEach(item, object) sorted[used++] = item;
  qsort(sorted, used, sizeof *sorted, by_key);
  for (size_t i = 1; i < used && !status_failed(&status); ++i) {
    if (by_key(&sorted[i - 1], &sorted[i]) == 0)
      status = json_error(doc, sorted[i], true, "appears twice in its object; remove one of the two");
  }
  if (sorted != few) free(sorted);
  return status;
}

static struct status twice_below(const struct json_doc *doc, const cJSON *value) {
  struct status status = cJSON_IsObject(value) && !has_distinct_bits(value) ? twice_in(doc, value) : status_ok();
  for (const cJSON *item = value->child; item != NULL && !status_failed(&status); item = item->next)
    status = twice_below(doc, item);
  return status;
}

struct status json_check_unique(const struct json_doc *doc) {
  return twice_below(doc, doc->root);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* The value of a whole, non-negative number item. Above 2^53 a double no longer holds every whole number, so the
 * digits are read from the text. False when it does not fit 64 bits or is written with a fraction or exponent. */
static bool exact_whole(const struct json_doc *doc, const cJSON *item, uint64_t *out) {
  if (item->valuedouble < JSON_SCAN_LARGE) {
    *out = (uint64_t)item->valuedouble;
    return true;
  }
  const struct json_large wanted = {.item = item};
  const struct json_large *large = bsearch(&wanted, doc->large, doc->large_count, sizeof *doc->large, by_item);
  if (large == NULL) return false;
  const char *digits = doc->text + large->offset;
  char *end = NULL;
  if (!isdigit((unsigned char)*digits)) return false;
  errno = 0;
  const unsigned long long value = strtoull(digits, &end, 10);
  *out = value;
  return errno == 0 && !strchr(".eE", *end == '\0' ? ' ' : *end);
}

struct status json_whole(const struct json_doc *doc, const cJSON *item, uint64_t min, uint64_t max, uint64_t *out) {
  const char *kind = "";
  uint64_t whole = 0;
  if (cJSON_IsNumber(item)) {
    const double value = item->valuedouble;
    if (value != floor(value)) {
      kind = ", a fraction";
    } else if (value >= 0 && (value < JSON_SCAN_LARGE || (double)max >= JSON_SCAN_LARGE) &&
               exact_whole(doc, item, &whole) && whole >= min && whole <= max) {
      *out = whole;
      return status_ok();
    }
  }
  char shown[JSON_VALUE_TEXT_MAX];
  json_describe(item, shown);
  if (min == max) return json_error(doc, item, false, "is %s%s; the only value is %" PRIu64, shown, kind, min);
  return json_error(doc, item, false, "is %s%s; give a whole number from %" PRIu64 " to %" PRIu64, shown, kind, min,
                    max);
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

void json_format_number(double value, char out[32]) {
  char printed[32];
  /* Up to 15 digits survive in every normal double, and %g drops the zeros that they do not need. */
  int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
  if (value == floor(value) && fabs(value) < 1e15) {
    snprintf(out, 32, "%s%" PRId64, value == 0 && signbit(value) ? "-" : "", (int64_t)value);
    return;
  }
  if (decimal_format(value, out)) return;
  /* 17 significant digits always suffice for IEEE binary64. */
  do {
    snprintf(printed, sizeof printed, "%.*g", digits, value);
  } while (strtod(printed, NULL) != value && ++digits <= 17);
  /* The locale may write the decimal point as another character, or as several. */
  size_t used = 0;
  for (const char *c = printed; *c; ++c) {
    const bool plain = strchr("0123456789+-e", *c) != NULL;
    if (plain) out[used++] = *c;
    if (!plain && used > 0 && out[used - 1] != '.') out[used++] = '.';
  }
  out[used] = '\0';
}

void json_add_number(cJSON *object, const char *key, double value) {
  char number[32];
  if (!isfinite(value)) {
    cJSON_AddNullToObject(object, key);
    return;
  }
  json_format_number(value, number);
  cJSON_AddRawToObject(object, key, number); /* cJSON's own printer keeps 15 digits where it thinks them enough */
}

void json_add_uint(cJSON *object, const char *key, uint64_t value) {
  char number[32];
  snprintf(number, sizeof number, "%" PRIu64, value);
  cJSON_AddRawToObject(object, key, number);
}

/* Copies `value` with each malformed byte replaced by U+FFFD. NULL when out of memory. */
static char *repaired_utf8(const char *value) {
  static const char replacement[] = "\xef\xbf\xbd";
  const size_t length = strlen(value);
  char *copy = allocate(3 * length + 1);
  size_t used = 0;
  if (!copy) return NULL;
  for (size_t at = 0; at < length;) {
    const size_t bytes = json_scan_utf8(value + at, length - at);
    memcpy(copy + used, bytes ? value + at : replacement, bytes ? bytes : 3);
    used += bytes ? bytes : 3;
    at += bytes ? bytes : 1;
  }
  copy[used] = '\0';
  return copy;
}

cJSON *json_new_string(const char *value) {
  char *text = repaired_utf8(value);
  cJSON *item = text != NULL ? cJSON_CreateString(text) : NULL;
  free(text);
  return item;
}

void json_add_string(cJSON *object, const char *key, const char *value) {
  cJSON *item = value != NULL ? json_new_string(value) : cJSON_CreateNull();
  if (!cJSON_AddItemToObject(object, key, item)) cJSON_Delete(item);
}

void json_add_bool(cJSON *object, const char *key, bool value) { cJSON_AddBoolToObject(object, key, value); }

cJSON *json_add_element(cJSON *array) {
  cJSON *element = cJSON_CreateObject();
  if (cJSON_AddItemToArray(array, element)) return element;
  cJSON_Delete(element);
  return NULL;
}

char *json_text(cJSON *root, bool is_whole, bool indented) {
  char *text = NULL;
  if (root != NULL && is_whole && !is_refused) text = indented ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return text;
}

struct status json_write(cJSON *root, bool is_whole, const char *what, FILE *file) {
  char *text = json_text(root, is_whole, true);
  if (text == NULL) return status_make(STATUS_MEMORY, "no memory for %s", what);
  fputs(text, file);
  fputc('\n', file);
  free(text);
  return status_ok();
}

/* ---- lists --------------------------------------------------------------------------------------------------- */

/* As it would stand in a list of the root, whose objects are indented by two tabs. */
static void write_indented(const char *text, FILE *file) {
  for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
    fwrite(text, 1, (size_t)(end - text) + 1, file);
    fputs("\t\t", file);
  }
  fputs(text, file);
}

/* Behind the opening of the empty list; NULL: it is not there. No text in the document has a raw line end. */
static const char *find_list(const char *text, const char *key) {
  char opening[64];
  const int length = snprintf(opening, sizeof opening, "\n\t\"%s\":\t[", key);
  const char *at = strstr(text, opening);
  return at != NULL ? at + length : NULL;
}

static void write_all(const char *text, const char *list, char *const *elements, size_t count, FILE *file) {
  fwrite(text, 1, (size_t)(list - text), file);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) fputs(", ", file);
    write_indented(elements[i], file);
  }
  fputs(list, file);
  fputc('\n', file);
}

static char *element_text(const struct json_list *list, size_t index) {
  cJSON *element = list->element(list->of, index);
  return json_text(element, element != NULL, true);
}

/* Nothing is written before all are there. */
static bool write_around(const char *text, const struct json_list *list, FILE *file) {
  const char *place = find_list(text, list->key);
  char **elements = calloc(list->count + 1, sizeof *elements);
  bool ok = place != NULL && elements != NULL;
  for (size_t i = 0; i < list->count && ok; ++i) ok = (elements[i] = element_text(list, i)) != NULL;
  if (ok) write_all(text, place, elements, list->count, file);
  for (size_t i = 0; i < list->count && elements != NULL; ++i) free(elements[i]);
  free(elements);
  return ok;
}

struct status json_write_list(cJSON *root, bool is_whole, const struct json_list *list, const char *what,
                              FILE *file) {
  char *text = json_text(root, is_whole, true);
  const bool ok = text != NULL && write_around(text, list, file);
  free(text);
  return ok ? status_ok() : status_make(STATUS_MEMORY, "no memory for %s", what);
}
