#!/usr/bin/env bash
# What a CI job runs to gate a change: builds the base and the head from their commits, has the base's program measure both
# in turns on one GPU (`attnbench ab`), and ends with its exit code.
#
#   scripts/gate_ci.sh [--base REF] [--anchor REF] [--sweep FILE] [--out FOLDER] [--allow-sweep-change] [--skip-without-gpu]
#                      [-- OPTIONS]
#
#   --base REF             revision to compare with; by default BASE_REF, else the branch GITHUB_BASE_REF of origin, else HEAD^;
#                          a name that is that of several revisions ends with 6
#   --anchor REF           also compare with this older revision, so that small slowdowns of many merges do not add up
#                          unseen; by default ANCHOR_REF, else the last tag v1.2.3 or gate-anchor-* in the base's history;
#                          none: no such comparison
#   --sweep FILE           a file of the repository, by default shapes/gate.json; the base's content is measured
#   --out FOLDER           where gate.json, gate.md, gate.xml, new.json, base.json, sweep.json, attnbench-base,
#                          attnbench-head, the builds' logs and (with an anchor) anchor.* go; default build/gate
#   --allow-sweep-change   measure the sweep as the change has it; also GATE_ALLOW_SWEEP_CHANGE=1
#   --skip-without-gpu     end with 0 where there is no GPU; without it with 77
#   -- OPTIONS             passed on, such as --threshold 3 --rounds 10 --noise=warn; with --device cpu no GPU is needed
#
# The head is what HEAD names; changes that are in no commit are not gated. A change does not steer its own gate: sweep,
# thresholds and the program that judges are the base's. All commits are looked up once, and base and anchor are built
# before a file of the head is run; without a base that builds the job ends with 6. A change of the sweep is shown and
# ends with 4 unless the job (not the branch) allows it. If the kernel allows namespaces, or root can give each side a user of
# its own, neither side can write what the other side or the judge reads (scripts/gate_apart.sh, the base's). Without namespaces
# a warning says what is still open. Programs, sweep and scripts are hashed before and after every process; a change ends with 6.
# gate.md begins with what was gated and which files of the change
# deserve a look. This script is part of the branch too: run the base's copy of it,
# git show refs/remotes/origin/main:scripts/gate_ci.sh >gate_ci.sh && bash gate_ci.sh, in the clone.
#
# attnbench-base and attnbench-head stay, so that a row's command can be run again. gate.md is also appended to
# GITHUB_STEP_SUMMARY; annotations go to stdout. MAKE and GENCODE (of the Makefile) are passed on and apply to all builds. A
# file in --out that this script did not make is left alone and ends the job with 8. Exit codes: README.md; 9 when the head
# does not build.
set -euo pipefail
umask "$(printf '%o' $((0$(umask) | 022)))" # other users cannot write what this script makes; some CIs start jobs with 000
export LC_ALL=C # awk reads and writes numbers with the comma of a locale that has one
# The clone that this script lies in; a copy elsewhere gates the clone that it is called in.
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel 2>/dev/null || git rev-parse --show-toplevel)"

MAKE=${MAKE:-make}
base='' anchor=${ANCHOR_REF:-} sweep=shapes/gate.json out=build/gate skip=0
allow_sweep_change=${GATE_ALLOW_SWEEP_CHANGE:-0}
options=()
work='' measuring=''
notes=change # what notes are about: the change, or a comparison by its name
base_commit='' head_commit='' anchor_commit='' # looked up once, before anything of the head is run
anchor_is_found=0                              # it was not asked for, so one that cannot take part is only told of
made=.made-by-gate-ci                          # in --out: the names of the files that are this script's own
outputs=(gate.json gate-refused.json gate.md gate.xml new.json base.json sweep.json attnbench-base attnbench-head attnbench-anchor anchor.json
  anchor.md anchor.xml base-build.log head-build.log anchor-build.log)

say() { printf 'gate: %s\n' "$*" >&2; }

usage() {
  say "$1"
  sed -n 's/^# \{0,1\}//; /gate_ci.sh \[/,/OPTIONS\]$/p' "$0" | head -n 2 >&2
  exit 2
}

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      --base | --anchor | --sweep | --out)
        if [ $# -lt 2 ] || [ -z "$2" ]; then usage "$1 needs a value"; fi
        case $1 in
          --base) base=$2 ;;
          --anchor) anchor=$2 ;;
          --sweep) sweep=$2 ;;
          --out) out=$2 ;;
        esac
        shift 2
        ;;
      --help | -h)
        sed -n '2,/^set -/{/^set -/d; s/^# \{0,1\}//; p;}' "$0"
        exit 0
        ;;
      --skip-without-gpu) skip=1 && shift ;;
      --allow-sweep-change) allow_sweep_change=1 && shift ;;
      --) shift && options=("$@") && return ;;
      *) usage "$1 is not understood" ;;
    esac
  done
}

# Starts a program that is killed when this script is: what measures would disturb the next gate on this GPU.
bound() { if command -v setpriv >/dev/null; then exec setpriv --pdeathsig KILL "$@"; else exec "$@"; fi; }

# grep -q ends at the first match, and a writer that is not done then dies of the broken pipe: with pipefail no match.
has() { grep -c "$@" >/dev/null; }

have_gpu() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | has '^GPU '; then return 0; fi
  compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]
}

# Whether the device of the options is one that is always there.
on_cpu() { [[ " ${options[*]-} " == *' --device cpu '* || " ${options[*]-} " == *' --device=cpu '* ]]; }

