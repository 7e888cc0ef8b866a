"""Finds the program, and the names by which it finds functions."""
import os
import pathlib
import shutil
import sys


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

def resolves(module, name, function):
    """Is this object what a process that imports the module gets by the name?"""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is function


def qualified_name(function):
    """(module, name) of an object that a module has as an attribute. A decorator may have given the object another's name, so the
    attributes of the module decide."""
    names = [getattr(function, "__module__", None), getattr(type(function), "__module__", None), "__main__"]
    modules = [sys.modules[name] for name in dict.fromkeys(names) if name in sys.modules]
    said = getattr(function, "__qualname__", "") or ""
    for module in modules:
        if said and "<" not in said and resolves(module, said, function):
            return module, said
        for name, value in vars(module).items():
            if value is function:
                return module, name
    return None, said


def spec_of(function):
    """What --load calls a function: FILE.py:NAME or module:NAME. A text is taken as it is."""
    if isinstance(function, str):
        return function
    if not callable(function):
        raise TypeError("%r is neither a function nor the name of one" % (function,))
    module, name = qualified_name(function)
    file = getattr(module, "__file__", None)
    if module is None or not file or not os.path.isfile(file):
        raise ValueError("%s cannot be imported by attnbench's own process, since it stands in no file under a name of its own (a notebook's "
                         "cell, a lambda, inside of a function): put it into a file, in a notebook with %%%%writefile mine.py, and "
                         "import it from there" % (name or repr(function)))
    if module.__name__ == "__main__":
        return "%s:%s" % (os.path.abspath(file), name)
    return "%s:%s" % (module.__name__, name)


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

