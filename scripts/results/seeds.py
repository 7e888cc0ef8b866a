"""The five reports that attnbench grew out of: what each claimed, what the committed reports measure, and the verdict.

A claim quotes its report, with that report's own numbers. Everything else comes from rows: `measured` is written from
them, and the verdict is decided by a condition on them, so that a new measurement may turn it. The explanation belongs
to one verdict and is left out beside another.
"""
from lib.reports import finding_ids, hot_us, roof_share, speedup, tflops
from lib.tables import microseconds, percent, ratio, significant

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "partly", "does not hold", "not measured"


class NotMeasured(Exception):
    """A row that a claim needs is in no report."""


class Rows:
    """Short names for rows; a missing one ends the claim as not measured."""

    def __init__(self, reports):
        self.reports = reports

    def __call__(self, sweep, key, variant):
        row = self.reports.row(sweep, key_of(key), variant)
        if row is None:
            raise NotMeasured(f"{sweep}: {variant} at {key}")
        return row

    def us(self, sweep, key, variant):
        return hot_us(self(sweep, key, variant))


def key_of(short):
    """1,8,512,64 (B, H, S, D), with an optional f32 or causal, as a case key."""
    sizes, _, rest = short.partition(" ")
    b, h, s, d = sizes.split(",")
    return f"B{b}.H{h}.Hkv{h}.Sq{s}.Skv{s}.D{d}.{'f32' if 'f32' in rest else 'f16'}.{'causal' if 'causal' in rest else 'full'}"


def decide(condition, held, failed=FAILS):
    return held if condition else failed


def listed(values):
    return ", ".join(values[:-1]) + " and " + values[-1] if len(values) > 1 else values[0]


# ---- S0 ---------------------------------------------------------------------------------------------------------

V3 = ("1,8,512,64", "4,16,512,64", "8,16,512,64")


def s0_serialised(rows):
    serial = [rows("v3", key, "serial") for key in V3]
    growth = [ratio(hot_us(r) / hot_us(serial[0])) for r in serial[1:]]
    blocks = sorted({r["launches"][0]["blocks"] for r in serial})
    named = all("grid_misses_bh" in finding_ids(r) for r in serial)
    judged = all(r["scaling"]["verdict"] == "serial" for r in serial[1:])
    text = (f"`serial`: {listed(growth)} for 8 and 16 times the work, with {listed([str(b) for b in blocks])} blocks "
            f"whatever B and H are; `grid_misses_bh` is {'named' if named else 'not named'}, and growth is judged "
            f"`{serial[-1]['scaling']['verdict']}`")
    return text, decide(named and judged and len(blocks) == 1, HOLDS), \
        "the geometry says it, and time agrees; time alone could not, since a full GPU is linear too"


def s0_expected(rows):
    scalar = [rows("v3", key, "scalar") for key in V3]
    waves = [ratio(r["scaling"]["wave_ratio"]) for r in scalar[1:]]
    times = [ratio(hot_us(r) / hot_us(scalar[0])) for r in scalar[1:]]
    serial_waves = [ratio(rows("v3", key, "serial")["scaling"]["wave_ratio"]) for key in V3[1:]]
    near = all(abs(r["scaling"]["wave_ratio"] / rule - 1) < 0.1 for r, rule in zip(scalar[1:], (2.0, 2.7)))
    text = (f"the work grows 8 and 16 times; waves and loops inside a block say {listed(serial_waves)} for `serial` and "
            f"{listed(waves)} for `scalar`, which measures {listed(times)}")
    return text, decide(near, HOLDS), "what to expect comes from the waves of the grid at hand, not from a rule"


