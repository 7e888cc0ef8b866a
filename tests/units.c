/* All unit tests in one program. The build names the `main` of unit_x.c unit_x, and links of those names lead here:
 * the program runs the test that it is called as. */
#include <stdio.h>
#include <string.h>

#define UNIT(name) int name(int argc, char **argv);
#include "units.def"
#undef UNIT

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} units[] = {
#define UNIT(name) {#name, name},
#include "units.def"
#undef UNIT
};

int main(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i)
    if (strcmp(units[i].name, name) == 0) return units[i].run(argc, argv);
  fprintf(stderr, "%s: is not the name of a unit test\n", name);
  return 2;
}
