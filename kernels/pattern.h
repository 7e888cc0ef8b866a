/* The values of Q, K and V in each launch of a check: random inputs in launch 0, adversarial inputs in the others.
 * Every machine, CPU and GPU computes the same bits, since an element is a small integer times one float (input.h).
 *
 * Launch 0 holds the independent values of unit variance of input.h; its scores lie within +-7. Only launch 0 is
 * timed. In the other launches every query row has one of the kinds below. The kinds are spread over rows, heads and
 * batches, so that a few launches cover all of them. Where D is 24 or more, the first eight elements of each key have
 * a fixed structure, and a row of Q selects keys by large coefficients there. The other elements are noise, which
 * keeps the weights unequal.
 *
 *   kind        scores of the row                                       what it finds
 *   plain       noise on a slope of +-4                                 general mistakes
 *   large       noise of deviation 16, extremes beyond +-60             no maximum subtracted, 16-bit or clamped
 *   low, high   all equal, -90 and +90                                  a maximum that starts at 0 or is capped
 *   zero        all equal, from signed zeros in Q                       division by a wrong count
 *   rising      a slope of 120 along the keys                           rescaling: every tile moves the maximum
 *   falling     the same downwards                                      splits merged by the wrong maximum
 *   edge16      the keys beside every multiple of 16, and the last      keys lost at a tile's edge
 *   edge64      likewise for 64                                         the same, sharper
 *   class       the keys whose hash has four given bits                 keys lost or taken twice anywhere
 *   boundary    the first or last key that the row sees, or sees of     masks and blocks that are off by one
 *               a block of its list, and the key beside it
 *   first       the first key that the row sees                         an initial tile that is lost
 *   edge        one key beside the edge of a tile or of a split         a key lost there
 *   behind      the first key, and all others e^-7.5 of it, in place    P that underflows behind a large score, where
 * it of `first` where K is e4m3                              is not scaled
 *
 * In tensors of e4m3 these values are divided by a scale (pattern_scale) and then rounded. A share of the random
 * inputs are outliers where the problem has them.
 *
 * V of a KV head has one of three scales: deviation 1; deviation 64 around 512, which finds sums of P that do not
 * match P and values that are clamped; or deviation 2^-18, which is subnormal in f16. Under a mask, in every other KV
 * head, some keys are hidden: NaN in K and huge in V. They are the keys that no row of the first half of the rows
 * sees, or, where the mask has a bound on the left, no row of the middle half. A row that sees a hidden key has no
 * defined output and is not compared. V of a hidden key is not NaN, since every tile kernel multiplies it by a P of
 * 0. Where V is in K, only the columns of K that are not V's are NaN, and the others huge.
 *
 * In a cache of pages, whatever lies behind the length of a sequence is NaN in K and V, in every launch: there a
 * kernel knows by the length what it may read. */
#ifndef ATTNBENCH_KERNELS_PATTERN_H
#define ATTNBENCH_KERNELS_PATTERN_H

#include <math.h>

#include "kernels/input.h"
#include "kernels/problem/tensor.h"

/* The inputs of one launch. */
struct pattern {
  struct attn_problem problem;
  uint64_t seed;
  uint32_t launch; /* 0: random */
  uint64_t flips;  /* which signs are inverted, see enum pattern_flip; 0: none */
  bool swapped;    /* heads have changed places in pairs, see pattern_partner */
};

/* A change of the inputs between launches is a flip and a swap. */

/* Whether these are the inputs of a launch, without a change. */
static inline ATTN_HD bool pattern_is_unchanged(const struct pattern *p, uint32_t launch) {
  return p->launch == launch && p->flips == 0 && !p->swapped;
}

static inline ATTN_HD uint32_t pattern_pair(uint32_t head, uint32_t heads) {
  return (head | 1u) < heads ? head ^ 1u : head;
}

/* The KV head of a batch, and the query head, with which one changes places: two that follow each other. Where there
 * is one KV head, query heads do alone. */
static inline ATTN_HD uint32_t pattern_kv_partner(const struct attn_problem *s, uint32_t head) {
  return pattern_pair(head, s->Hkv);
}
static inline ATTN_HD uint32_t pattern_query_partner(const struct attn_problem *s, uint32_t head) {
  const uint32_t group = s->Hq / s->Hkv;
  return s->Hkv > 1 ? pattern_pair(head / group, s->Hkv) * group + head % group : pattern_pair(head, s->Hq);
}

/* A swap makes inputs whose scores are others in each place, and whose output is still known: in each batch the heads
 * of all tensors change places in pairs. Returns the row with which a row does; the row itself when it stays, as
 * where there is one head. A second swap undoes the first. */
