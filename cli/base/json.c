/* Reads and writes JSON, and names places in it. */
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
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/hash.h"
#include "cli/base/json_reader.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/utf8.h"

enum {
  POINTER_TEXT_MAX = 160, /* "grid[0].D[2]" in messages */
  QUOTED_BYTES_MAX = 40,  /* of a string shown in messages */
};

/* ---- texts for messages -------------------------------------------------------------------------------------- */

static void append_quoted(char *out, size_t size, const char *string) {
  const char *at = string;
  uint32_t character;
  text_append(out, size, "\"");
  /* Room for the longest escape, the closing mark and the NUL. */
  while (*at != '\0' && at - string < QUOTED_BYTES_MAX && size - strlen(out) > sizeof "\\u0000...\"") {
    const size_t bytes = utf8_decode(at, &character);
    if (character == UTF8_MALFORMED) {
      text_append(out, size, "\\u%04x", (unsigned char)*at);
    } else if (utf8_is_unsafe(character)) {
      text_append(out, size, "\\u%04x", (unsigned)character);
    } else {
      text_append(out, size, "%.*s", (int)bytes, at);
    }
    at += bytes;
  }
  text_append(out, size, *at != '\0' ? "...\"" : "\"");
}

struct json_shown json_quote(const char *string) {
  struct json_shown out = {""};
  append_quoted(out.text, sizeof out.text, string);
  return out;
}

struct json_shown json_describe(const cJSON *item) {
  struct json_shown out;
  if (cJSON_IsString(item)) return json_quote(item->valuestring);
  if (cJSON_IsNumber(item)) {
    json_format_number(item->valuedouble, out.text);
  } else {
    snprintf(out.text, sizeof out.text, "%s",
             !item                  ? "missing"
             : cJSON_IsObject(item) ? "an object"
             : cJSON_IsArray(item)  ? item->child != NULL ? "an array" : "an empty array"
             : cJSON_IsTrue(item)   ? "true"
             : cJSON_IsFalse(item)  ? "false"
                                    : "null");
  }
  return out;
}

/* ---- places -------------------------------------------------------------------------------------------------- */

static const struct json_node *node_of(const cJSON *item) { return (const struct json_node *)item; }

/* Line and column of an offset, both from 1; columns count bytes. */
struct position {
  size_t line, column;
};

static struct position position_of(const char *text, size_t offset) {
  struct position position = {.line = 1, .column = offset + 1};
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') position = (struct position){.line = position.line + 1, .column = offset - i};
  }
  return position;
}

static bool is_plain_key(const char *key) {
  if (!isalpha((unsigned char)*key) && *key != '_') return false;
  while (isalnum((unsigned char)*key) || *key == '_') ++key;
  return *key == '\0';
}

/* One step of a pointer: "[2]", "grid", ".D" or "[\"odd key\"]". */
static void append_step(char *out, const char *key, size_t index) {
  if (key == NULL) {
    text_append(out, POINTER_TEXT_MAX, "[%zu]", index);
  } else if (is_plain_key(key)) {
    text_append(out, POINTER_TEXT_MAX, "%s%.*s%s", out[0] != '\0' ? "." : "", QUOTED_BYTES_MAX, key,
                strlen(key) > QUOTED_BYTES_MAX ? "..." : "");
  } else {
    text_append(out, POINTER_TEXT_MAX, "[");
    append_quoted(out, POINTER_TEXT_MAX, key);
    text_append(out, POINTER_TEXT_MAX, "]");
  }
}

/* Writes the pointer to an item, such as grid[0].D[2]. On each level, the item lies in the last child that does not
 * begin after it. */
static void point_to(const struct json_doc *doc, const cJSON *item, char out[POINTER_TEXT_MAX]) {
  const size_t start = node_of(item)->start;
  const cJSON *at = doc->root;
  out[0] = '\0';
  while (at != item && at->child != NULL) {
    size_t index = 0;
    for (at = at->child; at->next != NULL && node_of(at->next)->start <= start; at = at->next) ++index;
    append_step(out, at->string, index);
  }
  if (item == doc->root) text_append(out, POINTER_TEXT_MAX, "top level");
}

