/* Reads and validates the manifest of a compiled kernel. */
#include "cli/sweep/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/fields.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"

enum { MANIFEST_FORMAT = 1, ZEROS_MAX = 4096 };

static const char name_set[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
static const char constant_set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

static struct status need(const struct json_doc *doc, const cJSON *object, const char *key, const cJSON **out) {
  return json_need(doc, object, key, "add it", out);
}

/* ---- texts --------------------------------------------------------------------------------------------------- */

/* 1 to size - 1 bytes, all of `set`, or printable ASCII when set is NULL. */
static struct status read_text(const struct json_doc *doc, const cJSON *item, const char *set, char *out, size_t size,
                               const char *give) {
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  const size_t length = strlen(text);
  bool is_allowed = length > 0 && length < size;
  for (size_t i = 0; i < length && is_allowed; ++i)
    is_allowed = set != NULL ? strchr(set, text[i]) != NULL : text[i] >= ' ' && text[i] <= '~';
  if (!is_allowed) return json_refuse(doc, item, "%s", give);
  memcpy(out, text, length + 1);
  return status_ok();
}

static struct status read_head(const struct json_doc *doc, struct manifest *out) {
  static const struct {
    const char *name;
    enum attn_math math;
  } maths[] = {{"fp32", ATTN_MATH_FP32}, {"tensor", ATTN_MATH_TENSOR}, {"wgmma", ATTN_MATH_WGMMA}};
  const cJSON *format, *name, *about = json_get(doc->root, "about"), *math;
  uint64_t version;
  TRY(need(doc, doc->root, "attnbench_kernel", &format));
  TRY(json_whole(doc, format, MANIFEST_FORMAT, MANIFEST_FORMAT, &version));
  TRY(need(doc, doc->root, "name", &name));
  TRY(read_text(doc, name, name_set, out->name, sizeof out->name, "give 1 to 32 characters of a-z 0-9 _"));
  snprintf(out->about, sizeof out->about, "a kernel from a file");
  if (about != NULL)
    TRY(read_text(doc, about, NULL, out->about, sizeof out->about, "give a line of 1 to 240 ASCII characters"));
  TRY(need(doc, doc->root, "math", &math));
  for (size_t i = 0; i < sizeof maths / sizeof *maths; ++i) {
    if (!cJSON_IsString(math) || strcmp(math->valuestring, maths[i].name) != 0) continue;
    out->math = maths[i].math;
    return status_ok();
  }
  return json_refuse(doc, math, "give the pipe of the matrix products: \"fp32\", \"tensor\" (mma.sync) or \"wgmma\"");
}

/* ---- which shapes --------------------------------------------------------------------------------------------- */

static struct status read_capability(const struct json_doc *doc, struct manifest *out) {
  const cJSON *item;
  TRY(need(doc, doc->root, "compute_capability", &item));
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  const size_t major = strspn(text, "0123456789");
  if (major < 1 || major > 2 || text[major] != '.' || strspn(text + major + 1, "0123456789") != 1 ||
      text[major + 2] != '\0')
    return json_refuse(doc, item, "give the compute capability that the kernel was compiled for, such as \"9.0\"");
  out->cc_major = (uint32_t)strtoul(text, NULL, 10);
  out->cc_minor = (uint32_t)(text[major + 1] - '0');
  return status_ok();
}

static struct status check_list(const struct json_doc *doc, const cJSON *list, size_t most) {
  const int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
  if (count == 0) return json_refuse(doc, list, "give an array of 1 to %zu values", most);
  if ((size_t)count <= most) return status_ok();
  return json_error(doc, list, false, "has %d values; give an array of 1 to %zu values", count, most);
}

/* An array of 1 to `most` values under a key that has to be there. */
static struct status need_list(const struct json_doc *doc, const cJSON *object, const char *key, size_t most,
                               const cJSON **out) {
  TRY(need(doc, object, key, out));
  return check_list(doc, *out, most);
}

static struct status read_dtypes(const struct json_doc *doc, struct manifest *out) {
  char known[ATTN_DTYPE_LIST_MAX];
  const cJSON *list, *item;
  TRY(need_list(doc, doc->root, "dtypes", ATTN_DTYPE_COUNT, &list));
  attn_dtype_list(ATTN_DTYPES_ALL, "\"", " or ", known);
  cJSON_ArrayForEach(item, list) {
    enum attn_dtype dtype;
    if (!cJSON_IsString(item) || !attn_dtype_read(item->valuestring, &dtype))
      return json_refuse(doc, item, "give %s", known);
    out->dtypes |= ATTN_DTYPE_BIT(dtype);
  }
  return status_ok();
}

static struct status read_dims(const struct json_doc *doc, struct manifest *out) {
  const cJSON *list, *item;
  TRY(need_list(doc, doc->root, "D", MANIFEST_DIMS_MAX, &list));
  cJSON_ArrayForEach(item, list) {
    uint64_t dim;
    TRY(json_whole(doc, item, 1, ATTN_D_MAX, &dim));
    out->dims[out->dim_count++] = (uint32_t)dim;
  }
  return status_ok();
}

static struct status read_causal(const struct json_doc *doc, struct manifest *out) {
  const cJSON *list, *item;
  TRY(need_list(doc, doc->root, "causal", 2, &list));
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsBool(item))
      return json_refuse(doc, item, "give true, false or both: the masks that the kernel computes");
    out->causal[cJSON_IsTrue(item)] = true;
  }
  return status_ok();
}

