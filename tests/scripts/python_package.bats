# tags: slow asan
# import attnbench: the package under scripts/python, which runs the program.
load ../helper

setup() {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  export PYTHONPATH=$ROOT/scripts/python PYTHONDONTWRITEBYTECODE=1 ATTNBENCH
}

need_numpy() { "$ATTN_PYTHON" -c 'import numpy' 2>/dev/null || skip "$ATTN_PYTHON has no numpy"; }
need_functions() {
  need_numpy
  attn list --load tests/data/callables.py:right right
  [ "$status" -eq 0 ] || skip "$ATTN_PYTHON has no shared library: $(head -n 1 "$ERR")"
}

@test "bench returns rows, prints the table, and shows itself in a notebook" {
  cat >"$TMP/use.py" <<'PY'
import attnbench
rows = attnbench.bench("cpu_flash", "cpu_ref", B=1, H=(4, 2), S=[8, 16], D=8, causal=True, quick=True, device="cpu", modes="hot")
assert rows.ok and len(rows) == 4 and rows.code == 0, rows.code
assert [r["variant"] for r in rows] == ["cpu_flash", "cpu_ref"] * 2 and [r["Sq"] for r in rows] == [8, 8, 16, 16]
assert rows[0]["hot_us"] > 0 and rows[0]["cold_us"] is None and rows[0]["causal"] is True and rows[0]["Hkv"] == 2
assert "<td>cpu_ref</td>" in rows._repr_html_() and rows.report["summary"]["ok"] == 4
quiet = attnbench.check("cpu_ref", B=1, H=1, S=(1, 16), D=8, window=(4, 0), dtype="bf16", device="cpu", show=False)
assert quiet.ok and quiet[0]["hot_us"] is None and quiet[0]["window"] == [4, 0]
PY
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
  expect_out_matches 'cpu_flash +ok'
  expect_no_err
  [ "$(grep -c 'cpu_ref  *ok' "$OUT")" = 2 ] || fail "show=False printed"
}

@test "functions are measured under their names, two of one name under two, and a comparison has a verdict" {
  need_functions
  cp tests/data/callables.py "$TMP/mine.py"
  cat >"$TMP/use.py" <<'PY'
import functools, json
import attnbench, mine

def right(q, k, v, causal, scale):
    return mine.right(q, k, v, causal, scale)

def renamed(function):
    return functools.wraps(mine.wrong)(lambda *given, **named: function(*given, **named))

decorated = renamed(mine.right)  # calls itself "wrong"

if __name__ == "__main__":
    case = dict(B=1, H=2, S=8, D=8, device="cpu")
    rows = attnbench.check(mine.right, right, decorated, mine.wrong, "cpu_ref", show=False, **case)
    assert [r["status"] for r in rows] == ["ok", "ok", "ok", "wrong", "ok"], [dict(r) for r in rows]
    assert [r["variant"] for r in rows] == ["right", "right_2", "decorated", "wrong", "cpu_ref"] and not rows.ok and rows.code == 3
    verdict = attnbench.compare(right, mine.right, modes="hot", show=False, json="v.json", html="v.html", **case)
    assert verdict.code in (0, 1, 4, 5) and verdict["rows"][0]["variant"] == "right" and verdict.passed == (verdict.code == 0)
    assert json.load(open("v.json")) == verdict and "<html" in open("v.html").read()
PY
  cd "$TMP"
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
}

@test "what cannot be named, a file that measures when it is imported, and what the program refuses are said in a sentence" {
  cat >"$TMP/use.py" <<'PY'
import attnbench, sys
def expect(error, text, *functions, **options):
    try:
        attnbench.bench(*functions, **options)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)
def inside():
    def function(q, k, v): pass
    return function
expect(ValueError, "put it into a file", inside(), B=1, H=1, S=1, D=8)
expect(ValueError, "put it into a file", lambda q, k, v: q, B=1, H=1, S=1, D=8)
expect(TypeError, "neither a function", 3, B=1, H=1, S=1, D=8)
expect(TypeError, "give the case", "cpu_ref")
expect(attnbench.AttnbenchError, '"DD=8" is not understood', "cpu_ref", B=1, H=1, S=1, DD=8)
PY
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
  ATTNBENCH=$TMP/none capture "$ATTN_PYTHON" -c 'import attnbench; attnbench.bench("cpu_ref", B=1, H=1, S=1, D=8)'
  expect_err "ATTNBENCH=$TMP/none"
  need_functions
  printf 'import attnbench\ndef f(q, k, v): return q\nattnbench.bench(f, B=1, H=1, S=8, D=8, device="cpu")\n' >"$TMP/again.py"
  capture "$ATTN_PYTHON" "$TMP/again.py"
  [ "$status" -ne 0 ] || fail "measured itself"
  expect_err '__name__ == "__main__"'
}

