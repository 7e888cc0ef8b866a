#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/sweep/sweep.h"
#include "kernels/input.h"
#include "tests/unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define HEAD         "{\"attnbench_sweep\": 1, \"name\": \"t\", "
#define ONE_SHAPE    "\"shapes\": [{\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}]"

enum { TEXT_MAX = 1 << 20 };

static struct status parse(const char *text, struct sweep *out) {
  return sweep_parse("t.json", text, strlen(text), out);
}

static struct sweep accepted(const char *text) {
  struct sweep sweep;
  const struct status status = parse(text, &sweep);
  if (status_failed(&status)) fail_msg("%s", status.text);
  return sweep;
}

static void assert_refused(const char *text, const char *expected) {
  struct sweep sweep;
  const struct status status = parse(text, &sweep);
  if (!status_failed(&status)) fail_msg("accepted, expected %s", expected);
  assert_int_equal(status.code, STATUS_INPUT);
  assert_int_equal(strncmp(status.text, "t.json:", 7), 0);
  if (!strstr(status.text, expected)) fail_msg("\"%s\" lacks \"%s\"", status.text, expected);
}

/* ---- the corpus of broken files ------------------------------------------------------------------------------ */

static void check_broken_file(const char *file, const char *position, const char *phrase) {
  char path[256], where[300];
  struct sweep sweep;
  snprintf(path, sizeof path, "tests/data/bad/%s", file);
  snprintf(where, sizeof where, strcmp(position, "-") == 0 ? "%s: " : "%s:%s: ", path, position);
  const struct status status = sweep_load(path, &sweep);
  if (!status_failed(&status)) fail_msg("%s was accepted", path);
  assert_int_equal(status_exit_code(status.code), EXIT_CODE_INPUT);
  if (strncmp(status.text, where, strlen(where)) != 0) fail_msg("\"%s\" is not at %s", status.text, where);
  if (!strstr(status.text, phrase)) fail_msg("\"%s\" lacks \"%s\"", status.text, phrase);
}

TEST(every_broken_file_is_refused_at_its_place) {
  FILE *list = fopen("tests/data/bad/expected.txt", "r");
  char line[512];
  size_t files = 0;
  assert_non_null(list);
  for (; fgets(line, sizeof line, list); ++files) {
    line[strcspn(line, "\n")] = '\0';
    char *position = strchr(line, '\t');
    assert_non_null(position);
    *position++ = '\0';
    char *phrase = strchr(position, '\t');
    assert_non_null(phrase);
    *phrase++ = '\0';
    check_broken_file(line, position, phrase);
  }
  fclose(list);
  assert_true(files >= 60);
}

/* ---- limits -------------------------------------------------------------------------------------------------- */

