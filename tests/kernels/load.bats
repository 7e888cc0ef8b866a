# tags: long slow asan
# --load: variants from shared objects, good and bad. tests/plugins/ has one small object per defect.
load ../helper

setup() {
  FOLDER=$(dirname "$ATTNBENCH")
  [ -f "$FOLDER/example.so" ] || FOLDER=$(make -s print-BUILD)
  EXAMPLE=$FOLDER/example.so
  [ -f "$EXAMPLE" ] || skip "no $EXAMPLE; make test-programs builds it"
}
plugin() { printf '%s' "$FOLDER/tests/plugins/$1.so"; }

# run_with OBJECT ARGS...: the tiny sweep on the CPU, not timed, report in $TMP/r.json.
run_with() {
  local object=$1
  shift
  attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --json "$TMP/r.json" --load "$object" "$@"
}

# expect_bad OBJECT TEXT: refused in one line with exit 2 that names the object; nothing is written.
expect_bad() {
  must 2 run_with "$1" --variants cpu_flash
  expect_err "--load $1: "
  expect_err "$2"
  expect_err_lines 1
  expect_no_out
  [ ! -e "$TMP/r.json" ] || fail "a report was written"
}

@test "a loaded variant is measured, checked and reported like any other" {
  must 0 attn --sweep kernels/example/sweep.json --device cpu --load "$EXAMPLE" --variants example_cpu,cpu_flash --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 12 == len(d["results"])'
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --load "$EXAMPLE" --variants example_cpu,cpu_flash --quick --json "$TMP/r.json"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 4 == len(d["results"])'
  expect_json "$TMP/r.json" 'all(r["time"]["hot"]["median_us"] > 0 and r["check"]["after_timing"] for r in d["results"])'
  expect_json "$TMP/r.json" '"--load" in d["run"]["command"]'
}

@test "a report of loaded variants is made again from the journal without the object" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --load "$EXAMPLE" --journal "$TMP/j" --csv "$TMP/1.csv"
  must 0 attn report "$TMP/j" --csv "$TMP/2.csv"
  cmp "$TMP/1.csv" "$TMP/2.csv"
  grep -q example_cpu "$TMP/2.csv"
}

@test "a sweep without a list of variants takes the loaded ones too, and a sweep file may name them" {
  must 0 run_with "$EXAMPLE"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"] if r["variant"] == "example_cpu"] == ["ok"] * 2'
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"] if r["variant"] == "example_warp"] == ["planned"] * 2'
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 64}],
    "variants": ["example_cpu", "example_warp:warps=2"]}')
  must 0 attn --sweep "$sweep" --device cpu --check-only --load "$EXAMPLE" --json "$TMP/r.json"
  expect_refusal 7 '"example_cpu", which is not a variant' -- --sweep "$sweep" --device cpu
}

@test "what is loaded is measured alone unless other variants are asked for, by name or as a group" {
  run_with "$EXAMPLE"
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {"example_cpu", "example_warp"}'
  run_with "$EXAMPLE" --variants loaded,cpu_ref
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {"example_cpu", "example_warp", "cpu_ref"}'
  run_with "$EXAMPLE" --variants all
  expect_json "$TMP/r.json" '{"example_cpu", "example_warp", "cpu_ref", "serial", "cudnn"} <= {r["variant"] for r in d["results"]}'
  attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants ours --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{"cpu_ref", "serial"} <= {r["variant"] for r in d["results"]} and "cudnn" not in {r["variant"] for r in d["results"]}'
  must 0 attn plan --sweep v3 --gpu h200 --variants ladder,specimens,wgmma:warpgroups=2 --filter B=1 --json "$TMP/r.json" --quiet
  expect_json "$TMP/r.json" '[r["variant"] for r in d["results"]] == ["serial", "scalar", "scalar_quad", "wmma_qk", "wmma",
    "cp_async", "mma_swizzle", "wgmma", "one_query", "split_kv_atomic", "wgmma:warpgroups=2"]'
  # A loaded kernel on a shipped sweep, whose list cannot know it.
  attn --sweep shapes/n6.json --filter D=4 --device cpu --check-only --load "$EXAMPLE" --json "$TMP/r.json" --quiet
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {"example_cpu", "example_warp"}'
}

