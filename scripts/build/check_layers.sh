#!/usr/bin/env bash
# Fails when a source breaks the structure: the boundary to the GPU, the order of the rooms, the list of variants,
# banned calls. Writes TAP; each failure is followed by file:line of every offence. No argument; run from anywhere.
set -euo pipefail
export LC_ALL=C
cd "${ATTN_ROOT:-$(dirname "$0")/../..}"
shopt -s nullglob

# The rooms of cli/, in the order in which data flows through them. The sources of a room may include their own room
# and those above it in this table; main.c may include all.
rooms() {
  sed 's/ *#.*//; /^$/d' <<'TABLE'
base      # JSON, text, output files, statistics, processes: knows nothing of attention
sweep     # sweep files, cases, variants by name, the cells of a run
options   # the command line as values, from one table
record    # what is known of a cell, and the files that hold it
measure   # workers: launch, check, time
analyse   # rates, scaling, findings
report    # rows as text, JSON, CSV; saved reports side by side
gate      # whether a new report is slower than an old one
rates     # how often the gate is wrong, from gates drawn of measured processes
page      # reports and comparisons as one HTML page
command   # the verbs
TABLE
}

# Name | files (globs) | files left out | extended regular expression that none of their lines of code may
# match. Comments are not code.
bans() {
  cat <<'TABLE'
cli/ sees no CUDA|cli/*.[ch] cli/*/*.[ch]||#[[:space:]]*include[[:space:]]*[<"](cuda|nv|mma|cooperative)|#[[:space:]]*(el)?if.*CUDA|__CUDACC__
CUDA headers are included by .cu and .cuh files only|kernels/*.[ch] kernels/*/*.[ch]||#[[:space:]]*include[[:space:]]*[<"](cuda|nvtx|nvml\.h>|mma\.h|cooperative)
kernels/ includes nothing from cli/|kernels/* kernels/*/*||#[[:space:]]*include[[:space:]]*"cli/
cli/base/ sees kernels/status.h alone of kernels/|cli/base/*.[ch]||#[[:space:]]*include[[:space:]]*"kernels/([^s]|s[^t])
cJSON comes through cli/base/json.h|cli/*.[ch] cli/*/*.[ch] kernels/* kernels/*/*|cli/base/json.h cli/base/version.c|#[[:space:]]*include[[:space:]]*[<"].*cJSON
no cJSON call that truncates, clones or patches|cli/*.[ch] cli/*/*.[ch]||valueint|cJSON_(Minify|Duplicate|SetValuestring|InsertItemInArray|GetNumberValue)|cJSONUtils
no shell and no unbounded string call|cli/*.c cli/*/*.c kernels/*.c kernels/*/*.c||(^|[^A-Za-z0-9_])(system|popen|strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atof)[[:space:]]*\(
only main.c prints to stdout and exits|cli/*.c cli/*/*.c kernels/*.c kernels/*/*.c|cli/main.c|(^|[^A-Za-z0-9_])(exit|printf|puts|putchar|perror|abort)[[:space:]]*\(
TABLE
}

# Every line of code as FILE:LINE:TEXT, without comments; strings stay.
code=$(mktemp)
trap 'rm -f "$code"' EXIT
strip_comments() {
  awk '
    FNR == 1 { inside = 0 }
    {
      line = $0; out = ""
      while (line != "") {
        if (inside) {
          end = index(line, "*/")
          if (!end) break
          line = substr(line, end + 2); inside = 0; out = out " "
        } else if (match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) {
          token = substr(line, RSTART, RLENGTH)
          if (token == "//") { out = out substr(line, 1, RSTART - 1); break }
          if (token == "/*") { out = out substr(line, 1, RSTART - 1); inside = 1 }
          else out = out substr(line, 1, RSTART + RLENGTH - 1)
          line = substr(line, RSTART + RLENGTH)
        } else { out = out line; break }
      }
      if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
    }' "$@"
}

failures=0
# report NAME OFFENCES: one test; offences are lines, none of them when it passed.
report() {
  if [ -z "$2" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1"
    printf '%s\n' "$2" | sed 's/^/# /'
    failures=$((failures + 1))
  fi
}

check_bans() {
  local name globs except pattern files file
  while IFS='|' read -r name globs except pattern; do
    files=()
    for file in $globs; do
      case " $except " in *" $file "*) continue ;; esac
      [ ! -f "$file" ] || files+=("$file")
    done
    report "$name" "$(lines_of "${files[@]}" | grep -E "^[^:]*:[0-9]*:.*($pattern)" || true)"
  done < <(bans)
}

# The lines of code of some files.
lines_of() {
  printf '%s\n' "$@" | awk -F: 'NR == FNR { wanted[$0]; next } $1 in wanted' - "$code"
}

check_rooms() {
  local offences
  offences=$(grep -E '^cli/[^:]*:[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*"cli/' "$code" | awk -F: '
    function room_of(file,   part) { return split(file, part, "/") == 3 ? part[2] : "" }
    NR == FNR { sub(/ .*/, "", $1); floor[$1] = FNR; next }
    $1 == "cli/main.c" { next }
    {
      match($3, /"[^"]*"/)
      target = substr($3, RSTART + 1, RLENGTH - 2)
      from = room_of($1); to = room_of(target)
      if (!(from in floor)) { if (!told[$1]++) printf "%s: is in no room of scripts/build/check_layers.sh\n", $1 }
      else if (!(to in floor)) printf "%s:%s: %s is in no room of scripts/build/check_layers.sh\n", $1, $2, target
      else if (floor[to] > floor[from]) printf "%s:%s: %s must not include %s\n", $1, $2, from, target
    }' <(rooms) -)
  report "includes follow the rooms" "$offences"
}

# One guess finds a file: its name is not used twice and does not repeat its folder, and what it defines for others
# starts with its name (or with its folder and its name).
check_names() {
  local file folder name
  report "no two sources have one name" \
    "$(printf '%s\n' cli/*.[ch] cli/*/*.[ch] kernels/*.* kernels/*/*.{c,h,cu,cuh} tests/*/unit_*.c | sed 's|.*/||' | sort | uniq -d)"
  report "every test lies in the folder of a room, of the scripts or of the build" "$(for file in tests/{,*/}{*.bats,unit_*.c}; do
    name=${file#tests/} name=${name%/*}
    [ -d "cli/$name" ] || [ -d "kernels/$name" ] || [[ $name =~ ^(kernels|scripts|build|gpu)$ ]] || echo "$file"
  done | sort -u)"
  report "no source repeats the name of its folder" "$(for file in cli/*/* kernels/{cpu,cuda,tiles,variants,reference}/*; do
    folder=${file%/*} name=${file##*/}
    case $name in "${folder##*/}"_*) echo "$file" ;; esac
  done)"
  report "every source opens with what it is" "$(for file in cli/*.[ch] cli/*/*.[ch] kernels/*.[ch] kernels/*/*.{c,h,cu,cuh}; do
    head -n 1 "$file" | grep -qE '^/[*/]' || echo "$file"
  done)"
}

