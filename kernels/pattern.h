/* What Q, K and V hold in each of the launches that a check makes: random numbers, and inputs that are hard on
 * attention kernels. The same bits on every machine and on CPU and GPU alike, as input.h's: an element is a small
 * integer times one float.
 *
 * Launch 0 is input.h's: independent, unit variance, scores within +-7. It is the one that is timed.
 * In the others every query row is of one kind, and kinds lie mixed over rows, heads and batches, so that a few
 * launches cover them all. From a head dimension of 24 on, eight dimensions of K have a structure that a row of Q
 * addresses with large coefficients; the rest is noise, which keeps the weights unequal.
 *
 *   kind        scores of the row                                       what it finds
 *   plain       noise on a slope of +-4                                 mistakes that need no trick
 *   large       noise of deviation 16, extremes beyond +-60             no maximum subtracted, 16-bit or clamped
 * scores low, high   all equal, -90 and +90                                  a maximum that starts at 0 or is capped
 *   zero        all equal, from signed zeros in Q                       division by a wrong count
 *   rising      a slope of 120 along the keys                           rescaling: every tile moves the maximum
 *   falling     the same downwards                                      splits merged by the wrong maximum
 *   edge16      the keys beside every multiple of 16, and the last      keys lost at a tile's edge
 *   edge64      likewise for 64                                         the same, sharper
 *   class       the keys whose hash has four given bits                 keys lost or taken twice anywhere
 *   boundary    the row's last key and the first that it must not see   masks that are off by one
 *   first       the first key alone                                     an initial tile that is lost
 *   edge        one key beside a tile's edge or a split's               a key lost there
 *
 * V, by KV head: unit variance, 64 times that around 512 (sums of P that do not match P, values that are clamped), or
 * times 2^-18 (in f16 subnormal). Under a causal mask, in every other KV head, the keys that rows of the upper half
 * do not see are NaN in K and huge in V: a row that may see them has no defined output and is not judged. V is never
 * NaN there, since every tile kernel multiplies hidden V by a P of 0. */
#ifndef ATTNBENCH_KERNELS_PATTERN_H
#define ATTNBENCH_KERNELS_PATTERN_H

#include <math.h>

#include "kernels/input.h"
#include "kernels/variant.h"

/* One launch's inputs. */
struct pattern {
  struct attn_shape shape;
  uint64_t seed;
  uint32_t launch; /* 0: random */
  uint64_t flips;  /* signs that are turned, below; 0: none */
};

/* Inputs that no kernel has seen, with an output that is known: in each KV head some dimensions of Q and K change
 * their sign together, which leaves every score as it is, and some columns of V, which then change theirs in O. Which
 * ones, 64 bits say. The sign of a dimension is a sum of some of these bits, so that the flips of two after one
 * another are those of their exclusive or. */
enum pattern_flip { PATTERN_FLIP_QK, PATTERN_FLIP_VO };

static inline ATTN_HD bool pattern_is_flipped(uint64_t flips, enum pattern_flip what, uint64_t kv_head, uint32_t d) {
  uint64_t bits = flips & input_mix((kv_head << 16 | d) << 1 | (uint64_t)what);
  for (uint32_t shift = 32; shift > 0; shift /= 2) bits ^= bits >> shift;
  return (bits & 1) != 0;
}

/* The flips of the n-th change. */
static inline ATTN_HD uint64_t pattern_fresh_flips(uint64_t seed, uint64_t n) {
  return input_mix(seed ^ input_mix(0x666c697073 + n));
}

/* The KV head, by its index in [B][Hkv], of a row of Q or O, by its index in [B][Hq][Sq]. */
static inline ATTN_HD uint64_t pattern_kv_head(const struct attn_shape *s, uint64_t row) {
  const uint64_t head = row / s->Sq;
  return head / s->Hq * s->Hkv + head % s->Hq / (s->Hq / s->Hkv);
}

#define PATTERN_KIND_MAP(X) \
  X(plain)                  \
  X(large) X(low) X(high) X(zero) X(rising) X(falling) X(edge16) X(edge64) X(class) X(boundary) X(first) X(edge)

