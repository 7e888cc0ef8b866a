# tags: slow asan
# Refused allocations: the program says so and ends with one of its exit codes, or does without.
load ../helper

@test "refused_allocations_are_told" {
  command -v "${CC:-gcc}" >/dev/null || skip "no C compiler here"
  ! grep -q __gcov_ "$ATTNBENCH" || skip "what counts lines does not survive a refused allocation"
  "$ATTNBENCH" --version | grep -q 'CUDA none' || skip "the CUDA runtime allocates before main; make check runs this"
  capture python scripts/proof/refuse_allocations.py --attnbench "$ATTNBENCH" --at-most 3 --not-slow
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
    # ab measures again what is too noisy, which it may do while it is listed and not while it is refused.
    least = 0.4 if row["command"] == "ab" else 0.9
    assert 0 < int(row["chains"]) and int(row["refused"]) >= least * int(row["chains"]), row
PY
}

@test "everything but ab and tune was tried with every single allocation refused" {
  python - <<'PY' || fail "the record is not whole"
import csv, sys
sys.path.insert(0, "scripts/proof")
import refuse_allocations as script
with open(script.RECORD_EVERY, encoding="utf-8") as file:
    rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
assert [row["command"] for row in rows] == [name for name, words, _ in script.COMMANDS if name not in script.SLOW], rows
for row in rows:
    assert int(row["failed"]) == 0 and int(row["allocations"]) > 0, row
    # A measurement asks for memory as often as it takes samples, so that the last of its requests may not come again.
    assert int(row["refused"]) >= int(row["allocations"]) * (0.9 if row["command"] in script.UNSTEADY else 1), row
PY
}