/* Axes of a problem beside sizes, types and the mask that the kernel computes too. */
static struct status read_takes(const struct json_doc *doc, struct manifest *out) {
  const cJSON *list = json_get(doc->root, "takes"), *item;
  char known[AXIS_TAKES_MAX];
  if (list == NULL) return status_ok();
  axes_takes_names(~0u, known);
  TRY(check_list(doc, list, AXIS_COUNT));
  cJSON_ArrayForEach(item, list) {
    const char *name = cJSON_IsString(item) ? item->valuestring : "";
    const struct attn_axis *axis = axes_find(name, strlen(name));
    if (axis == NULL || axis->takes == 0) return json_refuse(doc, item, "give %s", known);
    out->takes |= axis->takes;
  }
  return status_ok();
}

/* ---- formulas -------------------------------------------------------------------------------------------------- */

static bool is_taken(const struct manifest *m, const char *name) {
  for (size_t i = 0; m->names[i] != NULL; ++i) {
    if (strcmp(m->names[i], name) == 0) return true;
  }
  return strcmp(name, "min") == 0 || strcmp(name, "max") == 0 || strcmp(name, "ceil_div") == 0;
}

static struct status read_constant(const struct json_doc *doc, const cJSON *item, struct manifest *out) {
  char *name = out->constant_name[out->constant_count];
  uint64_t value;
  if (out->constant_count == MANIFEST_CONSTANTS_MAX)
    return json_error(doc, item, true, "is one constant too many; give at most %d", MANIFEST_CONSTANTS_MAX);
  const size_t length = strlen(item->string);
  if (length < 1 || length > ATTN_PLUGIN_NAME_MAX || strspn(item->string, constant_set) != length ||
      (*item->string >= '0' && *item->string <= '9'))
    return json_error(doc, item, true,
                      "is not a name; give 1 to 32 characters of A-Z a-z 0-9 _, the first of them no digit");
  if (is_taken(out, item->string))
    return json_error(doc, item, true, "is a name that has a meaning already; rename it");
  TRY(json_whole(doc, item, 0, INT32_MAX, &value));
  memcpy(name, item->string, length + 1);
  out->names[out->value_count + out->constant_count] = name;
  out->constant[out->constant_count++] = (int64_t)value;
  return status_ok();
}

static struct status read_constants(const struct json_doc *doc, struct manifest *out) {
  const cJSON *object = json_get(doc->root, "constants"), *item;
  const struct attn_problem any = ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false);
  struct axis_number numbers[AXIS_NUMBERS_MAX];
  const size_t count = axes_numbers(&any, numbers);
  for (size_t i = 0; i < count; ++i) out->names[out->value_count++] = numbers[i].name;
  out->names[out->value_count++] = "dtype_bytes";
  out->names[out->value_count++] = "sms";
  if (object == NULL) return status_ok();
  if (!cJSON_IsObject(object))
    return json_refuse(doc, object, "give an object of whole numbers, such as {\"BLOCK_M\": 128}");
  cJSON_ArrayForEach(item, object) TRY(read_constant(doc, item, out));
  return status_ok();
}

