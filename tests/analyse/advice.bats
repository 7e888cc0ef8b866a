# tags: slow asan
load ../helper

# Advice held against the committed journals, and against journals that were tampered with.

@test "promises hold on the committed journals, and the page says so" {
  must 0 capture python scripts/proof/check_advice.py --attnbench "$ATTNBENCH" --check
  expect_out ', 0 with the wrong sign'
}

# one_journal: scalar_ladder alone in $TMP/journals, with times of rows of 32 multiplied by $1.
one_journal() {
  mkdir -p "$TMP/journals"
  python - "$1" results/h200/scalar_ladder.journal "$TMP/journals/scalar_ladder.journal" <<'PY'
import json, sys
sys.path.insert(0, "tests")
from slow_down import lengthen, slow_down
factor = float(sys.argv[1])
with open(sys.argv[2]) as old, open(sys.argv[3], "w") as new:
    for line in old:
        entry = json.loads(line)
        cell = entry.get("cell", {})
        if "rows=32" in cell.get("variant", ""):
            slow_down(cell, factor)
        lengthen(entry, factor)
        new.write(json.dumps(entry, separators=(",", ":")) + "\n")
PY
}

@test "a promise that measurements contradict is counted, and a page that is out of date is told" {
  one_journal 1
  must 0 capture python scripts/proof/check_advice.py --attnbench "$ATTNBENCH" --folder "$TMP/journals"
  grep -q '^| `fewer_rows` ' "$TMP/journals/advice.md"
  must 0 capture python scripts/proof/check_advice.py --attnbench "$ATTNBENCH" --folder "$TMP/journals" --check
  one_journal 4
  must 1 capture python scripts/proof/check_advice.py --attnbench "$ATTNBENCH" --folder "$TMP/journals" --check
  expect_out 'differs: '
  must 1 capture python scripts/proof/check_advice.py --attnbench "$ATTNBENCH" --folder "$TMP/journals"
  expect_out '4 with the wrong sign'
}

@test "advice that was measured is quoted with its gain, and what lost is not advised" {
  one_journal 1
  attn report "$TMP/journals/scalar_ladder.journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'sum(f["evidence"] == "scalar_quad:rows=32,vec=1" and f["change"] == "fewer_rows"
    and abs(f["gain_ratio"] - 1.559) < 0.01 for r in d["results"] for f in r["findings"]
    if r["variant"] == "scalar_quad:vec=1" and r["key"] == "B1.H1.Hkv1.Sq128.Skv128.D64.f16.full") == 1'
  one_journal 4
  attn report "$TMP/journals/scalar_ladder.journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(f["change"] != "fewer_rows" for r in d["results"] for f in r["findings"]
    if r["variant"] == "scalar_quad:vec=1" and r["key"] == "B1.H1.Hkv1.Sq128.Skv128.D64.f16.full")'
}

