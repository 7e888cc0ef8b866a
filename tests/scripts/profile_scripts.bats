# tags: long slow unsanitized
# scripts/profile_sweep.py, check_against_ncu and timer_truth with stand-ins for ncu, nsys and a GPU run (tests/fakes): everything but
# the counters is real, the report being one that an H200 wrote.
load ../helper

setup_file() {
  KEPT=$(file_folder)
  export KEPT
  "$ATTNBENCH" report tests/data/v3.journal --json "$KEPT/v3.json" >/dev/null
}

setup() {
  # The interpreter itself: python3 in PATH may be a slow wrapper.
  export PATH=$ROOT/tests/fakes:${ATTN_PYTHON%/*}:$PATH PYTHONDONTWRITEBYTECODE=1
  export FAKE_REPORT=$TMP/times.json
  unset NCU NSYS FAKE_NCU FAKE_NCU_SCALE FAKE_NSYS FAKE_NSYS_OFF_US FAKE_EXIT FAKE_REPORT_EXIT FAKE_PIDS
  some_of serial scalar wmma split_kv cudnn
}

# The rows of some variants of a measured sweep's first case, which do not change when the sweep is measured again.
some_of() {
  local kept
  kept=$KEPT/$(printf '%s-' "$@").json
  [ -e "$kept" ] || python - "$KEPT/v3.json" "$kept" "$@" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
report["results"] = [r for r in report["results"] if r["variant"] in sys.argv[3:] and r["key"] == report["results"][0]["key"]]
report["run"]["cells"] = report["summary"]["cells"] = report["summary"]["ok"] = len(report["results"])
json.dump(report, open(sys.argv[2], "w"))
PY
  cp "$kept" "$FAKE_REPORT"
}

# The stand-in for ncu says of each of split_kv's passes what the report says it took.
expect_pass_times() {
  local said
  said=$(json "$FAKE_REPORT" '[round(p["cold_us"], 1) for r in d["results"] if r["variant"] == "split_kv" for p in r["launches"]]')
  expect_json "$1" "[round(p['gpu_time_us'], 1) for r in d['rows'] if r['variant'] == 'split_kv' for p in r['passes']] == $said"
}

script() {
  local name=$1
  shift
  capture python "scripts/$name" --attnbench "$ROOT/tests/fakes/attnbench" --sweep shapes/v3.json "$@"
}

@test "profile prints the commands it would run, and runs nothing" {
  must 0 capture python scripts/profile_sweep.py --tool ncu --sweep shapes/v3.json --variants wmma,scalar --filter H=8 --launches 3 \
    --cache hot --json out.json --attnbench ./attnbench --print-command
  sed 's/--metrics [^ ]*/--metrics METRICS/' "$OUT" | diff - <(cat <<'END'
ncu --nvtx --nvtx-include attnbench@profile/ --clock-control none --cache-control none --metrics METRICS --force-overwrite --export profile ./attnbench --sweep shapes/v3.json --device cuda --variants wmma,scalar --filter H=8 --profile=3 --json profile.json
ncu --import profile.ncu-rep --csv --page raw --print-units base --print-kernel-base demangled
./attnbench --sweep shapes/v3.json --device cuda --variants wmma,scalar --filter H=8 --json times.json
./attnbench report times.json --counters counters.json --json out.json
END
  ) || fail "another command"
  must 0 capture python scripts/profile_sweep.py --tool nsys --sweep shapes/v3.json --attnbench ./attnbench --out v3.nsys-rep --print-command
  diff "$OUT" <(cat <<'END'
nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite=true -o v3 ./attnbench --sweep shapes/v3.json --device cuda --profile=1 --json profile.json
nsys export --type=sqlite --force-overwrite=true -o profile.sqlite v3.nsys-rep
END
  ) || fail "another command"
}

