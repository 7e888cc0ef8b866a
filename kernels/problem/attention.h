/* One attention problem: what is computed, not how.
 *
 *   score(i, j)  = q_i . k_j / sqrt(D)
 *   score        = softcap * tanh(score / softcap)   where softcap is not 0
 *   weight(i, j) = exp(score(i, j) - m_i)            for the keys j that row i sees (mask.h, blocks.h), else 0
 *   sum_i        = sum over j of weight(i, j)        + exp(sink_h - m_i) where the problem has a sink
 *   o_i          = sum over j of weight(i, j) v_j / sum_i, zeros where the row sees no key
 *   lse_i        = m_i + log(sum_i), minus infinity where sum_i has no term
 *
 * m_i is any number that keeps the exponentials in range, such as the largest score. Query head h reads KV head
 * h / (Hq / Hkv). The scale is 1 / sqrt(D) whatever Dv is. tensor.h lists the tensors, mask.h says which keys a row
 * sees, axes.h how each member is called, limited, written and read, work.h what it costs. Where sequences differ in
 * length, i and j count the queries and keys of one sequence (sequence.h). Where K and V lie in pages, pages.h says
 * where key j is; v_j may be the first Dv columns of k_j.
 *
 * A new member is one row of axes.def. Code that computes a problem declares which members it takes
 * (variant.h), so that only code that takes the new member has to know it.
 *
 * Backward, when it comes, is a value of `op`: the gradients are further rows of the roles in tensor.h (dO and LSE as
 * inputs; dQ, dK, dV as outputs), work.h counts its five products, the oracles get a pass over columns beside the one
 * over rows, and what a variant takes gets a bit for the operation. Views, masks, inputs, keys, files and reports
 * stay as they are. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_ATTENTION_H
#define ATTNBENCH_KERNELS_PROBLEM_ATTENTION_H

#include "kernels/problem/batch.h"
#include "kernels/problem/dtype.h"
#include "kernels/problem/mask.h"
#include "kernels/problem/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest values of B, of Hq and Hkv, of Sq and Skv, of D and Dv; the smallest is 1. */
enum { ATTN_B_MAX = 65536, ATTN_H_MAX = 1024, ATTN_S_MAX = 1048576, ATTN_D_MAX = 8192 };
#define ATTN_TENSOR_ELEMENTS_MAX (UINT64_C(1) << 40) /* of one tensor */
#define ATTN_BLOCK_PAIRS_MAX     (UINT64_C(1) << 26) /* of a block of queries and a block of keys, where it is sparse */

/* The features of a problem that code may or may not take, besides sizes, dtypes and a full or causal mask. */
enum attn_takes {
  ATTN_TAKES_LSE = 1,
  ATTN_TAKES_WINDOW = 2,
  ATTN_TAKES_DV = 4,
  ATTN_TAKES_SOFTCAP = 8,
  ATTN_TAKES_SINK = 16,
  ATTN_TAKES_LAYOUT = 32,
  ATTN_TAKES_BATCH = 64,
  ATTN_TAKES_SPARSE = 128,
  ATTN_TAKES_OUT_DTYPE = 1 << 16,
  ATTN_TAKES_SCALES = 1 << 17,
  ATTN_TAKES_KV_DTYPE = 1 << 18,
  ATTN_TAKES_PAGE = 1 << 20,
  ATTN_TAKES_V_IN_K = 1 << 21
};

/* All that comes with e4m3. */
enum { ATTN_TAKES_E4M3 = ATTN_TAKES_OUT_DTYPE | ATTN_TAKES_SCALES | ATTN_TAKES_KV_DTYPE };

/* How Q, K, V and O lie in memory, outermost dimension first; tensor.h has the strides. */
enum attn_layout {
  ATTN_BHSD, /* [B][H][S][D] each */
  ATTN_BSHD, /* [B][S][H][D] each */
  ATTN_QKV,  /* Q, K and V are one tensor, [B][S][3][H][D]; O is [B][S][H][D]. They have equal S, H and D */
  ATTN_HND,  /* of pages alone: [pages][H][page][D], not [pages][page][H][D]; Q and O are as without it */
  ATTN_LAYOUTS
};

