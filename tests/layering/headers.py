#!/usr/bin/env python3
"""Checks the promise of the public headers: each stands alone, they bring in no header but the standard library's, and
all of them together cost under a second of compile time.

    headers.py INCLUDE_FOLDER COMPILER
"""
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 1.0  # seconds of processor time


def compile_headers(compiler, include, headers, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write("".join(f"#include <{header}>\n" for header in headers))
        source.flush()
        command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", include, *options, source.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(include, compiler):
    headers = sorted(str(path.relative_to(include)) for path in Path(include).rglob("*.h"))
    assert headers, f"no headers in {include}"
    for header in headers:
        dependencies = compile_headers(compiler, include, [header], "-M").replace("\\\n", " ").split()
        foreign = [d for d in dependencies if re.search(r"/(llvm|mlir|llvm-c|mlir-c|clang-c)/|cuda|hip/", d)]
        assert not foreign, f"{header} brings in {foreign}"
        compile_headers(compiler, include, [header], "-fsyntax-only")
    times = []
    for _ in range(3):
        before = processor_seconds()
        compile_headers(compiler, include, headers, "-fsyntax-only")
        times.append(processor_seconds() - before)
    print(f"{len(headers)} public headers, each compiles alone; all together in {min(times):.2f} s")
    assert min(times) < LIMIT, f"the public headers take {min(times):.2f} s to compile, the limit is {LIMIT} s"


if __name__ == "__main__":
    main(*sys.argv[1:])
