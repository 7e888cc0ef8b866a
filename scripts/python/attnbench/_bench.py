"""Runs the program."""
import json
import os
import signal
import subprocess
import sys
import tempfile

from . import _find, _fingerprint
from ._find import AttnbenchError
from ._rows import Rows, Verdict

# Keywords that are options of the program; all others are keys of a case, as `attnbench describe problem` lists them.
TEXTS = ("device", "modes", "reference", "rounds", "timeout", "seed", "filter", "sweep", "shape", "cool_down", "time_budget")
FLAGS = ("quick",)
OUTPUTS = ("html", "csv", "markdown", "junit")  # json is where the report is read from

FLAG_KEYS = ("causal", "sink", "lse", "v_in_k")  # of a case
DTYPE_KEYS = ("dtype", "kv_dtype", "out_dtype")
DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float8_e4m3fn": "e4m3"}


def plain(key, value):
    """A value without what is NumPy's or PyTorch's: float16, dtype("float16") and torch.float16 are f16."""
    if key in DTYPE_KEYS:
        name = str(getattr(value, "name", None) or getattr(value, "__name__", None) or value).rpartition(".")[2]
        return DTYPES.get(name, name)
    if hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()
    return bool(value) if key in FLAG_KEYS and value in (0, 1) else value


def value_text(key, value):
    """A pair is a tuple: S=(1, 4096), H=(32, 8), window=(1023, 0)."""
    if isinstance(value, tuple):
        return {"S": "x", "H": "/"}.get(key, ":").join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def shape_words(axes):
    """The words of --shape for keys of a case: flags stand alone. Several values are a list."""
    words = []
    for key, value in axes.items():
        values = [plain(key, one) for one in (value if isinstance(value, list) else [value]) if one is not None]
        if all(isinstance(one, bool) for one in values):  # a flag has no list, but may stand twice
            words += [key] if values == [True] else ["%s=%s" % (key, value_text(key, one)) for one in values if values != [False]]
        else:
            words.append("%s=%s" % (key, ",".join(value_text(key, one) for one in values)))
    return ",".join(words)


def options_words(options):
    """The words of a command line for keywords."""
    axes, words = {}, []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if key in FLAGS:
            words += [name] if value else []
        elif key in OUTPUTS:
            words += [name, os.path.abspath(value)] if value is not None else []
        elif key in TEXTS:
            for one in value if isinstance(value, (list, tuple)) and key in ("shape", "filter") else [value]:
                words += [name, ",".join(one) if isinstance(one, (list, tuple)) else str(one)]
        else:
            axes[key] = value
    if axes:
        words += ["--shape", shape_words(axes)]
    elif not {"sweep", "shape"} & set(options):
        raise TypeError("give the case: B=1, H=16, S=4096, D=128, or sweep=, or shape=")
    return words


class Loads:
    """What the program is to load for functions: words of --load, the variant's name for each function or variant given, which of
    these are functions, and fingerprints. A second function of the same name gets a number."""

    def __init__(self, functions):
        self.words, self.names, self.functions, self.fingerprints = [], [], [], {}
        for function in functions:
            if isinstance(function, str) and not _find.is_function_spec(function):
                self.names.append(function)
                continue
            spec = _find.spec_of(function)
            name = wanted = _find.variant_of(spec)
            while name in self.names:
                name = "%s_%d" % (wanted, self.names.count(wanted) + sum(n.startswith(wanted + "_") for n in self.names) + 1)
            self.names.append(name)
            self.functions.append(name)
            self.fingerprints.update(_find.fingerprint_of(function, spec))
            self.words += ["--load", spec if name == wanted else "%s=%s" % (name, spec)]


def is_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def environment(fingerprints):
    """Makes the program run functions with this interpreter and its search path, and with or without asserts as here; and tells it
    which functions are meant."""
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path if folder is not None)
    optimize = {"PYTHONOPTIMIZE": str(sys.flags.optimize)} if sys.flags.optimize else {}
    return {**os.environ, **optimize, "ATTN_PYTHON": sys.executable, "PYTHONPATH": path, **_fingerprint.expectation(fingerprints)}


