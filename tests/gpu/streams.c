/* Two launches at once, in two streams: streams DEVICE, such as cuda:0. For each variant that keeps something between
 * the blocks of a launch in its workspace, two threads with a device of their own, and so with a stream of their own,
 * launch graphs of it back to back on inputs of their own. Every sample's last output must be right. Prints a line
 * for each case; the status is 1 when one is wrong, and 77 when the device cannot be opened. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/device.h"

enum { THREADS = 2, ROUNDS = 20, SAMPLES = 10 };

#define LATENT(B_, Hq_, Sq_, Skv_, causal_)                                                                \
  {                                                                                                        \
    .B = (B_), .Hq = (Hq_), .Hkv = 1, .Sq = (Sq_), .Skv = (Skv_), .D = 576, .Dv = 512, .dtype = ATTN_BF16, \
    .left = -1, .right = (causal_) ? 0 : -1, .v_in_k = true                                                \
  }

static const struct {
  const char *variant, *tunable; /* the tunable that chooses the path; NULL: there is one path */
  int32_t value;
  struct attn_problem problem;
} cases[] = {
    {"decode", "path", 1, ATTN_DENSE(1, 32, 8, 1, 4096, 128, ATTN_BF16, false)},
    {"decode", "path", 2, ATTN_DENSE(1, 32, 8, 1, 4096, 128, ATTN_BF16, false)},
    {"decode_general", NULL, 0, ATTN_DENSE(3, 32, 8, 1, 3000, 128, ATTN_BF16, false)},
    {"decode_general", NULL, 0, ATTN_DENSE(1, 8, 2, 4, 1000, 64, ATTN_F16, true)},
    {"mla", "shares", 2, LATENT(2, 16, 1, 3000, false)},
    {"mla", "shares", 2, LATENT(1, 128, 2, 2000, true)},
    {"d_split", "path", 3, ATTN_DENSE(1, 4, 4, 64, 64, 2048, ATTN_F32, false)},
};

struct stream {
  size_t index; /* of the case */
  uint64_t seed;
  const char *device;
  struct device *opened;
  struct bench *bench;
  const char *skipped;
  uint64_t samples, wrong;
  struct status status;
};

static struct attn_tuning tuning_of(const struct attn_variant *variant, const char *tunable, int32_t value) {
  struct attn_tuning tuning = variant_default_tuning(variant);
  for (size_t i = 0; tunable != NULL && i < variant_tunable_count(variant); ++i) {
    if (strcmp(variant->tunables[i].name, tunable) == 0) tuning.value[i] = value;
  }
  return tuning;
}

static struct status compare(struct stream *s) {
  const struct tolerance tolerance = bench_tolerance(s->bench);
  struct compare_result result;
  TRY(bench_compare(s->bench, &tolerance, &result));
  ++s->samples;
  s->wrong += result.bad_rows > 0;
  return status_ok();
}

static struct status prepare(struct stream *s) {
  const struct attn_variant *variant = variant_find(cases[s->index].variant);
  const struct attn_problem *problem = &cases[s->index].problem;
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct oracle_result oracle;
  struct attn_plan plan;
  uint32_t hot_launches = 0;
  double estimate_us = 0;
  TRY(device_open(s->device, &s->opened));
  const struct attn_tuning tuning = tuning_of(variant, cases[s->index].tunable, cases[s->index].value);
  s->skipped = variant_supports(variant, problem, &tuning, device_info(s->opened));
  if (s->skipped != NULL) return status_ok();
  variant_plan(variant, problem, &tuning, device_info(s->opened), &plan);
  if (plan.zeroed_bytes == 0) return status_make(STATUS_INTERNAL, "the blocks of a launch tell each other nothing");
  TRY(bench_open(s->opened, problem, s->seed, &s->bench));
  TRY(bench_reference(s->bench, &oracle));
  TRY(bench_bind(s->bench, variant, &plan, facts));
  TRY(bench_poison(s->bench));
  TRY(bench_launch(s->bench));
  TRY(compare(s));
  return bench_time_prepare(s->bench, &hot_launches, &estimate_us);
}

static struct status launch(struct stream *s) {
  double us[SAMPLES], clock_mhz;
  struct witness_result witness;
  for (uint32_t round = 0; round < ROUNDS; ++round) TRY(bench_sample(s->bench, TIME_HOT, SAMPLES, us, &clock_mhz));
  TRY(bench_witness(s->bench, &witness));
  s->samples += witness.samples;
  s->wrong += witness.wrong;
  TRY(bench_fill(s->bench, 0));
  TRY(bench_poison(s->bench));
  TRY(bench_launch(s->bench)); /* on what the launches before left in the workspace */
  return compare(s);
}

static void *run(void *argument) {
  struct stream *s = argument;
  s->status = launch(s);
  return NULL;
}

static void tell(const struct stream *s) {
  const bool failed = status_failed(&s->status);
  printf("%s %s path=%d seed=%llu",
         failed || s->wrong > 0 ? "wrong"
         : s->skipped != NULL   ? "skipped"
                                : "right",
         cases[s->index].variant, (int)cases[s->index].value, (unsigned long long)s->seed);
  if (failed || s->skipped != NULL) printf(": %s", failed ? s->status.text : s->skipped);
  printf(", %llu of %llu samples are wrong\n", (unsigned long long)s->wrong, (unsigned long long)s->samples);
}

static void close_stream(struct stream *s) {
  if (s->bench != NULL) bench_close(s->bench);
  if (s->opened != NULL) device_close(s->opened);
}

/* One thread prepares both, and each launches in a thread of its own. */
static bool is_right(size_t index, const char *device) {
  struct stream streams[THREADS];
  pthread_t threads[THREADS];
  bool ready = true, right = true;
  for (size_t i = 0; i < THREADS; ++i) {
    streams[i] = (struct stream){.index = index, .seed = i + 1, .device = device};
    streams[i].status = prepare(&streams[i]);
    ready = ready && !status_failed(&streams[i].status) && streams[i].skipped == NULL;
  }
  for (size_t i = 0; ready && i < THREADS; ++i) pthread_create(&threads[i], NULL, run, &streams[i]);
  for (size_t i = 0; ready && i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < THREADS; ++i) {
    tell(&streams[i]);
    right = right && !status_failed(&streams[i].status) && streams[i].wrong == 0;
    close_stream(&streams[i]);
  }
  return right;
}

int main(int count, char **arguments) {
  const char *device = count > 1 ? arguments[1] : "cuda:0";
  struct device *opened = NULL;
  const struct status status = device_open(device, &opened);
  bool right = true;
  if (status_failed(&status)) {
    fprintf(stderr, "%s\n", status.text);
    return 77;
  }
  device_close(opened);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) right = is_right(i, device) && right;
  return right ? 0 : 1;
}
