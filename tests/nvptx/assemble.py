#!/usr/bin/env python3
"""Compiles attention forward for every NVIDIA architecture with its default schedule and assembles it.

    assemble.py SECTILE FILECHECK [ARCHITECTURE…]

No register may be spilled, and the main loop has to consist of the instructions that main_loop.txt expects, which
FileCheck compares with a list of them and how often each occurs. Without an assembler it is skipped (exit code 77).
"""
import collections
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120"]
# Where there is less shared memory than the 228 KB of the others, schedules differ.
VARIANTS = {("sm_80", 128): "-WIDE"} | {(sm, dim): "-SMALL" for sm in ["sm_86", "sm_89", "sm_120"] for dim in [64, 128]}
HEAD_DIMS = [64, 128, 256]
# Kernels whose warps have roles are a family of their own, in each row of their table: for so many keys and heads of 512
# queries.
ROLES = "sm_90a roles"
ROLES_SIZES = [(keys, heads) for heads in [512, 4] for keys in [512, 2048, 8192]]
EXPECTED = Path(__file__).parent / "main_loop.txt"
SKIPPED = 77

LABEL = re.compile(r"^(\$\w+):")
BRANCH = re.compile(r"^\s*(?:@!?%p\d+\s+)?bra(?:\.uni)?\s+(\$\w+);")
INSTRUCTION = re.compile(r"^\t(?:@!?%p\d+\s+)?([a-z]\w*(?:\.\w+)+|bra|ret)\b")


def loops(ptx):
    """The instructions of each loop, as lines: from a label to the last branch back to it."""
    lines, labels, ends = ptx.splitlines(), {}, {}
    for number, line in enumerate(lines):
        if match := LABEL.match(line):
            labels[match[1]] = number
        elif (match := BRANCH.match(line)) and match[1] in labels:
            ends[labels[match[1]]] = number
    return [lines[begin:end + 1] for begin, end in ends.items()]


def opcodes(lines):
    counts = collections.Counter(match[1] for line in lines if (match := INSTRUCTION.match(line)))
    counts["wgmma.mma_async"] = sum("wgmma.mma_async" in line for line in lines)  # in the braces of assembly
    return +counts


def main_loop(ptx):
    """The shortest loop with matrix products, or all of a kernel with roles, whose loops lie in each other: "12 x
    mma.sync…", a line an instruction, sorted by name."""
    found = [loop for loop in loops(ptx) if any("mma.sync" in line for line in loop)]
    if "wgmma.mma_async" in ptx:
        found = [ptx.splitlines()]
    assert found, "no loop has a matrix product"
    counts = opcodes(min(found, key=len))
    return "".join(f"{counts[name]} x {name}\n" for name in sorted(counts)) + "end\n"


def compile_forward(sectile, architecture, head_dim, causal, size, folder):
    """The compiler's report, and the PTX. sm_75 has matrix instructions of f16 only."""
    dtype = "f16" if architecture == "sm_75" else "bf16"
    how = ["--heads", "1"]
    if architecture == ROLES:
        how = ["--heads", str(size[1]), "--kv-heads", "1", "--seqlen", "512", "--seqlen-kv", str(size[0])]
    elif architecture == "sm_90a":
        how += ["--schedule", "specialize=none"]
    command = [sectile, "--json", "compile", "attention-forward", "--target", f"nvptx:{architecture.split()[0]}",
               "--dtype", dtype, "--headdim", str(head_dim), "-o", folder] + how + (["--causal"] if causal else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), (folder / "kernel.ptx").read_text()


def problems(sectile, filecheck, case, folder):
    """What is wrong with one case, one string a finding, and a line about it."""
    architecture, head_dim, causal, size = case
    name = f"{architecture} d{head_dim}{' causal' if causal else ''}{f' {size[0]} keys, {size[1]} heads' if size else ''}"
    try:
        report, ptx = compile_forward(sectile, *case, folder)
    except RuntimeError as error:
        return [f"{name}: {error}"], name
    resources = report["resources"]
    line = (f"{name:20} {report['schedule']:40} {resources['registers']} registers, {resources['shared_bytes']} bytes of "
            f"shared memory, {resources['occupancy_blocks']} blocks")
    found = []
    if architecture == ROLES and resources.get("tensor_maps") != 3:
        found.append(f"{name}: the kernel has no roles")
    if resources["spill_bytes"]:
        found.append(f"{name}: {resources['spill_bytes']} bytes of registers are spilled")
    family = "TURING" if architecture == "sm_75" else "ROLES" if architecture == ROLES else "AMPERE"
    tiles = f"D{head_dim}{VARIANTS.get((architecture, head_dim), '')}"
    check = subprocess.run([filecheck, EXPECTED, f"--check-prefixes=ALL,{family},{family}-{tiles}",
                            "--allow-unused-prefixes"], input=main_loop(ptx), capture_output=True, text=True)
    if check.returncode:
        found.append(f"{name}: {check.stderr}\nthe main loop has\n{main_loop(ptx)}")
    return found, line


def main(sectile, filecheck, *architectures):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        report, _ = compile_forward(sectile, "sm_80", 64, False, None, scratch / "first")
        if report["target"].endswith(":driver"):
            print("skipped: neither libnvJitLink.so nor ptxas is on this machine")
            return SKIPPED
        cases = list(product(architectures or ARCHITECTURES, HEAD_DIMS, [False, True], [None]))
        if not architectures or ROLES in architectures:
            cases = [case for case in cases if case[0] != ROLES] + list(
                product([ROLES], HEAD_DIMS, [False, True], ROLES_SIZES))
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: problems(sectile, filecheck, case, scratch / "-".join(map(str, case))),
                                    cases))
    for _, line in results:
        print(line)
    found = [problem for case, _ in results for problem in case]
    print("\n".join(found) or f"{len(cases)} kernels with {report['target'].split(':')[-1]}: none spills")
    return bool(found)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