enum pattern_kind {
#define PATTERN_ENUM(name) PATTERN_##name,
  PATTERN_KIND_MAP(PATTERN_ENUM)
#undef PATTERN_ENUM
      PATTERN_KINDS
};

enum {
  PATTERN_LAUNCHES_MAX = PATTERN_KINDS + 1,
  PATTERN_STEP = 7, /* kinds between two launches' first rows: after two, every row has had two unlike kinds */
  PATTERN_STRUCTURE = 8,
  PATTERN_STRUCTURE_MIN_D = 24,
};

static inline ATTN_HD uint64_t pattern_rows(const struct attn_shape *s) { return (uint64_t)s->B * s->Hq * s->Sq; }

/* Launches of a check with the random one: two beside it, more where there are too few rows for all kinds. */
static inline ATTN_HD uint32_t pattern_launches(const struct attn_shape *s) {
  const uint64_t rows = pattern_rows(s);
  return rows >= PATTERN_KINDS ? 3 : 1 + (uint32_t)((PATTERN_KINDS + rows - 1) / rows);
}

/* The kind of a query row, by its index in [B][Hq][Sq]. */
static inline ATTN_HD enum pattern_kind pattern_kind_of(const struct pattern *p, uint64_t row) {
  const uint64_t rows = pattern_rows(&p->shape),
                 start = (p->launch - 1) * (rows < PATTERN_KINDS ? rows : (uint64_t)PATTERN_STEP);
  return (enum pattern_kind)((row + row / PATTERN_KINDS + start) % PATTERN_KINDS);
}

/* ---- rows of a tensor ---------------------------------------------------------------------------------------- */

/* D elements of Q, K or V: some with a structure, the others (noise[d] + offset) * scale, or all the same. */
struct pattern_line {
  uint32_t structure; /* how many elements lead with a value of their own */
  float leading[PATTERN_STRUCTURE];
  uint64_t stream, noise[2]; /* where the noise comes from: one place or the sum of two */
  uint32_t noises;
  int32_t offset;
  float scale;
  bool constant; /* `scale` throughout */
  uint64_t kv_head;
};

static inline ATTN_HD float pattern_line_value(const struct pattern_line *line, uint32_t d) {
  if (line->constant) return line->scale;
  if (d < line->structure) return line->leading[d];
  int32_t sum = line->offset + input_sum(line->stream, line->noise[0] + d);
  if (line->noises > 1) sum += input_sum(line->stream, line->noise[1] + d);
  return (float)sum * line->scale;
}

/* Noise of deviation 1, as launch 0 has it. */
static inline ATTN_HD struct pattern_line pattern_noise(const struct pattern *p, enum input_tensor tensor,
                                                        uint64_t row) {
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.stream = input_stream(p->seed, tensor);
  line.noise[0] = row * p->shape.D;
  line.noises = 1;
  line.scale = INPUT_SCALE;
  return line;
}

static inline ATTN_HD uint32_t pattern_structure(const struct attn_shape *s) {
  return s->D >= PATTERN_STRUCTURE_MIN_D ? PATTERN_STRUCTURE : 0;
}

/* ---- K and V ------------------------------------------------------------------------------------------------- */

/* The first key of a KV head, by its index in [B][Hkv], that is NaN; Skv when none is. */
static inline ATTN_HD uint32_t pattern_first_hidden(const struct pattern *p, uint64_t kv_head) {
  const struct attn_shape *s = &p->shape;
  if (p->launch == 0 || !s->causal || (kv_head + p->launch) % 2 != 0) return s->Skv;
  return attn_keys_of_row(s, s->Sq / 2);
}

static inline ATTN_HD float pattern_edge(uint32_t key, uint32_t tile, uint32_t Skv) {
  return key % tile == 0 || (key + 1) % tile == 0 || key + 1 == Skv ? 1.0f : -1.0f;
}

