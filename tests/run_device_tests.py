#!/usr/bin/env python3
"""Runs the test cases of device_tests (or of one suite) in processes of their own, several at a time.

    tests/run_device_tests.py build/device/bin/device_tests --target cuda
    tests/run_device_tests.py build/device/bin/device_tests --target nvptx:sm_80 --match '^A|random' --jobs 8
    tests/run_device_tests.py build/device/bin/device_tests --match softmax --wrap 'compute-sanitizer --tool racecheck'

A case that faults takes nothing else with it. Prints each failed case with the beginning of its messages, the slowest
cases and one line of totals; exits with 1 when a case failed, 77 when there is no device.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--target", default="cuda")
parser.add_argument("--match", default="", help="only cases whose names contain this regular expression")
parser.add_argument("--jobs", type=int, default=os.cpu_count())
parser.add_argument("--timeout", type=int, default=240, help="seconds a case")
parser.add_argument("--lines", type=int, default=14, help="of messages shown for a failed case")
parser.add_argument("--show", type=int, default=25, help="failed cases shown with messages")
parser.add_argument("--wrap", default="", help="a command to run each process under")
options = parser.parse_args()


def cases():
    listed = subprocess.run([options.program, "--list-test-names-only"], capture_output=True, text=True, check=False)
    names = [line for line in listed.stdout.splitlines() if line.strip()]
    if not names:
        sys.exit(f"{options.program} lists no test cases: {(listed.stderr or listed.stdout).strip()[:500]}")
    return [name for name in names if re.search(options.match, name)]


def run(name):
    pattern = re.sub(r'([\\,\[\]*"~])', r"\\\1", name)
    command = shlex.split(options.wrap) + [options.program, pattern, "--target", options.target]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=options.timeout,
                              env=dict(os.environ, SECTILE_CACHE="off"), check=False)
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace")
        code, output = "timeout", output + f"\nstopped after {options.timeout} s"
    if code == 0 and "No test cases matched" in output:
        code = "not found"
    if options.wrap and code == 0 and re.search(r"SUMMARY: [1-9]", output):
        code = "finding"
    return name, code, output, time.monotonic() - begin


def messages(output):
    """The lines that say what is wrong."""
    lines = [line for line in output.splitlines() if line.strip() and not re.match(r"^[-=.~]{5,}|^\S+ is a Catch|"
                                                                                     r"^Run with|^Filters", line)]
    return lines[-options.lines:] if len(lines) > 3 * options.lines else lines[:options.lines]


def show(result, lines):
    name, code, output, seconds = result
    print(f"FAILED ({code}, {seconds:.0f} s): {name}", flush=True)
    for line in messages(output) if lines else []:
        print("    " + line[:200], flush=True)


def main():
    names = cases()
    begin, results, failed = time.monotonic(), [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, name) for name in names]):
            result = done.result()
            if result[1] == 77:
                print(result[2].strip(), flush=True)
                os._exit(77)
            results.append(result)
            if result[1] != 0:
                failed += 1
                show(result, lines=failed <= options.show)
    slowest = sorted(results, key=lambda r: -r[3])[:5]
    print("slowest: " + "; ".join(f"{r[3]:.0f} s {r[0]}" for r in slowest))
    print(f"{options.target}: {len(results) - failed} of {len(results)} cases passed in "
          f"{time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
