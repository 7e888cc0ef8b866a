/* The findings of the diagnosis, one line of FINDING_MAP each. results/findings.md is this table as a page, and
 * tests/analyse/unit_finding.c checks that both agree and can rewrite the page. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_SEVERE };

/* FINDING(file whose function FILE_ID decides, id, severity, what it means, the rule, the remedy). Ids are stable:
 * scripts match on them. A new finding is a line here, its function, and a line in FINDING_LIMIT_MAP per threshold.
 */
#define FINDING_MAP(X)                                                                                               \
  X(geometry_rules, grid_misses_bh, SEVERE,                                                                          \
    "the grid does not grow with B*H: batch and heads run one after the other in a block",                           \
    "no grid axis walks B, or none walks the heads, and there are several", "put B*H on a grid axis")                \
  X(geometry_rules, below_one_wave, WARNING,                                                                         \
    "fewer blocks than the GPU can hold at once: SMs or their slots stay idle",                                      \
    "SMs stay without a block; or every SM has one, but blocks that loop over several items leave slots empty "      \
    "which "                                                                                                         \
    "more blocks would fill at a gain",                                                                              \
    "split the keys or D over blocks, take fewer rows per block, or batch more B*H: what the model of time says is " \
    "fastest")                                                                                                       \
  X(geometry_rules, tail_wave, WARNING, "the last wave is mostly empty but takes as long as a full one",             \
    "idle share of the slots over all waves; within one wave, of the SMs; for blocks that loop over items, of "      \
    "their "                                                                                                         \
    "rounds",                                                                                                        \
    "choose tiles or splits that fill the last wave")                                                                \
  X(balance_rules, imbalanced, WARNING, "some blocks have more keys than others, and the GPU waits for the longest", \
    "the time of the pass, simulated with each block's tiles of keys as its length, against blocks of equal work",   \
    "start the longest items first; cut them, or give each block an equal part of all tiles of keys")                \
  X(resource_rules, smem_limits_occupancy, NOTE, "shared memory decides how many blocks fit on an SM",               \
    "the grid fills the GPU, few warps fit on an SM, shared memory is why, and no pipe is busy half of the time",    \
    "fewer stages, smaller tiles, 16-bit staging")                                                                   \
  X(resource_rules, registers_limit_occupancy, NOTE, "registers decide how many blocks fit on an SM",                \
    "the same for registers, but not of a tensor kernel that keeps scores and output there on purpose",              \
    "less state per thread; capping registers alone was slower wherever it was measured")                            \
  X(resource_rules, spills, WARNING, "registers spill to local memory",                                              \
    "the compiler reserved local memory, or a profiler counted its traffic", "fewer values alive per thread")        \
  X(resource_rules, idle_threads, WARNING, "threads that hold no query row wait while the others compute",           \
    "share of a block's threads that hold no query row in the compute phase and fetch nothing for those that do",    \
    "let several threads share a query row")                                                                         \
  X(bound_rules, memory_bound, NOTE, "close to the DRAM roof: only moving fewer bytes helps",                        \
    "the time that DRAM needs at its reachable rate, over the time of the row, is the largest share of all pipes",   \
    "move each byte once, then fewer bytes")                                                                         \
  X(bound_rules, compute_bound, NOTE, "close to the compute roof of the pipe it uses",                               \
    "the same share of the pipe of the products: fp32, mma.sync or wgmma",                                           \
    "the next faster instruction: tensor cores, then wgmma with TMA; else skip work")                                \
  X(bound_rules, exp_bound, NOTE, "close to the rate of the exponentials",                                           \
    "the same share of the special-function units, at one exponential per score",                                    \
    "compute some exponentials by polynomials on the FMA pipe, overlap them with products")                          \
  X(bound_rules, l2_bound, NOTE, "close to the bandwidth of L2",                                                     \
    "the same share of L2, for what the tiles request of it",                                                        \
    "more query rows per block, multicast within clusters")                                                          \
  X(bound_rules, shared_bound, NOTE, "close to the bandwidth of shared memory",                                      \
    "the same share of shared memory: as counted, else what warps read when each reads K and V for its own rows",    \
    "more query rows per warp; wgmma reads K and V once per 64 rows")                                                \
  X(bound_rules, between_roofs, NOTE, "no pipe is full, but one is well used: phases take turns",                    \
    "the largest share of all pipes lies between the two limits; or products and exponentials are both well used "   \
    "and neither pipe is full",                                                                                      \
    "overlap the phases, or take the next rung")                                                                     \
  X(bound_rules, latency_bound, WARNING, "far from every roof: time goes to waiting, not to bytes or FLOPs",         \
    "the largest share of all pipes is below the limit",                                                             \
    "what the row's own figures name: idle SMs, loads that are "                                                     \
    "not copied ahead, what warps wait for, a slower pipe than the GPU has")                                         \
  X(bound_rules, clock_lowered, NOTE,                                                                                \
    "the clock was below its highest: power, heat or a setting bounds the rate, not the kernel alone",               \
    "the clock measured on the SMs during the row, against the highest one",                                         \
    "fewer bytes and instructions per product; compare at equal clocks")                                             \
  X(growth_rules, scales_with_bh, NOTE, "time against B*H: what growth the waves explain and what they do not",      \
    "the report has another row that differs in B and H alone", "by the kind of growth")                             \
  X(traffic_rules, rereads_kv, WARNING,                                                                              \
    "K and V are asked for many times: by tiles of few query rows, or past what L2 holds",                           \
    "few query rows share a read and K and V are asked for several times; or the heads in flight exceed L2",         \
    "more query rows per read; q tiles on the fastest grid axis")                                                    \
  X(counter_rules, bank_conflicts, WARNING,                                                                          \
    "lanes of a warp meet in one bank of shared memory and go through it one after the other",                       \
    "share of the passes through shared memory that are repeats, and their share of the time, as counted",           \
    "pad rows by 16 bytes or swizzle columns, read with ldmatrix")                                                   \
  X(counter_rules, uncoalesced, WARNING,                                                                             \
    "lanes of a warp touch more sectors of global memory than hold what they ask for",                               \
    "share of the sectors beyond those that hold the bytes asked for, and their share of the time, as counted",      \
    "let neighbouring lanes take neighbouring 16-byte words")                                                        \
  X(cache_rules, page_scattered, WARNING,                                                                            \
    "what a head has of a page is so short that DRAM brings bytes which nobody asked for",                           \
    "bytes of the DRAM bursts that hold the runs of a page, over those of K and V, where DRAM binds",                \
    "more tokens of a head side by side, or all heads of a token in one block")                                      \
  X(cache_rules, convert_bound, WARNING,                                                                             \
    "K and V of e4m3 are read by a kernel that their conversion bounds, not their bytes",                            \
    "the report, or that of --evidence, has the same variant with K and V of 16 bits, and the row takes longer "     \
    "than "                                                                                                          \
    "its bytes explain",                                                                                             \
    "convert two numbers at a time, each one once; or multiply in e4m3")                                             \
  X(bound_rules, launch_bound, WARNING, "no longer than a launch itself takes: the kernel's own work hardly counts", \
    "far from every roof, and shorter than the limit per launch of the plan",                                        \
    "batch more work per launch or merge it with its neighbours")