@test "profile gives every kernel of ncu to the cell and pass that launched it" {
  must 0 script profile_sweep.py --tool ncu --launches 2 --counters "$TMP/c.json" --json "$TMP/r.json" --out "$TMP/kept.ncu-rep"
  expect_json "$TMP/c.json" 'd["schema"] == "attnbench.counters/1" and d["source"] == "ncu 2025.3.1"
    and d["cache"] == "cold" and d["launches"] == 2'
  expect_json "$TMP/c.json" '[(r["variant"], len(r["passes"])) for r in d["rows"]]
    == [("serial", 1), ("scalar", 1), ("wmma", 1), ("split_kv", 2), ("cudnn", 1)]'
  # Each row's numbers are its own.
  expect_pass_times "$TMP/c.json"
  expect_json "$TMP/c.json" 'all(p["dram_read_bytes"] * len(r["passes"]) == 1572864 for r in d["rows"] for p in r["passes"])'
  expect_json "$TMP/c.json" 'd["rows"][2]["passes"][0]["top_stall"] == {"name": "long_scoreboard", "ratio": 3 / 5.5}
    and d["rows"][2]["passes"][0]["shared_excess_wavefronts"] == 200000
    and d["rows"][2]["passes"][0]["issue_ratio"] == 0.3125'
  # What this ncu does not list is left out, and said.
  expect_json "$TMP/c.json" '"local_bytes" not in d["rows"][0]["passes"][0]'
  expect_err_matches 'counts nothing on this GPU for .*local_bytes; left out'
  expect_json "$TMP/r.json" 'all(len(r["counters"]) == len(r["launches"]) and r["time"] for r in d["results"])'
  expect_out 'long_scoreboard 55 %'
  [ -s "$TMP/kept.ncu-rep" ] || fail "the tool's report was not kept"
}

@test "a counter file says only what its format knows" {
  must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_json "$TMP/c.json" 'set(d) == {"schema", "source", "cache", "launches", "rows"} and all(set(r) == {"key", "variant", "passes"}
    for r in d["rows"]) and {k for r in d["rows"] for p in r["passes"] for k in p} <= {"kernel", "grid", "block", "gpu_time_us",
    "sm_cycles", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "l2_hit_ratio", "tensor_pipe_ratio", "issue_ratio",
    "achieved_occupancy_ratio", "shared_wavefronts", "shared_bank_conflicts", "shared_excess_wavefronts",
    "global_load_requests", "global_load_sectors", "global_sectors", "global_excess_sectors", "local_bytes", "top_stall"}'
}

@test "the report verb takes the counters" {
  "$ATTNBENCH" --help all | grep -q -- --counters || skip "this attnbench has no report --counters"
  must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  must 0 attn report "$FAKE_REPORT" --counters "$TMP/c.json" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["counters"] for r in d["results"])'
}

@test "profile with nsys has durations, and keeps the order" {
  must 0 script profile_sweep.py --tool nsys --launches 3 --counters "$TMP/c.json"
  expect_json "$TMP/c.json" 'd["source"] == "nsys 2025.3.1" and d["cache"] == "hot"
    and all(p["gpu_time_us"] == 12.5 for r in d["rows"] for p in r["passes"])'
}

@test "a capture that is not the cells' kernels is an error that names the first one, and writes nothing" {
  for mode in lacks_kernel extra_kernel other_kernel other_grid other_cell; do
    FAKE_NCU=$mode must 4 script profile_sweep.py --tool ncu --counters "$TMP/c.json" --json "$TMP/r.json" --out "$TMP/kept"
    expect_err 'nothing was attributed'
    expect_no_out
    [ ! -e "$TMP/c.json" ] && [ ! -e "$TMP/r.json" ] && [ ! -e "$TMP/kept" ] || fail "$mode left an output"
  done
  FAKE_NCU=other_kernel script profile_sweep.py --tool ncu
  expect_err 'kernel 2 of ncu is flush_kernel grid (8,1,8) block (256,1,1) where B1.H8.Hkv8.Sq512.Skv512.D64.f16.full scalar'
  FAKE_NSYS=lacks_kernel must 4 script profile_sweep.py --tool nsys
  expect_err 'kernel 1 of nsys is scalar_kernel'
}

@test "a metric that ncu refuses costs that metric only" {
  FAKE_NCU=unknown_metric must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_json "$TMP/c.json" 'd["rows"][0]["passes"][0]["top_stall"] == {"name": "long_scoreboard", "ratio": 0.6}'
}

@test "without permission, tool or GPU the reason is said" {
  FAKE_NCU=no_permission must 9 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_err 'ERR_NVGPUCTRPERM'
  expect_err_lines 1
  FAKE_NCU=crashes must 9 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_err 'Internal error'
  FAKE_EXIT=77 must 77 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  NCU=/nowhere/ncu must 9 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_err '/nowhere/ncu: not found; install Nsight Compute'
  [ ! -e "$TMP/c.json" ] || fail "an output is there"
}

