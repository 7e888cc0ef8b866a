"""Reports that somebody has tampered with: writes one file for each way to do it, and prints its name and what was done.

usage: tamper.py REPORT.json FOLDER [EVERY]     every EVERY-th of the simple ones; all by default
       tamper.py --contradictions REPORT.json FOLDER
       tamper.py --steady|--cpu REPORT.json FOLDER
       tamper.py --journal JOURNAL FOLDER

Every value of two results that the gate rests on (status, check, time, processes), and of the head (run, sweep, summary,
device), is in turn deleted, nulled, zeroed, negated, made huge, tiny, infinite, of another type; lists lose, gain and swap
elements; and then come the tamperings that a clever hand would make. A line of the output is FILE<TAB>WHAT. Those that
may pass, since nothing the verdict rests on has changed, are not written.
"""
import copy
import itertools
import json
import pathlib
import sys

# What the verdict does not rest on: texts that only describe, and readings that nothing is judged by.
HARMLESS = {
    "reason", "math", "oracle", "rows_verified", "max_difference", "max_abs_error", "first_bad", "redzone_first", "stop",
    "warmup_s", "elapsed_s", "power_w", "temperature_c", "started_utc", "command", "filter", "wall_s", "gpu_s", "overhead_s",
    "path", "about", "quick", "baseline", "uuid", "driver_version", "first", "name_reason", "relative", "absolute",
    "driver", "host_cpu", "host_kernel", "compute_mode", "persistence", "profile_launches", "guard", "threads_per_sm",
}
# Values of the check that mean the same or better, and details that only describe the spread of the samples.
MAY_PASS = {"max_bound_ratio": (0, 1e-300, 0.5), "rel_frobenius": (0, 1e-300), "frobenius": (0.5, 1e300),
            "mad_us": (0, 1e-300, 0.5), "min_us": (0.5,), "throttle_reasons": (None,)}
# A status that is not listed is one that no result has.
MAY_GO = {"wrong", "skipped", "planned", "oom_predicted", "error", "crashed", "timeout", "throttle_reasons"}
NUMBERS = [0, -1, 1e300, 1e-300, 0.5]
OTHERS = [None, "7", [], {}, True]


def walk(value, path):
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from walk(value[key], path + [key])
    if isinstance(value, list):
        for i in range(min(len(value), 2)):
            yield from walk(value[i], path + [i])


def parent_of(document, path):
    for step in path[:-1]:
        document = document[step]
    return document


def simple(report, roots):
    for root in roots:
        value = report
        for step in root:
            value = value[step]
        for path, found in list(walk(value, root)):
            if any(step in HARMLESS for step in path):
                continue
            if path[-1] not in MAY_GO:
                yield path, "delete", None
            isnumber = isinstance(found, (int, float)) and not isinstance(found, bool)
            news = NUMBERS + OTHERS if isnumber else OTHERS + [False, "unknown"]
            if isinstance(found, list) and found:
                news = news + [found[:-1], found + [found[-1]], found[::-1]]
            for new in news:
                if any(new is may or new == may != True for may in MAY_PASS.get(path[-1], ())):
                    continue
                if new != found or type(new) is not type(found):
                    yield path, "set", new


def apply(report, path, how, new):
    changed = copy.deepcopy(report)
    parent = parent_of(changed, path)
    if how == "delete":
        del parent[path[-1]]
    else:
        parent[path[-1]] = new
    return changed


def scale(result, mode, factor):
    for key in result["time"][mode]:
        if key.endswith("_us") and isinstance(result["time"][mode][key], float):
            result["time"][mode][key] *= factor
    result["processes"][mode]["median_us"] = [us * factor for us in result["processes"][mode]["median_us"]]


