#!/usr/bin/env bash
# Sums what gcov counted in a build with --coverage, and fails when too few lines of cli/ ran.
#
#   coverage.sh BUILD LEAST   BUILD: the folder of objects; LEAST: percent of lines
#
# Writes TAP: one test, and the files with lines that did not run, least covered first. coverage.txt in BUILD has every
# file with its lines and branches.
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

counts >"$build/coverage.txt"
awk -v least="$least" '
  { ran += $2 / 100 * $3; lines += $3; taken += $4 / 100 * $5; branches += $5 }
  END {
    if (lines == 0) { print "not ok - no line was counted"; exit 1 }
    percent = 100 * ran / lines
    printf "%s - %.2f %% of %d lines of cli/ ran (at least %s), %.2f %% of %d branches\n", (percent >= least ? "ok" : "not ok"), percent,
      lines, least, 100 * taken / branches, branches
    exit !(percent >= least)
  }' "$build/coverage.txt" || failed=1
awk '$2 < 97 { printf "# %6.2f %% of %4d lines  %s\n", $2, $3, $1 }' "$build/coverage.txt" | sort -n -k2 | head -n 40
exit "${failed:-0}"
