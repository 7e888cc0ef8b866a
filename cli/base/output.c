/* Writes a temporary file beside the target and renames it once it is whole. */
#include "cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"

static const char standard_output[] = "the standard output";
static const mode_t output_mode = 0644;
static const double reader_patience_s = 10;
enum { READER_POLL_US = 20000 };
enum { TEMPORARY_TRIES = 100 };

static struct status failure(const char *path, const char *doing, int error) {
  return status_make(STATUS_OUTPUT, "%s: cannot %s: %s", path, doing, strerror(error));
}

struct status output_write_all(int fd, const char *path, const char *bytes, size_t length) {
  while (length > 0) {
    const ssize_t n = write(fd, bytes, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(path, "write", errno);
    bytes += n;
    length -= (size_t)n;
  }
  return status_ok();
}

/* "." of a name alone. */
static void parent_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  const int length = slash == NULL || slash == path ? 1 : (int)(slash - path);
  snprintf(out, PATH_MAX, "%.*s", length, slash == NULL ? "." : path);
}

struct status output_sync_parent(const char *path) {
  char parent[PATH_MAX];
  struct status status = status_ok();
  parent_of(path, parent);
  const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failure(parent, "open the directory", errno);
  /* EINVAL: a file system that has no directory sync; there is nothing more to be done there. */
  if (fsync(fd) != 0 && errno != EINVAL) status = failure(parent, "sync the directory", errno);
  close(fd);
  return status;
}

/* ---- what a path names --------------------------------------------------------------------------------------- */

/* What a path leads to after following links. */
struct target {
  int fd;                /* of this process, that the path names (/dev/stdout, /dev/fd/5); else -1 */
  char path[PATH_MAX];   /* behind all links, also where they lead to nothing yet */
  char folder[PATH_MAX]; /* of that path, without links; "" when it does not exist, which is for opening to explain */
};

/* The number of a descriptor of this process: a name in its folder of /proc; else -1. */
static int descriptor_of(const char *folder, const char *name) {
  char own[32], *end;
  snprintf(own, sizeof own, "/proc/%ld/fd", (long)getpid());
  const long number = strtol(name, &end, 10);
  const bool is_number = name[0] >= '0' && name[0] <= '9' && *end == '\0' && number <= INT_MAX;
  return is_number && strcmp(folder, own) == 0 ? (int)number : -1;
}

/* Reads the link that a path is; false when it is none, or does not fit. */
static bool read_link(const char *folder, char path[PATH_MAX]) {
  char link[PATH_MAX], joined[2 * PATH_MAX];
  const ssize_t length = readlink(path, link, sizeof link - 1);
  if (length < 0) return false;
  link[length] = '\0';
  const int needed =
      snprintf(joined, sizeof joined, "%s%s%s", link[0] == '/' ? "" : folder, link[0] == '/' ? "" : "/", link);
  if (needed >= PATH_MAX) return false;
  memcpy(path, joined, (size_t)needed + 1);
  return true;
}

