# The command-line helper, for tests that need a GPU:  load helper
load ../cli/helper

# Every test here is skipped, with the reason, where there is no GPU.
need_gpu() {
  "$ATTNBENCH" list --json 2>/dev/null | python -c '
import json, sys
gpu = [v for v in json.load(sys.stdin)["variants"] if v["runs_on"] == "cuda"]
sys.exit(0 if any(v["available"] for v in gpu) else print(gpu[0]["reason"]) or 1)' >"$TMP/.why" ||
    skip "no GPU: $(cat "$TMP/.why")"
}

need_tool() { command -v "$1" >/dev/null || skip "$1 is not installed"; }
