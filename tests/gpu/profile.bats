# --profile under the tools that it is for, and counters that come back from ncu.
load helper

setup() { need_gpu; }

# Plans of one and two passes, a vendor's library where there is one, and rows that are skipped.
sweep() {
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 8, "S": 128, "D": 64},
    {"B": 2, "H": 4, "S": 192, "D": 64, "causal": true}],
    "variants": ["wmma", "split_kv:splits=2", "mma_swizzle", "split_kv_atomic", "d_split", "cudnn"]}'
}

profile_args() { printf '%s\n' --sweep "$(sweep)" --device cuda --profile=3 --json "$TMP/r.json"; }

# expect_captured FILE: its lines, "KERNEL GX,GY,GZ" in the order of execution, are what the report says was launched:
# cell by cell, launch by launch, pass by pass. Kernels are compared without template and call arguments.
expect_captured() {
  python - "$TMP/r.json" "$1" <<'PY'
import json, re, sys
report, captured = json.load(open(sys.argv[1])), [line.rsplit(" ", 1) for line in open(sys.argv[2]).read().splitlines()]
def plain(kernel):
    kernel = re.sub(r"\(anonymous namespace\)::|<?unnamed>::", "", kernel.removeprefix("void "))
    return kernel.split("<")[0].split("(")[0].split("::")[-1]
rows = [r for r in report["results"] if r["status"] == "ok"]
wanted = [(plain(l["kernel"] or "?"), ",".join(map(str, l["grid"]))) for r in rows
          for _ in range(report["run"]["profile_launches"]) for l in r["launches"]]
got = [(plain(kernel), grid) for kernel, grid in captured]
assert len(rows) >= 8, f"only {len(rows)} rows are ok"
assert len(got) == len(wanted) == 3 * sum(len(r["launches"]) for r in rows), f"{len(got)} kernels, wanted {len(wanted)}"
for i, (g, w) in enumerate(zip(got, wanted)):
    assert g[1] == w[1] and ("?" in (g[0], w[0]) or g[0] == w[0]), f"kernel {i} is {g}, wanted {w}"
PY
}

# nsys_kernels: what $TMP/t.nsys-rep holds, as expect_captured wants it.
nsys_kernels() {
  [ -s "$TMP/t.nsys-rep" ] || fail "nsys wrote no report"
  nsys export --type=sqlite --force-overwrite=true -o "$TMP/t.sqlite" "$TMP/t.nsys-rep" >/dev/null
  python - "$TMP/t.sqlite" <<'PY' >"$TMP/kernels"
import sqlite3, sys
for name, x, y, z in sqlite3.connect(sys.argv[1]).execute(
        "SELECT s.value, gridX, gridY, gridZ FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start"):
    print(f"{name.splitlines()[0]} {x},{y},{z}")
PY
}

# The tool may end its program when the span closes, so its exit status says nothing; the files do.
under_nsys() {
  need_tool nsys
  mapfile -t args < <(profile_args)
  capture nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --force-overwrite=true -o "$TMP/t" "$@" \
    "$ATTNBENCH" "${args[@]}"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["run"]["profiled"] == "nsys" and d["run"]["state"] == "complete"'
  nsys_kernels
  expect_captured "$TMP/kernels"
}

@test "a profile run without a tool checks and launches every cell, and times none" {
  mapfile -t args < <(profile_args)
  must 0 attn "${args[@]}"
  expect_json "$TMP/r.json" 'd["run"]["profile_launches"] == 3 and d["run"]["profiled"] is None'
  expect_json "$TMP/r.json" 'all(r["check"]["right"] and r["time"] == {"cold": None, "hot": None} and r["launches"]
    for r in d["results"] if r["status"] == "ok")'
  [ ! -e "$TMP/r.json.journal" ] || fail "the journal was left"
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "nsys with a capture range of the profiler's calls captures cells x passes x N kernels" {
  under_nsys --capture-range=cudaProfilerApi
}

@test "nsys with a capture range of the NVTX range captures cells x passes x N kernels" {
  under_nsys --capture-range=nvtx --nvtx-capture=profile@attnbench
}