static struct status read_formula(const struct json_doc *doc, const cJSON *item, const struct manifest *m,
                                  struct expression *out) {
  char problem[EXPRESSION_PROBLEM_MAX];
  uint64_t value;
  if (cJSON_IsNumber(item)) {
    TRY(json_whole(doc, item, 0, INT64_MAX / 2, &value));
    *out = expression_number((int64_t)value);
    return status_ok();
  }
  if (!cJSON_IsString(item))
    return json_refuse(doc, item, "give a whole number or a formula, such as \"ceil_div(Sq, 128)\"");
  if (expression_read(item->valuestring, m->names, out, problem)) return status_ok();
  return json_error(doc, item, false, "%s", problem);
}

/* The same under a key that may be absent. */
static struct status read_formula_at(const struct json_doc *doc, const cJSON *object, const char *key,
                                     const struct manifest *m, int64_t otherwise, struct expression *out) {
  const cJSON *item = json_get(object, key);
  *out = expression_number(otherwise);
  return item != NULL ? read_formula(doc, item, m, out) : status_ok();
}

/* One value for x, or up to three; those that are missing are 1. */
static struct status read_axes(const struct json_doc *doc, const cJSON *item, const struct manifest *m,
                               struct expression out[3]) {
  size_t axis = 0;
  const cJSON *value;
  for (size_t i = 0; i < 3; ++i) out[i] = expression_number(1);
  if (!cJSON_IsArray(item)) return item != NULL ? read_formula(doc, item, m, &out[0]) : status_ok();
  TRY(check_list(doc, item, 3));
  cJSON_ArrayForEach(value, item) TRY(read_formula(doc, value, m, &out[axis++]));
  return status_ok();
}

static struct status read_requirements(const struct json_doc *doc, struct manifest *out) {
  const cJSON *list = json_get(doc->root, "requires"), *item, *that, *because;
  if (list == NULL) return status_ok();
  TRY(check_list(doc, list, MANIFEST_REQUIREMENTS_MAX));
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsObject(item)) return json_refuse(doc, item, "give {\"that\": FORMULA, \"because\": SENTENCE}");
    TRY(JSON_CHECK_KEYS(doc, item, "that", "because"));
    TRY(need(doc, item, "that", &that));
    TRY(need(doc, item, "because", &because));
    TRY(read_formula(doc, that, out, &out->requirement[out->requirement_count].that));
    TRY(read_text(doc, because, NULL, out->requirement[out->requirement_count].because, ATTN_PLUGIN_TEXT_MAX + 1,
                  "give a sentence that the report shows where it does not hold: 1 to 240 ASCII characters"));
    ++out->requirement_count;
  }
  return status_ok();
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static const char workspace_name[] = "workspace";

/* Of a tensor or the workspace; ATTN_ROLE_COUNT + 1: the item names none. */
static uint32_t role_of(const cJSON *item) {
  uint32_t role = 0;
  if (!cJSON_IsString(item)) return ATTN_ROLE_COUNT + 1;
  while (role < ATTN_ROLE_COUNT && strcmp(item->valuestring, attn_role_name((enum attn_role)role)) != 0) ++role;
  return role < ATTN_ROLE_COUNT || strcmp(item->valuestring, workspace_name) == 0 ? role : ATTN_ROLE_COUNT + 1;
}

/* A tensor that only some problems have is named like the axis that says so. */
static unsigned takes_of_role(uint32_t role) {
  if (role >= ATTN_ROLE_COUNT) return 0;
  const enum attn_rows rows = attn_role_rows((enum attn_role)role);
  const char *name = rows == ATTN_ROWS_OFFSETS  ? "batch"
                     : rows == ATTN_ROWS_PAGES  ? "page"
                     : rows == ATTN_ROWS_BLOCKS ? "sparse"
                                                : attn_role_name((enum attn_role)role);
  const struct attn_axis *axis = axes_find(name, strlen(name));
  return axis != NULL ? axis->takes : 0;
}

