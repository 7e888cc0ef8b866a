# tags: slow asan
# --load FILE.py:FUNCTION: Python functions as variants, with NumPy on the CPU. tests/data/callables.py has one function per
# way to be right, wrong or worse.
load ../helper

setup() {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  "$ATTN_PYTHON" -c 'import numpy, ctypes' 2>/dev/null || skip "$ATTN_PYTHON has no numpy"
  attn list --load "$FUNCTIONS:right" right
  [ "$status" -eq 0 ] || skip "$ATTN_PYTHON has no shared library: $(head -n 1 "$ERR")"
}

FUNCTIONS=tests/data/callables.py
export PYTHONDONTWRITEBYTECODE=1

# measure FUNCTIONS ARGS: in one run on the CPU, report in $TMP/r.json.
measure() {
  local names=$1 loads=() name
  shift
  for name in $names; do loads+=(--load "$FUNCTIONS:$name"); done
  attn --device cpu --quick --json "$TMP/r.json" "${loads[@]}" "$@"
}

@test "a Python function is measured beside built-in kernels and a reference, and a wrong one is found" {
  must 3 measure "right wrong" --shape B=1,H=2,S=32,D=16,causal --variants right,wrong,cpu_flash --reference cpu_flash
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "wrong", "ok"]'
  expect_json "$TMP/r.json" 'all(d["results"][0]["time"][m]["median_us"] > 0 for m in ("hot", "cold"))'
  expect_json "$TMP/r.json" 'd["results"][0]["speedup_vs"]["reference"] == "cpu_flash" and d["results"][0]["check"]["after_timing"]'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "a Python function gets what the problem has: window, softcap, sink, lse, grouped heads, another Dv, each dtype" {
  local dtype
  for dtype in f16 bf16 f32; do
    must 0 measure right --shape "B=2,H=4/2,S=9x21,D=16,Dv=24,$dtype,window=8:2,softcap=3,sink,lse" --check-only
  done
  must 0 measure right --shape B=2,H=4/2,S=9x21,D=16,lse,layout=bshd --shape B=2,H=2,S=9,D=16,layout=qkv --check-only
}

@test "a Python function gets the sequences of a ragged batch packed, with their offsets" {
  local dtype
  for dtype in f16 bf16 f32; do
    must 4 measure "packed plain" --shape "batch=2q33_q0s9_q9s21_3q1,H=4/2,D=16,$dtype,causal,full,lse,lse=false" --shape "batch=q12_2q3,H=2,D=8,qkv,$dtype" \
      --check-only
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "skipped"] * 5 and "batch must be left out" in d["results"][3]["reason"]'
  done
}

@test "a Python function gets pages and their table, and a V that lies in K" {
  must 4 measure "paged plain" --shape "batch=2q3s33_q0s9_q9s21_3q1,H=4/2,D=16,page=8,bf16,causal,lse" --shape B=3,H=4/2,S=5x70,D=16,page=16,prefix=32,layout=hnd \
    --shape B=2,H=4/1,S=5x21,D=16,Dv=8,v_in_k,page=1 --check-only
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "skipped"] * 3 and "page must be left out" in d["results"][3]["reason"]'
}

@test "a Python function gets e4m3 as numbers and their scales" {
  must 4 measure "scaled right" --shape B=2,H=4/2,S=9x300,D=16,e4m3,scales=head,scales=tensor,scales=block:128,lse \
    --shape B=2,H=4/2,S=9x30,D=16,bf16,kv_dtype=e4m3 --check-only
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] == "scaled") and len(d["results"]) == 8'
  expect_json "$TMP/r.json" 'all(r["status"] == "skipped" for r in d["results"] if r["variant"] == "right")'
}

@test "a Python function gets the lists of a block-sparse case as arrays" {
  measure "listed plain" --shape B=2,H=4/2,S=40x70,D=16,causal,full,sparse=16:0.4,24:sliding=2+global=1,bf16,f32,lse,lse=false --check-only
  expect_status 4
  expect_err 'every row of plain is skipped, first: '
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "skipped"] * 16 and "sparse must be left out" in d["results"][5]["reason"]'
}

