#include <string.h>

#include "cli/base/program.h"
#include "tests/unit.h"

static const char *set_name, *set_value;

static char *environment(const char *name) {
  return set_name != NULL && strcmp(name, set_name) == 0 ? (char *)set_value : NULL;
}

static void assert_tool(const char *maps, const char *name, const char *value, const char *expected) {
  char text[4096], out[PROFILED_TEXT_MAX];
  snprintf(text, sizeof text, "%s\n", maps);
  FILE *file = fmemopen(text, strlen(text), "r");
  assert_non_null(file);
  set_name = name, set_value = value;
  profiled_find(file, environment, out);
  assert_string_equal(out, expected);
  fclose(file);
}

TEST(a_mapped_library_names_its_tool) {
  static const struct {
    const char *path, *tool;
  } cases[] = {
      {"/opt/nvidia/nsight-systems/2025.5.1/target-linux-x64/libToolsInjection64.so", "nsys"},
      {"/opt/nvidia/nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/libcuda-injection.so", "ncu"},
      {"/usr/local/cuda-13.0/compute-sanitizer/libsanitizer-collection.so", "compute-sanitizer"},
      {"/usr/lib/x86_64-linux-gnu/libcudadebugger.so.580.159.04", "cuda-gdb"},
      {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "cupti"},
      {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", ""},
      {"/home/me/libcuda-injection/attnbench", ""},
      {"[heap]", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char line[512];
    snprintf(line, sizeof line, "7f10 r-xp 00000000 08:01 131 %s", cases[i].path);
    assert_tool(line, NULL, NULL, cases[i].tool);
  }
}

TEST(nsys_comes_before_the_cupti_that_it_brings) {
  assert_tool("1 r /opt/n/libcupti.so.13\n2 r /opt/n/libToolsInjection64.so", NULL, NULL, "nsys");
  assert_tool("1 r /opt/n/libToolsInjection64.so\n2 r /opt/n/libcupti.so.13", NULL, NULL, "nsys");
}

TEST(a_variable_alone_is_named_and_a_library_wins) {
  assert_tool("", "CUDA_INJECTION64_PATH", "/tmp/mine.so", "injection: CUDA_INJECTION64_PATH");
  assert_tool("", "NVTX_INJECTION64_PATH", "/tmp/mine.so", "injection: NVTX_INJECTION64_PATH");
  assert_tool("", "CUDA_INJECTION64_PATH", "", "");
  assert_tool("", "LD_PRELOAD", "/tmp/mine.so", "");
  assert_tool("1 r /opt/n/libToolsInjection64.so", "CUDA_INJECTION64_PATH", "/x", "nsys");
}

TEST(without_a_table_of_mappings_the_environment_decides) {
  char out[PROFILED_TEXT_MAX] = "not written";
  set_name = NULL;
  profiled_find(NULL, environment, out);
  assert_string_equal(out, "");
}

TEST(this_process_has_no_tool_inside) {
  char out[PROFILED_TEXT_MAX];
  profiled_tool(out);
  assert_string_equal(out, "");
}
