#!/usr/bin/env python3
"""Installs a build into a scratch folder, then configures, builds and runs a project of its own against it, whose
programs are the C++ examples of README.md, each a whole program.

    package.py BUILD_FOLDER SOURCE_FOLDER CXX_COMPILER
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, **options):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def main(build, source, compiler):
    examples = re.findall(r"^```cpp\n(.*?)^```", (Path(source) / "README.md").read_text(), re.M | re.S)
    assert examples, "README.md shows no C++ program"
    with tempfile.TemporaryDirectory(prefix="sectile-package-") as folder:
        scratch = Path(folder)
        prefix, programs = scratch / "prefix", scratch / "programs"
        programs.mkdir()
        for number, text in enumerate(examples):
            assert "int main" in text, f"example {number} of README.md is not a whole program:\n{text}"
            (programs / f"example{number}.cpp").write_text(text)

        run("cmake", "--install", build, "--prefix", prefix, stdout=subprocess.DEVNULL)
        run("cmake", "-S", Path(source) / "tests/package/consumer", "-B", scratch / "build", "-G", "Ninja",
            f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPROGRAMS={programs}",
            "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", scratch / "build")
        environment = {**os.environ, "SECTILE_CACHE": str(scratch / "cache")}
        for number in range(len(examples)):
            run(scratch / f"build/example{number}", env=environment)
        run(prefix / "bin/sectile", "--version")


if __name__ == "__main__":
    main(*sys.argv[1:])
