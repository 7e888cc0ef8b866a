"""Runs the program."""
import json
import os
import signal
import subprocess
import sys
import tempfile

from . import _find
from ._find import AttnbenchError
from ._rows import Rows, Verdict

# Keywords that are options of the program; all others are keys of a case, as `attnbench describe problem` lists them.
TEXTS = ("device", "modes", "reference", "rounds", "timeout", "seed", "filter", "sweep", "shape", "cool_down", "time_budget")
FLAGS = ("quick",)


def value_text(key, value):
    """A pair is a tuple: S=(1, 4096), H=(32, 8), window=(1023, 0). Several values are a list."""
    if isinstance(value, list):
        return ",".join(value_text(key, one) for one in value)
    if isinstance(value, tuple):
        return {"S": "x", "H": "/"}.get(key, ":").join(map(str, value))
    return str(value)


def shape_words(axes):
    """The words of --shape for keys of a case: flags and dtypes stand alone."""
    words = []
    for key, value in axes.items():
        if value is False or value is None:
            continue
        words.append(key if value is True else "%s=%s" % (key, value_text(key, value)))
    return ",".join(words)


def options_words(options):
    """The words of a command line for keywords."""
    axes, words = {}, []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if key in FLAGS:
            words += [name] if value else []
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


def loads_of(functions):
    """([words of --load], [names of variants]). A second function of the same name gets a number."""
    words, names = [], []
    for function in functions:
        if isinstance(function, str) and not _find.is_function_spec(function):
            names.append(function)
            continue
        spec = _find.spec_of(function)
        name = wanted = _find.variant_of(spec)
        while name in names:
            name = "%s_%d" % (wanted, names.count(wanted) + sum(n.startswith(wanted + "_") for n in names) + 1)
        names.append(name)
        words += ["--load", spec if name == wanted else "%s=%s" % (name, spec)]
    return words, names


def is_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def environment():
    """Makes the program run functions with this interpreter and its search path."""
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path if folder is not None)
    return {**os.environ, "ATTN_PYTHON": sys.executable, "PYTHONPATH": path}


def execute(words, shows):
    """(exit code, what it printed, errors). On a terminal the program prints by itself, else through print()."""
    if os.environ.get("ATTNBENCH_IMPORTS"):
        raise RuntimeError("attnbench imports this file to measure a function of it: put what measures below if __name__ == \"__main__\":")
    on_terminal = shows and sys.stdout is sys.__stdout__ and sys.stdout.isatty()
    with subprocess.Popen([_find.program(), *words], env=environment(), stdin=subprocess.DEVNULL, stdout=None if on_terminal else subprocess.PIPE,
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


def run(words, output, shows):
    """(exit code, printed text, the document that the option `output` wrote)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        code, out, err = execute([*words, output, path], shows)
        if not os.path.exists(path):
            raise AttnbenchError(err.strip().rpartition("\n")[2] or "attnbench ended with %d; its text is above" % code, code)
        with open(path, encoding="utf-8") as file:
            return code, out, json.load(file)


def bench(*functions, show=True, **options):
    """Measures functions and variants ("cudnn", "wgmma", "split_kv:splits=4") in one run and returns Rows.

    Keywords are keys of the case (B, H, S, D, Hq, Hkv, Sq, Skv, Dv, dtype, causal, window, softcap, sink, lse, ...) or options of the
    program (device, modes, reference, rounds, timeout, seed, filter, quick; sweep or shape instead of a case). Pairs are tuples, S=(1, 4096);
    several values are a list, S=[512, 1024]. A row whose result is wrong, or which failed, is returned with that status. AttnbenchError is raised
    where nothing was measured. show=False prints nothing."""
    loads, names = loads_of(functions)
    variants = ["--variants", ",".join(names)] if names else []
    code, out, report = run([*loads, *variants, *options_words(options)], "--json", show)
    return Rows(report, out, code)


def check(*functions, show=True, **options):
    """As bench(), but takes no times: rows.ok says whether every result is right."""
    loads, names = loads_of(functions)
    variants = ["--variants", ",".join(names)] if names else []
    code, out, report = run(["--check-only", *loads, *variants, *options_words(options)], "--json", show)
    return Rows(report, out, code)


def compare(base, new, show=True, **options):
    """Is `new` slower than `base`? Fresh processes of both in turns, by the rule of `attnbench ab`; returns a Verdict."""
    base_spec, new_spec = _find.spec_of(base), _find.spec_of(new)
    name = _find.variant_of(new_spec)
    bare = [spec if _find.variant_of(spec) == name else "%s=%s" % (name, spec) for spec in (base_spec, new_spec)]
    words = ["ab", "--base-load", bare[0], "--load", bare[1], "--variants", name]
    code, out, comparison = run([*words, *options_words(options)], "--compare-json", show)
    return Verdict(comparison, out, code)
