# report --filter and --variants: some of the rows of saved files.
load ../helper

setup() {
  must 0 attn --shape B=1,2,H=2,S=8,16,D=8 --device cpu --check-only --variants cpu_ref,cpu_flash --json "$TMP/r.json"
}

@test "report shows the cases and variants that are asked for, as a report that is whole" {
  must 0 attn report "$TMP/r.json" --filter S=16 --filter B=2 --json "$TMP/some.json" --quiet
  expect_json "$TMP/some.json" '[r["key"][:10] for r in d["results"]] == ["B2.H2.Hkv2"] * 2 and d["run"]["cells"] == 2'
  must 0 attn report "$TMP/r.json" --variants cpu_flash
  expect_out "4 of 4 cells"
  refute_out "cpu_ref "
  must 0 attn report "$TMP/some.json"
}

@test "of several files each shows what it has" {
  attn report "$TMP/r.json" --variants cpu_ref --json "$TMP/a.json" --quiet
  attn report "$TMP/r.json" --variants cpu_flash --json "$TMP/b.json" --quiet
  must 0 attn report "$TMP/a.json" "$TMP/b.json" --filter S=8 --variants cpu_ref,cpu_flash
  refute_out "Sq16"
  expect_out_matches 'cpu_ref .*ok'
  expect_refusal 2 'no row of these files' -- report "$TMP/a.json" "$TMP/b.json" --filter S=9
  expect_refusal 2 'in these files is of "cpu_flush"; did you mean cpu_flash?' -- report "$TMP/a.json" "$TMP/b.json" --variants cpu_ref,cpu_flush
}

@test "what selects nothing is a usage error" {
  expect_refusal 2 'did you mean cpu_flash?' -- report "$TMP/r.json" --variants cpu_flush
  expect_refusal 2 'no row meets' -- report "$TMP/r.json" --filter S=9
  expect_refusal 2 '--filter' -- report "$TMP/r.json" --filter nonsense
}
