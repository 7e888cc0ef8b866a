#!/usr/bin/env bash
# Does scripts/slurm/ work? Starts a Slurm of one node of its own, with Debian's munge, slurmctld and slurmd, submits a
# sweep of CPU cells as three shards, kills one task without warning and requeues it, and holds the merged report against
# the sweep.
#
#   scripts/proof/slurm_trial.sh      needs root; ATTNBENCH names the program (default ./attnbench)
#
# Everything lies in a folder of its own, which goes in the end unless something failed. Exit codes: 0 it works, 1 it does
# not, 77 there is no Slurm here (apt-get install munge slurmctld slurmd slurm-client), or no root.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin

ATTNBENCH=$(realpath "${ATTNBENCH:-./attnbench}")
export ATTNBENCH
for program in munged slurmctld slurmd sbatch; do
  command -v $program >/dev/null || { echo "slurm_trial: no $program here; skipped" >&2; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "slurm_trial: slurmd needs root; skipped" >&2; exit 77; }

folder=$(mktemp -d /tmp/slurm_trial.XXXXXX)
chmod 711 "$folder"
say() { printf 'slurm_trial: %s\n' "$*"; }
fail() {
  say "$*; see $folder" >&2
  exit 1
}

stop() {
  local code=$? name i
  for name in slurmd slurmctld munged; do
    [ ! -s "$folder/$name.pid" ] || kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
  done
  # Until the daemons have written what they still want to.
  for ((i = 0; code == 0 && i < 50; ++i)); do
    if rm -rf "$folder" 2>/dev/null; then break; fi
    sleep 0.2
  done
  exit "$code"
}
trap stop EXIT

start() {
  local port=$((20000 + RANDOM % 20000)) host
  host=$(hostname -s)
  mkdir -m 700 "$folder/state" "$folder/spool"
  mkdir -m 755 "$folder/munge"
  head -c 1024 /dev/urandom >"$folder/munge.key"
  chmod 600 "$folder/munge.key"
  cat >"$folder/slurm.conf" <<CONF
ClusterName=trial
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=cpu Nodes=$host Default=YES State=UP
CONF
  export SLURM_CONF=$folder/slurm.conf
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
  slurmctld -i
  slurmd
  wait_for 30 "the node" node_is_there
}

# wait_for SECONDS WHAT COMMAND...
wait_for() {
  local seconds=$1 what=$2 i
  shift 2
  for ((i = 0; i < seconds * 5; ++i)); do
    if "$@"; then return; fi
    sleep 0.2
  done
  fail "$what did not come within $seconds s"
}

node_is_there() { sinfo -h -o %t 2>/dev/null | grep -qx idle; }
has_cell() { grep -q '^{"cell":' "$1" 2>/dev/null; }
is_gone() { [ -z "$(squeue -h -j "$1" -t PENDING,RUNNING,COMPLETING 2>/dev/null)" ]; }

# The process that measures a shard: the one with its journal among its words that attnbench itself did not start.
process_of() { pgrep -f -- "--journal $1 --resume" | head -n 1; }

main() {
  local ids array merge journal=$folder/run/shard-2.journal
  start
  cat >"$folder/sweep.json" <<'SWEEP'
{"attnbench_sweep": 1, "name": "slurm", "variants": ["cpu_flash", "cpu_ref"],
 "grid": [{"B": [1, 2, 3], "H": [2, 4], "S": [64, 65], "D": 32}]}
SWEEP
  ids=$(scripts/slurm/submit.sh 3 "$folder/run" -- --sweep "$folder/sweep.json" --device cpu --quick --modes hot)
  array=$(sed -n 's/^array //p' <<<"$ids") merge=$(sed -n 's/^merge //p' <<<"$ids")
  wait_for 120 "the first cell of shard 2" has_cell "$journal"
  kill -KILL "$(process_of "$journal")"
  wait_for 30 "the end of the killed task" is_gone "${array}_2"
  say "killed shard 2 after $(grep -c '^{"cell":' "$journal") of 8 cells"
  scontrol requeue "${array}_2"
  # Slurm waits two minutes before it starts a requeued task again.
  wait_for 30 "the requeued task" scontrol update "jobid=${array}_2" starttime=now 2>/dev/null
  wait_for 300 "the end of the array" is_gone "$array"
  wait_for 120 "the end of the merge" is_gone "$merge"
  # The merge may have run before the task was requeued: then it said what was missing, and is done again.
  [ -e "$folder/run/report.json" ] || FOLDER=$folder/run scripts/slurm/merge.sbatch >"$folder/run/merge.log" 2>&1 ||
    fail "the merge failed: $(tail -n 1 "$folder/run/merge.log")"
  grep -q '^{"resumed":' "$journal" || fail "shard 2 was not resumed"
  [ "$(cat "$folder"/run/shard-*.journal | grep -c '^{"cell":')" -eq 24 ] || fail "a cell was measured twice"
  tail -n 1 "$folder/run/merge.log" | grep -q '^24 of 24 cells: 24 ok' || fail "not all cells are there and right"
  say "3 shards, one killed, requeued and resumed: 24 of 24 cells, each measured once"
}

main