@test "what is loaded and not measured, or measured and not loaded, is refused" {
  local refused='none of its variants is selected; name one with --variants'
  expect_refusal 2 "$refused" -- --sweep tests/data/sweeps/tiny.json --device cpu --load "$EXAMPLE" --variants ours
  expect_refusal 2 "$refused" -- --sweep tests/data/sweeps/tiny.json --device cpu --load "$EXAMPLE" --variants cpu_ref,cpu_flash
  expect_refusal 2 "$refused" -- ab --base "$ATTNBENCH" --base-load "$EXAMPLE" --load "$EXAMPLE" --shape B=1,H=1,S=16,D=16,f32 --device cpu --variants cpu_ref
  expect_refusal 2 'no variant is loaded' -- --sweep tests/data/sweeps/tiny.json --device cpu --variants loaded
  # Each object by itself: a second one that is measured does not speak for it.
  local other
  other=$(plugin library)
  expect_refusal 2 "--load $EXAMPLE: $refused" -- --sweep tests/data/sweeps/tiny.json --device cpu --load "$EXAMPLE" --load "$other" --variants library
  expect_refusal 2 "--load $other: $refused" -- --sweep tests/data/sweeps/tiny.json --device cpu --load "$EXAMPLE" --load "$other" --variants cpu_ref \
    --reference example_cpu
  # Cells that are picked one by one, and a reference.
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --load "$EXAMPLE" --variants all --only '*/cpu_ref' --json "$TMP/r.json"
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --quick --load "$EXAMPLE" --reference example_cpu --variants cpu_ref --json "$TMP/r.json"
}

@test "plan shows the launch of a loaded CUDA variant without a GPU" {
  must 0 attn plan --sweep tests/data/sweeps/tiny.json --gpu l4 --load "$EXAMPLE" --variants example_warp:warps=2,wmma --json -
  expect_json "$OUT" '[r["status"] for r in d["results"]] == ["planned"] * 4'
  expect_json "$OUT" 'd["results"][0]["launches"][0]["grid"] == [33, 2, 1]'
  expect_json "$OUT" 'd["results"][0]["launches"][0]["block"] == [32, 2, 1]'
  must 2 attn plan --sweep tests/data/sweeps/tiny.json --gpu l4 --load "$EXAMPLE" --variants example_warp:warps=9
  expect_err "from 1 to 8"
}

@test "a library that launches its own kernels is planned without launches, and refused in no other way" {
  # The tiny sweep has a plan of one variant here and the other device's rows, which are planned.
  must 0 attn plan --sweep tests/data/sweeps/tiny.json --gpu h200 --load "$(plugin library)" --variants library,wgmma --json "$TMP/r.json"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" '[(r["status"], len(r["launches"])) for r in d["results"]] == [("planned", 0), ("planned", 1)] * 2'
  expect_json "$TMP/r.json" 'd["results"][1]["launches"][0]["producer_threads"] == 128'
  expect_json "$TMP/r.json" 'not [f for r in d["results"] for f in r["findings"] if f["id"] == "idle_threads"]'
  expect_json "$TMP/r.json" '"its library chooses a kernel" in d["results"][0]["reason"] and d["results"][0]["findings"] == []'
}

@test "any loaded variant is a reference; a bad one costs the comparison, never the row" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --quick --load "$EXAMPLE" --reference example_cpu --variants cpu_flash \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["speedup_vs"]["reference"] == "example_cpu" for r in d["results"])'
  must 4 attn --sweep tests/data/sweeps/tiny.json --device cpu --quick --load "$(plugin bad_plan)" --reference bad_plan \
    --variants cpu_flash --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" and "pass_count must be at most 4" in r["speedup_vs_reason"] for r in d["results"])'
  must 4 attn --sweep tests/data/sweeps/tiny.json --device cpu --quick --load "$(plugin crash_plan)" --reference crash_plan \
    --variants cpu_flash,crash_plan,cpu_ref --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "crashed", "ok"] * 2'
  expect_json "$TMP/r.json" 'all(r["speedup_vs_reason"].startswith("crash_plan: failed beside a row: ") and "signal 11" in r["speedup_vs_reason"]
    for r in d["results"] if r["status"] == "ok")'
}

@test "list shows loaded variants with their tunables" {
  must 0 attn list --load "$EXAMPLE"
  expect_out_matches '^example_warp +example of a loaded CUDA variant'
  expect_out "tunable warps = 1..8, default 4"
  attn list --json --load "$EXAMPLE"
  expect_json "$OUT" '[v["name"] for v in d["variants"]][-2:] == ["example_warp", "example_cpu"]'
  attn describe example_warp --load "$EXAMPLE"
  [[ $(tr -s '\n ' ' ' <"$OUT") == *" measure attnbench --shape "*" --load "*"example.so --variants example_warp "* ]] || fail "$(cat "$OUT")"
  attn list --json
  expect_json "$OUT" 'all("example" not in v["name"] for v in d["variants"])'
}