def execute(words, shows, fingerprints):
    """(exit code, what it printed, errors). On a terminal the program prints by itself, else through print()."""
    if os.environ.get("ATTNBENCH_IMPORTS"):
        raise RuntimeError("attnbench imports this file to measure a function of it: put what measures below if __name__ == \"__main__\":")
    on_terminal = shows and sys.stdout is sys.__stdout__ and sys.stdout.isatty()
    with subprocess.Popen([_find.program(), *words], env=environment(fingerprints), stdin=subprocess.DEVNULL, stdout=None if on_terminal else subprocess.PIPE,
                          stderr=None if on_terminal else subprocess.PIPE) as process:
        try:
            out, err = process.communicate()
        except KeyboardInterrupt:  # it writes what it has
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
    out, err = ((text or b"").decode("utf-8", "replace") for text in (out, err))
    if shows and not on_terminal and not is_notebook():
        print(out, end="")
    return process.returncode, out, err


def state_of(path):
    return (os.stat(path).st_ino, os.stat(path).st_mtime_ns) if os.path.exists(path) else None


def run(words, output, shows, fingerprints, keep=None):
    """(exit code, printed text, the document that the option `output` wrote). keep: where to write it, if it is to stay."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.abspath(keep) if keep is not None else os.path.join(folder, "out.json")
        before = state_of(path)
        code, out, err = execute([*words, output, path], shows, fingerprints)
        if state_of(path) in (None, before):
            raise AttnbenchError(err.strip().rpartition("\n")[2] or "attnbench ended with %d; its text is above" % code, code)
        with open(path, encoding="utf-8") as file:
            return code, out, json.load(file)


def measure(words, functions, show, options):
    """bench() and check(). A reference that is a function is loaded, and need not be one of the functions."""
    reference = options.get("reference")
    is_function = reference is not None and (not isinstance(reference, str) or _find.is_function_spec(reference))
    apart = [reference] if is_function and reference not in functions else []
    loads = Loads([*functions, *apart])
    if is_function:
        options = {**options, "reference": loads.names[-1 if apart else functions.index(reference)]}
    keep = options.pop("json", None)
    measured = loads.names[:len(functions)]
    variants = ["--variants", ",".join(measured)] if measured else []
    code, out, report = run([*words, *loads.words, *variants, *options_words(options)], "--json", show, loads.fingerprints, keep)
    return Rows(report, out, code, [name for name in loads.functions if name in measured])


def bench(*functions, show=True, **options):
    """Measures functions and variants ("cudnn", "wgmma", "split_kv:splits=4") in one run and returns Rows.

    Keywords are keys of the case (B, H, S, D, Hq, Hkv, Sq, Skv, Dv, dtype, causal, window, softcap, sink, lse, ...) or options of the
    program (device, modes, reference, rounds, timeout, seed, filter, quick; sweep or shape instead of a case; json, html, csv: files to
    write too). Pairs are tuples, S=(1, 4096); several values are a list, S=[512, 1024], causal=[False, True]. dtype may be NumPy's or
    PyTorch's. reference may be a function. A row whose result is wrong, or which failed, is returned with that status. AttnbenchError is
    raised where nothing was measured, or where a function is not what its name means in a fresh process. show=False prints nothing."""
    return measure([], functions, show, options)


def check(*functions, show=True, **options):
    """As bench(), but takes no times: rows.ok says whether every result is right."""
    return measure(["--check-only"], functions, show, options)


def compare(base, new, show=True, **options):
    """Is `new` slower than `base`? Fresh processes of both in turns, by the rule of `attnbench ab`; returns a Verdict. json= and html=
    are files to write the comparison to. There is no reference=: the base is what `new` is held against."""
    if options.pop("reference", None) is not None:
        raise TypeError("compare() takes no reference: base is what new is compared with. bench(base, new, reference=...) times both in "
                        "turns with a third, and compare(third, new) asks whether new is slower than that one")
    for one in (base, new):
        if isinstance(one, str) and not _find.is_function_spec(one):
            raise TypeError("compare() takes two functions, or FILE.py:NAME of them, and %r is a variant of attnbench's own: "
                            "bench(function, reference=%r) measures a function and a variant in turns" % (one, one))
    base_spec, new_spec = _find.spec_of(base), _find.spec_of(new)
    fingerprints = {**_find.fingerprint_of(base, base_spec), **_find.fingerprint_of(new, new_spec)}
    name = _find.variant_of(new_spec)
    bare = [spec if _find.variant_of(spec) == name else "%s=%s" % (name, spec) for spec in (base_spec, new_spec)]
    words = ["ab", "--base-load", bare[0], "--load", bare[1], "--variants", name]
    keep = options.pop("json", None)
    code, out, comparison = run([*words, *options_words(options)], "--compare-json", show, fingerprints, keep)
    return Verdict(comparison, out, code)