def clever(report):
    """What needs more than one change to look right."""
    for factor in (1e-3, 1e-2, 0.05):
        changed = copy.deepcopy(report)
        for mode in ("cold", "hot"):
            scale(changed["results"][0], mode, factor)
        yield changed, f"all times of a cell times {factor}"
    for mode in ("cold", "hot"):
        changed = copy.deepcopy(report)
        processes = changed["results"][0]["processes"][mode]
        processes["median_us"] = [us if i % 2 == 0 else None for i, us in enumerate(processes["median_us"])]
        yield changed, f"every second {mode} process nulled"
        changed = copy.deepcopy(report)
        for key in ("median_us", "sm_clock_mhz", "throttle_reasons"):
            changed["results"][0]["processes"][mode][key] = changed["results"][0]["processes"][mode][key][:5]
        changed["results"][0]["processes"][mode]["count"] = 5
        yield changed, f"{mode} processes cut to five"
        changed = copy.deepcopy(report)
        changed["results"][0]["time"][mode]["settled"] = False
        yield changed, f"{mode} unsettled"
        changed = copy.deepcopy(report)
        changed["results"][0]["time"][mode]["n"] = 1
        yield changed, f"{mode} of one sample"
        for reason in ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"):
            changed = copy.deepcopy(report)
            changed["results"][0]["processes"][mode]["throttle_reasons"][3] = [reason]
            yield changed, f"{mode} throttled: {reason}"
        changed = copy.deepcopy(report)
        changed["results"][0]["processes"][mode]["sm_clock_mhz"] = [
            mhz * 1.1 for mhz in changed["results"][0]["processes"][mode]["sm_clock_mhz"]]
        yield changed, f"{mode} at a clock 10 % higher"
    for status in ("skipped", "planned"):
        changed = copy.deepcopy(report)
        changed["results"][0].update(status=status, reason="because", time=None)
        changed["results"][0].pop("processes", None)
        yield changed, f"a cell that is {status}"
        changed["summary"]["ok"] -= 1
        changed["summary"][status] += 1
        yield copy.deepcopy(changed), f"a cell that is {status}, and counted so"
    changed = copy.deepcopy(report)
    del changed["results"][0]
    yield changed, "a cell removed"
    changed["run"]["cells"] -= 1
    changed["summary"]["cells"] -= 1
    changed["summary"]["ok"] -= 1
    yield copy.deepcopy(changed), "a cell removed, and counted so"
    changed = copy.deepcopy(report)
    changed["results"][1] = copy.deepcopy(changed["results"][0])
    yield changed, "a cell that stands for another"
    for result in (r for r in [copy.deepcopy(report)]):
        for row in result["results"]:
            row["check"]["right"] = False
        yield result, "every check wrong, every status ok"
    changed = copy.deepcopy(report)
    changed["run"]["started_utc"] = None
    for row in changed["results"]:
        row["check"] = None
    yield changed, "as if entered by hand"
    changed = copy.deepcopy(report)
    changed["sweep"]["gate"] = {"threshold_percent": 50, "cases": []}
    yield changed, "a threshold of its own"
    changed = copy.deepcopy(report)
    changed["sweep"]["gate"] = {"threshold_percent": 0, "cases": [{"glob": "*", "threshold_percent": 50}]}
    yield changed, "a threshold of its own for every case"
    changed = copy.deepcopy(report)
    changed["run"]["profiled"] = "ncu"
    yield changed, "profiled"


