#!/usr/bin/env python3
"""What a call costs the host on an NVIDIA GPU: Sectile beside Triton and PyTorch.

    tools/bench/gpu_launch.py build/release/lib/libsectile.so [--out docs/benchmarks/gpu_launch.md]

Each figure of the first two columns is the median over new processes, in which a CUDA context and the tensors are there
already: from the first word to the library until the first result is complete. `cold`: all caches are empty. `warm`: a
process before has filled the cache on disk. `launch` is the host's time for one more call, the median over batches of
calls that do not wait for the GPU; `bare` is cuLaunchKernel of the same kernel with the same parameters through the same
kind of Python call, in batches between those of the calls, and `over bare` the median of their differences. Attention
forward, bf16, dim 128, causal.
"""
import argparse
import ctypes
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("library", help="libsectile.so of a release build; 'none' measures the others alone")
parser.add_argument("--targets", nargs="+", default=["cuda"])
parser.add_argument("--rivals", nargs="*", choices=["triton", "sdpa"], default=["triton", "sdpa"])
parser.add_argument("--processes", type=int, default=3, help="for each figure of the first two columns")
parser.add_argument("--out", help="also write the table as Markdown")
parser.add_argument("--child", help=argparse.SUPPRESS)  # a contender, measured in this process
options = parser.parse_args()

def batches(synchronize, *runs):
    """Microseconds of host time a call, of each run: one list of batches each, measured in turn."""
    times = [[] for _ in runs]
    for _ in range(60):
        for run, found in zip(runs, times):
            synchronize()
            begin = time.perf_counter()
            for _ in range(100):
                run()
            found.append((time.perf_counter() - begin) * 1e4)
    synchronize()
    return times


class KernelNode(ctypes.Structure):  # CUDA_KERNEL_NODE_PARAMS_v2
    _fields_ = [("function", ctypes.c_void_p), ("sizes", ctypes.c_uint * 7), ("parameters", ctypes.c_void_p),
                ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


def bare(call_on):
    """The launch alone of the kernel that `call_on(stream)` launches: what a graph records of it."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: CUDA error {status}")

    stream, graph, node = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    count, found = ctypes.c_size_t(1), KernelNode()
    check("cuStreamCreate", ctypes.byref(stream), 0)
    check("cuStreamBeginCapture_v2", stream, 0)
    call_on(stream.value)()
    check("cuStreamEndCapture", stream, ctypes.byref(graph))
    check("cuGraphGetNodes", graph, ctypes.byref(node), ctypes.byref(count))
    check("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(found))  # its parameters live as long as the graph
    arguments = [ctypes.c_void_p(found.function), *(ctypes.c_uint(n) for n in found.sizes), ctypes.c_void_p(None),
                 ctypes.c_void_p(found.parameters), None]
    launch = cuda.cuLaunchKernel

    def run():
        if launch(*arguments):
            raise RuntimeError("cuLaunchKernel failed")

    return run


def child(what):
    """Prints {"first": milliseconds, "launch": microseconds …}."""
    import torch
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 128, 1, 128, device="cuda").bfloat16() for _ in range(3))
    out = torch.empty_like(q)
    torch.cuda.synchronize()
    result = {}
    begin = time.perf_counter()
    if what == "triton":
        import triton  # of a program that uses it, as PyTorch is: not counted
        import triton_attention
        begin = time.perf_counter()
        run = lambda: triton_attention.attention(q, k, v, out, True, (128, 64, 4, 2))
    elif what == "sdpa":
        views = [t.transpose(1, 2) for t in (q, k, v)]
        run = lambda: torch.nn.functional.scaled_dot_product_attention(*views, is_causal=True)
    else:
        import sectile_c
        begin = time.perf_counter()
        library = sectile_c.Library(options.library)
        loaded = time.perf_counter()
        session = sectile_c.Session(library, what, os.environ["SECTILE_BENCH_CACHE"])
        result["load"], result["session"] = (loaded - begin) * 1e3, (time.perf_counter() - loaded) * 1e3
        run = sectile_c.Call(session, q, k, v, out, "bf16", True)
    run()
    torch.cuda.synchronize()
    result["first"] = (time.perf_counter() - begin) * 1e3
    runs = [run]
    if what not in ("triton", "sdpa"):
        result.update(session.last())
        runs.append(bare(lambda stream: sectile_c.Call(session, q, k, v, out, "bf16", True, stream=stream)))
    times = batches(torch.cuda.synchronize, *runs)
    result["launch"] = statistics.median(times[0])
    if len(times) == 2:
        result["bare"] = statistics.median(times[1])
        result["over"] = statistics.median(call - alone for call, alone in zip(*times))
    print("RESULT " + json.dumps(result))


def measured(what, folder):
    environment = dict(os.environ, SECTILE_BENCH_CACHE=os.path.join(folder, "sectile"),
                       TRITON_CACHE_DIR=os.path.join(folder, "triton"), CUDA_CACHE_PATH=os.path.join(folder, "cuda"),
                       PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, os.path.abspath(__file__), options.library, "--child", what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    lines = (done.stderr or done.stdout).strip().splitlines()
    raise RuntimeError(lines[-1] if lines else f"exit code {done.returncode}")


def main():
    header = ["", "cold ms", "warm ms", "launch us", "bare us", "over bare us"]
    lines, notes = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)], []
    print("\n".join(lines), flush=True)
    contenders = ([] if options.library == "none" else options.targets) + options.rivals
    failed = False
    for what in contenders:
        names = {"triton": "Triton", "sdpa": "PyTorch SDPA"}
        name = names.get(what, f"Sectile {what}")
        try:
            cold, warm = [], []
            for _ in range(options.processes):
                with tempfile.TemporaryDirectory() as folder:
                    cold.append(measured(what, folder))
                    warm.append(measured(what, folder))
            median = lambda runs, key: statistics.median(r[key] for r in runs)
            cells = [f"{median(cold, 'first'):.1f}", f"{median(warm, 'first'):.1f}", f"{median(warm, 'launch'):.1f}"]
            if what in names:
                cells += ["-", "-"]
            else:
                cells += [f"{median(warm, 'bare'):.1f}", f"{median(warm, 'over'):.1f}"]
                for label, runs in (("cold", cold), ("warm", warm)):
                    notes.append(f"* {name}, {label}: library loaded in {median(runs, 'load'):.1f} ms, session made in "
                                 f"{median(runs, 'session'):.1f} ms, kernel {runs[0]['source']}: compiled in "
                                 f"{median(runs, 'compile_ms'):.1f} ms, read in {median(runs, 'load_ms'):.1f} ms")
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            cells = ["-"] * 5
            notes.append(f"* {name} could not run: {str(error)[:300]}")
            failed |= what not in names
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    print("\n".join(["", *notes]), flush=True)
    if options.out:
        import torch
        machine = f"PyTorch {torch.__version__}; {torch.cuda.get_device_name()}; {datetime.date.today()}"
        with open(options.out, "w") as file:
            file.write("# What a call costs the host, on an NVIDIA GPU\n\n" + __doc__.split("\n\n", 2)[2] + "\n" +
                       "\n".join([machine, "", *lines, "", *notes]) + "\n")
    if failed:
        sys.exit("gpu_launch: Sectile could not run, see above")


if __name__ == "__main__":
    if options.child:
        child(options.child)
    else:
        main()
