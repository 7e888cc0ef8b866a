"""What Python scripts share that run other programs and write files: exit codes, failures that carry one, programs that
end with the script, and files that are whole or not there.

Python's standard library only.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

USAGE, WRONG, COVERAGE, NOT_COMPARABLE, INPUT, OUTPUT, INTERNAL, NO_GPU = 2, 3, 4, 6, 7, 8, 9, 77
ATTNBENCH_CODES = (2, 3, 4, 7, 8, 9, 77, 130, 143)
PATIENCE_S = 5.0  # from asking a program to end to ending it


class Failure(Exception):
    """Why the script ends, and its exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def code_of(code):
    """A program's exit code as this script's own."""
    return code if code in ATTNBENCH_CODES else INTERNAL


# ---- programs ---------------------------------------------------------------------------------------------------

def end(process):
    """Ends a program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def execute(command):
    """Runs a program to its end and returns what it said. It does not outlive an interrupted script."""
    words = [str(word) for word in command]
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env={**os.environ, "LC_ALL": "C"}, start_new_session=True)
    except OSError as error:
        raise Failure(INTERNAL, f"{words[0]}: cannot be run: {error.strerror}") from error
    with process:
        try:
            out, err = process.communicate()
        except BaseException:
            end(process)
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def last_lines(done, count=12):
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-count:])


def require_program(path):
    if shutil.which(path) is None:
        raise Failure(INTERNAL, f"{path}: not found, or not a program; build it with make, or name it with --attnbench")


def stop(number, _):
    sys.exit(128 + number)


def run_program(name, main):
    """Ends the process with what `main` returns, or with a Failure's text and code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


# ---- files ------------------------------------------------------------------------------------------------------

def is_direct(path):
    """Is it there and no regular file, such as a pipe or a device? Such a file is never replaced."""
    return path.exists() and not path.is_file()


def check_output(path):
    """Fails when a file cannot be written there, before anything takes time."""
    if str(path) == "-":
        return
    if not str(path):
        raise Failure(OUTPUT, "the output path is empty; name a file, or - for the output")
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


def write_whole(path, text):
    try:
        with opened(path) as file:
            file.write(text.encode())
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
