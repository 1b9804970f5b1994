#!/usr/bin/env python3
"""Checks what libsectile.so shows to others: only names of the public headers, and something for every line of
cmake/exports.map. A library that shares LLVM may show what other version scripts list, too.

    exports.py LIBRARY SOURCE_FOLDER cmake/exports.map [cmake/type_ids.map]
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


def global_patterns(script):
    text = re.sub(r"/\*.*?\*/", "", Path(script).read_text(), flags=re.S)
    patterns = [p for p in re.findall(r"^ {2,4}([^\s}]+);", text, re.M) if p != "*"]  # that one stays inside
    assert patterns, f"no patterns in {script}"
    return patterns


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def main(library, source, *scripts):
    names = exported(library)
    headers = "\n".join(path.read_text() for path in (Path(source) / "include").rglob("*.h"))
    patterns = {script: global_patterns(script) for script in scripts}
    shared = [p for script in scripts[1:] for p in patterns[script]]
    foreign = [name for name in names if not is_public(name, headers) and not matches(name, shared)]
    # A line that matches nothing is misspelt, or what it named is gone from the library.
    unmatched = [(s, p) for s in scripts for p in patterns[s] if not any(matches(name, [p]) for name in names)]
    for name in foreign:
        print(f"exported, but not in the public headers: {name}")
    for script, pattern in unmatched:
        print(f"{script}: nothing matches: {pattern}")
    print(f"{len(names)} symbols exported, {len(foreign)} of them foreign")
    return bool(foreign or unmatched or not names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
