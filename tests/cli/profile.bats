load helper

sweep() {
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 32, "D": 16}], "variants": ["cpu_ref"]}'
}

@test "a run that has no tool inside says so" {
  attn --sweep "$(sweep)" --device cpu --json "$TMP/r.json"
  expect_status 0
  expect_json "$TMP/r.json" 'd["run"]["profiled"] is None and d["run"]["profile_launches"] == 0'
}

@test "a run that a variable asks to inject into is tagged, in the journal and in what is made from it" {
  CUDA_INJECTION64_PATH=/nowhere/tool.so attn --sweep "$(sweep)" --device cpu --json "$TMP/r.json" --journal "$TMP/j"
  expect_status 0
  expect_json "$TMP/r.json" 'd["run"]["profiled"] == "injection: CUDA_INJECTION64_PATH"'
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the journal makes another report"
  attn diagnose "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the report came back different"
}
