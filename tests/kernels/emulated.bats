# tags: long slow asan
load ../helper

# The kernels for Hopper on an emulated GPU (tests/emulated): right results, and no barrier too few or too many. The
# object is beside the program where nvcc was found, since the emulation needs the toolkit's headers.
#
# All of it takes ten minutes of one core. A run draws a part: a shard of each sweep, a tunable and some mutants, so that a
# mistake in every case is found by each run, and one in a single case by one run in 5 to 18.
# ATTN_EMULATED=SEED draws what an earlier run drew; ATTN_EMULATED=all (make test-emulated) leaves nothing out.
setup() {
  EMULATED=$(dirname "$ATTNBENCH")/tests/emulated.so
  [ -f "$EMULATED" ] || skip "no $EMULATED: it is built where nvcc is found"
  ATTN_EMULATED=${ATTN_EMULATED:-$((1 + RANDOM))}
  if [ "$ATTN_EMULATED" != all ]; then
    RANDOM=$ATTN_EMULATED
    echo "what was drawn is drawn again by ATTN_EMULATED=$ATTN_EMULATED"
  fi
}

# drawn COUNT WORD...: DRAWN gets COUNT of the words, or all.
drawn() {
  local count=$1 at
  shift
  DRAWN=("$@")
  [ "$ATTN_EMULATED" != all ] || return 0
  while [ "${#DRAWN[@]}" -gt "$count" ]; do
    at=$((RANDOM % ${#DRAWN[@]}))
    DRAWN=("${DRAWN[@]:0:at}" "${DRAWN[@]:at+1}")
  done
}

# emulate VARIANTS OPTIONS...: every case must be right or refused; OK is how many are right.
emulate() {
  attn --device cpu --load "$EMULATED" --check-only --variants "$1" --json "$TMP/r.json" "${@:2}"
  [ "$status" = 0 ] || fail "exit $status"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
  OK=$(json "$TMP/r.json" 'sum(r["status"] == "ok" for r in d["results"])')
}

# emulate_part OF LEAST VARIANT SWEEP OPTIONS...: the same for one drawn shard of OF, or for all, of which LEAST must be right.
emulate_part() {
  local of=$1 least=$2 shard=()
  [ "$ATTN_EMULATED" = all ] || shard=(--shard "$((1 + RANDOM % of))/$of")
  emulate "$3" --sweep "$4" "${@:5}" "${shard[@]}"
  [ "$ATTN_EMULATED" = all ] || least=$((least / of / 2))
  [ "$OK" -ge "$least" ] || fail "$OK cases are right, $least should be"
}

@test "wgmma is right for every D, mask and tunable" {
  local tunables
  emulate_part 6 20 emulated_wgmma tests/data/sweeps/emulated.json
  drawn 1 cluster=2 overlap=0,pingpong=0,lazy=0 lazy=1 persistent=0
  for tunables in "${DRAWN[@]}"; do
    emulate "emulated_wgmma:$tunables" --shape B=1,H=4/2,S=333x555,D=128,causal
    [ "$OK" = 1 ] || fail "$tunables is refused"
  done
}

@test "wgmma_general is right for windows, caps, sinks, narrower V and layouts" {
  emulate_part 8 40 emulated_wgmma_general tests/data/sweeps/emulated.json
}

@test "wgmma_general is right for lists of blocks" {
  emulate_part 8 41 emulated_wgmma_general tests/data/sweeps/emulated_sparse.json
}

@test "wgmma_general is right with every kernel that tunables reach" {
  local tunables dim right
  drawn 1 64:warpgroups=4 64:warpgroups=2 64:warpgroups=1 64:persistent=0 128:kv_tile=64,warpgroups=2 128:kv_tile=128 128:warpgroups=3 256:persistent=0
  for tunables in "${DRAWN[@]}"; do
    dim=${tunables%%:*}
    emulate "emulated_wgmma_general:${tunables#*:}" --shape "B=1,H=4/2,S=900,D=$dim,bf16,window=300:0" \
      --shape "B=1,H=2,S=300x555,D=$dim,bf16,causal,softcap=13" --shape "batch=q300s300_2q70s200_q1s400,H=4/2,D=$dim,bf16,causal,lse"
    case $tunables in
      64:warpgroups=1 | 128:kv_tile=64,*) right=2 ;; # no soft caps
      *) right=3 ;;
    esac
    [ "$OK" = $right ] || fail "$tunables: $OK cases are right"
  done
}

@test "wgmma_general is right for random problems over all axes" {
  local seed=$RANDOM
  echo "tests/data/random_sweep.py $seed 60"
  python tests/data/random_sweep.py "$seed" 60 >"$TMP/s.json"
  emulate_part 4 5 emulated_wgmma_general "$TMP/s.json"
}

@test "wgmma_paged is right for pages, prefills beside decodes, and heads that share a tile" {
  local seed=$RANDOM tunables
  emulate_part 6 45 emulated_wgmma_paged tests/data/sweeps/emulated_paged.json
  drawn 1 packed=0 persistent=0
  for tunables in "${DRAWN[@]}"; do
    emulate_part 10 45 "emulated_wgmma_paged:$tunables" tests/data/sweeps/emulated_paged.json
  done
  echo "tests/data/random_sweep.py $seed 100"
  python tests/data/random_sweep.py "$seed" 100 >"$TMP/s.json"
  emulate_part 6 4 emulated_wgmma_paged "$TMP/s.json"
  must 4 attn --device cpu --load "$EMULATED" --check-only --variants emulated_wgmma_paged --json "$TMP/r.json" \
    --shape B=1,H=4/1,S=1x70,D=64,bf16,page=24 --shape B=1,H=4/1,S=1x70,D=64,bf16,page=4
  expect_json "$TMP/r.json" 'all("page must be" in r["reason"] for r in d["results"])'
}

@test "wgmma_fp8 is right for every D, kind of scales, mask and layout" {
  emulate_part 12 83 emulated_wgmma_fp8 tests/data/sweeps/emulated_e4m3.json
  emulate_part 18 70 emulated_wgmma_fp8:warpgroups=2,emulated_wgmma_fp8:persistent=0 tests/data/sweeps/emulated_e4m3.json --filter D=64
  emulate_part 18 80 emulated_wgmma_fp8:transpose_pass=1 tests/data/sweeps/emulated_e4m3.json
}

@test "wgmma_fp8 is right where blocks share the keys of a q tile" {
  local splits seed=$RANDOM
  drawn 1 2 3 7,persistent=0 255
  for splits in "${DRAWN[@]}"; do
    emulate_part 18 83 "emulated_wgmma_fp8:splits=$splits" tests/data/sweeps/emulated_e4m3.json
    emulate "emulated_wgmma_fp8:splits=$splits" --shape B=1,H=4/1,S=1x1999,D=128,e4m3,lse --shape B=2,H=2/1,S=130x777,D=48,e4m3,causal,sink,lse \
      --shape B=1,H=2,S=100x1500,D=256,e4m3,out_dtype=f16,scales=block:128,sink,bshd --shape B=3,H=2,S=17x400,D=96,e4m3,window=150:20,softcap=5,lse \
      --shape B=1,H=1,S=64x3000,D=64,e4m3,outliers=0.01,lse --shape B=1,H=2,S=300x90,D=64,e4m3,causal,sink \
      --shape batch=q1s3000_3q70s300_q0s9_2q300s20_q5s0,H=4/2,D=128,e4m3,causal,sink,lse
    [ "$OK" = 7 ] || fail "$splits: $OK cases are right"
    # Launches that follow each other, with the same workspace and other inputs.
    must 0 attn --device cpu --load "$EMULATED" --quick --variants "emulated_wgmma_fp8:splits=$splits" --json "$TMP/r.json" \
      --shape B=1,H=2,S=64x400,D=64,e4m3,lse --shape batch=q1s600_q70s200,H=2,D=64,e4m3
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 2'
  done
  echo "tests/data/random_sweep.py $seed 200"
  python tests/data/random_sweep.py "$seed" 200 >"$TMP/s.json"
  emulate_part 4 5 "emulated_wgmma_fp8:splits=${DRAWN[0]}" "$TMP/s.json"
}

@test "the error of wgmma_fp8 does not grow with the keys where tensor cores cut sums to 14 bits" {
  local keys variant
  for variant in "emulated_wgmma_fp8 D=64" "emulated_wgmma_fp8:transpose_pass=1 D=256"; do
    for keys in 1024 8192; do
      ATTN_EMULATED_CUT=1 emulate "${variant% *}" --shape "B=1,${variant#* },H=1,S=64x$keys,e4m3"
      json "$TMP/r.json" 'd["results"][0]["check"]["rel_frobenius"]' >"$TMP/$keys"
    done
    python -c "import sys; short, long = map(float, sys.argv[1:]); assert long <= 1.2 * short, (short, long)" "$(<"$TMP/1024")" "$(<"$TMP/8192")"
  done
}

@test "the GPU's fp64 reference says what the CPU's oracle says of every row, where caps bring scores together too" {
  local seed=$RANDOM
  emulate emulated_reference --shape B=2,H=4/2,S=1x333,D=128,softcap=0.5 --shape B=1,H=2/1,S=129x257,D=64,softcap=0.5,lse \
    --shape S=65,H=2,D=24,dtype=bf16,softcap=1,sink,layout=qkv,batch=3q65_q15_q33
  [ "$OK" = 3 ] || fail "$OK cases are right"
  echo "tests/data/random_sweep.py $seed 30"
  python tests/data/random_sweep.py "$seed" 10 >"$TMP/s.json"
  emulate_part 5 10 emulated_reference "$TMP/s.json"
}

@test "wgmma_fp8 is right beside sinks and outliers where tensor cores cut sums to 14 bits" {
  ATTN_EMULATED_CUT=1 emulate emulated_wgmma_fp8 --shape B=2,H=2/1,S=116x109,D=96,e4m3,out_dtype=f16,window=1:1,sink,bshd \
    --shape B=5,H=2,S=17x65,D=128,e4m3,out_dtype=f16,scales=block:128,window=16:-1,sink,lse,bshd \
    --shape B=3,H=2,S=221,D=96,e4m3,out_dtype=f16,scales=block:128,window=-1:1,sink,qkv \
    --shape B=2,H=4/2,S=65x333,D=64,e4m3,out_dtype=f16,outliers=0.001,causal --shape B=1,H=2,S=100x1500,D=64,e4m3,outliers=0.003
  [ "$OK" = 5 ] || fail "$OK cases are right"
}

@test "decode_general is right for pages, unlike lengths, several queries and every cut of the keys" {
  local tunables
  drawn 2 "" :warps=2,blocks=3 :warps=8,stages=2,item_cost=1 :warps=1,blocks=2,item_cost=20
  for tunables in "${DRAWN[@]}"; do
    emulate_part 4 78 "emulated_decode_general$tunables" tests/data/sweeps/emulated_decode.json
  done
}

@test "decode_general is right for K and V of e4m3, and at D of 256" {
  emulate_part 6 29 emulated_decode_general tests/data/sweeps/emulated_decode_e4m3.json
}

@test "decode_general is right for the small cases of paged and serving, and for random problems over all axes" {
  local seed=$RANDOM sweep
  drawn 1 paged serving kv8
  for sweep in "${DRAWN[@]}"; do
    emulate_part 3 3 emulated_decode_general:blocks=2 "$sweep" --filter 'Skv<=300'
  done
  echo "tests/data/random_sweep.py $seed 150"
  python tests/data/random_sweep.py "$seed" 150 >"$TMP/s.json"
  emulate_part 10 4 emulated_decode_general,emulated_decode_general:warps=2,blocks=3 "$TMP/s.json"
}

# choose OF: the mutants of a test are numbered as they come, and one of these OF runs, or all; in half of the runs none.
# All of them must change their source in every run.
choose() {
  CHOSEN=" " NUMBER=0 OF=$1
  [ "$ATTN_EMULATED" = all ] || [ $((RANDOM % 2)) = 0 ] || return 0
  # shellcheck disable=SC2046  # numbers
  drawn 1 $(seq "$1")
  CHOSEN=" ${DRAWN[*]} "
}

@test "mla is right for pages, unlike lengths, several queries, one block and two for the rows of a sequence" {
  emulate_part 8 50 emulated_mla,emulated_mla:kv_tile=64 tests/data/sweeps/emulated_mla.json
  emulate emulated_mla:shares=2,emulated_mla:shares=2,cluster=2,item_cost=1,emulated_mla:shares=2,kv_tile=64 --shape B=3,H=16/1,S=1x200,D=576,Dv=512,v_in_k,bf16,page=64 \
    --shape B=2,H=80/1,S=2x130,D=576,Dv=512,v_in_k,f16,causal,lse
  [ "$OK" = 6 ] || fail "$OK cases are right"
  emulate emulated_mla:team=2,emulated_mla:team=2,shares=2,emulated_mla:team=1,emulated_mla:cluster=1,team=4 \
    --shape B=2,H=128/1,S=4x200,D=576,Dv=512,v_in_k,bf16,page=64,causal
  [ "$OK" = 4 ] || fail "$OK cases are right"
  must 4 attn --device cpu --load "$EMULATED" --check-only --variants emulated_mla --json "$TMP/r.json" \
    --shape B=1,H=16/1,S=1x70,D=576,Dv=512,v_in_k,bf16,page=24 --shape B=1,H=16/1,S=1x70,D=576,Dv=512,v_in_k,bf16,page=4
  expect_json "$TMP/r.json" 'all("page must be" in r["reason"] for r in d["results"])'
}

# mutant_of KERNEL DTYPE NAME SED SHAPE...: KERNEL for D of 64, its tile so changed, must give a wrong result or end its worker.
# LEFT_OUT is a command of sed that takes kernels out of the variant, which then compiles sooner. TILE is the file that is changed, where
# it is not the kernel's own; TUNABLES are those of the variant.
mutant_of() {
  NUMBER=$((NUMBER + 1))
  [ "$NUMBER" -le "$OF" ] || fail "more than $OF mutants"
  local tile=kernels/tiles/${TILE:-$1}_tile.cuh variant=kernels/variants/$1.cu folder=$TMP/$3 of=$1 dtype=$2 build shape shapes=()
  shift 2
  build=$(dirname "$ATTNBENCH")/emulated
  mkdir -p "$folder/kernels/tiles" "$folder/kernels/variants"
  sed -E "$2" "$tile" >"$folder/$tile"
  ! cmp -s "$tile" "$folder/$tile" || fail "$1 changes nothing"
  [[ $CHOSEN = *" $NUMBER "* ]] || return 0
  sed -E '/^    [{]+\.D = (128|192|256)/d; s/[{](128|256), [0-9]+, [0-9]+, [12][}],? *//g'"; ${LEFT_OUT:-}" "$variant" >"$folder/$variant"
  g++ -std=c++20 -Og -w -fPIC -D_GNU_SOURCE "-I$folder" -Itests/emulated -I. "-I$(dirname "$(make -s print-NVCC)")/../include" \
    -include tests/emulated/cuda.cuh -x c++ -c "$folder/$variant" -o "$folder/kernel.o"
  cp "$build"/kernels/variants/*.o "$build"/tests/emulated/*.o "$folder"
  mv "$folder/kernel.o" "$folder/$of.cu.o"
  g++ -shared -Wl,-Bsymbolic "$folder"/*.o -o "$folder/mutant.so"
  for shape in "${@:3}"; do shapes+=(--shape "$shape,$dtype"); done
  attn --device cpu --load "$folder/mutant.so" --check-only --timeout 60 --variants "emulated_$of${TUNABLES:-}" --json "$TMP/r.json" "${shapes[@]}"
  json "$TMP/r.json" '"'"$1"'", [r["status"] for r in d["results"]]'
  expect_json "$TMP/r.json" 'any(r["status"] != "ok" for r in d["results"])'
}
# mutant VARIANT NAME SED [SHAPE]...: of wgmma_VARIANT.
mutant() {
  [ $# -gt 3 ] || set -- "$@" B=2,H=3,S=500,D=64,window=150:0 B=2,H=3,S=333x555,D=64,causal
  mutant_of "wgmma_$1" "$([ "$1" = fp8 ] && echo e4m3 || echo f16)" "${@:2}"
}
decode_mutant() { # NAME SED
  LEFT_OUT='s/[{]64, [0-9]+, [0-9]+, 1[}],? *//g' mutant_of decode_general bf16 "$@" B=3,H=4/1,S=1x500,D=64,page=16 B=3,H=8/1,S=5x130,D=64,causal,page=1 \
    batch=3q4s300_9q1s16_q2s0,H=4/2,D=64,page=64,causal,lse
}

mla_mutant() { # NAME SED
  local LEFT_OUT='s/<__half, __nv_bfloat16>(\(dtype, .&\])/<__nv_bfloat16>\1/; s/cluster == 1 [?].* : //'
  mutant_of mla bf16 "$@" batch=q2s200_q1s40,H=48/1,D=576,Dv=512,v_in_k,page=64,causal,lse B=3,H=128/1,S=3x200,D=576,Dv=512,v_in_k,page=64,causal
}

@test "the emulated GPU finds a barrier too few, a tile too many and a bound that is off by one" {
  choose 4
  mutant general q_unguarded 's/hopper::barrier_wait\(at.q_empty\(g, round\), at.q_parity\(round\) \^ 1\);//'
  mutant general tail_short 's/drop\(2 \* left - 1\)/drop(2 * left - 2)/'
  mutant general left_bound 's/\+ c < first\)/+ c <= first)/'
  mutant general product_unawaited 's/this->template wait<1>\(\);/this->template wait<2>();/'
}

@test "the emulated GPU finds a list that is a tile too long, a row without a reference, and a cap beyond its polynomial" {
  choose 6
  mutant general list_long 's/list.end - list.begin - 2/list.end - list.begin - 1/' B=1,H=2,S=900,D=64,sparse=128:0.6
  mutant general walk_stays 's/next [*] block_tiles, begin/next * block_tiles + 1, begin/' B=1,H=2,S=900,D=64,sparse=256:0.6
  mutant general list_from_block 's/number = info.z [+] tile/number = tile/' B=1,H=2,S=200x1500,D=64,window=900:0,sparse=256:0.9
  mutant general list_unbounded 's/while [(]list.end > 0/while (false \&\& list.end > 0/' B=1,H=2,S=500x1100,D=64,causal,sparse=384:1
  mutant general no_reference 's/min[(]masked.1. [+] 1, list.tiles[)]/masked[1]/' B=1,H=6,S=200x1400,D=64,causal,sparse=256:0.5
  mutant general cap_unbounded 's/wide = __any_sync[(].*$/wide = false;/; s/ [|][|] fmaxf[(]most.0., most.1.[)] > a.cap_most//' B=1,H=2,S=900,D=64,softcap=1
}

@test "the emulated GPU finds a wrong transposing of V, a promotion that is left out and a reference that does not fit" {
  choose 9
  local long=B=1,H=2,S=200x1500,D=64
  mutant fp8 keys_swapped 's/0x7531 : 0x6420/0x7351 : 0x6240/'
  mutant fp8 raw_unawaited 's/hopper::barrier_wait\(at.raw_full\(raw.slot\), raw.parity\);//'
  mutant fp8 part_not_added 's/summed == \(a.blocks > 0 \? 1 : C::kSummed\)/false/; s/C::kSummed > 1 \&\& summed > 0/summed % C::kSummed > 0/' "$long"
  mutant fp8 growth_lost 's/ptx::ex2\(before - next\); /1.0f; /'
  mutant fp8 part_not_shrunk 's/part_at\(j\) \*= shrink\[j \/ 2 % 2\];/part_at(j) *= 1.0f;/' "$long"
  mutant fp8 unscaled 's/kTopBits = 8/kTopBits = 0/'
  mutant fp8 saturated 's/\(sign \& 0x80808080\) != 0/false/' "$long,outliers=0.01"
  mutant fp8 lost_for_good 's/ptx::mma_16x8x32\(c, left, b0, b1\)/c[0] = 0/' "$long,outliers=0.01"
  mutant fp8 room_unscaled 's/kMoreRoom = 0x1p-2f/kMoreRoom = 1.0f/' "$long"
}

@test "the emulated GPU finds what is wrong in the parts of keys that blocks share, and in how they are merged" {
  choose 10
  local TILE=wgmma_split TUNABLES=:splits=3 batch=batch=3q70s700_q1s1300_q0s9_q300s200,H=4/2,D=64,lse
  mutant fp8 part_dropped 's/part < end; part [+]= warps/part + 1 < end; part += warps/'
  mutant fp8 sink_of_each 's/1.44269504f, 1.0f, 1.0f,/1.44269504f, (float)(end - first), (float)(end - first),/' B=2,H=3,S=128x500,D=64,sink,lse
  mutant fp8 tile_twice 's/all.count[(][)] [*] [(]part [+] 1[)] . parts/& + (part + 1 < parts)/'
  mutant fp8 part_of_other 's/partials.count [+] which[(]index[)]/partials.count + by_heads.quotient(index)/'
  mutant fp8 reference_ignored 's/[*]before = ptx::ex2[(]reference - base[)]/*before = 1.0f/'
  mutant fp8 merged_early 's/__syncthreads[(][)];.*$//'
  mutant fp8 parts_alike 's/a.list.part.first [+] part.part. = part;/a.list.part[first + part.part] = part, a.list.part[first + part.part].part = 0;/' "$batch"
  mutant fp8 rows_of_first_sequence 's/, q_first = part.q_first;/;/' "$batch"
  mutant fp8 strip_of_first 's/part, group [*] 4 [+] warp[)]/part, warp)/'
  TILE=wgmma_fp8 mutant fp8 words_overwritten 's/__syncwarp[(][)]; .. orders all lanes.*$//' B=1,H=4/2,S=400x129,D=64,window=-1:30
}

@test "the emulated GPU finds a page of another tile, a tail that is kept, and a warpgroup without rows that waits" {
  choose 6
  local batch=batch=3q1s300_q200s200_2q1s70_q5s130,H=8/2,D=64,page=16,causal,lse
  mutant_of wgmma_paged bf16 tail_kept 's/keys, C::kKeys, lane, kWarp/keys, keys, lane, kWarp/' "$batch"
  mutant_of wgmma_paged bf16 tail_unawaited 's/hopper::barrier_wait\(at.tail_full\(\), parity\);//' "$batch"
  mutant_of wgmma_paged bf16 idle_short 's/drop\(2 \* tiles\)/drop(2 * tiles - 1)/' "$batch"
  mutant_of wgmma_paged bf16 idle_unseen 's/[(]more_info[(]round[)][)].y & 0xffff[)] == 0;/(more_info(round)).y > 0xffffffffu);/' "$batch"
  mutant_of wgmma_paged bf16 page_of_next 's/left > 1 [?] left - 2/left > 1 ? left - 1/' "$batch"
  mutant_of wgmma_paged bf16 pages_of_first 's/item.sequence \* a.entries/item.batch * a.entries/' "$batch"
}

@test "the emulated GPU finds what is wrong in the copies, lengths and sums of decode_general" {
  choose 8
  decode_mutant wait_short 's/wait_for_copies\(a.stages - 2\)/wait_for_copies(a.stages - 1)/'
  decode_mutant group_unsynchronised 's/ptx::named_sync\(1 \+ role.group, .*\);/__syncwarp();/'
  decode_mutant behind_the_end 's/walk.work.keys.end - 1[)]/walk.work.keys.end)/'
  decode_mutant end_bound 's/at >= seen\[c \/ 2\].end/at > seen[c \/ 2].end/'
  decode_mutant page_of_first 's/within = key - page [*] a.page/within = key % 16/'
  decode_mutant partial_of_other 's/partial_row\(first \+ which, which == 0, row\)/partial_row(first + which, false, row)/'
  decode_mutant counter_left 's/(a.arrivals [+] first, count) - 1/\1/'
  decode_mutant tile_twice 's/to = tiles_before\(stretch.end\);/to = min(tiles_before(stretch.end) + 1, work.tiles);/'
}

@test "the emulated GPU finds a scale of another head, and keys of V in another order than the weights" {
  choose 2
  local LEFT_OUT='s/[{]64, ([0-9]+, [0-9]+, 2|[24], [0-9]+, 1)[}],? *//g' shape=B=2,H=8/2,S=1x130,D=64,page=16,kv_dtype=e4m3
  mutant_of decode_general bf16 scale_of_other 's/a.scale_heads [+] head : 0/a.scale_heads : 0/' "$shape"
  mutant_of decode_general bf16 keys_swapped 's/m.2 [*] n., 0, 0x3120/m[2 * n], 0, 0x1302/' "$shape"
}

@test "the emulated GPU finds what is wrong in the tail, weights, clusters, teams and sums of mla" {
  choose 5
  mla_mutant tail_kept 's/if \(tile \+ 1 == walk.tiles\) clear_tail.*$//'
  mla_mutant reference_unshared 's/if \(__any_sync\(kFullWarp, next/if (false \&\& __any_sync(kFullWarp, next/'
  mla_mutant peer_unserved 's/if \(lane < kCluster\)/if (lane == 0)/'
  mla_mutant partial_of_other 's/which\), which == 0\) \* kRows/which), false) * kRows/'
  mla_mutant members_alike 's/bundle [*] gridDim.x [+] blockIdx.x[)] [*] kRows/bundle * gridDim.x) * kRows/'
}