# ---- git, without what a checkout can run ---------------------------------------------------------------------------

# Attributes are files of a branch. They name filters, which the configuration of this machine defines: all are off.
git_options=(-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.attributesFile=/dev/null
  -c submodule.recurse=false -c advice.detachedHead=false -c core.useReplaceRefs=false)
disarm_filters() {
  local key
  while IFS= read -r key; do
    case $key in
      filter.*.required) git_options+=(-c "$key=false") ;;
      filter.*) git_options+=(-c "$key=") ;;
    esac
  done < <(git config --name-only --get-regexp '^filter\..*\.(clean|smudge|process|required)$')
}
safe_git() { git "${git_options[@]}" "$@"; }

# The commits that a name stands for: git takes a tag of the name origin/main, which whoever may push a tag can make, for
# the branch of the remote.
commits_named() {
  local place
  for place in '' refs/ refs/tags/ refs/heads/ refs/remotes/; do
    safe_git rev-parse --verify --quiet --end-of-options "$place$1^{commit}" || true
  done | sort -u
}

# commit_of REF WHAT: the commit that it names.
commit_of() {
  local commits
  commits=$(commits_named "$1")
  if [ -n "$commits" ] && [[ $commits != *$'\n'* ]]; then echo "$commits" && return; fi
  if [ -n "$commits" ]; then
    say "$2 $1 is the name of several revisions, such as a tag and a branch: delete all but one, or write it as refs/heads/..., refs/remotes/... or refs/tags/..."
  else
    say "$2 $1 is no revision of this clone: fetch it (fetch-depth: 0), or name another with --$2"
  fi
  exit 6
}

take_commits() {
  local ref=${base:-${BASE_REF:-${GITHUB_BASE_REF:+refs/remotes/origin/$GITHUB_BASE_REF}}}
  head_commit=$(commit_of HEAD head)
  base_commit=$(commit_of "${ref:-HEAD^}" base)
  take_anchor
}

# Releases, and what was tagged as the anchor after an improvement. A tag is of the repository, and only those in the
# base's history count: a change cannot move its own anchor.
take_anchor() {
  case $anchor in
    '') find_anchor ;;
    none) anchor='' ;;
    *) anchor_commit=$(commit_of "$anchor" anchor) ;;
  esac
}

find_anchor() {
  anchor=$(safe_git describe --tags --abbrev=0 --match 'v[0-9]*' --match 'gate-anchor-*' "$base_commit" 2>/dev/null) || {
    say "the base has no release (v1.2.3) and no gate-anchor-* in its history: no anchor"
    return 0
  }
  anchor_commit=$(commit_of "refs/tags/$anchor" anchor)
  anchor_is_found=1
  if [ "$anchor_commit" = "$base_commit" ]; then
    say "the base is the anchor $anchor itself"
    anchor=''
  else
    say "the anchor is $anchor, ${anchor_commit:0:12}"
  fi
}

# check_out COMMIT FOLDER: a repository of its own that only reads the objects of this one.
check_out() {
  git init -q --template= "$2" || return
  safe_git rev-parse --path-format=absolute --git-path objects >"$2/.git/objects/info/alternates" || return
  safe_git -C "$2" checkout -q --detach "$1"
}

# ---- what is this script's own ------------------------------------------------------------------------------------

# Called by the trap. The folder is of mktemp.
# shellcheck disable=SC2317
clean_up() {
  [ -n "$work" ] || return 0
  [ "${APART_HOW:-}" != user ] || open_outputs
  chmod -R u+rwX "$work" 2>/dev/null || true
  rm -rf "$work"
}

# modes_of_outputs FILE: writes down the modes and groups of the output folder and of what is in it. They are closed while a side
# runs as its own user, and some are not this script's.
modes_of_outputs() { find "$out" -maxdepth 1 ! -type l ! -path "$work" -printf '%m %G %p\0' >"$1"; }

# shellcheck disable=SC2317
open_outputs() {
  local mode group file
  for file in "${outputs[@]/#/$out/}"; do
    [ ! -f "$file" ] || { chgrp "$(id -g)" "$file" && chmod +rX "$file"; } 2>/dev/null || true
  done
  [ -e "$work/judge/modes" ] || return 0
  while IFS=' ' read -r -d '' mode group file; do
    { chgrp "$group" "$file" && chmod "$mode" "$file"; } 2>/dev/null || true
  done <"$work/judge/modes"
}

