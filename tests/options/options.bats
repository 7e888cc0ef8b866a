# tags: asan
load ../helper

@test "--help all names every verb, option, unit, default and exit code, on stdout" {
  must 0 attn --help all
  expect_no_err
  for word in --sweep --variants --filter --load --device --gpu --seed --timeout --reference --json --csv --journal --check-only --selftest --inject-slowdown \
    "default auto" "seconds" "plan" "list" "report" "compare" "gate" \
    --threshold --threshold-for --modes --noise --allow-new --markdown --junit --annotations "Exit codes" " 77 "; do
    expect_out "$word"
  done
  [ "$(awk 'length > 80' "$OUT" | wc -l)" -eq 0 ] || fail "a line is wider than 80 columns"
}

@test "lists and explanations are as wide as the terminal" {
  COLUMNS=80 must 0 attn list
  cp "$OUT" "$TMP/list"
  COLUMNS=80 attn --selftest --device cpu --timeout 60
  [ "$(awk 'length > 80' "$OUT" | wc -l)" -eq 0 ] && ! grep -A1 '^check' "$OUT" | grep -qx ' *' || fail "too wide, or an empty row of units"
  expect_out 'left out at 80 columns: bounds'
  COLUMNS=80 must 0 attn describe scalar_quad
  [ "$(awk 'length > 80' "$OUT" "$TMP/list" | wc -l)" -eq 0 ] || fail "a line is wider than 80 columns"
  expect_out 'tunable  scalar_quad:pad=0..1, default 1; 1: 16 bytes between rows'
}

@test "--version tells version, commit, CUDA and cJSON" {
  must 0 attn --version
  expect_out_matches '^attnbench [0-9.]+ \(commit [^)]+\), CUDA ([0-9.]+|none), cJSON [0-9.]+$'
}

@test "an unknown option offers the nearest one" {
  expect_refusal 2 'did you mean --sweep?' -- --sweeps shapes/v3.json
}

@test "a part of an option's name, a misspelt mask and a misspelt cell offer the one that was meant" {
  expect_refusal 2 'did you mean --time-budget?' -- --sweep v3 --budget 5
  expect_refusal 2 'did you mean --time-budget?' -- --sweep v3 --budgt 5
  expect_refusal 2 'did you mean the verb history' -- hist runs/
  expect_refusal 2 'did you mean causal?' -- --shape B=1,H=1,S=8,D=8,casual
  expect_refusal 2 'did you mean causal?' -- --sweep v3 --filter casual
  expect_refusal 2 'did you mean window?' -- --shape B=1,H=1,S=8,D=8,windw=1:2
  expect_refusal 2 'did you mean B1.H8.Hkv8.Sq512.Skv512.D64.f16.full/scalar?' -- --sweep v3 --only B1.H8.Hkv8.Sq512.Skv512.D64.f16.full/scaler
  expect_refusal 2 'did you mean B1.H8.Hkv8.Sq512.Skv512.D64.f16.full/scalar?' -- --sweep v3 --only B1.H8.Hkv8.Sq512.Skv512.D64.f16.ful/scalar
  expect_refusal 2 'for example B1.H8' -- --sweep v3 --only none
}