# What contradicts itself, its device or the other side. A row is what the change says, and Python over the report `d`:
# its device `g`, a row `r` of it with the check `c`, the evidence `e`, the hot and cold times `h` and `k`, and the
# processes `p` (hot), the ratios `s` and the last launch `l`; `floor` is the share of the times that the shape's floor is. ALONE: each report is refused by itself. BESIDE: only beside the base that it is compared with.
ALONE = [line.split("|", 1) for line in """
a check of one element|c["elements"] = 1
a check of half of the elements|c["elements"] //= 2
a check of more elements than there are|c["elements"] *= 2
a check of no elements|c["elements"] = 0
evidence of one row|e["rows"] = 1
evidence of no rows|e["rows"] = 0
a check of no launches|e["launches"] = 0
a check of one launch|e["launches"] = 1
a check of one launch too few|e["launches"] -= 1
no timed samples checked|e["timed_samples"] = 0
half of the timed samples checked|e["timed_samples"] = (h["n"] + k["n"]) // 2
one timed sample wrong|e["timed_wrong"] = 1
no row of the reference verified|c["oracle"]["rows_verified"] = 0
one row of the reference verified|c["oracle"]["rows_verified"] = 1
an oracle of the CPU that skipped rows|c["oracle"].update(name="cpu_fp64", rows_verified=32)
no oracle|c["oracle"]["name"] = None
a reference that is off by 1|c["oracle"]["max_difference"] = 1.0
a reference that is off by an unknown amount|c["oracle"]["max_difference"] = None
a tolerance of 1|c["tolerance"]["relative"] = 1.0
a tolerance of 2^-5|c["tolerance"]["relative"] = 2**-5
the tolerance of bf16 and more|c["tolerance"]["relative"] = 2**-6
an absolute tolerance of 1|c["tolerance"]["absolute"] = 1.0
a negative tolerance|c["tolerance"]["relative"] = -2**-11
a tolerance that is not known|c["tolerance"]["relative"] = None
a norm's tolerance of 100|c["tolerance"]["frobenius"] = 100
sums in steps of one key|c["tolerance"]["step_keys"] = 1
no hard inputs|e["hard_ratio"] = None
hard inputs outside the bound|e["hard_ratio"] = 1.5
a norm outside the bound|e["norm_ratio"] = 1.5
a norm that is not known|e["norm_ratio"] = None
a row outside the bound|e["max_row_ratio"] = 2.0
a row's ratio that is not known|e["max_row_ratio"] = None
bad rows|e["bad_rows"] = 3
bad elements|c["bad_count"] = 1
a negative error|c["max_abs_error"] = -1.0
no check after timing|c["after_timing"] = False
log-sum-exp asked for and not compared|r["shape"]["lse"] = True; r["key"] += ".lse"
a tensor rate x 100|g["tensor_flop_per_clk_sm"] *= 100
a tensor rate / 100|g["tensor_flop_per_clk_sm"] /= 100
an fp32 rate x 100|g["fp32_flop_per_clk_sm"] *= 100
a DRAM rate x 100|g["dram_gb_per_s"] *= 100
a DRAM rate / 100|g["dram_gb_per_s"] /= 100
both rates x 100|g["tensor_flop_per_clk_sm"] *= 100; g["dram_gb_per_s"] *= 100
an L2 of a terabyte|g["l2_bytes"] = 1 << 40
a highest clock of 19800 MHz|g["sm_clock_max_mhz"] *= 10
a card of 1000 SMs|g["sms"] = 1000
a card of no SMs|g["sms"] = 0
a card with the memory of ten|g["memory_bytes"] *= 10
another compute capability|g["cc_major"] = 8; g["cc_minor"] = 0; g["fp32_flop_per_clk_sm"] = 128
a clock of 19000 MHz|h["sm_clock_mhz"] = p["sm_clock_mhz"][0] = 19000
a clock 10 % above the highest|h["sm_clock_mhz"] = p["sm_clock_mhz"][0] = 1.1 * g["sm_clock_max_mhz"]
a later process at 19000 MHz|p["sm_clock_mhz"][4] = 19000
a clock of 1 MHz|h["sm_clock_mhz"] = p["sm_clock_mhz"][0] = 1
the reference at 19000 MHz|r["speedup_vs"]["hot"]["sm_clock_mhz"] = 19000
a negative power|h["power_w"] = -200
a power of 7 kW|h["power_w"] = 7000
a power limit of 70 kW|g["policy"]["power_limit_w"] = 70000
a temperature below every cooler's|h["temperature_c"] = -40
a temperature of 200 degrees|k["temperature_c"] = 200
a requested clock that is negative|g["policy"]["application_sm_clock_mhz"] = -1980
a negative wall of a cell|r["wall_s"] = -1
a wall of ten years|r["wall_s"] = 3.2e8
a negative time on the GPU|r["gpu_s"] = -1
more time on the GPU than in all|r["gpu_s"] = 2 * r["wall_s"]
a wall shorter than its samples|r["wall_s"] = h["elapsed_s"] / 2; r["gpu_s"] = 0
a negative wall of the run|d["run"]["wall_s"] = -5
a negative warm-up|h["warmup_s"] = -1
a negative time of sampling|h["elapsed_s"] = -1
sampling that took no time|h["elapsed_s"] = 0
sampling shorter than the samples|k["elapsed_s"] = k["n"] * k["median_us"] * 1e-6 / 2
samples of more launches than there was time for|h["launches_per_sample"] *= 100
cold samples of two launches|k["launches_per_sample"] = 2
samples of no launches|h["launches_per_sample"] = 0
a check of negative duration|e["seconds"] = -1
an event overhead below nothing|g["event_overhead_us"] = -5
an event overhead of a second|g["event_overhead_us"] = 1e6
a deviation above every sample's|h["mad_us"] = h["max_us"] - h["min_us"]
a negative deviation|h["mad_us"] = -1
quartiles out of order|h["p25_us"], h["p75_us"] = h["p75_us"], h["p25_us"]
an interval beside the median|h["ci95_low_us"] = h["ci95_high_us"] = h["max_us"]
launches that skip work|e["changed_us"] = 1e6
launches that skip half of the work|e["changed_us"] = 2 * h["median_us"] + 3
hot times below the floor|scale(r, "hot", 0.9 * floor["hot"])
cold times below the floor|scale(r, "cold", 0.9 * floor["cold"])
a later process below the floor|p["median_us"][5] *= 0.9 * floor["hot"]
skipped with its times kept|r.update(status="skipped", reason="because")
planned with its times kept|r.update(status="planned", reason="because")
skipped with its check kept|r.update(status="skipped", reason="because", time=None); del r["processes"]
skipped with its processes kept|r.update(status="skipped", reason="because", time=None, check=None)
processes of cold times alone|del r["processes"]["hot"]
an interval between processes that is not theirs|r["between_processes"] = {"hot": {"median_us": 1.09 * sorted(p["median_us"])[len(p["median_us"]) // 2]}}
a first process that is not the time|p["median_us"][0] *= 1.001
a thread that waited for less than no time|h["waited_ratio"] = -0.5
less than no load|h["others_load"] = -0.5
an event overhead above every cold time|g["event_overhead_us"] = 1 + max(r["time"]["cold"]["max_us"] for r in d["results"] if r["time"])
a ratio from one round|r["speedup_vs"]["hot"]["rounds"] = 1
a ratio from five rounds|r["speedup_vs"]["hot"]["rounds"] = 5
a ratio whose halves differ by more than its rounds|s = r["speedup_vs"]["hot"]; s["drift_ratio"] = s["ci95_high"] / s["ci95_low"] - 0.999
one sample of several times|h["n"] = 1
no deviation between quartiles|h["p25_us"], h["p75_us"], h["mad_us"] = h["min_us"], h["p95_us"], 0
no error beside a norm of errors|c["max_abs_error"] = c["max_bound_ratio"] = 0
no error beside a ratio of errors|c["max_abs_error"] = c["rel_frobenius"] = 0
errors that are 0 times their bound|c["max_bound_ratio"] = 0
no row compared after timed samples|e["timed_rows_ratio"] = 0
more than all rows compared after timed samples|e["timed_rows_ratio"] = 2
a race that is never found|e["race_found_ratio"] = 0
a race that is found more often than samples allow|e["timed_samples"] //= 2
a race of which nothing is known|del e["race_found_ratio"]
no rows of timed samples in a version that tells them|del e["timed_rows_ratio"], e["race_found_ratio"]; d["tool"]["version"] = "0.3.0"
a run that was shorter than a cell|d["run"]["wall_s"] = r["wall_s"] / 2
a run of no duration|d["run"]["wall_s"] = 0
a run that started on no date|d["run"]["started_utc"] = "yesterday"
a run that started in the 13th month|d["run"]["started_utc"] = "2026-13-01T00:00:00Z"
ratios to the reference five times what both rows' times give|[s[m].update({q: 5 * s[m][q] for q in ("ratio", "ci95_low", "ci95_high")}) for m in ("hot", "cold")]
a hot ratio to the reference a third of what both rows' times give|s["hot"].update({q: s["hot"][q] / 3 for q in ("ratio", "ci95_low", "ci95_high")})
a row that is its own reference|s["reference"] = r["variant"]
memsets of a second in a launch|s["hot"].update(reference_memset_us=1e6, memset_us=0.001, kernels_alone=100)
a ratio of kernels alone that does not follow|s["hot"].update(reference_memset_us=0.001, memset_us=0.001, kernels_alone=2 * s["hot"]["ratio"])
memsets without a ratio of kernels alone|s["hot"]["memset_us"] = 0.5
cells that took longer together than their run|d["run"]["wall_s"] = 1.2 * max(x["wall_s"] for x in d["results"])
100000 samples in a time long enough|h.update(n=100000, elapsed_s=0.2 * h["median_us"]); r["wall_s"] += h["elapsed_s"]; d["run"]["wall_s"] += r["wall_s"]; e["timed_samples"] = 200000; e["race_found_ratio"] = 1
samples that ended for a narrow interval, which is wide|k.update(stop="interval", ci95_low_us=0.98 * k["median_us"], ci95_high_us=1.02 * k["median_us"], p25_us=k["median_us"], p75_us=k["median_us"], min_us=0.9 * k["median_us"], p95_us=1.1 * k["median_us"], max_us=1.1 * k["median_us"])
a first process that was throttled where its time was not|p["throttle_reasons"][0] = ["hw_slowdown"]
a time that was throttled where its first process was not|h["throttle_reasons"] = ["hw_slowdown"]
a reading of twice the card's power limit|h["power_w"] = 2 * g["policy"]["power_limit_w"]
a clock above the highest that may be asked for|g["policy"]["max_sm_clock_mhz"] = 0.9 * h["sm_clock_mhz"]
a clock asked for above the highest that may be|g["policy"]["application_sm_clock_mhz"] = 1.1 * g["policy"]["max_sm_clock_mhz"]
a driver too old for its runtime|g["driver_version"] = g["runtime_version"] - 1000
a workspace larger than the card's memory|r["plan"]["workspace_bytes"] = 2 * g["memory_bytes"]
a block of 4096 threads|l["block"] = [4096, 1, 1]
more shared memory than a block may have|l["dynamic_smem_bytes"] = g["smem_per_block_bytes"] + 1024
more registers than a thread may have|l["registers"] = 256
more resident blocks than an SM may have|l["resident_blocks"] = g["blocks_per_sm"] + 1
more resident threads than an SM has|l["resident_blocks"] = g["threads_per_sm"] // (l["block"][0] * l["block"][1] * l["block"][2]) + 1
a cluster of 32 blocks|l["cluster"] = [32, 1, 1]; l["grid"][0] = 32
a grid that clusters do not fill|l["cluster"] = [2, 1, 1]; l["grid"][0] = 3
a pass longer than all|l["cold_us"] = 1e6
an absolute error larger than every output|c["max_abs_error"] = 1.0
checks that took longer than the cell|e["seconds"] = 10 * r["wall_s"]
growing maxima that make it a thousand times faster|r["data_dependence_ratio"] = 0.001
growing maxima of a negative ratio|r["data_dependence_ratio"] = -1
timed in a run that only launches for a profiler|d["run"]["profile_launches"] = 1
a kernel of a GPU that computes on the host|r["math"] = "fp32_host"
a thread that waited for a processor, on a GPU|h["waited_ratio"] = 0.5
load of a CPU, on a GPU|h["others_load"] = 0.5
energy without a steady time|h["energy_j"] = 1
rounding errors of inputs beyond their largest|c["oracle"].update(quantisation_rows=5, quantisation_rmse=2, quantisation_max=1)
steps of `ab` that end with six pairs|d["run"]["in_steps"] = True; [q.update({n: v[:6] for n, v in q.items() if n != "count"}, count=6) for q in r["processes"].values()]
a rate that is not the operations over the time|r["tflop_per_s"]["hot"] *= 2
a rate of memory that is not the bytes over the time|r["gb_per_s"]["cold"] *= 2
operations that are not the shape's|r["flops"] *= 2
bytes that are not the shape's|r["bytes"] *= 2
a floor that is not the shape's|r["roof"]["hot"]["floor_us"] /= 2
a share of the roof that is not the time's|r["roof"]["hot"]["ratio"] = 0.99
device time that is not that of the cells|d["run"]["gpu_s"] *= 2
""".strip().splitlines()]
BESIDE = [line.split("|", 1) for line in """
tensor and DRAM rates a tenth higher|g["tensor_flop_per_clk_sm"] *= 1.1; g["dram_gb_per_s"] *= 1.1
no DRAM rate|g["dram_gb_per_s"] = 0
a highest clock a tenth higher|g["sm_clock_max_mhz"] *= 1.1
an L2 of half the size|g["l2_bytes"] //= 2
another event constant and times to fit|g["sms"] -= 1
a check without its evidence|del c["evidence"]; c["tolerance"]["frobenius"] = 1
a tolerance twice the base's|c["tolerance"]["relative"] *= 2
a check by another program's oracle|c["oracle"].update(name="torch_fp64", rows_verified=0); e["launches"] = 1; e["timed_samples"] = 0
a check by an oracle that nobody knows|c["oracle"]["name"] = "mine"
a row that is skipped here alone|r.update(status="skipped", reason="because", time=None, check=None); del r["processes"]
a cell less|d["results"].remove(r); d["run"]["cells"] -= 1
no start, as if entered by hand|d["run"]["started_utc"] = None
""".strip().splitlines()]

