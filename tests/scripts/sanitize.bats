# What the tools of compute-sanitizer look at (make sanitize-gpu) is every kernel, not those of the day it was written.
load ../helper

@test "the sweeps of make sanitize-gpu have every GPU variant with each D, mask and dtype it takes, grouped heads and Sq != Skv" {
  attn list --json
  local names
  names=$(json "$OUT" '",".join(v["name"] for v in d["variants"] if v["runs_on"] == "cuda" and v["name"] != "cudnn")' | tr -d '"')
  local shapes=B=1,H=4/2,D=64,96,128,192,256,f16,bf16,f32,full,causal
  must 0 attn plan --gpu h200 --shape "S=70x90,$shapes" --shape "S=3x90,$shapes" --variants "$names" --json "$TMP/takes.json"
  for sweep in sanitize sanitize_decode; do
    must 0 attn plan --gpu h200 --sweep "tests/data/sweeps/$sweep.json" --json "$TMP/$sweep.json"
  done
  python - "$TMP"/{takes,sanitize,sanitize_decode}.json <<'PY'
import json, sys
takes, has = ({}, {})
for facts, path in zip((takes, has, has), sys.argv[1:]):
    for row in json.load(open(path))["results"]:
        shape = row["shape"]
        if row["status"] == "planned":
            facts.setdefault(row["variant"].split(":")[0], set()).update(
                {("D", shape["D"], "causal" if shape["causal"] else "full"), shape["dtype"],
                 "grouped heads" if shape["Hq"] != shape["Hkv"] else "", "Sq != Skv" if shape["Sq"] != shape["Skv"] else ""})
missing = {name: sorted(map(str, facts - has.get(name, set()))) for name, facts in takes.items() if facts - has.get(name, set())}
assert len(takes) >= 14 and not missing, (len(takes), missing)
PY
}
