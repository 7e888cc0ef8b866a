# shellcheck shell=bash
# Sourced by run_tests.sh: draws the surroundings in which tests run, so that a test that depends on one machine fails.
#
#   draw_surroundings SEED     sets them for `surrounded`, and SURROUNDINGS_TEXT to a sentence that says what they are
#   pick_core CORE...          gives the next commands the drawn core that is named least often; no core where none was drawn
#   surrounded COMMAND...      runs a command in them; as it is where nothing was drawn
#   leave_surroundings         TAP: one test, which fails when something is left in the temporary folder; removes it
#
# Drawn are the CPU's name (1 to 48 characters), COLUMNS, a blank in TMPDIR, HOME, the locale, the umask, how many files may
# be open, whether SIGHUP and SIGPIPE are ignored, one core or all, and whether git and jsonschema are there.

SURROUNDINGS=()         # arguments of env
SURROUNDINGS_IGNORED=() # signals
SURROUNDINGS_UMASK=$(umask)
SURROUNDINGS_FILES=$(ulimit -Sn) # that may be open at once
SURROUNDINGS_CORES=()   # each command has one of them, SURROUNDINGS_CORE; empty: each has all
SURROUNDINGS_CORE=
SURROUNDINGS_TEXT=
SURROUNDINGS_TMP=

chance() { [ $((RANDOM % $1)) -eq 0 ]; }

# give TEXT NAME=VALUE...: adds the variables and says the text.
give() {
  SURROUNDINGS_TEXT+="${SURROUNDINGS_TEXT:+, }$1"
  SURROUNDINGS+=("${@:2}")
}

