#!/usr/bin/env python3
"""Attention forward on the host: Sectile through its C interface beside PyTorch's CPU flash kernel.

    tools/bench/cpu_attention.py build/release/lib/libsectile.so [--peak build/release/tools/bench/libfma_peak.so]
                                 [--out docs/benchmarks/cpu_attention.md]

One process, the same tensors, rounds of one contender after the other; the figure is the median over all timed calls.
GFLOP/s count 4 * seqlen^2 * dim a head, half of it when causal. `ratio` is Sectile's speed over PyTorch's. `error` is
the largest difference from an fp64 computation over sampled rows, Sectile's / PyTorch's. `peak` are multiply-adds of
f32 in registers, in as many threads, in the same rounds: what the vector units can do at that moment.
"""
import argparse
import ctypes
import datetime
import os
import platform
import statistics
import sys
import time

from sectile_c import TYPES, Array, AttentionOptions, Options


class Sectile:
    """One session of a given number of threads."""

    def __init__(self, path, threads):
        self.library = ctypes.CDLL(path)
        for name in ("error_message", "version", "session_target"):
            getattr(self.library, "sectile_" + name).restype = ctypes.c_char_p
        options = Options()
        self.check("options_init", ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.target, options.cache, options.threads = b"cpu", b"off", threads
        self.session = ctypes.c_void_p()
        self.check("session_create", ctypes.byref(options), ctypes.byref(self.session))

    def check(self, name, *arguments):
        error = ctypes.c_void_p()
        if getattr(self.library, "sectile_" + name)(*arguments, ctypes.byref(error)):
            sys.exit(f"sectile_{name}: {self.library.sectile_error_message(error).decode()}")

    def attention(self, q, k, v, out, dtype, causal, schedule):
        """A function of no arguments that runs one call. Tensors are (batch, seqlen, heads, dim)."""
        arrays = [Array(t.data_ptr(), TYPES[dtype], 4, (ctypes.c_int64 * 6)(*t.shape),
                        (ctypes.c_int64 * 6)(*t.stride())) for t in (q, k, v, out)]
        options = AttentionOptions()
        self.check("attention_options_init", ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.causal = causal
        arguments = [self.session, None, *(ctypes.byref(a) for a in arrays), None, ctypes.byref(options),
                     schedule.encode() if schedule else None]
        return lambda: self.check("attention_forward", *arguments)

    def close(self):
        self.library.sectile_session_free(self.session)


def reference_rows(torch, q, k, v, causal, rows):
    """Some rows in fp64: (rows, heads, dim)."""
    q, k, v = (t[0].double().transpose(0, 1) for t in (q, k, v))
    scores = q[:, rows] @ k.transpose(1, 2) / q.shape[-1]**0.5
    if causal:
        hidden = torch.arange(k.shape[1])[None, :] > rows[:, None]
        scores = scores.masked_fill(hidden, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(0, 1)


def measure(contenders, rounds, seconds):
    """Medians in seconds. Each turn starts with a call that is not timed, so that the threads of the one before
    have gone to sleep and its own are awake."""
    times = [[] for _ in contenders]
    for _ in range(rounds):
        for run, mine in zip(contenders, times):
            time.sleep(0.002)
            run()
            begin = end = time.perf_counter()
            while begin == end or end - begin < seconds / rounds:
                start = time.perf_counter()
                run()
                end = time.perf_counter()
                mine.append(end - start)
    return [statistics.median(t) for t in times]


def peak(path, threads):
    """A function of no arguments that multiplies and adds in registers for some milliseconds, and its operations."""
    library = ctypes.CDLL(path)
    library.fma_peak_run.restype = ctypes.c_double
    run = lambda: library.fma_peak_run(threads, ctypes.c_int64(4_000_000))
    return run, run()


def restrict(processors):
    """Every thread of this process, and those it will start, run on these processors only."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), processors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libsectile.so of a release build")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 16])
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--seqlens", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--dtypes", nargs="+", choices=["f32", "f16", "bf16"], default=["f32", "bf16"])
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--schedules", nargs="+", default=[""], help="one column each; default: the library's choice")
    parser.add_argument("--processors", type=int, nargs="+",
                        help="n threads of either contender share the first n of these; default: all, moved freely")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.5, help="timed, a contender and row")
    parser.add_argument("--peak", help="libfma_peak.so: also measure what the vector units can do, for f32")
    parser.add_argument("--out", help="also write the table as Markdown")
    options = parser.parse_args()
    import torch
    import torch.nn.functional as functional

    probe = Sectile(options.library, 1)
    target = probe.library.sectile_session_target(probe.session).decode().split(":+")[0]
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.processor())
    lines = [f"Sectile {probe.library.sectile_version().decode()} on {target}, PyTorch {torch.__version__}; "
             f"{cpu}, {os.cpu_count()} processors; {datetime.date.today()}", "",
             "| dtype | dim | seqlen | mask | threads | PyTorch GFLOP/s | " +
             " | ".join(f"Sectile{' ' + s if s else ''} GFLOP/s | ratio" for s in options.schedules) + " | error |" +
             (" peak GFLOP/s |" if options.peak else ""),
             "|---|---|---|---|---|---|" + "---|---|" * len(options.schedules) + "---|" + "---|" * bool(options.peak)]
    probe.close()
    print("\n".join(lines), flush=True)
    torch.manual_seed(0)
    for dtype in options.dtypes:
        for threads in options.threads:
            if options.processors:
                restrict(options.processors[:threads])
            torch.set_num_threads(threads)
            session = Sectile(options.library, threads)
            for dim in options.dims:
                for seqlen in options.seqlens:
                    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[dtype]
                    q, k, v = (torch.randn(1, seqlen, options.heads, dim).to(kind) for _ in range(3))
                    out = torch.empty_like(q)
                    for causal in (False, True):
                        views = [t.transpose(1, 2) for t in (q, k, v)]
                        torch_run = lambda: functional.scaled_dot_product_attention(*views, is_causal=causal)
                        rows = torch.randint(0, seqlen, (32,))
                        exact = reference_rows(torch, q, k, v, causal, rows)
                        error = lambda got: (got[rows].double() - exact).abs().max().item()
                        runs = [session.attention(q, k, v, out, dtype, causal, s) for s in options.schedules]
                        errors = []
                        for run in runs:
                            out.fill_(float("nan"))
                            run()
                            errors.append(error(out[0]))
                        theirs = error(torch_run()[0].transpose(0, 1))
                        limit, operations = peak(options.peak, threads) if options.peak and dtype == "f32" else (None, 0)
                        medians = measure([torch_run, *runs] + [limit] * bool(limit), options.rounds, options.seconds)
                        work = 4 * seqlen**2 * dim * options.heads * (0.5 if causal else 1) * 1e-9
                        cells = [f"{work / t:.0f} | {medians[0] / t:.2f}" for t in medians[1:len(runs) + 1]]
                        lines.append(f"| {dtype} | {dim} | {seqlen} | {'causal' if causal else 'full'} | {threads} | "
                                     f"{work / medians[0]:.0f} | {' | '.join(cells)} | {max(errors):.1e} / {theirs:.1e} |" +
                                     (f" {operations / medians[-1] * 1e-9:.0f} |" if limit else " - |" * bool(options.peak)))
                        print(lines[-1], flush=True)
            session.close()
    if options.out:
        with open(options.out, "w") as file:
            file.write("# Attention forward on the host\n\n" + __doc__.split("\n\n", 2)[2] + "\n" +
                       "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
