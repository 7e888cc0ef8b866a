"""Reading JSON, and writing files that are whole under their name or not there at all."""
import contextlib
import json
import os
import pathlib
import shutil
import sys

from .program import INPUT, OUTPUT, USAGE, Failure


def read_json(path):
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(INPUT, f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Failure(INPUT, f"{path}: not valid JSON: {error}") from error


def is_direct(path):
    """Is there something that is not a regular file, such as a pipe or a device? It is written to, never replaced."""
    return path.exists() and not path.is_file()


def is_same_file(path, other):
    """Do both name one regular file, which need not exist yet?"""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.isfile(path) and os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def check_apart(path, *others):
    """Fails when the output would replace one of these files, which are read or run."""
    for other in others:
        if str(path) != "-" and is_same_file(path, other):
            raise Failure(USAGE, f"the output {path} and {other} are one file; give the output a file of its own")


def check_output(path):
    """Fails when a file cannot be written there, or the command line names it for something else too, before anything
    takes time."""
    if str(path) == "-":
        return
    if not str(path):
        raise Failure(OUTPUT, "the output path is empty; name a file, or - for stdout")
    words = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word in sys.argv]
    check_apart(path, *[word for word in words if is_same_file(path, word)][1:])
    path = pathlib.Path(path)
    if path.is_dir():
        raise Failure(OUTPUT, f"{path}: is a directory; name a file in it")
    needed = [path] if path.exists() else []
    needed += [] if is_direct(path) else [path.resolve().parent]
    for one in needed:
        if not os.access(one, os.W_OK):
            raise Failure(OUTPUT, f"{path}: cannot be written: {one} is missing or not writable")


@contextlib.contextmanager
def opened(path):
    """A binary file that is whole under its name after the block, or not there; "-" is stdout."""
    path = pathlib.Path(path)
    if str(path) == "-" or is_direct(path):
        sys.stdout.flush()
        with open(1 if str(path) == "-" else path, "wb", closefd=str(path) != "-") as file:
            yield file
        return
    target = path.resolve()
    part = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with open(part, "xb") as file:
            yield file
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path, data):
    """Text or bytes."""
    try:
        with opened(path) as file:
            file.write(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise Failure(OUTPUT, f"{path}: cannot be written: {error.strerror}") from error


def copy_whole(source, path):
    try:
        with open(source, "rb") as kept, opened(path) as file:
            shutil.copyfileobj(kept, file)
    except OSError as error:
        raise Failure(OUTPUT, f"{path}: cannot be written: {error.strerror}") from error


def json_text(document):
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