static const struct {
  const char *name;
  enum manifest_argument_kind kind;
  uint32_t bytes;
} scalars[] = {{"i8", MANIFEST_INTEGER, 1},  {"i16", MANIFEST_INTEGER, 2}, {"i32", MANIFEST_INTEGER, 4},
               {"i64", MANIFEST_INTEGER, 8}, {"f32", MANIFEST_NUMBER, 4},  {"f64", MANIFEST_NUMBER, 8},
               {"zeros", MANIFEST_ZEROS, 0}};

static struct status bad_argument(const struct json_doc *doc, const cJSON *item) {
  char roles[192] = "";
  for (unsigned i = 0; i < ATTN_ROLE_COUNT; ++i)
    text_append(roles, sizeof roles, "\"%s\", ", attn_role_name((enum attn_role)i));
  return json_refuse(
      doc, item,
      "give one of %s\"%s\", {\"i32\": FORMULA} (also i8, i16, i64), {\"f32\": NUMBER, \"scale\" or \"scale_log2\"} "
      "(also f64), {\"zeros\": BYTES}, {\"tensor_map\": \"q\", \"box\": [...], \"swizzle\": 128}",
      roles, workspace_name);
}

static struct status read_real(const struct json_doc *doc, const cJSON *item, struct manifest_argument *out) {
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  const struct attn_axis *axis = axes_find(text, strlen(text));
  out->axis = axis != NULL && axis->kind == AXIS_REAL ? axis : NULL;
  out->kind = strcmp(text, "scale") == 0        ? MANIFEST_SCALE
              : strcmp(text, "scale_log2") == 0 ? MANIFEST_SCALE_LOG2
              : out->axis != NULL               ? MANIFEST_AXIS
                                                : MANIFEST_NUMBER;
  out->number = cJSON_IsNumber(item) ? item->valuedouble : 0;
  if (out->kind != MANIFEST_NUMBER || cJSON_IsNumber(item)) return status_ok();
  return json_refuse(doc, item,
                     "give a number, \"scale\" for 1/sqrt(D), \"scale_log2\" for log2(e)/sqrt(D), or a key of the "
                     "problem that is a real number");
}

static struct status read_scalar(const struct json_doc *doc, const cJSON *item, const struct manifest *m,
                                 struct manifest_argument *out) {
  uint64_t bytes;
  switch (out->kind) {
    case MANIFEST_INTEGER: return read_formula(doc, item, m, &out->integer);
    case MANIFEST_NUMBER: return read_real(doc, item, out);
    default: TRY(json_whole(doc, item, 1, ZEROS_MAX, &bytes));
  }
  out->bytes = (uint32_t)bytes;
  return status_ok();
}

static struct status read_swizzle(const struct json_doc *doc, const cJSON *item, struct manifest_map *out) {
  static const uint32_t known[] = {0, 32, 64, 128};
  for (size_t i = 0; i < sizeof known / sizeof *known && cJSON_IsNumber(item); ++i) {
    if (item->valuedouble != known[i]) continue;
    out->swizzle_bytes = known[i];
    return status_ok();
  }
  return item == NULL ? status_ok()
                      : json_refuse(doc, item, "give the bytes of the swizzle: 0 (none), 32, 64 or 128");
}

static struct status read_mapped_tensor(const struct json_doc *doc, const cJSON *item, struct manifest_map *out) {
  const uint32_t role = role_of(item);
  out->tensor = (enum attn_role)role;
  if (role < ATTN_ROLE_COUNT && takes_of_role(role) == 0) return status_ok();
  return json_refuse(doc, item, "give the tensor that is mapped: \"q\", \"k\", \"v\" or \"o\"");
}

