load helper

setup() { need_gpu; }

# The findings of real runs. Times are read for their verdicts only: no test here has a time as its bar.

@test "v3: serial is named as serialised over B*H from geometry and time together, the others are not" {
  must 0 attn --sweep shapes/v3.json --device cuda --json "$TMP/r.json" --csv "$TMP/r.csv"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" or r["status"] == "skipped" and (r["variant"] == "cudnn"
    or "D must be" in r["reason"]) for r in d["results"])'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"] for f in r["findings"] if f["id"] == "grid_misses_bh"}
    == {"serial"}'
  expect_json "$TMP/r.json" 'all("serialised over B*H" in f["measured"] and "time grew" in f["measured"]
    and "blocks stay at 2" in f["measured"] for r in d["results"] for f in r["findings"] if f["id"] == "grid_misses_bh")'
  expect_json "$TMP/r.json" 'all("idle_threads" in [f["id"] for f in r["findings"]] for r in d["results"]
    if r["variant"] == "scalar")'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "every timed row carries clock, samples, interval and rates" {
  must 0 attn --sweep shapes/smoke.json --device cuda --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(t["n"] >= 5 and t["ci95_low_us"] <= t["median_us"] <= t["ci95_high_us"]
    and 300 < (t["sm_clock_mhz"] or 301) <= 1.03 * d["device"]["sm_clock_max_mhz"] and t["stop"]
    for r in d["results"] if r["status"] == "ok" for t in r["time"].values())'
  # The global timer is set now and then, and a clock that was read over that moment is unknown.
  expect_json "$TMP/r.json" 'sum(t["sm_clock_mhz"] is None for r in d["results"] if r["status"] == "ok" for t in r["time"].values()) <= 3'
  expect_json "$TMP/r.json" 'all(r["check"]["after_timing"] for r in d["results"] if r["status"] == "ok")'
  expect_json "$TMP/r.json" 'd["device"]["hides_launches"] and 0 < d["device"]["event_overhead_us"] < 20'
  expect_json "$TMP/r.json" 'all(l["cold_us"] > 0 for r in d["results"] if r["status"] == "ok"
    and len(r["launches"]) > 1 and r["plan"]["tile_q"] > 0 for l in r["launches"])'
}