static inline ATTN_HD uint64_t pattern_partner(const struct attn_problem *s, enum attn_role tensor, uint64_t row) {
  const enum attn_rows rows = attn_role_rows(tensor);
  const bool is_scale = rows == ATTN_ROWS_SCALES, is_kv = rows == ATTN_ROWS_KEYS || is_scale;
  const uint64_t tokens = is_scale                   ? attn_scale_blocks(s, attn_scaled_role(tensor))
                          : rows == ATTN_ROWS_HEADS  ? 1
                          : rows == ATTN_ROWS_BLOCKS ? attn_blocks_in(s, s->Sq)
                                                     : attn_rows_of_head(s, rows);
  const uint64_t heads = is_kv ? s->Hkv : s->Hq;
  if (rows == ATTN_ROWS_OFFSETS || rows == ATTN_ROWS_PAGES) return row;
  if (is_scale && s->scales == ATTN_SCALES_TENSOR) return row;
  const uint64_t index = row / tokens, batch = index / heads;
  const uint32_t head = (uint32_t)(index % heads);
  const uint32_t partner = is_kv ? pattern_kv_partner(s, head) : pattern_query_partner(s, head);
  return (batch * heads + partner) * tokens + row % tokens;
}

/* The row of the unchanged inputs, or of their output, that a row is now. */
static inline ATTN_HD uint64_t pattern_source(const struct pattern *p, enum attn_role tensor, uint64_t row) {
  return p->swapped ? pattern_partner(&p->problem, tensor, row) : row;
}

/* A flip makes inputs that no launch had before and whose output is still known. In each KV head it inverts the sign
 * of some dimensions of both Q and K, which changes no score, and of some columns of V, which inverts the same
 * columns of O. 64 bits, `flips`, select the dimensions: the parity of some of these bits says whether a dimension is
 * inverted. Two flips in succession therefore equal the flip by their exclusive or. Heads that change places have the
 * same flips, so that flips and swaps can be in any order. Where V is in K the columns of O are inverted as those of
 * K are, and where sequences share keys all of them have the same flips. NaN behind the length of a sequence stays.
 */
enum pattern_flip { PATTERN_FLIP_QK, PATTERN_FLIP_VO };
#define PATTERN_NO_PAIR UINT64_MAX /* of rows whose signs stay */

static inline ATTN_HD bool pattern_is_flipped(uint64_t flips, enum pattern_flip what, uint64_t pair, uint32_t d) {
  uint64_t bits = pair == PATTERN_NO_PAIR ? 0 : flips & input_mix((pair << 16 | d) << 1 | (uint64_t)what);
  for (uint32_t shift = 32; shift > 0; shift /= 2) bits ^= bits >> shift;
  return (bits & 1) != 0;
}

/* Whether a flip inverts signs of this tensor; pattern_flip_of says which of the two sets of signs. */
static inline ATTN_HD bool pattern_flips(enum attn_role tensor) {
  switch (tensor) {
    case ATTN_Q:
    case ATTN_K:
    case ATTN_V: return true;
    case ATTN_O:
    case ATTN_LSE:
    case ATTN_SINK:
    case ATTN_CU_SEQLENS_Q:
    case ATTN_CU_SEQLENS_K:
    case ATTN_Q_SCALE:
    case ATTN_K_SCALE:
    case ATTN_V_SCALE:
    case ATTN_PAGE_TABLE:
    case ATTN_BLOCK_COUNTS:
    case ATTN_BLOCK_INDICES: break;
  }
  return false;
}
/* Which of the two sets of signs a tensor has, of Q, K, V and O. */
static inline ATTN_HD enum pattern_flip pattern_flip_of(const struct attn_problem *s, enum attn_role tensor) {
  return (tensor == ATTN_V || tensor == ATTN_O) && !s->v_in_k ? PATTERN_FLIP_VO : PATTERN_FLIP_QK;
}

/* The KV head that a row belongs to, by its index in [B][Hkv], or in [Hkv] where sequences share keys. */
static inline ATTN_HD uint64_t pattern_kv_head(const struct attn_problem *s, enum attn_rows rows,
                                               const struct attn_place *place) {
  const uint64_t head = attn_kv_head_of(s, rows, place);
  return s->prefix > 0 ? head % s->Hkv : head;
}

/* The pair of KV heads that a row of Q, K, V or O belongs to: the first one's index, as pattern_kv_head has it. */
static inline ATTN_HD uint64_t pattern_flip_pair(const struct attn_problem *s, enum attn_role tensor, uint64_t row) {
  const enum attn_rows rows = attn_role_rows(tensor);
  const struct attn_place place = attn_place_of(s, rows, row);
  const uint64_t head = pattern_kv_head(s, rows, &place);
  return place.is_unused ? PATTERN_NO_PAIR : head - head % s->Hkv % 2;
}

