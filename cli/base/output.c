/* Writes a temporary file beside the target and renames it once it is whole. */
#include "cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const mode_t output_mode = 0644;
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

static struct status parent_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  const size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
  if (length >= PATH_MAX) return failure(path, "open", ENAMETOOLONG);
  memcpy(out, slash == NULL ? "." : path, length);
  out[length] = '\0';
  return status_ok();
}

struct status output_sync_parent(const char *path) {
  char parent[PATH_MAX];
  struct status status = parent_of(path, parent);
  if (status_failed(&status)) return status;
  const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failure(parent, "open the directory", errno);
  /* EINVAL: a file system that has no directory sync; there is nothing more to be done there. */
  if (fsync(fd) != 0 && errno != EINVAL) status = failure(parent, "sync the directory", errno);
  close(fd);
  return status;
}

/* Of a path whose last part does not exist: its folder, resolved, and that part. */
static bool resolve_missing(const char *path, char folder[PATH_MAX], const char **name) {
  char parent[PATH_MAX];
  const struct status status = parent_of(path, parent);
  const char *slash = strrchr(path, '/');
  *name = slash != NULL ? slash + 1 : path;
  return !status_failed(&status) && realpath(parent, folder) != NULL;
}

bool output_is_same_file(const char *a, const char *b) {
  struct stat info_a, info_b;
  char folder_a[PATH_MAX], folder_b[PATH_MAX];
  const char *name_a, *name_b;
  const bool is_a = stat(a, &info_a) == 0, is_b = stat(b, &info_b) == 0;
  if (is_a != is_b) return false;
  if (is_a) return S_ISREG(info_a.st_mode) && info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
  return resolve_missing(a, folder_a, &name_a) && resolve_missing(b, folder_b, &name_b) &&
         strcmp(folder_a, folder_b) == 0 && strcmp(name_a, name_b) == 0;
}

static struct status open_direct(const char *path, struct output *out) {
  snprintf(out->target, sizeof out->target, "%s", path);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failure(path, "open for writing", errno);
  out->stream = fdopen(fd, "w");
  if (out->stream != NULL) return status_ok();
  const int error = errno;
  close(fd);
  return failure(path, "open for writing", error);
}

static struct status explain_open(const char *path, int error) {
  char parent[PATH_MAX];
  TRY(parent_of(path, parent));
  if (error == ENOENT) {
    return status_make(STATUS_OUTPUT, "%s: the directory %s does not exist; create it first", path, parent);
  }
  if (error == EACCES || error == EPERM || error == EROFS) {
    return status_make(STATUS_OUTPUT, "%s: the directory %s is not writable: %s", path, parent, strerror(error));
  }
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

/* Where the file system can, a file without a name: one that is killed leaves nothing behind. */
static int create_temporary(struct output *out) {
  char parent[PATH_MAX];
  const struct status status = parent_of(out->target, parent);
  if (status_failed(&status)) return ENAMETOOLONG;
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

static int give_name(struct output *out) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", out->fd);
  return linkat(AT_FDCWD, path, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW);
}

static struct status resolve_target(const char *path, struct output *out) {
  if (realpath(path, out->target) != NULL) return status_ok();
  if (errno != ENOENT) return failure(path, "open for writing", errno);
  const size_t length = strlen(path);
  if (length == 0) return status_make(STATUS_OUTPUT, "the output path is empty; name a file, or - for the output");
  if (length >= sizeof out->target) return failure(path, "open for writing", ENAMETOOLONG);
  memcpy(out->target, path, length + 1);
  return status_ok();
}

/* *direct: there is something that is no regular file. */
static struct status check_target(const char *path, bool *direct) {
  struct stat info;
  const bool exists = stat(path, &info) == 0;
  if (!exists && errno == ENAMETOOLONG)
    return status_make(STATUS_OUTPUT, "the path is too long for a file; shorten %s", path);
  *direct = exists && !S_ISREG(info.st_mode);
  if (exists && S_ISDIR(info.st_mode)) {
    return status_make(STATUS_OUTPUT, "%s: is a directory; name a file in it", path);
  }
  return exists && access(path, W_OK) != 0 ? failure(path, "write", errno) : status_ok();
}

struct status output_open(const char *path, struct output *out) {
  bool direct;
  *out = (struct output){.stream = stdout, .target = "the standard output"};
  if (strcmp(path, "-") == 0) return status_ok();
  TRY(check_target(path, &direct));
  if (direct) return open_direct(path, out);
  struct status status = resolve_target(path, out);
  return status_failed(&status) ? status : open_temporary(out);
}

struct status output_probe(const char *path) {
  struct output output;
  bool direct = false;
  struct status status = strcmp(path, "-") != 0 ? check_target(path, &direct) : status_ok();
  if (status_failed(&status) || direct) return status;
  status = output_open(path, &output);
  if (!status_failed(&status)) output_abandon(&output);
  return status;
}

/* Does the whole file take the place of the old one, at the end? */
static bool is_replaced(const struct output *output) { return output->is_nameless || output->temporary[0] != '\0'; }

/* Closes the stream (stdout is only flushed); the first error of writing, flushing, syncing and closing, or 0. */
static int finish_stream(struct output *output) {
  FILE *stream = output->stream;
  errno = 0;
  int error = 0;
  if (fflush(stream) != 0 || ferror(stream)) error = errno != 0 ? errno : EIO;
  if (error == 0 && is_replaced(output) && fsync(fileno(stream)) != 0) error = errno;
  if (error == 0 && output->is_nameless) error = try_names(output, give_name);
  if (stream != stdout && fclose(stream) != 0 && error == 0) error = errno;
  output->stream = NULL;
  return error;
}

struct status output_commit(struct output *output) {
  const bool direct = !is_replaced(output);
  int error = finish_stream(output);
  if (direct) return error == 0 ? status_ok() : failure(output->target, "write", error);
  if (error == 0 && rename(output->temporary, output->target) != 0) error = errno;
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