@test "a cell that failed costs only itself, and the exit code" {
  python - <<'PY'
import json, os
report = json.load(open(os.environ["FAKE_REPORT"]))
report["results"][1].update(status="error", reason="no memory", time=None)
json.dump(report, open(os.environ["FAKE_REPORT"], "w"))
PY
  FAKE_EXIT=4 must 4 script profile_sweep.py --tool ncu --counters "$TMP/c.json" --json "$TMP/r.json"
  expect_err 'attnbench ended with 4'
  expect_json "$TMP/c.json" '[r["variant"] for r in d["rows"]] == ["serial", "wmma", "split_kv", "cudnn"]'
}

@test "wrong use is refused before anything runs" {
  must 2 script profile_sweep.py --tool ncu --launches 0
  must 2 script profile_sweep.py --tool gdb
  echo '{}' >"$TMP/not.json"
  must 7 script profile_sweep.py --tool ncu --report "$TMP/not.json"
  expect_err 'schema is not attnbench.report/1'
  must 8 script profile_sweep.py --tool ncu --counters "$TMP/no/such/folder.json"
}

@test "a value that is no number is not known, and units of other versions are taken to base units" {
  FAKE_NCU=nan must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_json "$TMP/c.json" 'all("top_stall" not in p and "global_sectors" not in p and p["gpu_time_us"] > 0
    for r in d["rows"] for p in r["passes"])'
  FAKE_NCU=old_units must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
  expect_pass_times "$TMP/c.json"
  expect_json "$TMP/c.json" 'abs(d["rows"][0]["passes"][0]["dram_read_bytes"] / 1572864 - 1) < 0.01'
}

@test "a table or trace that is not understood is an error of one line, and no traceback" {
  while IFS='|' read -r mode text; do
    FAKE_NCU=$mode must 9 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
    expect_err "$text"
    refute_err Traceback
    [ ! -e "$TMP/c.json" ] || fail "$mode left an output"
  done <<'TABLE'
odd_unit|ncu gives gpu__time_duration.sum in "fortnight", a unit that attnbench does not know
no_units|ends after its header
cut|a row of 3 cells
no_column|no column "Grid Size"
long_cell|ncu's table cannot be read: field larger than field limit
TABLE
  for mode in other_columns no_database; do
    FAKE_NSYS=$mode must 9 script profile_sweep.py --tool nsys
    expect_err "nsys' exported trace cannot be read"
    FAKE_NSYS=$mode must 9 script proof/timer_truth.py --tools nsys
    expect_err_lines 1
  done
  FAKE_NSYS=no_tables must 4 script profile_sweep.py --tool nsys
  expect_err 'nsys saw 0 kernels'
  FAKE_NSYS=no_tables must 4 script proof/timer_truth.py --tools nsys
  expect_err 'no attnbench range'
}

@test "a report of another sweep or GPU, or a plan, is refused: nothing is mixed" {
  "$ATTNBENCH" plan --sweep shapes/v3.json --gpu h200 --json "$TMP/plan.json"
  sed 's/"NVIDIA H200"/"NVIDIA L4"/' "$FAKE_REPORT" >"$TMP/other_gpu.json"
  "$ATTNBENCH" report results/h200/n6.journal --json "$TMP/n6.json"
  echo '{"schema": "attnbench.report/1", "device": {}}' >"$TMP/bare.json"
  for command in "profile_sweep.py --tool ncu" proof/check_against_ncu.py "proof/timer_truth.py --tools ncu"; do
    local out=()
    [[ $command != profile* ]] || out=(--json "$TMP/out.json")
    # shellcheck disable=SC2086  # a command and its options
    {
      must 4 script $command "${out[@]}" --report "$TMP/n6.json"
      expect_err 'has none of the rows that are ok in sweep v3 under the tool'
      must 6 script $command "${out[@]}" --report "$TMP/other_gpu.json"
      expect_err 'was measured on NVIDIA L4, the tool ran on NVIDIA H200'
      must 7 script $command "${out[@]}" --report "$TMP/plan.json"
      expect_err 'it is a plan and holds no measured times'
      must 7 script $command "${out[@]}" --report "$TMP/bare.json"
      expect_err 'has no "tool"'
    }
  done
  [ ! -e "$TMP/out.json" ] || fail "a report was written"
}

