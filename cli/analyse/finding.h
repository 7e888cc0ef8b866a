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
    "the grid does not grow with B*H: a block computes several (batch, head) pairs one after the other",             \
    "no axis of the grid covers B, or none covers the heads, although there are several", "put B*H on a grid axis")  \
  X(geometry_rules, below_one_wave, WARNING,                                                                         \
    "the grid has fewer blocks than the GPU can hold at once: SMs, or places for blocks on them, stay idle",         \
    "some SMs have no block; or every SM has one, the blocks loop over several items, and more blocks would make "   \
    "the row faster",                                                                                                \
    "split the keys or D over blocks, take fewer rows per block, or batch more B*H: the advice is what the model "   \
    "of time finds to be the fastest")                                                                               \
  X(geometry_rules, tail_wave, WARNING,                                                                              \
    "the blocks do not divide evenly over the GPU: in the last wave, or the last round, many SMs have nothing to "   \
    "do",                                                                                                            \
    "the share of all places for blocks that stay idle over all waves; within one wave, of the SMs; for blocks "     \
    "that loop over items, of their rounds. All blocks are taken to be equally long, so it is not reported beside "  \
    "imbalanced",                                                                                                    \
    "choose tiles or splits that fill the last wave")                                                                \
  X(balance_rules, imbalanced, WARNING,                                                                              \
    "some blocks have more tiles of keys than others, and the launch lasts until the longest block ends",            \
    "the time of the launch in a simulation, where a block takes as long as it has tiles of keys, over the time "    \
    "with blocks of equal work",                                                                                     \
    "start the longest items first; cut the longest items; or give each block an equal part of all tiles of keys")   \
  X(resource_rules, smem_limits_occupancy, NOTE, "shared memory decides how many blocks fit on an SM",               \
    "the grid fills the GPU, few warps fit on an SM because of shared memory, one more block would make the row "    \
    "faster, and no pipe is busy for half of the time",                                                              \
    "fewer stages, smaller tiles, or 16-bit staging")                                                                \
  X(resource_rules, registers_limit_occupancy, NOTE, "registers decide how many blocks fit on an SM",                \
    "the rule of smem_limits_occupancy, for registers; not for a tensor-core kernel that keeps scores and output "   \
    "in registers on purpose",                                                                                       \
    "less state per thread; a cap on the registers alone made kernels slower wherever it was measured")              \
  X(resource_rules, spills, WARNING, "registers spill to local memory",                                              \
    "the compiler reserved local memory, or a profiler counted its traffic", "keep fewer values alive per thread")   \
  X(resource_rules, idle_threads, WARNING, "threads that hold no query row wait while the others compute",           \
    "the share of a block's threads that hold no query row in the compute phase, and that fetch nothing for those "  \
    "that do",                                                                                                       \
    "let several threads share a query row")                                                                         \
  X(bound_rules, memory_bound, NOTE, "close to the DRAM roof: only moving fewer bytes makes the row faster",         \
    "the share of the row's time that DRAM needs at its reachable rate is the largest of all pipes, and at least "   \
    "near_roof_min",                                                                                                 \
    "move each byte once; then need fewer bytes")                                                                    \
  X(bound_rules, compute_bound, NOTE, "close to the compute roof of the pipe that it uses",                          \
    "the rule of memory_bound, for the pipe of the products: fp32, mma.sync or wgmma",                               \
    "use the next faster instruction: tensor cores, then wgmma with TMA; where there is none, skip masked tiles")    \
  X(bound_rules, exp_bound, NOTE, "close to the rate of the exponentials",                                           \
    "the rule of memory_bound, for the special-function units, at one exponential per score",                        \
    "compute some exponentials by polynomials on the FMA pipe, and overlap them with products")                      \
  X(bound_rules, l2_bound, NOTE, "close to the bandwidth of L2",                                                     \
    "the rule of memory_bound, for L2 and the bytes that the tiles request of it",                                   \
    "more query rows per block, or multicast within clusters")                                                       \
  X(bound_rules, shared_bound, NOTE, "close to the bandwidth of shared memory",                                      \
    "the rule of memory_bound, for shared memory: its traffic as counted, else what warps read when each reads K "   \
    "and V for its own rows",                                                                                        \
    "more query rows per warp; wgmma reads K and V once per 64 rows")                                                \
  X(bound_rules, between_roofs, NOTE,                                                                                \
    "no pipe is full, but one is well used: the phases of the kernel take turns instead of overlapping",             \
    "the largest share of all pipes is below near_roof_min (of memory_bound) but not below far_from_roof_max; or "   \
    "products and exponentials both reach turns_min, and neither reaches full_pipe_min",                             \
    "overlap the phases, or use the next faster instruction")                                                        \
  X(bound_rules, latency_bound, WARNING, "far from every roof: time goes to waiting, not to bytes or FLOPs",         \
    "the largest share of all pipes is below far_from_roof_max (of between_roofs), and the row is too long for "     \
    "launch_bound",                                                                                                  \
    "what the row's own figures name: idle SMs, loads that are "                                                     \
    "not copied ahead, what warps wait for, a slower pipe than the GPU has")                                         \
  X(bound_rules, clock_lowered, NOTE,                                                                                \
    "the clock was below its highest: power, heat or a setting bounds the rate, not the kernel alone",               \
    "the clock that was measured on the SMs during the row, against the highest one",                                \
    "fewer bytes and instructions per product; compare at equal clocks")                                             \
  X(growth_rules, scales_with_bh, NOTE, "how the time grew with B*H, and how much of that the waves explain",        \
    "the report has another row of the variant that differs in B and H alone",                                       \
    "it depends on the kind of growth, which attnbench describe explains: linear, as_waves, serial, ...")            \
  X(traffic_rules, rereads_kv, WARNING,                                                                              \
    "K and V are read many times: few query rows share a read, or the heads in flight do not fit into L2",           \
    "few query rows share a read, and K and V are requested few_rows_reread_min times; or the heads in flight "      \
    "exceed L2, and K and V are requested spilled_reread_min times",                                                 \
    "more query rows per read; q tiles on the fastest grid axis")                                                    \
  X(counter_rules, bank_conflicts, WARNING,                                                                          \
    "lanes of a warp access one bank of shared memory at once, and the accesses are made one after the other",       \
    "the share of the passes through shared memory that are repeats, and the share of the time that these take, as " \
    "a profiler counted them",                                                                                       \
    "pad rows by 16 bytes or swizzle columns, and read with ldmatrix")                                               \
  X(counter_rules, uncoalesced, WARNING, "a warp touches more sectors of global memory than its data needs",         \
    "the share of the sectors beyond those that the data needs, and the share of the time that these take, as a "    \
    "profiler counted them",                                                                                         \
    "let neighbouring lanes take neighbouring 16-byte words")                                                        \
  X(cache_rules, page_scattered, WARNING,                                                                            \
    "the bytes of a head lie in runs so short that DRAM, which reads whole bursts, also reads bytes of no use",      \
    "the bytes of the DRAM bursts that hold a head's runs of the pages, over the bytes of K and V, where DRAM "      \
    "binds",                                                                                                         \
    "lay more tokens of a head side by side, or let one block read all heads of a token")                            \
  X(cache_rules, convert_bound, WARNING, "the conversion of K and V from e4m3 bounds the kernel, not their bytes",   \
    "the report, or that of --evidence, has the same variant with K and V of 16 bits, and the row takes longer "     \
    "than its bytes explain",                                                                                        \
    "convert two numbers with one instruction, and each number once; or multiply in e4m3")                           \
  X(bound_rules, launch_bound, WARNING,                                                                              \
    "the row takes about as long as a launch itself: the kernel's own work hardly counts",                           \
    "the largest share of all pipes is below far_from_roof_max (of between_roofs), and the time per launch of the "  \
    "plan is below launch_sized_max_us",                                                                             \
    "batch more work per launch, or merge the launch with its neighbours")