/* The bits of the n-th flip of a bench. */
static inline ATTN_HD uint64_t pattern_fresh_flips(uint64_t seed, uint64_t n) {
  return input_mix(seed ^ input_mix(0x666c697073 + n));
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
  PATTERN_GROWING = PATTERN_LAUNCHES_MAX, /* the number of the inputs whose maxima grow, see pattern_grows */
  PATTERN_INPUTS,
  PATTERN_STEP = 7, /* by which a row's kind advances from one launch to the next; kinds 7 apart are unlike */
  PATTERN_STRUCTURE = 8,
  PATTERN_BEHIND = PATTERN_STRUCTURE - 1, /* the dimension of K that tells the first key from the others, in e4m3 */
  PATTERN_STRUCTURE_MIN_D = 24,
  PATTERN_VERIFIED_ROWS = 32, /* of launch 0, in which the GPU's reference is held against the CPU's; all of fewer */
};

static inline ATTN_HD uint64_t pattern_rows(const struct attn_problem *s) {
  return attn_is_ragged(s) ? s->Hq * attn_tokens(s, ATTN_ROWS_QUERIES) : (uint64_t)s->B * s->Hq * s->Sq;
}

/* The number of launches of a check: the random one and two others, or more where two have too few rows for all
 * kinds.
 */
static inline ATTN_HD uint32_t pattern_launches(const struct attn_problem *s) {
  const uint64_t rows = pattern_rows(s);
  return rows >= PATTERN_KINDS ? 3 : 1 + (uint32_t)((PATTERN_KINDS + rows - 1) / rows);
}

/* Inputs beside those of the launches, for timing alone: every row is `rising`, so that the maximum moves in every
 * tile and a kernel that rescales only then does so as often as it can. */
static inline ATTN_HD bool pattern_grows(const struct pattern *p) { return p->launch == PATTERN_GROWING; }

/* Whether the rows of a problem have room for such a slope. */
static inline ATTN_HD bool pattern_can_grow(const struct attn_problem *s) { return s->D >= PATTERN_STRUCTURE_MIN_D; }

/* Of `rising` there: 16 from one tile of 64 keys to the next, as far as 16-bit elements of Q allow; 120 in all at
 * least. */
static inline ATTN_HD float pattern_growth(const struct attn_problem *s) {
  const float wanted = (float)s->Skv / 8.0f, most = 30000.0f / sqrtf((float)s->D);
  return wanted < 60.0f ? 60.0f : wanted < most ? wanted : most;
}

/* The kind of a query row, by its number (attn_place). */
static inline ATTN_HD enum pattern_kind pattern_kind_of(const struct pattern *p, uint64_t row) {
  if (pattern_grows(p)) return PATTERN_rising;
  const uint64_t rows = pattern_rows(&p->problem),
                 start = (p->launch - 1) * (rows < PATTERN_KINDS ? rows : (uint64_t)PATTERN_STEP);
  return (enum pattern_kind)((row + row / PATTERN_KINDS + start) % PATTERN_KINDS);
}

/* ---- rows of a tensor ---------------------------------------------------------------------------------------- */

/* One row of a tensor. Its first `structure` elements have values of their own, the others are
 * (noise[d] + offset) * scale. If `constant`, all elements are `scale`. */
struct pattern_line {
  uint32_t structure; /* how many elements of `leading` are used */
  float leading[PATTERN_STRUCTURE];
  uint64_t stream, noise[2]; /* of input_sum: the stream, and the index of the first element in it */
  uint32_t noises;           /* 1, or 2: the sum of both */
  int32_t offset;
  float scale;
  bool constant;     /* `scale` throughout */
  uint32_t nan_from; /* but for the elements from here on, which are NaN; 0: there are none */
  uint32_t outliers; /* of 2^32 elements so many are outliers */
  float quantum;     /* the scale by which the tensor's elements are to be multiplied; 0: it has none */
  uint64_t pair;     /* pattern_flip_pair(); of the inputs that hold lists of blocks, the number of the list */
};

#define PATTERN_OUTLIER_MOST 50.0f

/* 1, or what makes an outlier of this element: 10 to 50. */
static inline ATTN_HD float pattern_outlier(const struct pattern_line *line, uint32_t d) {
  const uint64_t random = input_mix(~(line->stream + line->noise[0] + d));
  if ((uint32_t)(random >> 32) >= line->outliers) return 1.0f;
  return (float)(10u * 65536u + 40u * (uint32_t)(random & 0xffffu)) * 0x1p-16f;
}

