load ../helper

# One run serves several tests.
setup_file() {
  TINY=$(file_folder)
  export TINY
  "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --device cpu --json "$TINY/r.json" --csv "$TINY/r.csv" \
    --journal "$TINY/r.journal" 2>"$TINY/stderr" >"$TINY/stdout"
}

@test "a CPU run measures CPU variants and plans GPU variants" {
  expect_json "$TINY/r.json" '{r["status"] for r in d["results"] if r["variant"].startswith("cpu_")} == {"ok"}'
  expect_json "$TINY/r.json" '{r["status"] for r in d["results"] if not r["variant"].startswith("cpu_")} == {"planned"}'
  expect_json "$TINY/r.json" 'not any(r["findings"] for r in d["results"] if r["variant"].startswith("cpu_"))'
  expect_json "$TINY/r.json" 'd["planned_device"]["modelled"] and d["device"]["kind"] == "cpu"'
}

@test "its JSON report matches the schema and its own counts" {
  expect_valid results/report.schema.json "$TINY/r.json"
  python scripts/proof/validate_report.py "$TINY/r.json"
  expect_json "$TINY/r.json" 'd["schema"] == "attnbench.report/1"'
  expect_json "$TINY/r.json" 'd["summary"]["cells"] == len(d["results"]) == sum(d["summary"][s] for s in
    ("ok", "wrong", "skipped", "planned", "oom_predicted", "error", "crashed", "timeout"))'
}

@test "measured rows carry right, ordered and consistent numbers" {
  expect_json "$TINY/r.json" 'all(t["min_us"] <= t["p25_us"] <= t["median_us"] <= t["p75_us"] <= t["p95_us"]
    <= t["max_us"] and t["n"] >= 3 for r in d["results"] if r["status"] == "ok" for t in r["time"].values())'
  expect_json "$TINY/r.json" 'all(abs(r["flops"] / r["time"][m]["median_us"] * 1e-6 / r["tflop_per_s"][m] - 1) < 1e-12
    for r in d["results"] if r["status"] == "ok" for m in ("cold", "hot"))'
  expect_json "$TINY/r.json" '[r["flops"] for r in d["results"] if r["variant"] == "cpu_ref"]
    == [4 * 2 * 64 * 65 * 65, 4 * 2 * 64 * 65 * 66 / 2]'
  expect_json "$TINY/r.json" 'all(r["check"]["right"] and r["check"]["after_timing"] for r in d["results"]
    if r["status"] == "ok")'
}

@test "its CSV is RFC 4180 with one row per case, variant and mode" {
  python - "$TINY/r.csv" "$TINY/r.json" <<'PY'
import csv, json, sys
text = open(sys.argv[1], newline="").read()
assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n")
rows = list(csv.DictReader(text.splitlines()))
results = json.load(open(sys.argv[2]))["results"]
assert len(rows) == 2 * len(results), (len(rows), len(results))
assert {r["mode"] for r in rows} == {"cold", "hot"}
by = {(r["key"], r["variant"], r["mode"]): r for r in rows}
for r in results:
    for mode in ("cold", "hot"):
        t = r["time"] and r["time"][mode]
        cell = by[r["key"], r["variant"], mode]["time_median_us"]
        assert (cell == "") == (t is None) and (t is None or float(cell) == t["median_us"])
PY
}

@test "the kept journal gives the same reports again, byte for byte" {
  must 0 attn report "$TINY/r.journal" --json "$TMP/again.json" --csv "$TMP/again.csv"
  cmp "$TINY/r.json" "$TMP/again.json"
  cmp "$TINY/r.csv" "$TMP/again.csv"
}

@test "a torn last line of a journal costs that line only" {
  head -c -20 "$TINY/r.journal" >"$TMP/torn"
  must 0 attn report "$TMP/torn" --json "$TMP/torn.json"
  expect_json "$TMP/torn.json" 'd["run"]["state"] == "partial"'
  head -n 4 "$TINY/r.journal" >"$TMP/short"
  must 4 attn report "$TMP/short" --json "$TMP/short.json"
}

@test "the table is printed beside the files; --quiet and an output on stdout silence it" {
  attn report "$TINY/r.journal"
  cmp "$OUT" "$TINY/stdout"
  attn report "$TINY/r.journal" --json "$TMP/r.json" --csv "$TMP/r.csv" --gbench "$TMP/g.json"
  expect_no_err
  cmp "$OUT" "$TINY/stdout"
  must 0 attn report "$TINY/r.journal" --json "$TMP/r.json" --csv "$TMP/r.csv" --quiet
  expect_no_out
  cmp "$TMP/r.json" "$TINY/r.json"
  for name in - /dev/stdout; do
    "$ATTNBENCH" report "$TINY/r.journal" --json "$name" --csv "$TMP/r.csv" | cmp - "$TINY/r.json"
  done
  attn report "$TINY/r.journal" --quiet
  expect_no_out
}

