/* What `attnbench list --json` writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/variant_spec.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

static const struct attn_tunable tunables[] = {
    {.name = "stages", .min = -1, .max = 3, .default_value = 2, .help = "K/V tiles in flight"},
    {.name = NULL},
};
static const struct attn_variant variants[] = {
    {.name = "one",
     .summary = "says \"one\"",
     .limits = "CPU",
     .runs_on = DEVICE_CPU,
     .takes = ATTN_TAKES_SINK | ATTN_TAKES_WINDOW,
     .dtypes = ATTN_DTYPES_16_BITS,
     .dims = {.most = 256},
     .tunables = tunables},
    {.name = "two", .summary = "s", .limits = "l", .runs_on = DEVICE_CUDA},
};
static const struct variant_here here[] = {
    {.variant = &variants[0]},
    {.variant = &variants[1], .why_not = "no GPU"},
};

static struct status write_here(const void *data, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  variant_json_add(root, (const struct variant_here *)data, sizeof here / sizeof *here);
  return json_write(root, "the list of variants", file);
}

static char *text_of_here(void) {
  struct text_stream stream;
  text_open(&stream);
  assert_int_equal(write_here(here, stream.file).code, STATUS_OK);
  return text_close(&stream);
}

TEST(a_variant_says_what_it_is_and_why_it_cannot_run) {
  char *text = text_of_here();
  struct json_doc doc;
  assert_int_equal(json_parse("list", text, strlen(text), &doc).code, STATUS_OK);
  const cJSON *list = json_get(doc.root, "variants"), *one = cJSON_GetArrayItem(list, 0);
  const cJSON *tunable = cJSON_GetArrayItem(json_get(one, "tunables"), 0), *two = cJSON_GetArrayItem(list, 1);
  assert_int_equal(cJSON_GetArraySize(list), 2);
  assert_string_equal(json_get(one, "summary")->valuestring, "says \"one\"");
  assert_string_equal(json_get(one, "runs_on")->valuestring, "cpu");
  assert_string_equal(json_get(one, "limits")->valuestring, "f16, bf16; D at most 256; CPU");
  assert_int_equal(cJSON_GetArraySize(json_get(one, "takes")), 2);
  assert_string_equal(cJSON_GetArrayItem(json_get(one, "takes"), 0)->valuestring, "window");
  assert_int_equal(cJSON_GetArraySize(json_get(two, "takes")), 0);
  assert_true(cJSON_IsTrue(json_get(one, "available")) && cJSON_IsNull(json_get(one, "reason")));
  assert_true(json_get(tunable, "min")->valuedouble == -1 && json_get(tunable, "default")->valuedouble == 2);
  assert_int_equal(cJSON_GetArraySize(json_get(two, "tunables")), 0);
  assert_true(cJSON_IsFalse(json_get(two, "available")));
  assert_string_equal(json_get(two, "reason")->valuestring, "no GPU");
  json_free(&doc);
  free(text);
}

TEST(the_list_is_whole_or_refused_without_memory) {
  char *whole = text_of_here();
  assert_true(assert_whole_or_refused(write_here, here, whole) > 10);
  free(whole);
}
