#!/usr/bin/env bash
# Runs a program of one side of a gate, kept where possible from writing what the other side or the judge reads.
#
#   scripts/gate_apart.sh PROGRAM ARGUMENTS...     the value of --journal becomes a file of the program's own folder, and
#                                                  its content is there afterwards
#   scripts/gate_apart.sh --probe                  prints `namespaces` where the kernel allows them, else `user` if run by root
#                                                  and a new user can open the GPUs, else `none`
#
#   APART_HOW      what --probe said. With namespaces the program sees no process but its own, which end with it; files are
#                  read-only but for its own folder; /dev has the devices of measuring alone; there is no network; as root it
#                  has no capability, or that of reading alone where its files cannot be read without it. With a user of its
#                  own (a user ID that nothing else uses) it can write its own folder and what every user may write; its processes
#                  end with it. With none, the program only gets a folder and an environment of its own, and
#                  the sums are checked. In all three nothing is open in it but its input, output and errors
#   APART_FOLDER   its folder; without it a new one below APART_ROOT, which is removed at the end
#   APART_HIDDEN   folders, one a line, of whose content it can reach only the program, the files named in its arguments and
#                  its own folder (namespaces and user). `user` changes the modes of files in them and does not restore them
#   APART_SUMS     what sha256sum wrote of files that must not change: checked before and after, and a difference ends with 6
#   APART_PASS     names of variables that it gets beside those of compilers and devices, separated by spaces
set -euo pipefail

say() { printf 'attnbench: %s\n' "$*" >&2; }

passed='PATH LANG LC_ALL TZ CC CXX CFLAGS CXXFLAGS LDFLAGS CUDA CUDA_HOME CUDA_PATH NVCC GENCODE LD_LIBRARY_PATH
CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES'

user_namespace() { [ "$(id -u)" -eq 0 ] || printf '%s\n' --user --map-root-user; }

# apart COMMAND...: becomes it, in namespaces of its own, which are killed when this script ends.
apart() {
  local user
  mapfile -t user < <(user_namespace)
  exec setpriv --pdeathsig KILL unshare ${user[@]+"${user[@]}"} --mount --pid --ipc --net --fork --kill-child --mount-proc "$@"
}

# ---- inside of the namespaces --------------------------------------------------------------------------------------