@test "what a new user writes is answered with what attnbench has for it" {
  expect_refusal 2 '"fp8" is not understood; did you mean e4m3?' -- --shape B=1,H=1,S=8,D=8,fp8
  expect_refusal 2 '"Hkv=1" is not understood; --shape has Hkv in H: write H=32/8' -- --shape B=1,H=2,Hkv=1,S=8,D=8
  expect_refusal 2 'did you mean "wgmma"?' -- --sweep v3 --variants wgma
  expect_refusal 2 '"S=>8" has no test that is known; write =, !=, <, <=, > or >=' -- --sweep v3 --filter 'S=>8'
  expect_refusal 2 'a sweep is given as --sweep v3' -- v3
  expect_refusal 2 'a sweep is given as --sweep mine.json' -- mine.json
  expect_refusal 2 'the first word may be a verb (run plan list' -- bench --sweep v3
  expect_refusal 2 '"foo" is not understood; the keys are' -- --shape B=1,H=1,S=8,D=8,foo
  expect_err 'bhsd, bshd, qkv, hnd, v_in_k stand alone'
  expect_refusal 2 '--sweep or --shape is missing; for example: attnbench --sweep v3; see attnbench --help' --
  expect_refusal 2 'keys of --shape have commas between them: --shape B=1,H=8,H=2' -- --shape B=1 H=2 S=64
  expect_refusal 2 'ab always does' -- ab --base "$ATTNBENCH" --sweep v3 --quick
  expect_refusal 7 'did you mean prefill, which attnbench comes with?' -- --sweep prefill.json
  expect_refusal 7 'cannot be opened' -- --sweep nothing_like.json
  expect_refusal 2 'did you mean window?' -- --sweep v3 --filter sliding_window=3:0
  expect_refusal 7 'is no sweep but a file of "attnbench.times/1"; attnbench report FILE shows' -- --sweep tests/data/times_s1.json
  expect_refusal 7 'is no sweep but the manifest of a kernel; give it to --load' -- --sweep "$(write_file k.json '{"attnbench_kernel": 1}')"
  expect_refusal 2 'give the path of the Python file' -- --sweep v3 --load "$TMP/none.py:f"
  expect_refusal 2 'give one that was built on this system' -- --sweep v3 --load README.md
}

@test "describe takes names that other programs have, in any case of letters" {
  local name word
  while IFS=, read -r name word; do
    attn describe "$name"
    expect_status 0
    expect_out "$word"
  done <<'WORDS'
FP8,FP8: attnbench calls it e4m3
half,f16, a value of dtype
Sliding Window,window, a member of the problem
paged KV,page, a member of the problem
varlen,batch, a member of the problem
cu_seqlens_q,batch, a member of the problem
speedup_vs,vs ref, a column of the table
MLA,mla, a variant for GPUs
GQA,H, a member of the problem
TFLOPS,rate, a column of the table
Waves,waves, a column of the table
of peak,roof, a column of the table
TFLOP/s,rate, a column of the table
tflop_per_s,rate, a column of the table
FlashAttention,results/h200/rivals.md
fa3,results/h200/rivals.md
Triton,def attention(q, k, v, causal, scale): return my_triton
bisect,attnbench history runs/
pandas,--csv
resume,--journal v3.journal --resume
compare,options  attnbench compare --help
gate,options  attnbench gate --help
history,options  attnbench history --help
WORDS
  must 0 attn describe vs ref
  expect_out 'vs ref, a column of the table'
  attn describe implausible
  expect_out 'look whether the kernel returns early'
  for name in 'FlashAttention-3' 'into pandas' 'killed run' 'FP8?' 'pull requests'; do must 0 attn describe "$name"; done
  expect_refusal 2 '"hot cold" is no variant' -- describe hot cold
  expect_refusal 2 '`attnbench describe` lists all words' -- describe nothing_like
  refute_err 'did you mean'
  expect_refusal 2 'did you mean cell?' -- describe cel
  expect_refusal 2 'is no variant' -- describe inding # missing is near, and another word
  refute_err 'did you mean'
}

@test "whoever closes the standard output ends the program quietly with 141, whether SIGPIPE is ignored or not" {
  local trap what
  cd "$TMP"
  "$ATTNBENCH" plan --sweep mission --gpu h200 --json plan.json --quiet
  for trap in "trap - PIPE" "trap '' PIPE"; do
    for what in "plan --sweep mission --gpu h200 --json -" "report plan.json --json -" \
      "--sweep mission --gpu h200 --device cpu --check-only --variants ladder --json - --journal j"; do
      rm -f "$TMP/j"
      printf '%s\n"%s" %s 2>"%s" | head -c 10 >/dev/null\nexit "${PIPESTATUS[0]}"\n' "$trap" "$ATTNBENCH" "$what" "$TMP/err" >"$TMP/pipe.sh"
      must 141 capture timeout 60 bash "$TMP/pipe.sh"
      # A run tells of its progress, and where its rows are.
      ! grep -vE '^attnbench: ([0-9]+ of [0-9]+ done|results so far are kept)' "$TMP/err" || fail "$what"
    done
  done
}