@test "a journal is a report too" {
  export FAKE_JOURNAL=$FAKE_REPORT
  must 0 script proof/check_against_ncu.py --report results/h200/v3.journal --json "$TMP/t.json"
  expect_json "$TMP/t.json" 'd["unexplained"] == 0 and len(d["comparisons"]) > 20'
  printf '{"schema": "attnbench.report/1",' >"$TMP/torn.json"
  must 7 script proof/check_against_ncu.py --report "$TMP/torn.json"
  expect_err 'torn.json: not a report'
  expect_err_lines 1
}

@test "profile ends with what the report asks for when the capture is whole" {
  python - <<'PY'
import json, os
report = json.load(open(os.environ["FAKE_REPORT"]))
report["results"][1].update(status="wrong", reason="a test", time=None)
json.dump(report, open(os.environ["FAKE_REPORT"] + ".wrong", "w"))
PY
  FAKE_REPORT_EXIT=3 must 3 script profile_sweep.py --tool ncu --report "$FAKE_REPORT.wrong" --json "$TMP/r.json"
  expect_err 'scalar is not ok in the report; left out'
  expect_json "$TMP/r.json" 'sum(bool(r["counters"]) for r in d["results"]) == 4'
}

@test "a capture is kept when the sweep cannot be measured after it" {
  FAKE_REPORT_EXIT=9 must 9 script profile_sweep.py --tool ncu --counters "$TMP/c.json" --out "$TMP/kept.ncu-rep" --json "$TMP/r.json"
  expect_err 'attnbench ended with 9'
  [ -s "$TMP/c.json" ] && [ -s "$TMP/kept.ncu-rep" ] && [ ! -e "$TMP/r.json" ] || fail "not what was to be kept"
}

@test "an output is refused before anything runs, and what is there is not lost" {
  mkdir "$TMP/folder"
  for option in --json --csv --counters --out; do
    must 8 script profile_sweep.py --tool ncu "$option" "$TMP/folder"
    expect_err 'is a directory; name a file in it'
    must 8 script profile_sweep.py --tool ncu "$option" ''
    expect_err 'the output path is empty'
  done
  must 2 script profile_sweep.py --tool ncu --json "$TMP/x" --out "$TMP/x"
  expect_err "$TMP/x is named for two outputs"
  must 2 script profile_sweep.py --tool ncu --json - --counters -
  must 2 script profile_sweep.py --tool nsys --cache cold
  expect_err 'nsys cannot flush the caches'
  [ ! -s "$OUT" ] && [ "$(ls "$TMP")" = "$(printf 'folder\ntimes.json')" ] || fail "something ran"
  # A link is followed, and a pipe is written to, not replaced.
  ln -s target.json "$TMP/link.json"
  must 0 script profile_sweep.py --tool ncu --counters "$TMP/link.json" --json /dev/null
  [ -L "$TMP/link.json" ] && [ -c /dev/null ] || fail "it was replaced"
  expect_json "$TMP/target.json" 'd["schema"] == "attnbench.counters/1"'
  mkfifo "$TMP/fifo"
  cat "$TMP/fifo" >"$TMP/piped.json" &
  script profile_sweep.py --tool ncu --counters "$TMP/fifo"
  wait
  expect_status 0
  cmp "$TMP/piped.json" "$TMP/target.json" || fail "the pipe got something else"
  must 8 capture bash -c "'$ROOT/scripts/profile_sweep.py' --tool ncu --attnbench '$ROOT/tests/fakes/attnbench' --sweep shapes/v3.json >/dev/full"
  refute_err Traceback
}

