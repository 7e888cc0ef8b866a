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
    assert verdict.code in (0, 1, 4, 5) and verdict["rows"][0]["variant"] == "right" and verdict.passed == (verdict.code == 0), (verdict.code, verdict.text)
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

@test "a name that means another function in a fresh process is refused, and the sentence says what differs" {
  need_functions
  cp tests/data/callables.py "$TMP/mine.py"
  cp tests/data/callables.py "$TMP/edited.py"
  printf 'import functools, types, mine\nBLOCK, settings = 64, types.SimpleNamespace(block=64)\ndef helper(q): return q[..., :BLOCK][..., :settings.block]\ndef uses(q, k, v, causal, scale): return mine.right(helper(q), k, v, causal, scale)\npart = functools.partial(mine.right, softcap=0.0)\n' >"$TMP/state.py"
  cat >"$TMP/expect.py" <<'PY'
import attnbench
CASE = dict(B=1, H=2, S=8, D=8, device="cpu", show=False)
def expect(error, text, call, *functions, **options):
    try:
        call(*functions, **{**CASE, **options})
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError("not refused: " + text)
def refused(text, function):
    expect(attnbench.AttnbenchError, text, attnbench.check, function)
PY
  cat >"$TMP/use.py" <<'PY'
import functools, pathlib, attnbench, edited, mine, state
from expect import CASE, expect, refused

def rebound(q, k, v, causal, scale): return mine.wrong(q, k, v, causal, scale)
def f(q, k, v, causal, scale): return mine.wrong(q, k, v, causal, scale)
fast = functools.partial(mine.right, softcap=0.0)
scaled = functools.partial(mine.right, window=None)

class Attention:
    size = 8
    def method(self, q, k, v, causal, scale): return mine.right(q, k, v, causal, scale)
    @classmethod
    def of_class(cls, q, k, v, causal, scale): return mine.right(q, k, v, causal, scale)
thing = Attention()

if __name__ == "__main__":
    rows = attnbench.check(mine.right, state.uses, state.part, scaled, Attention.of_class, thing.method, f, **CASE)
    assert [row["status"] for row in rows] == ["ok"] * 6 + ["wrong"], list(rows)

    def rebound(q, k, v, causal, scale): return mine.right(q, k, v, causal, scale)
    refused("has another function rebound than the one given (unlike: its code, its first line). ", rebound)
    for fast in (functools.partial(mine.right, softcap=1.0),):
        expect(ValueError, "put it into a file", attnbench.check, fast)
    for f in (functools.partial(mine.right, softcap=1.0), Attention().method):
        expect(ValueError, "put it into a file", attnbench.check, f)

    state.part = functools.partial(mine.right, softcap=1.0)
    refused("unlike: its arguments", state.part)
    for call, sides in ((attnbench.bench, [state.part]), (attnbench.compare, [mine.right, state.part]), (attnbench.compare, [state.part, mine.right])):
        expect(attnbench.AttnbenchError, "unlike: its arguments", call, *sides)
    state.BLOCK = 32
    refused("(unlike: BLOCK)", state.uses)
    state.BLOCK = 64
    state.settings.block = 32
    refused("unlike: settings.block", state.uses)
    state.settings.block = 64
    assert attnbench.check(state.uses, **CASE).ok

    file = pathlib.Path(edited.__file__)
    file.write_text(file.read_text().replace("return np.zeros_like(q)", "return right(q, k, v, causal, scale)"))
    refused("unlike: its code", edited.wrong)
    assert attnbench.check(edited.plain, **CASE).ok
PY
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
  # Without a fingerprint a name is what the file says.
  must 0 attn --check-only --device cpu --shape B=1,H=2,S=8,D=8 --load "$TMP/edited.py:wrong"
}

@test "state that a function itself changes, and code that its own loader rewrites, make no other function of it" {
  need_functions
  cp tests/data/callables.py "$TMP/mine.py"
  cat >"$TMP/lazy.py" <<'PY'
import mine
calls, cache, ready = 0, {}, None
def prepare():
    global ready
    ready = True
def function(q, k, v, causal, scale):
    global calls
    assert q.shape
    calls += 1
    cache[q.shape] = 1
    prepare()
    return mine.right(q, k, v, causal, scale)
PY
  cat >"$TMP/rewritten.py" <<'PY'
import mine
def function(q, k, v, causal, scale):
    assert scale
    return mine.right(q, k, v, causal, scale)
PY
  cat >"$TMP/use.py" <<'PY'
import importlib.machinery, importlib.util, sys
import attnbench, lazy, numpy
class Rewriter(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path):
        return compile(data.replace(b"assert scale", b"scale = +scale"), path, "exec")
spec = importlib.util.spec_from_file_location("rewritten", sys.path[0] + "/rewritten.py", loader=Rewriter("rewritten", sys.path[0] + "/rewritten.py"))
sys.modules["rewritten"] = rewritten = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rewritten)
ones = numpy.ones((1, 1, 2, 2), numpy.float32)
lazy.function(ones, ones, ones, False, 1.0)
assert lazy.calls == 1
assert attnbench.check(lazy.function, rewritten.function, B=1, H=2, S=8, D=8, device="cpu").ok
PY
  must 0 capture "$ATTN_PYTHON" "$TMP/use.py"
  must 0 capture "$ATTN_PYTHON" -O "$TMP/use.py"
}

@test "a partial is found in the module that binds it, and a script of a package keeps its relative imports" {
  need_functions
  mkdir "$TMP/package"
  touch "$TMP/package/__init__.py"
  cp tests/data/callables.py "$TMP/package/mine.py"
  printf 'import functools\nfrom .mine import right\npart = functools.partial(right, softcap=0.0)\n' >"$TMP/package/odd.py"
  cat >"$TMP/package/script.py" <<'PY'
import attnbench
from .mine import right
from .odd import part

def mine(q, k, v, causal, scale):
    return right(q, k, v, causal, scale)

if __name__ == "__main__":
    rows = attnbench.check(mine, part, B=1, H=2, S=8, D=8, device="cpu", show=False)
    assert rows.ok and [row["variant"] for row in rows] == ["mine", "part"]
PY
  cd "$TMP"
  must 0 capture "$ATTN_PYTHON" -m package.script
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
for reference in ("cpu_ref", mine.plain):
    try:
        attnbench.compare(mine.plain, mine.right, reference=reference, **case)
    except TypeError as error:
        assert "base is what new is compared with" in str(error) and "bench(base, new, reference=...)" in str(error)
    else:
        raise AssertionError("compared beside a reference")
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