@test "describe knows the columns and the glossary of README, statuses and exit codes" {
  local names meaning name
  for name in column word; do
    sed -n "/^| $name | meaning |/,/^$/p" README.md | tail -n +3 | sed '/^$/d; s/^| //; s/ |$//; s/\[\([^]]*\)\]([^)]*)/\1/g'
  done >"$TMP/columns"
  [ "$(wc -l <"$TMP/columns")" -ge 24 ]
  while IFS= read -r row; do
    names=${row%% | *} meaning=$(tr -d '`' <<<"${row#* | }")
    while read -r name; do
      must 0 attn describe "$name"
      tr -s ' \n' ' ' <"$OUT" | grep -qF "$meaning" || fail "describe $name does not say: $meaning"
    done < <(tr -d '`' <<<"$names" | sed 's/, /\n/g')
  done <"$TMP/columns"
  attn describe wrong
  expect_out "a verdict of a comparison"
  expect_out "the status of a row (exit code 3)"
  while IFS=, read -r word what; do
    must 0 attn describe "$word"
    expect_out "$what"
  done <<'WORDS'
bshd,a value of layout
e4m3,a value of kv_dtype
full,a value of causal
ragged,a value of batch
128:0.25,a value of sparse
shared,what can bound
*,a mark of the table
full at,fills one wave
serial,a variant for GPUs
serial,a verdict of the table of scaling
WORDS
  attn describe 77
  expect_out "a GPU was required and there is none"
  expect_out "do       run it on a machine with a GPU"
  must 0 attn describe
  expect_out "other words          case, variant, cell, row"
  must 0 attn describe e4m3
  expect_out "e4m3 is taken by cpu_ref, cpu_flash, serial, scalar, wgmma_fp8"
  expect_refusal 2 'did you mean left_out?' -- describe left_ou
}

@test "describe knows every column of a history, and lists the exit codes" {
  COLUMNS=250 attn history results/h100/history/runs --commits results/h100/history/commits
  grep -E '^  what |^variant ' "$OUT" | tr -s ' ' '\n' | grep -vE '^(vs|ref|)$' >"$TMP/headings"
  for heading in surely left against now; do grep -qx "$heading" "$TMP/headings" || fail "no column $heading: $(cat "$OUT")"; done
  while read -r heading; do must 0 attn describe "$heading"; done <"$TMP/headings"
  must 0 attn describe series
  attn describe left
  expect_out 'the newest level of the series, compared with the one before the change'
  attn describe bounds
  expect_out 'the 95 % bounds of the change' 'bound_by'
  attn describe exit
  expect_out '4        a cell has no result' '143      terminated'
  attn describe rounds
  expect_out '--rounds N' '1 to 64 [run]' '5 to 32 [ab]'
  attn describe 4
  expect_out '--allow-new accepts rows' 'every row of a loaded kernel'
  attn describe fastest
  expect_out 'above the table'
}

@test "describe shows a shape that the variant takes, and the command that measures it" {
  local variant words
  for variant in $("$ATTNBENCH" list --json | python3 -c 'import json, sys; print(*(v["name"] for v in json.load(sys.stdin)["variants"]))'); do
    must 0 attn describe "$variant"
    ! grep -q skipped "$OUT" || fail "$variant: $(cat "$OUT")"
    words=$(sed -n 's/^measure  attnbench //p' "$OUT")
    must 0 attn plan --gpu h200 $words
    ! grep -q 'skipped' "$OUT" || [[ $variant == cpu_* ]] || fail "$variant: $(cat "$OUT")"
  done
}

@test "describe writes the whole command for many shapes" {
  local shapes=() i
  for i in {1..40}; do shapes+=(--shape "B=$i,H=32/8,S=512:4096:*2,D=128,bf16,causal"); done
  must 0 attn describe cpu_ref "${shapes[@]}"
  [ "$(grep '^measure ' "$OUT" | grep -o -- ' --shape ' | wc -l)" = 40 ] && expect_out_matches '^measure .* --variants cpu_ref$' || fail "$(cat "$OUT")"
}