# The same of one report with steady times, and of one of a CPU.
STEADY = [line.split("|", 1) for line in """
energy that is not the power over the time|t["energy_j"] *= 1.1
negative energy|t["energy_j"] *= -1
energy and power above the card's limit|t["energy_j"] *= 2 * g["policy"]["power_limit_w"] / t["power_w"]; t["power_w"] = 2 * g["policy"]["power_limit_w"]
a steady ratio that is not that of the steady times|s["steady"].update({q: 3 * s["steady"][q] for q in ("ratio", "ci95_low", "ci95_high")})
a steady rate that is not the operations over the time|r["tflop_per_s"]["steady"] *= 2
""".strip().splitlines()]
CPU = [line.split("|", 1) for line in """
the oracle of a GPU|c["oracle"]["name"] = "gpu_fp64"
tensor cores|r["math"] = "tensor"
an SM clock|h["sm_clock_mhz"] = p["sm_clock_mhz"][0] = 1500
reasons for a lower clock|h["throttle_reasons"] = p["throttle_reasons"][0] = ["hw_slowdown"]
power|h["power_w"] = 100
a temperature|k["temperature_c"] = 50
a wait longer than the time|h["waited_ratio"] = 2
no thread|g["sms"] = 0
growing maxima of a negative ratio|r["data_dependence_ratio"] = -1
""".strip().splitlines()]