/* A constant, the slope from -1 to 1, edges of 16 and 64, four bits of a hash. */
static inline ATTN_HD struct pattern_line pattern_k(const struct pattern *p, uint64_t row) {
  const uint32_t Skv = p->shape.Skv, key = (uint32_t)(row % Skv);
  struct pattern_line line = pattern_noise(p, INPUT_K, row);
  if (key >= pattern_first_hidden(p, row / Skv)) {
    line.constant = true;
    line.scale = input_bits_float(0x7fc00000u);
  }
  line.structure = pattern_structure(&p->shape);
  line.leading[0] = 1.0f;
  line.leading[1] = (float)((int64_t)2 * key + 1 - Skv) / (float)Skv;
  line.leading[2] = pattern_edge(key, 16, Skv);
  line.leading[3] = pattern_edge(key, 64, Skv);
  for (uint32_t d = 4; d < PATTERN_STRUCTURE; ++d) line.leading[d] = (input_mix(key) >> d & 1u) != 0 ? 1.0f : -1.0f;
  return line;
}

static inline ATTN_HD struct pattern_line pattern_v(const struct pattern *p, uint64_t row) {
  const struct attn_shape *s = &p->shape;
  const uint64_t head = row / s->Skv, kind = (head + p->launch) % 3;
  const bool f16 = s->dtype == ATTN_F16;
  struct pattern_line line = pattern_noise(p, INPUT_V, row);
  line.constant = row % s->Skv >= pattern_first_hidden(p, head);
  line.offset = kind == 1 ? 8 * 37837 : 0;
  if (kind == 1) line.scale = 64.0f * INPUT_SCALE;
  if (kind == 2) line.scale = 0x1p-18f * INPUT_SCALE;
  if (line.constant) line.scale = f16 ? 60000.0f : 0x1p100f;
  return line;
}

/* ---- Q ------------------------------------------------------------------------------------------------------- */

/* One key beside an edge: of a tile, or where 2 to 33 equal splits of the keys meet. */
static inline ATTN_HD uint32_t pattern_edge_key(uint32_t keys, uint64_t row) {
  const uint64_t random = input_mix(row);
  const uint32_t splits = 2 + (uint32_t)(random >> 8) % 32, length = (keys - 1) / splits + 1;
  const uint32_t step = (random & 1) != 0 ? 16 : length, edges = (keys - 1) / step;
  const uint32_t edge = (uint32_t)(random >> 32) % (edges + 1) * step;
  if (edge == 0) return keys - 1;
  return edge - (uint32_t)(random >> 1 & 1);
}

/* Noise of deviation `deviation`, and coefficient `weight` on one structured dimension: that part of the score. */
static inline ATTN_HD struct pattern_line pattern_lean(const struct pattern *p, uint64_t row, uint32_t dimension,
                                                       float weight, float deviation) {
  struct pattern_line line = pattern_noise(p, INPUT_Q, row);
  line.structure = pattern_structure(&p->shape);
  line.leading[dimension] = weight * sqrtf((float)p->shape.D);
  line.scale = deviation * INPUT_SCALE;
  return line;
}

/* Four bits of the hash, each wanted with weight 10. */
static inline ATTN_HD struct pattern_line pattern_lean_class(const struct pattern *p, uint64_t row) {
  struct pattern_line line = pattern_lean(p, row, 0, 0.0f, 0.25f);
  for (uint32_t d = 4; d < PATTERN_STRUCTURE; ++d) {
    line.leading[d] = ((input_mix(row) >> d & 1u) != 0 ? 10.0f : -10.0f) * sqrtf((float)p->shape.D);
  }
  return line;
}

/* A row that points at one or two keys, which then score about 30. Of a hidden key it knows what stood there before.
 */
static inline ATTN_HD struct pattern_line pattern_point(const struct pattern *p, uint64_t row, uint32_t key,
                                                        uint32_t other) {
  const struct attn_shape *s = &p->shape;
  const uint64_t first = pattern_kv_head(s, row) * s->Skv;
  struct pattern_line line = pattern_noise(p, INPUT_K, first + key);
  line.structure = pattern_structure(s);
  line.noise[1] = (first + other) * s->D;
  line.noises = other != key ? 2 : 1;
  line.scale = 30.0f * sqrtf((float)s->D) / (float)(s->D - line.structure) * INPUT_SCALE;
  return line;
}