static inline ATTN_HD float pattern_line_value(const struct pattern_line *line, uint32_t d) {
  if (line->nan_from > 0 && d >= line->nan_from) return input_bits_float(0x7fc00000u);
  if (line->constant) return line->scale;
  if (d < line->structure) return line->leading[d];
  int32_t sum = line->offset + input_sum(line->stream, line->noise[0] + d);
  if (line->noises > 1) sum += input_sum(line->stream, line->noise[1] + d);
  const float value = (float)sum * line->scale;
  return line->outliers > 0 ? value * pattern_outlier(line, d) : value;
}

/* Noise of deviation 1, as launch 0 has it. */
static inline ATTN_HD struct pattern_line pattern_noise(const struct pattern *p, enum attn_role tensor,
                                                        uint64_t row) {
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.stream = input_stream(p->seed, tensor);
  line.noise[0] = row * attn_columns(&p->problem, tensor);
  line.noises = 1;
  line.scale = INPUT_SCALE;
  return line;
}

static inline ATTN_HD uint32_t pattern_structure(const struct attn_problem *s) {
  return s->D >= PATTERN_STRUCTURE_MIN_D ? PATTERN_STRUCTURE : 0;
}

/* ---- K and V ------------------------------------------------------------------------------------------------- */

/* The keys of a sequence that are not hidden in a KV head, by pattern_kv_head. The hidden ones (NaN in K, huge in V)
 * are seen by no row of the first half, or, where the mask has a bound on the left, by no row of the middle half.
 * Where all of K is V, none is hidden. */
static inline ATTN_HD struct attn_keys pattern_kept(const struct pattern *p, const struct attn_sequence *sequence,
                                                    uint64_t kv_head) {
  const struct attn_mask mask = attn_mask_of_sequence(&p->problem, sequence);
  const uint32_t row = mask.left < 0 ? 0 : mask.Sq / 4;
  const bool is_value = p->problem.v_in_k && p->problem.Dv == p->problem.D;
  struct attn_keys kept = {0, mask.Skv};
  if (p->launch == 0 || pattern_grows(p) || (kv_head + p->launch) % 2 != 0 || is_value) return kept;
  return attn_mask_rows(&mask, row, mask.Sq / 2 + 1);
}

/* A key that sequences share is not hidden: another one of them may see it. */
static inline ATTN_HD bool pattern_is_hidden(const struct pattern *p, const struct attn_place *place,
                                             uint64_t kv_head) {
  const struct attn_keys kept = pattern_kept(p, &place->sequence, kv_head);
  return place->token >= p->problem.prefix && (place->token < kept.first || place->token >= kept.end);
}

static inline ATTN_HD float pattern_edge(uint32_t key, uint32_t tile, uint32_t Skv) {
  return key % tile == 0 || (key + 1) % tile == 0 || key + 1 == Skv ? 1.0f : -1.0f;
}

/* A large number that the dtype represents, or that saturates in it. */
static inline ATTN_HD float pattern_huge(enum attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F16: return 60000.0f;
    case ATTN_BF16:
    case ATTN_F32:
    case ATTN_E4M3: break;
  }
  return 0x1p100f;
}

/* What V of a KV head is like. */
enum pattern_v_kind { PATTERN_V_PLAIN, PATTERN_V_MEAN, PATTERN_V_TINY, PATTERN_V_KINDS };

static inline ATTN_HD enum pattern_v_kind pattern_v_kind_of(const struct pattern *p, uint64_t kv_head) {
  if (p->launch == 0 || pattern_grows(p)) return PATTERN_V_PLAIN;
  return (enum pattern_v_kind)((kv_head + p->launch) % PATTERN_V_KINDS);
}

/* The deviation of a tiny V. Where it shares its scale with others it is a subnormal number beside them. */
static inline ATTN_HD float pattern_tiny(const struct attn_problem *s) {
  return attn_is_scaled(s, ATTN_V) && s->scales == ATTN_SCALES_TENSOR ? 0x1p-6f : 0x1p-18f;
}

/* A row of K. The structure is a constant, a slope from -1 to 1 over the keys, +-1 for the edges of tiles of 16 and
 * of 64, and four bits of the key's hash as +-1. */