@test "the workflow for a repository of one's own has a command that attnbench takes" {
  local command
  command=$(sed -n '/^ *attnbench ab/,/--annotations/p' kernels/example/gate.yml | tr -d '\\\n')
  [ -n "$command" ] || fail "no command"
  export RUNNER_TEMP=$TMP
  mkdir -p "$TMP/base" && echo '{"attnbench_sweep": 1, "name": "gate", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8}]}' >"$TMP/base/gate.json"
  eval "attn ${command#*attnbench }"
  expect_err 'mine.so'
  refute_err 'unknown option'
}

@test "an option of another verb is unknown here" {
  expect_refusal 2 'unknown option of attnbench list' -- list --sweep shapes/v3.json
}

@test "a misspelt verb is named" { expect_refusal 2 'did you mean the verb plan' -- plam; }
@test "no sweep is a usage error" { expect_refusal 2 '--sweep or --shape is missing' -- ; }
@test "plan without a GPU name is a usage error" { expect_refusal 2 '--gpu is missing' -- plan --sweep shapes/v3.json; }
@test "an unknown GPU offers the nearest one" {
  expect_refusal 2 'did you mean h100' -- plan --sweep shapes/v3.json --gpu h101
}
@test "the name of a GPU is taken in any case" {
  must 0 attn plan --sweep shapes/v3.json --gpu H200 --json -
  expect_json "$OUT" 'd["planned_device"]["name"] == "NVIDIA H200"'
}

@test "every option of --help all is one of the verbs in its brackets, and of no others" {
  local verb option verbs said
  "$ATTNBENCH" --help all | awk '
    /^Options/ { on = 1 } /^Without/ { on = 0 }
    on && /^  --/ { if (row != "") print row; row = "" }
    on && /^ / { row = row " " $0 }
    on && /^$/ { if (row != "") print row; row = "" }' | tr -s ' ' | grep '\]$' >"$TMP/rows"
  [ "$(wc -l <"$TMP/rows")" -gt 40 ] || fail "few rows: $(cat "$TMP/rows")"
  while read -r option _; do
    verbs=" $(grep -F -e " ${option%%\[*}" "$TMP/rows" | awk -v o="${option%%\[*}" '
      { sub(/\[=[^]]*\]/, "") } $1 == o { sub(/.*\[/, ""); sub(/\]/, ""); print }' | tr '\n' ' ') "
    for verb in run plan list report diagnose ab compare gate; do
      attn "$verb" "${option%%\[*}=" </dev/null
      expect_status 2
      said=$(tr -s '\n ' '  ' <"$ERR")
      case $verbs,$said in
        *" $verb "*,*"unknown option"*) fail "$option is an option of $verb" ;;
        *" $verb "*,* | *,*"unknown option of attnbench $verb"*) ;;
        *) fail "$option is no option of $verb" ;;
      esac
    done
  done <"$TMP/rows"
}

