# tags: slow asan
# --shard and merge: parts of a run that any node measures, and their proof that together they are the whole.
load ../helper

sweep() {
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "variants": ["cpu_flash", "cpu_ref"],
    "grid": [{"B": [1, 2], "H": 2, "S": [1, 3, 5], "D": 8}]}' >/dev/null
}
measure() { attn --sweep "$TMP/s.json" --device cpu --check-only "$@"; }
# shard I N ARGS...: that shard's journal, $TMP/I.journal.
shard() {
  must 0 measure --shard "$1/$2" --journal "$TMP/$1.journal" "${@:3}"
}
cells_of() { sed -nE 's/^\{"cell":\{"key":"([^"]*)","variant":"([^"]*)".*/\1\/\2/p' "$@"; }

setup() { sweep; }

@test "shards have every cell once, whole cases each, and merge into the report of the whole run" {
  measure --json "$TMP/whole.json"
  for i in 1 2 3 4; do shard $i 4 --json "$TMP/$i.json"; done
  cells_of "$TMP"/[1-4].journal | sort >"$TMP/parts"
  [ "$(wc -l <"$TMP/parts")" -eq 12 ] && [ "$(uniq <"$TMP/parts" | wc -l)" -eq 12 ] || fail "cells"
  for i in 1 2 3 4; do
    # 6 cases in 4 shards: two, two, one and one, of two cells each.
    [ "$(cells_of "$TMP/$i.journal" | cut -d/ -f1 | uniq -c | awk '{ print $1 }' | sort -u)" = 2 ] || fail "a case was split"
    [[ $(cells_of "$TMP/$i.journal" | wc -l) = [24] ]] || fail "not dealt evenly"
  done
  expect_json "$TMP/2.json" 'd["run"]["shard"] == "2/4" and d["summary"]["exit_code"] == 0'
  expect_valid results/report.schema.json "$TMP/2.json"
  must 0 attn merge "$TMP"/{3,1,4,2}.journal --json "$TMP/merged.json" --csv "$TMP/merged.csv"
  expect_out "12 of 12 cells: 12 ok"
  expect_valid results/report.schema.json "$TMP/merged.json"
  expect_json "$TMP/merged.json" 'd["run"]["merged_shards"] == 4 and d["run"]["cells"] == 12 and d["run"]["state"] == "complete"'
  for file in whole merged; do json "$TMP/$file.json" '[(r["key"], r["variant"], r["status"]) for r in d["results"]]'; done |
    uniq | wc -l | grep -qx 1 || fail "the merged report has not the rows of the whole run in its order"
  attn report "$TMP/merged.json" --json "$TMP/again.json"
  cmp "$TMP/merged.json" "$TMP/again.json"
}

@test "what is missing or twice is refused, naming the cells; nothing is written" {
  for i in 1 2 3; do shard $i 3; done
  expect_refusal 4 'of 12 cells 4 missing; nothing was written' -- merge "$TMP"/{1,3}.journal --json "$TMP/m.json"
  expect_err_lines 5
  while read -r cell; do expect_err "$cell is missing: no journal here is of shard 2/3"; done < <(cells_of "$TMP/2.journal")
  [ ! -e "$TMP/m.json" ] || fail "a report was written"
  cp "$TMP/1.journal" "$TMP/copy.journal"
  expect_refusal 4 'of 12 cells 4 there more than once' -- merge "$TMP"/{1,2,3,copy}.journal
  expect_err "is there 2 times: in $TMP/1.journal and $TMP/copy.journal"
  sed -i "$(grep -n '^{"cell":' "$TMP/3.journal" | tail -1 | cut -d: -f1),\$d" "$TMP/3.journal"
  expect_refusal 4 'of 12 cells 1 missing, 4 there more than once' -- merge "$TMP"/{1,2,3,copy}.journal
  expect_err "is missing in $TMP/3.journal, the journal of shard 3/3"
  shard 3 3 --resume
  must 0 attn merge "$TMP"/[1-3].journal --quiet
}

@test "a shard that misses rounds is not finished" {
  need_steady
  export STEADY_US=30
  steady() {
    must 0 attn --shape B=1,2,3,H=2,S=1,D=8 --variants steady --device cpu --load "$STEADY" --quick --modes hot --rounds 2 \
      --shard "$1/3" --journal "$TMP/$1.journal" "${@:2}"
  }
  for i in 1 2 3; do steady $i; done
  sed -i '/^{"again":/d; /^{"end":/d' "$TMP/2.journal"
  expect_refusal 4 'of 3 cells 1 unfinished' -- merge "$TMP"/[1-3].journal
  expect_err "has 1 of 2 rounds in $TMP/2.journal"
  steady 2 --resume
  must 0 attn merge "$TMP"/[1-3].journal --json "$TMP/m.json"
  expect_json "$TMP/m.json" '[r["processes"]["hot"]["count"] for r in d["results"]] == [2, 2, 2]'
}

