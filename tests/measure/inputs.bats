# attnbench inputs: the tensors of a check, for programs that attnbench does not load.
load ../helper

@test "it writes Q, K and V of every launch, the random one first, the same ones for the same seed" {
  "$ATTNBENCH" inputs --shape B=1,H=4/2,S=17x33,D=32,f32,causal >"$TMP/one"
  "$ATTNBENCH" inputs --shape B1.H4.Hkv2.Sq17.Skv33.D32.f32.causal --seed 1 >"$TMP/same"
  "$ATTNBENCH" inputs --shape B=1,H=4/2,S=17x33,D=32,f32,causal --seed 2 >"$TMP/other"
  cmp "$TMP/one" "$TMP/same"
  ! cmp -s "$TMP/one" "$TMP/other"
  python - "$TMP/one" <<'PY'
import array, math, sys
numbers = array.array("f", open(sys.argv[1], "rb").read())
q, k = 4 * 17 * 32, 2 * 33 * 32
assert len(numbers) == 3 * (q + 2 * k), len(numbers)
random, hard = numbers[:q + 2 * k], numbers[q + 2 * k:]
assert all(abs(x) < 3.5 for x in random) and 0.9 < sum(x * x for x in random) / len(random) < 1.1
# In every other KV head the keys that rows of the upper half do not see are NaN in K alone.
for launch in (hard[:q + 2 * k], hard[q + 2 * k:]):
    nan = [i for i, x in enumerate(launch) if math.isnan(x)]
    assert nan and all(q <= i < q + k for i in nan), nan[:3]
PY
}

@test "it refuses a terminal, writes half precision, and says when nothing more can be written" {
  [ "$("$ATTNBENCH" inputs --shape B=1,H=2,S=16,D=8 --shape B=1,H=1,S=16,D=8,bf16 | wc -c)" -eq $((3 * 3 * 2 * (2 + 1) * 16 * 8)) ]
  expect_refusal 2 '--shape or --sweep is missing' -- inputs
  [ -e /dev/full ] || skip "no /dev/full"
  status=0
  "$ATTNBENCH" inputs --shape B=1,H=8,S=512,D=64 >/dev/full 2>"$ERR" || status=$?
  expect_status 8
  expect_err 'No space left'
  script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no script(1), or no pseudo-terminal"
  script -qec "$ATTNBENCH inputs --shape B=1,H=1,S=16,D=8" /dev/null >"$OUT" </dev/null || true
  expect_out 'which a terminal cannot show'
}