@test "the documented exit codes are those of --help all" {
  local code meaning
  "$ATTNBENCH" --help all | sed -n '/^Exit codes/,/^$/p' | grep -E '^ +[0-9]' >"$TMP/codes"
  [ "$(wc -l <"$TMP/codes")" -ge 14 ]
  while read -r code meaning; do
    grep -qxF "| $code | $meaning |" README.md docs/*.md results/*.md 2>/dev/null || fail "no page has: | $code | $meaning |"
  done <"$TMP/codes"
}

@test "a missing value is a usage error" { expect_refusal 2 '--sweep: needs a value' -- --sweep; }
@test "a flag takes no value" { expect_refusal 2 'takes no value' -- --sweep shapes/v3.json --check-only=1; }
@test "an option given twice is an error" { expect_refusal 2 'given twice' -- --sweep a --sweep b; }
@test "a seed must be a whole number" { expect_refusal 2 '--seed x1 is not a whole number' -- --sweep shapes/v3.json --seed x1; }
@test "a seed must fit 64 bits" {
  expect_refusal 2 'is too large; give 0 to 2^64-1' -- --sweep shapes/v3.json --seed 18446744073709551616
}
@test "a timeout must be above zero" { expect_refusal 2 '--timeout 0 is too small; give 0.001 to 86400' -- --sweep shapes/v3.json --timeout 0; }
@test "two outputs cannot share stdout" {
  expect_refusal 2 'cannot share stdout' -- --sweep shapes/v3.json --json - --csv -
}
@test "an unknown variant offers the nearest one" {
  expect_refusal 2 'did you mean "split_kv"' -- --sweep shapes/v3.json --variants wmma,split_kw
}
@test "a tunable out of range is an error" {
  expect_refusal 2 'from 2 to 3' -- --sweep shapes/v3.json --variants cp_async:stages=9
}
@test "a variant named twice is an error" {
  expect_refusal 2 'named twice' -- --sweep shapes/v3.json --variants wmma,wmma
}
@test "an empty variant name is an error" { expect_refusal 2 'empty name' -- --sweep shapes/v3.json --variants wmma,; }
@test "an unknown filter key is an error" {
  expect_refusal 2 'is not a key' -- --sweep shapes/v3.json --filter pages=1
}
@test "a filter needs key=value" { expect_refusal 2 'not KEY=VALUE' -- --sweep shapes/v3.json --filter S512; }
@test "a filter value must have its key's type" {
  expect_refusal 2 'B=one is not understood; give a whole number from 1 to 65536' -- --sweep shapes/v3.json --filter B=one
  expect_refusal 2 'dtype=fp16 is not understood; give f16, bf16, f32 or e4m3' -- --sweep shapes/v3.json --filter dtype=fp16
}
@test "an empty selection is a usage error" {
  expect_refusal 2 'keeps none of the 3 cases' -- --sweep shapes/v3.json --filter S=513
}
@test "an unknown device is a usage error" { expect_refusal 2 'tpu' -- --sweep shapes/v3.json --device tpu; }

@test "help of a verb has the exit codes of that verb" {
  while read -r verb codes; do
    found=$("$ATTNBENCH" "$verb" --help | sed -n '/^Exit codes/,$p' | awk '$1 ~ /^[0-9]+$/ {print $1}' | paste -sd' ')
    [ "$found" = "$codes" ] || fail "$verb: $found"
  done <<'VERBS'
history 0 1 2 6 7 8 9 141
report 0 2 3 4 6 7 8 9 141
ab 0 1 2 3 4 5 6 7 8 9 77 129 130 141 143
generate 0 2 8 9 141
VERBS
}

@test "help of a verb, short help and the words help and version" {
  must 0 attn compare --help
  expect_out 'attnbench compare BASE NEW'
  expect_out '--allow-new'
  refute_out '--selftest'
  cp "$OUT" "$TMP/compare"
  attn help compare
  cmp "$OUT" "$TMP/compare"
  must 0 attn -h
  cp "$OUT" "$TMP/screen"
  [ "$(wc -l <"$OUT")" -lt 40 ] && [ "$(awk 'length > 80' "$OUT" | wc -l)" -eq 0 ] || fail "no screen of 40 lines and 80 columns"
  [ "$(grep -c '^  --' "$OUT")" -eq 12 ] || fail "not twelve options"
  for words in --help help; do
    attn "$words"
    cmp "$OUT" "$TMP/screen"
  done
  attn --help all
  cp "$OUT" "$TMP/whole"
  attn help all
  cmp "$OUT" "$TMP/whole"
  attn --version
  cp "$OUT" "$TMP/version"
  attn -V
  cmp "$OUT" "$TMP/version"
  attn version
  cmp "$OUT" "$TMP/version"
  expect_refusal 2 'help nothing: there is no verb' -- help nothing
}

@test "describe lists the keys of the problem and explains each of them" {
  local key
  must 0 attn describe problem
  for key in $(awk 'NR > 1 && /^[[:alpha:]]/ && $1 != "more" { print $1 }' "$OUT"); do
    must 0 attn describe "$key"
    expect_out "$key, a member of the problem"
  done
  attn describe lse
  expect_out 'means    The second output, [B][Hq][Sq] in fp32, is for each row the natural'
  expect_out 'taken by cpu_ref, cpu_flash'
  attn describe H
  expect_out '32/8 for 32 query heads and 8 KV heads'
}

@test "describe explains a variant, a finding and a verdict" {
  must 0 attn describe split_kv
  expect_out 'split_kv, a variant for GPUs'
  expect_out 'tunable  split_kv:splits='
  expect_out_matches 'plan     B1.H8.Hkv8.Sq512.Skv512.D64.f16.full on NVIDIA H200: pass split, grid [0-9]+x'
  attn describe wgmma --shape B=1,H=8,S=512,D=64,512 --gpu h100
  expect_out 'measure  attnbench --shape B=1,H=8,S=512,D=64,512 --variants wgmma'
  expect_out_matches 'plan     B1.H8.Hkv8.Sq512.Skv512.D64.f16.full on NVIDIA H100.*: pass main, grid +[0-9]+x'
  expect_out 'B1.H8.Hkv8.Sq512.Skv512.D512.f16.full: skipped, D must be'
  expect_refusal 2 'did you mean h100' -- describe wgmma --gpu h101
  attn describe d_split
  expect_out_matches '^plan     '
  attn describe cpu_ref
  expect_out 'a variant for the CPU'
  refute_out 'plan '
  attn describe tail_wave
  expect_out 'tail_wave, a finding (warning)'
  expect_out 'tail_waste_min = 0.2'
  attn describe inconclusive
  expect_out 'a verdict of a comparison (exit code 5)'
  expect_refusal 2 'did you mean tail_wave?' -- describe tail_wav
  expect_refusal 2 'needs 1 name, 0 given' -- generate
}

@test "bash completes verbs, options of the verb, values and files" {
  "$ATTNBENCH" generate bash >"$TMP/complete"
  # complete_words WORD...: what the last word can become.
  cat >"$TMP/words" <<'SH'
source "$1"
shift
COMP_WORDS=("$ATTNBENCH" "$@") COMP_CWORD=$#
_attnbench
echo "${COMPREPLY[*]}"
SH
  complete_words() { ATTNBENCH=$ATTNBENCH bash "$TMP/words" "$TMP/complete" "$@"; }
  [ "$(complete_words co)" = compare ] || fail "$(complete_words co)"
  [ "$(complete_words compare --ma)" = --markdown ] || fail "$(complete_words compare --ma)"
  [ -z "$(complete_words list --ma)" ] || fail "$(complete_words list --ma)"
  [ "$(complete_words --che)" = --check-only ] || fail "$(complete_words --che)"
  [ "$(complete_words plan --gpu h2)" = "h200 h20" ] || fail "$(complete_words plan --gpu h2)"
  [ "$(complete_words compare --noise f)" = fail ] || fail "$(complete_words compare --noise f)"
  [ "$(complete_words --sweep shapes/v3)" = shapes/v3.json ] || fail "$(complete_words --sweep shapes/v3)"
  [ "$(complete_words --sweep large)" = large_d ] || fail "$(complete_words --sweep large)"
  [ "$(complete_words --variants wmma,wgmma_g)" = wmma,wgmma_general ] || fail "$(complete_words --variants wmma,wgmma_g)"
  [ "$(complete_words --variants lad)" = ladder ] || fail "$(complete_words --variants lad)"
  [ "$(complete_words --modes hot,st)" = hot,steady ] || fail "$(complete_words --modes hot,st)"
  ! command -v shellcheck >/dev/null || shellcheck -s bash "$TMP/complete"
}

@test "every verb, option and value completes itself, with what it is" {
  local verb word
  for verb in $("$ATTNBENCH" -h | awk '/^  [[:lower:]]/ { print $1 }'); do
    "$ATTNBENCH" complete "$verb" | grep -qE "^$verb"$'\t'. || fail "$verb"
    for word in $("$ATTNBENCH" "$verb" --help | grep -oE '^  (-[hV], )?--[[:lower:]-]+' | grep -oE -- '--[[:lower:]-]+'); do
      "$ATTNBENCH" complete "$verb" "$word" | grep -qE -- "^$word"$'\t'. || fail "$verb: no $word"
    done
  done
  [ "$("$ATTNBENCH" complete plan --gpu l40)" = $'l40s\t' ] || fail "$("$ATTNBENCH" complete plan --gpu l40)"
  [ "$("$ATTNBENCH" complete run --json x)" = FILE ] || fail "$("$ATTNBENCH" complete run --json x)"
  [ -z "$("$ATTNBENCH" complete run --seed 1)" ] || fail "$("$ATTNBENCH" complete run --seed 1)"
}

@test "zsh and fish complete with what attnbench answers" {
  mkdir "$TMP/bin"
  ln -s "$ATTNBENCH" "$TMP/bin/attnbench"
  PATH=$TMP/bin:$PATH
  for shell in zsh fish; do
    must 0 attn generate $shell
    cp "$OUT" "$TMP/$shell"
  done
  if command -v zsh >/dev/null; then
    # What zsh's own functions are handed.
    cat >"$TMP/words" <<'SH'
compdef() { :; }
_files() { print -r -- files }
_describe() { print -rl -- "${(@P)2}" }
source "$1"
shift
words=(attnbench "$@") CURRENT=$(($# + 1))
_attnbench
SH
    [ "$(zsh -f "$TMP/words" "$TMP/zsh" compar)" = 'compare:is a new report slower than an old one?' ]
    [ "$(zsh -f "$TMP/words" "$TMP/zsh" plan --gpu h2)" = $'h200:\nh20:' ]
    [ "$(zsh -f "$TMP/words" "$TMP/zsh" run --csv x)" = files ]
  fi
  command -v fish >/dev/null || skip "fish is not installed"
  complete_words() { fish -N -c "source $TMP/fish; complete -C '$*'" | cut -f 1 | tr '\n' ' '; }
  [ "$(complete_words attnbench compar)" = "compare " ] || fail "$(complete_words attnbench compar)"
  [ "$(complete_words attnbench compare --ma)" = "--markdown " ] || fail "$(complete_words attnbench compare --ma)"
  [ -z "$(complete_words attnbench list --ma)" ] || fail "$(complete_words attnbench list --ma)"
  [ "$(complete_words attnbench --che)" = "--check-only " ] || fail "$(complete_words attnbench --che)"
  [ "$(complete_words attnbench plan --gpu h200)" = "h200 " ] || fail "$(complete_words attnbench plan --gpu h200)"
  [ "$(complete_words attnbench compare --noise f)" = "fail " ] || fail "$(complete_words attnbench compare --noise f)"
}

@test "the man page has every verb, option and exit code, and roff takes it" {
  must 0 attn generate man
  cp "$OUT" "$TMP/attnbench.1"
  tr -d '\\' <"$TMP/attnbench.1" >"$TMP/plain"
  for word in $("$ATTNBENCH" --help all | grep -oE '^  (-[hV], )?--[[:lower:]-]+' | grep -oE -- '--[[:lower:]-]+'); do
    grep -qE -- "^\.B $word( |\$|\[)" "$TMP/plain" || fail "no $word"
  done
  for verb in run plan report compare gate describe generate; do
    grep -q "^\.B .*$verb" "$TMP/plain" || fail "no $verb"
  done
  [ "$(sed -n '/^\.SH EXIT/,/^\.SH ENV/p' "$TMP/plain" | grep -c '^\.TP')" -ge 14 ] || fail "exit codes"
  if command -v groff >/dev/null; then [ -z "$(groff -man -Tutf8 -ww "$TMP/attnbench.1" 2>&1 >/dev/null)" ]; fi
  expect_refusal 2 'give man, bash, zsh or fish' -- generate tcsh
}
