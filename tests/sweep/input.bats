load ../helper

@test "every broken sweep is refused with its place, what is wrong, and exit code 7" {
  local file place phrase count=0
  while IFS=$'\t' read -r file place phrase; do
    must 7 attn --sweep "tests/data/bad/$file" --device cpu
    expect_no_out
    expect_err_lines 1
    expect_err "$phrase"
    if [ "$place" = - ]; then
      expect_err "tests/data/bad/$file"
    else
      expect_err "tests/data/bad/$file:$place: "
    fi
    count=$((count + 1))
  done <tests/data/bad/expected.txt
  [ "$count" -ge 60 ] || fail "only $count broken files were tried"
}

@test "plan refuses a broken sweep in the same way" {
  expect_refusal 7 'tests/data/bad/' -- plan --sweep tests/data/bad/dup_key.json --gpu h200
}

@test "a journal that is none is refused with exit code 7" {
  expect_refusal 7 'shapes/v3.json' -- report shapes/v3.json
  expect_refusal 7 'no_such_journal' -- report no_such_journal
}

@test "no name turns the direction of what stderr says, or drives the terminal" {
  must 7 attn report $'a\xe2\x80\xaeb\xc2\x9bc\x1b[31m'
  expect_err 'attnbench: a?b?c?[31m: cannot be opened'
}