/* LIMIT(finding it belongs to, name, value, what it measures) */
#define FINDING_LIMIT_MAP(X)                                                                                       \
  X(below_one_wave, fill_gain_min, 1.10, "times as fast, at least, as the change that is advised makes the row")   \
  X(below_one_wave, idle_sms_min, 0.10,                                                                            \
    "of the SMs without a block, at least: with fewer, only more blocks for the same items are advised")           \
  X(tail_wave, tail_waste_min, 0.20, "of the places for blocks idle, at least")                                    \
  X(imbalanced, imbalance_min, 1.25,                                                                               \
    "times as long as with equal work, at least: a fifth of the SMs' time is then lost")                           \
  X(smem_limits_occupancy, few_warps_max, 16,                                                                      \
    "warps on an SM, at most: 4 per scheduler; also for registers_limit_occupancy, as the next two")               \
  X(smem_limits_occupancy, residency_gain_min, 1.10, "times as fast, at least, with one more block on an SM")      \
  X(smem_limits_occupancy, busy_pipe_min, 0.50, "of a roof: from this share on more warps do not help")            \
  X(idle_threads, idle_threads_min, 0.25, "of the threads, at least")                                              \
  X(memory_bound, near_roof_min, 0.60,                                                                             \
    "of a reachable roof, at least; also for compute_bound, exp_bound, l2_bound and shared_bound")                 \
  X(between_roofs, full_pipe_min, 0.80,                                                                            \
    "of the roof of products or exponentials: below it their phases can take turns")                               \
  X(between_roofs, turns_min, 0.50, "of both these roofs, at least, where their phases take turns")                \
  X(memory_bound, moved_again_min, 1.50,                                                                           \
    "times the bytes of the tensors, at least, that DRAM moved: the advice is then to move each byte once")        \
  X(between_roofs, far_from_roof_max, 0.25, "of a reachable roof: below it the row is far from every roof")        \
  X(latency_bound, copy_ahead_gain_min, 1.05, "times as fast, at least, where copying K/V tiles ahead is advised") \
  X(launch_bound, launch_sized_max_us, 5.0, "us per launch, at most")                                              \
  X(clock_lowered, clock_lost_min, 0.03, "of the highest clock lost, at least")                                    \
  X(grid_misses_bh, serial_growth_min, 0.50,                                                                       \
    "of the growth of the work: where the time grew by less, other costs still hide the serial loop")              \
  X(rereads_kv, few_rows_below, 16,                                                                                \
    "query rows that share a read of K and V: fewer are few (a tensor-core fragment has 16)")                      \
  X(rereads_kv, few_rows_reread_min, 4, "times that K and V are requested, at least, with few rows per read")      \
  X(rereads_kv, spilled_reread_min, 2,                                                                             \
    "times that K and V are requested, at least, where the heads in flight exceed L2")                             \
  X(bank_conflicts, repeated_passes_min, 0.25, "of the passes, at least")                                          \
  X(bank_conflicts, conflict_cost_min, 0.03, "of the time of the SMs in use, at least")                            \
  X(uncoalesced, excess_sectors_min, 0.50, "of the sectors, at least")                                             \
  X(uncoalesced, excess_cost_min, 0.03, "of the time of the SMs in use, at least")                                 \
  X(page_scattered, scattered_min, 1.25,                                                                           \
    "times the bytes of K and V, at least: a fifth of what DRAM reads is then of no use")                          \
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