only_devices_of_measuring() {
  local stage=$1 device
  mount -n -t tmpfs -o mode=755 apart "$stage"
  for device in /dev/{null,zero,full,random,urandom,tty,nvidia*,dri,dxg}; do
    [ -e "$device" ] || continue
    if [ -d "$device" ]; then mkdir "$stage/${device##*/}"; else : >"$stage/${device##*/}"; fi
    mount -n --rbind "$device" "$stage/${device##*/}"
  done
  mkdir -m 1777 "$stage/shm"
  ln -s /proc/self/fd "$stage/fd"
  for device in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/${device#*:}" "$stage/${device%:*}"; done
  mount -n --move "$stage" /dev
}

# A remount must keep the flags that a mount has.
all_read_only() {
  local point flags
  while read -r _ _ _ _ point flags _; do
    printf -v point '%b' "$point" # \040 is a blank
    case $point in "$1" | /dev | /dev/* | /proc) continue ;; esac
    mount -n -o "remount,bind,ro${flags#r[ow]}" "$point" || return
  done </proc/self/mountinfo
}

# CUDA writes to /proc/self, so that /proc itself stays writable: its processes are those of this namespace, and all else
# in it is mounted again.
kernel_read_only() {
  local entry
  while read -r entry; do
    mount -n --bind "$entry" "$entry" || return
  done < <(find /proc -maxdepth 1 -mindepth 1 ! -name '[0-9]*' \( -type d -o -type f -perm /222 \))
}

# hide FOLDER STAGE KEPT...: the folder becomes a new one, which has the kept files and folders of it alone.
hide() {
  local hidden stage=$2 kept place
  hidden=$(realpath -e "$1" 2>/dev/null) || return 0 # it went with a folder around it
  mkdir "$stage"
  mount -n -t tmpfs -o mode=755 apart "$stage"
  for kept in "${@:3}"; do
    kept=$(realpath -e "$kept" 2>/dev/null) || continue
    [[ $kept == "$hidden"/* ]] || continue
    place=$stage${kept#"$hidden"}
    [ ! -e "$place" ] || continue
    mkdir -p "$(dirname "$place")"
    if [ -d "$kept" ]; then mkdir "$place"; else : >"$place"; fi
    mount -n --bind "$kept" "$place"
  done
  mount -n --move "$stage" "$hidden"
}

# can_read FILES...: whether that takes no right of root. The right to read all files is one to open them by their numbers in
# the file system, past every mount: what is hidden, and for writing too.
can_read() {
  # shellcheck disable=SC2016  # for the shell inside
  setpriv --inh-caps=-all --bounding-set=-all bash -c 'for file; do
    [ -r "$file" ] && { [ ! -d "$file" ] || [ -x "$file" ]; } || exit 1
  done' - "$@"
}

# inside FOLDER HIDDEN COMMAND...: the first process of the namespaces, which end with it.
inside() {
  local folder=$1 hidden=$2 code=0 kept=("$1") folders=() rights=-all file i
  shift 2
  for file in "$@" "${@#*=}"; do [ ! -f "$file" ] || kept+=("$file"); done
  mkdir "$folder/.dev"
  only_devices_of_measuring "$folder/.dev"
  mapfile -t folders <<<"$hidden"
  for i in "${!folders[@]}"; do
    [ -z "${folders[i]}" ] || hide "${folders[i]}" "$folder/.hidden-$i" "${kept[@]}"
  done
  mount -n --bind "$folder" "$folder"
  kernel_read_only
  all_read_only "$folder"
  # What is hidden could still be seen from a folder that was entered before.
  cd "$PWD" 2>/dev/null || cd "$folder"
  can_read "$PWD" "${kept[@]}" || rights=-all,+dac_read_search
  # A session of its own: the kernel may share processor time among sessions, and lets a process lower its session's share.
  setsid setpriv --no-new-privs --inh-caps=-all --bounding-set="$rights" "$@" &
  wait $! || code=$?
  exit "$code"
}

# ---- a user of its own ---------------------------------------------------------------------------------------------

# Prints a user ID that nothing uses, chosen at random since several gates may run at once.
unused_user() {
  local id i
  for ((i = 0; i < 100; i++)); do
    id=$((30000 + RANDOM % 30000))
    if getent passwd "$id" >/dev/null || getent group "$id" >/dev/null || [ -n "$(processes_of "$id")" ]; then continue; fi
    echo "$id" && return
  done
  say "found no unused user ID: nothing was run"
  return 9
}

processes_of() { find /proc -maxdepth 1 -name '[0-9]*' -user "$1" -printf '%f\n' 2>/dev/null; }

# Whether a thread of the user still runs. A process whose first thread has ended looks dead, and the dead stay in /proc where
# nobody takes notice of their end, as in many containers.
lives() {
  local process threads
  for process in $(processes_of "$1"); do
    threads=$(grep -Ls '^State:[[:space:]]*[ZX]' "/proc/$process/task"/*/status || true)
    [ -z "$threads" ] || return 0
  done
  return 1
}

# The groups of the devices of measuring, which not every machine opens to all users.
device_groups() { find /dev -maxdepth 2 \( -name 'nvidia*' -o -path '/dev/dri/*' \) ! -type d ! -gid 0 -printf '%G,' 2>/dev/null; }

# How many processes and threads a side may have: fewer than this script, which has to end them all.
most_processes() {
  local most=16384 limit
  for limit in "$(ulimit -u)" $(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null); do
    if [[ $limit =~ ^[0-9]+$ ]] && [ $((limit * 3 / 4)) -lt "$most" ]; then most=$((limit * 3 / 4)); fi
  done
  echo "$most"
}

# as_user ID COMMAND...: replaces this shell by the command, run as that user. A session of its own: see inside(). A limit of one
# byte prevents core dumps, also those piped to a handler that would stay busy afterwards.
as_user() {
  exec setsid prlimit --core=1 --msgqueue=0 --nproc="$(most_processes)" setpriv --reuid "$1" --regid "$1" \
    --groups "$(device_groups)$1" --no-new-privs --inh-caps=-all --bounding-set=-all --pdeathsig KILL "${@:2}"
}

