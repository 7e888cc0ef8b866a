# tags: asan
# What shapes/README.md says of limits: taken at the limit, refused one past it with the reason. Those of single values are
# in unit_sweep, unit_json_reader and unit_journal.
load ../helper

# path_of LENGTH NAME: a path of that many bytes to NAME in the working folder.
path_of() {
  local rest=$(($1 - ${#2})) dots
  dots=$(printf './%.0s' $(seq $((rest / 2))))
  [ $((rest % 2)) -eq 0 ] || dots=${dots%./}.//
  printf '%s%s' "$dots" "$2"
}

@test "the documented limits are those of the program" {
  local row
  for row in 'JSON_FILE_BYTES_MAX = 1 << 20|one sweep file, or manifest of a compiled kernel | 1048576 bytes' \
    'JOURNAL_BYTES_MAX (UINT32_C(256) << 20)|a journal, a report, a baseline | 268435456 bytes' \
    'JOURNAL_CELLS_MAX (JOURNAL_BYTES_MAX >> 10)|cells of a run | 262144' \
    'JSON_DEPTH_MAX = 16|nesting | 16 levels' 'JSON_STRING_MAX = 32768|a string | 32768 bytes' \
    'JSON_NUMBER_BYTES_MAX = 63|a number | 63 characters' \
    'JSON_VALUES_FREE = 1 << 20, JSON_VALUE_BYTES_LEAST = 6|values of a file beyond 1048576 | one in 6 bytes' \
    'SWEEP_CASES_MAX = 10000|cases of a sweep | 10000' \
    'SWEEP_VARIANTS_MAX = 64|variants of a sweep | 64'; do
    grep -rqF "${row%%|*}" cli || fail "no ${row%%|*}"
    grep -qF "| ${row#*|}" shapes/README.md || fail "shapes/README.md does not say: ${row#*|}"
  done
}

@test "paths are taken up to 4095 bytes, and a longer one does not hide the reason" {
  local path
  cp tests/data/sweeps/tiny.json "$TMP/s.json"
  cd "$TMP"
  must 0 attn --sweep "$(path_of 4095 s.json)" --device cpu --variants cpu_flash --check-only --quiet --journal "$(path_of 4095 j)"
  must 0 attn report "$(path_of 4095 j)" --quiet --json "$(path_of 4000 r.json)"
  expect_json r.json 'len(d["sweep"]["path"]) == 4095'
  must 7 attn plan --gpu l4 --sweep "$(path_of 4096 s.json)"
  expect_err 'File name too long'
  must 8 attn --sweep s.json --device cpu --variants cpu_flash --check-only --journal "$(path_of 4096 k)"
  expect_err 'path is too long'
  must 7 attn report "$(path_of 4096 j)"
  expect_err 'File name too long'
  must 8 attn report j --quiet --json "$(path_of 4096 t.json)"
  expect_err 'path is too long'
  [ ! -e k ] && [ ! -e t.json ]
}

@test "files are read up to their limits" {
  cp tests/data/sweeps/tiny.json "$TMP/s.json"
  head -c $((1048576 - $(stat -c %s "$TMP/s.json"))) /dev/zero | tr '\0' ' ' >>"$TMP/s.json"
  must 0 attn plan --gpu l4 --sweep "$TMP/s.json" --quiet
  printf ' ' >>"$TMP/s.json"
  must 7 attn plan --gpu l4 --sweep "$TMP/s.json" --quiet
  expect_err 'has 1048577 bytes, more than the limit of 1048576'
  truncate -s 268435457 "$TMP/j"
  must 7 attn report "$TMP/j"
  expect_err 'has 268435457 bytes, more than the limit of 268435456'
}