/* LIMIT(finding it belongs to, name, value, what it measures) */
#define FINDING_LIMIT_MAP(X)                                                                                         \
  X(below_one_wave, fill_gain_min, 1.10, "times faster, at least, for full slots on busy SMs and for split keys")    \
  X(below_one_wave, idle_sms_min, 0.10, "of the SMs idle, at least: below it the SMs count as busy")                 \
  X(tail_wave, tail_waste_min, 0.20, "of the slots idle, at least")                                                  \
  X(imbalanced, imbalance_min, 1.25, "times as long as with equal work, at least: a fifth of the SMs' time is lost") \
  X(smem_limits_occupancy, few_warps_max, 16, "warps on an SM, at most: 4 per scheduler; the same for registers")    \
  X(smem_limits_occupancy, residency_gain_min, 1.10, "times faster, at least, with one block more on an SM")         \
  X(smem_limits_occupancy, busy_pipe_min, 0.50, "share of a roof from which more warps are not what lacks")          \
  X(idle_threads, idle_threads_min, 0.25, "of the threads, at least")                                                \
  X(memory_bound, near_roof_min, 0.60, "of a reachable roof, at least; the same for every pipe")                     \
  X(between_roofs, full_pipe_min, 0.80,                                                                              \
    "of the roof of products or exponentials: below it their phases can take turns")                                 \
  X(between_roofs, turns_min, 0.50, "of both these roofs, at least, where their phases take turns")                  \
  X(memory_bound, moved_again_min, 1.50, "times the bytes of the tensors moved: then moving them once comes first")  \
  X(between_roofs, far_from_roof_max, 0.25, "of a reachable roof: below it the row is far from every roof")          \
  X(latency_bound, copy_ahead_gain_min, 1.05, "times faster, at least, to advise copying K/V tiles ahead")           \
  X(launch_bound, launch_sized_max_us, 5.0, "us per launch, at most")                                                \
  X(clock_lowered, clock_lost_min, 0.03, "of the highest clock lost, at least")                                      \
  X(grid_misses_bh, serial_growth_min, 0.50, "of the growth of the work: less does not show a serial loop")          \
  X(rereads_kv, few_rows_below, 16, "query rows that share a read of K and V; a tensor-core fragment has 16")        \
  X(rereads_kv, few_rows_reread_min, 4, "times that K and V are asked for, at least, with few rows per read")        \
  X(rereads_kv, spilled_reread_min, 2, "times, at least, when the heads in flight exceed L2")                        \
  X(bank_conflicts, repeated_passes_min, 0.25, "of the passes, at least")                                            \
  X(bank_conflicts, conflict_cost_min, 0.03, "of the time of the SMs in use, at least")                              \
  X(uncoalesced, excess_sectors_min, 0.50, "of the sectors, at least")                                               \
  X(uncoalesced, excess_cost_min, 0.03, "of the time of the SMs in use, at least")                                   \
  X(page_scattered, scattered_min, 1.25, "times the bytes, at least: a fifth of what DRAM brings is not needed")     \
  X(convert_bound, convert_cost_min, 1.25, "times as long as its bytes explain, at least: a fifth of the time")

