# A loaded CUDA variant: launched by a CUDA runtime that did not register its kernels.
load helper

setup() {
  need_gpu
  EXAMPLE=$(dirname "$ATTNBENCH")/example.so
  [ -f "$EXAMPLE" ] || EXAMPLE=$(make -s print-BUILD)/example.so
  [ -f "$EXAMPLE" ] || skip "no example.so beside $ATTNBENCH; make test-programs builds it"
}

# What the CUDA driver starts, opens and changes by itself is not charged to the cell.
expect_nothing_left() { expect_json "$TMP/r.json" '[r["left"] for r in d["results"] if "left" in r] == []'; }

@test "a loaded CUDA variant is right, timed in both modes, and its facts are its own" {
  must 0 attn --sweep kernels/example/sweep.json --device cuda --load "$EXAMPLE" --variants example_warp,scalar --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"] if r["variant"] == "example_warp"] == ["ok"] * 6'
  expect_nothing_left
  expect_json "$TMP/r.json" 'all(r["time"]["hot"]["median_us"] > 0 and r["time"]["cold"]["median_us"] > 0
    for r in d["results"] if r["variant"] == "example_warp")'
  expect_json "$TMP/r.json" 'all("example::warp_kernel<" in l["kernel"] and 16 < l["registers"] < 80
    and l["resident_exact"] for r in d["results"] if r["variant"] == "example_warp" for l in r["launches"])'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "every dtype, mask, head group and number of warps of the loaded variant matches the oracle" {
  must 0 attn --sweep tests/data/sweeps/correctness.json --device cuda --check-only --load "$EXAMPLE" \
    --variants example_warp,example_warp:warps=1,example_warp:warps=3,example_warp:warps=8 --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
  expect_json "$TMP/r.json" 'all(r["shape"]["D"] > 256 for r in d["results"] if r["status"] == "skipped")'
}

@test "an object without GPU code is an error of its own cells" {
  g++ -std=c++20 -O1 -I. -shared -fPIC -Wl,-Bsymbolic -o "$TMP/host.so" -x c++ kernels/example/example.cu
  must 4 attn --sweep tests/data/sweeps/tiny.json --device cuda --check-only --load "$TMP/host.so" \
    --variants example_warp,scalar --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "ok"] * 2'
  expect_json "$TMP/r.json" '"has no GPU code" in d["results"][0]["reason"]'
}

# example NAME: the object of kernels/example/NAME.cu.
example() { printf '%s/%s.so' "$(dirname "$EXAMPLE")" "$1"; }

@test "a library that launches by itself is right, and what one call launched is read back" {
  must 0 attn --sweep tests/data/sweeps/correctness.json --device cuda --check-only --load "$(example host_launched)" \
    --variants example_library,example_library:splits=1,example_library:splits=7 --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"}'
  # A call is a memset of one counter per row, and a block per row and split.
  expect_json "$TMP/r.json" 'all(r["plan"]["memsets"] == 1 and r["plan"]["memset_bytes"] == 4 * r["launches"][0]["grid"][0]
    and r["launches"][0]["grid"][0] == r["shape"]["B"] * r["shape"]["Hq"] * r["shape"]["Sq"] for r in d["results"] if r["status"] == "ok")'
  expect_json "$TMP/r.json" 'all(r["launches"][0]["grid"][1] == 7 and r["launches"][0]["name"] == "split example 1.0"
    for r in d["results"] if r["variant"].endswith("splits=7") and r["status"] == "ok")'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "a library is timed in both modes, and is a reference for others" {
  must 0 attn --shape B=1,H=8,S=1x1024,D=64 --device cuda --quick --load "$(example host_launched)" --variants example_library,scalar \
    --reference example_library --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][1]["speedup_vs"]["reference"] == "example_library" and d["results"][1]["speedup_vs"]["hot"]["rounds"] >= 6'
  expect_json "$TMP/r.json" 'd["results"][0]["time"]["cold"]["median_us"] > 0 and d["results"][0]["time"]["hot"]["median_us"] > 0'
  expect_nothing_left
}

@test "the tma + wgmma template matches the oracle where it runs" {
  must 0 attn --sweep tests/data/sweeps/correctness.json --device cuda --check-only --load "$(example tma_wgmma)" --variants example_tma_wgmma \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
}
