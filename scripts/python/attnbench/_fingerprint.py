"""Tells whether a name means the same function in two processes. The package takes a fingerprint of the function that it was given;
callable.py in the program runs this file (the variable ATTNBENCH_EXPECTED names it) and compares what it has imported."""
import dis
import functools
import hashlib
import importlib.machinery
import json
import os
import re
import sys
import types

VARIABLE = "ATTNBENCH_EXPECTED"
MOST = 500  # facts: they travel in one variable of the environment
LOADERS = (importlib.machinery.SourceFileLoader, importlib.machinery.SourcelessFileLoader, type(None))
STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "STORE_ATTR")


# ---- texts --------------------------------------------------------------------------------------------------------

def constant_text(value):
    """The text of what cannot change; None for all else, such as a list, in which functions keep what they computed."""
    if isinstance(value, types.CodeType):
        return code_text(value)
    if isinstance(value, (tuple, frozenset)):
        parts = [constant_text(part) for part in value]
        return None if None in parts else repr(parts if isinstance(value, tuple) else sorted(parts))
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, type(...))):
        return "%s %r" % (type(value).__name__, value)
    return None


def code_text(code):
    """Everything in a code object except file names and line numbers."""
    constants = [constant_text(constant) for constant in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, constants))


def shown(value):
    """repr() without addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_library(path):
    """Is this a file of Python or of an installed package, or none, as of a module in C? Its state is its own affair."""
    if path is None:
        return True
    path = os.path.abspath(path)
    return "site-packages" in path or "dist-packages" in path or path.startswith(os.path.dirname(os.__file__) + os.sep)


# ---- facts --------------------------------------------------------------------------------------------------------

class Facts:
    """What is known of a function and of what it uses by name: constants, other functions, classes. Names that this code itself
    stores to are left out, because a call may change them."""

    def __init__(self, left_out):
        self.texts, self.seen, self.stored, self.left_out = {}, set(), set(), left_out

    def put(self, label, part, text):
        key = label or "its " + part
        if key in self.texts or len(self.texts) < MOST:
            self.texts.setdefault(key, set()).add(text)

    def look(self, label, value):
        """What a function uses under a name."""
        if label.rpartition(".")[2] in self.left_out or (label, id(value)) in self.seen or len(self.seen) > MOST:
            return
        self.seen.add((label, id(value)))
        if isinstance(value, functools.partial):
            self.look_at_partial(label, value)
        elif isinstance(value, types.MethodType):
            self.look(label, value.__func__)
            self.look_at_object(label, value.__self__)
        elif isinstance(value, (staticmethod, classmethod)):
            self.look(label, value.__func__)
        elif isinstance(value, types.FunctionType):
            self.look_at_function(label, value)
        elif isinstance(value, type):
            self.look_at_class(label, value)
        else:
            self.look_at_object(label, value)

    def look_at_partial(self, label, partial):
        self.put(label, "arguments", shown((partial.args, sorted(partial.keywords.items()))))
        self.look(label, partial.func)
        for value in (*partial.args, *partial.keywords.values()):
            if callable(value):
                self.look(label or "its arguments", value)

    def look_at_function(self, label, function):
        code = function.__code__
        spec = function.__globals__.get("__spec__")
        loader = getattr(spec, "loader", None) or function.__globals__.get("__loader__")
        # A loader that rewrites what it imports, as pytest's does, makes code that no other process has.
        self.put(label, "code", code_text(code) if type(loader) in LOADERS else None)
        if not label:
            self.put(label, "first line", str(code.co_firstlineno))
        if not is_library(code.co_filename):
            defaults = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
            self.put(label, "defaults", repr([constant_text(value) or type(value).__name__ for value in defaults]))
            self.look_at_names(code, function.__globals__)
        self.look_at_cells(code, function)
        if hasattr(function, "__wrapped__"):
            self.look(label or "what it wraps", function.__wrapped__)

    def look_at_cells(self, code, function):
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # empty as yet
                continue
            if not is_library(code.co_filename) or isinstance(value, types.FunctionType):
                self.look(name, value)

    def look_at_names(self, code, names):
        """The globals that the code names, and attributes of modules: in helpers.f(x), helpers and f are both names."""
        self.stored.update(step.argval for step in dis.get_instructions(code) if step.opname in STORES)
        for name in code.co_names:
            value = names.get(name)
            if name not in names or name.startswith("__"):
                continue
            if not isinstance(value, types.ModuleType):
                self.look(name, value)
            elif not is_library(getattr(value, "__file__", None)):
                for part in code.co_names:
                    if part in vars(value) and not isinstance(vars(value)[part], types.ModuleType):
                        self.look("%s.%s" % (name, part), vars(value)[part])
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self.look_at_names(inner, names)

    def look_at_class(self, label, found):
        self.put(label, "class", found.__qualname__)
        if not is_library(getattr(sys.modules.get(found.__module__), "__file__", None)):
            for name, value in vars(found).items():
                if isinstance(value, (types.FunctionType, staticmethod, classmethod)) or (constant_text(value) and not name.startswith("__")):
                    self.look("%s.%s" % (found.__qualname__, name), value)

    def look_at_object(self, label, value):
        if isinstance(value, type):
            return self.look_at_class(label, value)
        text = constant_text(value)
        # A text with a folder in it may be the folder of one process alone.
        is_text_of_here = isinstance(value, str) and os.sep in value
        self.put(label, "type", type(value).__qualname__ if text is None or is_text_of_here else text)
        if text is not None or isinstance(value, types.ModuleType):
            return None
        inside = getattr(value, "__dict__", {})
        for name in ("__wrapped__", "fn", "py_func"):  # what compilers of functions keep
            if isinstance(inside.get(name), types.FunctionType):
                self.look(label or "what it wraps", inside[name])
        is_users = not is_library(getattr(sys.modules.get(type(value).__module__), "__file__", None))
        if is_users:
            self.look_at_class(label or "its class", type(value))
        if is_users or type(value).__name__ in ("Namespace", "SimpleNamespace"):  # argparse's: the other process has no arguments
            for name, part in inside.items():
                if constant_text(part) is not None:
                    self.look("%s.%s" % (label or "self", name), part)
        return None


def fingerprint(function, file):
    """{fact: digest}. A fact that no other process can have is None."""
    left_out = set()
    while True:
        facts = Facts(left_out)
        facts.look("", function)
        if facts.stored <= left_out:
            break
        left_out = left_out | facts.stored
    out = {key: None if None in texts else digest("\n".join(sorted(texts))) for key, texts in facts.texts.items()}
    with open(file, "rb") as content:
        out["its file"] = hashlib.sha256(content.read()).hexdigest()[:16]
    return out


# ---- two processes ------------------------------------------------------------------------------------------------

def key_of(module, name):
    return "%s:%s" % (os.path.realpath(module) if module.endswith(".py") else module, name)


def expectation(fingerprints):
    """The variable for fingerprints by key_of()."""
    return {VARIABLE: json.dumps({"by": os.path.abspath(__file__), "functions": fingerprints})} if fingerprints else {}


def mismatch(functions, module, name, found):
    """A sentence where the object that was found is not the one that is expected; "" where it is, or none is."""
    expected = functions.get(key_of(module, name))
    if expected is None:
        return ""
    file = module if module.endswith(".py") else sys.modules[module].__file__
    mine = fingerprint(found, file)
    unlike = [key for key in expected if key in mine and None not in (expected[key], mine[key]) and expected[key] != mine[key]]
    if not unlike:
        return ""
    return ("the file has another function %s than the one given (unlike: %s). If the file was edited, import it again; else give each "
            "function a name of its own, outside of loops and of if __name__ == \"__main__\"" % (name, ", ".join(unlike)[:50]))