@test "a comparison in which a loaded variant is skipped everywhere does not pass" {
  must 4 attn --shape B=1,H=1,S=8,D=1056,f32 --device cpu --load "$EXAMPLE" --variants example_cpu,cpu_ref --quick --json "$TMP/a.json"
  expect_err 'every row of example_cpu is skipped, first: '
  cp "$TMP/a.json" "$TMP/b.json"
  attn compare "$TMP/a.json" "$TMP/b.json" --noise=warn
  expect_status 4
  expect_out 'every row of example_cpu is skipped'
  expect_out 'what to do: measure cases that the loaded variant takes'
}

@test "a run in which no row has a ratio to a loaded reference does not pass" {
  must 4 attn --shape B=1,H=1,S=8,D=1056,f32 --device cpu --load "$EXAMPLE" --variants cpu_ref --reference example_cpu --quick --json "$TMP/r.json"
  expect_err 'no row has a ratio to the reference, first: B1.H1.Hkv1.Sq8.Skv8.D1056.f32.full cpu_ref: example_cpu: '
  expect_out 'vs ref: no row has a ratio to the reference'
  attn report "$TMP/r.json"
  expect_status 4
}

@test "several objects are loaded side by side; one of them twice is a name taken" {
  must 4 run_with "$EXAMPLE" --load "$(plugin bad_reason)"
  expect_err 'every row of bad_reason is skipped, first: '
  expect_json "$TMP/r.json" '{"example_cpu", "bad_reason"} <= {r["variant"] for r in d["results"]}'
  rm "$TMP/r.json"
  must 2 run_with "$EXAMPLE" --load "$EXAMPLE"
  expect_err "there is a variant example_warp already"
  # shellcheck disable=SC2046  # one word each
  run_with "$EXAMPLE" $(yes -- "--load $EXAMPLE" | head -n 8)
  expect_status 2
  expect_err "is one too many; give it at most 8 times"
}

@test "a file that is not there, no object, or for nothing here is refused" {
  expect_bad "$TMP/none.so" "No such file or directory"
  expect_bad "$ROOT/Makefile" "cannot be opened as a shared object"
  expect_bad "$TMP" "cannot be opened as a shared object"
  expect_bad "$(plugin no_symbol)" "exports no symbol attn_plugin"
}

@test "another ABI is refused by its number, and by the size of a struct" {
  expect_bad "$(plugin wrong_abi)" "was built for plugin ABI 99 and this attnbench has 6"
  expect_bad "$(plugin wrong_size)" "its struct attn_variant has"
}

@test "a variant that breaks the rules is refused with the rule" {
  expect_bad "$(plugin bad_name)" "a variant's name must be 1 to 32 of [a-z0-9_]"
  expect_bad "$(plugin taken_name)" "there is a variant cpu_flash already"
  expect_bad "$(plugin twice)" "there is a variant sound already"
  expect_bad "$(plugin no_plan)" "variant no_plan: plan is NULL"
  expect_bad "$(plugin null_variant)" "lists a variant that is NULL"
  expect_bad "$(plugin bad_tunable)" "default_value must be in min..max"
  expect_bad "$(plugin half_library)" "all of missing, library, open, attach, enqueue and close"
}

@test "an object that crashes, ends the process or hangs while it is opened is refused" {
  expect_bad "$(plugin crash_open)" "signal 11"
  expect_bad "$(plugin wild_pointer)" "signal 11"
  expect_bad "$(plugin exit_open)" "ended with exit status 0"
  expect_bad "$(plugin hang_open)" "took more than 10 s"
}

@test "a hook that crashes costs its own cells only" {
  must 4 run_with "$(plugin crash_plan)" --variants cpu_ref,crash_plan,cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "crashed", "ok"] * 2'
  expect_json "$TMP/r.json" '"signal 11" in d["results"][1]["reason"]'
  must 4 run_with "$(plugin crash_gpu_plan)" --variants crash_gpu_plan,cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["crashed", "ok"] * 2'
  must 4 attn plan --sweep tests/data/sweeps/tiny.json --gpu l4 --variants crash_gpu_plan,wmma --json "$TMP/r.json" \
    --load "$(plugin crash_gpu_plan)"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["crashed", "planned"] * 2'
}

