#!/usr/bin/env bats
# Refused allocations: the program says so and ends with one of its exit codes, or does without.
load helper

@test "refused_allocations_are_told" {
  command -v "${CC:-gcc}" >/dev/null || skip "no C compiler here"
  ! grep -q __gcov_ "$ATTNBENCH" || skip "what counts lines does not survive a refused allocation"
  "$ATTNBENCH" --version | grep -q 'CUDA none' || skip "the CUDA runtime allocates before main; make check runs this"
  capture python scripts/proof/refuse_allocations.py --attnbench "$ATTNBENCH" --at-most 3
  [ "$status" -eq 0 ] || fail "$(cat "$OUT" "$ERR")"
}

# A record of all of them, made by the same script under sanitizers.
@test "every_command_was_tried_with_each_of_its_allocations_refused" {
  python - <<'PY' || fail "the record is not that of the script's commands"
import csv, sys
sys.path.insert(0, "scripts/proof")
import refuse_allocations as script
with open(script.RECORD, encoding="utf-8") as file:
    rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
assert [row["command"] for row in rows] == [name for name, _, _ in script.COMMANDS], rows
for row in rows:
    assert int(row["failed"]) == 0, row
    assert 0 < int(row["chains"]) and int(row["refused"]) >= 0.9 * int(row["chains"]), row
PY
}

@test "verbs that measure nothing were tried with every single allocation refused" {
  python - <<'PY' || fail "the record is not whole"
import csv, sys
sys.path.insert(0, "scripts/proof")
import refuse_allocations as script
with open(script.RECORD_EVERY, encoding="utf-8") as file:
    rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
assert [row["command"] for row in rows] == [name for name, words, _ in script.COMMANDS if words[0] != "run"], rows
assert all(int(row["failed"]) == 0 and 0 < int(row["allocations"]) == int(row["refused"]) for row in rows), rows
PY
}
