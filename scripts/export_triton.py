#!/usr/bin/env python3
"""Compiles a Triton kernel into a cubin, and writes the manifest (kernels/example/README.md) with which attnbench
launches it: `attnbench --load OUT/NAME.json`. Needs Triton 3.2 or newer, and no GPU where --compute-capability is given.

FILE.py defines the kernel and a function

    def attnbench(D, dtype, causal):

that returns None where there is no kernel, or a dictionary: "kernel", the @triton.jit function; "arguments", by the name
of its parameter what a manifest lists; "constexprs"; "grid", "math", and optionally "name", "about", "options" (num_warps,
num_stages, ...), "requires", "divisible" (names of integer parameters that are multiples of 16, which the manifest then
demands), "workspace_bytes", "axis_covers" with "tile_q", "tile_kv", "splits" and "stages". Formulas may name the
constexprs that are whole numbers. kernels/example/triton_flash.py is a complete one.

A compiled kernel is of one head dimension, type and mask: with several of them one file each is written, and its path
printed. Exit code: 0, 2 usage or a description that does not hold, 8 output, 9 no Triton, or it does not compile, 77 no GPU to compile for and
none named."""

import argparse
import importlib.util
import itertools
import pathlib
import re
import sys

from lib import files, program
from lib.program import Failure

TYPES = {"f16": "fp16", "bf16": "bf16", "f32": "fp32"}
POINTERS = ("q", "k", "v", "o", "workspace")
SCALARS = {"i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f32": "fp32", "f64": "fp64"}
BYTES = {"u8": 1, "s8": 1, "b8": 1, "u16": 2, "s16": 2, "b16": 2, "u32": 4, "s32": 4, "b32": 4, "f32": 4, "u64": 8, "s64": 8,
         "b64": 8, "f64": 8}
OPTIONAL = ("workspace_bytes", "tile_q", "tile_kv", "splits", "stages")


def bad(path, text):
    return Failure(program.USAGE, f"{path}: {text}")


def import_triton():
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as error:
        raise Failure(program.INTERNAL, f"needs Triton 3.2 or newer ({error}); pip install triton") from error
    return triton, ASTSource, GPUTarget


