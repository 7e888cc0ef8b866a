#include "kernels/gpu_models.h"
#include "kernels/occupancy.h"
#include "tests/unit.h"
#include "tests/unit_near.h"

struct occupancy_case {
  const char *gpu;
  uint32_t threads, registers;
  uint64_t smem_bytes;
  uint32_t blocks;
  const char *limited_by;
};

static void check_cases(const struct occupancy_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct occupancy_case *c = &cases[i];
    const struct occupancy o = occupancy_of(&gpu_model_find(c->gpu)->info, c->threads, c->registers, c->smem_bytes);
    if (o.resident_blocks != c->blocks) print_error("case %zu (%s, %u threads)\n", i, c->gpu, c->threads);
    assert_int_equal(o.resident_blocks, c->blocks);
    assert_string_equal(o.limited_by, c->limited_by);
  }
}

TEST(threads_and_block_slots_limit_small_kernels) {
  static const struct occupancy_case cases[] = {
      {"l4", 128, 32, 0, 12, "threads"},   {"a100", 128, 32, 0, 16, "threads"}, {"h200", 1024, 32, 0, 2, "threads"},
      {"l4", 32, 16, 0, 24, "blocks"},     {"h200", 32, 16, 0, 32, "blocks"},   {"l4", 100, 16, 0, 12, "threads"},
      {"h100", 1025, 16, 0, 0, "threads"},
  };
  check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* 65 registers x 32 = 2080, rounded up to 2304 per warp: 28 warps on an SM. 216 x 32 = 6912: a partition of 16384
 * registers holds 2 such warps, so 8 on an SM, although 9 would fit into its 65536 registers undivided. */
TEST(registers_are_allocated_per_warp_and_partition) {
  static const struct occupancy_case cases[] = {
      {"h200", 128, 64, 0, 8, "registers"},  {"h200", 128, 65, 0, 7, "registers"},
      {"h200", 128, 128, 0, 4, "registers"}, {"h200", 256, 65, 0, 3, "registers"},
      {"l4", 256, 255, 0, 1, "registers"},   {"h200", 160, 168, 0, 2, "registers"},
      {"l4", 1024, 72, 0, 0, "registers"},   {"h200", 96, 216, 0, 2, "registers"},
      {"h200", 32, 216, 0, 8, "registers"},
  };
  check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* Each block pays 1 KiB of its own: 100 KiB hold 24 KiB + 1 KiB four times, but not one byte more. */
TEST(shared_memory_includes_the_reserved_kilobyte) {
  static const struct occupancy_case cases[] = {
      {"l4", 128, 32, 24 * 1024, 4, "shared memory"},        {"l4", 128, 32, 24 * 1024 + 1, 3, "shared memory"},
      {"l4", 128, 32, 99 * 1024, 1, "shared memory"},        {"l4", 128, 32, 99 * 1024 + 1, 0, "shared memory"},
      {"a100", 128, 32, 70 * 1024, 2, "shared memory"},      {"h200", 128, 32, 227 * 1024, 1, "shared memory"},
      {"h200", 128, 32, 227 * 1024 + 1, 0, "shared memory"},
  };
  check_cases(cases, sizeof cases / sizeof cases[0]);
}

TEST(unknown_registers_give_an_upper_bound) {
  const struct device_info *l4 = &gpu_model_find("l4")->info;
  const struct occupancy unknown = occupancy_of(l4, 256, 0, 0);
  assert_int_equal(unknown.resident_blocks, 6);
  for (uint32_t registers = 1; registers <= 255; registers++)
    assert_true(occupancy_of(l4, 256, registers, 0).resident_blocks <= unknown.resident_blocks);
}

/* Saving shared memory alone gains nothing when the thread limit is as low. */
TEST(tie_is_named_after_what_cannot_be_saved) {
  static const struct occupancy_case cases[] = {
      {"l4", 384, 32, 24 * 1024, 4, "threads"},
      {"h200", 512, 32, 0, 4, "threads"}, /* 2048 threads x 32 registers fill both at once */
  };
  check_cases(cases, sizeof cases / sizeof cases[0]);
}

static double tflops(double flop_per_clk_sm, uint32_t sms, double mhz) { return flop_per_clk_sm * sms * mhz * 1e-6; }

/* Dense peaks of the vendor's data sheets at the clock they are quoted for. */
TEST(models_reach_the_vendors_peaks) {
  static const struct {
    const char *gpu;
    double tensor_mhz, tensor_tflops, fp32_mhz, fp32_tflops;
  } rows[] = {
      {"l4", 2040, 121, 2040, 30.3},
      {"a100", 1410, 312, 1410, 19.5},
      {"h100", 1830, 989, 1980, 67},
      {"h200", 1830, 989, 1980, 67},
      {"rtx4090", 2520, 165.2, 2520, 82.6},
      {"a10", 1695, 125, 1695, 31.2},
      {"l40s", 2490, 362.05, 2520, 91.6},
      {"rtx3090", 1695, 71, 1695, 35.6},
      {"rtx5090", 2407, 209.5, 2407, 104.8},
      {"b200", 1856, 2250, 1980, 75},
      {"gb200", 2008, 2500, 2062, 80},
      /* The fp32 rate of an H20 is that of its cores: the 44 that is said of it fits no clock that it has. */
      {"h20", 1853, 148, 1980, 39.5},
  };
  assert_int_equal(gpu_model_count(), sizeof rows / sizeof rows[0]);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct device_info *d = &gpu_model_find(rows[i].gpu)->info;
    assert_near(tflops(d->tensor_flop_per_clk_sm, d->sms, rows[i].tensor_mhz), rows[i].tensor_tflops,
                0.005 * rows[i].tensor_tflops);
    assert_near(tflops(d->fp32_flop_per_clk_sm, d->sms, rows[i].fp32_mhz), rows[i].fp32_tflops,
                0.005 * rows[i].fp32_tflops);
  }
}

TEST(models_are_complete_and_consistent) {
  for (size_t i = 0; i < gpu_model_count(); i++) {
    const struct gpu_model *model = gpu_model_at(i);
    const struct device_info *d = &model->info;
    assert_ptr_equal(gpu_model_find(model->name), model);
    assert_true(d->modelled && d->kind == DEVICE_CUDA && d->name[0] != 0);
    assert_int_equal(d->smem_per_block_bytes + d->smem_reserved_bytes, d->smem_per_sm_bytes);
    assert_int_equal(d->threads_per_sm % 128, 0);
    assert_true(d->sms > 0 && d->l2_bytes > 0 && d->memory_bytes > d->l2_bytes);
    assert_true(d->dram_gb_per_s > 0 && d->sm_clock_max_mhz > 0);
    assert_near(d->fp32_flop_per_clk_sm, gpu_fp32_flop_per_clk_sm(d->cc_major, d->cc_minor), 0);
  }
  assert_null(gpu_model_find("h2000"));
  assert_null(gpu_model_at(gpu_model_count()));
}

TEST(rates_by_compute_capability) {
  static const struct {
    uint32_t major, minor;
    double tensor, fp32;
  } rows[] = {{8, 0, 2048, 128},  {8, 6, 512, 256},  {8, 9, 1024, 256}, {9, 0, 4096, 256},
              {10, 0, 8192, 256}, {12, 0, 512, 256}, {7, 0, 0, 0},      {99, 9, 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_near(gpu_tensor_flop_per_clk_sm(rows[i].major, rows[i].minor), rows[i].tensor, 0);
    assert_near(gpu_fp32_flop_per_clk_sm(rows[i].major, rows[i].minor), rows[i].fp32, 0);
  }
}

TEST(geforce_ada_has_half_the_tensor_rate) {
  assert_near(gpu_model_find("rtx4090")->info.tensor_flop_per_clk_sm,
              gpu_model_find("l4")->info.tensor_flop_per_clk_sm / 2, 0);
}