# Output of --csv --page raw: messages of the tool, a header, a row of units, then a row per kernel.
ncu_kernels() {
  python - "$1" <<'PY' >"$TMP/kernels"
import csv, sys
rows = list(csv.reader(line for line in open(sys.argv[1]) if line.startswith('"')))
name, grid = rows[0].index("Kernel Name"), rows[0].index("Grid Size")
for row in rows[2:]:
    print(row[name], row[grid].strip("()").replace(" ", ""))
PY
}

@test "ncu with a filter on the NVTX range captures cells x passes x N kernels" {
  need_tool ncu
  mapfile -t args < <(profile_args)
  capture ncu --nvtx --nvtx-include "attnbench@profile/" --clock-control none --csv --page raw \
    --metrics gpu__time_duration.sum --log-file "$TMP/ncu.csv" "$ATTNBENCH" "${args[@]}"
  ! grep -q ERR_NVGPUCTRPERM "$TMP/ncu.csv" || skip "no permission to read the GPU's counters"
  expect_status 0
  expect_json "$TMP/r.json" 'd["run"]["profiled"] == "ncu"'
  ncu_kernels "$TMP/ncu.csv"
  expect_captured "$TMP/kernels"
}

@test "the same profile twice launches the same kernels in the same order" {
  mapfile -t args < <(profile_args)
  attn "${args[@]}"
  cp "$TMP/r.json" "$TMP/first.json"
  attn "${args[@]}"
  for file in first r; do
    json "$TMP/$file.json" '[[r["key"], r["variant"], r["check"] and r["check"]["max_abs_error"],
      [[l["kernel"], l["grid"], l["block"]] for l in r["launches"]]] for r in d["results"]]' >"$TMP/$file"
  done
  cmp "$TMP/first" "$TMP/r" || fail "two runs with one seed differ"
}

@test "a run of many cells that would not fit together is refused by name of the option" {
  sweep=$(write_file big.json '{"attnbench_sweep": 1, "name": "big", "grid": [{"B": [16], "H": [32], "S": [16384],
    "D": [128], "causal": [false, true]}], "variants": ["serial", "scalar", "wmma", "cp_async", "mma_swizzle", "split_kv"]}')
  must 2 attn --sweep "$sweep" --device cuda --profile --json "$TMP/r.json"
  expect_err 'select fewer with --filter or --variants'
  [ ! -e "$TMP/r.json" ] || fail "a report was written"
}

@test "with ncu's counters every planted defect is named, bank conflicts and scattered loads too, and no other" {
  need_tool ncu
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test-gpu sets it"
  capture scripts/profile_sweep.py --tool ncu --attnbench "$ATTNBENCH_FAULTY" --sweep tests/data/sweeps/defects.json \
    --filter Sq=32768 --variants "$(defects_of 32768)" \
    --json "$TMP/r.json"
  ! grep -q ERR_NVGPUCTRPERM "$ERR" || skip "no permission to read the GPU's counters"
  expect_status 0
  expect_json "$TMP/r.json" 'all(r["counters"]["source"].startswith("ncu ") for r in d["results"])'
  defects_table | sed -n 's/^32768 *//p' >"$TMP/table"
  python - "$TMP/r.json" "$TMP/table" <<'PY' || fail "not as planted"
import json, sys
rows = {r["variant"]: r for r in json.load(open(sys.argv[1]))["results"]}
wrong = 0
for line in open(sys.argv[2]):
    name, *findings = line.split()
    row = rows["gpu_defect_" + name]
    roofs = ("latency_bound", "between_roofs", "l2_bound", "shared_bound", "clock_lowered")  # one for every kernel
    got = {f["id"]: f["measured"] for f in row["findings"] if f["id"] not in roofs}
    must = {f.lstrip("+") for f in findings if f[0] != "("}
    if not must <= set(got) <= must | {f.strip("(+)") for f in findings}:
        print(f"{name}: wanted {findings}, has {got}; counters {row['counters']}", file=sys.stderr)
        wrong += 1
sys.exit(wrong > 0)
PY
  for id in bank_conflicts uncoalesced spills; do
    expect_json "$TMP/r.json" "all('measured by ncu' in f['measured'] for r in d['results'] for f in r['findings'] if f['id'] == '$id')"
  done
}