@test "a function may be the reference" {
  must 0 measure right --shape B=1,H=2,S=32,D=16 --variants right,cpu_flash --reference right --modes hot
  expect_json "$TMP/r.json" '[r["speedup_vs"]["reference"] for r in d["results"] if r["variant"] == "cpu_flash"] == ["right"]'
  expect_json "$TMP/r.json" '[r["speedup_vs"]["library"].split()[0] for r in d["results"] if r["variant"] == "cpu_flash"] == ["NumPy"]'
}

@test "what a function does wrong costs its own cell, and the reason is Python's" {
  must 4 measure "raises leaves sleeps refuses right" --shape B=1,H=1,S=16,D=16 --check-only --timeout 3
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "crashed", "timeout", "skipped", "ok"]'
  expect_json "$TMP/r.json" '"ValueError: D must be 17, not 16 (callables.py:" in d["results"][0]["reason"]'
  expect_json "$TMP/r.json" '"exit status 3" in d["results"][1]["reason"] and "--timeout" in d["results"][2]["reason"]'
  expect_json "$TMP/r.json" '"even days" in d["results"][3]["reason"]'
}

@test "an output of another shape or type, a missing log-sum-exp and a changed input are refused" {
  must 4 measure "shape other_type none no_lse writes" --shape B=1,H=1,S=16,D=16,lse --check-only
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error"] * 5'
  expect_json "$TMP/r.json" '"(1, 1, 8, 16)" in d["results"][0]["reason"] and "float64" in d["results"][1]["reason"]'
  expect_json "$TMP/r.json" '"a NoneType" in d["results"][2]["reason"] and "log-sum-exp" in d["results"][3]["reason"]'
  expect_json "$TMP/r.json" '"read-only" in d["results"][4]["reason"]'
}

@test "threads that each call leaves are told, and end with the process" {
  must 0 measure "starts_threads right" --shape B=1,H=1,S=16,D=16 --modes hot
  expect_json "$TMP/r.json" '"threads running" in d["results"][0]["left"] and "left" not in d["results"][1]'
}

@test "a function that returns what it returned before is wrong" {
  must 3 measure stale --shape B=1,H=1,S=16,D=16 --modes hot
}

@test "what a function has no parameter for is skipped" {
  must 0 measure "plain" --shape B=1,H=1,S=16,D=16,causal --shape B=1,H=1,S=16,D=16,softcap=3 --shape B=1,H=1,S=16,D=16 --check-only
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["skipped", "skipped", "ok"]'
  expect_json "$TMP/r.json" '"no parameter causal" in d["results"][0]["reason"] and "softcap" in d["results"][1]["reason"]'
  must 4 measure "of_torch" --shape B=1,H=1,S=16,D=16,causal --check-only
  expect_json "$TMP/r.json" '"no parameter causal; attnbench passes causal by that name, so rename is_causal" in d["results"][0]["reason"]'
  # A run in which nothing else was asked for has no result.
  must 4 attn --device cpu --check-only --shape batch=2q9,H=2,D=8 --load tests/data/callables.py:right --variants right
  expect_err 'every row is skipped, first: ' 'batch must be left out'
}

@test "a function may be in a module, a class, a file whose path is odd, and have another name" {
  mkdir -p "$TMP/a=b:c d/package"
  cp "$FUNCTIONS" "$TMP/a=b:c d/package/mine.py"
  cd "$TMP/a=b:c d"
  must 0 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load package.mine:right --load "b=./package/mine.py:Attention.static" \
    --load "c=$PWD/package/mine.py:right"
  expect_out_matches 'right +ok'
  expect_out_matches ' b +ok'
  expect_out_matches ' c +ok'
}

@test "the current folder may have files named as modules of Python are" {
  cp "$FUNCTIONS" "$TMP/json.py"
  printf 'raise ValueError\n' >"$TMP/sysconfig.py"
  cd "$TMP"
  must 0 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load json.py:right
  expect_out_matches 'right +ok'
}

@test "a path and what a function prints may have letters that ASCII lacks" {
  local letter locale
  letter=$(printf '\303\274')
  mkdir "$TMP/$letter"
  printf 'print("%s")\ndef f(q, k, v):\n    return ()\n' "$letter" >"$TMP/$letter/$letter.py"
  "$ATTN_PYTHON" -c 'import locale, sys; locale.setlocale(locale.LC_ALL, "C.UTF-8")' 2>/dev/null || skip "there is no C.UTF-8"
  for locale in C C.UTF-8; do
    LC_ALL=$locale must 4 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load "$TMP/$letter/$letter.py:f"
    expect_out_matches 'f returned an empty tuple'
  done
}

