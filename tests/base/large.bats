# tags: asan
# Files of ten thousand rows, and files that were made to take long. The limits here are far from what is needed, so
# that a busy machine changes nothing; what took a power of the rows would not end.
load ../helper

# ATTN_ROWS=10000 is what the program is built for.
@test "many rows are reported, compared, diagnosed and drawn from in memory and time that grow as they do" {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  local words rows=${ATTN_ROWS:-1500} file=$TMP/large.json
  attn --sweep tests/data/sweeps/tiny.json --filter causal=false --variants cpu_flash --device cpu --quick --journal "$TMP/small"
  "$ATTN_PYTHON" tests/large_journal.py "$TMP/small" "$rows" "$TMP/j"
  "$ATTN_PYTHON" tests/large_journal.py "$TMP/small" "$rows" "$TMP/many" 10
  cd "$TMP"
  for words in "report j --json r.json --quiet" "diagnose r.json --csv /dev/null" \
    "compare r.json j --json /dev/null" "gate --selftest --from many --rounds 5 --json /dev/null"; do
    # shellcheck disable=SC2086
    # Of the CPU's time: a busy machine takes any time that passes.
    capture bash -c 'ulimit -t 120; exec "$@"' limited "$ATTN_PYTHON" "$ROOT/tests/large_journal.py" --run "$ATTNBENCH" $words
    echo "$words: CPU seconds, MB: $(cat "$OUT")" >>"$TMP/figures"
    # AddressSanitizer takes memory of its own.
    is_sanitized || [ "$(cut -d' ' -f2 "$OUT")" -lt "$((20 + rows / 30))" ] || fail "$(cat "$TMP/figures")"
    # One round is no evidence for a comparison.
    case $words in compare*) ;; *) expect_status 0 ;; esac
  done
  # Numbers that a double does not hold are looked up in the text: two in each row here.
  sed 's/"\(step_keys\|workspace_bytes\)":\t[0-9]*/"\1":\t9007199254740993/' "$TMP/r.json" >"$file"
  [ "$(grep -c 9007199254740993 "$file")" -eq "$((2 * rows))" ]
  must 0 capture timeout 30 "$ATTNBENCH" diagnose "$file" --csv /dev/null
  [ -z "${ATTN_ROWS:-}" ] || sed 's/^/# /' "$TMP/figures" >&3
}

@test "a number of registers that no GPU has is refused, and takes no time" {
  sed 's/"registers":[0-9]*/"registers":4294967295/g' tests/data/report_gpu.jsonl >"$TMP/j"
  must 7 capture timeout 30 "$ATTNBENCH" report "$TMP/j"
  expect_err "has more registers in a thread than GPUs have"
}