/* What has one fp32 scale, of tensors of e4m3: a value is the number that the tensor holds times its scale. */
enum attn_scales {
  ATTN_SCALES_HEAD,   /* Q, K and V of each sequence and KV head */
  ATTN_SCALES_TENSOR, /* Q, K and V */
  ATTN_SCALES_BLOCK,  /* the same of Q as with HEAD; of K and V, each block of ATTN_SCALE_KEYS keys */
};
enum { ATTN_SCALE_KEYS = 128 };

struct attn_problem {
  uint32_t B, Hq, Hkv, Sq, Skv; /* batch, query heads, KV heads (they divide Hq), query rows, keys */
  uint32_t D, Dv;               /* head dimension of Q and K, and of V and O */
  enum attn_dtype dtype;        /* of Q, and of K, V and O but for what follows (attn_dtype_of) */
  int32_t left, right;          /* the mask; -1: no bound on that side */
  float softcap;                /* a score s becomes softcap * tanh(s / softcap); 0: it stays as it is */
  bool sink;                    /* an input has a logit for each query head, which counts in the sums of its rows */
  bool lse;                     /* the log-sum-exp of each row is an output too */
  enum attn_layout layout;      /* of Q, K, V and O */
  struct attn_batch batch;      /* sequences of different lengths; B is then their number, Sq and Skv the longest */
  unsigned out_dtype;           /* of O: 1 + enum attn_dtype; 0: bf16 where dtype is e4m3, else dtype */
  unsigned kv_dtype;            /* of K and V: 1 is e4m3; 0: dtype */
  enum attn_scales scales;      /* of tensors of e4m3 */
  float outliers;               /* this share of the random inputs is 10 to 50 times as large */
  uint32_t page;                /* tokens of a page of K and V (pages.h); 0: K and V are contiguous */
  uint32_t prefix;              /* keys at their beginning that all sequences share, in the same pages */
  bool v_in_k;                  /* V is the first Dv columns of K: one tensor */
  struct attn_sparse sparse;    /* rows see some blocks of keys only, by lists that are inputs */
};

/* A dense problem with as many columns in V as in Q, for initialisers. */
#define ATTN_DENSE(B_, Hq_, Hkv_, Sq_, Skv_, D_, dtype_, causal_)                                                \
  {                                                                                                              \
    .B = (B_), .Hq = (Hq_), .Hkv = (Hkv_), .Sq = (Sq_), .Skv = (Skv_), .D = (D_), .Dv = (D_), .dtype = (dtype_), \
    .left = -1, .right = (causal_) ? 0 : -1                                                                      \
  }

/* The element types of Q, of K and V, and of O. */
static inline ATTN_HD enum attn_dtype attn_kv_dtype(const struct attn_problem *p) {
  return p->kv_dtype != 0 ? ATTN_E4M3 : p->dtype;
}
static inline ATTN_HD enum attn_dtype attn_out_dtype(const struct attn_problem *p) {
  if (p->out_dtype != 0) return (enum attn_dtype)(p->out_dtype - 1);
  return attn_dtype_is_scaled(p->dtype) ? ATTN_BF16 : p->dtype;
}

/* The mask of each sequence where all have Sq queries and Skv keys; sequence.h has that of one of a ragged batch. */
static inline ATTN_HD struct attn_mask attn_mask_of(const struct attn_problem *p) {
  struct attn_mask mask;
  mask.Sq = p->Sq;
  mask.Skv = p->Skv;
  mask.left = p->left;
  mask.right = p->right;
  return mask;
}

/* The keys that row `row` of a head sees, where all sequences have Sq queries and Skv keys. */
static inline ATTN_HD struct attn_keys attn_keys_of_row(const struct attn_problem *p, uint32_t row) {
  const struct attn_mask mask = attn_mask_of(p);
  return attn_mask_row(&mask, row);
}

/* Causal in the sense of most kernels: every key up to the row's own position. */
static inline ATTN_HD bool attn_is_causal(const struct attn_problem *p) { return p->left < 0 && p->right == 0; }

#ifdef __cplusplus
}
#endif
#endif
