/* Finds the file of the running program, also under a tool that runs it in its own process. */
#include "cli/base/program.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Under valgrind the kernel's link leads to valgrind, and readlink, which valgrind answers itself, to the program. A
 * program that was removed or replaced has no name; the link still opens it. */
const char *program_path(void) {
  static const char link[] = "/proc/self/exe";
  static char named[PATH_MAX];
  struct stat by_name, by_link;
  const ssize_t length = readlink(link, named, sizeof named - 1);
  if (length <= 0) return link;
  named[length] = '\0';
  if (stat(named, &by_name) != 0 || stat(link, &by_link) != 0) return link;
  return by_name.st_dev == by_link.st_dev && by_name.st_ino == by_link.st_ino ? link : named;
}