def s0_fix(rows):
    serial, fixed, first = (rows.us("v3", V3[2], "serial"), rows("v3", V3[2], "scalar"), rows("v3", V3[0], "scalar"))
    growth = hot_us(fixed) / hot_us(first)
    launch = fixed["launches"][0]
    text = (f"`scalar`, the same row code with B and H on the grid ({launch['blocks']} blocks, {launch['waves']:.2f} waves), is "
            f"{ratio(serial / hot_us(fixed))} as fast at (8,16); it takes {ratio(growth)} the time of (1,8)")
    return text, decide(growth <= 2, HOLDS, PARTLY), \
        "the fix is right, the bar is not: 16 times the work on a GPU that (1,8) fills to " \
        f"{percent(first['launches'][0]['sm_ratio'])} cannot take twice the time"


# ---- S1 ---------------------------------------------------------------------------------------------------------

def s1_flat(rows):
    cases = ("1,1,128,64", "4,4,128,64", "8,4,128,64")
    scalar = [rows("batch", key, "scalar") for key in cases]
    times = [microseconds(hot_us(r)) for r in scalar]
    blocks = [str(r["launches"][0]["blocks"]) for r in scalar]
    sms = rows.reports.device["sms"]
    flat = hot_us(scalar[2]) / hot_us(scalar[0]) < 1.2
    text = (f"`scalar`: {listed(times)} us at (1,1), (4,4) and (8,4), {listed(blocks)} blocks on {sms} SMs: "
            f"{ratio(hot_us(scalar[2]) / hot_us(scalar[0]))} for 32 times the work, judged `{scalar[2]['scaling']['verdict']}`")
    return text, decide(not flat, HOLDS), \
        f"more blocks cost nothing while SMs idle; on 58 SMs the 64 blocks were an uneven last wave, on {sms} they are not"


def s1_idle(rows):
    row = rows("batch", "1,1,128,64", "scalar")
    launch = row["launches"][0]
    text = f"{launch['blocks']} blocks on {rows.reports.device['sms']} SMs: {percent(launch['sm_ratio'])}; worst finding `{finding_ids(row)[0]}`"
    return text, decide("below_one_wave" in finding_ids(row), HOLDS), "the GPU is empty; everything else in this table follows"


def s1_split(rows):
    key = "1,1,512,64"
    whole, a, b = (rows.us("n6", key, v) for v in ("wmma", "split_kv_atomic", "split_kv"))
    text = f"B=H=1, S=512: `wmma` {microseconds(whole)} us, A (atomics) {microseconds(a)} us, B (two passes) {microseconds(b)} us"
    return text, decide(b < a and b < whole, HOLDS), \
        f"B is {ratio(whole / b)} as fast as the kernel it splits and {ratio(a / b)} as fast as A, and deterministic"


def s1_threads(rows):
    key = "1,1,512,64"
    one, plain, padded = (rows.us("scalar_ladder", key, v) for v in ("scalar", "scalar_quad:pad=0", "scalar_quad"))
    text = f"gain {ratio(one / plain)} as it is, {ratio(one / padded)} with padded rows in shared memory (B=H=1, S=512)"
    return text, decide(one / plain >= 1.5, HOLDS, PARTLY if one / padded >= 1.5 else FAILS), \
        "four threads per row collide in shared memory; they pay once the rows are padded"


def s1_tile(rows):
    gains = [rows.us("scalar_ladder", key, "scalar_quad") / rows.us("scalar_ladder", key, "scalar_quad:rows=32")
             for key in ("1,1,512,64", "8,16,512,64")]
    text = f"gain {ratio(gains[0])} at B=H=1, S=512 (idle SMs), {ratio(gains[1])} at B=8, H=16 (full GPU)"
    return text, decide(gains[0] > 1.05 and gains[1] > 1, HOLDS, PARTLY if gains[0] > 1.05 else FAILS), \
        "smaller tiles pay while SMs idle, and cost rereads of K and V once they do not"


def s1_launch(rows):
    key = "1,1,4,4"
    ours, plain = rows("n6", key, "scalar"), rows.us("n6", key, "one_query")
    torch = rows.reports.torch_best("n6", key_of(key))
    text = f"`scalar` {microseconds(hot_us(ours))} us, `one_query` {microseconds(plain)} us in a graph"
    if torch:
        text += f", PyTorch's `{torch[0]}` {microseconds(hot_us(torch[1]))} us"
        return text, decide(hot_us(torch[1]) / hot_us(ours) > 4, HOLDS), "what was compared is the launch, not the kernel"
    return text, UNKNOWN, "a few microseconds are launch and latency, whatever the kernel"


