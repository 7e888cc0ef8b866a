# The text report on a terminal, where it is shorter than in a file.
load ../helper

# on_terminal COLUMNS ARGS: what a person sees, without colours.
on_terminal() {
  COLUMNS=$1 NO_COLOR=1 capture python -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$ATTNBENCH" "${@:2}"
  tr -d '\r' <"$OUT" >"$TMP/seen" && cp "$TMP/seen" "$OUT"
}

@test "many rows: a terminal shows the fastest of each case and what failed, a file all; the answer stands above" {
  on_terminal 80 report results/h200/decode.journal
  tr '\n' ' ' <"$OUT" | grep -q 'faster than cudnn in 45 of 46 (1.01x to 11.42x), as fast in 1 (1.00x)' || fail 'no answer'
  [ "$(grep -c '^> ' "$OUT")" = 46 ] || fail 'not one row for each case'
  expect_out '92 of 138 rows are left out'
  [ "$(grep -n '^fastest: ' "$OUT" | cut -d: -f1)" -lt "$(grep -n '^> ' "$OUT" | head -1 | cut -d: -f1)" ] || fail 'the answer is below the table'
  # What bounds 46 rows is told for each limit of a variant.
  expect_out 'slowest of 23 cases'
  must 0 attn report results/h200/decode.journal
  [ "$(grep -cE '^(> |  )auto' "$OUT")" = 46 ] || fail 'a file has all rows'
  refute_out 'are left out'
}

@test "the answer names the reference and every other library" {
  COLUMNS=200 must 0 attn report results/h200/odd.journal
  expect_out 'fastest: wgmma in 36 of 36 cases; faster than cudnn in 36 of 36 (1.15x to 1.64x); faster than fa3 in 35 of 36 (1.03x to 1.43x), as fast in 1 (1.00x)'
}

@test "a narrow table has short names of cases, whole, and keeps the times" {
  on_terminal 80 report results/h200/prefill.journal
  expect_out_matches '^> 32,32,512,64 f16 causal +wgmma +106\.4 +111\.4 +323\.5 +52\.4 dram +1\.21$'
  COLUMNS=80 must 0 attn report results/h200/decode.journal
  expect_out_matches '^decode +64,32/8,1x4096,128 f16 full +32 -> 2048 '
  COLUMNS=160 must 0 attn report results/h200/decode.journal
  expect_out_matches '^decode +B64.H32.Hkv8.Sq1.Skv4096.D128.f16.full +32 -> 2048 '
}

@test "what auto picked is told once, and no growth from one kernel to another" {
  local sweep
  for sweep in v3 decode; do
    must 0 attn report "results/h200/$sweep.journal"
    ! sed -n '/^findings/,$p' "$OUT" | grep -E '^(auto|[a-z]+ +auto:)' || fail "$sweep tells of auto"
  done
  attn report results/h200/v3.journal --json "$TMP/v3.json" --quiet
  expect_json "$TMP/v3.json" 'all(picked[r["key"]] == picked[r["scaling"]["baseline_key"]] for picked in [{r["key"]: r["picked"] for r in d["results"] if r["variant"] == "auto"}] for r in d["results"] if r["variant"] == "auto" and r["scaling"])'
}

@test "diagnose shows findings first, and no table of times" {
  must 0 attn diagnose results/h200/v3.journal
  ! grep -qE 'TFLOP/s +% of' "$OUT" || fail 'it has the table of times'
  [ "$(grep -n '^findings' "$OUT" | cut -d: -f1)" -lt "$(grep -n '^what bounds' "$OUT" | cut -d: -f1)" ] || fail 'findings come late'
  must 0 attn report results/h200/v3.journal
  expect_out_matches 'TFLOP/s +% of'
}

@test "the legend explains the columns that are shown, and no other one" {
  on_terminal 80 report results/h200/v3.journal
  expect_out 'hot = median'
  refute_out 'waves = blocks'
  on_terminal 160 report results/h200/v3.journal
  expect_out 'waves = blocks'
  on_terminal 80 report results/h200/steady.journal
  expect_out 'left out at 80 columns: '
  refute_out 'power, energy = '
  on_terminal 200 report results/h200/steady.journal
  expect_out 'power, energy = '
}

@test "what e4m3 itself costs, and the conventions, are one paragraph each" {
  must 0 attn report results/h200/fp8.journal
  [ "$(grep -c '^e4m3 itself: ' "$OUT")" = 1 ] || fail 'not once'
  expect_out 'O differs from that of unrounded inputs by 0.0002082 to 0.2000 (RMSE), 7.240 at most, at B1.H4.Hkv4.Sq1024.Skv1024.D128.e4m3.out_f16'
  expect_out 'conventions: dtype, scales, outliers, lse (`attnbench describe dtype` explains one)'
  [[ $(tr -s '\n ' ' ' <"$OUT") == *'wgmma_fp8 alone in 11 more'* ]] || fail "$(cat "$OUT")" # wherever the line is broken
}

@test "planned rows of another device are one line where the device was named, and where reports stand side by side" {
  must 0 attn --device cpu --shape B=1,H=2,S=16,D=16 --check-only --json "$TMP/a.json"
  expect_out_matches '^[0-9]+ planned rows for NVIDIA H200: see --json, or .attnbench plan.$'
  refute_out 'serial'
  # Nothing was timed: no column for it.
  refute_out ' hot '
  expect_json "$TMP/a.json" '[r["status"] for r in d["results"]].count("planned") > 5'
  must 0 attn report "$TMP/a.json"
  refute_out 'serial'
  must 0 attn diagnose "$TMP/a.json"
  expect_out 'serial'
  must 0 attn report "$TMP/a.json" "$TMP/a.json"
  refute_out 'serial'
  expect_out_matches '^[0-9]+ planned rows are left out$'
}

@test "the table of scaling keeps its numbers at 80 columns, and a plan begins with its device" {
  COLUMNS=80 must 0 attn report results/h200/decode.journal
  expect_out_matches '^variant +case +B\*H +waves +hot +verdict$'
  must 0 attn plan --gpu h200 --shape B=1,H=2,S=64,D=64
  [ "$(sed -n 2p "$OUT" | cut -c1-45)" = 'planned = not measured, geometry for NVIDIA H' ] || fail "$(head -3 "$OUT")"
}
