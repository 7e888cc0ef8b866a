"""Finds the program, and the names by which it finds functions."""
import ast
import os
import pathlib
import shutil
import sys
import types

from . import _fingerprint


class AttnbenchError(RuntimeError):
    """The program measured nothing; the text is its own. `code` is its exit code."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


def beside():
    """Where the program lies beside this package: in a tree (scripts/python/attnbench) and below a prefix
    (share/attnbench/scripts/python/attnbench); and in the tree or prefix that pip installed the package from."""
    here = pathlib.Path(__file__).resolve()
    yield here.parents[3] / "attnbench"
    if len(here.parents) > 5:
        yield here.parents[5] / "bin" / "attnbench"
    built_from = here.parent / "built_from"
    if built_from.is_file():
        yield pathlib.Path(built_from.read_text(encoding="utf-8")) / "attnbench"


def program():
    """The path of the program."""
    named = os.environ.get("ATTNBENCH")
    candidates = [named] if named else [*map(str, beside()), "attnbench"]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return found
    raise AttnbenchError("the program attnbench was not found%s; build it with make, and name it with the variable ATTNBENCH, or put it into "
                         "PATH" % (" at ATTNBENCH=" + named if named else ""))


# ---- functions ----------------------------------------------------------------------------------------------------

def file_of(module):
    file = getattr(module, "__file__", None)
    return file if file and os.path.isfile(file) else None


def import_name(module):
    """What another process imports the module by: its name, or the file of a script."""
    if module.__name__ != "__main__":
        return module.__name__
    spec = getattr(module, "__spec__", None)  # of python -m package.script, whose relative imports need the package
    return spec.name if spec and spec.name != "__main__" else os.path.abspath(module.__file__)


def is_same(found, function):
    """A method of an object or a class is made anew at each look."""
    return found is function or (isinstance(function, types.MethodType) and isinstance(found, types.MethodType) and found == function)


def resolves(module, name, function):
    """Is this object what the module has by the name?"""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return is_same(found, function)


def is_main_guard(statement):
    return isinstance(statement, ast.If) and any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))


def bound_names(statements, is_steady=True):
    """(name, whether a process that imports the file has it) of what the statements of a file bind: not so what a loop or the part
    below if __name__ == "__main__": binds."""
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name, is_steady
            continue
        steady = is_steady and not isinstance(statement, (ast.For, ast.AsyncFor, ast.While)) and not is_main_guard(statement)
        inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, (ast.stmt, ast.ExceptHandler))]
        for child in ast.iter_child_nodes(statement):
            if child not in inner:
                yield from ((node.id, steady) for node in ast.walk(child) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        yield from bound_names(inner, steady)


def steady_names(module):
    """The names that the file of a module binds for every process that imports it, and no loop binds again."""
    try:
        with open(file_of(module), "rb") as file:
            bound = set(bound_names(ast.parse(file.read()).body))
    except (SyntaxError, ValueError):
        return set()
    return {name for name, is_steady in bound if is_steady} - {name for name, is_steady in bound if not is_steady}


def attribute_name(module, thing, names):
    """The name of a thing, or, of an object's method, the object's name with that of the method."""
    for name in names:
        value = vars(module).get(name)
        if is_same(value, thing):
            return name
        if isinstance(thing, types.MethodType) and value is thing.__self__ and resolves(value, thing.__name__, thing):
            return "%s.%s" % (name, thing.__name__)
    return None


def qualified_name(function):
    """(module, name) of an object that a module has as an attribute. A decorator may have given the object another's name, and a
    partial has none, so the attributes of all modules decide; a module that binds the name itself comes before those that import it.
    Of __main__ only names count that the file binds once for all: its other names have another meaning where the file is imported."""
    main = sys.modules.get("__main__")
    named = [getattr(function, "__module__", None), getattr(type(function), "__module__", None), "__main__"]
    likely = [sys.modules[name] for name in dict.fromkeys(named) if name in sys.modules]
    said = getattr(function, "__qualname__", "") or ""
    for module in likely:
        if said and "<" not in said and resolves(module, said, function):
            return module, said
    loaded = dict.fromkeys([*likely, *(module for module in list(sys.modules.values()) if isinstance(module, types.ModuleType))])
    candidates = [module for module in loaded if attribute_name(module, function, list(vars(module))) and file_of(module)]
    for module in candidates:
        name = attribute_name(module, function, sorted(steady_names(module)))
        if name:
            return module, name
    for module in candidates:
        if module is not main:
            return module, attribute_name(module, function, list(vars(module)))
    return None, said


def spec_of(function):
    """What --load calls a function: FILE.py:NAME or module:NAME. A text is taken as it is."""
    if isinstance(function, str):
        return function
    if not callable(function):
        raise TypeError("%r is neither a function nor the name of one" % (function,))
    module, name = qualified_name(function)
    if module is None or not file_of(module):
        raise ValueError("%s cannot be imported by attnbench's own process, since it stands in no file under a name of its own (a "
                         "notebook's cell, a lambda, inside of a function, a name of a loop or below if __name__ == \"__main__\"): put it "
                         "into a file, in a notebook with %%%%writefile mine.py, and import it from there" % (name or repr(function)))
    return "%s:%s" % (import_name(module), name)


def fingerprint_of(function, spec):
    """{key: fingerprint} of a function, by which attnbench's own process knows it again; nothing for a text."""
    if isinstance(function, str):
        return {}
    name = spec.rpartition(":")[0]
    file = name if name.endswith(".py") else file_of(sys.modules.get(name) or sys.modules["__main__"])
    return {_fingerprint.key_of(name, spec.rpartition(":")[2]): _fingerprint.fingerprint(function, file)}


def is_function_spec(text):
    """Does this text name a Python function, rather than a variant?"""
    module = text.rpartition(":")[0].partition("=")[2] or text.rpartition(":")[0]
    return module.endswith(".py") or ("=" not in text.rpartition(":")[2] and bool(module))


def variant_of(spec):
    """The name of the variant that --load makes of it."""
    name, equals, rest = spec.partition("=")
    if equals and not any(c in name for c in ":/."):
        return name.lower()
    return rest.rpartition(":")[2].rpartition(".")[2].lower() if equals else spec.rpartition(":")[2].rpartition(".")[2].lower()