def s1_right(rows):
    timed = [r for r in rows.reports.rows("n6") if r["variant"] == "scalar" and r["time"]]
    if not timed:
        raise NotMeasured("n6: scalar")
    worst = max(r["check"]["max_abs_error"] for r in timed)
    odd = sum(r["check"]["nan_count"] + r["check"]["inf_count"] for r in timed)
    text = f"`scalar` over the {len(timed)} cases of `n6`: largest difference {worst:.2e} from an fp64 oracle, {odd} NaN or Inf"
    return text, decide(worst < 0.002 and odd == 0, HOLDS), "the bar here is set per element from the rounding of the type"


# ---- S2 ---------------------------------------------------------------------------------------------------------

IT3 = ("1,1,128,64", "4,8,128,64", "8,8,128,64")
FULL = "16,8,512,64"


def s2_constant(rows):
    times = [rows.us("it3", key, "cudnn") for key in IT3]
    work = (1, 32, 64)
    text = (f"cuDNN's kernel: {listed([microseconds(t) for t in times])} us for {listed([str(w) for w in work])} times the work; "
            f"their 85 us was {ratio(85 / max(times))} that")
    return text, decide(min(times) > 60, HOLDS), "eager launches on the host took the 85 us; ratios to it say nothing of a kernel"


def s2_roof(rows):
    scalar, best = rows("it3", FULL, "scalar"), rows("it3", FULL, "mma_swizzle")
    text = (f"(16,8,512): `scalar` {significant(tflops(scalar))} TFLOP/s = {roof_share(scalar)}, `mma_swizzle` "
            f"{significant(tflops(best))} TFLOP/s = {roof_share(best)}")
    return text, decide(scalar["roof"]["hot"]["name"] == best["roof"]["hot"]["name"], HOLDS), \
        "two pipes, two roofs: each row names the one that it is held against"


def s2_gap(rows):
    scalar, best = rows("it3", FULL, "scalar"), rows("it3", FULL, "mma_swizzle")
    text = (f"cuDNN, timed in turns, is {ratio(1 / speedup(scalar))} as fast as `scalar` and {ratio(1 / speedup(best))} as fast as "
            f"`mma_swizzle`")
    return text, decide(1 / speedup(scalar) > 10, HOLDS), "the gap of a scalar kernel is real; tensor cores fed from registers close it"


def s2_levers(rows):
    key = "8,16,512,64"
    steps = (("padding", "scalar_quad:pad=0", "scalar_quad"), ("16-byte loads", "scalar_quad", "scalar_quad:vec=1"),
             ("launch bounds", "scalar_quad:vec=1", "scalar_quad:vec=1,bounds=1"),
             ("persistent blocks", "scalar_quad:vec=1,bounds=1", "scalar_quad:vec=1,persistent=1,bounds=1"))
    gains = [(name, rows.us("scalar_ladder", key, below) / rows.us("scalar_ladder", key, rung)) for name, below, rung in steps]
    tensor = rows.us("scalar_ladder", key, "scalar_quad:vec=1") / rows.us("v3", key, "wmma")
    text = "; ".join(f"{name} {ratio(gain)}" for name, gain in gains) + f"; WMMA {ratio(tensor)} over the best of them (B=8, H=16, S=512)"
    paying = [name for name, gain in gains + [("WMMA", tensor)] if gain > 1.03]
    return text, decide(len(paying) == 5, HOLDS, PARTLY if paying else FAILS), f"on a full GPU what pays is {listed(paying) if paying else 'nothing'}"


# ---- S3 ---------------------------------------------------------------------------------------------------------

SMALL = "1,4,16,8192 f32"
LARGE = "1,4,64,8192 f32"


