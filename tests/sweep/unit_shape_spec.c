/* Shapes of the command line: what they expand to, and how a wrong one is refused. */
#include <stdio.h>
#include <string.h>

#include "cli/sweep/sweep.h"
#include "tests/unit.h"

static void expect_cases(const char *const *specs, size_t count, const char *const *keys) {
  struct sweep sweep;
  size_t i = 0;
  const struct status status = shape_spec_sweep(specs, count, &sweep);
  if (status_failed(&status)) fail_msg("%s", status.text);
  for (; keys[i] != NULL; ++i) {
    if (i == sweep.case_count) fail_msg("%s: lacks %s", specs[0], keys[i]);
    assert_string_equal(sweep.cases[i].key, keys[i]);
  }
  assert_int_equal(sweep.case_count, i);
  assert_string_equal(sweep.path, SHAPE_SPEC_PATH);
  sweep_free(&sweep);
}

TEST(a_spec_expands_to_its_cases) {
  static const struct {
    const char *spec, *keys[9];
  } rows[] = {
      {"B=1,H=8,S=512,D=64", {"B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"}},
      {"D=64,S=512,causal,H=8,bf16,B=1", {"B1.H8.Hkv8.Sq512.Skv512.D64.bf16.causal"}},
      {"B=1,H=8,S=512:4096:*2,D=64,causal",
       {"B1.H8.Hkv8.Sq512.Skv512.D64.f16.causal", "B1.H8.Hkv8.Sq1024.Skv1024.D64.f16.causal",
        "B1.H8.Hkv8.Sq2048.Skv2048.D64.f16.causal", "B1.H8.Hkv8.Sq4096.Skv4096.D64.f16.causal"}},
      {"B=1,H=1,S=64:200:+64,D=1",
       {"B1.H1.Hkv1.Sq64.Skv64.D1.f16.full", "B1.H1.Hkv1.Sq128.Skv128.D1.f16.full",
        "B1.H1.Hkv1.Sq192.Skv192.D1.f16.full"}},
      {"B=1,H=1,S=9:9:*2,D=1", {"B1.H1.Hkv1.Sq9.Skv9.D1.f16.full"}},
      {"B=1,H=32/8,4,S=1x4096,7,D=128,dtype=f32,causal=false",
       {"B1.H32.Hkv8.Sq1.Skv4096.D128.f32.full", "B1.H32.Hkv8.Sq7.Skv7.D128.f32.full",
        "B1.H4.Hkv4.Sq1.Skv4096.D128.f32.full", "B1.H4.Hkv4.Sq7.Skv7.D128.f32.full"}},
      /* The last varies fastest; a value is there once however often it is listed. */
      {"B=1,2,H=1,S=4,4,D=8,f16,bf16,full,causal",
       {"B1.H1.Hkv1.Sq4.Skv4.D8.f16.full", "B1.H1.Hkv1.Sq4.Skv4.D8.f16.causal", "B1.H1.Hkv1.Sq4.Skv4.D8.bf16.full",
        "B1.H1.Hkv1.Sq4.Skv4.D8.bf16.causal", "B2.H1.Hkv1.Sq4.Skv4.D8.f16.full", "B2.H1.Hkv1.Sq4.Skv4.D8.f16.causal",
        "B2.H1.Hkv1.Sq4.Skv4.D8.bf16.full", "B2.H1.Hkv1.Sq4.Skv4.D8.bf16.causal"}},
      {"B4.H32.Hkv8.Sq16.Skv4096.D128.bf16.causal", {"B4.H32.Hkv8.Sq16.Skv4096.D128.bf16.causal"}},
      {"B4.H8.S512.D64", {"B4.H8.Hkv8.Sq512.Skv512.D64.f16.full"}},
      {"B4.H8.S512.D64.lse", {"B4.H8.Hkv8.Sq512.Skv512.D64.f16.full.lse"}},
      {"B=1, H=8,  S=512, D=64", {"B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"}},
      {"B=1,H=1,S=16k,1x4k,D=64,window=1k:0",
       {"B1.H1.Hkv1.Sq16384.Skv16384.D64.f16.window1024:0", "B1.H1.Hkv1.Sq1.Skv4096.D64.f16.window1024:0"}},
      {"B=1,H=1,S=1k:4k:*2,D=1",
       {"B1.H1.Hkv1.Sq1024.Skv1024.D1.f16.full", "B1.H1.Hkv1.Sq2048.Skv2048.D1.f16.full",
        "B1.H1.Hkv1.Sq4096.Skv4096.D1.f16.full"}},
      {"B=4,H=8,S=512,D=64,causal,lse=false,lse",
       {"B4.H8.Hkv8.Sq512.Skv512.D64.f16.causal", "B4.H8.Hkv8.Sq512.Skv512.D64.f16.causal.lse"}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) expect_cases(&rows[i].spec, 1, rows[i].keys);
}

TEST(several_specs_are_one_sweep_and_the_same_cases_the_same_hash) {
  static const char *const both[] = {"B=1,H=1,S=4,D=8", "B=2,1,H=1,S=4,D=8"}, *const list[] = {"B=1,2,H=1,S=4,D=8"},
                           *const other[] = {"B=2,1,H=1,S=4,D=8"};
  static const char *const keys[] = {"B1.H1.Hkv1.Sq4.Skv4.D8.f16.full", "B2.H1.Hkv1.Sq4.Skv4.D8.f16.full", NULL};
  struct sweep a, b, c;
  expect_cases(both, 2, keys);
  assert_false(status_failed(&(struct status){shape_spec_sweep(both, 2, &a).code, ""}));
  assert_false(status_failed(&(struct status){shape_spec_sweep(list, 1, &b).code, ""}));
  assert_false(status_failed(&(struct status){shape_spec_sweep(other, 1, &c).code, ""}));
  assert_string_equal(a.hash, b.hash);
  assert_string_not_equal(a.hash, c.hash);
  assert_int_equal(strlen(a.hash), 16);
  sweep_free(&a);
  sweep_free(&b);
  sweep_free(&c);
}

TEST(a_wrong_spec_is_refused_with_what_to_write) {
  static const struct {
    const char *spec, *expect;
  } rows[] = {
      {"", "is not understood"},
      {"B=1,H=8,S=512", "has no D"},
      {"B=1,H=8,D=512", "has no S"},
      {"B=1,,H=8,S=1,D=1", "is not understood"},
      {"B=1,H=8,S=1,D=1,", "is not understood"},
      {"8,H=8,S=1,D=1", "\"8\" is not understood"},
      {"B=1,H=8,S=1,D=1,fp16", "\"fp16\" is not understood"},
      {"b=1,H=8,S=1,D=1", "did you mean B?"},
      {"B=1,H=8,S=1,D=1,page_size=16", "did you mean page?"},
      {"B=1,H=8,S=1,D=1,cu_seqlens=1", "did you mean batch?"},
      {"B=1,H=8,S=1,D=1,dtype=fp8", "did you mean e4m3? Give f16,"},
      {"B=1,H=8,S=1,D=1,window=1023", "did you mean 1023:0? Give LEFT:RIGHT"},
      {"B=1k,H=8,S=1,D=1", "\"1k\" is not a value of B"},
      {"B=1,H=8,S=1kk,D=1", "\"1kk\" is not a value of S"},
      {"B=1,H=8,S=9999999999k,D=1", "is not a value of S"},
      {"B=1,H=8,S=1,D=1,Hq=3", "\"Hq=3\" is not understood"},
      {"B=0,H=8,S=1,D=1", "\"0\" is not a value of B; give a whole number from 1 to 65536"},
      {"B=65537,H=8,S=1,D=1", "from 1 to 65536"},
      {"B=1,H=8,S=99999999999999999999,D=1", "from 1 to 1048576"},
      {"B=-1,H=8,S=1,D=1", "is not a value of B"},
      {"B=1.5,H=8,S=1,D=1", "\"1.5\" is not a value of B"},
      {"B=1,H=8x2,S=1,D=1", "or 32/8 for 32 query heads"},
      {"B=1,H=8,S=1/2,D=1", "or 1x4096"},
      {"B=1,H=8/3,S=1,D=1", "8 query heads for 3 KV heads; make Hq a multiple of Hkv"},
      {"B=1,H=8,S=1:4,D=1", "\"1:4\" is not a value of S"},
      {"B=1,H=8,S=1:4:2,D=1", "512:4096:+512"},
      {"B=1,H=8,S=1:4:*1,D=1", "\"1:4:*1\" is not a value of S"},
      {"B=1,H=8,S=4:1:+1,D=1", "\"4:1:+1\" is not a value of S"},
      {"B=1,H=8,S=1:4:+1x,D=1", "\"1:4:+1x\" is not a value of S"},
      {"B=1,H=8,S=1:1000:+1,D=1", "more than 256 values of S"},
      {"B=1:256:+1,H=8,S=1:256:+1,D=1", "more than 10000 cases"},
      {"B=1,H=8,S=1,D=1,B=2", "B is given twice"},
      {"B=65536,H=1024,S=1048576,D=1", "more than 2^40"},
      {"B1.H8.Hkv3.S1.D1", "make Hq a multiple of Hkv"},
      {"B0.H8.S1.D1", "has the case B0.H8.Hkv8.Sq1.Skv1.D1.f16.full; give a whole number from 1 to 65536 for B"},
      {"B1.H8.S1.D1.f16.f16", "is not understood"},
  };
  struct sweep sweep;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const struct status status = shape_spec_sweep(&rows[i].spec, 1, &sweep);
    if (status.code != STATUS_USAGE || strstr(status.text, rows[i].expect) == NULL)
      fail_msg("%s: expected \"%s\", not \"%s\"", rows[i].spec, rows[i].expect, status.text);
    assert_int_equal(strncmp(status.text, "--shape ", 8), 0);
  }
}

