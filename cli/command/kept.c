/* Writes and reads the file that lets a comparison go on. */
#include "cli/command/pairs.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/sweep/callable_spec.h"

enum { SIDES = 2, KEPT_PATH_MAX = 640 };

static const char *const side_names[SIDES] = {"base", "candidate"};
static const char magic[] = "attnbench.ab/1";

static void path_of(const char *folder, char out[KEPT_PATH_MAX]) {
  snprintf(out, KEPT_PATH_MAX, "%s/ab.json", folder);
}

bool kept_is_there(const char *folder) {
  char path[KEPT_PATH_MAX];
  path_of(folder, path);
  return access(path, F_OK) == 0;
}

/* ---- what the processes of a side are ------------------------------------------------------------------------ */

/* Of what cannot be read an empty text: the process that wants it says so. */
static void add_hash(cJSON *array, const char *path) {
  char hash[HASH_TEXT_MAX] = "";
  const struct status status = callable_spec_hash(path, hash);
  json_append(array, json_new_string(status_failed(&status) ? "" : hash));
}

/* The program and what it loads, by their contents. */
static cJSON *files_of(const struct kept *kept, int side) {
  const struct options *o = kept->options;
  const struct options_list *loaded = side == 0 && o->base_load.count > 0 ? &o->base_load : &o->load;
  cJSON *files = cJSON_CreateArray();
  add_hash(files, kept->programs[side]);
  for (size_t i = 0; i < loaded->count; ++i) add_hash(files, loaded->item[i]);
  return files;
}

static cJSON *words_of(const struct kept *kept, int side) {
  cJSON *words = cJSON_CreateArray();
  const size_t count = options_relay(kept->options, side == 1, NULL);
  OWNED(owned_free) const char **word = calloc(count + 1, sizeof *word);
  if (word == NULL) return (cJSON_Delete(words), NULL);
  options_relay(kept->options, side == 1, word);
  for (size_t i = 0; i < count; ++i) json_append(words, json_new_string(word[i]));
  return words;
}

static cJSON *side_of(const struct kept *kept, int side) {
  cJSON *out = cJSON_CreateObject();
  json_add_item(out, "files", files_of(kept, side));
  json_add_item(out, "words", words_of(kept, side));
  return out;
}

/* 0: as many as it needs. */
static uint64_t rounds_of(const struct kept *kept) {
  return kept->options->rounds_in_steps ? 0 : (uint64_t)kept->options->rounds.value;
}

static struct status write_kept(const struct kept *kept, FILE *out) {
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "ab", magic);
  json_add_uint(root, "order_seed", kept->order_seed);
  json_add_uint(root, "rounds", rounds_of(kept));
  for (int side = 0; side < SIDES; ++side) json_add_item(root, side_names[side], side_of(kept, side));
  return json_write(root, "ab.json", out);
}

struct status kept_write(const struct kept *kept) {
  char path[KEPT_PATH_MAX];
  path_of(kept->folder, path);
  OUTPUT_TRY(path, out, write_kept(kept, out));
  return status_ok();
}

/* ---- going on ------------------------------------------------------------------------------------------------ */

static struct status differs(const char *path, const char *what) {
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: the processes here are of another comparison: %s; repeat the command that began it, or "
                     "keep this one's in another folder",
                     path, what);
}

static const char *word_at(const cJSON *words, int index) {
  const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(words, index));
  return text != NULL ? text : "nothing";
}

/* The option that the word at `index` is or belongs to. */
static const char *option_at(const cJSON *words, int index) {
  while (index > 0 && strncmp(word_at(words, index), "--", 2) != 0) --index;
  return word_at(words, index);
}

static struct status check_words(const char *path, const cJSON *there, const cJSON *here) {
  char what[256];
  const int there_count = cJSON_GetArraySize(there), here_count = cJSON_GetArraySize(here);
  for (int i = 0; i < there_count || i < here_count; ++i) {
    if (strcmp(word_at(there, i), word_at(here, i)) == 0) continue;
    snprintf(what, sizeof what, "at %s their command says %s where this one says %s",
             option_at(i < here_count ? here : there, i), json_quote(word_at(there, i)).text,
             json_quote(word_at(here, i)).text);
    return differs(path, what);
  }
  return status_ok();
}

static struct status check_side(const char *path, const cJSON *root, const struct kept *kept, int side) {
  char what[128];
  cJSON *here = side_of(kept, side);
  const cJSON *there = json_get(root, side_names[side]);
  const bool same_files = cJSON_Compare(json_get(there, "files"), json_get(here, "files"), true);
  const struct status status = check_words(path, json_get(there, "words"), json_get(here, "words"));
  cJSON_Delete(here);
  if (status_failed(&status) || same_files) return status;
  snprintf(what, sizeof what, "the %s's program, or an object that it loads, has changed", side_names[side]);
  return differs(path, what);
}

static struct status check_document(struct kept *kept, const struct json_doc *doc) {
  char what[128];
  uint64_t rounds;
  const char *said = cJSON_GetStringValue(json_get(doc->root, "ab"));
  if (said == NULL || strcmp(said, magic) != 0)
    return json_error(doc, doc->root, false, "is not what ab --keep writes: \"ab\" must be \"%s\"", magic);
  TRY(json_whole(doc, json_get(doc->root, "order_seed"), 0, UINT64_MAX, &kept->order_seed));
  TRY(json_whole(doc, json_get(doc->root, "rounds"), 0, UINT32_MAX, &rounds));
  if (rounds != rounds_of(kept)) {
    snprintf(what, sizeof what, rounds > 0 ? "it has %" PRIu64 " rounds" : "it has no --rounds", rounds);
    return differs(doc->path, what);
  }
  for (int side = 0; side < SIDES; ++side) TRY(check_side(doc->path, doc->root, kept, side));
  return status_ok();
}

struct status kept_resume(struct kept *kept) {
  char path[KEPT_PATH_MAX];
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  path_of(kept->folder, path);
  TRY(json_load(path, JSON_FILE_BYTES_MAX, &doc));
  return check_document(kept, &doc);
}
