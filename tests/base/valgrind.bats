# tags: slow unsanitized
# The program under valgrind's memcheck: no read of what was never written, nothing lost. Workers run beside it.
load ../helper

memcheck() {
  command -v valgrind >/dev/null || skip "no valgrind here"
  ! grep -q __asan_init "$ATTNBENCH" || skip "a program with sanitizers of its own"
  capture valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
    --suppressions=tests/data/valgrind.supp "$ATTNBENCH" "$@"
}

@test "a sweep is measured under valgrind, continued and reported" {
  must 0 memcheck --sweep tests/data/sweeps/tiny.json --variants cpu_flash --device cpu --quick --filter causal=false --journal "$TMP/j" --json "$TMP/r.json" \
    --html "$TMP/r.html"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 1'
  sed -i '/"end"/d; /"cell"/d' "$TMP/j"
  must 0 memcheck --sweep tests/data/sweeps/tiny.json --variants cpu_flash --device cpu --quick --filter causal=false --journal "$TMP/j" --resume
}
