# tags: asan
# attnbench report with saved reports: several of them side by side.
load ../helper

# measure NAME ARGS...: a small report on the CPU, $TMP/NAME.json.
measure() {
  local name=$1
  shift
  attn --sweep tests/data/sweeps/tiny.json --device cpu --json "$TMP/$name.json" "$@"
}

# edit FROM TO STATEMENT: a copy of a report with a change, by a Python statement over the document d.
edit() {
  python -c '
import json, sys
d = json.load(open(sys.argv[1]))
def time(us):
    keys = "min_us p25_us median_us p75_us p95_us max_us mad_us ci95_low_us ci95_high_us".split()
    return dict.fromkeys(keys, us) | {"mad_us": 0, "n": 30, "stop": "interval", "launches_per_sample": 1, "settled": True,
        "warmup_s": 0.1, "elapsed_s": 0.1, "throttle_reasons": []}
exec(sys.argv[3])
if isinstance(d.get("results"), list):
    statuses = [r.get("status") for r in d["results"]]
    for status in set(d["summary"]) - {"cells", "exit_code"}:
        d["summary"][status] = statuses.count(status)
    d["summary"]["cells"] = len(statuses)
    lost = len(statuses) < d.get("run", {}).get("cells", 0) or set(statuses) - {"ok", "wrong", "skipped", "planned"}
    d["summary"]["exit_code"] = 3 if "wrong" in statuses else 4 if lost else 0
json.dump(d, open(sys.argv[2], "w"))' "$TMP/$1.json" "$TMP/$2.json" "$3"
  drop_checksums "$TMP/$2.json"
}

setup() {
  measure a --variants cpu_flash,cpu_ref --check-only
  edit a a '
for r in d["results"]:
    r["check"]["after_timing"] = True
    r["check"]["evidence"].update(launches=r["check"]["evidence"]["launches"] + 1, timed_samples=60,
        timed_rows_ratio=1, race_found_ratio=1 - (1 - 1 / 50) ** 60)
    r["wall_s"] += 1
    d["run"]["wall_s"] += 1
    r["time"] = {"cold": time(30.0), "hot": time(20.0 if r["variant"] == "cpu_flash" else 50.0)}'
  edit a b '
d["tool"]["name"], d["tool"]["version"] = "sdpa_baseline", "2.9"
d["results"] = [r for r in d["results"] if r["variant"] == "cpu_flash"]
d["run"]["cells"] = 2
for r in d["results"]:
    r["variant"], r["time"]["hot"] = "sdpa_flash", time(10.0)'
}

@test "two reports are shown case by case, with the source of every row and its ratio to the best" {
  must 0 attn report "$TMP/a.json" "$TMP/b.json"
  expect_no_err
  expect_out_matches "^source 1 +.*a.json: attnbench [0-9.]+ \(commit .*, 20.*Z\); sweep tiny; .* threads?; seed 1"
  expect_out_matches "^source 2 +.*b.json: sdpa_baseline 2.9 \(commit .*\); sweep tiny"
  awk '/^B1/ { key = $0; next } key == "" || !/^[ >!] / { next } { mark = substr($0, 1, 1); $0 = substr($0, 2) } { print key, $1, $2, $4, $7 mark }' "$OUT" >"$TMP/rows"
  diff "$TMP/rows" - <<'ROWS' || fail "rows"
B1.H2.Hkv2.Sq65.Skv65.D64.f16.full cpu_flash 1 20.00 2.00 
B1.H2.Hkv2.Sq65.Skv65.D64.f16.full cpu_ref 1 50.00 5.00 
B1.H2.Hkv2.Sq65.Skv65.D64.f16.full sdpa_flash 2 10.00 1.00>
B1.H2.Hkv2.Sq65.Skv65.D64.f16.causal cpu_flash 1 20.00 2.00 
B1.H2.Hkv2.Sq65.Skv65.D64.f16.causal cpu_ref 1 50.00 5.00 
B1.H2.Hkv2.Sq65.Skv65.D64.f16.causal sdpa_flash 2 10.00 1.00>
ROWS
}

@test "sweeps that overlap in part keep the cases of both" {
  edit b c 'd["results"] = d["results"][1:]; d["run"]["cells"] = 1; r = d["results"][0]; r["key"] = "B9.H9.Hkv9.Sq9.Skv9.D64.f16.full"; r["shape"].update(B=9, Hq=9, Hkv=9, Sq=9, Skv=9, causal=False)
r["check"]["elements"] = 9 * 9 * 9 * 64; r["check"]["oracle"]["rows_verified"] = r["check"]["evidence"]["rows"] = 9 * 9 * 9'
  must 0 attn report "$TMP/a.json" "$TMP/b.json" "$TMP/c.json"
  [ "$(grep -c '^B[19]' "$OUT")" -eq 3 ] && [ "$(grep -c '^[ >] [[:lower:]].* ok ' "$OUT")" -eq 7 ] || fail "rows"
  grep -A 1 '^B9' "$OUT" | grep -q ' sdpa_flash  *3 ' || fail "the third report's case"
}

