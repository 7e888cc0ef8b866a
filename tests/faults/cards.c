/* Stands at the device boundary of attnbench-faulty (the linker's --wrap): cards where there is none or one, cards
 * that are lost, memory that is refused. Told by the environment:
 *   ATTN_CARDS=N      cuda:0 to cuda:N-1 are the device of ATTN_CARDS_ON (by default cpu), each with a uuid of its
 * own ATTN_LOST=FOLDER  a card that ran the variant *fault_lost fails there and does not open any more: the file
 *                     FOLDER/ORDINAL says so
 * The variant *fault_oom gets a workspace that no device has. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/device_ops.h"

enum { PATH_BYTES = 512 };

struct status __real_device_open(const char *spec, struct device **out);
uint32_t __real_device_count(const struct device *);
struct status __real_bench_bind(struct bench *, const struct attn_variant *, struct attn_plan *,
                                struct pass_facts facts[ATTN_PASSES_MAX]);
struct status __real_bench_launch(struct bench *);

static int ordinal; /* of the card that this process opened */

static int card_count(void) {
  const char *text = getenv("ATTN_CARDS");
  return text != NULL ? atoi(text) : 0;
}

static bool is_fault(const struct attn_variant *variant, const char *name) {
  const size_t length = strlen(variant->name), tail = strlen(name);
  return length >= tail && strcmp(variant->name + length - tail, name) == 0;
}

/* False where cards cannot be lost. */
static bool lost_file(char out[PATH_BYTES]) {
  const char *folder = getenv("ATTN_LOST");
  if (folder != NULL) snprintf(out, PATH_BYTES, "%s/%d", folder, ordinal);
  return folder != NULL;
}

static struct status lost(void) {
  return status_make(STATUS_DEVICE, "cuda:%d: the card is lost (simulated)", ordinal);
}

static struct status open_card(const char *spec, struct device **out) {
  const char *on = getenv("ATTN_CARDS_ON");
  if (card_count() == 0) return __real_device_open(spec, out);
  if (ordinal >= card_count()) return status_make(STATUS_NO_GPU, "no CUDA device %d: %d here", ordinal, card_count());
  const struct status status = __real_device_open(on != NULL ? on : "cpu", out);
  if (!status_failed(&status)) snprintf((*out)->info.uuid, sizeof(*out)->info.uuid, "CARD-%d", ordinal);
  return status;
}

struct status __wrap_device_open(const char *spec, struct device **out);
struct status __wrap_device_open(const char *spec, struct device **out) {
  char path[PATH_BYTES];
  if (strncmp(spec, "cuda", 4) != 0) return __real_device_open(spec, out);
  ordinal = spec[4] == ':' ? atoi(spec + 5) : 0;
  return lost_file(path) && access(path, F_OK) == 0 ? lost() : open_card(spec, out);
}

uint32_t __wrap_device_count(const struct device *device);
uint32_t __wrap_device_count(const struct device *device) {
  return card_count() > 0 ? (uint32_t)card_count() : __real_device_count(device);
}

struct status __wrap_bench_bind(struct bench *bench, const struct attn_variant *variant, struct attn_plan *plan,
                                struct pass_facts facts[ATTN_PASSES_MAX]);
struct status __wrap_bench_bind(struct bench *bench, const struct attn_variant *variant, struct attn_plan *plan,
                                struct pass_facts facts[ATTN_PASSES_MAX]) {
  if (is_fault(variant, "fault_oom")) plan->workspace_bytes = UINT64_C(1) << 50;
  return __real_bench_bind(bench, variant, plan, facts);
}

struct status __wrap_bench_launch(struct bench *bench);
struct status __wrap_bench_launch(struct bench *bench) {
  char path[PATH_BYTES];
  const struct status status = __real_bench_launch(bench);
  if (!is_fault(bench->variant, "fault_lost") || !lost_file(path)) return status;
  const int fd = open(path, O_CREAT | O_WRONLY, 0600);
  if (fd >= 0) close(fd);
  return lost();
}
