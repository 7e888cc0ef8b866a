/* The least time of a shape, against figures made by hand. */
#include <math.h>

#include "kernels/floor.h"
#include "kernels/problem/work.h"
#include "tests/unit.h"

/* 100 SMs of 1000 FLOP per clock at 1 GHz: 1e8 FLOP per microsecond. 1000 GB/s: 1e3 bytes per nanosecond. */
static const struct device_info gpu = {.kind = DEVICE_CUDA,
                                       .sms = 100,
                                       .sm_clock_max_mhz = 1000,
                                       .tensor_flop_per_clk_sm = 1000,
                                       .fp32_flop_per_clk_sm = 100,
                                       .dram_gb_per_s = 1000,
                                       .l2_bytes = 1 << 20};

static void near(double actual, double expected) { assert_true(fabs(actual - expected) <= 1e-9 * fabs(expected)); }

TEST(operations_count_the_pairs_under_the_mask) {
  const struct attn_problem full = ATTN_DENSE(2, 3, 1, 10, 20, 8, ATTN_F16, false);
  struct attn_problem causal = full;
  causal.right = 0;
  near(work_flops(&full), 4.0 * 2 * 3 * 8 * 200);
  near(work_flops(&causal), 4.0 * 2 * 3 * 8 * (11 + 12 + 13 + 14 + 15 + 16 + 17 + 18 + 19 + 20));
  causal.Skv = 4; /* six rows attend nothing */
  near(work_flops(&causal), 4.0 * 2 * 3 * 8 * (1 + 2 + 3 + 4));
  near(work_bytes(&full), 2 * 8 * (2 * 2 * 3 * 10 + 2 * 2 * 1 * 20));
  struct attn_problem with_lse = full;
  with_lse.lse = true;
  near(work_bytes(&with_lse), work_bytes(&full) + 4 * 2 * 3 * 10);
  near(work_flops(&with_lse), work_flops(&full));
}

TEST(a_prefill_is_bound_by_the_tensor_cores) {
  const struct attn_problem s = ATTN_DENSE(1, 8, 8, 2048, 2048, 64, ATTN_BF16, false);
  near(floor_us(&s, &gpu, TIME_COLD, NAN), work_flops(&s) / 1e8);
  near(floor_us(&s, &gpu, TIME_COLD, 500), work_flops(&s) / 0.5e8);
  struct attn_problem f32 = s;
  f32.dtype = ATTN_F32;
  near(floor_us(&f32, &gpu, TIME_HOT, 1000), 3 * work_flops(&s) / 1e8);
}

/* Half the bytes and their scales, and from compute capability 8.9 on twice the products. */
TEST(e4m3_is_counted_with_its_scales) {
  struct attn_problem s = ATTN_DENSE(2, 6, 3, 2048, 2048, 64, ATTN_E4M3, false);
  const double elements = 2.0 * 2048 * 64 * (6 + 3 + 3), out = 2.0 * 2 * 2048 * 64 * 6;
  struct device_info other = gpu;
  near(work_bytes(&s), elements + out + 3 * 4 * 2 * 3);
  near(floor_us(&s, &other, TIME_COLD, NAN), work_flops(&s) / 1e8);
  other.cc_major = 9;
  near(floor_us(&s, &other, TIME_COLD, NAN), work_flops(&s) / 2e8);
  other.cc_major = 8, other.cc_minor = 9;
  near(floor_us(&s, &other, TIME_COLD, NAN), work_flops(&s) / 2e8);
  s.scales = ATTN_SCALES_TENSOR, s.out_dtype = 1 + ATTN_F32;
  near(work_bytes(&s), elements + 2 * out + 3 * 4);
  s.scales = ATTN_SCALES_BLOCK, s.out_dtype = 0;
  near(work_bytes(&s), elements + out + 4 * 2 * 3 * (1 + 2 * 16));
  s.dtype = ATTN_F16, s.kv_dtype = 1, s.scales = ATTN_SCALES_HEAD;
  near(work_bytes(&s), 2.0 * 2048 * 64 * (2 * 6 + 3 + 3) + out + 2 * 4 * 2 * 3);
}

TEST(a_decode_is_bound_by_memory_beyond_l2) {
  const struct attn_problem s = ATTN_DENSE(8, 32, 8, 1, 4096, 128, ATTN_F16, false);
  const double bytes = work_bytes(&s);
  near(floor_us(&s, &gpu, TIME_COLD, NAN), bytes / 1e6);
  near(floor_us(&s, &gpu, TIME_HOT, NAN), (bytes - (1 << 20)) / 1e6);
}

TEST(rows_of_q_without_keys_need_not_be_read) {
  const struct attn_problem s = ATTN_DENSE(1, 1, 1, 1 << 20, 1, 64, ATTN_F16, true);
  near(floor_us(&s, &gpu, TIME_COLD, NAN), (2.0 * 64 * ((1 << 20) + 1 + 2)) / 1e6);
}

TEST(nothing_is_known_of_a_cpu_or_an_unknown_gpu) {
  const struct attn_problem s = ATTN_DENSE(1, 8, 8, 2048, 2048, 64, ATTN_F16, false);
  struct device_info other = gpu;
  other.kind = DEVICE_CPU;
  assert_true(floor_us(&s, &other, TIME_HOT, NAN) == 0);
  other = (struct device_info){.kind = DEVICE_CUDA, .sms = 10};
  assert_true(floor_us(&s, &other, TIME_HOT, NAN) == 0);
}