size_t json_line(const struct json_doc *doc, const cJSON *item) {
  return position_of(doc->text, node_of(item)->start).line;
}

struct status json_error(const struct json_doc *doc, const cJSON *item, bool at_key, const char *format, ...) {
  const struct json_node *node = node_of(item != NULL ? item : doc->root);
  const struct position position = position_of(doc->text, at_key ? node->key_start : node->start);
  char pointer[POINTER_TEXT_MAX], message[STATUS_TEXT_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  point_to(doc, &node->item, pointer);
  return status_make(STATUS_INPUT, "%s:%zu:%zu: %s %s", doc->path, position.line, position.column, pointer, message);
}

struct status json_refuse(const struct json_doc *doc, const cJSON *item, const char *format, ...) {
  char message[STATUS_TEXT_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return json_error(doc, item, false, "is %s; %s", json_describe(item).text, message);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* Reads to the end of the file, which seems to have `size` bytes. *text, NULL at first, is the caller's in any case.
 */
static struct status read_whole(const char *path, int file, size_t size, size_t max_bytes, char **text,
                                size_t *length) {
  size_t room = 0;
  ssize_t got = 1;
  *length = 0;
  while (got != 0) {
    char *grown = *length < room ? *text : realloc(*text, room + size + 2);
    if (grown == NULL)
      return status_make(STATUS_MEMORY, "%s: no memory for its %zu bytes; free some", path, room + size);
    if (*length == room) room += size + 1;
    *text = grown;
    got = read(file, grown + *length, room - *length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_make(STATUS_INPUT, "%s: cannot be read (%s); check the file", path, strerror(errno));
    *length += (size_t)got;
    if (*length > max_bytes)
      return status_make(STATUS_INPUT, "%s: has more bytes than the limit of %zu; split it", path, max_bytes);
  }
  (*text)[*length] = '\0';
  return status_ok();
}

static struct status check_file(const char *path, int file, size_t max_bytes, size_t *size) {
  struct stat info;
  if (fstat(file, &info) != 0)
    return status_make(STATUS_INPUT, "%s: cannot be examined (%s); check the file", path, strerror(errno));
  if (S_ISDIR(info.st_mode)) return status_make(STATUS_INPUT, "%s: is a directory; name a file in it", path);
  if (!S_ISREG(info.st_mode))
    return status_make(STATUS_INPUT, "%s: is not a regular file; save its content to one and name that", path);
  if ((uintmax_t)info.st_size > max_bytes)
    return status_make(STATUS_INPUT, "%s: has %jd bytes, more than the limit of %zu; split it", path,
                       (intmax_t)info.st_size, max_bytes);
  *size = (size_t)info.st_size;
  return status_ok();
}

static void close_opened(const int *file) {
  if (*file > STDERR_FILENO) close(*file);
}

struct status json_read_file(const char *path, size_t max_bytes, char **text, size_t *length) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "stdin" : path;
  size_t size = 1 << 16; /* stdin does not say how long it is */
  /* Without O_NONBLOCK, opening a FIFO waits for a writer that may never come. */
  OWNED(close_opened) const int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  OWNED(owned_free) char *bytes = NULL;
  if (file < 0)
    return status_make(STATUS_INPUT, "%s: cannot be opened (%s); check the path and its permissions", path,
                       strerror(errno));
  if (!is_stdin) TRY(check_file(path, file, max_bytes, &size));
  TRY(read_whole(name, file, size, max_bytes, &bytes, length));
  *text = bytes;
  bytes = NULL;
  return status_ok();
}

static struct status syntax_error(const char *path, const struct json_reader *reader) {
  char found[24] = "the end of the file";
  const struct position at = position_of(reader->text, reader->at);
  if (!reader->wants) return status_make(STATUS_INPUT, "%s:%zu:%zu: %s", path, at.line, at.column, reader->problem);
  if (reader->at < reader->length) {
    const unsigned char byte = (unsigned char)reader->text[reader->at];
    snprintf(found, sizeof found, byte > 0x20 && byte < 0x7f ? "'%c'" : "byte 0x%02x", byte);
  }
  return status_make(STATUS_INPUT, "%s:%zu:%zu: %s, found %s; correct the JSON there", path, at.line, at.column,
                     reader->problem, found);
}

/* The caller frees the document on failure. */
static struct status parse_text(struct json_doc *doc) {
  struct json_reader reader = {.text = doc->text, .length = doc->length};
  if (doc->length == 0) return status_make(STATUS_INPUT, "%s:1:1: is empty; write a JSON value into it", doc->path);
  const bool is_json = json_reader_read(&reader);
  doc->blocks = reader.blocks;
  if (!is_json) return syntax_error(doc->path, &reader);
  doc->root = &reader.root->item;
  if (json_reader_has_too_many(&reader))
    return status_make(STATUS_INPUT, "%s: has %zu values in %zu bytes, which no measurements have; give a report",
                       doc->path, reader.values, doc->length);
  if (!reader.lacks_memory) return status_ok();
  return status_make(STATUS_MEMORY, "%s: no memory for its values; free some", doc->path);
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
  json_reader_free(doc->blocks);
  free(doc->text);
  doc->blocks = NULL;
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

struct status json_need(const struct json_doc *doc, const cJSON *object, const char *key, const char *remedy,
                        const cJSON **out) {
  *out = json_get(object, key);
  return *out != NULL ? status_ok() : json_error(doc, object, false, "has no \"%s\"; %s", key, remedy);
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

enum {
  NEAREST_TEXT_MAX = 64,
  NEAREST_EDITS_MAX = 3,
  NEAREST_SHORT_NAME = 4,
  NEAREST_SHORT_EDITS_MAX = 2,
  NEAREST_WORD_MIN = 4,
  NEAREST_START_MIN = 3
};

static bool is_same_letter(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Letters to replace, to insert, to leave out, and neighbours to swap; letter case free. Both texts are shorter than
 * NEAREST_TEXT_MAX. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][NEAREST_TEXT_MAX]; /* of i - 2, i - 1 and i, in turns */
  for (size_t j = 0; j <= b_length; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; ++i) {
    const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    size_t *row = rows[i % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      const bool is_swap = i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]);
      const size_t replaced = last[j - 1] + !is_same_letter(a[i - 1], b[j - 1]);
      row[j] = smaller(replaced, 1 + smaller(last[j], row[j - 1]));
      if (is_swap) row[j] = smaller(row[j], before[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

/* The edits that make a whole word of the name of the text without dashes before it, such as "budget" of
 * "--time-budget", of which one may be misspelt; SIZE_MAX: there is no such word. That it is a part counts as one. */
static size_t edits_to_word(const char *name, const char *text) {
  text += strspn(text, "-");
  const size_t length = strlen(text);
  size_t least = SIZE_MAX;
  for (const char *at = name + strcspn(name, "-_"); length >= NEAREST_WORD_MIN && *at != '\0';) {
    const char *word = at + 1;
    const size_t word_length = strcspn(word, "-_"), edits = edit_distance(text, length, word, word_length);
    if (at != name && edits <= (word_length > NEAREST_WORD_MIN)) least = smaller(least, edits + 1);
    at = word + word_length;
  }
  return least;
}

/* Does the name begin with the text? */
static bool is_start_of(const char *name, const char *text) {
  const size_t dashes = strspn(text, "-"), length = strlen(text);
  return length >= dashes + NEAREST_START_MIN && strncasecmp(name, text, length) == 0;
}

/* Letters that both begin with. */
static size_t common_start(const char *a, const char *b) {
  size_t length = 0;
  while (a[length] != '\0' && a[length] == b[length]) ++length;
  return length;
}

/* Of names that are equally near, the one whose beginning is right. */
const char *json_nearest(const char *text, const char *const *names) {
  const size_t length = strlen(text);
  const char *nearest = NULL;
  size_t least = SIZE_MAX;
  for (; *names; ++names) {
    const size_t name_length = strlen(*names);
    if (length >= NEAREST_TEXT_MAX || name_length >= NEAREST_TEXT_MAX) continue;
    const size_t whole = smaller(edit_distance(text, length, *names, name_length), edits_to_word(*names, text));
    const size_t edits = is_start_of(*names, text) ? smaller(whole, 1) : whole;
    const size_t most = name_length <= NEAREST_SHORT_NAME ? NEAREST_SHORT_EDITS_MAX : NEAREST_EDITS_MAX;
    /* With more than half of its letters changed it is another name. */
    const bool is_alike = 2 * edits <= (length > name_length ? length : name_length);
    if (edits > most || !is_alike || edits > least) continue;
    if (edits == least && common_start(*names, text) <= common_start(nearest, text)) continue;
    least = edits;
    nearest = *names;
  }
  return nearest;
}

static struct status unknown_key(const struct json_doc *doc, const cJSON *item, const char *const *known) {
  const char *nearest = json_nearest(item->string, known);
  char list[256] = "";
  if (nearest) return json_error(doc, item, true, "is not a key known here; did you mean \"%s\"?", nearest);
  for (const char *const *name = known; *name; ++name)
    text_append(list, sizeof list, "%s%s", name == known ? "" : ", ", *name);
  return json_error(doc, item, true, "is not a key known here; remove it or use one of %s", list);
}

/* For qsort: by key, then by place in the text. */
static int by_key(const void *a, const void *b) {
  const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;
  const int order = strcmp(left->item.string, right->item.string);
  return order != 0 ? order : (left->start > right->start) - (left->start < right->start);
}

/* Does each key of the object stand there once? */
static struct status check_once(const struct json_doc *doc, const cJSON *object) {
  const size_t count = (size_t)cJSON_GetArraySize(object);
  OWNED(owned_free) const cJSON **sorted = malloc((count + 1) * sizeof *sorted);
  const cJSON *item = NULL;
  size_t used = 0;
  if (sorted == NULL) return status_make(STATUS_MEMORY, "%s: no memory for %zu keys", doc->path, count);
  cJSON_ArrayForEach(item, object) sorted[used++] = item;
  qsort(sorted, used, sizeof *sorted, by_key);
  for (size_t i = 1; i < used; ++i) {
    if (strcmp(sorted[i - 1]->string, sorted[i]->string) == 0)
      return json_error(doc, sorted[i], true, "appears twice in its object; remove one of the two");
  }
  return status_ok();
}

struct status json_check_keys(const struct json_doc *doc, const cJSON *object, const char *const *known) {
  const char *const *name = known;
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, object) {
    /* Most keys stand in the order of `known`. */
    if (*name == NULL || strcmp(*name, item->string) != 0) name = known;
    while (*name != NULL && strcmp(*name, item->string) != 0) ++name;
    if (*name == NULL) return unknown_key(doc, item, known);
    ++name;
  }
  return check_once(doc, object);
}

static struct status check_below(const struct json_doc *doc, const cJSON *value) {
  if (cJSON_IsObject(value)) TRY(check_once(doc, value));
  for (const cJSON *item = value->child; item != NULL; item = item->next) TRY(check_below(doc, item));
  return status_ok();
}

struct status json_check_unique(const struct json_doc *doc) {
  return check_below(doc, doc->root);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* 2^53: from here on a double no longer holds every whole number. */
static const double large = 9007199254740992.0;

/* The value of a whole, non-negative number item; a large one is read from its digits. False when it does not fit 64
 * bits, or is large and written with a fraction or exponent. */
static bool exact_whole(const struct json_doc *doc, const cJSON *item, uint64_t *out) {
  *out = item->valuedouble < large ? (uint64_t)item->valuedouble : 0;
  if (item->valuedouble < large) return true;
  char *end = NULL;
  errno = 0;
  *out = strtoull(doc->text + node_of(item)->start, &end, 10);
  return errno == 0 && *end != '.' && *end != 'e' && *end != 'E';
}

struct status json_whole(const struct json_doc *doc, const cJSON *item, uint64_t min, uint64_t max, uint64_t *out) {
  const char *kind = "";
  uint64_t whole = 0;
  if (cJSON_IsNumber(item)) {
    const double value = item->valuedouble;
    if (value != floor(value)) {
      kind = ", a fraction";
    } else if (value >= 0 && exact_whole(doc, item, &whole) && whole >= min && whole <= max) {
      *out = whole;
      return status_ok();
    }
  }
  const struct json_shown shown = json_describe(item);
  if (min == max) return json_error(doc, item, false, "is %s%s; the only value is %" PRIu64, shown.text, kind, min);
  return json_error(doc, item, false, "is %s%s; give a whole number from %" PRIu64 " to %" PRIu64, shown.text, kind,
                    min, max);
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static bool is_refused; /* an allocation of a document */

static void *allocate(size_t bytes) {
  void *allocated = malloc(bytes);
  if (allocated == NULL) is_refused = true;
  return allocated;
}

__attribute__((constructor)) void json_take_allocations(void) {
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
}

void json_format_number(double value, char out[JSON_NUMBER_TEXT_MAX]) {
  enum { DIGITS_MOST = 17 }; /* always suffice for IEEE binary64 */
  /* Up to 15 digits survive in every normal double, and %g drops the zeros that they do not need. */
  int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
  if (value == floor(value) && fabs(value) < 1e15) {
    snprintf(out, JSON_NUMBER_TEXT_MAX, "%s%" PRId64, value == 0 && signbit(value) ? "-" : "", (int64_t)value);
    return;
  }
  do snprintf(out, JSON_NUMBER_TEXT_MAX, "%.*g", digits, value);
  while (digits < DIGITS_MOST && strtod(out, NULL) != value && ++digits);
}

cJSON *json_new_number(double value) {
  char number[JSON_NUMBER_TEXT_MAX];
  if (!isfinite(value)) return cJSON_CreateNull();
  json_format_number(value, number);
  return cJSON_CreateRaw(number); /* cJSON's own printer keeps 15 digits where it thinks them enough */
}

cJSON *json_new_uint(uint64_t value) {
  char number[JSON_NUMBER_TEXT_MAX];
  snprintf(number, sizeof number, "%" PRIu64, value);
  return cJSON_CreateRaw(number);
}

/* Copies `value` with each malformed byte replaced by U+FFFD. NULL when out of memory. */
static char *repaired_utf8(const char *value) {
  uint32_t character;
  size_t used = 0;
  char *copy = allocate(3 * strlen(value) + 1);
  if (copy == NULL) return NULL;
  while (*value != '\0') {
    value += utf8_decode(value, &character);
    used += utf8_encode(character, copy + used);
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

void json_add_item(cJSON *object, const char *key, cJSON *item) {
  if (!cJSON_AddItemToObject(object, key, item)) cJSON_Delete(item);
}

void json_append(cJSON *array, cJSON *item) {
  if (!cJSON_AddItemToArray(array, item)) cJSON_Delete(item);
}

void json_add_number(cJSON *object, const char *key, double value) {
  json_add_item(object, key, json_new_number(value));
}

void json_add_uint(cJSON *object, const char *key, uint64_t value) {
  json_add_item(object, key, json_new_uint(value));
}

void json_add_string(cJSON *object, const char *key, const char *value) {
  json_add_item(object, key, value != NULL ? json_new_string(value) : cJSON_CreateNull());
}

void json_add_bool(cJSON *object, const char *key, bool value) { cJSON_AddBoolToObject(object, key, value); }

cJSON *json_add_element(cJSON *array) {
  cJSON *element = cJSON_CreateObject();
  if (cJSON_AddItemToArray(array, element)) return element;
  cJSON_Delete(element);
  return NULL;
}

/* The next character that is not safe to show, or the '#' of a "#[" (text_clean); NULL: none follows. cJSON escapes
 * characters below DEL, and line ends and tabs stand between values. */
static const char *find_unsafe(const char *text, uint32_t *character, size_t *bytes) {
  for (;; text += *bytes) {
    while (*text > 0 && *text < 0x7f && !(text[0] == '#' && text[1] == '[')) ++text;
    if (*text == '\0') return NULL;
    *bytes = utf8_decode(text, character);
    if (utf8_is_unsafe(*character) || *character == '#') return text;
  }
}

/* Writes characters that would control a terminal as JSON escapes, since files are shown in terminals. Takes
 * ownership of the text; NULL without memory. */
static char *escape_unsafe(char *text) {
  enum { ESCAPE_BYTES = sizeof "\\u0000" - 1 };
  uint32_t character;
  size_t count = 0, used = 0, bytes;
  for (const char *at = text; (at = find_unsafe(at, &character, &bytes)) != NULL; at += bytes) ++count;
  if (count == 0) return text;
  const size_t size = strlen(text) + count * ESCAPE_BYTES + 1;
  char *out = allocate(size);
  const char *at = text;
  for (const char *found; out != NULL && (found = find_unsafe(at, &character, &bytes)) != NULL; at = found + bytes)
    used += (size_t)snprintf(out + used, size - used, "%.*s\\u%04x", (int)(found - at), at, (unsigned)character);
  if (out != NULL) snprintf(out + used, size - used, "%s", at);
  free(text);
  return out;
}

char *json_text(cJSON *root, bool indented) {
  char *text = NULL;
  if (!is_refused) text = indented ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return text != NULL ? escape_unsafe(text) : NULL;
}

static struct status no_memory_for(const char *what) { return status_make(STATUS_MEMORY, "no memory for %s", what); }

struct status json_check_memory(const char *what) {
  return is_refused ? no_memory_for(what) : status_ok();
}

struct status json_write(cJSON *root, const char *what, FILE *file) {
  char *text = json_text(root, true);
  if (text == NULL) return no_memory_for(what);
  fprintf(file, "%s\n", text);
  free(text);
  return status_ok();
}

/* ---- lists --------------------------------------------------------------------------------------------------- */

/* A file, and the hash of what was written to it. */
struct sink {
  FILE *file;
  uint64_t hash;
};

static void put(struct sink *sink, const char *text, size_t length) {
  fwrite(text, 1, length, sink->file);
  sink->hash = hash_add(sink->hash, text, length);
}

/* Writes the text of an element indented as in a list of the root, by two tabs. */
static void put_indented(struct sink *sink, const char *text) {
  for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
    put(sink, text, (size_t)(end - text) + 1);
    put(sink, "\t\t", 2);
  }
  put(sink, text, strlen(text));
}

/* The rest of the root's text, with a checksum in front of its last brace where it wants one. */
static void put_end(struct sink *sink, const char *text, bool has_checksum) {
  static const char closing[] = "\n}";
  char end[CHECKSUM_END_MAX] = "\n}\n";
  put(sink, text, strlen(text) - (sizeof closing - 1));
  if (has_checksum) checksum_end(&checksum_file, sink->hash, end);
  fputs(end, sink->file);
}

/* The elements as text, as many as there is memory for. */
static size_t print_elements(const struct json_list *list, char **out) {
  size_t count = 0;
  while (count < list->count && (out[count] = json_text(list->element(list->of, count), true)) != NULL) ++count;
  return count;
}

struct status json_write_list(cJSON *root, const struct json_list *list, const char *what, FILE *file) {
  static const char place[] = "\1"; /* a byte that no JSON has, where the elements go */
  const bool has_checksum = json_get(root, JSON_HAS_CHECKSUM) != NULL;
  struct sink sink = {file, HASH_EMPTY};
  json_append(cJSON_GetObjectItemCaseSensitive(root, list->key), cJSON_CreateRaw(place));
  char *text = json_text(root, true), **elements = calloc(list->count + 1, sizeof *elements);
  size_t count = text != NULL && elements != NULL ? print_elements(list, elements) : 0;
  /* Nothing is written before all are there. */
  const bool ok = text != NULL && elements != NULL && count == list->count;
  if (ok) {
    const size_t before = strcspn(text, place);
    put(&sink, text, before);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) put(&sink, ", ", 2);
      put_indented(&sink, elements[i]);
    }
    put_end(&sink, text + before + 1, has_checksum);
  }
  while (count > 0) free(elements[--count]);
  free(elements);
  free(text);
  return ok ? status_ok() : no_memory_for(what);
}