/* What axes_key writes reads back to the same; a part that is missing, double or unknown makes it no key. */
TEST(a_key_is_read_as_it_is_written) {
  static const char *const bad[] = {"",
                                    "B1",
                                    "B1.H8.Hkv8.Sq1.Skv1.f16.full",
                                    "B1.H8.S1.Sq1.D1",
                                    "B1.H8.Sq1.D1",
                                    "B1.H8.S1.D1.",
                                    ".B1.H8.S1.D1",
                                    "B1.H8.S1.D1.f17",
                                    "B1.H8.S1.Dx",
                                    "B1.H8.S1.D1.causal.full",
                                    "B1.H8.S1.D1.lse.lse",
                                    "B1.B1.H8.S1.D1",
                                    "b1.H8.S1.D1",
                                    "B1.H8.S1.D1234567890",
                                    "B 1.H8.S1.D1",
                                    "B1.H8.S1.D1/wgmma"};
  struct attn_problem shapes[] = {ATTN_DENSE(2, 32, 8, 7, 4096, 128, ATTN_BF16, true),
                                  ATTN_DENSE(2, 32, 8, 7, 4096, 128, ATTN_BF16, true)};
  struct attn_problem read;
  char key[AXIS_KEY_MAX], again[AXIS_KEY_MAX];
  shapes[1].lse = true;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    axes_key(&shapes[i], key);
    assert_true(axes_key_read(key, &read));
    assert_int_equal(read.lse, shapes[i].lse);
    axes_key(&read, again);
    assert_string_equal(again, key);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    if (axes_key_read(bad[i], &read)) fail_msg("\"%s\" is taken for a key", bad[i]);
  }
}