# show ID FOLDER KEPT...: the user finds the kept files and folders alone in this folder, which is root's.
show() {
  local id=$1 folder entry kept is_way
  folder=$(realpath -e "$2" 2>/dev/null) || return 0
  chmod go=x "$folder"
  while IFS= read -r -d '' entry; do
    is_way=0
    for kept in "${@:3}"; do
      [[ $kept != "$entry"/* ]] || is_way=1
      if [ "$kept" != "$entry" ]; then continue; fi
      [ -d "$kept" ] || { chgrp "$id" "$kept" && chmod g=rX,o= "$kept"; }
      continue 2
    done
    if [ "$is_way" -eq 1 ]; then show "$id" "$entry" "${@:3}"; else chmod go= "$entry"; fi
  done < <(find "$folder" -mindepth 1 -maxdepth 1 ! -type l -print0)
}

# give ID FOLDER COMMAND...: the folder is the user's, and of the hidden ones the user finds the files of the command alone.
give() {
  local id=$1 own file kept=() folders=()
  chown -R "$id:$id" "$2"
  own=$(realpath -e "$2")
  kept=("$own")
  for file in "${@:3}" "${@/#*=/}"; do [ ! -f "$file" ] || kept+=("$(realpath -e "$file")"); done
  mapfile -t folders <<<"${APART_HIDDEN:-}"
  for file in "${folders[@]}"; do [ -z "$file" ] || show "$id" "$file" "${kept[@]}"; done
}

# kill_all ID: all processes of the user at once, also those that fork all the time. These may kill or stop whoever has their ID.
# So the second try has it as the effective ID alone, and one that nobody else has as the others: they cannot reach it. Neither
# has the job's variables, or a group that would let them look into it.
kill_all() {
  local other process
  other=$(unused_user) || other=$1
  # shellcheck disable=SC2016  # for the shell inside
  (exec env -i "PATH=$PATH" setsid bash -c 'echo -20 >/proc/self/autogroup; exec setpriv --reuid "$1" --clear-groups bash -c "kill -KILL -1"' - "$1") \
    >/dev/null 2>&1 </dev/null &
  if env -i "PATH=$PATH" python3 -I -S -c 'import os, sys; a, b = map(int, sys.argv[1:]); os.setresuid(b, a, b); os.kill(-1, 9)' "$1" "$other" \
    >/dev/null 2>&1 </dev/null; then return; fi
  sleep 0.1
  for process in $(processes_of "$1"); do kill -KILL "$process" 2>/dev/null || true; done
}

# end_user ID FOLDER: ends all processes of the user, and removes what else of them would stay: shared memory, queues, and their
# files outside of the folder, in places that every user may write.
end_user() {
  local own deadline=$((SECONDS + 60))
  kill_all "$1" # without a look: one that forks all the time is never where one looks
  while lives "$1"; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      say "processes of a side, user $1, cannot be ended: nothing was judged"
      return 9
    fi
    kill_all "$1"
  done
  remove_ipc "$1"
  own=$(realpath -m "$2" | sed 's/[][*?\\]/\\&/g') # find takes a pattern
  find /tmp /var/tmp /dev/shm /dev/mqueue /run/lock /var/lock /var/crash -mount -user "$1" ! -path "$own" ! -path "$own/*" -delete 2>/dev/null || true
}

remove_ipc() {
  local kind file
  for kind in shm:m msg:q sem:s; do
    file=/proc/sysvipc/${kind%:*}
    [ -r "$file" ] || continue
    awk -v user="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
      $at["uid"] == user || $at["cuid"] == user { print $2 }' "$file" |
      while read -r id; do ipcrm "-${kind#*:}" "$id" 2>/dev/null || true; done
  done
}

# Ends the user once its input ends: when main() closes it, or is killed.
end_with_caller() {
  trap '' HUP INT TERM
  # Among hundreds of busy processes and sessions it would have to wait for its turn.
  { echo -20 >/proc/self/autogroup; renice -n -20 -p "$BASHPID"; } >/dev/null 2>&1 || true
  cat >/dev/null
  end_user "$@"
}

# Whether this user can use the GPUs of this machine.
opens_devices() {
  local device
  for device in /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm /dev/dxg; do
    [ ! -c "$device" ] || { [ -r "$device" ] && [ -w "$device" ]; } || return
  done
}

# ---- outside -------------------------------------------------------------------------------------------------------

check_sums() {
  [ -z "${APART_SUMS:-}" ] || sha256sum --check --quiet --strict "$APART_SUMS" >/dev/null 2>&1 || {
    say "files that the other side or the judge reads changed $1: nothing was judged"
    exit 6
  }
}

# The variables that the program gets, each as NAME=VALUE and a zero byte.
environment() {
  local name
  for name in $passed ${APART_PASS:-}; do
    [ -z "${!name+x}" ] || printf '%s=%s\0' "$name" "${!name}"
  done
  # A cache of objects that later builds share would be a way into them.
  printf '%s\0' "HOME=$1" "TMPDIR=$1/tmp" "CUDA_CACHE_PATH=$1/tmp/cuda" CCACHE_DISABLE=1
}

running='' ending='' # of a side with a user of its own: what is closed when it is to end, and the process that then ends it

# Ends what a side with a user of its own left running.
end_side() {
  [ -n "$running" ] || return 0
  exec {running}>&-
  running=''
  wait "$ending" 2>/dev/null && return
  # In a trap it cannot be waited for.
  while [ -e "/proc/$ending" ]; do sleep 0.05; done
  return 9
}

# Called by the trap.
# shellcheck disable=SC2317
clean_up() {
  end_side || true
  remove_folder "$1"
}

remove_folder() {
  chmod -R u+rwX "$1" 2>/dev/null || true
  rm -rf "$1"
}

# as_side FOLDER ID COMMAND...: becomes it. Nothing that the caller has open may reach it: the caller writes to files of the
# job.
as_side() {
  local folder=$1 id=$2 open
  shift 2
  for open in "/proc/$BASHPID/fd"/*; do
    open=${open##*/}
    [ "$open" -le 2 ] || exec {open}>&-
  done
  [ "$APART_HOW" != namespaces ] || apart bash "$0" --inside "$folder" "${APART_HIDDEN:-}" "$@"
  [ -z "$id" ] || as_user "$id" "$@"
  if command -v setpriv >/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi # else it would go on when this script is killed
  exec "$@"
}

main() {
  local folder=${APART_FOLDER:-} journal='' code=0 id='' words=() variables word before=''
  if [ -z "$folder" ]; then
    folder=$(mktemp -d "$APART_ROOT/XXXXXX")
    # shellcheck disable=SC2064
    trap "clean_up ${folder@Q}" EXIT
  fi
  mkdir -p "$folder/tmp"
  for word in "$@"; do
    if [ "$before" = --journal ]; then
      journal=$word
      word=$folder/journal
      ln -s "$word" "$journal" # its growth is watched
    fi
    words+=("$word")
    before=$word
  done
  mapfile -d '' -t variables < <(environment "$folder")
  words=(env -i "${variables[@]}" "${words[@]}")
  check_sums "before this process began"
  if [ "$APART_HOW" = user ]; then
    id=$(unused_user) || return
    give "$id" "$folder" "${words[@]}"
    # A session of its own: whoever kills this script may kill its group.
    exec {running}> >(exec setsid bash "$0" --end-with-caller "$id" "$folder" >/dev/null)
    ending=$!
  fi
  as_side "$folder" "$id" "${words[@]}" &
  wait $! || code=$?
  end_side || return
  check_sums "while this process ran"
  if [ -n "$journal" ]; then
    rm "$journal"
    # A hard link may be to a file that only the caller can read.
    if [ -n "$(find "$folder/journal" -type f -links 1 2>/dev/null)" ]; then cp "$folder/journal" "$journal"; fi
  fi
  return "$code"
}

# can HOW: whether a program that runs so can write its own folder, and no file of its caller, and can reach what measuring
# needs.
can() {
  local folder code=0
  folder=$(mktemp -d ${APART_ROOT:+"$APART_ROOT/XXXXXX"})
  # shellcheck disable=SC2016  # for the shell inside
  APART_HOW=$1 APART_FOLDER=$folder APART_SUMS='' APART_HIDDEN='' main bash "$0" --reaches "$0" 2>/dev/null && [ -e "$folder/own" ] || code=1
  remove_folder "$folder"
  return "$code"
}

case ${1:-} in
  --inside) shift && inside "$@" ;;
  --end-with-caller) shift && end_with_caller "$@" ;;
  --reaches) touch "$HOME/own" && ! { : >>"$2"; } 2>/dev/null && opens_devices ;;
  --probe)
    if can namespaces; then
      echo namespaces
    elif [ "$(id -u)" -eq 0 ] && can user; then
      echo user
    else
      echo none
    fi
    ;;
  *) main "$@" ;;
esac