TEST(each_dimension_is_taken_at_its_limit_and_refused_above) {
  static const struct {
    const char *format;
    unsigned limit;
    const char *expected;
  } rows[] = {
      {"\"B\": %u, \"H\": 1, \"S\": 1, \"D\": 1", ATTN_B_MAX, "B is 65537; give a whole number from 1 to 65536"},
      {"\"B\": 1, \"H\": %u, \"S\": 1, \"D\": 1", ATTN_H_MAX, "H is 1025; give a whole number from 1 to 1024"},
      {"\"B\": 1, \"Hq\": %u, \"Hkv\": 1, \"S\": 1, \"D\": 1", ATTN_H_MAX, "Hq is 1025; give"},
      {"\"B\": 1, \"H\": 1024, \"Hkv\": %u, \"S\": 1, \"D\": 1", ATTN_H_MAX, "Hkv is 1025; give"},
      {"\"B\": 1, \"H\": 1, \"S\": %u, \"D\": 1", ATTN_S_MAX, "S is 1048577; give a whole number from 1 to 1048576"},
      {"\"B\": 1, \"H\": 1, \"Sq\": %u, \"Skv\": 1, \"D\": 1", ATTN_S_MAX, "Sq is 1048577; give"},
      {"\"B\": 1, \"H\": 1, \"Sq\": 1, \"Skv\": %u, \"D\": 1", ATTN_S_MAX, "Skv is 1048577; give"},
      {"\"B\": 1, \"H\": 1, \"S\": 1, \"D\": %u", ATTN_D_MAX, "D is 8193; give a whole number from 1 to 8192"},
      /* 2^16 x 2^16 x 2^8 elements of Q, then of K */
      {"\"B\": 65536, \"H\": 1, \"Sq\": %u, \"Skv\": 1, \"D\": 256", 65536, "whose q has 1099528404992 elements"},
      {"\"B\": 65536, \"H\": 1, \"Sq\": 1, \"Skv\": %u, \"D\": 256", 65536, "whose k has 1099528404992 elements"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    for (unsigned above = 0; above <= 1; ++above) {
      char shape[160], text[300];
      snprintf(shape, sizeof shape, rows[i].format, rows[i].limit + above);
      snprintf(text, sizeof text, HEAD "\"shapes\": [{%s}]}", shape);
      if (above) {
        assert_refused(text, rows[i].expected);
      } else {
        struct sweep sweep = accepted(text);
        sweep_free(&sweep);
      }
    }
  }
}

/* `count` copies of a letter in quotes as the value of a key, followed by the rest of a sweep. */
static void text_with_long_value(char *text, const char *key, size_t count) {
  char value[1024];
  assert_true(count < sizeof value);
  memset(value, 'a', count);
  value[count] = '\0';
  const char *name = strcmp(key, "name") == 0 ? "" : "\"name\": \"t\", ";
  sprintf(text, "{\"attnbench_sweep\": 1, %s\"%s\": \"%s\", " ONE_SHAPE "}", name, key, value);
}

TEST(name_and_about_are_taken_at_their_limit_and_refused_above) {
  static const struct {
    const char *key;
    size_t limit;
    const char *expected;
  } rows[] = {{"name", SWEEP_NAME_MAX, "give 1 to 64 characters"},
              {"about", SWEEP_ABOUT_MAX, "about has 513 bytes; shorten it to at most 512"}};
  char text[2048];
  for (size_t i = 0; i < COUNT(rows); ++i) {
    text_with_long_value(text, rows[i].key, rows[i].limit);
    struct sweep sweep = accepted(text);
    assert_int_equal(strlen(i == 0 ? sweep.name : sweep.about), rows[i].limit);
    sweep_free(&sweep);
    text_with_long_value(text, rows[i].key, rows[i].limit + 1);
    assert_refused(text, rows[i].expected);
  }
  text_with_long_value(text, "name", 0);
  assert_refused(text, "name is \"\"; give 1 to 64 characters");
}

/* "1, 2, ..., count" */
static size_t write_numbers(char *out, unsigned count) {
  size_t used = 0;
  for (unsigned i = 1; i <= count; ++i) used += (size_t)sprintf(out + used, "%s%u", i > 1 ? ", " : "", i);
  return used;
}

TEST(cases_are_taken_at_their_limit_and_refused_above) {
  char hundred[600], text[2000];
  write_numbers(hundred, 100);
  snprintf(text, sizeof text, HEAD "\"grid\": [{\"B\": [%s], \"H\": [%s], \"S\": 1, \"D\": 1}]}", hundred, hundred);
  struct sweep sweep = accepted(text);
  assert_int_equal(sweep.case_count, SWEEP_CASES_MAX);
  sweep_free(&sweep);
  snprintf(text, sizeof text,
           HEAD
           "\n\"grid\": [{\"B\": [%s], \"H\": [%s], \"S\": 1, \"D\": 1},\n"
           "{\"B\": 101, \"H\": 1, \"S\": 1, \"D\": 1}]}",
           hundred, hundred);
  assert_refused(text, "t.json:3:1: grid[1] brings the sweep above 10000 cases");
}

TEST(a_product_beyond_64_bits_is_refused) {
  static const char *const keys[] = {"B", "Hq", "Hkv", "Sq", "Skv", "D"};
  char *text = malloc(TEXT_MAX), thousand[8000];
  assert_non_null(text);
  write_numbers(thousand, 1000);
  size_t used = (size_t)sprintf(text, HEAD "\"grid\": [{\"causal\": false");
  for (size_t i = 0; i < COUNT(keys); ++i) used += (size_t)sprintf(text + used, ", \"%s\": [%s]", keys[i], thousand);
  sprintf(text + used, "}]}");
  assert_refused(text, "grid[0] brings the sweep above 10000 cases");
  free(text);
}

/* Writes different variant specs until there are `wanted`; returns how many there were. */
static size_t write_specs(char *out, size_t wanted) {
  size_t made = 0, used = 0;
  for (size_t v = 0; v < variant_count(); ++v) {
    const struct attn_variant *variant = variant_at(v);
    for (size_t t = 0; t < variant_tunable_count(variant); ++t) {
      const struct attn_tunable *tunable = &variant->tunables[t];
      for (int64_t value = tunable->min; value <= tunable->max && made < wanted; ++value, ++made)
        used +=
            (size_t)sprintf(out + used, "%s\"%s:%s=%d\"", made ? ", " : "", variant->name, tunable->name, (int)value);
    }
    if (made < wanted) used += (size_t)sprintf(out + used, "%s\"%s\"", made++ ? ", " : "", variant->name);
  }
  return made;
}

TEST(variants_are_taken_at_their_limit_and_refused_above) {
  char specs[SWEEP_VARIANTS_MAX * VARIANT_SPEC_MAX], text[sizeof specs + 200];
  if (write_specs(specs, SWEEP_VARIANTS_MAX + 1) <= SWEEP_VARIANTS_MAX) skip();
  snprintf(text, sizeof text, HEAD "\"variants\": [%s], " ONE_SHAPE "}", specs);
  assert_refused(text, "variants[64] is one variant too many; list at most 64");
  write_specs(specs, SWEEP_VARIANTS_MAX);
  snprintf(text, sizeof text, HEAD "\"variants\": [%s], " ONE_SHAPE "}", specs);
  struct sweep sweep = accepted(text);
  assert_int_equal(sweep.variant_count, SWEEP_VARIANTS_MAX);
  sweep_free(&sweep);
}

TEST(files_are_taken_at_their_limit_and_refused_above) {
  char *text = malloc(JSON_FILE_BYTES_MAX + 1);
  struct sweep sweep;
  assert_non_null(text);
  memset(text, ' ', JSON_FILE_BYTES_MAX + 1);
  memcpy(text, HEAD ONE_SHAPE "}", strlen(HEAD ONE_SHAPE "}"));
  struct status status = sweep_parse("t.json", text, JSON_FILE_BYTES_MAX, &sweep);
  assert_false(status_failed(&status));
  sweep_free(&sweep);
  status = sweep_parse("t.json", text, JSON_FILE_BYTES_MAX + 1, &sweep);
  assert_int_equal(status.code, STATUS_INPUT);
  assert_non_null(strstr(status.text, "has 1048577 bytes, more than the limit of 1048576"));
  free(text);
}

/* ---- meaning ------------------------------------------------------------------------------------------------- */

TEST(shapes_expand_as_documented) {
  static const struct {
    const char *body, *keys; /* keys: the cases in order, separated by spaces */
  } rows[] = {
      {"\"shapes\": [{\"B\": 1, \"H\": 8, \"S\": 512, \"D\": 64}]", "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"},
      {"\"shapes\": [{\"B\": 1, \"H\": 8, \"Hkv\": 2, \"S\": 5, \"D\": 64}]", "B1.H8.Hkv2.Sq5.Skv5.D64.f16.full"},
      {"\"shapes\": [{\"B\": 1, \"Hq\": 8, \"H\": 4, \"Sq\": 3, \"S\": 5, \"D\": 64}]",
       "B1.H8.Hkv4.Sq3.Skv5.D64.f16.full"},
      {"\"shapes\": [{\"B\": 1, \"Hq\": 8, \"Hkv\": 4, \"Sq\": 3, \"Skv\": 5, \"D\": 64}]",
       "B1.H8.Hkv4.Sq3.Skv5.D64.f16.full"},
      {"\"defaults\": {\"H\": 8, \"S\": 9, \"D\": 64, \"dtype\": \"bf16\", \"causal\": true},"
       "\"shapes\": [{\"B\": 1}, {\"B\": 1, \"Hq\": 16, \"D\": 128, \"dtype\": \"f32\", \"causal\": false},"
       "{\"B\": 2, \"Hq\": 16, \"Hkv\": 4}]",
       "B1.H8.Hkv8.Sq9.Skv9.D64.bf16.causal B1.H16.Hkv8.Sq9.Skv9.D128.f32.full B2.H16.Hkv4.Sq9.Skv9.D64.bf16.causal"},
      {"\"defaults\": {\"Hkv\": 2}, \"shapes\": [{\"B\": 1, \"H\": 8, \"S\": 5, \"D\": 64}]",
       "B1.H8.Hkv2.Sq5.Skv5.D64.f16.full"},
      {"\"defaults\": {\"B\": 1, \"H\": 2, \"S\": 7, \"D\": 64, \"lse\": true}, \"shapes\": [{}, {\"lse\": false}],"
       "\"grid\": [{\"causal\": true, \"lse\": [false, true]}]",
       "B1.H2.Hkv2.Sq7.Skv7.D64.f16.full.lse B1.H2.Hkv2.Sq7.Skv7.D64.f16.full "
       "B1.H2.Hkv2.Sq7.Skv7.D64.f16.causal B1.H2.Hkv2.Sq7.Skv7.D64.f16.causal.lse"},
      {"\"grid\": [{\"causal\": [false, true], \"D\": [64, 128], \"B\": [4, 1], \"S\": 7, \"H\": 2}]",
       "B4.H2.Hkv2.Sq7.Skv7.D64.f16.full B4.H2.Hkv2.Sq7.Skv7.D64.f16.causal "
       "B4.H2.Hkv2.Sq7.Skv7.D128.f16.full B4.H2.Hkv2.Sq7.Skv7.D128.f16.causal "
       "B1.H2.Hkv2.Sq7.Skv7.D64.f16.full B1.H2.Hkv2.Sq7.Skv7.D64.f16.causal "
       "B1.H2.Hkv2.Sq7.Skv7.D128.f16.full B1.H2.Hkv2.Sq7.Skv7.D128.f16.causal"},
      {"\"grid\": [{\"B\": 1, \"H\": [2, 4], \"S\": [7, 8], \"D\": 64}]",
       "B1.H2.Hkv2.Sq7.Skv7.D64.f16.full B1.H2.Hkv2.Sq8.Skv8.D64.f16.full "
       "B1.H4.Hkv4.Sq7.Skv7.D64.f16.full B1.H4.Hkv4.Sq8.Skv8.D64.f16.full"},
      {"\"grid\": [{\"B\": 1, \"H\": 2, \"Sq\": [1, 2], \"Skv\": [3, 4], \"D\": 64, \"dtype\": [\"f32\"]}]",
       "B1.H2.Hkv2.Sq1.Skv3.D64.f32.full B1.H2.Hkv2.Sq1.Skv4.D64.f32.full "
       "B1.H2.Hkv2.Sq2.Skv3.D64.f32.full B1.H2.Hkv2.Sq2.Skv4.D64.f32.full"},
      {"\"grid\": [{\"B\": 2, \"H\": 1, \"S\": 1, \"D\": 1}], \"shapes\": [{\"B\": 1, \"H\": 1, \"S\": 1, \"D\": 1}]",
       "B1.H1.Hkv1.Sq1.Skv1.D1.f16.full B2.H1.Hkv1.Sq1.Skv1.D1.f16.full"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    char text[800], keys[1200] = "";
    snprintf(text, sizeof text, HEAD "%s}", rows[i].body);
    struct sweep sweep = accepted(text);
    for (size_t c = 0; c < sweep.case_count; ++c) {
      char key[AXIS_KEY_MAX];
      axes_key(&sweep.cases[c].shape, key);
      assert_string_equal(key, sweep.cases[c].key);
      if (c > 0) strcat(keys, " ");
      strcat(keys, key);
    }
    assert_string_equal(keys, rows[i].keys);
    sweep_free(&sweep);
  }
}

TEST(overridden_pairs_are_refused_where_they_mean_nothing) {
  static const struct {
    const char *body, *expected; /* NULL: accepted */
  } rows[] = {
      {"\"shapes\": [{\"B\": 1, \"H\": 8, \"S\": 5, \"Sq\": 5, \"Skv\": 6, \"D\": 64}]",
       "shapes[0].S has no effect, because Sq and Skv are both given"},
      {"\"defaults\": {\"H\": 8, \"Hq\": 8, \"Hkv\": 8}, " ONE_SHAPE, "defaults.H has no effect"},
      {"\"defaults\": {\"Hq\": 8, \"Hkv\": 8}, " ONE_SHAPE, "shapes[0].H has no effect"},
      {"\"defaults\": {\"H\": 8}, \"shapes\": [{\"B\": 1, \"Hq\": 8, \"Hkv\": 2, \"S\": 5, \"D\": 64}]", NULL},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    char text[400];
    snprintf(text, sizeof text, HEAD "%s}", rows[i].body);
    if (rows[i].expected) {
      assert_refused(text, rows[i].expected);
    } else {
      struct sweep sweep = accepted(text);
      sweep_free(&sweep);
    }
  }
}

TEST(the_first_repetition_in_the_file_is_named) {
  assert_refused(HEAD
                 "\"shapes\": [\n"
                 "{\"B\": 9, \"H\": 1, \"S\": 1, \"D\": 1},\n"
                 "{\"B\": 9, \"H\": 1, \"S\": 1, \"D\": 1},\n"
                 "{\"B\": 1, \"H\": 1, \"S\": 1, \"D\": 1},\n"
                 "{\"B\": 1, \"H\": 1, \"S\": 1, \"D\": 1}]}",
                 "t.json:3:1: shapes[1] has the case B9.H1.Hkv1.Sq1.Skv1.D1.f16.full, which line 2 has already");
}

TEST(the_whole_file_is_read) {
  struct sweep sweep = accepted("{\"attnbench_sweep\": 1, \"name\": \"A_1.=-z\", \"about\": \"why\", " ONE_SHAPE
                                ", \"variants\": [\"wmma\", \"cp_async:stages=3\"], \"baseline\": {\"H\": 8}}");
  assert_string_equal(sweep.path, "t.json");
  assert_string_equal(sweep.name, "A_1.=-z");
  assert_string_equal(sweep.about, "why");
  assert_int_equal(sweep.variant_count, 2);
  assert_string_equal(sweep.variants[1].text, "cp_async:stages=3");
  assert_ptr_equal(sweep.variants[1].variant, variant_find("cp_async"));
  assert_true(sweep.has_baseline);
  assert_int_equal(sweep.baseline.B, 0);
  assert_int_equal(sweep.baseline.Hq, 8);
  sweep_free(&sweep);
}

TEST(optional_keys_may_be_absent) {
  struct sweep sweep = accepted(HEAD ONE_SHAPE "}");
  assert_string_equal(sweep.about, "");
  assert_int_equal(sweep.variant_count, 0);
  assert_false(sweep.has_baseline);
  sweep_free(&sweep);
}

TEST(a_baseline_must_match_one_case_in_both_values) {
  static const char shapes[] =
      "\"shapes\": [{\"B\": 1, \"H\": 8, \"S\": 1, \"D\": 1}, {\"B\": 2, \"H\": 4, \"S\": 1, \"D\": 1}]";
  char text[300];
  snprintf(text, sizeof text, HEAD "%s, \"baseline\": {\"B\": 1, \"H\": 4}}", shapes);
  assert_refused(text, "baseline matches no case");
  snprintf(text, sizeof text, HEAD "%s, \"baseline\": {\"B\": 2, \"H\": 4}}", shapes);
  struct sweep sweep = accepted(text);
  assert_int_equal(sweep.baseline.B, 2);
  sweep_free(&sweep);
}

TEST(the_hash_is_fnv1a_of_the_bytes) {
  struct sweep sweep = accepted(HEAD ONE_SHAPE "}");
  assert_string_equal(sweep.hash, "0717db0ab8dbedc9");
  sweep_free(&sweep);
}

TEST(shipped_sweeps_hold_their_cases) {
  static const struct {
    const char *name;
    size_t cases, variants;
    bool has_baseline;
  } rows[] = {{"v3", 3, 0, true},        {"n6", 7, 0, false},    {"batch", 5, 0, true}, {"it3", 5, 0, false},
              {"mission", 10, 0, false}, {"smoke", 8, 0, false}, {"gate", 15, 9, false}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    char path[64];
    struct sweep sweep;
    snprintf(path, sizeof path, "shapes/%s.json", rows[i].name);
    const struct status status = sweep_load(path, &sweep);
    if (status_failed(&status)) fail_msg("%s", status.text);
    assert_string_equal(sweep.name, rows[i].name);
    assert_int_equal(sweep.case_count, rows[i].cases);
    assert_int_equal(sweep.has_baseline, rows[i].has_baseline);
    assert_int_equal(sweep.variant_count, rows[i].variants);
    assert_true(strlen(sweep.about) > 0);
    sweep_free(&sweep);
  }
}

/* ---- robustness ---------------------------------------------------------------------------------------------- */

static void load_text(const char *path, char **text, size_t *length) {
  const struct status status = json_read_file(path, JSON_FILE_BYTES_MAX, text, length);
  if (status_failed(&status)) fail_msg("%s", status.text);
}

/* A copy of exactly `length` bytes lets a memory checker see any read beyond them. */
static struct status parse_exact(const char *text, size_t length) {
  struct sweep sweep;
  char *exact = malloc(length ? length : 1);
  assert_non_null(exact);
  memcpy(exact, text, length);
  const struct status status = sweep_parse("t.json", exact, length, &sweep);
  if (!status_failed(&status)) sweep_free(&sweep);
  free(exact);
  return status;
}

TEST(every_prefix_of_a_sweep_is_refused) {
  char *text = NULL;
  size_t length = 0;
  load_text("shapes/v3.json", &text, &length);
  assert_int_equal(text[length - 1], '\n');
  for (size_t cut = 0; cut < length - 1; ++cut) {
    const struct status status = parse_exact(text, cut);
    assert_int_equal(status.code, STATUS_INPUT);
    assert_true(strlen(status.text) > 0);
  }
  const struct status whole = parse_exact(text, length - 1);
  assert_false(status_failed(&whole));
  free(text);
}

TEST(single_byte_mutations_parse_or_are_explained) {
  static const unsigned char bytes[] = {0,   '"', '\\', '{', '}', '[', ']',  ',',
                                        ':', '0', '9',  '-', 'e', ' ', 0x80, 0xff};
  char *text = NULL;
  size_t length = 0;
  load_text("shapes/v3.json", &text, &length);
  for (size_t at = 0; at < length; ++at) {
    const char original = text[at];
    for (size_t i = 0; i < COUNT(bytes) + 2; ++i) {
      text[at] = (char)(i < COUNT(bytes) ? bytes[i] : (unsigned char)input_mix(at * 2 + i));
      const struct status status = parse_exact(text, length);
      if (!status_failed(&status)) continue;
      assert_int_equal(status.code, STATUS_INPUT);
      assert_int_equal(strncmp(status.text, "t.json:", 7), 0);
    }
    text[at] = original;
  }
  free(text);
}

TEST(a_gate_is_read_with_its_place_in_errors) {
  struct sweep sweep =
      accepted(HEAD ONE_SHAPE ", \"gate\": {\"threshold_percent\": 3, \"cases\": {\"*/wmma\": 5, \"B1.*\": 0.5}}}");
  assert_true(sweep.gate.known);
  assert_true(sweep.gate.threshold_percent == 3);
  assert_int_equal(sweep.gate.case_count, 2);
  assert_string_equal(sweep.gate.cases[0].glob, "*/wmma");
  assert_true(sweep.gate.cases[0].threshold_percent == 5 && sweep.gate.cases[1].threshold_percent == 0.5);
  sweep_free(&sweep);
  sweep = accepted(HEAD ONE_SHAPE "}");
  assert_false(sweep.gate.known);
  sweep_free(&sweep);
  static const struct {
    const char *gate, *expected;
  } rows[] = {
      {"{}", "1:"},
      {"2", "is not an object"},
      {"{\"threshold\": 2}", "threshold_percent"},
      {"{\"threshold_percent\": 0.4}", "gate.threshold_percent is 0.4; give a number of percent from 0.5 to 50"},
      {"{\"threshold_percent\": 51}", "is 51"},
      {"{\"threshold_percent\": \"2\"}", "is \"2\""},
      {"{\"cases\": [1]}", "gate.cases is not an object"},
      {"{\"cases\": {\"*/wmma\": 60}}", "is 60"},
      {"{\"cases\": {\"*/wmma\": 5, \"*/wmma\": 6}}", "twice"},
      {"{\"cases\": {\"*/wmna\": 5}}", "matches no KEY/VARIANT"},
      {"{\"cases\": {\"B2.*\": 5}}", "matches no KEY/VARIANT"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    char text[512];
    snprintf(text, sizeof text, HEAD ONE_SHAPE ", \"gate\": %s}", rows[i].gate);
    assert_refused(text, rows[i].expected);
  }
}

TEST(a_gate_has_at_most_its_number_of_globs) {
  char text[4096];
  for (unsigned count = SWEEP_GATE_CASES_MAX; count <= SWEEP_GATE_CASES_MAX + 1; ++count) {
    int used = snprintf(text, sizeof text, HEAD ONE_SHAPE ", \"gate\": {\"cases\": {");
    for (unsigned i = 0; i < count; ++i)
      used += snprintf(text + used, sizeof text - (size_t)used, "%s\"%.*s*\": 5", i > 0 ? ", " : "", (int)i,
                       "????????????????????????????????????");
    snprintf(text + used, sizeof text - (size_t)used, "}}}");
    if (count > SWEEP_GATE_CASES_MAX) {
      assert_refused(text, "one too many");
    } else {
      struct sweep sweep = accepted(text);
      sweep_free(&sweep);
    }
  }
}
