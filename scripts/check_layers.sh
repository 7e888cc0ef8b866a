#!/usr/bin/env bash
# Fails when a source breaks the structure: the boundary to the GPU, the order of the stages, the list of variants,
# banned calls. Writes TAP; each failure is followed by file:line of every offence. No argument; run from anywhere.
set -euo pipefail
cd "${ATTN_ROOT:-$(dirname "$0")/..}"
shopt -s nullglob

# Stage | other files that belong to it (STAGE_*.c and .h always do) | stages whose headers it may include.
# Data flows down this table. A new stage needs its line here.
stages() {
  sed 's/ *#.*//; /^$/d' <<'TABLE'
json      | fields       |
output    |              |
version   |              |
units     |              |
text      |              | units
profiled  |              |
stats     |              |
options   |              | json
sweep     | variant_spec | json
variant_json |           | json
cells     |              | json sweep
record    |              | json stats sweep
plan      |              | json record sweep
check     |              | record
bind      |              | plan record
measure   |              | record stats
progress  |              | measure
speedup   |              | check measure plan record stats sweep
inject    |              | measure record speedup stats sweep
selftest  |              | json record stats text units version
worker    |              | bind check inject profiled json measure output plan record selftest speedup sweep variant_json
supervise |              | profiled json output plan record sweep worker
profile   |              | bind cells check measure plan record
load      |              | json supervise
journal   |              | profiled json output record sweep
counters  |              | journal json record
times     |              | json journal plan record sweep
metrics   |              | record stats sweep
scaling   |              | metrics record sweep
diagnose  |              | metrics record scaling
report    |              | diagnose journal json metrics output record scaling stats sweep text units version
merge     |              | journal json record report text units
rounds    |              | journal record
child     |              | measure supervise
compare   |              | journal json record report stats sweep text units
command   | commands     | cells child compare counters inject profiled journal json load measure merge options output plan profile progress record report rounds selftest supervise sweep text times variant_json version
main      |              | command options output version worker
TABLE
}

# Name | files (globs) | files left out | extended regular expression that none of their lines of code may
# match. Comments are not code.
bans() {
  cat <<'TABLE'
cli/ sees no CUDA|cli/*.c cli/*.h||#[[:space:]]*include[[:space:]]*[<"](cuda|nv|mma|cooperative)|#[[:space:]]*(el)?if.*CUDA|__CUDACC__
CUDA headers stand in .cu and .cuh files only|kernels/*.c kernels/*.h kernels/*/*.c kernels/*/*.h||#[[:space:]]*include[[:space:]]*[<"](cuda|nvtx|nvml\.h>|mma\.h|cooperative)
kernels/ includes nothing from cli/|kernels/* kernels/*/*||#[[:space:]]*include[[:space:]]*"cli/
cJSON comes through cli/json.h|cli/*.c cli/*.h kernels/*|cli/json.h cli/version.c|#[[:space:]]*include[[:space:]]*[<"].*cJSON
no cJSON call that truncates, clones or patches|cli/*.c cli/*.h||valueint|cJSON_(Minify|Duplicate|SetValuestring|InsertItemInArray|GetNumberValue)|cJSONUtils
no shell and no unbounded string call|cli/*.c kernels/*.c kernels/*/*.c||(^|[^A-Za-z0-9_])(system|popen|strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atof)[[:space:]]*\(
only main.c prints to stdout and exits|cli/*.c kernels/*.c kernels/*/*.c|cli/main.c|(^|[^A-Za-z0-9_])(exit|printf|puts|putchar|perror|abort)[[:space:]]*\(
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

check_stages() {
  local offences
  offences=$(grep -E '^cli/[^:]*:[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*"cli/' "$code" | awk -F: '
    function stage_of(file,   name) {
      name = file
      sub(/^cli\//, "", name); sub(/\.[ch]$/, "", name)
      if (name in alias) return alias[name]
      while (!(name in allowed) && sub(/_[^_]*$/, "", name)) {}
      return name in allowed ? name : ""
    }
    NR == FNR {
      split($0, column, "|")
      stage = column[1]; gsub(/ /, "", stage)
      allowed[stage] = " " column[3] " "
      n = split(column[2], extra, " ")
      for (i = 1; i <= n; ++i) alias[extra[i]] = stage
      next
    }
    {
      match($3, /"[^"]*"/)
      target = substr($3, RSTART + 1, RLENGTH - 2)
      from = stage_of($1); to = stage_of(target)
      if (from == "") { if (!told[$1]++) printf "%s: no stage in scripts/check_layers.sh\n", $1 }
      else if (to == "") printf "%s:%s: %s has no stage in scripts/check_layers.sh\n", $1, $2, target
      else if (from != to && !index(allowed[from], " " to " "))
        printf "%s:%s: %s must not include %s\n", $1, $2, from, target
    }' <(stages) -)
  report "includes follow the stages" "$offences"
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

check_variant_names() {
  local names
  names=$(grep -oE '^VARIANT\([a-z0-9_]+\)' kernels/variants.def | sed 's/.*(\(.*\))/\1/' | paste -sd'|')
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
    }' cli/*.c kernels/*.c kernels/*/*.c)"
}

check_marks() {
  report "nothing is left to do in the sources" \
    "$(grep -nE '(^|[^A-Za-z])(TO''DO|FIX''ME|XX''X)([^A-Za-z]|$)' Makefile cli/* kernels/*.* kernels/*/* scripts/*.sh tests/*.c tests/*/*.ba* 2>/dev/null || true)"
}

strip_comments cli/*.[ch] kernels/*.{c,h,cu,cuh} kernels/*/*.{c,h,cu,cuh} >"$code"
check_bans
check_stages
check_variants
check_variant_names
check_function_length
check_marks
exit $((failures > 0))
