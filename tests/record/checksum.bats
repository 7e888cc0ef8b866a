# tags: asan
# Journals and reports carry checksums: damage and edits are seen, said first, and refused by gates.
load ../helper

small() {
  must 0 attn --shape B=1,2,H=1,S=16,D=16,f32 --device cpu --quick --variants cpu_ref --quiet --json "$TMP/r.json" --journal "$TMP/j" "$@"
}

CHANGED='file      was changed after attnbench wrote it'

# edit OUT STATEMENT: the report with a change, by a Python statement over the document d, written as Python writes it.
edit() {
  python -c '
import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[3])
json.dump(d, open(sys.argv[2], "w"))' "$TMP/r.json" "$TMP/$1" "$2"
}

@test "400 of 400 flipped bits of a journal and of a report are seen" {
  small
  python - "$ATTNBENCH" "$TMP" <<'PY'
import pathlib, random, subprocess, sys
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
seed = random.randrange(2**32)
chance = random.Random(seed)


def ends(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, "\n".join(done.stdout.splitlines()[:2])


assert ends("compare", folder / "r.json", folder / "r.json")[0] == 5, "one process is too few to judge"
for name in ("j", "r.json"):
    whole = (folder / name).read_bytes()
    flipped = folder / "flipped"
    for _ in range(200):
        bit = chance.randrange(8 * len(whole))
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(data)
        what = f"seed {seed}: bit {bit} of {name}"
        code, head = ends("report", flipped)
        assert code in (4, 6, 7) or "was changed after attnbench wrote it" in head, f"{what}: report ends with {code}: {head}"
        code, head = ends("compare", folder / "r.json", flipped) if name == "r.json" else (7, "")
        assert code in (4, 6, 7), f"{what}: compare ends with {code}: {head}"
PY
}

@test "an edited report is named first by report, diagnose and the table of several, also what is made of it" {
  small
  sed 's/"seed":\t1,/"seed":\t2,/' "$TMP/r.json" >"$TMP/edited.json"
  local verb
  for verb in report diagnose; do
    must 0 attn "$verb" "$TMP/edited.json" --json "$TMP/next.json" --html "$TMP/next.html"
    [ "$(sed -n 2p "$OUT" | cut -c1-${#CHANGED})" = "$CHANGED" ] || fail "not in the first lines"
    expect_json "$TMP/next.json" 'd["run"]["edited"]'
    expect_valid results/report.schema.json "$TMP/next.json"
    grep -q 'was changed after attnbench wrote it' "$TMP/next.html"
    attn report "$TMP/next.json"
    expect_out "$CHANGED"
  done
  attn report "$TMP/edited.json" --markdown "$TMP/next.md"
  grep -q '^The file was changed after attnbench wrote it' "$TMP/next.md"
  attn report "$TMP/r.json" "$TMP/edited.json"
  expect_out 'was changed after attnbench wrote it'
  attn report "$TMP/r.json"
  refute_out 'changed'
  refute_out 'has no checksum'
}

@test "gates refuse an edited report with 7, and with --allow-edited the verdict names it" {
  small --rounds 5
  local edited=$TMP/edited.json
  sed 's/"seed":\t1,/"seed":\t1 ,/' "$TMP/r.json" >"$edited"
  expect_refusal 7 "$edited: was changed after attnbench wrote it" -- compare "$edited" "$TMP/r.json"
  expect_refusal 7 "$edited: was changed after attnbench wrote it" -- compare "$TMP/r.json" "$edited"
  expect_refusal 7 'accept the change with --allow-edited' -- --shape B=1,2,H=1,S=16,D=16,f32 --device cpu --baseline "$edited"
  expect_refusal 7 "$edited: was changed" -- diagnose "$TMP/r.json" --evidence "$edited"
  expect_refusal 7 "$edited: was changed" -- gate --selftest --from "$edited"
  attn compare "$edited" "$TMP/r.json" --allow-edited --markdown "$TMP/c.md"
  expect_out 'remark   changed after it was written: yes | no'
  attn compare "$edited" "$TMP/r.json" --allow-edited --json "$TMP/c.json" --quiet
  expect_valid results/compare.schema.json "$TMP/c.json"
  expect_json "$TMP/c.json" '{"key": "changed after it was written", "base": "yes", "new": "no", "fatal": False} in d["identity"]["differences"]'
  grep -q '^\*\*The base report was changed after attnbench wrote it\*\* (--allow-edited)' "$TMP/c.md"
}

@test "a report that was written again, or lost its checksum, was changed; one that never had any is older" {
  small
  edit again.json ''
  edit lost.json 'del d["checksum"]'
  edit other.json 'del d["has_checksum"]'
  local file
  for file in again lost other; do
    must 0 attn report "$TMP/$file.json"
    expect_out "$CHANGED"
  done
  edit older.json 'del d["checksum"], d["has_checksum"]'
  for file in "$TMP/older.json" tests/data/released/0.1.0/gpu.json; do
    attn report "$file"
    expect_out 'file      has no checksum: an older version or another program wrote it'
  done
  must 5 attn compare "$TMP/older.json" "$TMP/r.json"
  expect_out 'remark   checksum: none | there'
}

@test "the checksum is the hash that the page of the format says" {
  small
  python - "$TMP/j" <<'PY'
import re, sys
def fnv(data, value=0xCBF29CE484222325):
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
lines = open(sys.argv[1], "rb").read().splitlines()
start = fnv(lines[0])
for line in lines:
    covered, said = re.fullmatch(rb'(.*),"checksum":"([0-9a-f]{16})"}', line).groups()
    assert b"%016x" % fnv(covered, *([start] if line is not lines[0] else [])) == said, line
PY
  need_jsonschema
  must 0 capture python scripts/proof/validate_report.py "$TMP/r.json"
  sed 's/"seed":\t1,/"seed":\t2,/' "$TMP/r.json" >"$TMP/edited.json"
  must 1 capture python scripts/proof/validate_report.py "$TMP/edited.json"
  expect_err 'checksum: does not match'
}