# A branch may hold the folder of the outputs, or a link in its place.
check_out_folder() {
  local part=$out
  if [[ $out == *$'\n'* ]]; then
    say "the name of the output folder contains a line break: name another folder with --out"
    exit 8
  fi
  if [[ $out == /* ]]; then return; fi
  if [ -n "$(safe_git ls-tree "$head_commit" -- "$out")" ]; then
    say "$out is a part of the head: name another folder with --out"
    exit 8
  fi
  while [ "$part" != . ]; do
    if [ -L "$part" ]; then
      say "$part is a link: name another folder with --out"
      exit 8
    fi
    part=$(dirname "$part")
  done
}

# Removes what an earlier gate left in --out, and nothing else.
claim_outputs() {
  local name
  for name in "${outputs[@]}"; do
    if [ -e "$out/$name" ] && ! grep -qxF "$name" "$out/$made" 2>/dev/null; then
      say "$out/$name exists and is not of an earlier gate: move it away, or name another folder with --out"
      exit 8
    fi
  done
  for name in "${outputs[@]}"; do rm -f "$out/$name"; done
  rm -f "$out/$made"
  printf '%s\n' "${outputs[@]}" >"$out/$made"
}

# ---- what a reviewer is told ----------------------------------------------------------------------------------------

# note LEVEL TEXT [LIST]: a sentence for the log, the annotations and gate.md, with the lines that it is about.
note() {
  local level=$1 text=$2 list=${3:-} item='  - `'
  list=${list//\`/\'}
  list=${list//##[/## [} # a CI runs ##[ anywhere in a line; :: only at its start, which "  - " below prevents
  say "$text"
  if [ -n "$list" ]; then
    printf '  - %s\n' "${list//$'\n'/$'\n  - '}" >&2
    text+=": $(paste -sd' ' <<<"$list")"
  fi
  echo "::$level title=attnbench::${text//%/%25}"
  {
    printf -- '- **%s**: %s\n' "$level" "$2"
    [ -z "$list" ] || printf '%s%s`\n' "$item" "${list//$'\n'/$'`\n'"$item"}"
  } >>"$work/$notes-notes.md"
}

# Names of files as git quotes them: control characters are escapes in them.
# changed_files COMMIT PATHS...: since that commit.
# A .gitmodules of the branch may ask that its submodules be left out.
changed_files() {
  safe_git diff --no-ext-diff --no-renames --ignore-submodules=none --name-only "$1" "$head_commit" -- "${@:2}"
}

variant_files=(kernels/variants)
kernel_files=(kernels/tiles kernels/reference kernels/example)
text_files=(tests results shapes '*.md') # the sweep is compared by itself
built_tests=('tests/faults*' tests/slowed tests/emulated) # the Makefile reads them whatever it builds
# Wherever they lie, these change what is checked out, or what of a change a page of it shows.
git_files=(':(glob)**/.gitattributes' ':(glob)**/.gitmodules')

# The times are measured by the head's program, so every file of it is a place to cheat in. A clock, a median or a second
# makefile is as good a one as the timer.
tell_of_changes() {
  local changed
  changed=$(changed_files "$base_commit" "${variant_files[@]}")
  [ -z "$changed" ] || note notice "variants that this change touches" "$changed"
  changed=$(changed_files "$base_commit" "${kernel_files[@]}")
  [ -z "$changed" ] || note notice "this change touches what several variants share" "$changed"
  changed=$(
    changed_files "$base_commit" . "${variant_files[@]/#/:!}" "${kernel_files[@]/#/:!}" "${text_files[@]/#/:!}"
    changed_files "$base_commit" "${built_tests[@]}" "${git_files[@]}"
  )
  changed=$(sort -u <<<"$changed")
  [ -z "$changed" ] || note warning "this change touches what measures, builds or gates; look at it by hand" "$changed"
  # A makefile or a script that does not quote a name runs what the name says.
  changed=$(changed_files "$base_commit" . | grep -aE '[^A-Za-z0-9_./+@,=-]|(^|/)-' || true)
  [ -z "$changed" ] || note warning "names of changed files have characters that a shell or make may run" "$changed"
  changed=$(changed_links)
  [ -z "$changed" ] || note warning "this change has links: what is built lies in another file than the one that it names" "$changed"
  changed=$(files_adding "$hiding" .)
  [ -z "$changed" ] || note warning "lines of this change have characters that hide text or change its order on the page" "$changed"
  changed=$(files_adding "$assembling" . "${text_files[@]/#/:!}")
  [ -z "$changed" ] || note warning "lines of this change let the assembler read other files, which no list of this gate names" "$changed"
}

changed_links() {
  safe_git diff --no-ext-diff --no-renames --raw "$base_commit" "$head_commit" -- | awk -F'\t' '$1 ~ /^:[0-7]+ 120000 / { print $2 }'
}

# files_adding REGEX PATHS...: files of these paths with added lines that match. An added line "++ x" looks like a header.
files_adding() {
  safe_git diff --no-ext-diff --no-textconv --no-renames --text --no-color --unified=0 "$base_commit" "$head_commit" -- "${@:2}" |
    REGEX=$1 awk '/^diff --git / { is_header = 1 }
      /^@@/ { is_header = 0 }
      is_header && /^\+\+\+ / { file = substr($0, 7) }
      !is_header && /^\+/ && $0 ~ ENVIRON["REGEX"] { print file }' | sort -u
}

# Controls of the writing direction, and characters without a width.
hiding=$'\342\200[\213-\217\252-\256]|\342\201[\240-\257]|\357\273\277|\302\255|\330\234|\341\205[\237\240]|\341\240\216|\343\205\244|\357\276\240'
# What the assembler reads beside its source.
assembling='[.]inc(lude|bin)[^a-z]'

# A build that changes its sources makes a program that nobody has read: its commit ends in "+dirty".
tell_of_origin() {
  local commit
  commit=$(sed -n 's/.*"git_commit":[[:space:]]*"\([^"]*\)".*/\1/p;' "$out/new.json" 2>/dev/null | head -n 1 || true)
  [ -z "$commit" ] || [[ $head_commit == "$commit"* ]] ||
    note warning "the head's program says that it was built from ${commit//[![:alnum:]+]/?}, not from $head_commit as it is"
}

# The rows of gate.json that are not `same`, one a line: the variant's name, a tab, and the row in words.
moved_rows() {
  awk -F'\t' '/^\t\t\t"(key|variant|mode|verdict|time_ratio)":\t/ {
      name = $4; value = $5
      gsub(/[":]/, "", name)
      gsub(/^"|",?$|,$/, "", value)
      row[name] = value
      if (name != "time_ratio" || row["verdict"] ~ /^(same|untimed|inconclusive|clock)$/) next
      variant = row["variant"]
      sub(/:.*/, "", variant)
      change = value == "null" ? "" : sprintf(" %+.1f %%", (value - 1) * 100)
      printf "%s\t%s %s %s: %s%s\n", variant, row["key"], row["variant"], row["mode"], row["verdict"], change
    }' "$1"
}

# tell_of_moves FILE COMMIT: beside each row that moved since the commit, did the file of its variant change?
tell_of_moves() {
  local variant row with='' without='' changed
  [ -e "$1" ] || return 0
  changed=$(changed_files "$2" kernels/variants)
  while IFS=$'\t' read -r variant row; do
    if has -xF -e "kernels/variants/$variant.c" -e "kernels/variants/$variant.cu" <<<"$changed"; then
      with+=${with:+$'\n'}$row
    else
      without+=${without:+$'\n'}$row
    fi
  done < <(moved_rows "$1")
  [ -z "$with" ] || note notice "rows that moved, with the file of their variant" "$with"
  [ -z "$without" ] || note warning "rows that moved though the file of their variant did not change; find out why" "$without"
}

# A kernel that is faster than the anchor may lose all of that again before the anchor tells.
tell_of_improvements() {
  local faster tag=gate-anchor-${head_commit:0:12}
  [ -e "$out/anchor.json" ] || return 0
  faster=$(moved_rows "$out/anchor.json" | sed -n 's/^[^\t]*\t\(.*: improved .*\)/\1/p')
  [ -z "$faster" ] ||
    note notice "faster than the anchor $anchor; once merged, move the anchor: git tag $tag COMMIT && git push origin $tag" "$faster"
}

# ---- the programs -------------------------------------------------------------------------------------------------

# A file, and no link. To read a pipe would wait for ever.
is_plain() { [ -f "$1" ] && [ ! -L "$1" ]; }

# build COMMIT NAME COMMAND...: its program as attnbench-NAME in the folder of the outputs; COMMAND, if any, starts make.
# What the build says goes to a log: a line of stdout is a command to the CI.
build() {
  local source=$work/$2/source log=$out/$2-build.log program=$out/attnbench-$2
  say "building the $2, $1"
  mkdir "$work/$2"
  if check_out "$1" "$source" >"$log" 2>&1 && (bound "${@:3}" "$MAKE" -C "$source" all) >>"$log" 2>&1 </dev/null &&
    is_plain "$source/attnbench" && cp "$source/attnbench" "$program" 2>>"$log"; then return; fi
  say "the $2 $1 does not build; the end of $log:"
  tail -n 5 "$log" | sed 's/^/  | /' >&2
  return 1
}

# build_older COMMIT NAME OPTION: the base or the anchor, whose program has to know the option.
build_older() {
  build "$1" "$2" || return
  # Until 0.2 --help alone had all options.
  { "$out/attnbench-$2" --help all 2>/dev/null || "$out/attnbench-$2" --help; } | has -e " $3 " || {
    say "the $2 $1 is too old to take part: it does not know $3"
    return 1
  }
}

# The judge is the base's program. One of 0.2.0 or before cannot keep the sides apart and does not read the journals that
# newer programs write.
build_base() {
  build_older "$base_commit" base --start-with && return
  [ ! -e "$out/attnbench-base" ] || refuse "the base ${base_commit:0:12} is too old to judge: its attnbench knows no --start-with and does not read journals of newer programs. A change on top of a newer base is gated by itself. To compare this one by hand, where you trust the head's program, let it judge: HEAD/attnbench ab --base $out/attnbench-base --sweep $sweep"
  exit 6
}

# An anchor that was asked for has to take part. A release may be older than the sweep's variants and this machine's
# compiler.
build_anchor() {
  [ -n "$anchor" ] || return 0
  if build_older "$anchor_commit" anchor --rounds && plans_sweep; then return; fi
  [ "$anchor_is_found" -eq 1 ] || exit 6
  note warning "the anchor $anchor cannot take part (anchor-build.log), so slowdowns of many merges may add up unseen; a tag gate-anchor-* makes a newer commit the anchor"
  anchor=''
}

# Whether the anchor knows the variants and the axes of the sweep.
plans_sweep() {
  local code=0
  "$out/attnbench-anchor" plan --sweep "$out/sweep.json" --gpu h200 --json /dev/null >>"$out/anchor-build.log" 2>&1 </dev/null || code=$?
  case $code in
    2 | 7) say "the anchor $anchor does not know what the sweep names" && return 1 ;;
  esac
}

# ---- keeping the sides apart --------------------------------------------------------------------------------------

sums() {
  sha256sum -- "$out/sweep.json" "$work/gate_apart.sh" "$out"/attnbench-*
  find "$work/base/source/scripts" -type f -name '*.py' -exec sha256sum -- {} +
}

check_sums() {
  sha256sum --check --quiet --strict "$work/judge/sums" >/dev/null 2>&1 || {
    note error "programs, the sweep or scripts of the gate changed while $1; nothing was judged"
    write_summary gate "$base_commit" 6
    exit 6
  }
}

# Whether the base can hide the folder of the outputs from the head: not where the clone is in it.
hides_outputs() { [[ $(pwd -P)/ != "$APART_HIDDEN"/* ]] && grep -q '^hide() ' "$work/gate_apart.sh"; }

prepare_apart() {
  mkdir -m 700 "$work/judge"
  mkdir -m 711 "$work/own"
  chmod 711 "$work" # a user who is a side goes through it
  safe_git show "$base_commit:scripts/gate_apart.sh" >"$work/gate_apart.sh"
  chmod 755 "$work/gate_apart.sh" # a user who is a side reads it
  sums >"$work/judge/sums"
  export APART_ROOT=$work/own APART_HIDDEN APART_SUMS=$work/judge/sums APART_HOW
  # The folder of the outputs has the base's program and build, of which the head could run a copy as itself, what was
  # measured before, and the journals of both sides.
  APART_HIDDEN=$(cd "$out" && pwd -P)
  hides_outputs || APART_HIDDEN=$work/judge
  APART_HOW=$(bash "$work/gate_apart.sh" --probe)
  case $APART_HOW in
    namespaces) ;;
    user)
      prepare_users
      note warning "this machine allows no namespaces: the head's program runs as a user of its own, who sees the processes of this machine, the network and files that are open to all users"
      ;;
    *) note warning "this machine allows no namespaces: the head's program can reach what this job can, and only a change of files is seen" ;;
  esac
  [ "$APART_HOW" = none ] || [ "$APART_HIDDEN" != "$work/judge" ] ||
    note warning "the head's program can read the base's and run it as itself, since the base's gate_apart.sh hides one folder only, or --out has the clone in it"
}

# Where a side is a user of its own: what all users may write, it may write.
prepare_users() {
  local written
  if [ -n "$(find "$out" -maxdepth 0 -perm -1002)" ]; then
    say "$out is a folder of all users, which a gate would have to close to them: name another folder with --out"
    exit 8
  fi
  modes_of_outputs "$work/judge/modes"
  written=$(written_by_all | sort -u)
  [ -z "$written" ] || note warning "all users of this machine, and so the head's program, may write what this gate runs or reads; close it before (chmod -R o-w)" "$written"
}

# Prints one world-writable entry of the clone and of each program folder, and all such folders above them.
written_by_all() {
  local folder folders=()
  IFS=: read -ra folders <<<"$PATH:${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}"; do
    folder=$(realpath -e "$folder" 2>/dev/null) || continue
    find "$folder" -maxdepth 1 -perm -2 ! -type l -print -quit
    written_on_the_way "$folder"
  done
  written_on_the_way "$(pwd -P)"
  written_on_the_way "$(cd "$out" && pwd -P)"
  find "$(pwd -P)" "$(realpath "$0")" "$(safe_git rev-parse --path-format=absolute --git-common-dir)" \
    \( -name "${work##*/}" -prune \) -o \( -perm -2 ! -type l -print -quit \) 2>/dev/null || true
}

# In a sticky folder only owners can rename or delete files.
written_on_the_way() {
  local folder=$1
  while [ "$folder" != / ]; do
    folder=$(dirname "$folder")
    find "$folder" -maxdepth 0 -perm -2 ! -perm -1000
  done
}

build_head() {
  APART_FOLDER=$work/head build "$head_commit" head bash "$work/gate_apart.sh" || {
    check_sums "the head was built"
    exit 9
  }
  check_sums "the head was built"
  check_head_program
  tell_of_links
  tell_of_calls
  tell_of_includes
  sums >"$work/judge/sums"
}

# A head that knows the inputs beforehand could know the outputs, too.
draw_seed() {
  [[ " ${options[*]-} " != *' --seed'* ]] || return 0
  options+=(--seed "$((RANDOM << 15 | RANDOM))")
  say "the inputs are those of ${options[*]: -2}"
}

# What tells the time, waits for it, or finds the function that does.
clocks='clock|clock_(gettime|getres|nanosleep)|__clock_.*|__vdso_.*|time|times|gettimeofday|nanosleep|usleep|timespec_get'
clocks+='|getrusage|syscall|dlsym|dlvsym|(cuda|cu)(Event|Stream|Graph|Launch|GetProcAddress|Ctx).*|nvmlDevice.*'

# symbols PROGRAM: its symbols, one a line: `imports`, `has` or `local`, the type, the size, the name and, of what a library
# defines, its version. Variables of a library that the loader copies into the program are imports as well.
symbols() {
  readelf -W --relocs --symbols "$1" 2>/dev/null | awk '
    $3 ~ /_COPY$/ { copied[$4] }
    $1 ~ /^[0-9]+:$/ && $4 !~ /^(SECTION|FILE)$/ {
      sub(/ \([0-9]+\)$/, "")
      if (NF < 8) next # no name
      name = version = $NF
      sub(/@.*/, "", name)
      sub(/^[^@]*@*/, "", version)
      kind = $(NF - 1) == "UND" || $2 in copied ? "imports" : $5 == "LOCAL" ? "local" : "has"
      print kind, $4, $3, name, version
    }' | sort -u || true
}

# clock_symbols PROGRAM: its functions of these names, imported or with the size that they have. The runtime of CUDA is
# linked into the program, so that a size other than the base's is the only sign of another one.
clock_symbols() {
  symbols "$1" | awk -v clocks="^($clocks)$" '
    $2 ~ /^(FUNC|NOTYPE|IFUNC|GNU_IFUNC)$/ && $4 ~ clocks {
      print $1 == "imports" ? "imports " $4 : "has " $4 " of " $3 " bytes"
    }' | sort -u || true
}

# find_library NAME FOLDERS: its file. The program is not asked, since its loader would run.
find_library() {
  local folder folders=() # an empty one is where this runs
  if [[ $1 == */* ]]; then echo "$1" && return; fi
  [ -z "$2" ] || IFS=: read -ra folders <<<"$2:"
  for folder in ${folders[@]+"${folders[@]}"}; do
    if [ -f "${folder:-.}/$1" ]; then echo "${folder:-.}/$1" && return; fi
  done
  PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name && !n++ { sub(/.* => /, ""); print }' || true
}

# libraries PROGRAM: the files of those that it loads and that these load.
libraries() {
  local dynamic folders names=() seen=() file i
  dynamic=$(readelf -W --dynamic "$1" 2>/dev/null || true)
  folders=$(sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p' <<<"$dynamic" | paste -sd:)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  while [ -n "$dynamic" ]; do
    mapfile -t names < <(sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p' <<<"$dynamic")
    dynamic=''
    for ((i = 0; i < ${#names[@]}; i++)); do
      [[ " ${seen[*]-} " != *" ${names[i]} "* ]] || continue
      seen+=("${names[i]}")
      file=$(find_library "${names[i]}" "$folders")
      [ -n "$file" ] || continue
      printf '%s\n' "$file"
      dynamic+=$(readelf -W --dynamic "$file" 2>/dev/null || true)$'\n'
    done
  done | sort -u
}

# taken_over BASE-LIBRARIES HEAD-LIBRARIES: names that the base takes from a library and that are another's in the head's
# program. The base's own code then runs what the change brings. An object that the base does not load may bring them too,
# and the names that libraries take from each other count, unless the head's program keeps its own to itself.
taken_over() {
  local file
  {
    symbols "$out/attnbench-base" | sed 's/^/base /'
    while read -r file; do symbols "$file" | sed -n 's/^imports/library &/p'; done <<<"$1"
    symbols "$out/attnbench-head" | sed 's/^/head /'
    while read -r file; do
      symbols "$file" | FILE=${file##*/} awk '$1 == "has" { print "object", $4, ENVIRON["FILE"] }'
    done < <(only_in "$1" "$2")
  } | awk '
    $1 == "base" && $2 == "imports" { imported[$5]; versions[$5 " " $6] }
    $1 == "base" && $2 != "imports" { own[$5] }
    $1 == "library" { taken[$5] }
    $1 == "head" && $2 == "imports" { kept[$5 " " $6] }
    $1 == "head" && $2 != "imports" && !($5 in own) && ($5 in imported || $2 == "has" && $5 in taken) {
      print "has " $5 " of " $4 " bytes"
    }
    $1 == "object" && ($2 in imported || $2 in taken) { print $3 " has " $2 }
    $1 ~ /^(base|head)$/ && $2 == "local" { listed[$1] }
    END {
      if ("base" in listed && !("head" in listed)) print "lacks a table of symbols"
      for (name in versions) if (!(name in kept)) {
        sub(/ $/, "", name)
        sub(/ /, "@", name)
        print "lacks " name
      }
    }' | sort -u
}

# What the loader of PROGRAM does before its first line and after its last.
loaded() {
  {
    readelf -W --dynamic --program-headers --sections "$1" 2>/dev/null | sed -nE '
      s/.*\((NEEDED|RPATH|RUNPATH|AUDIT|DEPAUDIT|PREINIT_ARRAYSZ|INIT_ARRAYSZ|FINI_ARRAYSZ)\) */\1 /p
      s/.*(Requesting)/\1/p
      s/.*\] (\.(init|fini|preinit_array|ctors|dtors)) +[A-Z_]+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) .*/\1 of 0x\3 bytes/p'
    readelf -W --relocs "$1" 2>/dev/null | awk '$3 ~ /_IRELATIV/ { ++n } END { if (n) print "IRELATIVE: " n " functions" }'
    symbols "$1" | awk '$1 != "imports" && $2 ~ /IFUNC$/ { print "IFUNC " $4 " of " $3 " bytes" }'
  } | sort -u || true
}

# only_in A B: the lines of the second text that the first one lacks.
only_in() { comm -13 <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }

# The head's program measures itself. One that has clocks of its own, or that is the base's, is not judged.
check_head_program() {
  local base_clocks head_clocks new before
  base_clocks=$(clock_symbols "$out/attnbench-base")
  head_clocks=$(clock_symbols "$out/attnbench-head")
  new=$(only_in "$base_clocks" "$head_clocks" | grep '^has ' || true)
  [ -z "$new" ] || refuse "the head's program has functions of its own in place of those that tell the time" "$new"
  new=$(only_in "$head_clocks" "$base_clocks" | grep '^imports ' || true)
  [ -z "$new" ] || refuse "the head's program lacks what the base's takes from the system" "$new"
  before=$(loaded "$out/attnbench-base")
  new=$(only_in "$before" "$(loaded "$out/attnbench-head")")
  if grep -qE '^(RPATH|RUNPATH|AUDIT|DEPAUDIT|PREINIT_ARRAYSZ|Requesting)|/.*/' <<<"$new"; then
    refuse "the head's program loads what the base's does not" "$new"
  fi
  [ -z "$new" ] || note warning "the head's program loads or runs before its first line what the base's does not" "$new"
  new=$(taken_over "$(libraries "$out/attnbench-base")" "$(libraries "$out/attnbench-head")")
  [ -z "$new" ] || note warning "the head's program has of its own, or lacks, what the base's takes from libraries; find out why" "$new"
  if cmp -s "$out/attnbench-head" "$out/attnbench-base" && [ -n "$(changed_files "$base_commit" cli kernels)" ]; then
    refuse "the head's program is the base's, byte for byte, though its files are not"
  fi
}

# The checks below skip links. Attnbench's build makes none.
tell_of_links() {
  local links
  [ ! -L "$work/head/source" ] || refuse "the head's build put a link in the place of its own folder"
  links=$(cd "$work/head/source" && find . -type l | sed 's|^[.]/||' | sort)
  links=$(comm -13 <(safe_git ls-tree -r "$head_commit" 2>/dev/null | sed -n 's/^120000 [^\t]*\t//p' | sort) <(printf '%s' "$links"))
  [ -z "$links" ] || note warning "the head's build made links, which are not followed to the files behind them" "$links"
}

# objects SIDE: what a build compiled variants and references to. Attnbench's Makefile keeps it; another one need not.
objects() { find "$work/$1/source" -type f -path '*/kernels/*' -name '*.o' \( -path '*/variants/*' -o -path '*/reference/*' \) 2>/dev/null | sort; }

# Functions of numbers and of memory.
harmless='(mem(cpy|set|move|cmp)|str(len|n?cmp|n?cpy|r?chr)|v?snprintf)|__[a-z0-9]+_chk|__stack_chk_fail'
harmless+='|(exp|exp2|log|log2|sqrt|fma|fabs|f?min|f?max|fmod|floor|ceil|trunc|tanh|pow|ldexp|frexp|l?rint|l?round)[fl]?'

# names KIND: of the objects that stdin lists, the names of this kind (symbols).
names() {
  local file
  while read -r file; do symbols "$file"; done | awk -v kind="$1" '$1 == kind { print $4 }' | sort -u
}

# What the variants of a side call beside these, and beside what the base's kernels/problem/ says of a problem.
calls_of() {
  comm -23 <(objects "$1" | names imports | grep -vxE "$harmless") \
    <(find "$work/base/source" -path '*/kernels/problem/*.o' 2>/dev/null | names has)
}

# A variant has no business with files, clocks, signals, threads or other memory than its own: its code runs in the process
# that takes the times, and its planning in the one that writes them down.
tell_of_calls() {
  local new file
  new=$(only_in "$(calls_of base)" "$(calls_of head)")
  [ -z "$new" ] || note warning "variants of the head call what no variant of the base does; find out why" "$new"
  new=$(objects head | while read -r file; do
    ! objdump -d --no-show-raw-insn "$file" 2>/dev/null | has -wE 'syscall|sysenter|int +[$]0x80|svc' || echo "${file#"$work/head/source/"}"
  done)
  [ -z "$new" ] || note warning "variants of the head call the system past its library" "$new"
}

# Files of tests/, results/ and shapes/ are no code, and so not told of, unless what was compiled includes them.
tell_of_includes() {
  local file included
  included=$(find "$work/head/source" -type f -name '*.d' -exec cat -- {} + 2>/dev/null | tr -s ' \\\n' '\n' || true)
  included=$(changed_files "$base_commit" "${text_files[@]}" | while read -r file; do
    ! has -F -e "$file" <<<"$included" || echo "$file"
  done)
  [ -z "$included" ] || note warning "the head's program is made of files that look like data" "$included"
}

# refuse TEXT [LIST]: ends the gate before anything is measured.
refuse() {
  note error "$1; nothing was judged" "${2:-}"
  write_summary gate "$base_commit" 6
  exit 6
}

# The sweep as the base has it; a change of it is shown, and fails unless the job allows it.
take_sweep() {
  local side commit
  for side in base head; do
    [ "$side" = base ] && commit=$base_commit || commit=$head_commit
    safe_git show "$commit:$sweep" >"$work/$side-sweep" 2>/dev/null || : >"$work/$side-sweep"
  done
  cp "$work/base-sweep" "$out/sweep.json"
  if cmp -s "$work/base-sweep" "$work/head-sweep"; then return; fi
  diff -u --label "base/$sweep" --label "$sweep" "$work/base-sweep" "$work/head-sweep" >&2 || true
  if [ "$allow_sweep_change" = 1 ]; then
    note warning "the change alters $sweep, and the job allows it: the sweep is measured as the change has it"
    cp "$work/head-sweep" "$out/sweep.json"
    return
  fi
  note error "the change alters $sweep, which gates it: the base's was measured; the job may allow it with --allow-sweep-change"
  steered=4
}

# ---- measuring ----------------------------------------------------------------------------------------------------

# Called by the traps: what measures would otherwise go on, and disturb the next gate on this GPU.
# shellcheck disable=SC2317
stop_measuring() {
  kill -TERM "$measuring" 2>/dev/null || true
  wait "$measuring" || true
  exit "$1"
}

# measure NAME COMMIT PROGRAM OPTIONS...: compares the head with a program of that commit. The base's program judges, since
# the change may have taught its own to pass. Its exit code is the gate's.
measure() {
  local name=$1 against=$2 program=$3 code=0
  shift 3
  trap 'stop_measuring 130' INT
  trap 'stop_measuring 143' TERM
  TMPDIR=$work/judge bound "$out/attnbench-base" ab --base "$program" --candidate "$out/attnbench-head" "$@" --start-with \
    "$work/gate_apart.sh" --sweep "$out/sweep.json" \
    --compare-json "$out/$name.json" --markdown "$work/$name.md" --junit "$out/$name.xml" --annotations - \
    ${options[@]+"${options[@]}"} &
  measuring=$!
  wait "$measuring" || code=$?
  trap - INT TERM
  notes=$name
  check_sums "the $name was measured"
  tell_of_origin
  tell_of_moves "$out/$name.json" "$against"
  [ "$name" != anchor ] || tell_of_improvements
  write_summary "$name" "$against" "$code"
  return "$code"
}

# What was gated and what to look at, then the verdict.
write_summary() {
  {
    printf 'attnbench gate: head %s against %s, exit code %s\n\n' "${head_commit:0:12}" "${2:0:12}" "$3"
    cat "$work/change-notes.md" "$work/$1-notes.md" 2>/dev/null || true
    echo
    cat "$work/$1.md" 2>/dev/null || echo "No verdict was reached; the log says why."
  } >"$out/$1.md"
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$out/$1.md" >>"$GITHUB_STEP_SUMMARY"; fi
}

# The worst of two exit codes of a gate, in the order of README.md; any other failure is worse than these.
worse() {
  local code
  for code in 6 3 4 1 5; do
    if [ "$1" -eq "$code" ] || [ "$2" -eq "$code" ]; then echo "$code" && return; fi
  done
  echo 0
}

# add CODE: what one more comparison ended with.
add() {
  case $1 in
    0 | 1 | 3 | 4 | 5 | 6) outcome=$(worse "$outcome" "$1") ;;
    *) exit "$1" ;;
  esac
}

