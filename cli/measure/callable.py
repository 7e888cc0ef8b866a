"""Runs users' Python functions inside a worker. callable.c starts the interpreter of its process with this source and
calls connect(); from then on it calls answer() for each step of a cell.

On a GPU a function gets PyTorch's tensors, on a CPU NumPy's arrays, which are attnbench's own memory. NumPy has no
bfloat16 and no e4m3: there such tensors are copied to float32 before each call, and results are rounded. Needs Python 3.6.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import inspect
import json
import math
import os
import runpy
import sys
import traceback

LOAD, BIND, LAUNCH, COLLECT, CLOSE = range(5)  # enum step in callable.c
DONE, REFUSED, FAILED, NO_MEMORY = range(4)  # enum answer
TEXT_MAX = 512
OPTIONS = ("causal", "scale", "window", "softcap", "sink", "lse", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k",
           "page_table", "q_scale", "k_scale", "v_scale", "block_counts", "block_indices", "block_size")
OTHER_NAMES = ("is_causal",)  # which other libraries give to options, and callable.c answers with ours

functions, calls, modules = {}, {}, {}


# ---- functions ----------------------------------------------------------------------------------------------------

def import_file(path):
    """A file's folder comes first in the search for what it imports, as if Python ran the file."""
    if path in modules:
        return modules[path]
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules or not name.isidentifier():
        name = "attnbench_loaded_%d" % len(modules)
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    modules[path] = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(modules[path])
    return modules[path]


def confirm(module, name, found):
    """Python code that started attnbench, as the package attnbench does, says which object it meant by a name."""
    expected = json.loads(os.environ.get("ATTNBENCH_EXPECTED") or "{}")
    told = runpy.run_path(expected["by"])["mismatch"](expected["functions"], module, name, found) if expected else ""
    if told:
        raise ValueError(told)


class Function:
    """A function of the user's, and the options that it has parameters for."""

    def __init__(self, module, name):
        self.call = import_file(module) if module.endswith(".py") else importlib.import_module(module)
        for part in name.split("."):
            if not hasattr(self.call, part):
                raise AttributeError("there is no %s in %s" % (name, os.path.basename(module)))
            self.call = getattr(self.call, part)
        if not callable(self.call):
            raise TypeError("%s is of type %s, which cannot be called" % (name, type(self.call).__name__))
        confirm(module, name, self.call)
        self.file, self.name = module, name
        parameters = inspect.signature(self.call).parameters.values()
        takes_all, names = any(p.kind is p.VAR_KEYWORD for p in parameters), [p.name for p in parameters]
        self.options = [o for o in OPTIONS if takes_all or o in names]
        self.other_names = [n for n in OTHER_NAMES if n in names]


def keywords_of(function, problem):
    """The options of a problem by name: causal and scale always, the others where the problem has them."""
    values = {"causal": problem["causal"], "scale": 1.0 / math.sqrt(problem["D"])}
    if "window" in problem:
        values["window"] = tuple(problem["window"])
    if problem["softcap"]:
        values["softcap"] = problem["softcap"]
    if problem["lse"]:
        values["lse"] = True
    if problem["ragged"] or problem["paged"]:
        values.update((name, problem[name]) for name in ("max_seqlen_q", "max_seqlen_k"))
    if problem["block_size"]:
        values["block_size"] = problem["block_size"]
    return {name: value for name, value in values.items() if name in function.options}


def arranged(tensors, problem):
    """The tensors as functions get them: without dimensions of 1, and those of a ragged batch as [tokens, heads, columns], pages
    as [pages, page, heads, columns]."""
    def arrange(name, tensor):
        if name == "sink":
            return tensor[0, :, 0, 0]
        if name.endswith("_scale"):  # [1], [B, Hkv] or, of k and v, [B, Hkv, blocks]
            whole = tensor[..., 0] if problem["scales"].startswith("block") and name != "q_scale" else tensor[:, :, 0, 0]
            return whole[0] if problem["scales"] == "tensor" else whole
        if name.startswith("cu_seqlens"):
            return tensor[0, 0, :, 0]
        if name == "page_table":
            return tensor[:, 0, :, 0]
        if name in ("k", "v") and problem["paged"]:
            return tensor.swapaxes(1, 2)
        if name == "block_counts":
            return tensor[..., 0]
        if name == "block_indices":
            return tensor
        if name == "lse":
            return tensor[0, :, :, 0] if problem["ragged"] else tensor[..., 0]
        return tensor[0].swapaxes(0, 1) if problem["ragged"] else tensor
    return {name: arrange(name, tensor) for name, tensor in tensors.items()}


# Tensors that are given by name, where the problem has them.
NAMED = ("sink", "cu_seqlens_q", "cu_seqlens_k", "page_table", "q_scale", "k_scale", "v_scale", "block_counts", "block_indices")