@test "no row of the committed journals is told what was measured to lose, or is without a word on its roof" {
  for journal in results/h200/*.journal; do
    attn report "$journal" --json "$TMP/r.json"
    python - "$TMP/r.json" <<'PY' || fail "$journal"
import json, sys
bounds = {"memory_bound", "compute_bound", "exp_bound", "l2_bound", "shared_bound", "between_roofs", "latency_bound", "launch_bound"}
for r in json.load(open(sys.argv[1]))["results"]:
    if r["status"] != "ok" or not r["plan"] or not r["plan"]["tile_q"]:
        continue
    where = r["key"], r["variant"]
    assert sum(f["id"] in bounds for f in r["findings"]) == 1, where
    assert all(f["gain_ratio"] is None or f["gain_ratio"] > 1 for f in r["findings"]), where
    assert all((f["gain_ratio"] is None) == (f["saves_us"] is None) for f in r["findings"]), where
    saved = [f["saves_us"] or 0 for f in r["findings"]]
    assert saved == sorted(saved, reverse=True), where
    busy = max(l["sm_ratio"] for l in r["launches"] if l["row_threads"]) >= 0.9
    assert not busy or all(f["change"] not in ("splits", "fewer_rows") for f in r["findings"]), where
    assert r["plan"]["stages"] == 1 or all(f["change"] != "stages" for f in r["findings"]), where
    heads = r["shape"]["B"] * r["shape"]["Hq"]
    fits = r["shape"]["Sq"] == r["shape"]["Skv"] <= 32768  # two or three heads in flight, whose K and V fit into L2
    assert not fits or "mma_swizzle" not in r["variant"] or all(f["id"] != "rereads_kv" for f in r["findings"]), where
PY
  done
}

@test "the text shows three findings of a row, diagnose all of them" {
  grep -E '"variant":"scalar"|^\{"(journal|device|end)"' results/h200/v3.journal >"$TMP/scalar.journal"
  attn report "$TMP/scalar.journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'max(len(r["findings"]) for r in d["results"]) == 4
    and all("scales_with_bh" not in [f["id"] for f in r["findings"][:3]] for r in d["results"])'
  attn report "$TMP/scalar.journal"
  expect_out 'scalar: idle_threads'
  ! grep -q 'scalar: scales_with_bh' "$OUT" || fail "the fourth finding is shown"
  attn diagnose "$TMP/r.json"
  expect_out 'scalar: scales_with_bh'
}

# only VARIANTS FACTOR FILE: the rows of these variants in v3.journal, their times multiplied.
only() {
  python - "$1" "$2" results/h200/v3.journal "$3" <<'PY'
import json, sys
sys.path.insert(0, "tests")
from slow_down import lengthen, slow_down
kept, factor = sys.argv[1].split(","), float(sys.argv[2])
with open(sys.argv[3]) as old, open(sys.argv[4], "w") as new:
    for line in old:
        entry = json.loads(line)
        cell = entry.get("cell")
        if cell and cell["variant"] not in kept:
            continue
        if cell:
            slow_down(cell, factor)
        lengthen(entry, factor)
        entry.pop("checksum", None)
        new.write(json.dumps(entry, separators=(",", ":")) + "\n")
PY
}

@test "advice is held against another report of the same GPU, and what lost there is not given" {
  only scalar 1 "$TMP/scalar.journal"
  only scalar_quad 1 "$TMP/quad.journal"
  only scalar_quad 4 "$TMP/slow.journal"
  diagnosed() {
    attn diagnose "$TMP/scalar.journal" --json "$TMP/r.json" "$@"
    expect_status 4 # cells of other variants are left out
  }
  spread='[f for r in d["results"] for f in r["findings"] if f["change"] == "threads_per_row"]'
  diagnosed
  expect_json "$TMP/r.json" "len($spread) == 3 and all(f['evidence'] is None for f in $spread)"
  diagnosed --evidence "$TMP/quad.journal"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" "len($spread) == 3 and all(f['evidence'] == 'scalar_quad' and
    f['evidence_file'].endswith('/quad.journal') and '/quad.journal: scalar_quad takes' in f['advice'] for f in $spread)"
  diagnosed --evidence "$TMP/slow.journal"
  expect_json "$TMP/r.json" "$spread == []"
}

@test "evidence of another device, or that nobody measured, is refused" {
  only scalar 1 "$TMP/scalar.journal"
  sed 's/"name":"NVIDIA H200"/"name":"NVIDIA H100"/' "$TMP/scalar.journal" >"$TMP/h100.journal"
  must 6 attn diagnose "$TMP/scalar.journal" --evidence "$TMP/h100.journal"
  expect_err 'is of NVIDIA H100, the report of NVIDIA H200'
  sed '1{s/"profiled":null,//; s/"run":{/&"profiled":"ncu",/}' "$TMP/scalar.journal" >"$TMP/profiled.journal"
  must 6 attn diagnose "$TMP/scalar.journal" --evidence "$TMP/profiled.journal"
  expect_err 'was measured under ncu'
  must 7 attn diagnose "$TMP/scalar.journal" --evidence tests/data/times_s0.json
  expect_err 'entered by hand'
  must 7 attn diagnose "$TMP/scalar.journal" --evidence "$TMP/none.json"
  must 2 attn report "$TMP/scalar.journal" --evidence "$TMP/h100.journal"
}