@test "what cannot be loaded is one line and exit 2" {
  expect_refusal 2 "there is no absent in callables.py" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:absent"
  expect_refusal 2 "No such file" -- --shape B=1,H=1,S=16,D=16 --load "$TMP/none.py:right"
  expect_refusal 2 "give FILE.py:FUNCTION" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS"
  expect_refusal 2 "give FILE.py:FUNCTION" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:"
  expect_refusal 2 "give FILE.py:FUNCTION" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:a-b"
  expect_refusal 2 "ModuleNotFoundError: No module named 'no_such_module'; ATTN_PYTHON names the interpreter, " -- --shape B=1,H=1,S=16,D=16 --load no_such_module:f
  expect_refusal 2 "cannot be called" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:NUMBER"
  expect_refusal 2 "NAME=$PWD/$FUNCTIONS:right" -- --shape B=1,H=1,S=16,D=16 --load "cpu_ref=$FUNCTIONS:right"
  printf 'import sys\nsys.exit("not today")\n' >"$TMP/ends.py"
  expect_refusal 2 "SystemExit: not today (ends.py:2)" -- --shape B=1,H=1,S=16,D=16 --load "$TMP/ends.py:f"
  printf 'def f(:\n' >"$TMP/broken.py"
  expect_refusal 2 "SyntaxError" -- --shape B=1,H=1,S=16,D=16 --load "$TMP/broken.py:f"
  ATTN_PYTHON=$TMP/no-python expect_refusal 2 "ATTN_PYTHON" -- --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:right"
}

@test "an output may not replace the function's file, and a changed function is another run" {
  cp "$FUNCTIONS" "$TMP/f.py"
  must 2 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load "$TMP/f.py:right" --json "$TMP/f.py"
  must 0 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load "$TMP/f.py:right" --journal "$TMP/j" --resume
  echo '# another' >>"$TMP/f.py"
  must 6 attn --device cpu --check-only --shape B=1,H=1,S=16,D=16 --load "$TMP/f.py:right" --journal "$TMP/j" --resume
}

@test "a function is planned and listed without being run, and compared with itself by ab" {
  must 0 attn plan --gpu h200 --shape B=1,H=1,S=16,D=16 --load "$FUNCTIONS:right"
  expect_out_matches 'right +planned'
  attn list --load "$FUNCTIONS:right" right
  expect_out "Python function"
  attn describe right --load "$FUNCTIONS:right"
  expect_out "right, a variant for GPUs and the CPU"
  attn ab --device cpu --shape B=1,H=1,S=8,D=8 --modes hot --load "$FUNCTIONS:right" --base-load "right=$FUNCTIONS:Attention.static"
  expect_out_matches '1 compared of 1 expected'
}

@test "a run that is killed leaves no interpreter behind" {
  local run left
  CALLABLE_MARK=$TMP "$ATTNBENCH" --device cpu --load "$FUNCTIONS:sleeps" --shape B=1,H=1,S=8,D=8 --check-only >"$OUT" 2>"$ERR" &
  run=$!
  wait_for_child "$run"
  sleep 0.5 # to import; where that takes longer, it is killed as it imports
  kill -KILL "$run"
  ended "$run" 137
  for _ in $(seq 500); do
    left=$(grep -lsazF "CALLABLE_MARK=$TMP" /proc/[0-9]*/environ || true)
    [ -n "$left" ] || return 0
    sleep 0.05
  done
  fail "still running: $left"
}

@test "handlers of SIGINT and SIGTERM that a Python function sets are restored, and cost no process" {
  export HANDLES_FILE=$TMP/processes
  must 0 measure handles --shape B=1,H=2,S=16,D=8 --shape B=1,H=2,S=24,D=8 --shape B=1,H=2,S=32,D=8 --check-only
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" and "left" not in r for r in d["results"])'
  [ "$(sort -u "$HANDLES_FILE" | wc -l)" = 1 ] || fail "$(sort "$HANDLES_FILE" | uniq -c)"
}
