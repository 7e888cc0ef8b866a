load ../helper

# What is measured: shapes and shipped sweeps without a file, filters, and the key of a case as the one way to name it.

plan() { attn plan --gpu l4 --variants cpu_flash,scalar --json "$TMP/p.json" --quiet "$@"; }
keys() { json "$TMP/p.json" '" ".join(sorted({r["key"] for r in d["results"]}))'; }

@test "shapes need no sweep file, and several are one sweep" {
  must 0 plan --shape B=1,H=32/8,S=64:256:*2,D=64,causal --shape B=2,H=4,S=1x128,D=64
  expect_json "$TMP/p.json" '[r["key"] for r in d["results"][::2]] == ["B1.H32.Hkv8.Sq64.Skv64.D64.f16.causal",
    "B1.H32.Hkv8.Sq128.Skv128.D64.f16.causal", "B1.H32.Hkv8.Sq256.Skv256.D64.f16.causal", "B2.H4.Hkv4.Sq1.Skv128.D64.f16.full"]'
  expect_json "$TMP/p.json" 'd["sweep"]["name"] == "shape" and "64:256:*2" in d["sweep"]["about"]'
  expect_refusal 2 '--shape B=1,H=8,S=512: has no D' -- --shape B=1,H=8,S=512
  expect_refusal 2 'are both given' -- --shape B1.H1.S1.D1 --sweep shapes/v3.json
}

@test "a shipped sweep is found by its name, from the source tree and when installed" {
  cd "$TMP"
  must 0 plan --sweep v3
  expect_json "$TMP/p.json" 'd["sweep"]["name"] == "v3" and d["sweep"]["path"].endswith("/shapes/v3.json")'
  mkdir -p usr/bin usr/share/attnbench/shapes
  cp "$ATTNBENCH" usr/bin/attnbench
  cp "$ROOT/shapes/n6.json" usr/share/attnbench/shapes/
  must 0 capture usr/bin/attnbench plan --sweep n6 --gpu l4 --variants scalar --json "$TMP/p.json" --quiet
  expect_json "$TMP/p.json" 'd["sweep"]["path"].endswith("/usr/share/attnbench/shapes/n6.json")'
  must 7 capture usr/bin/attnbench plan --sweep n7 --gpu l4
  expect_err 'no sweep of that name comes with attnbench; did you mean n6? There are n6'
  # A file of that name wins, and a shipped sweep is never written over.
  cp "$ROOT/shapes/it3.json" n6
  capture usr/bin/attnbench plan --sweep n6 --gpu l4 --variants scalar --json "$TMP/p.json" --quiet
  expect_json "$TMP/p.json" 'd["sweep"]["name"] == "it3"'
  rm n6
  must 2 capture usr/bin/attnbench plan --sweep n6 --gpu l4 --json usr/share/attnbench/shapes/n6.json
  expect_err 'are one file'
}

@test "--only takes globs of KEY/VARIANT and of KEY" {
  local run=(--shape B=1,2,H=1,S=8,16,D=8 --device cpu --check-only --variants cpu_ref,cpu_flash --json "$TMP/p.json" --quiet)
  must 0 attn "${run[@]}" --only 'B1.*/cpu_flash'
  expect_json "$TMP/p.json" '[r["variant"] for r in d["results"]] == ["cpu_flash"] * 2 and all(r["key"].startswith("B1.") for r in d["results"])'
  must 0 attn "${run[@]}" --only '*.Sq16.*full'
  expect_json "$TMP/p.json" 'len(d["results"]) == 4'
  expect_refusal 2 'is no cell and no case of this run' -- "${run[@]}" --only 'B3.*'
}

@test "causal and a window are two cases, and the report says so" {
  must 0 attn plan --gpu h200 --shape B=1,H=1,S=64,D=64,causal,window=8:0 --variants scalar
  expect_out 'causal and window are cases of their own'
  must 0 attn plan --gpu h200 --shape B=1,H=1,S=64,D=64,full,window=8:0 --variants scalar
  refute_out 'cases of their own'
}

@test "the key of a case is taken by --filter, --only, --shape and a sweep" {
  local key=B2.H4.Hkv4.Sq64.Skv64.D64.f16.causal
  plan --shape B=1,2,H=4,S=64,D=64,full,causal --filter "$key"
  [ "$(keys)" = "\"$key\"" ] || fail "--filter keeps $(keys)"
  plan --shape "$key"
  [ "$(keys)" = "\"$key\"" ] || fail "--shape is $(keys)"
  plan --sweep "$(write_file s.json "{\"attnbench_sweep\": 1, \"name\": \"s\", \"defaults\": {\"dtype\": \"f32\"}, \"shapes\": [\"$key\"]}")"
  [ "$(keys)" = "\"$key\"" ] || fail "the sweep has $(keys)"
  expect_refusal 7 'shapes[0] is "B1.H4.S64.D64"; give an object' -- --sweep "$(write_file t.json '{"attnbench_sweep": 1, "name": "t", "shapes": ["B1.H4.S64.D64"]}')"
  must 0 attn --shape B=1,2,H=1,S=8,D=8 --device cpu --check-only --variants cpu_ref,cpu_flash --json "$TMP/p.json" \
    --only B2.H1.Hkv1.Sq8.Skv8.D8.f16.full --only B1.H1.Hkv1.Sq8.Skv8.D8.f16.full/cpu_ref
  expect_json "$TMP/p.json" '[r["key"][:2] + r["variant"] for r in d["results"]] == ["B1cpu_ref", "B2cpu_ref", "B2cpu_flash"]'
}

