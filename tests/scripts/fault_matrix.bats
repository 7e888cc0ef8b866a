# tags: slow asan
# Every planted fault first, in the middle and last of a sweep: it costs its own cells (scripts/proof/fault_matrix.py).
load ../helper

@test "a fault costs its own cells with its status and reason, and every other cell is measured" {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  # The sanitizer tells of memory that it refuses; what it finds wrong ends the process, which the matrix shows.
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:allocator_may_return_null=1:log_path=$TMP/asan
  must 0 capture "$ATTN_PYTHON" scripts/proof/fault_matrix.py --attnbench "$ATTNBENCH_FAULTY" --device cpu
  [ "$(grep -c '^as expected' "$OUT")" -eq 38 ] || fail "38 faults should be there"
}

@test "the committed matrix is what was measured, all of it as expected" {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  must 0 capture "$ATTN_PYTHON" scripts/proof/fault_matrix.py --page --check
  expect_json results/fault_matrix.json 'all(row["as_expected"] and set(row["status"]) == {"first", "middle", "last"}
    for part in d["devices"].values() for row in part["rows"].values())'
  expect_json results/fault_matrix.json '{device: len(part["rows"]) for device, part in d["devices"].items()} == {"cpu": 38, "cuda": 15}'
}
