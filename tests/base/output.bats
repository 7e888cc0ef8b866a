load ../helper

tiny() { attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash "$@"; }

@test "an output in a missing folder is refused before anything is measured" {
  must 8 tiny --json "$TMP/none/r.json"
  expect_err "$TMP/none"
  expect_no_out
}

@test "a folder is no output" {
  must 8 tiny --csv "$TMP"
  expect_err "$TMP"
}

@test "a full disk ends with 8 and keeps the journal" {
  [ -e /dev/full ] || skip "no /dev/full here"
  must 8 tiny --json /dev/full --journal "$TMP/run.journal"
  expect_err '/dev/full'
  must 0 attn report "$TMP/run.journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 2'
}

# A page is written in small pieces: the write that fails is long before the end.
@test "a full disk is the reason that is told, whatever the output" {
  [ -e /dev/full ] || skip "no /dev/full here"
  attn run --sweep tests/data/sweeps/tiny.json --device cpu --check-only --journal "$TMP/run.journal"
  for option in --html --json --csv --gbench; do
    must 8 attn report "$TMP/run.journal" --quiet "$option" /dev/full
    expect_err '/dev/full: cannot write: No space left on device'
  done
  must 8 attn compare "$TMP/run.journal" "$TMP/run.journal" --markdown /dev/full
  expect_err '/dev/full: cannot write: No space left on device'
}

@test "a verb that only prints ends with 8 where that cannot be written" {
  [ -e /dev/full ] || skip "no /dev/full here"
  for words in --help --version list 'list --json' 'describe wgmma' 'generate man' 'inputs --shape B=1,H=1,S=16,D=64'; do
    status=0
    # shellcheck disable=SC2086
    "$ATTNBENCH" $words >/dev/full 2>"$ERR" || status=$?
    expect_status 8
    expect_err 'No space left'
  done
}