# The same of a journal of several rounds with all samples (--rounds, --samples): its header `run`, the lines `cells` and
# `again` of a timed cell, its last line `end`.
JOURNAL = [line.split("|", 1) for line in """
no line of a later round|lines[:] = [line for line in lines if "again" not in line]
no line of the last round|lines[:] = [line for line in lines if line.get("again", {}).get("round") != 2]
one line of the last round missing|lines.remove(again[-1])
fewer rounds than were measured|run["setup"]["rounds"] = 2
more rounds than were measured|run["setup"]["rounds"] = 6
a median that is not of its samples|hot["median_us"] *= 1.0001
a quartile that is not of its samples|hot["p25_us"] = hot["min_us"]
an upper quartile that is not of its samples|hot["p75_us"] = hot["max_us"]
a 95th percentile that is not of its samples|hot["p95_us"] = hot["max_us"]
a deviation that is not of its samples|hot["mad_us"] = 0
an interval that is not of its samples|hot["ci95_low_us"] = hot["ci95_high_us"] = hot["median_us"]
a minimum that is not of its samples|hot["min_us"] *= 0.999
a maximum that is not of its samples|hot["max_us"] *= 1.001
another number of samples|hot["n"] -= 1
one sample changed|hot["samples_us"][0] = 1e6
one sample less|del hot["samples_us"][-1]
a later median that is not of its samples|later["median_us"] *= 1.0001
a later quartile that is not of its samples|later["p25_us"] = later["min_us"]
a later deviation that is not of its samples|later["mad_us"] = 0
a later interval that is not of its samples|later["ci95_high_us"] = later["max_us"]
another number of later samples|later["n"] += 1
no samples of a first round|del hot["samples_us"], later["samples_us"]; del again[1]["again"]["time"]["hot"]["samples_us"]
no samples of a later round|del later["samples_us"]
one later sample changed|later["samples_us"][3] = 1e6
later times halved|later.update({key: later[key] / 2 for key in later if key.endswith("_us") and key != "samples_us"})
later quantiles out of order|later.update(p25_us=later["max_us"], samples_us=None)
later samples of no duration|later["elapsed_s"] = 0
a later clock of 19000 MHz|later["sm_clock_mhz"] = 19000
a negative wall of a later round|again[0]["again"]["wall_s"] = -1
a negative wall of the run|end["wall_s"] = -1
a time of a mode that the run was not to take|run["setup"]["modes"] = "hot"
a ratio to another reference than the run's|run["setup"]["reference"] = "cpu_flash"
no slowdown where the run put one in|run["setup"]["inject"] = "*/" + cell["variant"] + ":5"
a later round shorter than its samples|again[0]["wall_s"] = again[0]["gpu_s"] = later["elapsed_s"] / 2
a run shorter than its cells together|end["wall_s"] = 1.2 * max(line["cell"]["wall_s"] + sum(a["again"]["wall_s"] for a in lines if a.get("again", {}).get("key") == line["cell"]["key"] and a["again"]["variant"] == line["cell"]["variant"]) for line in lines if "cell" in line)
""".strip().splitlines()]


