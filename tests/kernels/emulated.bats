# tags: slow asan
load ../helper

# The kernels for Hopper on an emulated GPU (tests/emulated): right results, and no barrier too few or too many. The
# object is beside the program where nvcc was found, since the emulation needs the toolkit's headers.
setup() {
  EMULATED=$(dirname "$ATTNBENCH")/tests/emulated.so
  [ -f "$EMULATED" ] || skip "no $EMULATED: it is built where nvcc is found"
}

# emulate VARIANTS OPTIONS...: every case must be right or refused; OK is how many are right.
emulate() {
  attn --device cpu --load "$EMULATED" --check-only --variants "$1" --json "$TMP/r.json" "${@:2}"
  [ "$status" = 0 ] || fail "exit $status"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
  OK=$(json "$TMP/r.json" 'sum(r["status"] == "ok" for r in d["results"])')
}

@test "wgmma is right for every D, mask and tunable" {
  emulate emulated_wgmma --sweep tests/data/sweeps/emulated.json
  [ "$OK" -ge 20 ] || fail "$OK cases are right"
  for tunables in cluster=2 overlap=0,pingpong=0,lazy=0 lazy=1 persistent=0; do
    emulate "emulated_wgmma:$tunables" --shape B=1,H=4/2,S=333x555,D=128,causal
    [ "$OK" = 1 ] || fail "$tunables is refused"
  done
}

@test "wgmma_general is right for windows, caps, sinks, narrower V and layouts" {
  emulate emulated_wgmma_general --sweep tests/data/sweeps/emulated.json
  [ "$OK" -ge 40 ] || fail "$OK cases are right"
}

@test "wgmma_general is right for random problems over all axes" {
  local seed=$RANDOM
  echo "tests/data/random_sweep.py $seed 60"
  python tests/data/random_sweep.py "$seed" 60 >"$TMP/s.json"
  emulate emulated_wgmma_general --sweep "$TMP/s.json"
  [ "$OK" -ge 5 ] || fail "$OK cases are right"
}

# mutant NAME SED: the general kernel for D of 64, so changed, must give a wrong result or end its worker.
mutant() {
  local tile=kernels/tiles/wgmma_general_tile.cuh variant=kernels/variants/wgmma_general.cu folder=$TMP/$1 build
  build=$(dirname "$ATTNBENCH")/emulated
  mkdir -p "$folder/kernels/tiles" "$folder/kernels/variants"
  sed -E "$2" "$tile" >"$folder/$tile"
  ! cmp -s "$tile" "$folder/$tile" || fail "$1 changes nothing"
  sed -E '/^    [{]{3}\.D = (128|192|256)/d' "$variant" >"$folder/$variant"
  g++ -std=c++20 -O1 -w -fPIC -D_GNU_SOURCE "-I$folder" -Itests/emulated -I. "-I$(dirname "$(make -s print-NVCC)")/../include" \
    -include tests/emulated/cuda.cuh -x c++ -c "$folder/$variant" -o "$folder/kernel.o"
  g++ -shared -Wl,-Bsymbolic "$folder/kernel.o" "$build/kernels/variants/wgmma.cu.o" "$build"/tests/emulated/*.o -o "$folder/mutant.so"
  attn --device cpu --load "$folder/mutant.so" --check-only --timeout 60 --variants emulated_wgmma_general --json "$TMP/r.json" \
    --shape B=2,H=3,S=500,D=64,window=150:0 --shape B=2,H=3,S=333x555,D=64,causal
  json "$TMP/r.json" '"'"$1"'", [r["status"] for r in d["results"]]'
  expect_json "$TMP/r.json" 'any(r["status"] != "ok" for r in d["results"])'
}

@test "the emulated GPU finds a barrier too few, a tile too many and a bound that is off by one" {
  mutant q_unguarded 's/hopper::barrier_wait\(at.q_empty\(g, round\), at.q_parity\(round\) \^ 1\);//'
  mutant tail_short 's/drop\(2 \* left - 1\)/drop(2 * left - 2)/'
  mutant left_bound 's/\+ c < first\)/+ c <= first)/'
  mutant product_unawaited 's/this->template wait<1>\(\);/this->template wait<2>();/'
}
