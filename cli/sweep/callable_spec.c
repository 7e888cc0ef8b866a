/* Reads the names of Python functions. */
#include "cli/sweep/callable_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parts of a text, which may lie in a folder whose name has "=" or ":" in it. */
struct parts {
  size_t name_length;   /* before the "="; 0: there is none */
  const char *module;   /* up to the last ":" */
  const char *function; /* behind it */
};

static bool is_word(const char *text, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
  }
  return length > 0;
}

static bool is_qualified_name(const char *text) {
  for (size_t length; length = strcspn(text, "."), true; text += length + 1) {
    if (!is_word(text, length) || isdigit((unsigned char)text[0])) return false;
    if (text[length] == '\0') return true;
  }
}

static bool split(const char *text, struct parts *out) {
  const char *colon = strrchr(text, ':');
  const size_t name_length = strcspn(text, "=:/.");
  const bool is_named = text[name_length] == '=';
  out->name_length = is_named ? name_length : 0;
  out->module = is_named ? text + name_length + 1 : text;
  out->function = colon != NULL ? colon + 1 : "";
  return colon != NULL && colon > out->module && is_qualified_name(out->function);
}

static bool is_file(const char *module, size_t length) {
  return length > 3 && strncmp(module + length - 3, ".py", 3) == 0;
}

bool callable_spec_is(const char *text) {
  struct parts parts;
  if (is_file(text, strlen(text))) return true;
  return access(text, F_OK) != 0 && (split(text, &parts) || strstr(text, ".py:") != NULL);
}

/* A-Z become a-z; "" where it would be no name of a variant. */
static void take_name(const char *from, size_t length, struct callable_spec *out) {
  if (length > ATTN_PLUGIN_NAME_MAX || !is_word(from, length)) length = 0;
  for (size_t i = 0; i < length; ++i) out->name[i] = (char)tolower((unsigned char)from[i]);
  out->name[length] = '\0';
}

static struct status take_module(const char *text, const struct parts *parts, struct callable_spec *out) {
  const size_t length = (size_t)(parts->function - 1 - parts->module);
  char given[PATH_MAX];
  snprintf(given, sizeof given, "%.*s", (int)length, parts->module);
  if (!is_file(given, strlen(given))) {
    snprintf(out->module, sizeof out->module, "%s", given);
    return is_qualified_name(given)
               ? status_ok()
               : status_make(STATUS_USAGE, "--load %s: give FILE.py:FUNCTION or package.module:FUNCTION", text);
  }
  if (realpath(given, out->module) != NULL) return status_ok();
  return status_make(STATUS_USAGE, "--load %s: %s: %s; give the path of the Python file", text, given,
                     strerror(errno));
}

struct status callable_spec_parse(const char *text, struct callable_spec *out) {
  struct parts parts;
  *out = (struct callable_spec){.name = ""};
  if (!split(text, &parts))
    return status_make(STATUS_USAGE, "--load %s: give FILE.py:FUNCTION or package.module:FUNCTION", text);
  const char *last = strrchr(parts.function, '.'), *called = last != NULL ? last + 1 : parts.function;
  take_name(parts.name_length > 0 ? text : called, parts.name_length > 0 ? parts.name_length : strlen(called), out);
  if (out->name[0] == '\0')
    return status_make(STATUS_USAGE, "--load %s: a variant's name is 1 to %d of [a-z0-9_]; give NAME=%s", text,
                       ATTN_PLUGIN_NAME_MAX, parts.module);
  snprintf(out->function, sizeof out->function, "%s", parts.function);
  return take_module(text, &parts, out);
}

void callable_spec_file(const char *text, char out[PATH_MAX]) {
  struct callable_spec spec;
  snprintf(out, PATH_MAX, "%s", text);
  if (!callable_spec_is(text)) return;
  const struct status status = callable_spec_parse(text, &spec);
  const bool is_known = !status_failed(&status) && is_file(spec.module, strlen(spec.module));
  snprintf(out, PATH_MAX, "%s", is_known ? spec.module : "");
}

struct status callable_spec_hash(const char *text, char out[HASH_TEXT_MAX]) {
  char path[PATH_MAX];
  callable_spec_file(text, path);
  if (path[0] != '\0') return hash_file(path, out);
  hash_bytes(text, strlen(text), out);
  return status_ok();
}
