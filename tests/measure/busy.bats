# tags: slow asan
# Load of other processes makes the times of a CPU doubtful.
load ../helper

teardown() { [ -z "$SPINNER" ] || kill "$SPINNER" 2>/dev/null || true; }

@test "a time that was taken beside another process on its processor says so and is doubtful" {
  [ -r /proc/self/schedstat ] || skip "this kernel does not tell how long a thread waited"
  command -v taskset >/dev/null || skip "no taskset"
  local cpu
  cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
  # The shell's own loop: as eager for the processor as what is measured.
  taskset -c "$cpu" bash -c 'while :; do :; done' &
  SPINNER=$!
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 64, "D": 64}]}')
  COLUMNS=200 must 0 capture taskset -c "$cpu" "$ATTNBENCH" --sweep "$sweep" --device cpu --variants cpu_ref --modes hot --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][0]["time"]["hot"]["waited_ratio"] > 0.1 and not d["results"][0]["time"]["hot"]["settled"]'
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_out_matches 'cpu_ref hot: 1 row with .*; up to [0-9]+ % of the time went to waiting for a processor that others used'
}

@test "a time that was taken beside a process on another processor says so, is doubtful and has not settled" {
  local account cpus
  account=$(cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null || true)
  [ -n "$account" ] || skip "no control group of this machine counts processor time"
  cpus=$(nproc)
  [ "$cpus" -gt 1 ] || skip "one processor"
  bash -c 'while :; do :; done' &
  SPINNER=$!
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 64, "D": 64}]}')
  COLUMNS=200 must 0 attn --sweep "$sweep" --device cpu --variants cpu_ref --modes hot --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][0]["time"]["hot"]["others_load"] > 0.5 and not d["results"][0]["time"]["hot"]["settled"]'
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_out_matches 'cpu_ref hot: 1 row with .*; other processes kept up to [0-9.]+ processors busy'
}
