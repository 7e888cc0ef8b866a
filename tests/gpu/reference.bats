load helper

setup() {
  need_gpu
  "$ATTNBENCH" list --json | python -c '
import json, sys
v = {v["name"]: v for v in json.load(sys.stdin)["variants"]}["cudnn"]
sys.exit(0 if v["available"] else print(v["reason"]) or 1)' >"$TMP/.why" || skip "no cuDNN: $(cat "$TMP/.why")"
}

@test "cudnn matches the oracle over ragged, causal, GQA, bf16, decoding and D=256 shapes" {
  must 0 attn --sweep tests/data/sweeps/reference.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'not [(r["key"], r["reason"]) for r in d["results"] if r["status"] != "ok"]'
}

@test "cudnn's row names the kernel that its library launched, with its grid and resources" {
  must 0 attn --sweep shapes/v3.json --device cuda --check-only --variants cudnn --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["launches"] and r["launches"][0]["kernel"] and r["launches"][0]["registers"] > 0
    and r["launches"][0]["blocks"] > 0 and r["launches"][0]["axis_covers"] == ["?"] * 3 for r in d["results"])'
  expect_json "$TMP/r.json" 'all(l["name"].startswith("cuDNN 9.") for r in d["results"] for l in r["launches"])'
  expect_json "$TMP/r.json" 'all(r["findings"] == [] for r in d["results"])'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "every row is timed against cudnn without being asked, and the ratio agrees with the medians" {
  must 0 attn --sweep shapes/mission.json --device cuda --variants cudnn,wmma --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["speedup_vs"]["reference"] == "cudnn" and r["speedup_vs"][m]["rounds"] >= 6
    for r in d["results"] if r["variant"] == "wmma" for m in ("cold", "hot"))'
  # The interleaved ratio and the quotient of the rows' own medians tell the same story.
  python - "$TMP/r.json" <<'PY'
import json, sys
by = {(r["key"], r["variant"]): r for r in json.load(open(sys.argv[1]))["results"]}
for (key, variant), row in by.items():
    if variant == "wmma":
        quotient = by[key, "cudnn"]["time"]["hot"]["median_us"] / row["time"]["hot"]["median_us"]
        assert abs(row["speedup_vs"]["hot"]["ratio"] / quotient - 1) < 0.15, (key, quotient, row["speedup_vs"])
PY
}

@test "a cuDNN that is not there skips its rows and costs no other" {
  mkdir -p "$TMP/empty/lib"
  printf 'not a library' >"$TMP/empty/lib/libcudnn.so.9"
  export LD_LIBRARY_PATH=$TMP/empty/lib
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cuda --variants cudnn,wmma --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] in (["skipped", "ok"] * 2, ["ok", "ok"] * 2)'
  expect_json "$TMP/r.json" 'all("libcudnn" in r["reason"] or "cuDNN" in r["reason"] for r in d["results"] if r["reason"])'
}

@test "short rows show the ratio of kernels alone where a launch of cudnn holds a memset, between 1 and 5 us of it" {
  must 0 attn --shape B=1,H=8,S=512,D=64 --shape B=2,H=16,S=4096,D=64 --device cuda --variants cudnn,wmma,cluster_split --json "$TMP/r.json"
  python - "$TMP/r.json" <<'PY'
import json, sys
rows = {(r["key"], r["variant"]): r for r in json.load(open(sys.argv[1]))["results"] if r["status"] == "ok"}
for (key, variant), row in rows.items():
    if variant == "cudnn":
        continue
    memsets = rows[key, "cudnn"]["plan"].get("memsets", 0)
    hot = row["speedup_vs"]["hot"]
    short = rows[key, "cudnn"]["time"]["hot"]["median_us"] < 25
    assert ("kernels_alone" in hot) == (memsets > 0 and short), (key, variant, hot)
    if "kernels_alone" in hot:
        assert 1 < hot["reference_memset_us"] < 5, hot
        assert 0.5 * hot["ratio"] < hot["kernels_alone"] < hot["ratio"], hot
PY
}

@test "cudnn takes the fastest of the plans that it offers, says which, and is never slower than its first" {
  must 0 attn --sweep shapes/mission.json --device cuda --variants cudnn,cudnn:search=0 --reference cudnn:search=0 --json "$TMP/r.json"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(1 <= l["choice"] <= l["choices"] <= 8 for r in d["results"] if r["variant"] == "cudnn"
    for l in r["launches"])'
  expect_json "$TMP/r.json" 'all("choice" not in l for r in d["results"] if r["variant"] == "cudnn:search=0" for l in r["launches"])'
  expect_json "$TMP/r.json" 'not [(r["key"], r["speedup_vs"]["hot"]["ratio"]) for r in d["results"] if r["variant"] == "cudnn"
    and r["speedup_vs"]["hot"]["ratio"] < 0.97]'
  grep -q '^plans = cudnn timed the plans' "$OUT" || fail "the text does not say it"
}
