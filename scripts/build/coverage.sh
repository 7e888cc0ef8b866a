#!/usr/bin/env bash
# Sums what gcov counted in a build with --coverage, and fails when too few lines of cli/ ran.
#
#   coverage.sh BUILD LEAST   BUILD: the folder of objects; LEAST: percent of lines
#
# Writes TAP: one test, and the files with lines that did not run, least covered first. coverage.txt in BUILD has every
# file with its lines and branches; results/reliability/coverage.tsv, which is committed, the sums of each folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 least=$2

# "FILE LINES-PERCENT LINES BRANCHES-PERCENT BRANCHES", of the sources themselves, not of their headers.
counts() {
  find "$build/cli" -name '*.gcda' | sort | while read -r data; do
    source=${data#"$build/"} && source=${source%.gcda}
    case $source in *.c) ;; *) source=${source%.o} ;; esac
    gcov -n -b -o "$data" "$source" 2>/dev/null | awk -v source="$source" '
      /^File / { here = ($0 == "File \047" source "\047") }
      here && /^Lines executed/ { split($0, part, /[:% ]+/); lines = part[3] " " part[5] }
      here && /^Branches executed/ { branches = 1 }
      here && /^Taken at least once/ { split($0, part, /[:% ]+/); taken = part[5] " " part[7] }
      END { if (lines != "") print source, lines, taken != "" ? taken : "100 0" }'
  done
}

# Sums of all, and by folder.
sums() {
  printf '# Written by make coverage: what the tests that need no GPU run of cli/, on %s.\n' "$(git log -1 --format=%cs)"
  printf 'folder\tlines\tlines_percent\tbranches\tbranches_percent\n'
  awk -v OFS='\t' '
    function tell(name, l, r, b, t) { print name, l, sprintf("%.2f", l ? 100 * r / l : 0), b, sprintf("%.2f", b ? 100 * t / b : 0) }
    {
      n = split($1, part, "/"); name = n > 2 ? part[2] : "main.c"
      lines[name] += $3; ran[name] += $2 / 100 * $3; branches[name] += $5; taken[name] += $4 / 100 * $5
      L += $3; R += $2 / 100 * $3; B += $5; T += $4 / 100 * $5
    }
    END { for (name in lines) tell(name, lines[name], ran[name], branches[name], taken[name]); tell("all", L, R, B, T) }
  ' "$build/coverage.txt" | LC_ALL=C sort
}

counts >"$build/coverage.txt"
mkdir -p results/reliability
sums >results/reliability/coverage.tsv
awk -F '\t' -v least="$least" '
  $1 == "all" {
    if ($2 == 0) { print "not ok - no line was counted"; exit }
    printf "%s - %s %% of %d lines of cli/ ran (at least %s), %s %% of %d branches\n", ($3 >= least ? "ok" : "not ok"), $3, $2, least, $5, $4
    right = $3 >= least
  }
  END { exit !right }' results/reliability/coverage.tsv || failed=1
awk '$2 < 97 { printf "# %6.2f %% of %4d lines  %s\n", $2, $3, $1 }' "$build/coverage.txt" | sort -n -k2 | head -n 40
exit "${failed:-0}"
