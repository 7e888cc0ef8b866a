#!/usr/bin/env bash
# Measures a sweep as a Slurm job array, and merges its shards once all of them are done.
#
#   scripts/slurm/submit.sh SHARDS FOLDER -- ARGUMENTS...
#
#   SHARDS      how many tasks the array has: each measures its part of the cases on a GPU of its own
#   FOLDER      on a file system that all nodes share; gets shard-1.journal, ..., the tasks' logs and report.json. The
#               same command with the same folder goes on where an earlier one stopped
#   ARGUMENTS   of attnbench, such as --sweep shapes/prefill.json --rounds 5; no outputs, which the merge writes
#
# ATTNBENCH names the program (default ./attnbench); SBATCH_OPTIONS has words for sbatch, such as
# "--partition=h200 --gpus-per-task=1 --exclusive". A shard should have at least a minute of work: many clusters
# discourage more than ten tasks a minute. Prints the ids of the two jobs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ $# -lt 4 ] || [ "$3" != -- ] || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
shards=$1 folder=$2
shift 3
mkdir -p "$folder"
ATTNBENCH=$(realpath "${ATTNBENCH:-./attnbench}") FOLDER=$(realpath "$folder") SHARDS=$shards
export ATTNBENCH FOLDER SHARDS
read -r -a options <<<"${SBATCH_OPTIONS:-}"

array=$(sbatch --parsable "${options[@]}" --array="1-$shards" --output="$FOLDER/shard-%a.log" --open-mode=append \
  "$here/shard.sbatch" "$@")
array=${array%%;*}
# Also after a task that failed: the merge then says what is missing.
merge=$(sbatch --parsable "${options[@]}" --dependency="afterany:$array" --output="$FOLDER/merge.log" "$here/merge.sbatch")
printf 'array %s\nmerge %s\n' "$array" "${merge%%;*}"