check_functions() {
  local file folder name
  report "a public function is in the file of its name" "$(for file in cli/*/*.c; do
    name=${file##*/} folder=${file%/*}
    awk -v file="$file" -v name="${name%.c}" -v folder="${folder##*/}" '
      /^[a-z].*[ *][a-z0-9_]+\(/ && !/^static / && !/;$/ {
        match($0, /[a-z0-9_]+\(/)
        called = substr($0, RSTART, RLENGTH - 1)
        if (index(called, name) != 1 && index(called, folder "_" name) != 1) print file ":" FNR ": " called
      }' "$file"
  done)"
}

# The list and the folder name the same variants.
check_variants() {
  local listed present
  listed=$(grep -oE '^VARIANT\([a-z0-9_]+\)' kernels/variants.def | sed 's/.*(\(.*\))/\1/' | sort)
  present=$(for file in kernels/variants/*.c kernels/variants/*.cu kernels/reference/*.cu; do
    grep -oE '(^|[^n] )const struct attn_variant attn_variant_[a-z0-9_]+ *=' "$file" || echo "$file: defines no attn_variant_NAME"
  done | sed 's/.*attn_variant_\([a-z0-9_]*\) *=.*/\1/' | sort)
  report "kernels/variants.def and kernels/variants/ agree" \
    "$(diff <(echo "$listed") <(echo "$present") | sed -n 's/^</listed but not defined:/p; s/^>/defined but not listed:/p')"
}

# wgmma is an instruction too, which roofs and findings name, and auto a device.
check_variant_names() {
  local names
  names=$(grep -oE '^VARIANT\([a-z0-9_]+\)' kernels/variants.def | sed 's/.*(\(.*\))/\1/' | grep -vxE 'wgmma|auto' | paste -sd'|')
  report "no variant is named outside its own file" \
    "$(grep -E "^(cli|kernels)/[^:]*:[0-9]+:.*\"($names)\"" "$code" | grep -vE '^kernels/(variants|reference)/' || true)"
}

# Formatted code: a function starts in column 0, ends with a } there.
check_function_length() {
  local longest=60
  report "no host function is longer than $longest lines" "$(awk -v longest=$longest '
    FNR == 1 { start = 0 }
    /^[A-Za-z].*[^;,]$/ && !/=/ && !/^(struct|enum|union|typedef|extern)[^(]*\{/ && !start { start = FNR; name = $0 }
    /^(}|[A-Za-z].*(}|;)$)/ {
      if (start && FNR - start + 1 > longest) printf "%s:%d: %d lines: %s\n", FILENAME, start, FNR - start + 1, name
      start = 0
    }' cli/*.c cli/*/*.c kernels/*.c kernels/*/*.c)"
}

check_marks() {
  report "nothing is left to do in the sources" \
    "$(grep -nE '(^|[^A-Za-z])(TO''DO|FIX''ME|XX''X)([^A-Za-z]|$)' Makefile cli/*.c cli/*/* kernels/*.* kernels/*/* scripts/*.sh scripts/*/* tests/*.c tests/*/*.ba* 2>/dev/null || true)"
}

strip_comments cli/*.[ch] cli/*/*.[ch] kernels/*.{c,h,cu,cuh} kernels/*/*.{c,h,cu,cuh} >"$code"
check_bans
check_rooms
check_names
check_functions
check_variants
check_variant_names
check_function_length
check_marks
exit $((failures > 0))