static inline ATTN_HD struct pattern_line pattern_k(const struct pattern *p, uint64_t row,
                                                    const struct attn_place *place, uint64_t kv_head) {
  const uint32_t Skv = place->sequence.Skv, key = place->token;
  struct pattern_line line = pattern_noise(p, ATTN_K, row);
  if (pattern_is_hidden(p, place, kv_head)) {
    line.constant = true;
    line.scale = p->problem.v_in_k ? pattern_huge(attn_kv_dtype(&p->problem)) : input_bits_float(0x7fc00000u);
    line.nan_from = p->problem.v_in_k ? p->problem.Dv : 0;
  }
  line.structure = pattern_structure(&p->problem);
  line.leading[0] = 1.0f;
  line.leading[1] = (float)((int64_t)2 * key + 1 - Skv) / (float)Skv;
  line.leading[2] = pattern_edge(key, 16, Skv);
  line.leading[3] = pattern_edge(key, 64, Skv);
  for (uint32_t d = 4; d < PATTERN_STRUCTURE; ++d) line.leading[d] = (input_mix(key) >> d & 1u) != 0 ? 1.0f : -1.0f;
  if (attn_is_scaled(&p->problem, ATTN_K)) line.leading[PATTERN_BEHIND] = key == 0 ? 1.0f : -1.0f;
  return line;
}

static inline ATTN_HD struct pattern_line pattern_v(const struct pattern *p, uint64_t row,
                                                    const struct attn_place *place, uint64_t kv_head) {
  const struct attn_problem *s = &p->problem;
  const enum pattern_v_kind kind = pattern_v_kind_of(p, kv_head);
  struct pattern_line line = pattern_noise(p, ATTN_V, row);
  line.constant = pattern_is_hidden(p, place, kv_head);
  line.offset = kind == PATTERN_V_MEAN ? 8 * 37837 : 0;
  if (kind == PATTERN_V_MEAN) line.scale = 64.0f * INPUT_SCALE;
  if (kind == PATTERN_V_TINY) line.scale = pattern_tiny(s) * INPUT_SCALE;
  if (line.constant) line.scale = pattern_huge(attn_kv_dtype(s));
  return line;
}

/* ---- Q ------------------------------------------------------------------------------------------------------- */

/* One of the first `keys` keys beside an edge: that of a tile of 16, or that between two of 2 to 33 equal splits. */
static inline ATTN_HD uint32_t pattern_edge_key(uint32_t keys, uint64_t row) {
  const uint64_t random = input_mix(row);
  const uint32_t splits = 2 + (uint32_t)(random >> 8) % 32, length = (keys - 1) / splits + 1;
  const uint32_t step = (random & 1) != 0 ? 16 : length, edges = (keys - 1) / step;
  const uint32_t edge = (uint32_t)(random >> 32) % (edges + 1) * step;
  if (edge == 0) return keys - 1;
  return edge - (uint32_t)(random >> 1 & 1);
}

/* A row of Q: noise of deviation `deviation`, and on one structured dimension a coefficient that adds `weight` times
 * that element of the key to the score. */
static inline ATTN_HD struct pattern_line pattern_lean(const struct pattern *p, uint64_t row, uint32_t dimension,
                                                       float weight, float deviation) {
  struct pattern_line line = pattern_noise(p, ATTN_Q, row);
  line.structure = pattern_structure(&p->problem);
  line.leading[dimension] = weight * sqrtf((float)p->problem.D);
  line.scale = deviation * INPUT_SCALE;
  return line;
}

/* A row of Q that selects the keys with four given bits in their hash: each bit adds +10 or -10 to the score. */
static inline ATTN_HD struct pattern_line pattern_lean_class(const struct pattern *p, uint64_t row) {
  struct pattern_line line = pattern_lean(p, row, 0, 0.0f, 0.25f);
  for (uint32_t d = 4; d < PATTERN_STRUCTURE; ++d) {
    line.leading[d] = ((input_mix(row) >> d & 1u) != 0 ? 10.0f : -10.0f) * sqrtf((float)p->problem.D);
  }
  return line;
}

/* A row of Q along one or two keys, whose scores then are about 30. A hidden key counts with the noise that it would
 * hold if it were not hidden. */
static inline ATTN_HD struct pattern_line pattern_point(const struct pattern *p, const struct attn_place *place,
                                                        uint32_t key, uint32_t other) {
  const struct attn_problem *s = &p->problem;
  const struct attn_key_rows rows = attn_key_rows_of(s, &place->sequence, attn_kv_head(s, place->h));
  struct pattern_line line = pattern_noise(p, ATTN_K, attn_key_row_at(&rows, key));
  line.structure = pattern_structure(s);
  line.noise[1] = attn_key_row_at(&rows, other) * s->D;
  line.noises = other != key ? 2 : 1;
  line.scale = 30.0f * sqrtf((float)s->D) / (float)(s->D - line.structure) * INPUT_SCALE;
  return line;
}