gate_base() {
  local code=0
  measure gate "$base_commit" "$out/attnbench-base" --base-json "$out/base.json" --json "$out/new.json" || code=$?
  add "$code"
}

find_witness() {
  if on_cpu; then return; fi
  if [ -e "$work/base/source/scripts/gate_witness.py" ] && command -v python3 >/dev/null && command -v "${NSYS:-nsys}" >/dev/null; then
    has_witness=1
  else
    note warning "nothing outside the head's program times its kernels: that takes python3, nsys (Nsight Systems) and a base with scripts/gate_witness.py"
  fi
}

# The head's times, held against what Nsight Systems sees of its kernels. It comes last, since nsys cannot look into the
# namespaces of a side: the head could reach what this job can. With a user of its own it cannot, and its folder gets a copy of the
# scripts.
witness() {
  local said=$work/judge/witness.log code=0 scripts=$work/base/source/scripts
  if [ "$has_witness" -eq 0 ] || [ ! -e "$out/new.json" ]; then return; fi
  notes=gate
  if [ "$APART_HOW" = user ]; then
    mkdir "$work/witness"
    cp -R "$scripts" "$work/witness"
    scripts=$work/witness/scripts
  fi
  (
    export APART_PASS=NSYS
    if [ "$APART_HOW" = user ]; then export APART_FOLDER=$work/witness; else export APART_HOW=none; fi
    bound bash "$work/gate_apart.sh" python3 -B "$scripts/gate_witness.py" --sweep "$out/sweep.json" \
      --base-program "$out/attnbench-base" --base "$out/base.json" --program "$out/attnbench-head" --report "$out/new.json"
  ) >"$said" 2>&1 </dev/null || code=$?
  case $code in
    0) say "nsys saw the changes that the reports tell" ;;
    6) note error "the head's times are not those that nsys sees of its kernels" "$(cat "$said")" ;;
    *) note warning "nsys could not time the base's kernels ($code), so nothing outside the head's program timed the head's" "$(tail -n 3 "$said")" ;;
  esac
  if [ "$code" -ne 6 ]; then return; fi
  add 6
  refuse_verdict "the head's times are not those that nsys sees of its kernels"
  write_summary gate "$base_commit" 6
}

