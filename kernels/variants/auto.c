/* auto: no kernel of its own. It picks, for each shape and device, the variant here that measured fastest, by the
 * table below.
 *
 * Where the numbers come from: the hot medians of the journals in results/h200, where the variants stand beside
 * each other case by case. scripts/proof/check_auto.py holds the table against them: within 2 % of the
 * fastest in every case that has one. Rules whose comment says H100 were measured on one (results/h100). The two GPUs
 * differ in what DRAM gives an SM: 25 and 36 GB/s.
 * What no journal shows is inferred: the order on GPUs without wgmma is that of the same rows without `wgmma`.
 *
 * A new kernel gets its rows before the rule that it beats; the first rule that holds is taken. */
#include "kernels/pick.h"

#define AT_MOST(feature, most) \
  { PICK_##feature, 0, (most) }
#define IS(feature, value) \
  { PICK_##feature, (value), (value) }
#define AT_LEAST(feature, least) \
  { PICK_##feature, (least), UINT64_MAX }

#define BETWEEN(feature, least, most) \
  { PICK_##feature, (least), (most) }

/* decode_general gives every SM an equal share of the keys. `decode` gives each KV head a whole number of SMs, or
 * each SM a whole number of heads. So decode_general is faster where that leaves SMs idle. It is faster too where
 * pages are small, as the copy engine of `decode` takes longer for many small boxes. Each rule holds for `least` to
 * `most` KV heads, over all sequences, for 100 SMs, and from `keys` keys on. `pages`: a limit of the feature PAGE,
 * which `of_pages` says in words. */
#define EQUAL_SHARES(dim, pages, of_pages, least, most, keys)                                                        \
  {                                                                                                                  \
    "decode_general",                                                                                                \
        .when = {IS(D, dim),          pages,         AT_MOST(GROUP_ROWS, 16),  BETWEEN(KV_PERCENT, least, most),     \
                 AT_LEAST(SKV, keys), IS(RAGGED, 0), AT_LEAST(DRAM_PER_SM, 30)},                                     \
        .why = "at most 16 query rows share their keys, sequences of one length, D of " #dim ", " #keys              \
               " keys or more, " of_pages #least " to " #most                                                        \
               " KV heads of all sequences for 100 SMs, 30 GB/s of DRAM or more for an SM: equal shares of the keys" \
  }

static const struct pick_rule rules[] = {
    {"cpu_flash", .why = "on a CPU: keeps a tile of scores in the caches"},
    {"cpu_ref", .why = "on a CPU: takes D above 256"},
    /* 1.9 us where tiles take 5 (S = 4), 2.2 against 3.5 (S = 1); 0.1 us more with every key, so 16 keys are even. */
    {"one_query", .when = {AT_MOST(SKV, 8), AT_MOST(ROWS_PER_SM, 8), AT_MOST(D, 128)},
     .why = "at most 8 keys and a wave of query rows: a tile would be empty"},
    /* 7.0 us against 11.6 at S = 48. */
    {"one_query", .when = {AT_LEAST(DTYPE_BYTES, 4), AT_MOST(SKV, 64), AT_MOST(ROWS_PER_SM, 1), AT_MOST(D, 128)},
     .why = "fp32, at most 64 keys, an SM for every query row"},
    /* H200: 141 us against 158 of `decode` (36 sequences of 4096 keys, 8 KV heads), 155 against 173 (10 of 16384).
     * With pages of 16 or 64 tokens it is the same. */
    EQUAL_SHARES(128, AT_LEAST(PAGE, 0), "", 205, 275, 4096),
    EQUAL_SHARES(128, AT_LEAST(PAGE, 0), "", 55, 70, 4096),
    EQUAL_SHARES(128, AT_LEAST(PAGE, 0), "", 34, 40, 16384),
    EQUAL_SHARES(128, AT_LEAST(PAGE, 0), "", 71, 80, 16384),
    EQUAL_SHARES(128, AT_LEAST(PAGE, 0), "", 140, 175, 16384),
    /* H200: 253 us against 259 of `decode` (16 sequences of 16384 keys, 8 KV heads, pages of 16 tokens), whose copy
     * engine takes longer for small pages; with pages of 64 both take 252. */
    EQUAL_SHARES(128, BETWEEN(PAGE, 1, 63), "pages of fewer than 64 tokens, ", 45, 112, 16384),
    EQUAL_SHARES(128, BETWEEN(PAGE, 1, 63), "pages of fewer than 64 tokens, ", 90, 105, 4096),
    /* H200: 139 us against 192 of `decode` (17 sequences of 4096 keys, 8 KV heads), 285 against 318 (36): at D = 256
     * only one block of `decode` fits on an SM. */
    EQUAL_SHARES(256, AT_LEAST(PAGE, 0), "", 101, 165, 4096),
    EQUAL_SHARES(256, AT_LEAST(PAGE, 0), "", 201, 265, 4096),
    /* 5.2 us against 10.7 of `wgmma` (4 queries, 1024 keys, 4 query heads for a KV head): the other kernels here take
     * a tile of 64 query rows for each query head, and read the keys once for each head of a group; decode reads them
     * once for 16 rows. */
    {"decode", .when = {AT_MOST(GROUP_ROWS, 16), AT_LEAST(SKV, 256)},
     .why = "at most 16 query rows share their keys: read once for all of them, by blocks that share the keys"},
    /* 3.6 us against 4.9 of `decode_general` (three sequences of 64 keys). */
    {"decode", .when = {AT_MOST(GROUP_ROWS, 16), AT_LEAST(PAGE, 8)},
     .why = "at most 16 query rows share their keys, in pages: read once for all of them"},
    /* H100, shapes/few_queries.json: where 17 to 128 rows share their keys and PACKED_PERCENT is 70 or more,
     * `wgmma_paged` takes 0.32 to 0.96 of the time of `decode`, which reads the keys once for every 16 rows, and 0.37
     * to 0.91 of that of `wgmma`, which reads them once for every query head. */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), BETWEEN(PACKED_PERCENT, 101, 135)},
     .why = "compute capability 9.0, 17 to 32 query rows share their keys, a little more than one KV head for an SM: "
            "equal shares of the keys"},
    /* H200: 106 us against 113 of `wgmma_paged` (24 sequences of 4096 keys, 20 rows). On an H100 `decode_general`
     * takes 146 and `wgmma_paged` 144: with few rows, a block of `wgmma_paged` cannot read as fast as the H200's DRAM
     * gives. Where the SMs have nearly two KV heads each, 181 to 198 %, `wgmma_paged` is as fast. */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), BETWEEN(PACKED_PERCENT, 95, 180),
              AT_LEAST(SKV, 4096), AT_LEAST(DRAM_PER_SM, 30)},
     .why = "compute capability 9.0, 30 GB/s of DRAM or more for an SM, 17 to 32 query rows share 4096 keys or more, "
            "0.95 to 1.8 KV heads for an SM: equal shares of the keys"},
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), AT_LEAST(PACKED_PERCENT, 199),
              AT_LEAST(SKV, 4096), AT_LEAST(DRAM_PER_SM, 30)},
     .why = "compute capability 9.0, 30 GB/s of DRAM or more for an SM, 17 to 32 query rows share 4096 keys or more, "
            "two KV heads or more for an SM: equal shares of the keys"},
    /* H100: 188 us against 194 of `wgmma_paged` (33 sequences of 8 KV heads: exactly two for each of 132 SMs). */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), BETWEEN(PACKED_PERCENT, 199, 201),
              AT_LEAST(SKV, 4096)},
     .why =
         "compute capability 9.0, 17 to 32 query rows share 4096 keys or more, two KV heads for an SM: equal shares "
         "of the keys"},
    /* H100: 8.4 us against 9.1 of `wgmma_paged` (16 sequences of 300 keys), but 18 against 14 (24 sequences). */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), IS(D, 64), BETWEEN(GROUP_ROWS, 17, 64), BETWEEN(PACKED_PERCENT, 70, 100),
              AT_MOST(SKV, 400)},
     .why =
         "compute capability 9.0, D of 64, 17 to 64 query rows share at most 400 keys, less than one KV head for an "
         "SM: equal shares of the keys"},
    /* H100: 423 us against 497 of `wgmma_paged` (17 sequences of 16384 keys), but 48 against 41 (1024 keys). */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 33, 64), BETWEEN(PACKED_PERCENT, 101, 110),
              AT_LEAST(SKV, 4096)},
     .why = "compute capability 9.0, 33 to 64 query rows share 4096 keys or more, a little more than one KV head for "
            "an SM: equal shares of the keys"},
    {"wgmma_paged", .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 128), AT_LEAST(PACKED_PERCENT, 70)},
     .why = "compute capability 9.0, 17 to 128 query rows share their keys: read once for all of them"},
    {"wgmma_paged",
     .when = {IS(CC, 90), BETWEEN(GROUP_ROWS, 129, 256), AT_LEAST(PACKED_PERCENT, 70), AT_LEAST(SKV, 4096),
              IS(RAGGED, 0)},
     .why = "compute capability 9.0, 129 to 256 query rows share 4096 keys or more: read twice for all of them"},
    /* H200: 64.5 us against 70.3 of `wgmma` (32 sequences of 64 queries and 1024 keys). On an H100 `wgmma_paged`
     * takes 72 and `wgmma` 74. Under a causal mask it takes as long as `wgmma` or longer. */
    {"wgmma_paged",
     .when = {IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 129, 256), AT_LEAST(PACKED_PERCENT, 70), BETWEEN(SKV, 1024, 4095),
              IS(CAUSAL, 0), AT_LEAST(DRAM_PER_SM, 30)},
     .why = "compute capability 9.0, 30 GB/s of DRAM or more for an SM, no causal mask, 129 to 256 query rows "
            "share 1024 to 4095 keys: read twice for all of them"},
    /* H100: 211 us against 254 of `wgmma` (64 queries of 64 heads), 166 against 179 (96 of 32): a tile of `wgmma` has
     * rows of one head only. */
    {"wgmma_paged",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 257, 512), AT_MOST(SQ, 96), AT_LEAST(SKV, 4096)},
     .why =
         "compute capability 9.0, at most 96 queries, 257 to 512 query rows share 4096 keys or more: full tiles of "
         "rows of all heads"},
    /* H100: 225 us against 250 of `decode_general` (eight sequences of 20000 keys). */
    {"wgmma_paged",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 128), BETWEEN(PACKED_PERCENT, 48, 69),
              AT_LEAST(SKV, 16384)},
     .why =
         "compute capability 9.0, 17 to 128 query rows share 16384 keys or more, KV heads for half of the SMs: read "
         "once for all of them"},
    /* For GPUs without wgmma, from times of an H200: 137 us against 218 of `decode` (24 sequences of 4096 keys, 64
     * rows); H100: 169 and 225. */
    {"decode_general",
     .when = {IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 128), AT_LEAST(PACKED_PERCENT, 70), AT_LEAST(SKV, 1024)},
     .why =
         "17 to 128 query rows share 1024 keys or more, a KV head for most SMs: equal shares of the keys, read once "
         "for all rows"},
    /* 71 us against 94 of `decode` (two sequences of 20000 keys, 64 rows), 110 against 175 (four); H100: 83 and 96,
     * 136 and 180. */
    {"decode_general",
     .when = {IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 33, 128), AT_LEAST(PACKED_PERCENT, 12), AT_LEAST(SKV, 16384)},
     .why = "33 to 128 query rows share 16384 keys or more: equal shares of the keys, read once for all rows"},
    /* 89 us against 105 of `decode` (four sequences of 20000 keys, 32 rows); H100: 121 and 124. */
    {"decode_general",
     .when = {IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), AT_LEAST(PACKED_PERCENT, 24), AT_LEAST(SKV, 16384)},
     .why = "17 to 32 query rows share 16384 keys or more: equal shares of the keys, read once for all rows"},
    /* H200: 54 us against 57 of `decode` (two sequences of 20000 keys, 32 rows), 47 against 51 (one, 64 rows). On an
     * H100 `decode` is the faster one: 65 us against 70, and 52 against 53. */
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 17, 32), AT_LEAST(PACKED_PERCENT, 12),
              AT_LEAST(SKV, 16384), AT_LEAST(DRAM_PER_SM, 30)},
     .why =
         "compute capability 9.0, 30 GB/s of DRAM or more for an SM, 17 to 32 query rows share 16384 keys or more: "
         "equal shares of the keys, read once for all rows"},
    {"decode_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(GROUP_ROWS, 33, 128), AT_LEAST(PACKED_PERCENT, 6),
              AT_LEAST(SKV, 16384), AT_LEAST(DRAM_PER_SM, 30)},
     .why = "compute capability 9.0, 30 GB/s of DRAM or more for an SM, 33 to 128 query rows share 16384 keys or "
            "more: equal shares of the keys, read once for all rows"},
    /* H100: 34 us against 42 of `decode` (four sequences of 4096 keys, 16 queries). */
    {"wgmma",
     .when = {IS(CC, 90), AT_LEAST(GROUP_ROWS, 49), BETWEEN(TILES_PERCENT, 90, 100), BETWEEN(SKV, 2048, 16383)},
     .why = "compute capability 9.0, 49 query rows or more share their keys, about one tile of 64 queries for an SM"},
    {"decode", .when = {IS(D, 128), AT_LEAST(SKV, 1024)},
     .why = "D of 128, at most 16 queries against 1024 keys or more"},
    {"decode", .when = {AT_LEAST(SKV, 4096)}, .why = "at most 16 queries against 4096 keys or more"},
    /* 12 us against 16 (five sequences of at most 300 keys); but 45 against 41 (32 of 1024). */
    {"wgmma_paged", .when = {IS(RAGGED, 1), AT_MOST(SKV, 512), AT_MOST(ROWS_PER_SM, 8)},
     .why = "compute capability 9.0, a few short sequences of unlike lengths: one SM reads each for a KV head, so no "
            "partial results are merged"},
    {"decode_general", .when = {AT_MOST(GROUP_ROWS, 16), AT_LEAST(SKV, 256)},
     .why =
         "at most 16 query rows share their keys, in pages or of unlike lengths: read once for all of them, in equal "
         "shares"},
    {"mla", .why = "compute capability 9.0, latent attention: the only kernel of tensor cores that takes V in K"},
    /* Of wgmma's time, 432 shapes with S = 64 to 1024: at D = 64 0.51 to 0.97 up to half of the SMs, under a causal
     * mask to 85 %, then 0.82 to 0.96 up to 104 keys and 1.0 to 1.4 for more, but for causal ones that fill one wave
     * or two; at D = 128 0.55 to 0.99 up to half of the SMs, but 1.04 and 1.12 at 128 keys, and 1.0 to 1.7 beyond. */
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 55)},
     .why = "compute capability 9.0, q tiles for half of the SMs: clusters of blocks share the keys of a tile"},
    /* 5.49 us against 5.61 (two sequences of 333, eight heads). */
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 75), BETWEEN(SKV, 320, 384)},
     .why =
         "compute capability 9.0, 320 to 384 keys, q tiles for three quarters of the SMs: blocks share the keys of a "
         "tile"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 100), AT_LEAST(SKV, 700)},
     .why =
         "compute capability 9.0, 700 keys or more, q tiles for less than the SMs: blocks share the keys of a tile"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 85), IS(CAUSAL, 1)},
     .why = "compute capability 9.0, causal, q tiles for less than the SMs: tiles of 64 rows mask little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 400), AT_MOST(SKV, 64)},
     .why = "compute capability 9.0, at most 64 keys: tiles of 64 rows and keys waste little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), BETWEEN(TILES_PERCENT, 113, 400), AT_MOST(SKV, 104)},
     .why = "compute capability 9.0, about 100 keys, q tiles for all SMs: tiles of 64 rows and keys waste little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 400), IS(CAUSAL, 1), AT_MOST(SKV, 128)},
     .why = "compute capability 9.0, causal, at most 128 keys: tiles of 64 rows mask little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 64), AT_MOST(TILES_PERCENT, 112), IS(CAUSAL, 1), AT_LEAST(SKV, 300)},
     .why = "compute capability 9.0, causal, 300 keys or more, one q tile for an SM: tiles of 64 rows mask little"},
    {"cluster_split",
     .when = {IS(CC, 90), IS(D, 64), BETWEEN(TILES_PERCENT, 113, 170), IS(CAUSAL, 1), AT_MOST(SKV, 800)},
     .why =
         "compute capability 9.0, causal, at most 800 keys, less than two q tiles for an SM: tiles of 64 rows mask "
         "little"},
    {"cluster_split",
     .when = {IS(CC, 90), IS(D, 64), BETWEEN(TILES_PERCENT, 250, 300), IS(CAUSAL, 1), AT_MOST(SKV, 260)},
     .why =
         "compute capability 9.0, causal, at most 256 keys, three q tiles for an SM: tiles of 64 rows mask little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 128), AT_MOST(TILES_PERCENT, 50), IS(CAUSAL, 1)},
     .why =
         "compute capability 9.0, causal, q tiles for half of the SMs: clusters of blocks share the keys of a tile"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 128), AT_MOST(TILES_PERCENT, 50), AT_LEAST(SKV, 129)},
     .why = "compute capability 9.0, q tiles for half of the SMs: clusters of blocks share the keys of a tile"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 128), AT_MOST(TILES_PERCENT, 50), AT_MOST(SKV, 100)},
     .why = "compute capability 9.0, q tiles for half of the SMs, at most 100 keys: tiles of 64 rows waste little"},
    {"cluster_split", .when = {IS(CC, 90), IS(D, 128), AT_MOST(TILES_PERCENT, 13)},
     .why = "compute capability 9.0, q tiles for an eighth of the SMs: clusters of blocks share the keys of a tile"},
    /* H100: 269 us against 348 of `wgmma` (192 queries of 32 heads, 4096 keys), whose tile has 128 rows. */
    {"wgmma_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), BETWEEN(SQ, 129, 192), IS(D, 128), AT_LEAST(TILES_PERCENT, 400),
              AT_LEAST(SKV, 4096)},
     .why = "compute capability 9.0, 129 to 192 queries against 4096 keys or more: one tile of 192 rows, not two of "
            "128"},
    /* H200: 42 us against 47 of `wgmma` (512 heads of 270 or 320 queries and keys; causal 34 and 36 against 40), of
     * whose tiles a sixth to 30 % of the rows are empty. At 333 queries it takes 58, and `wgmma` 48. */
    {"wgmma_general",
     .when = {IS(CC, 90), IS(RAGGED, 0), IS(D, 64), BETWEEN(SQ, 257, 320), BETWEEN(SKV, 257, 320),
              AT_LEAST(TILES_PERCENT, 600)},
     .why = "compute capability 9.0, D of 64, 257 to 320 queries and keys of many heads: tiles of 64 rows waste less "
            "than tiles of 128"},
    {"wgmma", .why = "compute capability 9.0, 16-bit types, D up to 256: twice the rate of mma.sync"},
    /* 158 us against 215 (two prefills of 2048 beside 32 decodes of 1024 keys, four query heads for a KV head). */
    {"wgmma_paged", .when = {AT_LEAST(GROUP_ROWS, 17), AT_LEAST(SHARED_PERCENT, 20)},
     .why =
         "compute capability 9.0, 16-bit types, prefills beside decodes: the keys of a decode are read once for all "
         "heads that share them"},
    {"wgmma_general", .why = "compute capability 9.0, 16-bit types: windows, caps, sinks, D, layouts, batches and "
                             "lists of blocks that wgmma does not take"},
    {"wgmma_paged", .when = {AT_LEAST(GROUP_ROWS, 17)},
     .why =
         "compute capability 9.0, 16-bit types, more than 16 query rows share their keys, in pages: tiles of wgmma"},
    {"wgmma_fp8", .why = "compute capability 9.0, e4m3: the only kernel of tensor cores that takes it"},
    /* 27 us against 32 at 32 tiles of 512 keys, 10.3 against 14.5 at 128 tiles of 128; but 26 against 16 at 8 tiles.
     */
    {"mma_swizzle", .when = {IS(D, 256), AT_LEAST(TILES_PERCENT, 24), AT_MOST(DTYPE_BYTES, 2)},
     .why = "16-bit types, D of 256, q tiles for a quarter of the SMs: each tile reads K and V for 64 rows or more"},
    {"d_split", .why = "D of 256 and more: D is on the grid, so a few heads fill the GPU"},
    /* 7.4 us against 9.9 (8 tiles, 512 keys), 19.4 against 30.2 (32 tiles, 2048 keys); but 12.2 against 10.1 (64
     * tiles, 512 keys) and 6.7 against 6.4 (4 tiles, 256 keys). */
    {"split_kv", .when = {AT_MOST(TILES_PERCENT, 25), AT_LEAST(SKV, 512)},
     .why = "q tiles for a quarter of the SMs, 512 keys or more: blocks share the keys of a tile"},
    {"split_kv", .when = {AT_MOST(TILES_PERCENT, 40), AT_LEAST(SKV, 2048)},
     .why = "q tiles for less than half of the SMs, 2048 keys or more: blocks share the keys of a tile"},
    {"mma_swizzle", .why = "16-bit types, D of 64, 128 or 256: the fastest kernel of mma.sync"},
    {"decode_general",
     .why = "the only kernel of tensor cores that reads pages of any size, or K and V of e4m3 beside Q of 16 bits"},
    /* 43 us against 71 at 64 tiles; 509 against 538 at 1024. */
    {"scalar_quad", .set = {{"rows", 32}, {"vec", 1}}, .when = {AT_MOST(TILES_PERCENT, 50)},
     .why = "CUDA cores, less than a wave: tiles of 32 rows make twice the blocks"},
    {"scalar_quad", .set = {{"vec", 1}}, .why = "CUDA cores, a full GPU: tiles of 64 rows, 16-byte words"},
    {"scalar_quad", .why = "CUDA cores, rows of any length"},
    {"one_query", .why = "any D: nothing else here takes this one"},
    {"scalar", .why = "CUDA cores: the kernel here that takes the most axes"},
};

static const struct pick_table table = {
    .version = "table 16, measured on an H200 (results/h200) and an H100",
    .rules = rules,
    .count = sizeof rules / sizeof *rules,
};

static const char *auto_supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                 const struct device_info *device) {
  (void)tuning;
  return pick_supports(&table, shape, device);
}

static void auto_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                      const struct device_info *device, struct attn_plan *plan) {
  (void)tuning;
  pick_plan(&table, shape, device, plan);
}

const struct attn_variant attn_variant_auto = {
    .name = "auto",
    .summary = "the variant here that measured fastest for the shape and device; the row says which, and why",
    .limits = "what some variant that it picks from takes",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .takes = ~0u, /* what it picks is asked */
    .supports = auto_supports,
    .plan = auto_plan,
    .bind = pick_bind,
    .run = pick_run,
    .picks = &table,
};