@test "the table goes to stdout, counts planned rows and adds up" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --journal "$TMP/tiny.journal"
  expect_no_err
  expect_out "planned rows for NVIDIA H200: see --json, or \`attnbench plan\`"
  # Every variant but d_split, decode, wgmma_fp8 and mla, which take none of the shapes and were not named, and auto, in no group.
  local cells=$((2 * ($(grep -c '^VARIANT' kernels/variants.def) - 5)))
  expect_out_matches "^$cells of $cells cells: 4 ok, $((cells - 4)) planned"
  attn diagnose "$TMP/tiny.journal"
  expect_out 'planned = not measured'
  expect_out 'grid_misses_bh at B1.H2.Hkv2.Sq65.Skv65.D64.f16.full (worst of 2 cases), as planned for NVIDIA H200'
}

@test "the same seed gives the same errors, another seed others" {
  for seed in 1 1 2; do
    must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash --seed $seed --json -
    json "$OUT" '[r["check"]["max_abs_error"] for r in d["results"]]' >>"$TMP/errors"
  done
  [ "$(sort -u "$TMP/errors" | wc -l)" -eq 2 ] || fail "errors by seed: $(cat "$TMP/errors")"
}

@test "auto on a machine without a GPU takes the CPU; cuda ends with 77 and one line" {
  if [ -e /dev/nvidia0 ]; then skip "this machine has a GPU"; fi
  must 0 attn --sweep tests/data/sweeps/tiny.json --check-only --json -
  expect_json "$OUT" 'd["device"]["kind"] == "cpu"'
  expect_refusal 77 'CUDA' -- --sweep tests/data/sweeps/tiny.json --device cuda
  expect_err_lines 1
}

@test "all shipped sweeps run their checks on the CPU" {
  local sweep sweeps=(shapes/smoke.json shapes/n6.json)
  ! is_sanitized || sweeps=(shapes/smoke.json)
  for sweep in "${sweeps[@]}"; do
    must 0 attn --sweep "$sweep" --device cpu --check-only --json "$TMP/r.json"
    expect_valid --sample results/report.schema.json "$TMP/r.json"
    expect_json "$TMP/r.json" 'd["summary"]["ok"] > 0 and d["summary"]["wrong"] == 0'
  done
}

@test "--samples keeps every sample, from which the statistics follow; one that was changed is refused" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --filter causal --device cpu --variants cpu_flash --quick --rounds 2 --samples \
    --journal "$TMP/j" --json "$TMP/r.json" --csv "$TMP/r.csv"
  expect_valid results/report.schema.json "$TMP/r.json"
  python - "$TMP/r.json" "$TMP/j" <<'PY'
import json, statistics, sys
row, = json.load(open(sys.argv[1]))["results"]
for time in row["time"].values():
    samples = time["samples_us"]
    assert len(samples) == time["n"] and [min(samples), max(samples)] == [time["min_us"], time["max_us"]]
    quartiles = statistics.quantiles(samples, n=4, method="inclusive")
    assert all(abs(a / b - 1) < 1e-12 for a, b in zip(quartiles, (time["p25_us"], time["median_us"], time["p75_us"])))
# Those of the second round are in its line of the journal.
lines = [json.loads(line) for line in open(sys.argv[2])]
assert sum(json.dumps(line).count("samples_us") for line in lines) == 4
PY
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  attn report "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  sed 's/"samples_us":[[:space:]]*\[/&1e9, /' "$TMP/r.json" >"$TMP/changed.json"
  must 7 attn report "$TMP/changed.json"
  expect_err 'has samples that contradict its time'
  drop_checksums "$TMP/j"
  sed '0,/"samples_us":\[/s//&null,/' "$TMP/j" >"$TMP/null"
  must 7 attn report "$TMP/null"
  expect_err 'must be a number'
}

@test "random shapes: the CPU's kernel is right over edges of tiles, unequal lengths, rows without keys and head groups" {
  local count=40
  ! is_sanitized || count=10
  python tests/data/random_sweep.py "${ATTN_SEED:-1}" "$count" >"$TMP/random.json"
  must 0 attn --sweep "$TMP/random.json" --device cpu --check-only --variants cpu_flash --json "$TMP/r.json" --quiet
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == '"$count"
}