/* pattern_edge_key for a row that sees `keys`: tiles start at keys.first or at the next multiple of 16. */
static inline ATTN_HD uint32_t pattern_edge_key_of(struct attn_keys keys, uint64_t row) {
  const uint32_t aligned = (keys.first + 15) / 16 * 16;
  const bool is_aligned = (input_mix(row) >> 40 & 1) != 0 && aligned < keys.end;
  if (keys.first == keys.end) return 0;
  if (is_aligned) keys.first = aligned;
  return keys.first + pattern_edge_key(attn_keys_count(keys), row);
}

/* The first or the last key that a row sees. *other is the masked key beside it, or the key itself when there is
 * none.
 */
static inline ATTN_HD uint32_t pattern_boundary_key(struct attn_keys keys, uint32_t Skv, uint64_t row,
                                                    uint32_t *other) {
  const uint32_t last = keys.end > 0 ? keys.end - 1 : 0;
  if (keys.first > 0 && (input_mix(row) & 1) != 0) {
    *other = keys.first - 1;
    return keys.first < Skv ? keys.first : *other;
  }
  *other = keys.end < Skv ? keys.end : last;
  return last;
}

/* The keys of a range that lie in one block of a row's list: the first one for `is_first`, else by the row the first,
 * the last or any; the range itself where the list or what the row sees of the block is empty, or there are no lists.
 */
static inline ATTN_HD struct attn_keys pattern_listed(const struct attn_problem *s, uint64_t row,
                                                      const struct attn_place *place, struct attn_keys keys,
                                                      bool is_first) {
  const uint64_t random = input_mix(row) >> 44;
  if (!attn_is_sparse(s)) return keys;
  const struct attn_list list = attn_list_of(s, &place->sequence, place->h, place->token / s->sparse.block);
  if (list.count == 0) return keys;
  uint32_t i = (uint32_t)(random / 4 % list.count);
  if (is_first || random % 4 == 0) i = 0;
  if (!is_first && random % 4 == 1) i = list.count - 1;
  const struct attn_keys part = attn_keys_in_block(keys, s->sparse.block, attn_list_block(&list, i));
  return part.first < part.end ? part : keys;
}

static inline ATTN_HD struct pattern_line pattern_q(const struct pattern *p, uint64_t row,
                                                    const struct attn_place *place) {
  const enum pattern_kind kind = pattern_kind_of(p, row);
  const struct attn_keys keys =
      pattern_listed(&p->problem, row, place, attn_keys_of(&p->problem, place), kind == PATTERN_first);
  const uint32_t first = keys.first < keys.end ? keys.first : 0;
  uint32_t key = 0, other = 0;
  switch (kind) {
    case PATTERN_large: {
      struct pattern_line line = pattern_noise(p, ATTN_Q, row);
      line.scale = 16.0f * INPUT_SCALE;
      return line;
    }
    case PATTERN_low: return pattern_lean(p, row, 0, -90.0f, 0.0f);
    case PATTERN_high: return pattern_lean(p, row, 0, 90.0f, 0.0f);
    case PATTERN_zero: return pattern_lean(p, row, 0, 0.0f, 0.0f);
    case PATTERN_rising: return pattern_lean(p, row, 1, pattern_grows(p) ? pattern_growth(&p->problem) : 60.0f, 0.5f);
    case PATTERN_falling: return pattern_lean(p, row, 1, -60.0f, 0.5f);
    case PATTERN_edge16: return pattern_lean(p, row, 2, 20.0f, 0.25f);
    case PATTERN_edge64: return pattern_lean(p, row, 3, 20.0f, 0.25f);
    case PATTERN_class: return pattern_lean_class(p, row);
    case PATTERN_boundary:
      key = pattern_boundary_key(keys, place->sequence.Skv, row, &other);
      return pattern_point(p, place, key, other);
    case PATTERN_first:
      if (pattern_structure(&p->problem) > 0 && attn_is_scaled(&p->problem, ATTN_K))
        return pattern_lean(p, row, PATTERN_BEHIND, 3.75f, 0.0f);
      return pattern_point(p, place, first, first);
    case PATTERN_edge: key = pattern_edge_key_of(keys, row); return pattern_point(p, place, key, key);
    default: return pattern_lean(p, row, 1, row % 2 != 0 ? 4.0f : -4.0f, 1.0f);
  }
}

/* ---- sinks --------------------------------------------------------------------------------------------------- */

/* The sink of a query head. In launch 0 it is random around ln(Skv), the size of the LSE of random scores. In the
 * other launches it is such a number, 30 (as the scores of pattern_point), -30 or 0, depending on the head. All are
 * multiples of 1/1024, which are exact in fp32. */