@test "filters take lists, orders and bare words" {
  must 0 plan --sweep n6 --filter S=64,65 --filter 'S>64'
  [ "$(keys)" = '"B1.H1.Hkv1.Sq65.Skv65.D64.f16.full"' ] || fail "$(keys)"
  expect_refusal 2 'takes one number' -- --sweep shapes/n6.json --filter 'S>=64,65'
}

@test "the command that measures a row of shapes again has the shapes" {
  must 0 attn --shape B=1,2,H=1,S=8,D=8 --device cpu --modes hot --quick --rounds 2 --variants cpu_ref --journal "$TMP/j" --quiet
  attn compare "$TMP/j" "$TMP/j" --modes hot --json "$TMP/c.json"
  expect_json "$TMP/c.json" 'len(d["rows"]) == 2 and all("--shape B=1,2,H=1,S=8,D=8" in r["command"] and "--sweep" not in r["command"] for r in d["rows"])'
}

@test "the schema of sweeps takes every sweep that attnbench takes, and refuses what needs no arithmetic to refuse" {
  need_jsonschema
  python - <<'PY'
import glob, json, jsonschema
schema = json.load(open("results/sweep.schema.json"))
validator = jsonschema.Draft202012Validator(schema)
for path in glob.glob("shapes/*.json") + glob.glob("tests/data/sweeps/*.json") + ["kernels/example/sweep.json"]:
    sweep = json.load(open(path))
    assert validator.is_valid(sweep), (path, [error.message for error in validator.iter_errors(sweep)][:3])
# What a schema cannot see: sums, products, names of variants, values that stand in another place, keys that stand twice.
MEANING = {"baseline_no_match", "dup_key", "duplicate_case", "half_pair", "heads_not_multiple", "idle_pair", "missing_dimension",
           "overflowing_product", "repeated_value", "too_many_cases", "no_tunables", "only_no_match", "only_without_variants", "tunable_out_of_range", "tuned_no_case", "tuned_twice",
           "tuned_unknown", "unknown_tunable", "unknown_variant", "escaped_nul", "lone_surrogate", "deep_nesting"}
seen = 0
for path in sorted(glob.glob("tests/data/bad/*.json")):
    name = path.split("/")[-1][:-5]
    try:
        sweep = json.load(open(path, encoding="utf-8"))
    except ValueError:
        continue
    if name not in MEANING:
        assert not validator.is_valid(sweep), name
        seen += 1
assert seen >= 25, seen
PY
}

@test "a sweep says which of its combinations are measured, and --variants takes all of them" {
  SWEEP=$(write_file only.json '{"attnbench_sweep": 1, "name": "only", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8}, {"B": 2, "H": 1, "S": 8, "D": 8}],
    "variants": ["cpu_ref", "cpu_flash"], "only": ["B1.*/cpu_ref", "*/cpu_flash"]}')
  must 0 attn --sweep "$SWEEP" --device cpu --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[(r["shape"]["B"], r["variant"]) for r in d["results"]] == [(1, "cpu_ref"), (1, "cpu_flash"), (2, "cpu_flash")]'
  attn --sweep "$SWEEP" --device cpu --check-only --variants cpu_ref --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'len(d["results"]) == 2'
}

@test "the gate's sweep has what users are promised: auto, what it picks, and a rung of each ladder, 16 to 20 cells" {
  must 0 attn plan --sweep shapes/gate.json --gpu h200 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '16 <= len(d["results"]) <= 20 and all(r["status"] == "planned" for r in d["results"])
    and {r["variant"].split(":")[0] for r in d["results"]} >= {"auto", "wgmma", "cluster_split", "decode", "d_split"}
    and {(r["shape"]["D"], r["shape"]["causal"]) for r in d["results"] if r["variant"] == "wgmma"} == {(D, c) for D in (64, 128, 256) for c in (False, True)}'
  local ladder
  for ladder in scalar mma wgmma; do
    "$ATTNBENCH" plan --sweep "shapes/${ladder}_ladder.json" --gpu h200 --json "$TMP/$ladder.json" --quiet
    expect_json "$TMP/p.json" "{r['variant'] for r in d['results']} & {r['variant'] for r in json.load(open('$TMP/$ladder.json'))['results']}"
  done
}

@test "a sweep may name its schema, so that editors complete it" {
  SWEEP=$(write_file named.json '{"$schema": "sweep.schema.json", "attnbench_sweep": 1, "name": "named", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8}]}')
  must 0 attn plan --sweep "$SWEEP" --gpu l4 --variants scalar
}
