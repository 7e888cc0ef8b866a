"""Which metrics of ncu give a counter, and what their values mean."""
import math
import re

from .program import INTERNAL, Failure

SECTOR_BYTES = 32


def same(value):
    return value


def percent(value):
    return value / 100


def share(part, *others):
    total = part + sum(others)
    return part / total if total else None


def total(*values):
    return sum(values)


# key -> ways to get it, the best first: (ncu metrics, how the value is made of theirs in base units: ns, byte, Hz).
# Names differ between GPUs and ncu versions: the first way whose metrics this ncu knows for this GPU is taken. Every one
# of the first ways was found in ncu's own lists for sm_80, sm_89 and sm_90, unless its comment says otherwise.
QUANTITIES = {
    "gpu_time_us": [(["gpu__time_duration.sum"], lambda ns: ns * 1e-3)],
    "sm_cycles": [(["sm__cycles_elapsed.max"], same)],
    "dram_read_bytes": [(["dram__bytes_read.sum"], same)],
    "dram_write_bytes": [(["dram__bytes_write.sum"], same)],
    # What the SMs ask for. lts__t_bytes would also count the traffic between the two halves of L2.
    "l2_bytes": [(["lts__t_sectors_srcunit_tex.sum"], lambda sectors: sectors * SECTOR_BYTES)],
    "l2_hit_ratio": [(["lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum"], share),
                     (["lts__t_sector_hit_rate.pct"], percent)],
    # Matrix products alone where that can be had: sm_90 runs some HFMA2 on the tensor pipe too.
    "tensor_pipe_ratio": [(["sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active"
                            ".avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"], percent)],
    "issue_ratio": [(["smsp__issue_active.avg.pct_of_peak_sustained_active"], percent),
                    (["sm__inst_issued.avg.pct_of_peak_sustained_active"], percent)],
    "achieved_occupancy_ratio": [(["sm__warps_active.avg.pct_of_peak_sustained_active"], percent)],
    "shared_wavefronts": [(["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], same)],
    "shared_bank_conflicts": [(["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"], same)],
    # Counted by instrumented code, from the addresses alone.
    "shared_excess_wavefronts": [(["memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"],
                                  lambda real, ideal: max(0.0, real - ideal))],
    "global_load_requests": [(["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], same)],
    "global_load_sectors": [(["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], same)],
    "global_sectors": [(["memory_l2_theoretical_sectors_global"], same)],
    "global_excess_sectors": [(["memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"],
                               lambda real, ideal: max(0.0, real - ideal))],
    "local_bytes": [(["l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum"],
                     total)],
}
# For check_against_ncu and timer_truth; not part of a counter file.
EXTRAS = {
    "registers": [(["launch__registers_per_thread"], same)],
    "waves": [(["launch__waves_per_multiprocessor"], same)],
    "occupancy_ratio": [(["sm__maximum_warps_per_active_cycle_pct"], percent)],
    "l1_hit_ratio": [(["l1tex__t_sector_hit_rate.pct"], percent)],
    # Over the SMs' side of the crossbar, where requests of neighbouring SMs are not yet joined.
    "crossbar_bytes": [(["l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum"],
                        lambda read, written: (read + written) * SECTOR_BYTES)],
    "global_load_store_sectors": [(["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], total)],
    # cp.async past L1: what came for it less what was asked for.
    "copy_excess_bytes": [(["smsp__sass_l1tex_m_xbar2l1tex_read_sectors_mem_global_op_ldgsts_cache_bypass.sum",
                            "smsp__sass_data_bytes_mem_global_op_ldgsts_cache_bypass.sum"],
                           lambda sectors, asked: max(0.0, sectors * SECTOR_BYTES - asked))],
    "sm_clock_mhz": [(["gpc__cycles_elapsed.avg.per_second"], lambda hz: hz * 1e-6)],
    "tensor_flops": [([f"sm__ops_path_tensor_op_{op}.sum" for op in  # sm_90
                       ("hmma_src_fp16_dst_fp32", "hmma_src_bf16_dst_fp32", "hgmma_src_fp16", "hgmma_src_bf16_dst_fp32")],
                      total),
                     (["sm__ops_path_tensor_src_fp16_dst_fp32.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"], total)],
}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active"
STALLS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
          "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
          "short_scoreboard", "sleeping", "tex_throttle", "wait")
# What versions of ncu call a unit, and how many base units (ns, byte, Hz) it is.
UNITS = {"": 1, "nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9,
         "byte": 1, "B": 1, "Kbyte": 1e3, "KB": 1e3, "Mbyte": 1e6, "MB": 1e6, "Gbyte": 1e9, "GB": 1e9, "Tbyte": 1e12,
         "TB": 1e12, "hz": 1, "Hz": 1, "cycle/second": 1, "cycle/s": 1, "Khz": 1e3, "KHz": 1e3, "cycle/msecond": 1e3,
         "Mhz": 1e6, "MHz": 1e6, "cycle/usecond": 1e6, "cycle/us": 1e6, "Ghz": 1e9, "GHz": 1e9, "cycle/nsecond": 1e9,
         "cycle/ns": 1e9}
SCALED = re.compile("duration|bytes|per_second")  # metrics whose unit ncu may choose; all others are counts or shares


def number(text, unit, name):
    """A metric's value in base units; None where there is no number ("n/a", "nan", "")."""
    if unit not in UNITS and SCALED.search(name):
        raise Failure(INTERNAL, f'ncu gives {name} in "{unit}", a unit that attnbench does not know')
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value * UNITS.get(unit, 1) if math.isfinite(value) else None


def stall_metrics(known):
    """{reason: metric} of the reasons that this ncu knows; of all in the list when what it knows is not known."""
    if known is None:
        return {reason: STALL.format(reason) + ".ratio" for reason in STALLS}
    pattern = re.compile(STALL.format("([a-z_]+)").replace(".", r"\.") + "$")
    found = (pattern.match(name) for name in sorted(known))
    # A part of a reason, such as mio_throttle_pipe_mio, would be counted twice.
    whole = (match for match in found if match and not match.group(1).endswith("_pipe_mio"))
    return {match.group(1): match.group(0) + ".ratio" for match in whole}


class Metrics:
    """Which metrics to ask for, and what a kernel's values mean."""

    def __init__(self, keys, stalls, known, refused=()):
        """known: the names that --query-metrics lists, without suffix; None when it could not be asked."""
        self.known, self.refused = known, set(refused)
        table = {**QUANTITIES, **EXTRAS}
        self.way = {key: next((way for way in table[key] if all(map(self.has, way[0]))), None) for key in keys}
        self.stalls = {reason: name for reason, name in stall_metrics(known).items() if stalls and self.has(name)}

    def has(self, name):
        # The list leaves out what ncu does not count but derives: launch__*, memory_*, sm__maximum_*.
        base = name.split(".")[0]
        listed = "." not in name or self.known is None or base in self.known
        return listed and not {name, base} & self.refused

    def missing(self):
        return [key for key, way in self.way.items() if way is None]

    def names(self):
        wanted = [name for way in self.way.values() if way for name in way[0]] + list(self.stalls.values())
        return list(dict.fromkeys(wanted))

    def values(self, raw):
        """{key: value or None} of one kernel from {metric: value}."""
        out = {}
        for key, way in self.way.items():
            inputs = [raw.get(name) for name in way[0]] if way else [None]
            out[key] = None if None in inputs else way[1](*inputs)
        out["stalls"] = {reason: raw[name] for reason, name in self.stalls.items() if raw.get(name) is not None}
        return out


def top_stall(stalls):
    """The reason that holds most warps, and its share of all warps that were looked at; issuing is no stall."""
    waiting = {reason: value for reason, value in stalls.items() if reason != "selected"}
    everything = sum(stalls.values())
    if not waiting or not everything:
        return None
    name = max(sorted(waiting), key=waiting.get)
    return {"name": name, "ratio": waiting[name] / everything}