@test "a closed standard stream costs what would go there and nothing else" {
  local run=("$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash)
  "${run[@]}" --json "$TMP/r.json" --journal "$TMP/1.journal" 2>&- || fail "without stderr"
  "${run[@]}" --json "$TMP/r.json" --journal "$TMP/2.journal" <&- 2>&- >&- || fail "without any"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 2'
  status=0
  "${run[@]}" --journal "$TMP/3.journal" >&- 2>"$ERR" || status=$?
  expect_status 8
  for journal in "$TMP"/[123].journal; do
    must 0 attn report "$journal"
  done
}

@test "a failed run leaves an existing report as it was" {
  echo old >"$TMP/r.json"
  must 7 attn --sweep tests/data/bad/dup_key.json --json "$TMP/r.json"
  [ "$(cat "$TMP/r.json")" = old ] || fail "the old report was touched"
}

@test "a finished run replaces the report and leaves nothing else behind" {
  echo old >"$TMP/r.json"
  must 0 tiny --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["schema"] == "attnbench.report/1"'
  [ "$(find "$TMP" -type f ! -name '.std*' | wc -l)" -eq 1 ] || fail "left behind: $(ls -A "$TMP")"
}

@test "a report goes whole through a named pipe" {
  mkfifo "$TMP/pipe"
  timeout 20 cat "$TMP/pipe" >"$TMP/r.json" &
  capture timeout 20 "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash \
    --json "$TMP/pipe"
  wait
  expect_status 0
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 2'
}

# More than a pipe holds, so that the program still writes when the reader leaves.
@test "a named pipe whose reader goes away ends what measures nothing with 8, too" {
  mkfifo "$TMP/pipe"
  timeout 20 head -c 10 "$TMP/pipe" >/dev/null &
  capture timeout 20 "$ATTNBENCH" plan --sweep mission --gpu h200 --json "$TMP/pipe" --quiet
  wait
  expect_status 8
  expect_err "$TMP/pipe: cannot write: Broken pipe"
}

@test "a report that is replaced keeps its permissions" {
  echo old >"$TMP/r.json"
  chmod 600 "$TMP/r.json"
  must 0 tiny --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 2'
  [ "$(stat -c %a "$TMP/r.json")" = 600 ] || fail "now $(stat -c %a "$TMP/r.json")"
}

@test "a journal is never written over" {
  echo precious >"$TMP/run.journal"
  must 8 tiny --journal "$TMP/run.journal"
  [ "$(cat "$TMP/run.journal")" = precious ] || fail "the journal was touched"
}

@test "a journal stands where it was named, however long that is" {
  local folder=$TMP/$(printf 'a%.0s' {1..250})/$(printf 'b%.0s' {1..250})
  mkdir -p "$folder"
  must 0 tiny --journal "$folder/run.journal"
  [ -s "$folder/run.journal" ] || fail "not there: $(find "$TMP" -type f ! -name '.std*')"
  must 8 tiny --journal "$TMP/$(printf './%.0s' {1..3000})run.journal"
  expect_err "too long"
}

@test "a report says every filter" {
  local filters=() said=
  for _ in {1..16}; do
    filters+=(--filter causal=false)
    said="$said causal=false"
  done
  must 0 tiny "${filters[@]}" --json "$TMP/r.json"
  expect_json "$TMP/r.json" "d['run']['filter'] == '${said# }'"
}

@test "JSON and CSV can go to stdout" {
  must 0 tiny --json -
  expect_json "$OUT" 'len(d["results"]) == 2'
  must 0 tiny --csv -
  [ "$(wc -l <"$OUT")" -eq 5 ] || fail "expected a heading and four rows"
}

@test "google-benchmark's JSON goes to a file beside the other outputs" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --json "$TMP/r.json" --gbench "$TMP/g.json"
  expect_json "$TMP/g.json" 'len(d["benchmarks"]) == 4 and all(b["time_unit"] == "us" and b["real_time"] > 0 for b in d["benchmarks"])'
  must 0 attn diagnose "$TMP/r.json" --gbench -
  diff "$OUT" "$TMP/g.json"
  must 0 attn report "$TMP/r.json" --gbench "$TMP/again.json"
  diff "$TMP/again.json" "$TMP/g.json"
  must 8 attn --sweep tests/data/sweeps/tiny.json --gbench "$TMP/none/g.json"
  expect_err '--gbench'
}

@test "long paths and filters are kept whole in journal and report, and what has no room says so" {
  local folder=$TMP/$(printf 'a%.0s' {1..200})/$(printf 'b%.0s' {1..200}) sweep filters=() i
  mkdir -p "$folder"
  sweep=$folder/tiny.json
  cp tests/data/sweeps/tiny.json "$sweep"
  for i in 1 2 3 4 5 6; do filters+=(--filter "D=$(printf '%080d' 64)"); done
  must 0 attn --sweep "$sweep" --device cpu --check-only --variants cpu_flash "${filters[@]}" --journal "$TMP/j" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["sweep"]["path"] == "'"$sweep"'" and d["run"]["filter"] == " ".join(["D=" + "64".zfill(80)] * 6)'
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  filters=()
  for i in $(seq 16); do filters+=(--filter "D=$(printf '%0400d' 64)"); done
  must 0 attn plan --sweep "$sweep" --gpu l4 "${filters[@]}" --json "$TMP/p.json"
  expect_json "$TMP/p.json" 'd["run"]["command"].endswith(" ...") and d["run"]["filter"].endswith(" ...")'
  attn diagnose "$TMP/p.json" --json "$TMP/again.json"
  cmp "$TMP/p.json" "$TMP/again.json"
}

@test "no two outputs share stdout" {
  expect_refusal 2 '--json - and --gbench - cannot share stdout' -- --sweep shapes/v3.json --json - --gbench -
}