/* {"tensor_map": "k", "box": [1, "KEYS", 64], "swizzle": 128} */
static struct status read_tensor_map(const struct json_doc *doc, const cJSON *item, const struct manifest *m,
                                     struct manifest_launch *launch, struct manifest_argument *out) {
  const cJSON *box, *side;
  TRY(JSON_CHECK_KEYS(doc, item, "tensor_map", "box", "swizzle"));
  if (launch->map_count == MANIFEST_MAPS_MAX)
    return json_error(doc, item, false, "is one tensor map too many; give at most %d", MANIFEST_MAPS_MAX);
  struct manifest_map *map = &launch->map[launch->map_count];
  TRY(read_mapped_tensor(doc, json_get(item, "tensor_map"), map));
  TRY(read_swizzle(doc, json_get(item, "swizzle"), map));
  TRY(need(doc, item, "box", &box));
  const int sides = cJSON_IsArray(box) ? cJSON_GetArraySize(box) : 0;
  if (sides < 2 || sides > DEVICE_TENSOR_MAP_DIMS_MAX)
    return json_refuse(
        doc, box,
        "give the sides of a box: two of [B*H*rows][D], three of [B*H][rows][D] or four of [B][H][rows][D]");
  cJSON_ArrayForEach(side, box) TRY(read_formula(doc, side, m, &map->box[map->dims++]));
  *out = (struct manifest_argument){
      .kind = MANIFEST_TENSOR_MAP, .bytes = DEVICE_TENSOR_MAP_BYTES, .map = launch->map_count++};
  return status_ok();
}

static struct status read_argument(const struct json_doc *doc, const cJSON *item, const struct manifest *m,
                                   struct manifest_launch *launch, struct manifest_argument *out) {
  const cJSON *value = cJSON_IsObject(item) ? item->child : NULL;
  const uint32_t role = role_of(item);
  if (role <= ATTN_ROLE_COUNT) {
    *out = (struct manifest_argument){.kind = MANIFEST_POINTER, .bytes = 8, .role = role};
    return status_ok();
  }
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars && value != NULL && value->next == NULL; ++i) {
    if (strcmp(value->string, scalars[i].name) != 0) continue;
    *out = (struct manifest_argument){.kind = scalars[i].kind, .bytes = scalars[i].bytes};
    return read_scalar(doc, value, m, out);
  }
  if (json_get(item, "tensor_map") != NULL) return read_tensor_map(doc, item, m, launch, out);
  return bad_argument(doc, item);
}