@test "a missing attnbench is said before a tool runs; an empty NCU is none" {
  for command in 'profile_sweep.py --tool ncu' proof/check_against_ncu.py proof/timer_truth.py; do
    # shellcheck disable=SC2086  # a command and its options
    capture python scripts/${command%% *} ${command#"${command%% *}"} --sweep shapes/v3.json --attnbench "$TMP/nothing"
    expect_status 9
    expect_err "$TMP/nothing: not found"
    expect_err_lines 1
  done
  NCU='' must 0 script profile_sweep.py --tool ncu --counters "$TMP/c.json"
}

# Within 10 s; one that nobody has waited for has ended, too.
has_ended() {
  local tries=100
  while grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; do
    [ $((tries -= 1)) -gt 0 ] || return 1
    sleep 0.1
  done
}

@test "an interrupted script ends its tool and leaves nothing behind" {
  local signal pids
  mkdir "$TMP/tmp"
  export FAKE_PIDS=$TMP/pids
  for signal in TERM HUP; do
    rm -f "$FAKE_PIDS"
    TMPDIR=$TMP/tmp FAKE_NCU=hangs env --default-signal=HUP "$ROOT/scripts/profile_sweep.py" --tool ncu --attnbench "$ROOT/tests/fakes/attnbench" \
      --sweep shapes/v3.json --counters "$TMP/c.json" >"$OUT" 2>"$ERR" &
    until [ -e "$FAKE_PIDS" ]; do sleep 0.1; done
    kill -s $signal $!
    status=0
    wait $! || status=$?
    expect_status $((128 + $(kill -l $signal)))
    refute_err Traceback
    read -r -a pids <"$FAKE_PIDS"
    has_ended "${pids[0]}" || fail "the tool runs on"
    has_ended "${pids[1]}" || fail "its program runs on"
    [ -z "$(ls "$TMP/tmp")" ] && [ ! -e "$TMP/c.json" ] || fail "something was left"
  done
}

@test "check_against_ncu finds nothing unexplained where the counters are what attnbench says" {
  must 0 script proof/check_against_ncu.py --json "$TMP/t.json"
  expect_json "$TMP/t.json" 'd["schema"] == "attnbench.table/1"
    and all(len(row) == len(t["columns"]) for t in d["tables"] for row in t["rows"])'
  expect_json "$TMP/t.json" 'd["unexplained"] == 0 and len(d["comparisons"]) == 51'
  expect_json "$TMP/t.json" '{c["rule"] for c in d["comparisons"] if c["quantity"] == "DRAM written"} == {"write_back"}'
  expect_json "$TMP/t.json" '{c["verdict"] for c in d["comparisons"] if c["quantity"] in ("registers", "waves", "DRAM read")}
    == {"agrees"}'
}

@test "check_against_ncu does not explain away a wrong model" {
  for wrong in dram__bytes_read.sum=2 lts__t_sectors_srcunit_tex.sum=1.3 launch__registers_per_thread=1.2 \
    launch__waves_per_multiprocessor=1.5 sm__warps_active.avg.pct_of_peak_sustained_active=0.3; do
    some_of scalar
    FAKE_NCU_SCALE=$wrong must 1 script proof/check_against_ncu.py --json "$TMP/t.json"
    expect_json "$TMP/t.json" 'd["unexplained"] == 1'
    expect_out '**unexplained**'
  done
}

# explained VARIANT QUANTITY RULE SCALES: with these counters the rule explains exactly that; less of its own does not.
explained() {
  some_of "$1"
  FAKE_NCU_SCALE=$4 must 0 script proof/check_against_ncu.py --json "$TMP/t.json"
  expect_json "$TMP/t.json" "[c['rule'] for c in d['comparisons'] if c['quantity'] == '$2' and c['rule']] == ['$3']"
  expect_out "\`$3\`: "
}

@test "check_against_ncu explains what the same kernel's other counters hold, and no more" {
  local lts=lts__t_sectors_srcunit_tex.sum touched=memory_l2_theoretical_sectors_global
  local copies=smsp__sass_l1tex_m_xbar2l1tex_read_sectors_mem_global_op_ldgsts_cache_bypass.sum
  local warps=sm__warps_active.avg.pct_of_peak_sustained_active
  explained wmma "L2 requests" joined_on_the_way $lts=0.5
  explained scalar "L2 requests" partial_sectors $lts=1.8,$touched=110
  explained cp_async "L2 requests" split_copies $lts=1.4,$copies=130
  explained cudnn "achieved occupancy" producer_group $warps=0.76
  explained one_query "achieved occupancy" warps_end_early $warps=0.7
  # The same cycles on a slower clock.
  explained mma_swizzle "tensor pipe" mma_sync gpu__time_duration.sum=1.5
  for less in "wmma $lts=0.5,l1tex__m_xbar2l1tex_read_sectors.sum=0.4" "scalar $lts=1.8,$touched=70" \
    "cp_async $lts=1.4,$copies=50" "cudnn $warps=0.6" "one_query $warps=0.2"; do
    some_of "${less% *}"
    FAKE_NCU_SCALE=${less#* } script proof/check_against_ncu.py --json "$TMP/t.json"
    expect_status 1
    expect_json "$TMP/t.json" 'd["unexplained"] == 1'
  done
}

@test "check_against_ncu knows that a thread has 16 registers at least" {
  some_of split_kv_atomic
  FAKE_NCU_SCALE=launch__registers_per_thread=1.6 must 1 script proof/check_against_ncu.py --json "$TMP/t.json"
  expect_json "$TMP/t.json" '[(c["pass"], c["ncu"], c["rule"]) for c in d["comparisons"] if c["quantity"] == "registers"][0]
    == ("reset", 16, "least_registers")'
  expect_json "$TMP/t.json" 'd["unexplained"] == 1'
}

@test "timer_truth accepts a right clock and sees one that is 2 us off" {
  must 0 script proof/timer_truth.py --tools nsys --json "$TMP/t.json"
  expect_json "$TMP/t.json" '[row[:5] for row in d["rows"]] == [["hot, nsys", 5, 5, 0, 0], ["cold, nsys", 5, 5, 0, 0]]'
  expect_json "$TMP/t.json" '[t["title"] for t in d["tables"]] == ["hot, nsys", "cold, nsys"]
    and all(len(row) == len(t["columns"]) for t in d["tables"] for row in t["rows"])'
  expect_out '| hot, nsys | 5 | 5 | 0 | 0 |'
  FAKE_NSYS=untraced_calls must 0 script proof/timer_truth.py --tools nsys
  some_of wmma split_kv cudnn
  for off in 2 -2; do
    FAKE_NSYS_OFF_US=$off must 1 script proof/timer_truth.py --tools nsys
    expect_out '| hot, nsys | 3 | 0 | 0 | 3 |'
    expect_out '| cold, nsys | 3 | 0 | 0 | 3 |'
  done
  FAKE_NSYS=no_ranges must 4 script proof/timer_truth.py --tools nsys
  expect_err 'no attnbench range'
}

@test "timer_truth explains what a launch costs before its first kernel by the same trace's gaps, and no more" {
  some_of wmma cudnn
  # A cold launch's first kernel comes 2 us late, and so do the graph's.
  FAKE_NSYS_GAP_US=2 must 0 script proof/timer_truth.py --tools nsys --json "$TMP/t.json"
  expect_json "$TMP/t.json" '[row[:5] for row in d["rows"]] == [["hot, nsys", 2, 2, 0, 0], ["cold, nsys", 2, 0, 2, 0]]'
  expect_json "$TMP/t.json" 'all(row[5:] == ["launch", 0.0, 2.0] and abs(row[3] - 2) < 0.01 for row in d["tables"][0]["rows"])'
  expect_out '`launch`: the constant is of an empty kernel'
  # 3 us more than the gaps hold.
  FAKE_NSYS_GAP_US=2 FAKE_NSYS_OFF_US=-3 must 1 script proof/timer_truth.py --tools nsys
  expect_out '| cold, nsys | 2 | 0 | 0 | 2 |'
}

@test "timer_truth holds ncu's times against the medians, with the constants it states" {
  script proof/timer_truth.py --tools ncu --json "$TMP/t.json"
  expect_status 1 # a cold launch is not what a hot one takes
  # cold = median - (overhead - 1.5): the stand-in says an empty kernel lasts 1.5 us, and every single pass median - 1.4.
  expect_json "$TMP/t.json" '[t["title"] for t in d["tables"]] == ["Rows outside of the bar, and why", "hot, ncu", "cold, ncu"]'
  local overhead
  overhead=$(json "$FAKE_REPORT" 'd["device"]["event_overhead_us"]')
  expect_json "$TMP/t.json" "all(abs(row[3] - ($overhead - 1.5)) < 0.01 for row in d['tables'][2]['rows'])"
  expect_json "$TMP/t.json" '[row[7] for row in d["tables"][2]["rows"]]
    == ["right", "right", "right", "flushed_between_passes", "right"]'
  expect_json "$TMP/t.json" 'all(abs(row[3] - (0.53 - 1.5) * (2 if row[1] == "`split_kv`" else 1)) < 1e-9 for row in d["tables"][1]["rows"])'
}

# Judged as timer_truth would: "mode median, process medians, ncu times, other clock's factor, gap, nsys busy" -> verdict.
reason_of() {
  python - "$@" <<'PY'
import json, sys
sys.path[:0] = ["scripts", "scripts/proof"]
import timer_truth as truth
from lib.profiler import Kernel
a = json.loads(sys.argv[1])

def row(median):
    time = {"median_us": median, "sm_clock_mhz": 1900, "launches_per_sample": 1}
    return {"key": "k", "variant": "v", "status": "ok", "launches": [{"kernel": "v"}], "time": {a["mode"]: time, "hot" if
            a["mode"] == "cold" else "cold": None}}

def report(median):
    return {"device": {"event_overhead_us": 2.5}, "results": [row(median)]}

traced = None
if "traced" in a:
    traced = truth.Trace(report(a["traced"]), {}, [0.5])
    traced.seen["k", "v", a["mode"]] = truth.Seen(a["traced"] - 2, a["busy"], a.get("gap", 0), a.get("spread", 0))
kernels = [Kernel("v", [1], [1], {"gpu_time_us": us, "sm_clock_mhz": a.get("ncu_mhz", 1900), "stalls": {}}, None)
           for us in a["ncu"]]
one = truth.NcuRow(row(0), a["mode"], [kernels], truth.Processes({i: report(m) for i, m in enumerate(a["processes"])}, traced), 1.5, 0.5)
print(one.judged().verdict)
PY
}

@test "a time that ncu does not confirm has a reason only when the same runs' numbers hold it" {
  is() { [ "$(reason_of "$2")" = "$1" ] || fail "$2 is $(reason_of "$2"), not $1"; }
  is right '{"mode": "cold", "processes": [21], "ncu": [20]}'
  is '**wrong**' '{"mode": "cold", "processes": [23], "ncu": [20]}'
  is processes '{"mode": "cold", "processes": [23, 23, 21], "ncu": [20]}'
  is '**wrong**' '{"mode": "cold", "processes": [23, 24, 25], "ncu": [20]}'
  is launches '{"mode": "cold", "processes": [23], "ncu": [20, 20, 22]}'
  is '**wrong**' '{"mode": "cold", "processes": [23], "ncu": [18, 20, 20]}'
  # ncu's clock is lower: its time is too long, never too short.
  is clock '{"mode": "cold", "processes": [19], "ncu": [20], "ncu_mhz": 1710}'
  is '**wrong**' '{"mode": "cold", "processes": [23], "ncu": [20], "ncu_mhz": 1710}'
  # A hot time is taken to attnbench's clock.
  is right '{"mode": "hot", "processes": [17], "ncu": [20], "ncu_mhz": 1710}'
  is '**wrong**' '{"mode": "hot", "processes": [21], "ncu": [20]}'
  is gap '{"mode": "hot", "processes": [21], "ncu": [20], "traced": 21, "busy": 19, "gap": 3}'
  is '**wrong**' '{"mode": "hot", "processes": [21], "ncu": [20], "traced": 21, "busy": 19, "gap": 0.6}'
  # The tools differ as much on the kernels alone, or they do not.
  is other_launches '{"mode": "cold", "processes": [23], "ncu": [20], "traced": 23, "busy": 21}'
  is '**wrong**' '{"mode": "cold", "processes": [23], "ncu": [20], "traced": 23, "busy": 19}'
}

@test "kernel_ratios adds up passes and compares what both measured; what it cannot use is an error that names the file" {
  local case=B1.H2.Hkv2.Sq16.Skv16.D64.f16.full
  python - "$TMP" "$case" <<'PY'
import json, sys
folder, case = sys.argv[1:]
def counters(name, rows, schema="attnbench.counters/1"):
    rows = [{"key": case, "variant": variant, "passes": [{"gpu_time_us": us} for us in passes]} for variant, passes in rows]
    json.dump({"schema": schema, "source": "nsys", "rows": rows}, open(f"{folder}/{name}.json", "w"))
counters("both", [("split_kv", [1.5, 0.5]), ("cudnn", [3.0])])
counters("one", [("split_kv", [1.5])])
counters("other", [], "attnbench.report/1")
PY
  must 0 capture python scripts/proof/kernel_ratios.py "$TMP/both.json" --json "$TMP/t.json"
  expect_json "$TMP/t.json" 'd["rows"] == [["both", "split_kv", 1, 1.5, 1.5, "1,2,16,64 f16 full", 0]]'
  must 4 capture python scripts/proof/kernel_ratios.py "$TMP/both.json" "$TMP/one.json"
  expect_err 'one.json: no case has the kernels of cudnn and of a variant here'
  must 7 capture python scripts/proof/kernel_ratios.py "$TMP/other.json"
}