@test "flags in lists and as numbers, dtypes of NumPy, a function as the reference, output files, and ok beside planned rows" {
  need_functions
  cp tests/data/callables.py "$TMP/mine.py"
  cat >"$TMP/use.py" <<'PY'
import json, attnbench, mine, numpy as np
from attnbench._bench import shape_words
case = dict(B=1, H=2, S=8, D=8, device="cpu", show=False)
rows = attnbench.check("cpu_ref", causal=[True, False], lse=1, dtype=[np.float16, np.dtype("float32"), "bf16"], **case)
assert [(r["causal"], r["dtype"], r["lse"]) for r in rows] == [(c, d, True) for d in ("f16", "f32", "bf16") for c in (True, False)], list(rows)
assert not attnbench.check("cpu_ref", causal=np.bool_(False), sink=0, **case)[0]["causal"]
class torch_dtype:
    def __init__(self, text): self.text = text
    def __repr__(self): return self.text
given = ["torch.float16", "torch.bfloat16", "torch.float32", "torch.float8_e4m3fn"]
assert shape_words({"dtype": [torch_dtype(text) for text in given]}) == "dtype=f16,bf16,f32,e4m3"

quick = dict(case, quick=True, modes="hot")
apart = attnbench.bench("cpu_ref", reference=mine.plain, **quick)
assert [(r["variant"], r["reference"]) for r in apart] == [("cpu_ref", "plain")]
among = attnbench.bench(mine.plain, "cpu_ref", reference=mine.plain, **quick)
assert [(r["variant"], r["reference"]) for r in among if r["reference"]] == [("cpu_ref", "plain")] and len(among) == 2

rows = attnbench.check(mine.right, "cpu_ref", json="r.json", html="r.html", csv="r.csv", **case)
assert rows.ok and json.load(open("r.json")) == rows.report and "<html" in open("r.html").read() and "cpu_ref" in open("r.csv").read()
try:
    attnbench.check("no_such_variant", json="r.json", **case)
except attnbench.AttnbenchError as error:
    assert "no_such_variant" in str(error)
else:
    raise AssertionError("an older report was returned")

assert attnbench.check(mine.right, "cudnn", **case).ok
for bad in ([mine.wrong, "cudnn"], ["cudnn"], [mine.right, mine.packed], [mine.raises, "cpu_ref"]):
    assert not attnbench.check(*bad, **case).ok, bad
for sides in ((mine.right, "cpu_flash"), ("cpu_flash", mine.right)):
    try:
        attnbench.compare(*sides, **case)
    except TypeError as error:
        assert "two functions, or FILE.py:NAME" in str(error) and "bench(function, reference='cpu_flash')" in str(error)
    else:
        raise AssertionError("compared with a variant")
PY
  cd "$TMP"
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
}

@test "pip installs it from the tree without network, and it finds the tree's program" {
  "$ATTN_PYTHON" -m pip --version >/dev/null 2>&1 || skip "$ATTN_PYTHON has no pip"
  cp -r scripts/python "$TMP/tree-of-ours"
  mkdir -p "$TMP/tree/scripts"
  mv "$TMP/tree-of-ours" "$TMP/tree/scripts/python"
  touch "$TMP/tree/Makefile"
  cp "$ATTNBENCH" "$TMP/tree/attnbench"
  must 0 capture "$ATTN_PYTHON" -m pip install --no-index --no-cache-dir --disable-pip-version-check --target "$TMP/site" "$TMP/tree/scripts/python"
  cd "$TMP"
  capture env -u ATTNBENCH PATH=/usr/bin:/bin PYTHONPATH="$TMP/site" "$ATTN_PYTHON" -c 'import attnbench; from attnbench import _find; print(_find.program())'
  expect_out "$TMP/tree/attnbench"
}

@test "the oldest and the newest Python that it names run it, and its version is the program's" {
  grep -q 'requires-python = ">=3.8"' scripts/python/pyproject.toml
  [ "$("$ATTN_PYTHON" -c 'import attnbench; print(attnbench.__version__)')" = "$(sed -n 's/^VERSION := //p' Makefile)" ] || fail "another version"
  local some=
  for python in python3.8 python3.13; do
    "$python" -c '' 2>/dev/null || continue
    some=1
    must 0 capture "$python" -c 'import attnbench; assert attnbench.check("cpu_ref", B=1, H=1, S=8, D=8, device="cpu").ok'
  done
  [ -n "$some" ] || skip "neither python3.8 nor python3.13 is here"
}
