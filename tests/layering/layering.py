#!/usr/bin/env python3
"""Checks the include arrows of docs/design.md section 2, and that every source file is built.

    layering.py ROOT          check the tree: one line a violation, exit 1 if there is any
    layering.py --self-test   plant one violation of each kind in a scratch tree and expect it to be reported
"""
import re
import sys
import tempfile
from pathlib import Path

# A layer is a folder or a file; the longest match wins. It may include itself and what its list names (with all inside).
# "std" are headers without a slash in angle brackets; other libraries go by the first folder of their headers.
LAYERS = {
    "include": ["std"],
    "compiler/support": ["include", "std", "llvm"],
    "compiler/ir": ["include", "compiler/support", "std", "llvm", "mlir"],
    "compiler/analysis": ["include", "compiler/support", "compiler/ir", "std", "llvm", "mlir"],
    "compiler/transforms": ["include", "compiler/support", "compiler/ir", "compiler/analysis", "std", "llvm", "mlir"],
    "compiler/lower": ["include", "compiler/support", "compiler/ir", "compiler/analysis", "compiler/transforms",
                       "compiler/targets/Target.h", "std", "llvm", "mlir"],
    # a plain description without IR: whoever needs the machine's limits may read it
    "compiler/targets/Target.h": ["include", "compiler/support", "std", "llvm"],
    "compiler/targets": ["include", "compiler/support", "compiler/ir", "compiler/analysis", "compiler/transforms",
                         "compiler/lower", "compiler/dsl/TracedKernel.h", "std", "llvm", "mlir", "lld"],
    # a traced kernel without its IR: what the compiler and the runtime hand to each other
    "compiler/dsl/TracedKernel.h": ["include", "std"],
    "compiler/dsl": ["include", "compiler/support", "compiler/ir", "std", "llvm", "mlir"],
    "compiler/interpret": ["include", "compiler/support", "compiler/ir", "compiler/dsl", "std", "llvm", "mlir"],
    "compiler/Compiler.h": ["include", "compiler/support", "compiler/dsl/TracedKernel.h", "compiler/targets/Target.h",
                            "std", "llvm"],
    "compiler": ["include", "std", "llvm", "mlir"],
    "runtime": ["include", "compiler/Compiler.h", "compiler/dsl/TracedKernel.h", "compiler/targets/Target.h",
                "compiler/interpret", "compiler/support", "std", "llvm"],
    "kernels": ["include", "std"],
    "examples": ["include", "std"],
    "tools": ["*"],
    "tests": ["*"],
}
EXTERNAL = ("llvm", "mlir", "lld", "CLI", "catch2", "sys")
SOURCES = {".h", ".hpp", ".cpp", ".c", ".td"}
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*([<"])([^>"]+)[>"]')


def source_files(root):
    """All sources of the project; a folder with its own .git or named build* is not part of it."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in SOURCES and not any(p.startswith("build") or p.startswith(".") for p in parts):
            yield path


def layer_of(name):
    matches = [layer for layer in LAYERS if name == layer or name.startswith(layer + "/")]
    return max(matches, key=len, default=None)


def target_of(root, path, quote, name):
    """The layer or external library that an include names, or None when there is no such file."""
    if quote == "<" and "/" not in name:
        return "std"
    candidates = [root / name, root / "include" / name]
    if quote == '"':
        candidates.insert(0, path.parent / name)
    for candidate in candidates:
        if candidate.is_file():
            return layer_of(str(candidate.resolve().relative_to(root)))
    if name.endswith(".inc") and layer_of(name):  # generated from a .td of that folder
        return layer_of(name)
    first = name.split("/")[0]
    return "std" if quote == "<" and first == "sys" else first if first in EXTERNAL else None


def include_violations(root, path):
    name = str(path.relative_to(root))
    layer = layer_of(name)
    if layer is None:
        yield f"{name}:1: this folder is in no layer: add it to {Path(__file__).name}"
        return
    allowed = LAYERS[layer]
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match or "*" in allowed:
            continue
        target = target_of(root, path, *match.groups())
        if target is None:
            yield f"{name}:{number}: includes '{match[2]}', which is neither in the tree nor a known library"
        elif not any(target == a or target.startswith(a + "/") for a in [layer, *allowed]):
            yield f"{name}:{number}: '{layer}' may not include '{match[2]}' ({target}); allowed: {', '.join(allowed)}"


def built_sources(root):
    """The files that any CMakeLists.txt names, with or without their suffix."""
    for lists in root.rglob("CMakeLists.txt"):
        for word in re.split(r"[\s()\"]+", re.sub(r"#.*", "", lists.read_text())):
            path = (lists.parent / word).resolve()
            yield from (path, path.with_name(path.name + ".cpp"))


def violations(root):
    root = root.resolve()
    built = set(built_sources(root))
    for path in source_files(root):
        yield from include_violations(root, path)
        if path.suffix in {".cpp", ".c"} and path not in built:
            yield f"{path.relative_to(root)}:1: in no CMakeLists.txt, so it is never built"


PLANTED = [  # file, its text, what the report must say
    ("include/sectile/Bad.h", "#include \"llvm/ADT/StringRef.h\"\n", "'include' may not include 'llvm/"),
    ("include/sectile/Bad.h", "#include \"compiler/ir/Tile.h\"\n", "'include' may not include 'compiler/ir/Tile.h'"),
    ("compiler/support/Bad.h", "#include \"compiler/ir/Tile.h\"\n", "'compiler/support' may not include"),
    ("compiler/ir/Bad.h", "#include \"compiler/lower/Lower.h\"\n", "'compiler/ir' may not include"),
    ("compiler/lower/Bad.h", "#include \"compiler/targets/cpu/Emit.h\"\n", "'compiler/lower' may not include"),
    ("compiler/lower/Bad.h", "\n#include \"runtime/Cache.h\"\n", "Bad.h:2: 'compiler/lower' may not include"),
    ("compiler/Bad.h", "#include \"runtime/Cache.h\"\n", "'compiler' may not include 'runtime/Cache.h'"),
    ("runtime/Bad.h", "#include \"compiler/lower/Lower.h\"\n", "'runtime' may not include 'compiler/lower/Lower.h'"),
    ("runtime/Bad.h", "#include \"mlir/IR/Builders.h\"\n", "'runtime' may not include 'mlir/IR/Builders.h'"),
    ("kernels/Bad.h", "#include \"compiler/ir/Tile.h\"\n", "'kernels' may not include"),
    ("kernels/Bad.h", "#include \"sectile/Missing.h\"\n", "neither in the tree nor a known library"),
    ("examples/Bad.h", "#include \"runtime/Cache.h\"\n", "'examples' may not include"),
    ("elsewhere/Bad.h", "", "in no layer"),
    ("kernels/Forgotten.cpp", "", "in no CMakeLists.txt"),
]


def self_test():
    """Each planted violation is reported, and the same tree without it is clean."""
    clean = {
        "include/sectile/Tile.h": "#include <vector>\n",
        "compiler/ir/Tile.h": "#include \"sectile/Tile.h\"\n#include \"mlir/IR/Dialect.h\"\n",
        "compiler/lower/Lower.h": "#include \"compiler/ir/Tile.h\"\n",
        "compiler/targets/cpu/Emit.h": "#include \"compiler/lower/Lower.h\"\n",
        "runtime/Cache.h": "#include \"sectile/Tile.h\"\n",
        "kernels/Built.cpp": "#include \"sectile/Tile.h\"\n",
        "kernels/CMakeLists.txt": "sectile_library(kernels Built.cpp) # Forgotten.cpp\n",
    }
    for name, text, expected in [(None, None, None), *PLANTED]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for file, content in {**clean, **({name: text} if name else {})}.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(content)
            found = list(violations(root))
            if name is None:
                assert not found, found
            else:
                assert len(found) == 1 and expected in found[0], f"planted {name}: {text!r}, reported {found}"
    print(f"{len(PLANTED)} planted violations reported")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 2:
        found = list(violations(Path(sys.argv[1])))
        print("\n".join(found) or "layering: no violation")
        sys.exit(bool(found))
    else:
        sys.exit(__doc__)
