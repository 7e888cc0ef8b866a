/* The description of a problem: masks against a loop over pairs, axes there and back through every text, and the
 * schemas and pages that users read, which are written from the rows of axes.def. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/axis_json.h"
#include "kernels/problem/work.h"
#include "tests/unit_golden.h"

static uint64_t state_of_chance = 1;

/* Below `most`. */
static uint32_t chance(uint32_t most) { return (uint32_t)(input_mix(state_of_chance++) % most); }

/* ---- masks --------------------------------------------------------------------------------------------------- */

/* By the definition in mask.h, one pair at a time. */
static bool sees(const struct attn_mask *mask, uint32_t row, uint32_t key) {
  const int64_t position = (int64_t)row + mask->Skv - mask->Sq, distance = (int64_t)key - position;
  return (mask->left < 0 || distance >= -mask->left) && (mask->right < 0 || distance <= mask->right);
}

static void check_rows(const struct attn_mask *mask, uint32_t row, uint32_t rows) {
  const struct attn_keys keys = attn_mask_rows(mask, row, rows);
  for (uint32_t key = 0; key < mask->Skv; ++key) {
    bool seen = false;
    for (uint32_t i = 0; i < rows; ++i) seen = seen || sees(mask, row + i, key);
    if (seen != (key >= keys.first && key < keys.end))
      fail_msg("Sq %u Skv %u mask %d:%d, rows %u to %u, key %u", mask->Sq, mask->Skv, mask->left, mask->right, row,
               row + rows, key);
  }
}

static void check_mask(const struct attn_mask *mask) {
  uint64_t pairs = 0;
  uint32_t seeing = 0, most = 0;
  for (uint32_t row = 0; row < mask->Sq; ++row) {
    uint32_t keys = 0;
    for (uint32_t key = 0; key < mask->Skv; ++key) keys += sees(mask, row, key);
    check_rows(mask, row, 1);
    assert_int_equal(attn_keys_count(attn_mask_row(mask, row)), keys);
    pairs += keys;
    seeing += keys > 0;
    if (keys > most) most = keys;
  }
  assert_int_equal(attn_mask_pairs(mask), pairs);
  assert_int_equal(attn_mask_seeing_rows(mask), seeing);
  assert_int_equal(attn_mask_most(mask), most);
}

static void a_mask_is_what_its_definition_says(void **state) {
  (void)state;
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_mask mask = {1 + chance(20), 1 + chance(20), (int32_t)chance(25) - 1, (int32_t)chance(25) - 1};
    const uint32_t row = chance(mask.Sq);
    check_mask(&mask);
    check_rows(&mask, row, 1 + chance(mask.Sq - row));
  }
}

/* ---- tensors ------------------------------------------------------------------------------------------------- */

/* Every element of every piece of memory belongs to one row of one tensor. */
static void check_tensors(const struct attn_problem *problem) {
  unsigned char *uses[ATTN_ROLE_COUNT] = {NULL};
  uint64_t elements[ATTN_ROLE_COUNT] = {0};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(problem, (enum attn_role)role, &tensor)) continue;
    assert_int_equal(tensor.elements > 0, tensor.memory == tensor.role);
    elements[role] = tensor.elements;
    if (tensor.memory == tensor.role) uses[role] = calloc(tensor.elements, 1);
    for (uint64_t row = 0; row < attn_view_rows(&tensor.view); ++row)
      for (uint32_t d = 0; d < tensor.view.columns; ++d) {
        const uint64_t at = tensor.offset + attn_view_row(&tensor.view, row) + d;
        assert_true(at < elements[tensor.memory]);
        ++uses[tensor.memory][at];
      }
  }
  for (unsigned memory = 0; memory < ATTN_ROLE_COUNT; ++memory) {
    for (uint64_t i = 0; i < elements[memory]; ++i) assert_int_equal(uses[memory][i], 1);
    free(uses[memory]);
  }
}

static void the_rows_of_tensors_fill_their_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < 400; ++i) {
    struct attn_problem problem =
        ATTN_DENSE(1 + chance(3), 2, 1 + chance(2), 1 + chance(9), 1 + chance(9), 1 + chance(5), ATTN_F16, false);
    problem.layout = (enum attn_layout)chance(ATTN_LAYOUTS);
    problem.Dv = 1 + chance(5);
    problem.lse = problem.sink = true;
    if (problem.layout == ATTN_QKV) problem.Skv = problem.Sq, problem.Hkv = problem.Hq, problem.Dv = problem.D;
    check_tensors(&problem);
  }
}

