load helper

setup() { need_gpu; }

@test "the timer is right: every line of the self-test passes" {
  attn --selftest --device cuda --json "$TMP/s.json"
  expect_json "$TMP/s.json" '[(l["name"], l["value"], l["about"]) for l in d["lines"] if l["verdict"] == "fail"] == []'
  expect_status 0
  expect_json "$TMP/s.json" 'len(d["lines"]) == 29 and len(d["facts"]["spins"]) == 9'
  expect_valid results/timer_selftest.schema.json "$TMP/s.json"
}

@test "compute-sanitizer memcheck is clean on the self-test, which fails where launches are serialised" {
  need_tool compute-sanitizer
  capture compute-sanitizer --tool memcheck --target-processes all --log-file "$TMP/sanitizer.%p" \
    "$ATTNBENCH" --selftest --device cuda --timeout 600 --json "$TMP/s.json"
  expect_json "$TMP/s.json" "d['summary']['exit_code'] == $status and (d['device']['hides_launches'] or $status == 9)"
  ! grep -h 'ERROR SUMMARY' "$TMP"/sanitizer.* | grep -v ' 0 errors' || fail "$(cat "$TMP"/sanitizer.*)"
}

# slow SWEEP FILTERS... -- VARIANT PERCENT: the row's own time with the slowdown over that of a plain run.
slow() {
  local variant percent args=()
  while [ "$1" != -- ]; do args+=("$1") && shift; done
  variant=$2 percent=$3
  must 0 attn "${args[@]}" --device cuda --reference none --variants "$variant" --json "$TMP/plain.json"
  must 0 attn "${args[@]}" --device cuda --reference none --variants "$variant" --inject-slowdown "*/$variant:$percent" \
    --json "$TMP/slow.json"
  expect_json "$TMP/slow.json" "all(r['status'] == 'ok' and r['check']['after_timing'] for r in d['results'])"
  # Where it was calibrated within half a point, of large ones a twentieth; two processes differ by their own noise on
  # top.
  expect_json "$TMP/slow.json" "all(abs((r['injected'][m + '_ratio'] - 1) * 100 - $percent) <= max(0.5, $percent / 20)
    for r in d['results'] for m in ('cold', 'hot'))"
  python - "$TMP/plain.json" "$TMP/slow.json" "$percent" <<'PY'
import json, sys
plain, slow = (json.load(open(p))["results"] for p in sys.argv[1:3])
for a, b in zip(plain, slow):
    for mode in ("cold", "hot"):
        got = (b["time"][mode]["median_us"] / a["time"][mode]["median_us"] - 1) * 100
        print(a["key"], mode, a["time"][mode]["median_us"], f"{got:.2f} %", b["injected"])
        assert abs(got - float(sys.argv[3])) <= 2, (mode, got, b["injected"])
PY
  expect_valid results/report.schema.json "$TMP/slow.json"
}

@test "a slowdown of 3 % is one" { slow --sweep shapes/v3.json --filter B=4 -- wmma 3; }
@test "a slowdown of 5 % is one" { slow --sweep shapes/v3.json --filter B=1 -- wmma_qk 5; }
@test "a slowdown of 20 % is one" { slow --sweep shapes/v3.json --filter B=1 -- wmma_qk 20; }

@test "a slowdown smaller than a launch is refused, and says what is needed" {
  must 4 attn --sweep shapes/n6.json --filter S=64 --device cuda --reference none --variants wmma --inject-slowdown '*/wmma:1' \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error"]
    and "which alone adds" in d["results"][0]["reason"] and "choose a longer cell" in d["results"][0]["reason"]'
}
