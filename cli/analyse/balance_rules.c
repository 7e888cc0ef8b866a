/* The finding about blocks of unlike work. */
#include <math.h>

#include "cli/analyse/balance.h"
#include "cli/analyse/rules.h"

/* The largest share of a roof that the row reaches: a kernel that reaches it waits for no block for long. */
static double nearest_share(const struct rules_row *row) {
  double most = 0;
  for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++) most = fmax(most, row->roofs.share[row->mode][pipe]);
  return fmin(most, 1);
}

/* How much faster the row is with blocks of equal work. What a measured row can gain ends at its roof. */
static double gain_of(const struct rules_row *row, double ratio, uint32_t pass) {
  const double share = nearest_share(row);
  const double gain = 1 / (1 - rules_pass_share(row, pass) * (1 - 1 / ratio));
  return isfinite(row->now_us) && share > 0 ? fmin(gain, 1 / share) : gain;
}

/* Blocks that end early leave their place empty. */
static void append_occupancy(const struct rules_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  const struct counter_values *v = rules_counted_pass(row, pass);
  if (v == NULL || !isfinite(v->achieved_occupancy_ratio)) return;
  rules_append(out, "; %.0f %% of an SM's threads were there on average, where %.0f %% fit (%s)",
               100 * v->achieved_occupancy_ratio, 100 * row->metrics->pass[pass].occupancy_ratio, row->source);
}

static void put_measured(const struct rules_row *row, const struct balance *b, struct finding *f) {
  const uint64_t blocks = row->metrics->pass[f->pass].blocks;
  rules_put(f->measured, "%sthe longest of %s has %s, the mean is %.1f", rules_prefix_of(row, f->pass).text,
            rules_count(b->items, "item").text, rules_count((uint64_t)b->longest, "K/V tile").text, b->mean);
  if (b->order == BALANCE_LOOPS)
    rules_append(f->measured,
                 "; %s take whole items, %.1f tiles each on average, so one takes at least %.2fx the mean",
                 rules_count(blocks, "block").text, b->mean * (double)b->items / (double)blocks, b->ratio);
  else
    rules_append(f->measured, "; %s on %u SMs, one item each%s, take %.2fx the time of blocks of equal work",
                 rules_count(blocks, "block").text, row->device->sms,
                 b->order == BALANCE_GRID ? " in the order of the grid" : ", the longest first", b->ratio);
  append_occupancy(row, f->pass, f->measured);
}

/* An order alone is enough where it brings the time below the limit. */
static bool order_helps(const struct balance *b) {
  return b->order == BALANCE_GRID && b->sorted_ratio < finding_limits.imbalance_min &&
         b->ratio / b->sorted_ratio >= finding_limits.imbalance_min;
}

static void put_advice(const struct balance *b, struct finding *f) {
  if (order_helps(b))
    rules_put(f->advice,
              "start the items with the most keys first: put q tiles, heads and sequences on one axis and go through "
              "it by a list that is sorted on the GPU; under a causal mask begin with the last q tiles. That takes "
              "%.2fx the time of blocks of equal work",
              b->sorted_ratio);
  else
    rules_put(f->advice,
              "cut the keys of the longest items over several blocks, or launch as many blocks as fit and give each "
              "an equal part of all K/V tiles, whatever items that cuts (stream-K); another order alone leaves "
              "%.2fx",
              b->sorted_ratio);
}

bool balance_rules_imbalanced(const struct rules_row *row, struct finding *f) {
  const uint32_t pass = metrics_main_pass(row->record);
  struct balance balance;
  if (row->pass_count == 0) return false;
  balance_of(row->record, pass, &row->metrics->pass[pass], row->device, &balance);
  if (!balance.known || balance.ratio < finding_limits.imbalance_min) return false;
  const double to = order_helps(&balance) ? balance.sorted_ratio : 1;
  const double gain = gain_of(row, balance.ratio / to, pass);
  if (gain < finding_limits.imbalance_min) return false;
  f->pass = pass;
  put_measured(row, &balance, f);
  put_advice(&balance, f);
  f->change = CHANGE_equal_work;
  rules_promise_ratio(row, gain, f);
  return true;
}
