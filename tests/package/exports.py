#!/usr/bin/env python3
"""Checks what libsectile.so shows to others: only names of the public headers, and something for every line of
cmake/exports.map.

    exports.py LIBRARY SOURCE_FOLDER
"""
import fnmatch
import re
import subprocess
import sys
from pathlib import Path


def exported(library):
    names = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    mangled = [line.split()[-1] for line in names.splitlines()]
    demangled = subprocess.run(["c++filt"], input="\n".join(mangled), check=True, capture_output=True, text=True).stdout
    return sorted(demangled.splitlines())


def is_public(name, headers):
    """A function of the C interface, or a C++ name of which every component stands in the public headers."""
    if re.fullmatch(r"sectile_\w+", name):
        return re.search(rf"\b{name}\b", headers) is not None
    name = re.sub(r"^(typeinfo|typeinfo name|vtable) for ", "", name)
    name = re.sub(r"^std::\S+ (?=sectile::)", "", name)  # the return type that a function template shows
    components = re.match(r"sectile::([\w:~]*(?:operator[^\w(]+)?)", name)
    if not components or name.startswith("sectile::dsl::"):
        return False
    return all(re.search(rf"(?<!\w){re.escape(c)}(?!\w)", headers) for c in components[1].split("::") if c)


def unmatched_patterns(names, script):
    """The lines of the version script that match nothing: misspelt, or gone from the library."""
    script = re.sub(r"/\*.*?\*/", "", script, flags=re.S)
    patterns = re.findall(r"^ {2,4}([^\s}]+);", script, re.M)
    patterns.remove("*")  # what stays inside
    assert patterns, "no patterns in exports.map"
    return [p for p in patterns if not any(fnmatch.fnmatchcase(n, p) for n in names)]


def main(library, source):
    names = exported(library)
    headers = "\n".join(path.read_text() for path in (Path(source) / "include").rglob("*.h"))
    foreign = [name for name in names if not is_public(name, headers)]
    unmatched = unmatched_patterns(names, (Path(source) / "cmake/exports.map").read_text())
    for name in foreign:
        print(f"exported, but not in the public headers: {name}")
    for pattern in unmatched:
        print(f"exports.map: nothing matches: {pattern}")
    print(f"{len(names)} symbols exported, {len(foreign)} of them foreign")
    return bool(foreign or unmatched or not names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