def split_outputs(function, returned, wants_lse):
    """(o, lse or None) of what a function returned: o, or a tuple with the log-sum-exp behind it."""
    outputs = returned if isinstance(returned, (tuple, list)) else (returned,)
    if not outputs:
        raise TypeError("%s returned an empty %s" % (function.name, type(returned).__name__))
    if wants_lse and len(outputs) < 2:
        raise TypeError("%s returned no log-sum-exp behind o" % function.name)
    return outputs[0], (outputs[1] if wants_lse else None)


def require(function, what, tensor, shape, dtype):
    """A tensor of another shape or type would be a different amount of work. dtype: None is any."""
    found = tuple(getattr(tensor, "shape", ()))
    if not hasattr(tensor, "dtype") or found != tuple(shape) or (dtype is not None and tensor.dtype != dtype):
        told = "%s of %s" % (found, tensor.dtype) if hasattr(tensor, "dtype") else "a " + type(tensor).__name__
        raise TypeError("%s gave %s for %s, not %s%s" % (function.name, told, what, tuple(shape), " of %s" % dtype if dtype else ""))


def e4m3(bits):
    """The number that a byte is as OCP's E4M3FN."""
    exponent, mantissa = bits >> 3 & 15, bits & 7
    size = math.nan if bits & 127 == 127 else math.ldexp(8 + mantissa, exponent - 10) if exponent else math.ldexp(mantissa, -9)
    return -size if bits & 128 else size


E4M3 = [e4m3(bits) for bits in range(256)]


# ---- a CPU: NumPy -------------------------------------------------------------------------------------------------

class NumpyCall:
    def __init__(self, function, problem):
        import numpy
        self.np, self.function, self.problem = numpy, function, problem
        self.library = "NumPy " + numpy.__version__
        self.keywords = keywords_of(function, problem)
        self.tensor = arranged({name: self.view(**view) for name, view in problem["tensors"].items()}, problem)
        self.is_bf16 = problem["tensors"]["o"]["dtype"] == "bf16"
        self.outputs = None

    def view(self, at, shape, strides, dtype):
        """attnbench's memory as an array."""
        kind = self.np.dtype({"f16": "float16", "bf16": "uint16", "f32": "float32", "i32": "int32", "e4m3": "uint8"}[dtype])
        elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
        memory = (ctypes.c_char * (elements * kind.itemsize)).from_address(at)
        return self.np.ndarray(shape, kind, memory, strides=[stride * kind.itemsize for stride in strides])

    def given(self, name):
        """An input as the function gets it: not to be written to."""
        array = self.tensor[name]
        if array.dtype == self.np.uint16:
            return (array.astype(self.np.uint32) << 16).view(self.np.float32)
        if array.dtype == self.np.uint8:
            return self.np.array(E4M3, self.np.float32)[array]
        array = array.view()
        array.flags.writeable = False
        return array

    def launch(self):
        self.outputs = None
        self.keywords.update((name, self.given(name)) for name in NAMED if name in self.tensor)
        returned = self.function.call(self.given("q"), self.given("k"), self.given("v"), **self.keywords)
        o, lse = split_outputs(self.function, returned, self.problem["lse"])
        require(self.function, "o", o, self.tensor["o"].shape, self.np.dtype("float32") if self.is_bf16 else self.tensor["o"].dtype)
        if lse is not None:
            require(self.function, "the log-sum-exp", lse, self.tensor["lse"].shape, None)
        self.outputs = o, lse

    def bf16(self, array):
        """Rounded to nearest, ties to even; the bits."""
        bits = self.np.ascontiguousarray(array).view(self.np.uint32)
        rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
        return self.np.where(self.np.isnan(array), 0x7fc0, rounded).astype(self.np.uint16)

    def collect(self):
        o, lse = self.outputs
        self.tensor["o"][...] = self.bf16(o) if self.is_bf16 else o
        if lse is not None:
            self.tensor["lse"][...] = lse

    def close(self):
        pass


# ---- a GPU: PyTorch -----------------------------------------------------------------------------------------------

class Memory:
    """attnbench's memory, for torch.as_tensor."""

    def __init__(self, at, shape, strides, dtype):
        code, size = {"f16": ("<f2", 2), "bf16": ("<i2", 2), "f32": ("<f4", 4), "i32": ("<i4", 4), "e4m3": ("|u1", 1)}[dtype]
        self.__cuda_array_interface__ = {"version": 2, "data": (at, False), "typestr": code, "shape": tuple(shape),
                                         "strides": tuple(stride * size for stride in strides)}


