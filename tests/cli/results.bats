load helper

@test "committed reports and README's figures are what the committed journals say" {
  capture python scripts/update_results.py --check
  expect_status 0
}

@test "every committed report is valid, complete and right" {
  local count=0
  for report in results/*/*.json; do
    python scripts/validate_report.py "$report"
    expect_json "$report" 'd["run"]["state"] == "complete" and d["summary"]["exit_code"] == 0
      and d["summary"]["ok"] + d["summary"]["skipped"] == d["summary"]["cells"] == d["run"]["cells"]'
    count=$((count + 1))
  done
  [ "$count" -ge 6 ] || fail "only $count reports"
}

@test "there is a report for every shipped sweep, made from the sweep as it is" {
  for sweep in shapes/*.json; do
    name=$(basename "$sweep" .json)
    report=results/h200/$name.json
    # The gate's own report is its baseline, which is there once one was promoted.
    if [ "$name" = gate ]; then
      report=results/h200/baseline/gate.json
      [ -e "$report" ] || continue
    fi
    attn plan --sweep "$sweep" --gpu h200 --json "$TMP/plan.json"
    [ "$(json "$TMP/plan.json" 'd["sweep"]["hash"]')" = "$(json "$report" 'd["sweep"]["hash"]')" ] ||
      fail "$report was measured with another $sweep"
  done
}

@test "a figure in README that no report holds is seen" {
  mkdir -p "$TMP/copy"
  git -C "$ROOT" archive HEAD 2>/dev/null | tar -x -C "$TMP/copy" || skip "not a git checkout"
  [ -d "$TMP/copy/results/h200" ] || skip "nothing committed yet"
  sed -i '/<!-- begin v3-output -->/,/<!-- end v3-output -->/s/scalar /scaler /' "$TMP/copy/README.md"
  ATTNBENCH=$ATTNBENCH capture python "$TMP/copy/scripts/update_results.py" --check
  expect_status 1
  expect_out 'differs: README.md'
}