def s3_intensity(rows):
    row = rows("large_d", SMALL, "one_query")
    asked = row["flops"] / row["traffic"]["requested_bytes"]
    text = (f"D=8192, 16 x 16: {significant(asked, 2)} FLOP per byte that `one_query` asks for, {significant(row['flop_per_byte'], 2)} per "
            f"byte of the problem, with K and V shared by 16 queries")
    return text, decide(0.4 < asked < 0.6, HOLDS), "true of what the kernel asks for, not of the problem"


def s3_memory(rows):
    row = rows("large_d", SMALL, "one_query")
    us, cold = hot_us(row), row["time"]["cold"]["median_us"]
    dram_us = row["traffic"]["dram_bytes"] / rows.reports.device["dram_gb_per_s"] / 1e3
    l2 = row["traffic"]["requested_bytes"] / us / 1e6
    text = (f"DRAM has to deliver {row['traffic']['dram_bytes'] / 1e6:.1f} MB, {dram_us:.1f} us of {microseconds(cold)} us cold; the working set of "
            f"{row['traffic']['working_set_bytes'] / 1e6:.1f} MB {'fits' if row['traffic']['fits_l2'] else 'does not fit'} L2, which "
            f"serves {significant(l2, 2)} TB/s hot; worst finding `{finding_ids(row)[0]}`")
    return text, decide(dram_us > 0.6 * cold, HOLDS), "neither DRAM nor misses: few blocks, each waiting for L2"


def s3_reread(rows):
    row = rows("large_d", LARGE, "one_query")
    traffic = row["traffic"]
    text = (f"D=8192, 64 x 64, 4 heads: {traffic['requested_bytes'] / 1e6:.0f} MB asked for where {row['bytes'] / 1e6:.1f} MB exist; K and V "
            f"{traffic['reread_ratio']:.0f} times")
    return text, decide("rereads_kv" in finding_ids(row), HOLDS), "named `rereads_kv`; the rereads are L2 hits, so they cost L2 bandwidth and latency"


def s3_blocks(rows):
    small, large = rows("large_d", SMALL, "one_query"), rows("large_d", SMALL, "d_split")
    text = (f"D=8192, 16 x 16: `one_query` {small['launches'][0]['blocks']} blocks, {microseconds(hot_us(small))} us; `d_split` "
            f"{large['launches'][0]['blocks']} blocks, {microseconds(hot_us(large))} us")
    return text, decide(hot_us(small) < 1.5 * hot_us(large), HOLDS), \
        f"the cause that was missed: D is not on the grid; splitting it gains {ratio(hot_us(small) / hot_us(large))}"


def s3_fix(rows):
    gains = []
    for d in (512, 2048, 4096, 8192):
        key = f"1,4,64,{d} f32"
        gains.append(rows.us("large_d", key, "one_query") / rows.us("large_d", key, "d_split"))
    text = f"`d_split` over `one_query`, fp32, 64 x 64: {listed([ratio(g) for g in gains])} at D = 512, 2048, 4096 and 8192"
    return text, decide(min(gains) > 1.2, HOLDS), "several queries share each K and V, and D is split over blocks besides"


# ---- S4 ---------------------------------------------------------------------------------------------------------

MISSION = "1,8,512,64"


def s4_saturated(rows):
    row = rows("mission", MISSION, "wmma")
    named = [i for i in finding_ids(row) if i != "scales_with_bh"]
    text = (f"`wmma`: {microseconds(hot_us(row))} us, {significant(tflops(row))} TFLOP/s = {roof_share(row)}, "
            f"{row['launches'][0]['blocks']} blocks on {rows.reports.device['sms']} SMs; findings {listed([f'`{i}`' for i in named])}")
    return text, decide(row["roof"]["hot"]["ratio"] > 0.6, HOLDS), "half of the SMs are empty, and the others wait for shared memory"