static void strides_are_those_of_the_layout(void **state) {
  (void)state;
  struct attn_problem problem = ATTN_DENSE(2, 4, 4, 10, 10, 8, ATTN_F16, false);
  static const struct {
    enum attn_layout layout;
    uint64_t batch, head, token, o_batch, v_offset;
  } rows[] = {{ATTN_BHSD, 320, 80, 8, 320, 0}, {ATTN_BSHD, 320, 8, 32, 320, 0}, {ATTN_QKV, 960, 8, 96, 320, 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct attn_tensor v, o;
    problem.layout = rows[i].layout;
    assert_true(attn_tensor_of(&problem, ATTN_V, &v) && attn_tensor_of(&problem, ATTN_O, &o));
    assert_int_equal(v.view.batch_stride, rows[i].batch);
    assert_int_equal(v.view.head_stride, rows[i].head);
    assert_int_equal(v.view.token_stride, rows[i].token);
    assert_int_equal(v.offset, rows[i].v_offset);
    assert_int_equal(o.view.batch_stride, rows[i].o_batch);
  }
}

/* ---- axes there and back ------------------------------------------------------------------------------------- */

static uint32_t names_of(const struct attn_axis *axis) {
  uint32_t count = 0;
  while (count < AXIS_NAMES_MAX && axis->names[count] != NULL) ++count;
  return count;
}

static struct axis_value any_value(const struct attn_axis *axis) {
  switch (axis->kind) {
    case AXIS_WHOLE: return (struct axis_value){1 + chance(axis->most), 1 + chance(axis->most)};
    case AXIS_DTYPE: return (struct axis_value){chance(ATTN_DTYPE_COUNT), 0};
    case AXIS_NAME: return (struct axis_value){chance(names_of(axis)), 0};
    case AXIS_REAL: return (struct axis_value){(double)chance(axis->most * 1000 + 1) / 1000, 0};
    case AXIS_BOUNDS:
      return (struct axis_value){(double)chance(axis->most + 2) - 1,
                                 chance(3) == 0 ? -1 : (double)chance(axis->most + 1)};
    case AXIS_FLAG:
    case AXIS_CAUSAL: break;
  }
  return (struct axis_value){chance(2), 0};
}

/* Every axis at some value, half of those that have a default at that. */
static struct attn_problem any_problem(void) {
  struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    axes_reset(axis, &problem);
    if (axes_is_alias(axis) || (!axis->required && chance(2) == 0)) continue;
    axes_set(axis, any_value(axis), &problem);
  }
  return problem;
}

static void a_key_says_the_whole_problem(void **state) {
  (void)state;
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_problem problem = any_problem();
    struct attn_problem read;
    char key[AXIS_KEY_MAX], again[AXIS_KEY_MAX];
    axes_key(&problem, key);
    if (!axes_key_read(key, &read)) fail_msg("%s is no key", key);
    axes_key(&read, again);
    assert_string_equal(again, key);
    assert_true(axes_same_problem(&problem, &read));
    assert_int_equal(axes_compare_traits(&problem, &read), 0);
  }
}

static void expect_same(const struct attn_axis *axis, struct axis_value value, struct axis_value read) {
  struct attn_problem problems[] = {ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false),
                                    ATTN_DENSE(1, 1, 1, 1, 1, 1, ATTN_F16, false)};
  axes_set(axis, value, &problems[0]);
  axes_set(axis, read, &problems[1]);
  if (!axes_same_problem(&problems[0], &problems[1])) fail_msg("a value of %s does not come back", axis->name);
}

static void a_value_comes_back_from_text_and_json(void **state) {
  (void)state;
  for (size_t i = 0; i < 4000; ++i) {
    const struct attn_axis *axis = axes_at(chance(AXIS_COUNT));
    const struct attn_problem problem = any_problem();
    const struct axis_value value = axes_get(axis, &problem);
    struct axis_value read;
    char text[AXIS_VALUE_TEXT_MAX];
    axes_value_write(axis, value, text);
    const char *end = axes_value_read(axis, text, &read);
    assert_true(end != NULL && *end == '\0');
    expect_same(axis, value, read);
    if (axes_is_alias(axis)) continue;
    cJSON *item = axis_json_new(axis, value);
    const struct json_doc doc = {.path = "t.json", .text = "", .root = item};
    assert_int_equal(axis_json_read(&doc, axis, item, &read).code, STATUS_OK);
    expect_same(axis, value, read);
    cJSON_Delete(item);
  }
}

static void the_default_is_left_out_and_needs_nothing(void **state) {
  (void)state;
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    struct attn_problem problem = any_problem();
    if (axis->required || axes_is_alias(axis)) continue;
    axes_reset(axis, &problem);
    assert_true(axes_is_default(axis, &problem));
    assert_int_equal(axes_takes_of(&problem) & axis->takes, 0);
    assert_true(axis->takes == 0 || axis->refusal != NULL);
    assert_true(axis->help != NULL && axis->name != NULL);
  }
}

/* ---- what users read ----------------------------------------------------------------------------------------- */

/* Fails unless `file` has exactly this text between two lines; with ATTN_UPDATE_GOLDEN=1 it is written there. */
static void compare_part(const char *file, const char *begin, const char *end, char *part) {
  char *text;
  size_t length;
  struct text_stream whole;
  assert_int_equal(json_read_file(file, GOLDEN_BYTES_MAX, &text, &length).code, STATUS_OK);
  const char *from = strstr(text, begin);
  const char *to = from != NULL ? strstr(from + strlen(begin), end) : NULL;
  if (from == NULL || to == NULL) {
    fail_msg("%s has no part from %s to %s", file, begin, end);
    return;
  }
  text_open(&whole);
  fprintf(whole.file, "%.*s%s%s", (int)(from - text + (ptrdiff_t)strlen(begin)), text, part, to);
  char *wanted = text_close(&whole);
  compare_golden(file, wanted);
  free(wanted);
  free(text);
  free(part);
}