def load_description(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None or not pathlib.Path(path).is_file():
        raise bad(path, "is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton looks a kernel's globals up by module
    spec.loader.exec_module(module)
    if not callable(getattr(module, "attnbench", None)):
        raise bad(path, "has no function attnbench(D, dtype, causal); see --help")
    return module.attnbench


# ---- the kernel's parameters ------------------------------------------------------------------------------------

def triton_type(path, name, argument, dtype):
    """How Triton's compiler is told what a parameter is."""
    if argument in POINTERS:
        return "*fp32" if argument == "workspace" else "*" + TYPES[dtype]
    if isinstance(argument, dict) and len(argument) == 1 and next(iter(argument)) in SCALARS:
        return SCALARS[next(iter(argument))]
    raise bad(path, f"arguments[\"{name}\"] is {argument!r}; give one of {', '.join(POINTERS)}, or {{\"i32\": FORMULA}} "
                    "and the like")


def signature_of(path, made, dtype):
    """Every parameter of the kernel by name, in order, with its type."""
    names, arguments, constexprs = made["kernel"].arg_names, made["arguments"], made["constexprs"]
    for name in [*arguments, *constexprs]:
        if name not in names:
            raise bad(path, f"\"{name}\" is no parameter of the kernel; it has {', '.join(names)}")
    signature = {}
    for name in names:
        if (name in arguments) == (name in constexprs):
            raise bad(path, f"the kernel's parameter {name} must be in one of \"arguments\" and \"constexprs\"")
        signature[name] = "constexpr" if name in constexprs else triton_type(path, name, arguments[name], dtype)
    return signature


def divisible_of(path, made, signature):
    """Parameters that the compiler may take for multiples of 16: pointers, which attnbench aligns to 256 bytes, and those
    that the file says are; these the manifest demands."""
    pointers = [name for name, kind in signature.items() if kind.startswith("*")]
    promised = list(made.get("divisible", []))
    for name in promised:
        if not signature.get(name, "").startswith("i"):
            raise bad(path, f"divisible: {name} is no integer among the arguments")
    requires = []
    for name in promised:
        formula = str(next(iter(made["arguments"][name].values())))
        requires.append({"that": f"({formula}) % 16 == 0", "because": f"{formula} must be a multiple of 16, for which the "
                                                                      "kernel was compiled"})
    return pointers + promised, requires


def parameter_bytes(ptx, entry):
    """The sizes of the kernel's parameters, in order."""
    found = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\((.*?)\)", ptx, re.S)
    if found is None:
        raise Failure(program.INTERNAL, f"the PTX of {entry} has no such entry; this Triton writes it in another way")
    sizes = []
    for line in found[1].split(","):
        words = re.match(r"\s*\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(?:\s+\.ptr\b[^%\w]*(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?", line)
        array = re.search(r"\[(\d+)\]\s*$", line)
        if words is None:
            raise Failure(program.INTERNAL, f"{entry}: the parameter \"{line.strip()}\" cannot be read")
        sizes.append(BYTES[words[1]] * (int(array[1]) if array else 1))
    return sizes


# ---- compiling --------------------------------------------------------------------------------------------------

def target_here(triton):
    try:
        return triton.runtime.driver.active.get_current_target()
    except Exception as error:  # no driver, or more than one
        raise Failure(program.NO_GPU, f"no GPU here to compile for ({error}); name one that need not be here: --compute-capability 9.0") from error


def compile_kernel(path, made, dtype, capability):
    triton, source_of, target_of = import_triton()
    signature = signature_of(path, made, dtype)
    divisible, requires = divisible_of(path, made, signature)
    names = made["kernel"].arg_names
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in divisible}
    target = target_of("cuda", capability, 32) if capability else target_here(triton)
    source = source_of(made["kernel"], signature, made["constexprs"], attributes)
    try:
        compiled = triton.compile(source, target=target, options=made.get("options", {}))
    except Exception as error:  # whatever the compiler raises, a description is at fault or Triton is
        raise Failure(program.INTERNAL, f"{path}: does not compile: {type(error).__name__}: {error}") from error
    return compiled, target.arch, requires


def check_compiled(path, metadata):
    """What attnbench cannot give a kernel."""
    if getattr(metadata, "num_ctas", 1) != 1:
        raise bad(path, "num_ctas must be 1: the blocks of Triton's clusters are numbered in a way of its own")
    for kind in ("global_scratch_size", "profile_scratch_size"):
        if getattr(metadata, kind, 0):
            raise bad(path, f"the kernel wants {getattr(metadata, kind)} bytes of {kind[:-5]}, which Triton's own launcher gives "
                            "it; avoid device-side tensor descriptors")


def arguments_of(path, made, entry, ptx):
    """The manifest's arguments: those of the kernel's source, then what the compiler has added, as zeros."""
    listed = [made["arguments"][name] for name in made["kernel"].arg_names if name in made["arguments"]]
    sizes = parameter_bytes(ptx, entry)
    if len(sizes) < len(listed):
        raise bad(path, f"the compiled kernel has {len(sizes)} parameters, fewer than the {len(listed)} arguments")
    return listed + [{"zeros": size} for size in sizes[len(listed):]]


def block_of(compiled):
    """Threads of a block: as the machine code demands them; warp specialisation adds warps."""
    demanded = re.search(r"\.reqntid\s+(\d+)", compiled.asm["ptx"])
    return int(demanded[1]) if demanded else 32 * compiled.metadata.num_warps


# ---- the manifest -----------------------------------------------------------------------------------------------

def manifest_of(path, made, name, compiled, arch, requires, case):
    D, dtype, causal = case
    check_compiled(path, compiled.metadata)
    entry, threads = compiled.metadata.name, block_of(compiled)
    launch = {"file": f"{name}.cubin", "entry": entry,
              "arguments": arguments_of(path, made, entry, compiled.asm["ptx"]),
              "grid": made["grid"], "block": threads, "shared_memory": compiled.metadata.shared}
    if "axis_covers" in made:
        launch.update(axis_covers=made["axis_covers"], row_threads=threads)
    constants = {key: value for key, value in made["constexprs"].items() if type(value) is int and key != "D"}
    manifest = {"attnbench_kernel": 1, "name": name, "about": made.get("about", "a Triton kernel"), "math": made["math"],
                "compute_capability": f"{arch // 10}.{arch % 10}", "dtypes": [dtype], "D": [D], "causal": [causal]}
    manifest.update({"constants": constants} if constants else {})
    requires = list(made.get("requires", [])) + requires
    manifest.update({"requires": requires} if requires else {})
    manifest.update({key: made[key] for key in OPTIONAL if key in made})
    return {**manifest, "launches": [launch]}


def check_made(path, made):
    for key in ("kernel", "arguments", "constexprs", "grid", "math"):
        if key not in made:
            raise bad(path, f"attnbench() returned no \"{key}\"; see --help")
    if not hasattr(made["kernel"], "arg_names"):
        raise bad(path, "\"kernel\" is no @triton.jit function")


def export(path, describe, case, arguments):
    """Writes one kernel; returns the manifest's path, or None where there is no such kernel."""
    D, dtype, causal = case
    made = describe(D, dtype, causal)
    if made is None:
        return None
    check_made(path, made)
    base = made.get("name", made["kernel"].__name__.lower())
    name = f"{base}_d{D}_{dtype}_{'causal' if causal else 'full'}"
    if not re.fullmatch(r"[a-z0-9_]{1,32}", name):
        raise bad(path, f"\"{name}\" is no name of a variant: 1 to 32 of a-z 0-9 _; give a shorter \"name\"")
    compiled, arch, requires = compile_kernel(path, made, dtype, arguments.capability)
    manifest = manifest_of(path, made, name, compiled, arch, requires, case)
    files.write_whole(arguments.out / f"{name}.cubin", compiled.asm["cubin"])
    files.write_whole(arguments.out / f"{name}.json", files.json_text(manifest))
    return arguments.out / f"{name}.json"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE.py", help="the kernel and the function attnbench()")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FOLDER", help="write the files here; it is made when missing")
    parser.add_argument("--D", default="64", metavar="N,M", help="head dimensions (default: 64)")
    parser.add_argument("--dtype", default="f16", metavar="A,B", help="of f16, bf16, f32 (default: f16)")
    parser.add_argument("--mask", default="full,causal", metavar="A,B", help="of full, causal (default: both)")
    parser.add_argument("--compute-capability", metavar="X.Y", help="of the GPU to compile for (default: the one here)")
    arguments = parser.parse_args()
    arguments.capability = None
    if arguments.compute_capability is not None:
        if not re.fullmatch(r"\d{1,2}\.\d", arguments.compute_capability):
            parser.error(f"--compute-capability: {arguments.compute_capability} is none; give for example 9.0")
        arguments.capability = int(arguments.compute_capability.replace(".", ""))
    if not all(re.fullmatch(r"[1-9]\d{0,3}", dim) for dim in arguments.D.split(",")):
        parser.error(f"--D: {arguments.D} is no list of head dimensions")
    for option, words in (("dtype", TYPES), ("mask", ("full", "causal"))):
        for word in getattr(arguments, option).split(","):
            if word not in words:
                parser.error(f"--{option}: {word} is not one of {', '.join(words)}")
    return arguments


def main():
    arguments = parse_arguments()
    import_triton()
    describe = load_description(arguments.file)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(program.OUTPUT, f"{arguments.out}: cannot be made: {error.strerror}") from error
    cases = itertools.product(map(int, arguments.D.split(",")), arguments.dtype.split(","), arguments.mask.split(","))
    written = 0
    for D, dtype, mask in cases:
        manifest = export(arguments.file, describe, (D, dtype, mask == "causal"), arguments)
        if manifest is None:
            print(f"{arguments.file}: no kernel for D={D}, {dtype}, {mask}", file=sys.stderr)
            continue
        print(manifest)
        written += 1
    if written == 0:
        raise bad(arguments.file, "has a kernel for none of these; give other --D, --dtype or --mask")
    return 0


if __name__ == "__main__":
    program.run_main(main)
