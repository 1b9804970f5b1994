#!/usr/bin/env python3
"""Loads libsectile.so and the system's libLLVM into one process, all symbols global, and runs the tests of the C
interface there, which compile and run kernels. Two LLVMs that see each other's symbols crash.

    beside_llvm.py LIBLLVM LIBSECTILE CAPI_TESTS llvm-first|sectile-first
"""
import ctypes
import runpy
import sys


def main(llvm, sectile, tests, order):
    for library in (llvm, sectile) if order == "llvm-first" else (sectile, llvm):
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    other = ctypes.CDLL(llvm)
    version = [ctypes.c_uint() for _ in range(3)]
    other.LLVMGetVersion(*map(ctypes.byref, version))
    other.LLVMContextCreate.restype = ctypes.c_void_p
    assert other.LLVMContextCreate()
    other.LLVMInitializeX86Target()
    other.LLVMInitializeX86TargetMC()
    print("beside LLVM " + ".".join(str(part.value) for part in version), flush=True)
    sys.argv = [tests, sectile, "cpu"]
    runpy.run_path(tests, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