def with_processes(report):
    """The cells of a report's first case as if seven processes had measured them, so that they compare with themselves."""
    report["results"] = [row for row in report["results"] if row["key"] == report["results"][0]["key"]]
    report["run"]["cells"] = len(report["results"])
    count_again(report)
    for row in report["results"]:
        if row["status"] != "ok":
            continue
        row["processes"] = {}
        evidence = row["check"]["evidence"]
        evidence.update(changed_us=row["time"]["hot"]["median_us"], timed_rows_ratio=1,
                        race_found_ratio=1 - (1 - 1 / 50) ** evidence["timed_samples"])
        for mode, time in row["time"].items():
            time["settled"] = True
            row["processes"][mode] = {
                "count": 7, "median_us": [time["median_us"] * (1 + i % 3 / 1000) for i in range(7)],
                "sm_clock_mhz": [time["sm_clock_mhz"]] * 7, "throttle_reasons": [[]] * 7}
    return report


def count_again(report):
    """Makes the summary that of the results."""
    statuses = [row["status"] for row in report["results"]]
    report["summary"]["cells"] = len(statuses)
    for status in set(report["summary"]) - {"cells", "exit_code"}:
        report["summary"][status] = statuses.count(status)


# What follows from the rest: taken out of a report in which the rest was changed, since it would give every change away.
DERIVED = ("flops", "bytes", "flop_per_byte", "tflop_per_s", "gb_per_s", "roof")


