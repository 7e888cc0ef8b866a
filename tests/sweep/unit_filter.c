/* --filter: what keeps which shape. */
#include <string.h>

#include "cli/sweep/cells.h"
#include "tests/unit.h"

static const struct attn_problem square = ATTN_DENSE(2, 8, 8, 512, 512, 64, ATTN_F16, false);
static struct attn_problem decode = ATTN_DENSE(4, 32, 8, 1, 4096, 128, ATTN_BF16, true);

TEST(a_filter_keeps_what_meets_it) {
  static const struct {
    const char *text;
    bool square, decode;
  } rows[] = {
      {"S=512", true, false},
      {"S=128,512", true, false},
      {"S=1,4096", false, false}, /* both lengths are the one value */
      {"Skv=512,4096", true, true},
      {"Sq=1", false, true},
      {"S>=512", true, false}, /* both lengths */
      {"Skv>1k", false, true},
      {"Skv>=512", true, true},
      {"Skv>512", false, true},
      {"S<513", true, false},
      {"Sq<=1", false, true},
      {"B!=2", false, true},
      {"B!=2,4", false, false},
      {"S!=512", false, true},
      {"H=8", true, false},
      {"dtype=f16,bf16", true, true},
      {"Hkv=8", true, true},
      {"H=32", false, false},
      {"D=0000000064", true, false},
      {"dtype=f16,bf16", true, true},
      {"dtype!=bf16", true, false},
      {"causal=true", false, true},
      {"causal", false, true},
      {"full", true, false},
      {"bf16", false, true},
      {"f32", false, false},
      {"B2.H8.Hkv8.Sq512.Skv512.D64.f16.full", true, false},
      {"B2.H8.S512.D64", true, false},
      {"lse", false, true},
      {"lse=false", true, false},
      {"B4.H32.Hkv8.Sq1.Skv4096.D128.bf16.causal.lse", false, true},
      {"B4.H32.Hkv8.Sq1.Skv4096.D128.bf16.causal", false, false},
  };
  decode.lse = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct filter filter;
    const struct status status = filter_parse(rows[i].text, &filter);
    if (status_failed(&status)) fail_msg("%s", status.text);
    if (filter_keeps(&filter, &square) != rows[i].square || filter_keeps(&filter, &decode) != rows[i].decode)
      fail_msg("%s keeps something else", rows[i].text);
  }
}

TEST(a_wrong_filter_is_refused) {
  static const struct {
    const char *text, *expect;
  } rows[] = {
      {"", "is not KEY=VALUE"},
      {"S512", "is not KEY=VALUE"},
      {"fp16", "is not KEY=VALUE"},
      {"S", "is not KEY=VALUE"},
      {"S=", "is not understood; give a whole number from 1 to 1048576"},
      {"S=1,", "is not understood; give a whole number from 1 to 1048576"},
      {"S==1", "\"S==1\" has no test that is known; write =, !=, <, <=, > or >="},
      {"S=>1", "\"S=>1\" has no test that is known; write =, !=, <, <=, > or >="},
      {"S>=1,2", "takes one number"},
      {"dtype>f16", "cannot be ordered"},
      {"causal>=true", "cannot be ordered"},
      {"=1", "is not a key"},
      {"s=1", "did you mean"},
      {"dtype=fp16", "give f16, bf16, f32 or e4m3"},
      {"causal=1", "give true or false"},
      {"S=4294967296", "is not understood; give a whole number from 1 to 1048576"},
      {"S=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33", "more than 32"},
      {"S!1", "is not KEY=VALUE"},
      {"casual", "did you mean causal?"},
      {"windw", "did you mean window?"},
      {"bf61", "did you mean bf16?"},
      {"D=64,S=9999", "give each test a --filter of its own: --filter 'D=64' --filter 'S=9999'"},
      {"D=64,128,causal", "--filter 'D=64,128' --filter 'causal'"},
      {"causal,D=64", "--filter 'causal' --filter 'D=64'"},
      {"causal,bf16", "--filter 'causal' --filter 'bf16'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct filter filter;
    const struct status status = filter_parse(rows[i].text, &filter);
    if (status.code != STATUS_USAGE || strstr(status.text, rows[i].expect) == NULL)
      fail_msg("%s: expected \"%s\", not \"%s\"", rows[i].text, rows[i].expect, status.text);
  }
}
