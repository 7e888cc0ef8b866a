/* Names in use elsewhere, and the words that attnbench has for them. */
#include <stddef.h>
#include <strings.h>

#include "cli/sweep/sweep.h"

static const struct {
  const char *name, *word;
} synonyms[] = {
    {"sliding window", "window"},
    {"sliding_window", "window"},
    {"sliding", "window"},
    {"window_size", "window"},
    {"swa", "window"},
    {"paged", "page"},
    {"paged kv", "page"},
    {"page_size", "page"},
    {"block_size", "page"},
    {"block_table", "page"},
    {"varlen", "batch"},
    {"cu_seqlens", "batch"},
    {"cu_seqlens_q", "batch"},
    {"cu_seqlens_k", "batch"},
    {"gqa", "H"},
    {"mqa", "H"},
    {"logsumexp", "lse"},
    {"softmax_lse", "lse"},
    {"is_causal", "causal"},
    {"logit cap", "softcap"},
    {"block-sparse", "sparse"},
    {"latent attention", "v_in_k"},
    {"head_dim", "D"},
    {"batch_size", "B"},
    {"seqlen", "S"},
    {"shape", "case"},
    {"tflop/s", "rate"},
    {"tflops", "rate"},
    {"tflop_per_s", "rate"},
    {"gb_per_s", "GB/s"},
    {"of peak", "roof"},
    {"% of peak", "roof"},
    {"peak_ratio", "roof"},
    {"max_abs_error", "error"},
    {"hot_us", "hot"},
    {"cold_us", "cold"},
    {"speedup", "vs ref"},
    {"speedup_vs", "vs ref"},
    {"energy_pj_per_flop", "energy"},
};

const char *synonym_of(const char *name) {
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; ++i) {
    if (strcasecmp(synonyms[i].name, name) == 0) return synonyms[i].word;
  }
  return attn_dtype_called(name);
}
