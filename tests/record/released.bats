# tags: slow asan
# Files of every released version (tests/data/released/VERSION/) stay readable, diagnosable and comparable. A folder has
# journals with the reports that the version made of them, 0.1.0 also its PyTorch report and its table of times, and never changes.
load ../helper

# Facts of the old report must be in the new one, at the same place. What the old one does not have was not measured:
# it is null or empty in the new one. What is derived may be said in another way later.
same_facts() {
  python - "$1" "$2" <<'PY'
import json, sys

DERIVED = {"has_checksum", "checksum", "findings", "scaling", "traffic", "roof", "cold_net_us", "between_processes", "kernel_speedup_ratio",
           "bound_by"}


def of_first_process(time):
    """What the first process found is the fact; whether the processes agree is derived."""
    settled = time["settled"] or time.get("settled_alone", False)
    return {key: value for key, value in time.items() if key != "settled_alone"} | {"settled": settled}


def differences(old, new, path):
    if isinstance(old, dict) and isinstance(new, dict):
        if "settled" in old and "settled" in new:
            old, new = of_first_process(old), of_first_process(new)
        for key in old.keys() - DERIVED:
            if key not in new:
                yield f"{path}.{key} is gone"
            else:
                yield from differences(old[key], new[key], f"{path}.{key}")
        for key in new.keys() - old.keys() - DERIVED:
            is_count = path == "report.summary" and new[key] == 0  # of a status that came later
            if new[key] not in (None, [], {}) and not is_count and not key.endswith("_reason"):
                yield f"{path}.{key} was not measured and is {new[key]}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{i}]")
    elif old != new or type(old) is not type(new):
        yield f"{path} was {old} and is {new}"


old, new = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
found = list(differences(old, new, "report"))
print("\n".join(found[:20]), file=sys.stderr)
sys.exit(bool(found))
PY
}

released() { compgen -G "tests/data/released/*/$1"; }

@test "a journal makes the report that its version made of it" {
  for journal in $(released '*.journal'); do
    must 0 attn report "$journal" --json "$TMP/r.json"
    same_facts "${journal%.journal}.json" "$TMP/r.json" || fail "$journal"
    expect_valid results/report.schema.json "$TMP/r.json"
  done
}

@test "a report holds the facts of its journal: both make the same report now" {
  for journal in $(released '*.journal'); do
    attn report "$journal" --json "$TMP/a.json"
    must 0 attn diagnose "${journal%.journal}.json" --json "$TMP/b.json"
    cmp "$TMP/a.json" "$TMP/b.json" || fail "$journal"
  done
}

@test "reports still match the schema" {
  for report in $(released '*.json' | grep -v '/times.json$'); do expect_valid results/report.schema.json "$report"; done
}

@test "every file gives a text, a CSV and Google Benchmark's JSON, and is diagnosed" {
  local count=0
  for file in $(released '*'); do
    for verb in report diagnose; do
      must 0 attn "$verb" "$file" --csv "$TMP/r.csv" --gbench "$TMP/r.gbench" --json "$TMP/$((++count)).json"
      must 0 attn "$verb" "$file"
    done
    expect_out_matches '^(no findings|findings, (worst|most time) first)'
    attn report "$file"
    expect_out "hot"
  done
  expect_valid --sample results/report.schema.json "$TMP"/[0-9]*.json
}

@test "a PyTorch report and a table of times keep their facts" {
  for file in $(released torch.json); do
    attn diagnose "$file" --json "$TMP/r.json"
    expect_json "$TMP/r.json" '[(r["variant"], r["time"]["hot"]["median_us"], r["check"]["oracle"]["name"]) for r in d["results"]]
      == [(r["variant"], r["time"]["hot"]["median_us"], r["check"]["oracle"]["name"]) for r in json.load(open("'"$file"'"))["results"]]'
  done
  for file in $(released times.json); do
    attn diagnose "$file" --json "$TMP/r.json"
    same_facts "${file%.json}_report.json" "$TMP/r.json" || fail "$file"
  done
}

@test "a baseline and a journal are compared with each other, and a PyTorch report with itself" {
  for folder in tests/data/released/*/; do
    attn compare "$folder/baseline.json" "$folder/baseline.journal" --json "$TMP/c.json"
    expect_json "$TMP/c.json" 'len(d["rows"]) > 0 and all(len(row["base"]["process_median_us"]) > 1 for row in d["rows"])'
    [ -e "$folder/torch.json" ] || continue
    attn compare "$folder/torch.json" "$folder/torch.json" --json "$TMP/c.json"
    expect_json "$TMP/c.json" 'len(d["rows"]) > 0'
  done
}

@test "files of one version are shown beside each other" {
  for folder in $(dirname $(released torch.json)); do
    must 0 attn report "$folder/gpu.journal" "$folder/gpu.json" "$folder/torch.json" "$folder/times.json" --across-devices
    expect_out "torch_flash"
  done
}
