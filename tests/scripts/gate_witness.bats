# tags: slow unsanitized
# scripts/gate_witness.py with stand-ins for nsys and a GPU run (tests/fakes): a report that an H200 wrote is both sides', but
# for what a head says otherwise.
load ../helper

setup() {
  export PATH=$ROOT/tests/fakes:${ATTN_PYTHON%/*}:$PATH PYTHONDONTWRITEBYTECODE=1 FAKE_REPORT=$TMP/base.json
  unset NSYS FAKE_NSYS FAKE_EXIT FAKE_REPORT_EXIT
  "$ATTNBENCH" report tests/data/v3.journal --json "$FAKE_REPORT" >/dev/null
  drop_checksums "$FAKE_REPORT"
}

# head EXPRESSION: the head's report, each row r of which with a hot time had the expression executed.
head() {
  python - "$FAKE_REPORT" "$TMP/new.json" "$1" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for r in report["results"]:
    if r["status"] == "ok":
        exec(sys.argv[3], {"r": r, "hot": r["time"]["hot"]})
json.dump(report, open(sys.argv[2], "w"))
PY
}

witness() {
  capture python scripts/gate_witness.py --sweep shapes/v3.json --base-program "$ROOT/tests/fakes/attnbench" --base "$FAKE_REPORT" \
    --program "${1:-$ROOT/tests/fakes/attnbench}" --report "$TMP/new.json"
}

@test "a head whose times are those that nsys sees is believed" {
  head 'hot["median_us"] *= 1.03'
  must 0 witness
  [ ! -s "$OUT" ] || fail "it says something: $(cat "$OUT")"
}

@test "a head that tells shorter times than nsys sees is not, and the rows are named" {
  head 'hot["median_us"] *= 0.9 if r["variant"] == "wmma" else 1'
  must 6 witness
  expect_out_matches '^B[^ ]* wmma: the reports say .*-10\.0 %\), nsys saw 12\.5 -> 12\.5 us \(\+0\.0 %\)$'
  refute_out ' scalar:'
  # The median of several processes is what a gate judges.
  head 'r["processes"] = {"hot": {"count": 3, "median_us": [hot["median_us"], hot["median_us"] * 0.8, hot["median_us"] * 0.8]}}'
  must 6 witness
}

@test "a head that hides from nsys is not believed, a base that cannot run is no verdict" {
  head 'pass'
  printf '#!/bin/sh\nexit 9\n' >"$TMP/attnbench"
  chmod +x "$TMP/attnbench"
  must 6 witness "$TMP/attnbench"
  expect_err "the head's program under nsys"
  FAKE_NSYS=no_tables must 4 witness
  PATH=/usr/bin:/bin NSYS=/nowhere/nsys must 9 witness
  expect_err 'not found'
}