static inline ATTN_HD struct pattern_line pattern_sink(const struct pattern *p, uint64_t head) {
  const uint64_t random = input_mix(input_stream(p->seed, ATTN_SINK) + head);
  int32_t value = (int32_t)(random >> 32 & 2047) - 1024;
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  for (uint32_t keys = p->problem.Skv; keys > 1; keys /= 2) value += 710; /* 1024 ln 2 */
  switch (p->launch == 0 ? 0 : (head + p->launch) % 4) {
    case 1: value = 30 * 1024; break;
    case 2: value = -30 * 1024; break;
    case 3: value = 0; break;
    default: break;
  }
  line.constant = true;
  line.scale = (float)value / 1024.0f;
  return line;
}

/* ---- scales of e4m3 ----------------------------------------------------------------------------------------------
 */

#define PATTERN_NOISE_MOST 3.5f /* of noise of deviation 1 */
#define PATTERN_E4M3_MOST  448.0f

/* No element of Q in the launches with adversarial inputs is larger. */
static inline ATTN_HD float pattern_most_q(const struct pattern *p) {
  const float D = (float)p->problem.D, root = sqrtf(D), structure = (float)pattern_structure(&p->problem);
  const float lean = pattern_grows(p) ? fmaxf(90.0f, pattern_growth(&p->problem)) * root : 90.0f * root;
  const float point = 2.0f * PATTERN_NOISE_MOST * 30.0f * root / (D - structure);
  return structure > 0.0f ? fmaxf(lean, point) : fmaxf(16.0f * PATTERN_NOISE_MOST, point);
}

static inline ATTN_HD float pattern_most_v(const struct pattern *p, enum pattern_v_kind kind) {
  switch (kind) {
    case PATTERN_V_MEAN: return 512.0f + 64.0f * PATTERN_NOISE_MOST;
    case PATTERN_V_TINY: return pattern_tiny(&p->problem) * PATTERN_NOISE_MOST;
    case PATTERN_V_PLAIN:
    case PATTERN_V_KINDS: break;
  }
  return PATTERN_NOISE_MOST;
}

/* The largest magnitude that elements of Q, K or V can have which share this scale. */
static inline ATTN_HD float pattern_most(const struct pattern *p, enum attn_role scaled, uint64_t scale_row) {
  const uint64_t kv_head = scale_row / attn_scale_blocks(&p->problem, scaled),
                 heads = (uint64_t)p->problem.B * p->problem.Hkv;
  const bool is_shared = p->problem.scales == ATTN_SCALES_TENSOR;
  float most = 0;
  if (p->launch == 0) return PATTERN_NOISE_MOST * (p->problem.outliers > 0 ? PATTERN_OUTLIER_MOST : 1.0f);
  if (scaled == ATTN_Q) return pattern_most_q(p);
  if (scaled == ATTN_K) return PATTERN_NOISE_MOST;
  if (!is_shared) return pattern_most_v(p, pattern_v_kind_of(p, kv_head));
  for (uint64_t head = 0; head < heads && head < PATTERN_V_KINDS; ++head)
    most = fmaxf(most, pattern_most_v(p, pattern_v_kind_of(p, head)));
  return most;
}

/* A scale, by its index: that at which the largest magnitude is 448, times 1 to 2. */
static inline ATTN_HD float pattern_scale(const struct pattern *p, enum attn_role scaled, uint64_t scale_row) {
  const uint64_t random = input_mix(input_stream(p->seed, attn_scale_role(scaled)) + scale_row);
  const float room = (float)(1024u + (uint32_t)(random >> 54)) * 0x1p-10f;
  return pattern_most(p, scaled, scale_row) / PATTERN_E4M3_MOST * room;
}

static inline ATTN_HD struct pattern_line pattern_scale_line(const struct pattern *p, enum attn_role tensor,
                                                             uint64_t row) {
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.constant = true;
  line.scale = pattern_scale(p, attn_scaled_role(tensor), row);
  return line;
}

/* ---- where sequences begin, and their pages ---------------------------------------------------------------------
 */

/* Entry `row` of the page table: a whole number. */
static inline ATTN_HD struct pattern_line pattern_entry(const struct pattern *p, uint64_t row) {
  const uint32_t most = attn_pages_for(p->problem.Skv, p->problem.page);
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.offset = (int32_t)attn_page_entry(&p->problem, (uint32_t)(row / most), (uint32_t)(row % most));
  return line;
}