def s4_half(rows):
    scalar, half, both = (rows.us("mission", MISSION, v) for v in ("scalar", "wmma_qk", "wmma"))
    text = (f"`scalar` {microseconds(scalar)} us, `wmma_qk` {microseconds(half)} us, `wmma` {microseconds(both)} us")
    return text, decide(half > scalar, HOLDS), f"one product on tensor cores gains {ratio(scalar / half)} here, the second {ratio(half / both)}"


def s4_async(rows):
    gains = [rows.us(sweep, key, "wmma") / rows.us(sweep, key, "cp_async") for sweep, key in (("mission", MISSION), ("v3", V3[2]))]
    text = f"`cp_async` over `wmma`: {ratio(gains[0])} on the mission shape, {ratio(gains[1])} at B=8, H=16"
    return text, decide(all(g < 1.1 for g in gains), HOLDS), "loads were never the bottleneck"


def s4_planned(rows):
    key, base = V3[2], "mma_swizzle:swizzle=0,epilogue=0,persistent=0,stages=2"
    names = ("swizzle", "fused epilogue", "persistent")
    chain = [base, "mma_swizzle:swizzle=1,epilogue=0,persistent=0,stages=2", "mma_swizzle:swizzle=1,epilogue=1,persistent=0,stages=2",
             "mma_swizzle:swizzle=1,epilogue=1,persistent=1,stages=2"]
    times = [rows.us("mma_ladder", key, v) for v in chain]
    gains = [below / above for below, above in zip(times, times[1:])]
    step = rows.us("mma_ladder", key, "cp_async:stages=2") / times[0]
    text = "; ".join(f"{name} {ratio(gain)}" for name, gain in zip(names, gains)) + f" (B=8, H=16); leaving WMMA for registers {ratio(step)}"
    return text, decide(min(gains) > 1.03, HOLDS, PARTLY if max(gains) > 1.03 else FAILS), \
        "what pays is S, P and O in registers; the three planned steps are what is left after it"


def s4_sdpa(rows):
    cases = rows.reports.cases("mission")
    won = []
    for key, variants in cases.items():
        timed = [(speedup(r), name) for name, r in variants.items() if r["time"] and speedup(r)]
        if timed and max(timed)[0] > 1:
            won.append(max(timed))
    full = speedup(rows("mission", MISSION, "mma_swizzle"))
    causal = speedup(rows("mission", MISSION + " causal", "mma_swizzle"))
    text = (f"cuDNN's time over `mma_swizzle`'s on the mission shape: {ratio(full)} full, {ratio(causal)} causal; a kernel here is faster "
            f"than cuDNN on {len(won)} of {len(cases)} `mission` rows" + (f", at best {ratio(max(won)[0])}" if won else ""))
    return text, decide(len(won) == len(cases), HOLDS, PARTLY if won else FAILS), "short and ragged rows can be won by hand; long ones need wgmma"


def s4_accepted(rows):
    cases = rows.reports.rows("mission")
    if not cases:
        raise NotMeasured("mission")
    ok = sum(r["status"] == "ok" for r in cases)
    skipped = sum(r["status"] == "skipped" for r in cases)
    odd = sum(r["check"]["nan_count"] + r["check"]["inf_count"] for r in cases if r["check"])
    shapes = len({r["key"].rpartition(".")[0] for r in cases})
    text = f"{ok} of {len(cases)} rows over {shapes} shapes, causal and full, are right before and after timing, {skipped} skipped; {odd} NaN or Inf"
    return text, decide(ok + skipped == len(cases) and odd == 0, HOLDS), "for every variant of the sweep, against an fp64 oracle"


# ---- the five ---------------------------------------------------------------------------------------------------