const char *output_name_in(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* False when the path is too long for a file, or its links go in a circle. */
static bool follow(const char *path, struct target *out) {
  enum { LINKS_MAX = 40 };
  char parent[PATH_MAX];
  const size_t length = strlen(path);
  *out = (struct target){.fd = -1};
  if (length >= sizeof out->path) return false;
  memcpy(out->path, path, length + 1);
  for (int links = 0; links < LINKS_MAX; ++links) {
    parent_of(out->path, parent);
    if (realpath(parent, out->folder) == NULL) {
      out->folder[0] = '\0';
      return true;
    }
    out->fd = descriptor_of(out->folder, output_name_in(out->path));
    if (out->fd >= 0 || !read_link(out->folder, out->path)) return true;
  }
  return false;
}

bool output_is_same_file(const char *a, const char *b) {
  struct stat info_a, info_b;
  struct target target_a, target_b;
  const bool is_a = stat(a, &info_a) == 0, is_b = stat(b, &info_b) == 0;
  if (is_a != is_b) return false;
  if (is_a) return S_ISREG(info_a.st_mode) && info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
  return follow(a, &target_a) && follow(b, &target_b) && target_a.folder[0] != '\0' &&
         strcmp(target_a.folder, target_b.folder) == 0 &&
         strcmp(output_name_in(target_a.path), output_name_in(target_b.path)) == 0;
}

bool output_is_descriptor(const char *path) {
  struct target target;
  return follow(path, &target) && target.fd >= 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* Opens a named pipe, which is possible only once a reader has opened it. */
static struct status open_waiting(const char *path, int *fd) {
  const double deadline_s = clock_now_s() + reader_patience_s;
  while ((*fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && errno == ENXIO) {
    TRY(signals_check());
    if (clock_now_s() > deadline_s)
      return status_make(STATUS_OUTPUT, "%s: no process has read this pipe for %g s; start its reader first", path,
                         reader_patience_s);
    usleep(READER_POLL_US);
  }
  if (*fd < 0) return failure(path, "open for writing", errno);
  /* A reader that goes away is an output that was not written. */
  signal(SIGPIPE, SIG_IGN);
  return fcntl(*fd, F_SETFL, 0) == 0 ? status_ok() : failure(path, "open for writing", errno);
}

/* Opens a descriptor of this process. Its offset and append mode are kept, so that `>>log` is appended to. */
static struct status open_descriptor(const char *path, int own, int *fd) {
  fflush(stdout);
  *fd = fcntl(own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return *fd >= 0 ? status_ok() : failure(path, "write", errno);
}

static struct status open_direct(const char *path, int own, struct output *out) {
  int fd;
  snprintf(out->target, sizeof out->target, "%s", path);
  TRY(own >= 0 ? open_descriptor(path, own, &fd) : open_waiting(path, &fd));
  out->stream = fdopen(fd, "w");
  if (out->stream != NULL) return status_ok();
  const int error = errno;
  close(fd);
  return failure(path, "open for writing", error);
}

static struct status explain_open(const char *path, int error) {
  char parent[PATH_MAX];
  parent_of(path, parent);
  if (error == ENOENT)
    return status_make(STATUS_OUTPUT, "%s: the directory %s does not exist; create it first", path, parent);
  if (error == EACCES || error == EPERM || error == EROFS)
    return status_make(STATUS_OUTPUT, "%s: the directory %s is not writable: %s", path, parent, strerror(error));
  return failure(path, "create a temporary file beside it", error);
}

/* A file that only its owner could read stays so when it is replaced. */
static void take_mode(const char *from, int fd) {
  struct stat info;
  if (stat(from, &info) == 0 && fchmod(fd, info.st_mode & 07777) != 0) errno = 0;
}

/* Calls `make` with one new name after the other until there is no file of that name: 0, or the error. */
static int try_names(struct output *out, int (*make)(struct output *)) {
  for (unsigned i = 0; i < TEMPORARY_TRIES; ++i) {
    snprintf(out->temporary, sizeof out->temporary, "%s.%ld.%u.tmp", out->target, (long)getpid(), i);
    if (make(out) == 0) return 0;
    if (errno != EEXIST) break;
  }
  const int error = errno;
  out->temporary[0] = '\0';
  return error;
}

static int create_named(struct output *out) {
  out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, output_mode);
  return out->fd < 0 ? -1 : 0;
}

/* Creates the temporary file, without a name where the file system allows it: a process that is killed then leaves no
 * file behind. */
static int create_temporary(struct output *out) {
  char parent[PATH_MAX];
  parent_of(out->target, parent);
  out->fd = open(parent, O_WRONLY | O_TMPFILE | O_CLOEXEC, output_mode);
  out->is_nameless = out->fd >= 0;
  return out->is_nameless ? 0 : try_names(out, create_named);
}

static struct status open_temporary(struct output *out) {
  const int error = create_temporary(out);
  if (error != 0) return explain_open(out->target, error);
  take_mode(out->target, out->fd);
  out->stream = fdopen(out->fd, "w");
  if (out->stream != NULL) return status_ok();
  const struct status status = failure(out->target, "open for writing", errno);
  close(out->fd);
  if (out->temporary[0] != '\0') unlink(out->temporary);
  return status;
}

static int link_nameless(const struct output *out, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", out->fd);
  return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int give_name(struct output *out) { return link_nameless(out, out->temporary); }

static struct status check_descriptor(const char *path, int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? status_ok() : failure(path, "write", EBADF);
}

/* Can the target be written? *direct: it is a descriptor of this process, or exists and is not a regular file. */
static struct status check_target(const char *path, struct target *target, bool *direct) {
  struct stat info;
  if (path[0] == '\0')
    return status_make(STATUS_OUTPUT, "the output path is empty; name a file, or - for the output");
  if (!follow(path, target))
    return status_make(STATUS_OUTPUT, "the path is too long for a file, or its links go in a circle: %s", path);
  *direct = target->fd >= 0;
  if (*direct) return check_descriptor(path, target->fd);
  const bool exists = stat(path, &info) == 0;
  if (!exists && errno == ENAMETOOLONG)
    return status_make(STATUS_OUTPUT, "the path is too long for a file; shorten %s", path);
  *direct = exists && !S_ISREG(info.st_mode);
  if (exists && S_ISDIR(info.st_mode))
    return status_make(STATUS_OUTPUT, "%s: is a directory; name a file in it", path);
  return exists && access(path, W_OK) != 0 ? failure(path, "write", errno) : status_ok();
}

struct status output_open(const char *path, struct output *out) {
  struct target target;
  bool direct;
  *out = (struct output){.stream = stdout};
  snprintf(out->target, sizeof out->target, "%s", standard_output);
  if (strcmp(path, "-") == 0) return status_ok();
  TRY(check_target(path, &target, &direct));
  if (direct) return open_direct(path, target.fd, out);
  memcpy(out->target, target.path, sizeof out->target);
  return open_temporary(out);
}

struct status output_probe(const char *path) {
  struct output output;
  struct target target;
  bool direct = false;
  struct status status = strcmp(path, "-") != 0 ? check_target(path, &target, &direct) : status_ok();
  if (status_failed(&status) || direct) return status;
  status = output_open(path, &output);
  if (!status_failed(&status)) output_abandon(&output);
  return status;
}

/* Does output_commit rename a temporary file over the target? */
static bool is_replaced(const struct output *output) { return output->is_nameless || output->temporary[0] != '\0'; }

/* The errno of an earlier failed write. The stream keeps only an error flag, so this function writes once more, which
 * fails for the same reason. After a signal it returns EINTR instead, since the write could block. */
static int reason_of_failure(FILE *stream) {
  if (signals_received() != 0) return EINTR;
  return write(fileno(stream), "\n", 1) < 0 ? errno : EIO;
}

/* Moves the whole file to the target's path: 0, or the error. A nameless file is linked there. Where there is an
 * older file it gets a temporary name first, and is renamed; a process that is killed in between leaves it under that
 * name. */
static int place_file(struct output *output) {
  if (output->is_nameless) {
    if (link_nameless(output, output->target) == 0) return 0;
    if (errno != EEXIST) return errno;
    const int error = try_names(output, give_name);
    if (error != 0) return error;
  }
  return rename(output->temporary, output->target) == 0 ? 0 : errno;
}

/* Closes the stream (stdout is only flushed) after the file stands in its place; the first error of writing,
 * flushing, syncing, placing and closing, or 0. */
static int finish_stream(struct output *output) {
  FILE *stream = output->stream;
  int error = fflush(stream) != 0 ? errno : 0;
  if (error == 0 && ferror(stream)) error = reason_of_failure(stream);
  if (error == 0 && is_replaced(output) && fsync(fileno(stream)) != 0) error = errno;
  if (error == 0 && is_replaced(output)) error = place_file(output);
  if (stream != stdout && fclose(stream) != 0 && error == 0) error = errno;
  output->stream = NULL;
  return error;
}

struct status output_commit(struct output *output) {
  const bool direct = !is_replaced(output);
  int error = finish_stream(output);
  if (direct && error == 0) return status_ok();
  /* Who reads a pipe may have been stopped by the same Ctrl-C, and a signal ends a write that waits. */
  if (direct && signals_received() != 0) return signals_check();
  if (direct && error == EPIPE && strcmp(output->target, standard_output) == 0)
    return status_make(STATUS_CLOSED, "%s was closed", standard_output);
  if (direct) return failure(output->target, "write", error);
  if (error == 0) return output_sync_parent(output->target);
  if (output->temporary[0] != '\0') unlink(output->temporary);
  return failure(output->target, "write", error);
}

void output_abandon(struct output *output) {
  if (output->stream != NULL && output->stream != stdout) fclose(output->stream);
  if (output->temporary[0] != '\0') unlink(output->temporary);
  *output = (struct output){0};
}

struct status output_end(struct output *output, struct status written) {
  if (!status_failed(&written)) return output_commit(output);
  output_abandon(output);
  return written;
}
