/* Which GPUs a binary has machine code for, and what is said where it has none. */
#include <string.h>

#include "kernels/device.h"
#include "kernels/machine_code.h"
#include "tests/unit.h"

static const uint32_t measured[] = {800, 860, 890, 900, 0}, all[] = {800, 860, 890, 900, 1000, 1200, 0};

TEST(code_runs_on_later_minor_versions_of_its_major_one) {
  static const struct {
    const uint32_t *archs;
    uint32_t cc_major, cc_minor;
    bool missing;
  } cases[] = {{measured, 8, 0, false}, {measured, 8, 7, false}, {measured, 9, 0, false},   {measured, 7, 5, true},
               {measured, 10, 0, true}, {measured, 12, 0, true}, {measured, 11, 0, true},   {all, 10, 0, false},
               {all, 10, 3, false},     {all, 12, 1, false},     {measured + 1, 8, 0, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct device_info device = {
        .kind = DEVICE_CUDA, .cc_major = cases[i].cc_major, .cc_minor = cases[i].cc_minor};
    char note[MACHINE_CODE_NOTE_MAX];
    assert_int_equal(machine_code_is_missing(cases[i].archs, &device, note), cases[i].missing);
    assert_int_equal(note[0] != '\0', cases[i].missing);
  }
}

TEST(the_note_names_the_gpu_and_is_whole) {
  const struct device_info device = {.kind = DEVICE_CUDA, .cc_major = 12, .cc_minor = 1};
  char note[MACHINE_CODE_NOTE_MAX];
  assert_true(machine_code_is_missing(measured, &device, note));
  assert_non_null(strstr(note, "compute capability 12.1"));
  assert_non_null(strstr(note, "builds it in"));
}

TEST(a_cpu_needs_none) {
  const struct device_info device = {.kind = DEVICE_CPU};
  char note[MACHINE_CODE_NOTE_MAX];
  assert_false(machine_code_is_missing(device_build_archs(), &device, note));
}