@test "a plan that cannot be launched is an error of its own cells, a wrong output is wrong" {
  must 4 run_with "$(plugin bad_plan)" --variants bad_plan,cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "ok"] * 2'
  expect_json "$TMP/r.json" '"pass_count must be at most 4" in d["results"][0]["reason"]'
  must 3 run_with "$(plugin sound)" --variants sound,cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"] * 2'
}

@test "text of any bytes from an object leaves the report valid" {
  must 4 run_with "$(plugin bad_reason)" --variants bad_reason
  expect_json "$TMP/r.json" 'd["results"][0]["reason"] == "not? ? text"'
}

@test "a variant that refuses without a word, and one that asks for all memory, are told as such" {
  must 4 run_with "$(plugin no_reason)" --variants no_reason
  expect_json "$TMP/r.json" 'all((r["status"], r["reason"]) == ("skipped", "gives no reason") for r in d["results"])'
  must 4 run_with "$(plugin endless_workspace)" --variants endless_workspace
  expect_json "$TMP/r.json" 'all(r["status"] == "oom_predicted" and "needs 18447 PB with" in r["reason"] for r in d["results"])'
}

@test "an object that writes to the worker's pipe costs its own cells only" {
  must 4 run_with "$(plugin answers)" --variants cpu_ref,answers,cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "crashed", "ok"] * 2'
  expect_json "$TMP/r.json" '"wrote to its pipe" in d["results"][1]["reason"]'
}

@test "an answer that contradicts itself costs its own cell, and the journal stays readable" {
  local shape=(--shape B=1,H=1,S=16,D=16,f32 --device cpu --reference none --modes hot --quick --load "$(plugin answers)")
  export ANSWERS_FILE=$TMP/answer
  must 0 attn "${shape[@]}" --variants cpu_ref --only '*/cpu_ref' --json "$TMP/r.json" --journal "$TMP/j"
  forge() {
    python - "$TMP/j" "$1" >"$ANSWERS_FILE" <<'PY'
import json, sys
cell = next(json.loads(line)["cell"] for line in open(sys.argv[1]) if line.startswith('{"cell"'))
cell["variant"] = "answers"
exec(sys.argv[2])
print(json.dumps(cell, separators=(",", ":")))
PY
  }
  judged() { # CHANGE STATUS WORDS
    rm -f "$TMP/again" "$TMP/r.json"
    forge "$1"
    attn "${shape[@]}" --variants answers,cpu_ref --json "$TMP/r.json" --journal "$TMP/again"
    expect_json "$TMP/r.json" "[r['status'] for r in d['results']] == ['$2', 'ok']"
    expect_json "$TMP/r.json" "'$3' in (d['results'][0].get('reason') or '')"
    attn report "$TMP/again"
    [ "$status" != 7 ] || fail "$1: the journal cannot be read"
  }
  judged pass ok ''
  judged 'cell["time"]["hot"]["median_us"] = 1e-9' error 'it has an impossible median'
  judged 'cell["check"]["elements"] = 1' error 'its record cannot be right: it is ok'
  judged 'cell["time"]["hot"]["sm_clock_mhz"] = 9000' error 'it has an SM clock on a CPU'
  judged 'cell["time"]["cold"] = dict(cell["time"]["hot"], launches_per_sample=1)' error 'it has a time of a mode that the run does not take'
  judged 'cell["card"] = "GPU-1"' error 'it names a card'
}

@test "an object whose signals interrupt the worker costs nothing" {
  must 0 run_with "$(plugin interrupts)" --variants cpu_ref,cpu_flash --only '*'
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 4'
}

@test "what an object prints does not get into a report on stdout" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --load "$(plugin prints)" --variants cpu_flash --only '*' --json -
  expect_json "$OUT" 'd["summary"]["ok"] == 2'
  expect_err noise
}

@test "the commands of the example's page build it outside this tree" {
  sed -n 's/^g++ .*/&/p' kernels/example/README.md >"$TMP/command"
  grep -q '^g++ ' "$TMP/command"
  cp kernels/example/example.cu "$TMP/mine.cu"
  (cd "$TMP" && sed -i "s|ROOT|$ROOT|" command && bash ./command)
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --load "$TMP/mine.so" --variants example_cpu
}