class TorchCall:
    """Calls on attnbench's stream. The memory that a captured call used stays its own until the case is over."""

    def __init__(self, function, problem):
        import torch
        self.torch, self.function, self.problem = torch, function, problem
        self.library = "PyTorch " + torch.__version__.partition("+")[0]
        self.device = torch.device("cuda", problem["ordinal"])
        torch.cuda.set_device(self.device)
        self.stream = torch.cuda.ExternalStream(problem["stream"], device=self.device)
        self.pool = torch.cuda.MemPool() if hasattr(torch.cuda, "use_mem_pool") else None
        self.keywords = keywords_of(function, problem)
        self.tensor = arranged({name: self.view(**view) for name, view in problem["tensors"].items()}, problem)
        self.inputs = [self.tensor[name] for name in ("q", "k", "v")]
        self.keywords.update((name, self.tensor[name]) for name in NAMED if name in self.tensor)
        self.outputs, self.is_captured = None, False

    def view(self, at, shape, strides, dtype):
        tensor = self.torch.as_tensor(Memory(at, shape, strides, dtype), device=self.device)
        as_type = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn"}.get(dtype)
        return tensor.view(getattr(self.torch, as_type)) if as_type else tensor

    def memory(self):
        return self.torch.cuda.use_mem_pool(self.pool) if self.is_captured and self.pool else contextlib.nullcontext()

    def launch(self):
        self.outputs = None
        with self.torch.cuda.stream(self.stream), self.torch.no_grad():
            self.is_captured = self.torch.cuda.is_current_stream_capturing()
            with self.memory():
                returned = self.function.call(*self.inputs, **self.keywords)
        o, lse = split_outputs(self.function, returned, self.problem["lse"])
        require(self.function, "o", o, self.tensor["o"].shape, self.tensor["o"].dtype)
        if lse is not None:
            require(self.function, "the log-sum-exp", lse, self.tensor["lse"].shape, None)
        if any(o.untyped_storage().data_ptr() == i.untyped_storage().data_ptr() for i in self.inputs):
            raise TypeError("%s returned the memory of an input" % self.function.name)
        self.outputs = o, lse

    def collect(self):
        o, lse = self.outputs
        with self.torch.cuda.stream(self.stream), self.torch.no_grad():
            self.tensor["o"].copy_(o)
            if lse is not None:
                self.tensor["lse"].copy_(lse)
            for output in (o, lse):
                if self.is_captured and output is not None:
                    output.fill_(math.nan)

    def close(self):
        self.outputs = None
        if self.pool is not None:  # without pools the memory of another function's capture would go too
            self.pool = None
            self.torch.cuda.empty_cache()


# ---- what callable.c calls ----------------------------------------------------------------------------------------

def load(key, text):
    wanted = json.loads(text)
    functions[key] = Function(wanted["module"], wanted["function"])
    return " ".join(functions[key].options + functions[key].other_names)


def bind(key, text):
    problem = json.loads(text)
    calls[key] = (TorchCall if problem["stream"] else NumpyCall)(functions[problem["slot"]], problem)
    return calls[key].library


STEPS = {LOAD: load, BIND: bind, LAUNCH: lambda key, _: calls[key].launch(), COLLECT: lambda key, _: calls[key].collect(),
         CLOSE: lambda key, _: calls.pop(key).close() if key in calls else None}


def explain(error):
    """One line: the exception, and the place in the user's files that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != "<attnbench>"]
    mine = [frame for frame in frames if frame.filename in modules]
    place = " (%s:%s)" % (os.path.basename((mine or frames)[-1].filename), (mine or frames)[-1].lineno) if frames else ""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        text += "; ATTN_PYTHON names the interpreter, %s here" % (sys.executable or "python3")
    return "%s%s%s%s" % (type(error).__name__, ": " if text else "", text[:TEXT_MAX // 2], place)


def answer_of(error):
    if isinstance(error, NotImplementedError):
        return REFUSED
    is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return NO_MEMORY if is_memory else FAILED


def answer(step, key, text, out):
    said, result = "", DONE
    try:
        said = STEPS[step](key, text.decode() if text else "") or ""
    except BaseException as error:  # whatever the user's code raises, SystemExit included
        said, result = explain(error), answer_of(error)
    ctypes.memmove(out, said.encode("ascii", "replace")[:TEXT_MAX - 1] + b"\0", min(len(said), TEXT_MAX - 1) + 1)
    return result


ANSWER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p)
callback = ANSWER(answer)  # lives as long as the process


def connect(slot, interpreter):
    """Makes this interpreter the one that was asked about itself, and writes where answer() is."""
    about = json.loads(interpreter)
    sys.path[:], sys.executable, sys.prefix = about["path"], about["executable"], about["prefix"]
    sys.argv = ["attnbench"]
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(line_buffering=True)
    os.environ["ATTNBENCH_IMPORTS"] = "1"  # a file that measures when it is imported would start itself again
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # processes that compile would be left behind
    ctypes.c_void_p.from_address(slot).value = ctypes.cast(callback, ctypes.c_void_p).value
