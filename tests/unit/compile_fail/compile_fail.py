#!/usr/bin/env python3
"""Checks that misuse does not compile: a file must fail on the line marked `// ERROR: <pattern>`, with a message that
matches; a file without a mark must compile, so that a failure is due to the misuse.

    compile_fail.py COMPILER INCLUDE_FOLDER FILE...
"""
import re
import subprocess
import sys
from pathlib import Path


def problem(compiler, include, path):
    marks = [(number, mark[1]) for number, line in enumerate(path.read_text().splitlines(), 1)
             if (mark := re.search(r"// ERROR: (.*)", line))]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", include, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    if not marks:
        return f"must compile:\n{result.stderr}" if result.returncode else None
    if result.returncode == 0:
        return "compiles"
    for number, pattern in marks:
        if not re.search(rf"{re.escape(path.name)}:{number}:\d+: error: .*{pattern}", result.stderr):
            return f"no error on line {number} that matches '{pattern}':\n{result.stderr}"
    return None


def main(compiler, include, *files):
    failed = False
    for path in map(Path, files):
        reason = problem(compiler, include, path)
        print(f"{path.name}: {reason or 'as expected'}")
        failed = failed or reason is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