@test "shards of unlike devices or runs are refused with what differs" {
  shard 1 2
  shard 2 2
  drop_checksums "$TMP"/[12].journal
  sed -i 's/"host_cpu":"[^"]*"/"host_cpu":"Z80"/' "$TMP/2.journal"
  expect_refusal 6 'on like devices: host CPU is' -- merge "$TMP"/[12].journal
  must 0 attn merge "$TMP"/[12].journal --across-devices --json "$TMP/m.json"
  expect_json "$TMP/m.json" '[r.get("resumed_with_other") for r in d["results"]].count("host CPU") == 6'
  must 6 attn compare "$TMP/m.json" "$TMP/m.json"
  sed -i 's/"kind":"cpu"/"kind":"cuda"/' "$TMP/2.journal"
  expect_refusal 6 'kind of device is the CPU there and a GPU here' -- merge "$TMP"/[12].journal --across-devices
  rm "$TMP/2.journal"
  shard 2 2 --seed 7
  expect_refusal 6 'seed is 1 there and 7 here' -- merge "$TMP"/[12].journal --across-devices
  rm "$TMP/2.journal"
  shard 2 3
  expect_refusal 6 'number of shards is /2 there and /3 here' -- merge "$TMP"/[12].journal
  measure --journal "$TMP/whole.journal"
  expect_refusal 7 'is no journal of a shard' -- merge "$TMP/1.journal" "$TMP/whole.journal"
  head -n 1 "$TMP/1.journal" >"$TMP/bare.journal"
  expect_refusal 7 'was stopped before anything was measured' -- merge "$TMP/bare.journal"
  sed '/^{"selection":/s/,"[^"]*\/cpu_ref"//' "$TMP/1.journal" >"$TMP/cut.journal"
  expect_refusal 7 'its list of cells is not the one of its header' -- merge "$TMP/cut.journal"
  sed '/^{"selection":/s/\//-/g' "$TMP/1.journal" >"$TMP/cut.journal"
  expect_refusal 7 'cut.journal:2: selection: has what is no cell' -- report "$TMP/cut.journal"
}

@test "a shard is resumed as the shard that it is" {
  shard 1 2
  sed -i '/^{"end":/d' "$TMP/1.journal"
  must 6 measure --shard 2/2 --journal "$TMP/1.journal" --resume=anyway
  expect_err '--shard was 1/2 there and is 2/2 here'
  # Killed right behind the header: the list of cells is written when it goes on.
  head -n 1 "$TMP/1.journal" >"$TMP/short" && mv "$TMP/short" "$TMP/1.journal"
  shard 1 2 --resume
  shard 2 2
  must 0 attn merge "$TMP"/[12].journal --quiet
}

@test "launchers say which shard this is" {
  named() {
    must 0 capture env "${@:2}" "$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --check-only --shard auto --json "$TMP/auto.json"
    expect_json "$TMP/auto.json" "d['run']['shard'] == '$1'"
  }
  named 2/3 SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=4
  named 4/4 SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=1 SLURM_PROCID=1 SLURM_NTASKS=2
  named 2/5 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=5 SLURM_PROCID=0 SLURM_NTASKS=2
  named 1/2 PMI_RANK=0 PMI_SIZE=2
  refused() {
    must 2 capture env "${@:2}" "$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --shard auto
    expect_err "$1"
  }
  refused 'no launcher says which task this is'
  refused 'is 5 and SLURM_ARRAY_TASK_COUNT is 2' SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=1
  refused 'SLURM_PROCID is "x"' SLURM_PROCID=x SLURM_NTASKS=2
}

@test "a shard that there is not is refused" {
  local it
  for it in 0/2 3/2 1/0 1/10001; do expect_refusal 2 "--shard $it: there is no shard" -- --sweep "$TMP/s.json" --shard $it; done
  for it in 1 1/ /2 a/2 1/2x -1/2; do expect_refusal 2 'is not I/N' -- --sweep "$TMP/s.json" "--shard=$it"; done
  expect_refusal 2 '7 shards are more than the 6 selected cases' -- --sweep "$TMP/s.json" --device cpu --shard 1/7
  expect_refusal 2 '--shard and --baseline are both given' -- --sweep "$TMP/s.json" --shard 1/2 --baseline "$TMP/s.json"
  expect_refusal 2 '--shard and --profile are both given' -- --sweep "$TMP/s.json" --shard 1/2 --profile
}