enum finding_id {
#define FINDING_ENUM(file, name, severity, meaning, rule, remedy) FINDING_ID_##name,
  FINDING_MAP(FINDING_ENUM)
#undef FINDING_ENUM
      FINDING_ID_COUNT
};

const char *finding_name(enum finding_id);
enum finding_severity finding_severity(enum finding_id);
const char *finding_severity_name(enum finding_severity); /* "note", "warning", "severe" */
const char *finding_help(enum finding_id);                /* what it means */
const char *finding_rule(enum finding_id);                /* when it is reported */
const char *finding_remedy(enum finding_id);

/* The thresholds, for the rules: finding_limits.tail_waste_min. */
struct finding_limits {
#define FINDING_LIMIT(id, name, value, what) double name;
  FINDING_LIMIT_MAP(FINDING_LIMIT)
#undef FINDING_LIMIT
};
extern const struct finding_limits finding_limits;

/* One threshold of FINDING_LIMIT_MAP, for results/findings.md. */
struct finding_threshold {
  enum finding_id id;
  const char *name;
  double value;
  const char *what;
};
size_t finding_threshold_count(void);
const struct finding_threshold *finding_threshold_at(size_t index);

/* CHANGE(name, what a kernel that follows the advice has): the advised change as data, so that other rows can be
 * checked for it (evidence.h). */
#define FINDING_CHANGE_MAP(X)                                      \
  X(none, "nothing that another row could show")                   \
  X(grid_bh, "a grid that covers B and the heads")                 \
  X(splits, "more splits of the keys")                             \
  X(d_chunks, "D on the grid")                                     \
  X(fewer_rows, "fewer query rows per block")                      \
  X(more_blocks, "more blocks for the same items")                 \
  X(more_resident, "more blocks on an SM")                         \
  X(even_waves, "a last wave or round that leaves less idle")      \
  X(equal_work, "blocks whose work is more alike")                 \
  X(threads_per_row, "more of its threads at work on query rows")  \
  X(stages, "more K/V tiles in flight")                            \
  X(share_reads, "more query rows that share a read of K and V")   \
  X(tensor, "both products on tensor cores")                       \
  X(registers, "scores and output in registers, on the same pipe") \
  X(wgmma, "wgmma")

enum finding_change {
#define FINDING_CHANGE(name, help) CHANGE_##name,
  FINDING_CHANGE_MAP(FINDING_CHANGE)
#undef FINDING_CHANGE
      CHANGE_COUNT
};
const char *finding_change_name(enum finding_change);

/* One element per finding, and one to try the next finding in. */
enum { FINDINGS_MAX = FINDING_ID_COUNT + 1, FINDINGS_SHOWN_PER_ROW = 3, FINDING_TEXT_MAX = 400 };

struct finding {
  enum finding_id id;
  uint32_t pass;                   /* index of the pass it is about */
  char measured[FINDING_TEXT_MAX]; /* the fact, with its numbers */
  char advice[FINDING_TEXT_MAX];   /* one concrete change */
  enum finding_change change;      /* the change of `advice` as data */
  double gain_ratio;               /* time now / promised time after the change; NAN: nothing is promised */
  double saves_us;                 /* time now - promised time; NAN: nothing is promised, or the row was not timed */
  char evidence[160]; /* the variant of the row that made the change, when gain_ratio was measured there; else "" */
  const char *evidence_file; /* the report with that row; NULL: the row's own */
};

struct findings {
  size_t count; /* most microseconds first, then by severity */
  struct finding item[FINDINGS_MAX];
};
