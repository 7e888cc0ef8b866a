"""attnbench from Python: measure, check and compare attention written in Python, beside built-in kernels.

    import attnbench
    from mine import attention

    attnbench.bench(attention, "cudnn", B=1, H=16, S=4096, D=128, causal=True)
    attnbench.check(attention, B=1, H=16, S=4096, D=128, causal=True).ok
    attnbench.compare(before, attention, B=1, H=16, S=4096, D=128)

attention(q, k, v, causal, scale) returns o: kernels/example/README.md (installed: share/attnbench/example) has the parameters that a
function may have. attnbench imports it from its file, in a process of its own: a function that is defined in a notebook's cell or inside
another function, and a lambda, must be moved to a file. Where its name means another function in that process, it is refused. The
program is the one that the variable ATTNBENCH names, else the one beside this package or beside the folder that it was installed from,
else the one in PATH. Needs Python 3.8 and nothing else; the program runs functions with the interpreter that imported this package.
"""
from ._bench import AttnbenchError, bench, check, compare
from ._rows import Rows, Verdict

__version__ = "0.3.0"
__all__ = ["AttnbenchError", "Rows", "Verdict", "bench", "check", "compare"]