def contradict(report, statement):
    d = copy.deepcopy(report)
    r = next(row for row in d["results"] if row["status"] == "ok" and row["speedup_vs"] and row["speedup_vs"]["hot"])
    floor = {mode: r["roof"][mode]["floor_us"] / r["time"][mode]["median_us"] for mode in r["time"] if (r["roof"] or {}).get(mode)}
    names = {"floor": floor, "d": d, "g": d["device"], "r": r, "c": r["check"], "e": r["check"]["evidence"], "h": r["time"]["hot"],
             "k": r["time"].get("cold"), "t": r["time"].get("steady"), "p": r.get("processes", {}).get("hot"),
             "s": r["speedup_vs"], "l": r["launches"][-1] if r["launches"] else None, "scale": scale}
    exec(statement, names)
    count_again(d)
    if not any(f'"{key}"' in statement for key in (*DERIVED, "gpu_s")):
        drop_derived(d)
    return d


def contradict_journal(text, statement):
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.pop("checksum", None)
    cell = next(line["cell"] for line in lines if line.get("cell", {}).get("status") == "ok")
    again = [line for line in lines if line.get("again", {}).get("variant") == cell["variant"]
             and line["again"]["key"] == cell["key"]]
    exec(statement, {"lines": lines, "run": lines[0]["run"], "cell": cell, "again": again, "hot": cell["time"]["hot"],
                     "later": again[0]["again"]["time"]["hot"], "end": lines[-1]["end"]})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def read_report(path):
    report = json.loads(pathlib.Path(path).read_text())
    for key in ("has_checksum", "checksum"):
        report.pop(key, None)
    return report