static struct status read_arguments(const struct json_doc *doc, const cJSON *object, struct manifest *m,
                                    struct manifest_launch *out) {
  const cJSON *list, *item;
  uint32_t offset = 0;
  TRY(need_list(doc, object, "arguments", ATTN_IMAGE_ARGUMENTS_MAX, &list));
  cJSON_ArrayForEach(item, list) {
    struct manifest_argument *argument = &out->argument[out->image.argument_count];
    TRY(read_argument(doc, item, m, out, argument));
    if (argument->kind == MANIFEST_POINTER) m->takes |= takes_of_role(argument->role);
    if (argument->kind == MANIFEST_AXIS) m->takes |= argument->axis->takes;
    const uint32_t alignment = argument->kind == MANIFEST_TENSOR_MAP ? DEVICE_TENSOR_MAP_ALIGNMENT : 8;
    argument->offset = offset = (offset + alignment - 1) / alignment * alignment;
    out->image.argument[out->image.argument_count++] =
        (struct attn_image_argument){.offset = offset, .bytes = argument->bytes};
    offset += argument->bytes;
    if (offset > ATTN_PASS_ARGS_MAX)
      return json_error(doc, item, false, "brings the arguments above %d bytes, CUDA's limit", ATTN_PASS_ARGS_MAX);
  }
  return status_ok();
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* A manifest may come from anywhere: it reaches no file but those that came with it. */
static struct status read_file_name(const struct json_doc *doc, const cJSON *object, struct manifest_launch *out) {
  static const char *const ends[] = {".cubin", ".fatbin", ".ptx"};
  const cJSON *item;
  struct stat stat;
  TRY(need(doc, object, "file", &item));
  const char *text = cJSON_IsString(item) ? item->valuestring : "", *end = strrchr(text, '.');
  bool is_known = false;
  for (size_t i = 0; i < sizeof ends / sizeof *ends && end != NULL; ++i) is_known |= strcmp(end, ends[i]) == 0;
  if (!is_known || strchr(text, '/') != NULL || text[0] == '.')
    return json_refuse(doc, item, "give the name, without a folder, of a .cubin, .fatbin or .ptx beside this file");
  const char *slash = strrchr(doc->path, '/');
  const int folder = slash != NULL ? (int)(slash - doc->path) + 1 : 0;
  const int length = snprintf(out->path, sizeof out->path, "%.*s%s", folder, doc->path, text);
  if ((size_t)length >= sizeof out->path) return json_error(doc, item, false, "makes a path that is too long");
  if (lstat(out->path, &stat) != 0 || !S_ISREG(stat.st_mode))
    return json_error(doc, item, false,
                      "is \"%.64s\", and there is no such file beside this one; put it there, not a link to it",
                      text);
  out->is_portable = strcmp(end, ".ptx") == 0;
  return status_ok();
}

/* "?" is for kernels of which nobody told. */
static bool read_cover(const char *text, unsigned *out) {
  return fields_set_parse(text, attn_cover_name, out) && (*out & ATTN_COVERS_UNKNOWN) == 0;
}

/* Query heads of one KV head are either on the grid or rows of its tiles. */
static bool has_both_heads(const unsigned covers[3]) {
  const unsigned heads = ATTN_COVERS_H | ATTN_COVERS_HKV;
  return ((covers[0] | covers[1] | covers[2]) & heads) == heads;
}

/* What diagnosis needs, all of it or nothing. */
static struct status read_description(const struct json_doc *doc, const cJSON *object, const struct manifest *m,
                                      struct manifest_launch *out) {
  const cJSON *list = json_get(object, "axis_covers"), *rows = json_get(object, "row_threads"), *item;
  size_t axis = 0;
  TRY(read_formula_at(doc, object, "row_threads", m, 0, &out->row_threads));
  TRY(read_formula_at(doc, object, "producer_threads", m, 0, &out->producer_threads));
  for (size_t i = 0; i < 3; ++i) out->covers[i] = list == NULL ? ATTN_COVERS_UNKNOWN : ATTN_COVERS_NOTHING;
  if ((list == NULL) != (rows == NULL))
    return json_error(doc, object, false, "has \"%s\" alone; \"axis_covers\" and \"row_threads\" go together",
                      list == NULL ? "row_threads" : "axis_covers");
  if (list == NULL) return status_ok();
  out->is_described = true;
  TRY(check_list(doc, list, 3));
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsString(item) || !read_cover(item->valuestring, &out->covers[axis++]))
      return json_refuse(
          doc, item,
          "give what the grid's axis walks over: B, H or Hkv, Q, split, D, products such as \"B*H\", or \"-\"");
  }
  if (has_both_heads(out->covers))
    return json_refuse(doc, list,
                       "name H, all query heads, or Hkv, when one block takes those of a KV head together; not both");
  return status_ok();
}

static struct status read_launch(const struct json_doc *doc, const cJSON *object, struct manifest *m,
                                 struct manifest_launch *out) {
  const cJSON *name = json_get(object, "name"), *entry, *grid, *block;
  if (!cJSON_IsObject(object))
    return json_refuse(doc, object, "give an object with \"file\", \"entry\", \"arguments\", ...");
  TRY(JSON_CHECK_KEYS(doc, object, "name", "file", "entry", "arguments", "grid", "block", "shared_memory", "cluster",
                      "axis_covers", "row_threads", "producer_threads"));
  snprintf(out->name, sizeof out->name, "main");
  if (name != NULL)
    TRY(read_text(doc, name, "abcdefghijklmnopqrstuvwxyz_", out->name, sizeof out->name,
                  "give 1 to 23 characters of a-z _"));
  TRY(read_file_name(doc, object, out));
  TRY(need(doc, object, "entry", &entry));
  TRY(read_text(doc, entry, NULL, out->entry, sizeof out->entry,
                "give the kernel's symbol, of 1 to 511 ASCII characters, as cuobjdump --dump-elf-symbols lists it"));
  TRY(read_arguments(doc, object, m, out));
  TRY(need(doc, object, "grid", &grid));
  TRY(read_axes(doc, grid, m, out->grid));
  TRY(need(doc, object, "block", &block));
  TRY(read_axes(doc, block, m, out->block));
  TRY(read_axes(doc, json_get(object, "cluster"), m, out->cluster));
  TRY(read_formula_at(doc, object, "shared_memory", m, 0, &out->smem));
  out->image.path = out->path;
  out->image.entry = out->entry;
  return read_description(doc, object, m, out);
}

