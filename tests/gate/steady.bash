# Loaded by tests of what several processes measure of the variant `steady` (tests/plugins/steady.c), which takes as long as
# the environment says:  load steady
# shellcheck disable=SC2016,SC2154  # text for another shell; `capture` sets status
load ../helper

setup() {
  need_steady
  SWEEP=$(write_file s.json '{"attnbench_sweep": 1, "name": "steady", "variants": ["steady"],
    "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}]}')
  export STEADY_US=600
}
COMMON=(--rounds 5 --modes hot)
ab() { decided attn ab --sweep "$SWEEP" --device cpu --load "$STEADY" "${COMMON[@]}" "$@"; }

# decided COMMAND...: what a busy machine left undecided (exit 5) is measured again, five times at most. That the
# comparison does not decide on noise is right, and not what is tested here.
decided() {
  for _ in 1 2 3 4 5; do
    rm -rf "$TMP/kept"
    "$@"
    [ "$status" -eq 5 ] || break
  done
}

# program NAME SHELL-TEXT: an executable that answers --version as attnbench does, then runs the text.
program() {
  printf '#!/bin/sh\n[ "$1" != --version ] || exec "%s" --version\n%s\n' "$ATTNBENCH" "$2" >"$TMP/$1"
  chmod +x "$TMP/$1"
  printf '%s' "$TMP/$1"
}
takes() { program "takes$1" "STEADY_US=$1 exec \"$ATTNBENCH\" \"\$@\""; }

# baseline MICROSECONDS: a report that may be a baseline, whatever the state of this tree.
baseline() {
  STEADY_US=$1 "$ATTNBENCH" --sweep "$SWEEP" --device cpu --load "$STEADY" "${COMMON[@]}" --quick --json "$TMP/b.json" --quiet
  sed 's/+dirty"/"/' "$TMP/b.json" >"$TMP/baseline-$1.json"
  drop_checksums "$TMP/baseline-$1.json"
  printf '%s' "$TMP/baseline-$1.json"
}
against() { decided attn --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --quick --baseline "$@"; }
