#!/usr/bin/env bash
# Fails when a kernel spills registers on an architecture that was measured, unless scripts/build/spills_allowed.txt
# explains it, or when ptxas says that it serialises wgmma (C75xx). Arguments: the .ptxas reports that the build leaves
# beside the objects. Writes TAP, one test per kernel.
set -euo pipefail
cd "$(dirname "$0")/../.."

ALLOWED=${ALLOWED:-scripts/build/spills_allowed.txt}
# Blackwell: kernels are built for it and nobody has tuned them there.
UNMEASURED='^sm_1[0-9][0-9]$'

if [ $# -eq 0 ] || ! compgen -G "${1}" >/dev/null; then
  echo "1..0"
  echo "ok - spills # SKIP this build has no CUDA kernels"
  exit 0
fi

rows=$(scripts/build/kernel_resources.sh --list "$@")
if [ -z "$rows" ]; then
  echo "ok - spills # SKIP this build has PTX alone, which ptxas has not seen"
  exit 0
fi

# Reads rows of one kernel after the other. ALLOWED holds: most bytes spilled, a fragment of the demangled kernel name,
# why; separated by tabs. An entry that
# no kernel needs any more is a failure too.
check() {
  awk -F'\t' -v allowed="$ALLOWED" -v unmeasured="$UNMEASURED" '
    BEGIN {
      while ((getline line < allowed) > 0) {
        if (line ~ /^#/ || line !~ /[^ \t]/) continue
        if (split(line, field, "\t") < 3) {
          printf "not ok - %s: needs three fields with tabs between: %s\n", allowed, line
          bad = 1
          continue
        }
        ++entries
        limit[entries] = field[1]; fragment[entries] = field[2]; why[entries] = field[3]
      }
    }
    function tell_kernel() {
      if (kernel != "") printf "%s - %s: %s\n", fits ? "ok" : "not ok", kernel, facts
    }
    $1 != kernel {
      tell_kernel()
      kernel = $1; fits = 1; facts = ""
    }
    {
      spilled = $6 > $7 ? $6 : $7
      note = spilled > 0 && $2 ~ unmeasured ? "no GPU of this kind was measured" : ""
      for (e = 1; e <= entries; ++e) {
        if (spilled > 0 && $2 !~ unmeasured && index($1, fragment[e])) {
          used[e] = 1
          if (spilled <= limit[e]) note = why[e]
        }
      }
      if (spilled > 0 && note == "") { fits = 0; bad = 1 }
      facts = facts sprintf("%s%s %d registers, %d B shared, %d B spilled%s", facts == "" ? "" : "; ", $2, $3, $4,
                            spilled, note == "" ? "" : " (" note ")")
    }
    END {
      tell_kernel()
      for (e = 1; e <= entries; ++e) {
        if (!(e in used)) { printf "not ok - %s: no kernel spills any more as \"%s\"\n", allowed, fragment[e]; bad = 1 }
      }
      exit bad
    }'
}

code=0
LC_ALL=C sort -t$'\t' -k1,2 <<<"$rows" | c++filt | check || code=1
if grep -HnE '\(C75[0-9]{2}\)' "$@"; then
  echo "not ok - ptxas serialises wgmma; the lines above say where"
  code=1
else
  echo "ok - no C75xx remark from ptxas"
fi
exit $code