# A program that reads /proc/cpuinfo is shown another file by a library that is loaded into it. Neither the first nor the
# last character of the name is a blank.
give_cpu_name() {
  local folder=$1 length=$((1 + RANDOM % 48)) name='' words
  words=(Intel\(R\) Xeon\(R\) AMD EPYC Processor 9654 96-Core CPU @ 2.40GHz Neoverse-N1 Platinum 8592+ X \(TM\))
  while [ ${#name} -lt "$length" ]; do name+="${words[RANDOM % ${#words[@]}]} "; done
  name=${name:0:$length}
  name=${name/% /X}
  case $folder in *[[:space:]:]*) return ;; esac # LD_PRELOAD cannot name it
  [ -r /proc/cpuinfo ] && "${CC:-gcc}" -shared -fPIC -O1 -o "$folder/cpu_name.so" tests/preload/cpu_name.c -ldl || return 0
  { printf 'model name\t: %s\n' "$name" && grep -v '^model name' /proc/cpuinfo; } >"$folder/cpuinfo"
  give "CPU \"$name\"" "LD_PRELOAD=$folder/cpu_name.so" "ATTN_CPUINFO=$folder/cpuinfo"
}

# Locales with a decimal comma, and with an i whose capital is not I: made here, since few machines have them, or the
# system's where it lacks their sources.
give_locale() {
  local folder=$1/locale locales=(C C.UTF-8) name
  mkdir -p "$folder"
  for name in de_DE tr_TR; do
    if [ -e "$folder/$name.UTF-8" ] || localedef --no-archive -i "$name" -f UTF-8 "$folder/$name.UTF-8" >/dev/null 2>&1 ||
      locale -a 2>/dev/null | grep -qi "^$name\\.utf-\\?8$"; then
      locales+=("$name.UTF-8")
    fi
  done
  name=${locales[RANDOM % ${#locales[@]}]}
  give "LC_ALL=$name" "LC_ALL=$name"
  [ -z "$(ls -A "$folder")" ] || SURROUNDINGS+=("LOCPATH=$folder:/usr/lib/locale")
}

# PATH without git: a folder that has it is replaced by links to all else that is in it.
give_no_git() {
  local links=$1/without-git path='' folder
  rm -rf "$links" && mkdir -p "$links"
  while read -r -d : folder; do
    if [ -e "$folder/git" ]; then
      [ -d "$links/$folder" ] || { mkdir -p "$links/$folder" && ln -s "$folder"/* "$links/$folder" && rm "$links/$folder/git"; }
      folder=$links$folder
    fi
    path+=${path:+:}$folder
  done <<<"$PATH:"
  give "no git" "PATH=$path"
}

# Python finds a module jsonschema that cannot be imported before the one that can.
give_no_jsonschema() {
  mkdir -p "$1/python"
  echo 'raise ImportError("no jsonschema in these surroundings")' >"$1/python/jsonschema.py"
  give "no jsonschema" "PYTHONPATH=$1/python" ATTN_JSONSCHEMA=0
}

# The numbers of the cores that this shell may use, from a list such as 0-3,8.
allowed_cores() {
  local part parts
  IFS=, read -ra parts < <(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
  for part in "${parts[@]}"; do seq "${part%-*}" "${part#*-}"; done
}

draw_surroundings() {
  local folder=$PWD/build/surroundings signal columns
  mkdir -p "$folder"
  RANDOM=$1
  give_cpu_name "$folder"
  give "COLUMNS=$((columns = RANDOM % 270))" "COLUMNS=$columns"
  SURROUNDINGS_TMP=$(mktemp -d "${TMPDIR:-/tmp}/attnbench-tests.XXXXXX")/tmp
  ! chance 2 || SURROUNDINGS_TMP+=" with blanks"
  mkdir "$SURROUNDINGS_TMP"
  give "TMPDIR=\".../${SURROUNDINGS_TMP##*/}\"" "TMPDIR=$SURROUNDINGS_TMP"
  case $((RANDOM % 3)) in
    1) SURROUNDINGS=(-u HOME "${SURROUNDINGS[@]}") && give "no HOME" ;;
    2) give "HOME=/proc" HOME=/proc ;; # where nobody can write
  esac
  give_locale "$folder"
  for signal in HUP PIPE; do
    if chance 2; then
      SURROUNDINGS_IGNORED+=("$signal")
      give "SIG$signal ignored"
    fi
  done
  if chance 2 && command -v taskset >/dev/null; then
    mapfile -t SURROUNDINGS_CORES < <(allowed_cores)
    give "one core"
  fi
  if chance 2; then SURROUNDINGS_UMASK=077 && give "umask 077"; fi
  if chance 2; then SURROUNDINGS_FILES=64 && give "64 open files"; fi
  ! chance 3 || give_no_git "$folder"
  ! chance 3 || give_no_jsonschema "$folder"
}

pick_core() {
  local core taken count least=$(($# + 1))
  SURROUNDINGS_CORE=
  for core in "${SURROUNDINGS_CORES[@]}"; do
    count=0
    for taken; do [ "$taken" != "$core" ] || count=$((count + 1)); done
    if [ "$count" -lt "$least" ]; then least=$count SURROUNDINGS_CORE=$core; fi
  done
}

surrounded() {
  local pinned=()
  [ -z "$SURROUNDINGS_CORE" ] || pinned=(taskset -c "$SURROUNDINGS_CORE")
  (
    [ ${#SURROUNDINGS_IGNORED[@]} -eq 0 ] || trap '' "${SURROUNDINGS_IGNORED[@]}"
    umask "$SURROUNDINGS_UMASK"
    ulimit -Sn "$SURROUNDINGS_FILES"
    exec env "${SURROUNDINGS[@]}" "${pinned[@]}" "$@"
  )
}

leave_surroundings() {
  local left
  # bats before 1.4 has no folder for a test's files, and helper.bash none that is removed.
  left=$(find "$SURROUNDINGS_TMP" -mindepth 1 -maxdepth 2 ! -path '*/attnbench.??????*' | head -n 20)
  rm -rf "${SURROUNDINGS_TMP%/*}"
  if [ -z "$left" ]; then
    echo "ok - nothing is left in the temporary folder"
  else
    echo "not ok - nothing is left in the temporary folder"
    printf '# %s\n' "$left"
    return 1
  fi
}
