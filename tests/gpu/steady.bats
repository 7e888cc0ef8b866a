# --modes steady: what a row keeps at the power limit.
load helper

setup() { need_gpu; }

steady_of() {
  must 0 attn --shape B=1,H=16,S=8192,D=128 --device cuda --variants auto --modes hot,steady --reference none --json "$1"
}

@test "a steady time has settled, is no burst, and repeats within 2 %" {
  steady_of "$TMP/a.json"
  expect_out_matches 'hot +steady +rate'
  steady_of "$TMP/b.json"
  local a b
  a=$(json "$TMP/a.json" 'd["results"][0]["time"]["steady"]["median_us"]')
  b=$(json "$TMP/b.json" 'd["results"][0]["time"]["steady"]["median_us"]')
  echo "$a and $b us" >&3
  for file in a b; do
    expect_json "$TMP/$file.json" 'all(t["settled"] and t["elapsed_s"] > 2 and t["n"] > 100 for r in d["results"] for t in [r["time"]["steady"]])'
    expect_json "$TMP/$file.json" 'd["results"][0]["time"]["steady"]["median_us"] > 0.98 * d["results"][0]["time"]["hot"]["median_us"]'
  done
  awk -v a="$a" -v b="$b" 'BEGIN { exit !(a / b < 1.02 && b / a < 1.02) }' || fail "$a and $b us"
}

@test "power and energy of a steady time are the card's, within its limit" {
  steady_of "$TMP/a.json"
  json "$TMP/a.json" '[(t["power_w"], t["energy_j"], t["sm_clock_mhz"], r["energy_pj_per_flop"], r["energy_over_idle_pj_per_flop"],
    d["device"]["policy"]["idle_power_w"]) for r in d["results"] for t in [r["time"]["steady"]]]' >&3
  expect_json "$TMP/a.json" 'all(d["device"]["policy"]["idle_power_w"] < t["power_w"] <= 1.05 * d["device"]["policy"]["power_limit_w"]
    and abs(t["power_w"] * t["elapsed_s"] / t["energy_j"] - 1) < 1e-9
    and abs(r["energy_pj_per_flop"] * r["tflop_per_s"]["steady"] / t["power_w"] - 1) < 1e-9
    and 0 < r["energy_over_idle_pj_per_flop"] < r["energy_pj_per_flop"] < 10 for r in d["results"] for t in [r["time"]["steady"]])'
}