static inline ATTN_HD struct pattern_line pattern_q(const struct pattern *p, uint64_t row) {
  const struct attn_shape *s = &p->shape;
  const uint32_t keys = attn_keys_of_row(s, (uint32_t)(row % s->Sq)), last = keys > 0 ? keys - 1 : 0;
  uint32_t edge = 0;
  switch (pattern_kind_of(p, row)) {
    case PATTERN_large: {
      struct pattern_line line = pattern_noise(p, INPUT_Q, row);
      line.scale = 16.0f * INPUT_SCALE;
      return line;
    }
    case PATTERN_low: return pattern_lean(p, row, 0, -90.0f, 0.0f);
    case PATTERN_high: return pattern_lean(p, row, 0, 90.0f, 0.0f);
    case PATTERN_zero: return pattern_lean(p, row, 0, 0.0f, 0.0f);
    case PATTERN_rising: return pattern_lean(p, row, 1, 60.0f, 0.5f);
    case PATTERN_falling: return pattern_lean(p, row, 1, -60.0f, 0.5f);
    case PATTERN_edge16: return pattern_lean(p, row, 2, 20.0f, 0.25f);
    case PATTERN_edge64: return pattern_lean(p, row, 3, 20.0f, 0.25f);
    case PATTERN_class: return pattern_lean_class(p, row);
    case PATTERN_boundary: return pattern_point(p, row, last, keys < s->Skv ? keys : last);
    case PATTERN_first: return pattern_point(p, row, 0, 0);
    case PATTERN_edge: edge = keys > 0 ? pattern_edge_key(keys, row) : 0; return pattern_point(p, row, edge, edge);
    default: return pattern_lean(p, row, 1, row % 2 != 0 ? 4.0f : -4.0f, 1.0f);
  }
}

/* ---- all three ----------------------------------------------------------------------------------------------- */

/* Row `row` of [B][H][S] of a tensor, before rounding to its dtype and before signs are turned. */
static inline ATTN_HD struct pattern_line pattern_line_of(const struct pattern *p, enum input_tensor tensor,
                                                          uint64_t row) {
  struct pattern_line line = p->launch == 0      ? pattern_noise(p, tensor, row)
                             : tensor == INPUT_Q ? pattern_q(p, row)
                             : tensor == INPUT_K ? pattern_k(p, row)
                                                 : pattern_v(p, row);
  line.kv_head = tensor == INPUT_Q ? pattern_kv_head(&p->shape, row) : row / p->shape.Skv;
  return line;
}

/* Element d of a line of this tensor. */
static inline ATTN_HD float pattern_value(const struct pattern *p, enum input_tensor tensor,
                                          const struct pattern_line *line, uint32_t d) {
  const float value = pattern_line_value(line, d);
  const enum pattern_flip what = tensor == INPUT_V ? PATTERN_FLIP_VO : PATTERN_FLIP_QK;
  return p->flips != 0 && pattern_is_flipped(p->flips, what, line->kv_head, d) ? -value : value;
}

/* ---- which rows are held against the oracle ------------------------------------------------------------------ */

/* `count` of `rows` query rows: one of every `stride`, at a place in it that the seed chooses. */
struct pattern_sample {
  uint64_t rows, stride, count, seed;
};

/* All rows of the random launch. Of the others as many as 2^28 multiply-adds of q.k allow, 256 at least: the oracle
 * would otherwise cost a multiple of what it costs for the random launch. Every kind has its share of them. */
static inline struct pattern_sample pattern_sample_of(const struct pattern *p) {
  const uint64_t rows = pattern_rows(&p->shape), work = (uint64_t)p->shape.Skv * p->shape.D;
  const uint64_t fit = (UINT64_C(1) << 28) / work, most = fit < 256 ? 256 : fit;
  struct pattern_sample sample = {rows, 1, rows, p->seed + p->launch};
  if (p->launch == 0 || rows <= most) return sample;
  sample.stride = (rows + most - 1) / most;
  sample.count = (rows + sample.stride - 1) / sample.stride;
  return sample;
}

static inline ATTN_HD uint64_t pattern_sample_row(const struct pattern_sample *sample, uint64_t i) {
  const uint64_t row = i * sample->stride + (sample->stride > 1 ? input_mix(sample->seed ^ i) % sample->stride : 0);
  return row < sample->rows ? row : sample->rows - 1;
}

#endif
