#!/usr/bin/env bash
# Fails when a kernel built for sm_90a spills registers or ptxas says that it serialises wgmma (C75xx), unless
# scripts/spills_allowed.txt explains it. Arguments: the .ptxas reports that the build leaves beside the objects.
# Writes TAP, one test per kernel.
set -euo pipefail
cd "$(dirname "$0")/.."

ARCH=${ARCH:-sm_90a}
ALLOWED=${ALLOWED:-scripts/spills_allowed.txt}

if [ $# -eq 0 ] || ! compgen -G "${1}" >/dev/null; then
  echo "1..0"
  echo "ok - spills # SKIP this build has no CUDA kernels"
  exit 0
fi

rows=$(scripts/kernel_resources.sh --list "$@" | awk -F'\t' -v arch="$ARCH" '$2 == arch')
if [ -z "$rows" ]; then
  echo "ok - spills # SKIP this build has no code for $ARCH"
  exit 0
fi

# ALLOWED holds: most bytes spilled, a fragment of the demangled kernel name, why; separated by tabs. An entry that
# no kernel needs any more is a failure too.
check() {
  awk -F'\t' -v allowed="$ALLOWED" '
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
    {
      spilled = $6 > $7 ? $6 : $7
      note = ""
      for (e = 1; e <= entries; ++e) {
        if (spilled > 0 && index($1, fragment[e])) {
          used[e] = 1
          if (spilled <= limit[e]) note = why[e]
        }
      }
      fits = spilled == 0 || note != ""
      if (!fits) bad = 1
      printf "%s - %s: %d registers, %d B shared, %d B spilled%s\n", fits ? "ok" : "not ok", $1, $3, $4, spilled,
             note == "" ? "" : " (" note ")"
    }
    END {
      for (e = 1; e <= entries; ++e) {
        if (!(e in used)) { printf "not ok - %s: no kernel spills any more as \"%s\"\n", allowed, fragment[e]; bad = 1 }
      }
      exit bad
    }'
}

code=0
c++filt <<<"$rows" | check || code=1
if grep -HnE '\(C75[0-9]{2}\)' "$@"; then
  echo "not ok - ptxas serialises wgmma; the lines above say where"
  code=1
else
  echo "ok - no C75xx remark from ptxas"
fi
exit $code
