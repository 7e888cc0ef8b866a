load ../helper

# Any exit code but 0 comes with one line on stderr that says why; what is read here needs no GPU and no time.

h200=results/h200

edit() {
  python - "$1" "$2" <<'PY' >"$TMP/edited.json"
import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[2])
print(json.dumps(d))
PY
}

@test "a run whose cells failed counts them, names the first and where the rest is" {
  COLUMNS=80 must 3 attn_faulty --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash,fault_nan,fault_skip_head \
    --json "$TMP/r.json"
  # Whatever their figures, wrong rows of a variant are one entry; nothing is wider than the terminal.
  [ "$(grep -c '^wrong: ' "$OUT")" -eq 2 ] && expect_out 'wrong: fault_nan (2 cases), such as B'
  [ "$(awk 'length > 80' "$OUT" | wc -l)" -eq 0 ] || fail "a line is wider than 80 columns"
  expect_err_lines 1
  expect_err "attnbench: 4 of 6 cells failed (4 wrong), first: B1.H2.Hkv2.Sq65.Skv65.D64.f16.full fault_nan: "
  expect_err_matches "; see $TMP/r.json\$"
  must 3 attn report "$TMP/r.json" --csv -
  expect_err_lines 1
  expect_err "4 of 6 cells failed (4 wrong)"
  refute_err "; see"
  must 3 attn report "$TMP/r.json" "$TMP/r.json"
  expect_err_lines 1
  expect_err "attnbench: $TMP/r.json: 4 of 6 cells failed"
  # What a report's author wrote is no command to a CI runner and no escape to a terminal.
  edit "$TMP/r.json" 'd["results"][1]["reason"] = "::error::x \x1b[31m ##[error]y"'
  attn report "$TMP/edited.json"
  expect_err ': : :error::x ?[31m ##'
  refute_err '##[error]'
}

@test "of a GPU whose peak rates are not known the report says so" {
  python -c '
import json
d = json.load(open("tests/data/released/0.1.0/gpu.json"))
d["device"].update(name="NVIDIA Next", cc_major=14, tensor_flop_per_clk_sm=0, fp32_flop_per_clk_sm=0)
print(json.dumps(d))' >"$TMP/next.json"
  must 0 attn report "$TMP/next.json" --html "$TMP/next.html"
  expect_out 'roof      attnbench does not know the peak rates of this GPU'
  grep -q '<dt>Roofs</dt>' "$TMP/next.html" || fail "the page does not say it"
  attn report tests/data/released/0.1.0/gpu.json
  refute_out 'peak rates'
}

@test "a failure that has its own message gets no second one" {
  expect_refusal 7 'none.json' -- report "$TMP/none.json"
  expect_err_lines 1
}

@test "a comparison that does not pass says how many rows and names the worst" {
  must 5 attn compare "$h200/v3.journal" "$h200/v3.journal" --json "$TMP/c.json"
  expect_err_lines 1
  expect_err_matches 'attnbench: ([0-9]+) of \1 rows: \1 inconclusive: 1 process each, 3 needed'
  expect_err_matches "; see $TMP/c.json\$"
  must 6 attn compare "$h200/v3.journal" "$h200/mission.journal"
  expect_err_lines 1
  expect_err 'attnbench: the two sides are not comparable, first difference: sweep: v3,'
}

@test "cells that a report lacks are counted" {
  must 4 attn report tests/data/report_cpu.jsonl
  expect_err_lines 1
  expect_err_matches 'attnbench: 1 of 4 cells was not measured$'
}

@test "--quiet prints nothing of any verb but why it ends as it does" {
  must 4 attn report tests/data/report_cpu.jsonl --json "$TMP/r.json" --quiet
  expect_no_out
  expect_err_lines 1
  attn report tests/data/report_cpu.jsonl "$TMP/r.json" --quiet
  expect_no_out
  attn diagnose "$TMP/r.json" --quiet
  expect_no_out
  must 5 attn compare "$h200/v3.journal" "$h200/v3.journal" --quiet --markdown "$TMP/c.md"
  expect_no_out
  expect_err_lines 1
  grep -q inconclusive "$TMP/c.md"
  must 0 attn plan --sweep shapes/v3.json --gpu l4 --quiet
  expect_no_out
  expect_no_err
}