static struct status read_launches(const struct json_doc *doc, struct manifest *out) {
  const cJSON *list, *item;
  TRY(need_list(doc, doc->root, "launches", ATTN_PASSES_MAX, &list));
  cJSON_ArrayForEach(item, list) {
    struct manifest_launch *launch = &out->launch[out->launch_count];
    TRY(read_launch(doc, item, out, launch));
    for (uint32_t i = 0; i < out->launch_count; ++i) {
      if (strcmp(out->launch[i].name, launch->name) == 0)
        return json_error(doc, item, false,
                          "has the name \"%s\", as launches[%u] has; give each a \"name\" of its own", launch->name,
                          (unsigned)i);
    }
    if (out->launch_count > 0 && launch->is_described != out->launch->is_described)
      return json_error(doc, item, false, "%s \"axis_covers\", unlike launches[0]; give it to all or to none",
                        launch->is_described ? "has" : "has no");
    ++out->launch_count;
  }
  return status_ok();
}

static struct status read_tiles(const struct json_doc *doc, struct manifest *out) {
  const bool is_described = out->launch->is_described;
  static const char *const needed[] = {"tile_q", "tile_kv"};
  for (size_t i = 0; i < 2; ++i) {
    if (is_described && json_get(doc->root, needed[i]) == NULL)
      return json_error(doc, doc->root, false, "has \"axis_covers\" and no \"%s\"; add it, diagnosis needs both",
                        needed[i]);
  }
  TRY(read_formula_at(doc, doc->root, "tile_q", out, 0, &out->tile_q));
  TRY(read_formula_at(doc, doc->root, "tile_kv", out, 0, &out->tile_kv));
  TRY(read_formula_at(doc, doc->root, "splits", out, is_described, &out->splits));
  TRY(read_formula_at(doc, doc->root, "stages", out, is_described, &out->stages));
  return read_formula_at(doc, doc->root, "workspace_bytes", out, 0, &out->workspace_bytes);
}

/* ---- the whole file -------------------------------------------------------------------------------------------- */

static void write_limits(struct manifest *m) {
  char dims[128] = "";
  for (uint32_t i = 0; i < m->dim_count; ++i)
    text_append(dims, sizeof dims, "%s%" PRIu32, i > 0 ? ", " : "", m->dims[i]);
  snprintf(m->limits, sizeof m->limits, "D %s; %s; compute capability %" PRIu32 ".%" PRIu32 "%s", dims,
           m->causal[0] && m->causal[1] ? "full and causal"
           : m->causal[1]               ? "causal"
                                        : "full",
           m->cc_major, m->cc_minor, m->launch->is_portable ? " and up" : "");
}

static struct status read_document(const struct json_doc *doc, struct manifest *out) {
  if (!cJSON_IsObject(doc->root))
    return json_error(doc, doc->root, false,
                      "is not an object; a manifest begins with {\"attnbench_kernel\": 1, ...");
  TRY(JSON_CHECK_KEYS(doc, doc->root, "attnbench_kernel", "name", "about", "math", "compute_capability", "dtypes",
                      "D", "causal", "takes", "constants", "requires", "launches", "tile_q", "tile_kv", "splits",
                      "stages", "workspace_bytes", "$schema"));
  TRY(read_head(doc, out));
  TRY(read_capability(doc, out));
  TRY(read_dtypes(doc, out));
  TRY(read_dims(doc, out));
  TRY(read_causal(doc, out));
  TRY(read_takes(doc, out));
  TRY(read_constants(doc, out)); /* formulas name them */
  TRY(read_requirements(doc, out));
  TRY(read_launches(doc, out));
  TRY(read_tiles(doc, out)); /* wants the launches */
  write_limits(out);
  return status_ok();
}

bool manifest_is(const char *path) { return text_ends_with(path, ".json"); }

struct status manifest_parse(const char *path, const char *text, size_t length, struct manifest *out) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  memset(out, 0, sizeof *out);
  TRY(json_parse(path, text, length, &doc));
  return read_document(&doc, out);
}

struct status manifest_load(const char *path, struct manifest *out) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  memset(out, 0, sizeof *out);
  TRY(json_load(path, JSON_FILE_BYTES_MAX, &doc));
  return read_document(&doc, out);
}