# refuse_verdict WHY: what was judged rests on times that are not believed. No output of the gate may say that the head passed.
refuse_verdict() {
  local judged=''
  if [ -e "$out/gate.json" ]; then
    mv "$out/gate.json" "$out/gate-refused.json"
    judged=' What was judged before is in gate-refused.json.'
  fi
  printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="1" errors="1"><testsuite name="attnbench gate" tests="1" errors="1">' >"$out/gate.xml"
  printf '<testcase name="witness" classname="gate"><error message="%s"/></testcase></testsuite></testsuites>\n' "${1//"'"/&apos;}" >>"$out/gate.xml"
  printf '**No verdict:** %s.%s\n' "$1" "$judged" >"$work/gate.md"
}

gate_anchor() {
  local code=0
  measure anchor "$anchor_commit" "$out/attnbench-anchor" || code=$?
  [ "$code" -ne 1 ] || say "slower than the anchor $anchor: small slowdowns of several merges have added up"
  add "$code"
}

prepare() {
  check_out_folder
  # A user who is a side goes through it, whatever umask the job has.
  (umask "$(printf '%o' $((0$(umask) & ~0111)))" && mkdir -p "$out") || exit 8
  claim_outputs
  work=$(mktemp -d "$(cd "$out" && pwd)/.work.XXXXXX") || exit 8
  trap clean_up EXIT
}

main() {
  parse "$@"
  if ! on_cpu && ! have_gpu; then
    say "no GPU here"
    [ "$skip" -eq 1 ] || exit 77
    echo "::notice title=attnbench::no GPU here, nothing was measured"
    exit 0
  fi
  # Without a name, a program that cannot reach the GPU plans its rows, and nothing is compared.
  [[ " ${options[*]-} " == *' --device'* ]] || options+=(--device cuda)
  local steered=0 outcome=0 has_witness=0
  disarm_filters
  take_commits
  prepare
  build_base
  tell_of_changes
  take_sweep
  if [ ! -s "$out/sweep.json" ]; then
    say "the base has no $sweep: nothing to measure"
    exit 4
  fi
  build_anchor
  find_witness
  prepare_apart
  # From here on files of the head are run.
  build_head
  draw_seed
  gate_base
  [ -z "$anchor" ] || gate_anchor
  witness
  exit "$(worse "$outcome" "$steered")"
}

main "$@"
