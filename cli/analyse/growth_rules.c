/* The finding from time against B*H: what growth the waves explain. */
#include <inttypes.h>
#include <math.h>

#include "cli/analyse/rules.h"

static const char *const growth_advice[SCALING_VERDICT_COUNT] = {
    [SCALING_none] = "",
    [SCALING_flat] = "the smaller shape leaves the GPU idle; split its keys or rows finer",
    [SCALING_less_than_waves] =
        "part of the baseline's time does not grow (launch, first loads); compare against a larger baseline",
    [SCALING_serial] = "let the grid cover B*H: then blocks grow with it, and time only with the waves",
    [SCALING_linear] = "nothing to fix in the growth: make the work of one (batch, head) pair cheaper",
    [SCALING_as_waves] = "nothing to fix in the growth; make one wave faster or need fewer of them",
    [SCALING_as_blocks_per_sm] =
        "blocks that share an SM slow each other: cut what one block asks of its SM before adding resident blocks",
    [SCALING_worse_than_waves] =
        "look for what all SMs share: L2 and DRAM traffic (K/V reread by every q tile), atomics, or a clock that "
        "fell",
    [SCALING_sublinear_without_grid] =
        "record the launch: what idle SMs took and what launch overhead hid is in the grid",
    [SCALING_linear_without_grid] =
        "record the launch (grid, block, what each axis covers): blocks that do not grow with B*H are the serial "
        "case",
    [SCALING_superlinear_without_grid] = "record the launch: waves and blocks per SM tell what growth is expected",
};

static void put_growth(const struct rules_row *row, const struct scaling *s, char out[FINDING_TEXT_MAX]) {
  const enum time_mode mode = s->verdict_mode;
  const uint64_t pairs = scaling_pairs(&row->narrow->attn_case.shape);
  const char *verdict = scaling_verdict_help(s->verdict);
  if (isfinite(s->wave_ratio))
    rules_put(
        out,
        "%s time %.2fx, work %.1fx, waves say %.1fx (residual %.2f), blocks per SM %.1fx, against B*H = %" PRIu64
        ": %s",
        time_mode_name(mode), s->time_ratio[mode], s->work_ratio, s->wave_ratio, s->residual[mode], s->load_ratio,
        pairs, verdict);
  else
    rules_put(out,
              "%s time %.2fx, work %.1fx (%.2fx per unit of work) against B*H = %" PRIu64 ", launches not known: %s",
              time_mode_name(mode), s->time_ratio[mode], s->work_ratio, s->time_ratio[mode] / s->work_ratio, pairs,
              verdict);
}

bool growth_rules_scales_with_bh(const struct rules_row *row, struct finding *f) {
  const struct scaling *s = row->scaling;
  if (!s->known || s->verdict == SCALING_none || row->narrow == NULL) return false;
  put_growth(row, s, f->measured);
  rules_put(f->advice, "%s", growth_advice[s->verdict]);
  return true;
}