static void put_values(FILE *out, const struct attn_axis *axis) {
  char names[ATTN_DTYPE_LIST_MAX];
  switch (axis->kind) {
    case AXIS_WHOLE: fprintf(out, "\"type\": \"integer\", \"minimum\": 1, \"maximum\": %u", axis->most); break;
    case AXIS_DTYPE:
      attn_dtype_list(ATTN_DTYPES_ALL, "\"", ", ", names);
      fprintf(out, "\"enum\": [%s]", names);
      break;
    case AXIS_NAME:
      for (uint32_t i = 0; i < names_of(axis); ++i)
        fprintf(out, "%s\"%s\"%s", i == 0 ? "\"enum\": [" : ", ", axis->names[i], i + 1 == names_of(axis) ? "]" : "");
      break;
    case AXIS_REAL: fprintf(out, "\"type\": \"number\", \"minimum\": 0, \"maximum\": %u", axis->most); break;
    case AXIS_BOUNDS:
      fprintf(out,
              "\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": -1, \"maximum\": %u}, "
              "\"minItems\": 2, \"maxItems\": 2",
              axis->most);
      break;
    case AXIS_FLAG:
    case AXIS_CAUSAL: fputs("\"type\": \"boolean\"", out); break;
  }
}

/* A line for each axis, with commas between. */
static char *properties_of(bool with_aliases, void (*put)(FILE *, const struct attn_axis *)) {
  struct text_stream out;
  const char *comma = "";
  text_open(&out);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    if (axes_is_alias(axes_at(id)) && !with_aliases) continue;
    fprintf(out.file, "%s        \"%s\": {", comma, axes_at(id)->name);
    put(out.file, axes_at(id));
    fputc('}', out.file);
    comma = ",\n";
  }
  fputc('\n', out.file);
  return text_close(&out);
}

static void put_described(FILE *out, const struct attn_axis *axis) {
  put_values(out, axis);
  fprintf(out, ", \"description\": \"%s\"", axis->help);
}

static void put_list(FILE *out, const struct attn_axis *axis) {
  const char *one = "{\"$ref\": \"#/$defs/shape/properties/";
  fprintf(out, "\"anyOf\": [%s%s\"}, {\"type\": \"array\", \"items\": %s%s\"}, \"minItems\": 1}]", one, axis->name,
          one, axis->name);
}

#define SHAPE_OF_SCHEMA "    \"shape\": {\n      \"type\": \"object\",\n      \"properties\": {\n"
#define BLOCK_OF_SCHEMA "    \"block\": {\n      \"type\": \"object\",\n      \"properties\": {\n"
#define END_OF_SCHEMA   "      },\n"

static void the_schemas_have_every_axis(void **state) {
  (void)state;
  compare_part("results/sweep.schema.json", SHAPE_OF_SCHEMA, END_OF_SCHEMA, properties_of(true, put_described));
  compare_part("results/sweep.schema.json", BLOCK_OF_SCHEMA, END_OF_SCHEMA, properties_of(true, put_list));
  compare_part("results/report.schema.json", SHAPE_OF_SCHEMA, END_OF_SCHEMA, properties_of(false, put_values));
}

/* The table of keys, and what is to be said of some at length. */
static void the_page_of_sweeps_has_every_axis(void **state) {
  struct text_stream table, meanings;
  (void)state;
  text_open(&table);
  text_open(&meanings);
  fputs("| key | meaning | default | values |\n|---|---|---|---|\n", table.file);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *axis = axes_at(id);
    char wanted[AXIS_WANTED_MAX], usual[AXIS_VALUE_TEXT_MAX];
    axes_value_wanted(axis, "\"", wanted);
    axes_default_text(axis, usual);
    fprintf(table.file, "| `%s` | %s | %s | %s |\n", axis->name, axis->help, usual[0] != '\0' ? usual : "none",
            wanted);
    if (axis->convention != NULL) fprintf(meanings.file, "- **`%s`**: %s\n", axis->name, axis->convention);
  }
  compare_part("shapes/README.md", "<!-- begin keys -->\n", "<!-- end keys -->", text_close(&table));
  compare_part("shapes/README.md", "<!-- begin meanings -->\n", "<!-- end meanings -->", text_close(&meanings));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mask_is_what_its_definition_says),
      cmocka_unit_test(the_rows_of_tensors_fill_their_memory),
      cmocka_unit_test(strides_are_those_of_the_layout),
      cmocka_unit_test(a_key_says_the_whole_problem),
      cmocka_unit_test(a_value_comes_back_from_text_and_json),
      cmocka_unit_test(the_default_is_left_out_and_needs_nothing),
      cmocka_unit_test(the_schemas_have_every_axis),
      cmocka_unit_test(the_page_of_sweeps_has_every_axis),
  };
  return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