@test "no output replaces another one or what is read" {
  attn report tests/data/report_cpu.jsonl --json "$TMP/a.json"
  cp "$TMP/a.json" "$TMP/b.json"
  cp tests/data/sweeps/tiny.json "$TMP/s.json"
  ln -s b.json "$TMP/link.json"
  mkdir "$TMP/folder"
  expect_refusal 2 'are one file; give --json a file of its own' -- --sweep "$TMP/s.json" --csv "$TMP/x" --json "$TMP/folder/../x"
  expect_refusal 2 'are one file' -- --sweep "$TMP/s.json" --journal "$TMP/x" --csv "$TMP/x"
  expect_refusal 2 'and --sweep' -- --sweep "$TMP/s.json" --json "$TMP/s.json"
  expect_refusal 2 'and --baseline' -- --sweep "$TMP/s.json" --baseline "$TMP/b.json" --json "$TMP/b.json"
  expect_refusal 2 'and --base' -- ab --sweep "$TMP/s.json" --base "$TMP/a.json" --base-json "$TMP/a.json"
  expect_refusal 2 'and the report' -- compare "$TMP/a.json" "$TMP/b.json" --json "$TMP/link.json"
  expect_refusal 2 'are one file' -- compare "$TMP/a.json" "$TMP/b.json" --markdown "$TMP/x" --junit "$TMP/x"
  expect_refusal 2 'and the report' -- report tests/data/report_cpu.jsonl --json tests/data/report_cpu.jsonl
  cmp "$TMP/a.json" "$TMP/b.json"
  cmp tests/data/sweeps/tiny.json "$TMP/s.json"
  attn compare "$TMP/a.json" "$TMP/a.json" --json /dev/null --markdown /dev/null
  refute_err 'one file'
  must 2 capture sh -c '"$1" report - --json "$2" <"$2"' sh "$ATTNBENCH" "$TMP/b.json"
  expect_err 'and the standard input'
  cmp "$TMP/a.json" "$TMP/b.json"
}

@test "no output replaces the file that stdout or stderr is redirected to, under any of its names" {
  local option
  cp tests/data/sweeps/tiny.json "$TMP/s.json"
  ln -s x "$TMP/link"
  for option in --json --journal --csv --html; do
    : >"$TMP/x"
    must 2 capture sh -c '"$1" --sweep "$2/s.json" --device cpu "$3" "$2/link" >>"$2/x"' sh "$ATTNBENCH" "$TMP" "$option"
    expect_err "$option $TMP/link and the standard output /dev/stdout are one file; give $option a file of its own"
    [ ! -s "$TMP/x" ] || fail "something was written"
  done
  echo before >"$TMP/x"
  must 2 capture sh -c 'exec "$1" --sweep "$2/s.json" --device cpu --json "$2/x" 2>>"$2/x"' sh "$ATTNBENCH" "$TMP"
  [ "$(head -n 1 "$TMP/x")" = before ] && grep -q 'and the standard error /dev/stderr are one file' "$TMP/x" || fail "$(cat "$TMP/x")"
  : >"$TMP/r.json.journal"
  must 2 capture sh -c '"$1" --sweep "$2/s.json" --device cpu --json "$2/r.json" >>"$2/r.json.journal"' sh "$ATTNBENCH" "$TMP"
  expect_err 'the journal '"$TMP/r.json.journal"' and the standard output'
}

# Every output of every verb, against every input: tests/command/unit_outputs.c.
@test "no output replaces the program or a kernel that a manifest names" {
  local kernel=$TMP/plain.cubin
  cp "$ATTNBENCH" "$TMP/program"
  ln "$TMP/program" "$TMP/hard"
  echo kernel >"$kernel"
  cp tests/data/plain_attention.json "$TMP"
  must 2 capture "$TMP/program" --shape B=1,H=1,S=16,D=64 --device cpu --json "$TMP/hard"
  expect_err 'and the running program /proc/self/exe are one file; give --json a file of its own'
  cmp "$ATTNBENCH" "$TMP/program"
  expect_refusal 2 "and the kernel $kernel are one file" -- plan --gpu h200 --shape B=1,H=1,S=16,D=64 \
    --load "$TMP/plain_attention.json" --json "$kernel"
  [ "$(cat "$kernel")" = kernel ]
}