/* Entry b of cu_seqlens_q or cu_seqlens_k: a whole number. */
static inline ATTN_HD struct pattern_line pattern_offset(const struct pattern *p, enum attn_role tensor, uint64_t b) {
  const struct attn_sequence sequence = attn_sequence_of(&p->problem, (uint32_t)b);
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.offset = (int32_t)(tensor == ATTN_CU_SEQLENS_Q ? sequence.q_first : sequence.k_first);
  return line;
}

/* ---- lists of blocks ------------------------------------------------------------------------------------------- */

/* The bits of element d of a line of the counts or the indices, whose list is the line's. */
static inline ATTN_HD uint32_t pattern_block(const struct pattern *p, enum attn_role tensor,
                                             const struct pattern_line *line, uint32_t d) {
  const struct attn_list list = attn_list_numbered(&p->problem, line->pair);
  if (tensor == ATTN_BLOCK_COUNTS) return list.count;
  return d < list.count ? attn_list_block(&list, d) : UINT32_MAX;
}

static inline ATTN_HD struct pattern_line pattern_list(uint64_t number) {
  struct pattern_line line;
  memset(&line, 0, sizeof line);
  line.pair = number;
  return line;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

/* Row `row` of a tensor, by its number (attn_place), before rounding to its dtype and before signs are inverted. */
static inline ATTN_HD struct pattern_line pattern_line_of(const struct pattern *p, enum attn_role tensor,
                                                          uint64_t row) {
  const enum attn_rows rows = attn_role_rows(tensor);
  const uint64_t source = pattern_source(p, tensor, row);
  if (rows == ATTN_ROWS_HEADS) return pattern_sink(p, source);
  if (rows == ATTN_ROWS_OFFSETS) return pattern_offset(p, tensor, row);
  if (rows == ATTN_ROWS_SCALES) return pattern_scale_line(p, tensor, source);
  if (rows == ATTN_ROWS_PAGES) return pattern_entry(p, row);
  if (rows == ATTN_ROWS_BLOCKS) return pattern_list(source);
  const struct attn_place place = attn_place_of(&p->problem, rows, source);
  const uint64_t kv_head = pattern_kv_head(&p->problem, rows, &place);
  if (tensor == ATTN_V && p->problem.v_in_k) tensor = ATTN_K;
  struct pattern_line line = p->launch == 0     ? pattern_noise(p, tensor, source)
                             : tensor == ATTN_Q ? pattern_q(p, source, &place)
                             : tensor == ATTN_K ? pattern_k(p, source, &place, kv_head)
                                                : pattern_v(p, source, &place, kv_head);
  line.pair = pattern_flip_pair(&p->problem, tensor, row);
  if (p->launch == 0) line.outliers = (uint32_t)(p->problem.outliers * 4294967040.0f);
  if (attn_is_scaled(&p->problem, tensor))
    line.quantum = pattern_scale(p, tensor, attn_scale_row(&p->problem, tensor, &place));
  if (place.is_unused) line.constant = true, line.scale = input_bits_float(0x7fc00000u);
  return line;
}

/* Element d of a line of this tensor. */
static inline ATTN_HD float pattern_value(const struct pattern *p, enum attn_role tensor,
                                          const struct pattern_line *line, uint32_t d) {
  const float value = pattern_line_value(line, d);
  const enum pattern_flip what = pattern_flip_of(&p->problem, tensor);
  return p->flips != 0 && pattern_flips(tensor) && pattern_is_flipped(p->flips, what, line->pair, d) ? -value : value;
}

/* The same as the bits that the tensor holds. A GPU's quotient of NaN has no sign. */
static inline ATTN_HD uint32_t pattern_bits(const struct pattern *p, const struct attn_tensor *tensor,
                                            const struct pattern_line *line, uint32_t d) {
  if (attn_role_rows(tensor->role) == ATTN_ROWS_BLOCKS) return pattern_block(p, tensor->role, line, d);
  if (tensor->is_whole) return (uint32_t)line->offset;
  const float value = pattern_value(p, tensor->role, line, d);
  const bool is_divided = line->quantum > 0 && value == value;
  return attn_dtype_bits(tensor->dtype, is_divided ? value / line->quantum : value);
}

/* ---- which rows are compared with the oracle ----------------------------------------------------------------- */

/* `count` of `rows` query rows: one of every `stride` rows, chosen by the seed. */
struct pattern_sample {
  uint64_t rows, stride, count, seed;
};

/* The rows of a launch that are compared: all rows of launch 0; of the others as many as 2^28 multiply-adds of q.k
 * allow, at least 256, which bounds the time of the oracle. */
static inline struct pattern_sample pattern_sample_of(const struct pattern *p) {
  const uint64_t rows = pattern_rows(&p->problem), work = (uint64_t)p->problem.Skv * p->problem.D;
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
