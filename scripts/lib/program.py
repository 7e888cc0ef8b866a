"""What every script needs that runs other programs: exit codes, failures that carry one, and programs that end with
the script."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The exit codes of attnbench (README.md), which are the scripts' too.
REGRESSION, USAGE, WRONG, COVERAGE, INCONCLUSIVE, NOT_COMPARABLE, INPUT, OUTPUT, INTERNAL = range(1, 10)
NO_GPU = 77
PASSED_ON = (USAGE, WRONG, COVERAGE, INPUT, OUTPUT, INTERNAL, NO_GPU, 129, 130, 143)
PATIENCE_S = 5.0  # from asking a program to end to killing it

running, running_lock = set(), threading.Lock()


class Failure(Exception):
    """Why the script ends, and its exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def code_of(code):
    """The exit code of a failed attnbench as this script's own."""
    return code if code in PASSED_ON else INTERNAL


# ---- programs ---------------------------------------------------------------------------------------------------

def end(process):
    """Ends a program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_running():
    """Ends the programs that other threads are waiting for."""
    with running_lock:
        processes = list(running)
    for process in processes:
        end(process)


def bound(words):
    """The command of a program that is killed when this script is, where that can be had."""
    setpriv = shutil.which("setpriv")
    # A program that cannot be started is told of by its own name.
    return [setpriv, "--pdeathsig", "KILL", *words] if setpriv and shutil.which(words[0]) else words


@contextlib.contextmanager
def started(command, stdin=subprocess.DEVNULL, **environment):
    """A program that runs during the block, its outputs as binary pipes. It does not outlive the block, nor an interrupted
    script. What it writes does not depend on the caller's locale and terminal."""
    words = [str(word) for word in command]
    try:
        process = subprocess.Popen(bound(words), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "LC_ALL": "C", "COLUMNS": "", **environment}, start_new_session=True)
    except OSError as error:
        raise Failure(INTERNAL, f"{words[0]}: cannot be run: {error.strerror}") from error
    with process:
        with running_lock:
            running.add(process)
        try:
            yield process
        finally:
            if process.poll() is None:
                end(process)
            with running_lock:
                running.discard(process)


def execute(command, given=None, **environment):
    """Runs a program to its end and returns what it wrote; `given` is its stdin."""
    with started(command, subprocess.DEVNULL if given is None else subprocess.PIPE, **environment) as process:
        out, err = process.communicate(None if given is None else given.encode())
    return subprocess.CompletedProcess([str(word) for word in command], process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def last_lines(done, count=12):
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-count:])


def add_attnbench_option(parser):
    built = ROOT / "attnbench"
    default = os.environ.get("ATTNBENCH") or (str(built) if built.is_file() else "attnbench")
    parser.add_argument("--attnbench", default=default, metavar="PATH",
                        help="the program to run (default: ATTNBENCH, else the one built here, else the one in PATH)")


def require_program(path):
    if shutil.which(path) is None:
        raise Failure(INTERNAL, f"{path}: not found, or not a program; build it with make, or name it with --attnbench")


# ---- the script itself ------------------------------------------------------------------------------------------

def stop(number, _):
    sys.exit(128 + number)


def run_main(main):
    """Ends the script with what `main` returns, or with a Failure's text and exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(number, stop)
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{pathlib.Path(sys.argv[0]).name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
