# tags: slow asan
# "-" as an input: what attnbench reads can come from a pipe, whatever verb or option reads it.
load ../helper

@test "reports, journals and tables of times come from a pipe, alone and beside files" {
  journal=results/h200/n6.journal
  for verb in report diagnose; do
    "$ATTNBENCH" "$verb" "$journal" --json "$TMP/file.json" >"$TMP/file"
    must 0 capture bash -c 'cat "$1" | "$2" "$3" - --json "$4"' - "$journal" "$ATTNBENCH" "$verb" "$TMP/pipe.json"
    cmp "$OUT" "$TMP/file" && cmp "$TMP/file.json" "$TMP/pipe.json" || fail "$verb - says something else"
  done
  must 0 capture bash -c '"$1" report - --json "$2" --csv - <"$3"' - "$ATTNBENCH" "$TMP/r.json" tests/data/times_s1.json
  expect_out 'B,Hq'
  must 0 capture bash -c '"$1" report - results/h200/torch_n6.json <"$2"' - "$ATTNBENCH" "$journal"
  expect_out torch_flash
  cd "$TMP"
  for sides in "- file.json" "file.json -"; do
    must 0 capture bash -c '"$1" compare $2 --noise warn <file.json' - "$ATTNBENCH" "$sides"
    expect_out_matches '^([0-9]+) compared of \1 expected'
  done
}

@test "a sweep comes from a pipe, also where it is measured by other processes" {
  sweep='{"attnbench_sweep": 1, "name": "piped", "shapes": [{"B": 1, "H": 1, "S": 2, "D": 8}]}'
  piped() { capture bash -c 'printf %s "$1" | "${@:2}"' - "$sweep" "$ATTNBENCH" "$@"; }
  piped plan --sweep - --gpu l4 --variants scalar --json "$TMP/plan.json"
  expect_status 0
  expect_json "$TMP/plan.json" 'd["sweep"]["name"] == "piped" and d["sweep"]["path"] == "-"'
  piped --sweep=- --device cpu --variants cpu_ref --check-only
  expect_status 0
  need_steady
  export STEADY_US=100
  piped ab --base "$ATTNBENCH" --load "$STEADY" --sweep - --device cpu --variants steady --rounds 5 --modes hot --json "$TMP/ab.json"
  expect_status 3 # steady is right for one key alone, and a wrong row is not measured again
  expect_json "$TMP/ab.json" 'd["sweep"]["path"] == "-" and len(d["results"]) == 1'
  sweep='{"attnbench_sweep": 1'
  piped --sweep - --device cpu
  expect_status 7
  expect_err '-:1:22:'
}

@test "two inputs cannot share stdin, an empty or endless one ends, and a verb that reads no file says so" {
  must 2 attn compare - -
  expect_err 'the report - and the report - would both read stdin'
  must 2 attn --sweep - --baseline -
  expect_err '--sweep - and --baseline - would both read stdin'
  must 7 capture bash -c '"$1" report - </dev/null' - "$ATTNBENCH"
  expect_err 'is empty'
  must 7 capture bash -c '"$1" --sweep - --device cpu </dev/zero' - "$ATTNBENCH"
  expect_err 'more bytes than the limit of 1048576'
  must 7 capture bash -c '"$1" report - <&-' - "$ATTNBENCH"
  expect_err 'stdin: cannot be read'
  must 2 attn -
  expect_err 'not understood'
}
