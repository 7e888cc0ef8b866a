#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention, one variant per backend, over a sweep: attnbench with --load and the functions below.

    scripts/sdpa_baseline.py --sweep v3 --json torch_v3.json
    attnbench --sweep v3 --load scripts/sdpa_baseline.py:torch_flash --variants torch_flash,wgmma,cudnn     # the same, beside others

Options that are not listed here are attnbench's and handed on, such as --reference, --rounds and --modes. Exit code: as attnbench's. The
interpreter that runs this script runs the functions. On a CPU the functions take NumPy's arrays.

What a backend refuses is skipped with PyTorch's own words; so are masks that it adds to the scores, which lets a NaN in a key that is hidden
through.
"""
import argparse
import os
import pathlib
import re
import sys

from lib import program

BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
REFUSALS = ("No available kernel", "No viable backend", "No execution plans", "No valid execution plans", "not supported")


# ---- the variants -----------------------------------------------------------------------------------------------

def refusal(backend, rows, keys, causal):
    """Why a case is not given to a backend; None when it is."""
    if causal and rows > keys:
        return "Sq must be at most Skv under a causal mask: PyTorch gives NaN for rows that attend no key"
    if causal and (backend == "math" or (backend == "efficient" and rows != keys)):
        return "causal must be false: PyTorch adds this backend's mask to the scores, which lets a NaN in a hidden key through"
    if causal and rows != keys and backend == "cudnn":
        return "causal needs Sq = Skv: PyTorch gives its cuDNN backend no mask that is aligned bottom-right"
    return None


def attention(backend, q, k, v, causal):
    import torch
    from torch.nn.attention import SDPBackend, bias, sdpa_kernel
    rows, keys = q.shape[2], k.shape[2]
    why = refusal(backend, rows, keys, causal)
    if why:
        raise NotImplementedError(why)
    options = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    if causal and rows != keys:
        options["attn_mask"] = bias.causal_lower_right(rows, keys)
    elif causal:
        options["is_causal"] = True
    try:
        with sdpa_kernel(getattr(SDPBackend, BACKENDS[backend])):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
    except RuntimeError as error:
        if any(text in str(error) for text in REFUSALS):
            raise NotImplementedError(str(error)) from error
        raise


def on_any_device(backend, q, k, v, causal):
    if type(q).__module__ != "numpy":
        return attention(backend, q, k, v, causal)
    import torch
    return attention(backend, *(torch.from_numpy(x.copy()) for x in (q, k, v)), causal).numpy()


def torch_flash(q, k, v, causal):
    return on_any_device("flash", q, k, v, causal)


def torch_cudnn(q, k, v, causal):
    return on_any_device("cudnn", q, k, v, causal)


def torch_efficient(q, k, v, causal):
    return on_any_device("efficient", q, k, v, causal)


def torch_math(q, k, v, causal):
    return on_any_device("math", q, k, v, causal)


# ---- the script -------------------------------------------------------------------------------------------------

def variant_of(spec):
    """What the rows of package.module:function are called."""
    return "py_" + re.sub(r"[^a-z0-9_]", "_", spec.rpartition(":")[2].lower())


def loads_of(arguments):
    """{variant: what --load calls its function}."""
    here = pathlib.Path(__file__).resolve()
    names = arguments.backends or ([] if arguments.callable else list(BACKENDS))
    return {**{f"torch_{name}": f"{here}:torch_{name}" for name in names}, **{variant_of(spec): spec for spec in arguments.callable}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--sweep", required=True, metavar="FILE", help="the cases: a sweep, or the name of one that attnbench comes with")
    parser.add_argument("--backends", metavar="A,B", type=lambda text: text.split(","),
                        help="of " + ", ".join(BACKENDS) + " (default: all, or none when --callable is given)")
    parser.add_argument("--callable", action="append", default=[], metavar="MODULE:FUNCTION",
                        help="measure this function too, as --load does; its rows are called py_FUNCTION; repeat for more")
    program.add_attnbench_option(parser)
    arguments, handed_on = parser.parse_known_args()
    for backend in arguments.backends or []:
        if backend not in BACKENDS:
            parser.error(f"--backends: {backend} is not one of {', '.join(BACKENDS)}")
    if len({variant_of(spec) for spec in arguments.callable}) < len(arguments.callable):
        parser.error("--callable: two functions would have one name")
    return arguments, handed_on


def main():
    arguments, handed_on = parse_arguments()
    program.require_program(arguments.attnbench)
    loads = loads_of(arguments)
    command = [arguments.attnbench, "--sweep", arguments.sweep, "--variants", ",".join(loads), *handed_on]
    for variant, spec in loads.items():
        command += ["--load", f"{variant}={spec}"]
    sys.stdout.flush()
    os.execvpe(command[0], command, {**os.environ, "ATTN_PYTHON": sys.executable})


if __name__ == "__main__":
    program.run_main(main)
