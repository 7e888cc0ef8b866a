# tags: asan
load ../helper

sweep() {
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 32, "D": 16}], "variants": ["cpu_ref"]}'
}

@test "a run that has no tool inside says so" {
  must 0 attn --sweep "$(sweep)" --device cpu --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["run"]["profiled"] is None and d["run"]["profile_launches"] == 0'
}

@test "a run that a variable asks to inject into is tagged, in the journal and in what is made from it" {
  CUDA_INJECTION64_PATH=/nowhere/tool.so must 0 attn --sweep "$(sweep)" --device cpu --json "$TMP/r.json" --journal "$TMP/j"
  expect_json "$TMP/r.json" 'd["run"]["profiled"] == "injection: CUDA_INJECTION64_PATH"'
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/j"
  expect_out 'profiled  injection: CUDA_INJECTION64_PATH was inside the process that measured'
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the journal makes another report"
  attn diagnose "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the report came back different"
}

@test "--profile takes a number of launches, with = only" {
  for n in 0 1001 -1 x 3x '' ' 3'; do
    must 2 attn --sweep "$(sweep)" "--profile=$n"
    expect_err '--profile'
    expect_no_out
  done
  expect_refusal 2 '"3": not understood here' -- --sweep "$(sweep)" --profile 3
  expect_refusal 2 '--profile: given twice' -- --sweep "$(sweep)" --profile --profile=2
}

@test "--profile without a GPU is an error that says why, and writes nothing" {
  expect_refusal 2 '--profile: nsys and ncu capture GPU kernels' -- --sweep "$(sweep)" --profile --device cpu
  attn list --json
  expect_json "$OUT" 'not any(v["available"] for v in d["variants"] if v["runs_on"] == "cuda")' 2>/dev/null || skip "there is a GPU"
  must 77 attn --sweep "$(sweep)" --profile --json "$TMP/r.json" --journal "$TMP/j"
  [ ! -e "$TMP/r.json" ] && [ ! -e "$TMP/j" ] || fail "something was written"
}

@test "--profile excludes what is about times: nothing is timed" {
  expect_refusal 2 '--reference is about times, and --profile takes no times' -- --sweep "$(sweep)" --profile --reference scalar
  expect_refusal 2 '--baseline is about times, and --profile takes no times' -- --sweep "$(sweep)" --profile --baseline b.json
  expect_refusal 2 '--rounds is about times, and --profile takes no times' -- --sweep "$(sweep)" --profile --rounds 5
}