@test "one file is shown as the report that it is, whatever its kind; a journal can be among reports" {
  must 0 attn report "$TMP/b.json" --csv "$TMP/b.csv" --gbench "$TMP/b.gbench" --quiet
  expect_no_out
  [ "$(grep -c sdpa_flash "$TMP/b.csv")" -eq 4 ] || fail "rows of the CSV"
  attn report "$TMP/b.json"
  expect_out "2 of 2 cells: 2 ok"
  cp "$OUT" "$TMP/report"
  attn diagnose "$TMP/b.json"
  expect_out 'no findings'
  head -n 3 "$TMP/report" | cmp - <(head -n 3 "$OUT") || fail "another head"
  measure j --variants cpu_flash --check-only --journal "$TMP/run.journal"
  must 0 attn report "$TMP/run.journal"
  expect_out "2 of 2 cells: 2 ok"
  must 0 attn report "$TMP/run.journal" "$TMP/b.json"
  expect_out_matches "^source 1 +.*run.journal: attnbench"
  expect_out "sdpa_flash"
}

@test "reports of unlike devices are refused, and shown with their devices when that is asked for" {
  edit b gpu 'd["device"].update(kind="cuda", name="NVIDIA H200", sms=132, cc_major=9, tensor_flop_per_clk_sm=4096,
    fp32_flop_per_clk_sm=256, memory_bytes=1 << 37, l2_bytes=60 << 20)'
  must 6 attn report "$TMP/a.json" "$TMP/gpu.json"
  expect_err "on NVIDIA H200 (132): their times cannot be compared"
  expect_err "--across-devices"
  expect_no_out
  COLUMNS=250 attn report "$TMP/a.json" "$TMP/gpu.json" --across-devices # room for a CPU's long name
  expect_status 0
  expect_out_matches "sdpa_flash +2 +ok +10.00 +30.00 +[^ ]+ +1.00 .*NVIDIA H200"
  expect_out_matches "cpu_flash +1 +ok +20.00 +30.00 +[^ ]+ +1.00 "
  edit b plan 'd["device"] = None'
  must 0 attn report "$TMP/a.json" "$TMP/plan.json"
  expect_out "nothing measured"
}

@test "the exit code is the worst of the reports', and reasons are told once" {
  edit a wrong '
for r in d["results"]:
    r.update(status="wrong", reason="off by one", time=None, tflop_per_s=None)'
  edit a lost 'd["results"] = d["results"][1:]'
  must 4 attn report "$TMP/a.json" "$TMP/lost.json"
  must 3 attn report "$TMP/wrong.json" "$TMP/lost.json" "$TMP/a.json"
  [ "$(grep -c '^wrong: cpu_flash of source 1: off by one' "$OUT")" -eq 1 ] || fail "reasons"
}

@test "different seeds are told" {
  edit b seed 'd["run"]["seed"] = 7'
  attn report "$TMP/a.json" "$TMP/seed.json"
  expect_out "the seeds differ"
}

@test "what is not a report is refused with its place" {
  edit b bad 'del d["results"][1]["status"]'
  expect_refusal 7 'results[1] has no "status"' -- report "$TMP/a.json" "$TMP/bad.json"
  edit b bad 'd["schema"] = "attnbench.report/9"'
  expect_refusal 7 'is attnbench.report/9, but attnbench' -- report "$TMP/bad.json"
  edit b bad 'del d["tool"]'
  expect_refusal 7 'has no "tool"' -- report "$TMP/bad.json"
  edit b bad 'del d["run"]'
  expect_refusal 7 'has no "run"' -- report "$TMP/bad.json"
  edit b bad 'd["results"] = 1'
  expect_refusal 7 'has no array "results"' -- report "$TMP/bad.json"
  head -c 300 "$TMP/b.json" >"$TMP/bad.json"
  expect_refusal 7 'bad.json:1:' -- report "$TMP/a.json" "$TMP/bad.json"
  expect_refusal 7 'cannot be opened' -- report "$TMP/a.json" "$TMP/none.json"
}

@test "the merged view takes any number of files, and writes no JSON" {
  expect_refusal 2 'several are shown side by side' -- report "$TMP/a.json" "$TMP/b.json" --json "$TMP/x.json"
  must 0 attn report "$TMP"/{a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,b}.json --html "$TMP/page.html"
}
