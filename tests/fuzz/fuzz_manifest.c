/* libFuzzer entry: any bytes as the manifest of a compiled kernel. What was accepted is computed for small and for
 * the largest shapes: formulas have a value or a reason, never anything else. */
#include "cli/sweep/manifest.h"

#include "tests/fuzz/fuzz.h"

static struct manifest manifest;

static void compute(const struct expression *expression, const int64_t *values) {
  int64_t value = 0;
  const char *why = expression_value(expression, values, &value);
  expect(why == NULL || (why[0] != '\0' && value == 0));
}

static void check_launch(const struct manifest_launch *launch, const int64_t *values) {
  for (size_t axis = 0; axis < 3; ++axis) {
    compute(&launch->grid[axis], values);
    compute(&launch->block[axis], values);
    compute(&launch->cluster[axis], values);
  }
  compute(&launch->smem, values);
  expect(launch->image.argument_count >= 1 && launch->image.argument_count <= ATTN_IMAGE_ARGUMENTS_MAX);
  for (uint32_t i = 0; i < launch->image.argument_count; ++i) {
    const struct attn_image_argument *argument = &launch->image.argument[i];
    expect(argument->bytes >= 1 && argument->offset + argument->bytes <= ATTN_PASS_ARGS_MAX);
    if (launch->argument[i].kind == MANIFEST_INTEGER) compute(&launch->argument[i].integer, values);
    if (launch->argument[i].kind == MANIFEST_TENSOR_MAP) expect(launch->argument[i].map < launch->map_count);
  }
  for (uint32_t i = 0; i < launch->map_count; ++i) {
    expect(launch->map[i].dims >= 2 && launch->map[i].dims <= DEVICE_TENSOR_MAP_DIMS_MAX);
    for (uint32_t j = 0; j < launch->map[i].dims; ++j) compute(&launch->map[i].box[j], values);
  }
}

static void check_values(int64_t value) {
  int64_t values[MANIFEST_VALUES_MAX];
  for (size_t i = 0; i < MANIFEST_VALUES_MAX; ++i) values[i] = value;
  for (uint32_t i = 0; i < manifest.requirement_count; ++i) compute(&manifest.requirement[i].that, values);
  for (uint32_t i = 0; i < manifest.launch_count; ++i) check_launch(&manifest.launch[i], values);
}

/* In the folder of the one file that a manifest may name here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char path[] = "tests/data/fuzz.json";
  char *text = calloc(size + 1, 1);
  expect(text != NULL);
  if (size > 0) memcpy(text, data, size);
  const struct status status = manifest_parse(path, text, size, &manifest);
  free(text);
  if (is_refused(&status)) {
    expect(strncmp(status.text, path, sizeof path - 1) == 0);
    return 0;
  }
  expect(manifest.launch_count >= 1 && manifest.launch_count <= ATTN_PASSES_MAX && manifest.name[0] != '\0');
  check_values(0);
  check_values(1);
  check_values(INT64_MAX);
  return 0;
}
