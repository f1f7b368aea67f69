#!/usr/bin/env python3
"""Arrays of Python's in kernels of oxshmem: one PE, started by oxshmem-run or torchrun.

    oxshmem-run -n 2 python3 dlpack.py [--torch] [--library FILE] [ELEMENTS]

Each PE hands two arrays to the library as DLPack's capsules. A kernel puts the one to the next PE, and gets into the other
what the previous PE has received. With NumPy, on emulated GPUs; with --torch, tensors of PyTorch on the PE's device.
"""

import argparse
import ctypes
import pathlib
import sys

ROOM = 4096
FORMS = ((b"dltensor_versioned", 1), (b"dltensor", 0))

api = ctypes.pythonapi
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Names of capsules that were taken; a capsule does not keep its name alive.
USED = {name: b"used_" + name for name, _ in FORMS}


def take(array):
    """The pointer of the array's capsule, which is ours from then on, and whether it is a versioned one."""
    capsule = array.__dlpack__()
    for name, versioned in FORMS:
        if api.PyCapsule_IsValid(capsule, name):
            pointer = api.PyCapsule_GetPointer(capsule, name)
            api.PyCapsule_SetName(capsule, USED[name])
            return pointer, versioned
    raise RuntimeError(f"{capsule} is no capsule of DLPack's")


class Library:
    """The library, and the PE that it makes of this process."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.message = ctypes.create_string_buffer(ROOM)
        pointer = ctypes.c_void_p
        self.c.oxshmem_start.restype = pointer
        for name in ("my_pe", "n_pes", "device"):
            getattr(self.c, f"oxshmem_{name}").argtypes = [pointer]
        self.c.oxshmem_exchange.argtypes = [pointer, pointer, pointer, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        self.c.oxshmem_agree.argtypes = [pointer, ctypes.c_uint]
        self.c.oxshmem_end.argtypes = [pointer, ctypes.c_char_p, ctypes.c_size_t]
        self.session = self.c.oxshmem_start(self.message, ctypes.c_size_t(ROOM))
        if not self.session:
            raise RuntimeError(self.message.value.decode())
        self.me, self.n = self.c.oxshmem_my_pe(self.session), self.c.oxshmem_n_pes(self.session)
        self.device = self.c.oxshmem_device(self.session)

    def exchange(self, source, target):
        """None, or what went wrong."""
        (source, versioned), (target, other) = take(source), take(target)
        assert versioned == other
        failed = self.c.oxshmem_exchange(self.session, source, target, versioned, self.message, ROOM)
        return self.message.value.decode() if failed else None

    def agree(self, ok):
        return self.c.oxshmem_agree(self.session, int(ok)) == 1

    def end(self):
        if self.c.oxshmem_end(self.session, self.message, ROOM):
            raise RuntimeError(self.message.value.decode())


class NumPy:
    """Arrays on the host."""

    def __init__(self, _):
        import numpy

        self.of, self.name = numpy, f"numpy {numpy.__version__}"

    def numbers(self, elements, first):
        return self.of.arange(elements, dtype=self.of.float32) + self.of.float32(first)

    def doubles(self, elements):
        return self.of.zeros(elements, dtype=self.of.float64)

    def columns(self, elements):
        return self.of.zeros((elements, 2), dtype=self.of.float32)[:, 0]

    def wait(self):
        pass


class Torch:
    """Tensors on the PE's device."""

    def __init__(self, device):
        import torch

        self.of, self.name = torch, f"torch {torch.__version__}"
        self.at = {"device": "cpu" if device < 0 else f"cuda:{device}"}

    def numbers(self, elements, first):
        return self.of.arange(elements, dtype=self.of.float32, **self.at) + first

    def doubles(self, elements):
        return self.of.zeros(elements, dtype=self.of.float64, **self.at)

    def columns(self, elements):
        return self.of.zeros((elements, 2), dtype=self.of.float32, **self.at)[:, 0]

    def wait(self):
        # The library's streams are its own: what PyTorch has queued must be over.
        if self.at["device"] != "cpu":
            self.of.cuda.synchronize(self.at["device"])


def check(library, arrays, elements):
    """What is wrong, in words."""
    me, n, wrong = library.me, library.n, []
    source, target = arrays.numbers(elements, 1000 * me), arrays.numbers(elements, -1)
    doubles, columns = arrays.doubles(8), arrays.columns(8)
    references = [sys.getrefcount(array) for array in (source, target, doubles, columns)]
    arrays.wait()
    for _ in range(3):
        error = library.exchange(source, target)
        if error:
            return [error]
    if not bool((target == arrays.numbers(elements, 1000 * ((me - 2) % n))).all()):
        wrong.append(f"PE {me} received {target[:4]}...")
    if not bool((source == arrays.numbers(elements, 1000 * me)).all()):
        wrong.append(f"PE {me}'s source was changed")
    # What does not fit is refused before the PEs meet, and the tensors are given back all the same.
    for array, part in ((doubles, "float64"), (columns, "contiguous")):
        error = library.exchange(array, target)
        if part not in (error or ""):
            wrong.append(f"PE {me} expected an error with {part!r}, not {error}")
    del array
    if [sys.getrefcount(array) for array in (source, target, doubles, columns)] != references:
        wrong.append(f"PE {me}: a tensor was not given back once")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true", help="tensors of PyTorch in the place of NumPy's arrays")
    default = pathlib.Path(__file__).resolve().parent / "libdlpack.so"
    parser.add_argument("--library", default=default, help="the library, if not beside this script")
    parser.add_argument("elements", nargs="?", type=int, default=10_007)
    options = parser.parse_args()
    library = Library(options.library)
    arrays = (Torch if options.torch else NumPy)(library.device)
    wrong = check(library, arrays, options.elements)
    for line in wrong:
        print(line, file=sys.stderr)
    ok = library.agree(not wrong)
    if library.me == 0:
        device = "emulated GPU" if library.device < 0 else "CUDA"
        print(f"dlpack  {device}  {arrays.name}  {library.n} PEs  verified {'yes' if ok else 'no'}", flush=True)
    if ok:
        library.end()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