def checksum_of(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def write_report(path, document):
    """With the checksum that it has to have: another one would give away every change."""
    if not isinstance(document, dict):
        path.write_text(json.dumps(document))
        return
    data = json.dumps({"has_checksum": True, **document}, separators=(",", ":"))[:-1].encode()
    path.write_bytes(data + b',\n\t"checksum":\t"%016x"\n}\n' % checksum_of(data))


def drop_derived(report):
    for row, key in itertools.product(report["results"], DERIVED):
        row.pop(key, None)
    report["run"].pop("gpu_s", None)


def contradictions(source, folder):
    """base.json and one report per row of ALONE and BESIDE: prints FILE<TAB>alone or beside<TAB>WHAT."""
    report = with_processes(read_report(source))
    report["run"]["gpu_s"] = sum(row["gpu_s"] or 0 for row in report["results"])
    folder = pathlib.Path(folder)
    write_report(folder / "base.json", report)
    for kind, rows in (("alone", ALONE), ("beside", BESIDE)):
        for i, (what, statement) in enumerate(rows):
            path = folder / f"{kind}{i:02}.json"
            write_report(path, contradict(report, statement))
            print(path, kind, what, sep="\t")


def one_list(rows):
    """base.json and one report per row, each of which is refused alone."""
    def write(source, folder):
        report, folder = read_report(source), pathlib.Path(folder)
        write_report(folder / "base.json", report)
        for i, (what, statement) in enumerate(rows):
            write_report(folder / f"{i:02}.json", contradict(report, statement))
            print(folder / f"{i:02}.json", "alone", what, sep="\t")
    return write


def journal_contradictions(source, folder):
    """The journal written anew, same.journal, and one per row of JOURNAL: prints FILE<TAB>journal<TAB>WHAT."""
    text = pathlib.Path(source).read_text()
    (pathlib.Path(folder) / "same.journal").write_text(contradict_journal(text, ""))
    for i, (what, statement) in enumerate(JOURNAL):
        path = pathlib.Path(folder) / f"{i:02}.journal"
        path.write_text(contradict_journal(text, statement))
        print(path, "journal", what, sep="\t")


def every_value(source, folder, every="1"):
    report = read_report(source)
    drop_derived(report)
    folder = pathlib.Path(folder)
    roots = [["results", 0, key] for key in ("key", "variant", "shape", "status", "check", "time", "processes")]
    roots += [["results", 7, "status"], ["results", 7, "time", "hot"], ["results", 7, "processes"]]
    roots += [["schema"], ["run", "seed"], ["run", "cells"], ["run", "state"], ["sweep", "hash"], ["summary"]]
    roots += [["device", key] for key in ("kind", "name", "cc_major", "sms", "memory_bytes", "runtime_version")]
    tampered = [(apply(report, path, how, new), f"{how} {'.'.join(map(str, path))} {json.dumps(new)[:60]}")
                for path, how, new in list(simple(report, roots))[::int(every)]]
    tampered += list(clever(report))
    for i, (document, what) in enumerate(tampered):
        path = folder / f"{i:04}.json"
        write_report(path, document)
        print(path, what, sep="\t")


if __name__ == "__main__":
    modes = {"--contradictions": contradictions, "--journal": journal_contradictions, "--steady": one_list(STEADY),
             "--cpu": one_list(CPU)}
    if sys.argv[1] in modes:
        modes[sys.argv[1]](*sys.argv[2:])
    else:
        every_value(*sys.argv[1:])