SEEDS = (
    ("S0", "a kernel that serialises over the batch",
     "S=512, D=64, (B,H) = (1,8), (4,16), (8,16) on an NVIDIA L4: 6.8, 45.3 and 117.2 ms, beside PyTorch's 15.4, 80.3 and 123.5 us.", (
         ("the grid covers S only; batch and heads are looped inside: 6.7x and 17.2x the time", s0_serialised, HOLDS),
         ("expected were 2.0x and 2.7x", s0_expected, FAILS),
         ("grid(blocks of S, B*H) fixes it; success is B=8 in at most 2x the time of B=1", s0_fix, PARTLY))),
    ("S1", "a scalar FlashAttention-1",
     "256 threads, 64 x 64 tiles, one thread per query row, D=64 on an L4: 0.278 ms at S=64 to 2.133 ms at S=512 with B=H=1; PyTorch 0.025 to 0.032 ms.", (
         ("more blocks are worse: 0.543 ms at (1,1), 0.554 at (4,4), 0.747 at (8,4)", s1_flat, FAILS),
         ("2 blocks on 58 SMs are 3.4 % of the GPU", s1_idle, HOLDS),
         ("split K/V: A with atomics, or B in two passes, which is preferred", s1_split, HOLDS),
         ("4 threads per query row, so that all 256 compute", s1_threads, PARTLY),
         ("q tiles of 32", s1_tile, PARTLY),
         ("at S=4, D=4 it beats PyTorch 7.9 times", s1_launch, FAILS),
         ("right: largest difference 0.00195, bar 0.002, no NaN or Inf", s1_right, HOLDS))),
    ("S2", "analysis from benchmark data alone",
     "D=64 on an L4 without a profiler: 0.579 ms at (1,1,128) to 23.9 ms at (16,8,512), 7.2 to 359.4 GFLOP/s.", (
         ("PyTorch takes 0.085 ms at (1,1,128), (4,8,128) and (8,8,128): 6.8 to 14.9 times faster", s2_constant, FAILS),
         ("359.4 GFLOP/s are some percent of 30 TFLOP/s, like PyTorch's 26312.6", s2_roof, FAILS),
         ("PyTorch is 73.2 times faster at (16,8,512)", s2_gap, HOLDS),
         ("the levers are vector loads, padding, launch bounds, persistent blocks and WMMA", s2_levers, PARTLY))),
    ("S3", "huge head dimensions, fp32",
     "One query per block, D = 512, 2048, 4096, 8192: 0.044, 0.156, 0.124 and 0.183 ms, 0.76 to 0.05 TFLOP/s.", (
         ("arithmetic intensity 0.47 to 0.50 FLOP per byte at D=8192 with 16 keys", s3_intensity, HOLDS),
         ("so it is memory-bound, with a cache miss rate of 100 %, at 93 GB/s = 4.7 % of an A100", s3_memory, FAILS),
         ("K and V are read again by every query: 66 MB redundant for 64 queries", s3_reread, HOLDS),
         ("memory alone explains the time; that 16 queries are 16 blocks is not mentioned", s3_blocks, FAILS),
         ("the fix: several queries per block, K/V tiles in shared memory", s3_fix, HOLDS))),
    ("S4", "the tensor-core ladder",
     "B=1, H=8, S=512, D=64 on an L4: scalar 1750 us, WMMA for Q K^T 1980, for both products 1177, with cp.async 1162, PyTorch 31.", (
         ("with WMMA for both products the tensor cores are saturated", s4_saturated, FAILS),
         ("WMMA for Q K^T alone is slower than scalar: 1980 us against 1750", s4_half, FAILS),
         ("cp.async with a producer warp gains nothing: 1177 to 1162 us", s4_async, HOLDS),
         ("XOR swizzle, fused epilogue and persistent blocks come next", s4_planned, PARTLY),
         ("the long shot is to beat SDPA", s4_sdpa, PARTLY),
         ("5 shapes, causal and not, all pass", s4_accepted, HOLDS))),
)


def verdicts(reports):
    """[(id, title, setting, [(claim, measured, verdict, because)])]"""
    rows, out = Rows(reports), []
    for name, title, setting, claims in SEEDS:
        judged = []
        for claim, measure, explained in claims:
            try:
                measured, verdict, because = measure(rows)
                judged.append((claim, measured, verdict, because if verdict == explained else ""))
            except NotMeasured as missing:
                judged.append((claim, "-", UNKNOWN, f"no report has {missing}"))
        out.append((name, title, setting, judged))
    return out
