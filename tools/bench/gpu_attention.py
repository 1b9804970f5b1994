#!/usr/bin/env python3
"""Attention forward on an NVIDIA GPU: Sectile through its C interface beside PyTorch's and Triton's kernels.

    tools/bench/gpu_attention.py build/release/lib/libsectile.so [--out docs/benchmarks/gpu_attention.md]

One process, the same tensors, rounds of one contender after the other, every other one backward, L2 flushed before every
call; the figure is the median of the times between two CUDA events. TFLOP/s count 4 * seqlen^2 * dim a head, half of
it when causal. FA2 and cuDNN are the backends of torch.nn.functional.scaled_dot_product_attention, Triton is
triton_attention.py beside this, tuned over its configurations. `/FA2` is Sectile's speed over FA2's, `/best` over the
fastest of the others. `error` is the largest difference from an fp64 computation over sampled rows, Sectile's / the
others' largest. A dash stands for what could not run; the reasons are below the table.
"""
import argparse
import datetime
import statistics
import sys
import traceback

import sectile_c

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("library", help="libsectile.so of a release build; 'none' measures the others alone")
parser.add_argument("--dims", type=int, nargs="+", default=[64, 128, 256])
parser.add_argument("--seqlens", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192, 16384])
parser.add_argument("--masks", nargs="+", choices=["full", "causal"], default=["full", "causal"])
parser.add_argument("--dtypes", nargs="+", choices=["bf16", "f16"], default=["bf16"])
parser.add_argument("--tokens", type=int, default=16384, help="batch * seqlen")
parser.add_argument("--hidden", type=int, default=2048, help="heads * dim")
parser.add_argument("--targets", nargs="+", default=["cuda"], help="such as nvptx:sm_80; a column each")
parser.add_argument("--schedules", nargs="+", default=[""], help="such as blockM=128,blockN=64,warps=8; a column each")
parser.add_argument("--rivals", nargs="*", choices=["fa2", "cudnn", "triton"], default=["fa2", "cudnn", "triton"])
parser.add_argument("--rounds", type=int, default=6)
parser.add_argument("--repeats", type=int, default=6, help="timed calls a round")
parser.add_argument("--resources", action="store_true", help="also list registers, spills, shared memory … of kernels")
parser.add_argument("--out", help="also write the table as Markdown")
options = parser.parse_args()

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

if not torch.cuda.is_available():
    sys.exit("gpu_attention: PyTorch sees no CUDA device")
reasons = {}  # why a contender could not run -> where


def sdpa(backend):
    def make(q, k, v, out, causal):
        views = [t.transpose(1, 2) for t in (q, k, v)]

        def run():
            with sdpa_kernel([backend]):
                return functional.scaled_dot_product_attention(*views, is_causal=causal).transpose(1, 2)

        return run

    return make


def triton_attention(q, k, v, out, causal):
    from triton_attention import attention
    return lambda: attention(q, k, v, out, causal)


RIVALS = {"fa2": ("FA2", sdpa(SDPBackend.FLASH_ATTENTION)), "cudnn": ("cuDNN", sdpa(SDPBackend.CUDNN_ATTENTION)),
          "triton": ("Triton", triton_attention)}


class Ours:
    """One target and schedule."""

    def __init__(self, session, target, schedule):
        self.session, self.schedule = session, schedule
        several = len(options.targets) > 1 or target != "cuda"
        self.name = " ".join(["Sectile", *([target] if several else []), *([schedule] if schedule else [])])

    def make(self, q, k, v, out, causal):
        call = sectile_c.Call(self.session, q, k, v, out, str(q.dtype).replace("torch.bfloat16", "bf16").replace(
            "torch.float16", "f16"), causal, self.schedule, torch.cuda.current_stream().cuda_stream)

        def run():
            call()
            return out

        run.call = call
        return run


def open_ours():
    if options.library == "none":
        return "no Sectile", []
    library = sectile_c.Library(options.library)
    ours = []
    for target in options.targets:
        try:
            session = sectile_c.Session(library, target)
        except sectile_c.SectileError as error:
            reasons[f"Sectile {target}"] = str(error)
            continue
        ours += [Ours(session, target, schedule) for schedule in options.schedules]
    return "Sectile " + library.version(), ours


def exact_rows(q, k, v, causal, rows):
    """Some rows of the first sequence in fp64: (rows, heads, dim)."""
    q, k, v = (t[0].double().transpose(0, 1) for t in (q, k, v))
    scores = q[:, rows] @ k.transpose(1, 2) / q.shape[-1]**0.5
    if causal:
        scores = scores.masked_fill(torch.arange(k.shape[1], device=k.device)[None, :] > rows[:, None], float("-inf"))
    return (scores.softmax(-1) @ v).transpose(0, 1)


flush = torch.empty(256 * 2**20, dtype=torch.int8, device="cuda")


def measure(runs):
    """Medians in seconds. Every other round goes backward: the clock of a GPU at its limit of power depends on what ran
    just before."""
    times = [[] for _ in runs]
    for turn in range(options.rounds):
        for run, mine in list(zip(runs, times))[::-1 if turn % 2 else 1]:
            run()
            events = []
            for _ in range(options.repeats):
                flush.zero_()
                events.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
                events[-1][0].record()
                run()
                events[-1][1].record()
            torch.cuda.synchronize()
            mine += [begin.elapsed_time(end) * 1e-3 for begin, end in events]
    return [statistics.median(t) for t in times]


def contender(name, make, tensors, causal, exact, rows, where):
    """A function that runs once, and its error; None when it cannot."""
    out = tensors[3]
    out.fill_(float("nan"))
    try:
        run = make(*tensors, causal)
        result = run()
        torch.cuda.synchronize()
        error = (result[0, rows].double() - exact).abs().max().item()
        return run, error
    except Exception as failure:  # a rival may raise anything; the others still run
        text = str(failure).strip().split("\n")[0][:300] or traceback.format_exc(limit=1)
        try:
            torch.cuda.synchronize()
        except Exception as fault:
            sys.exit(f"gpu_attention: {name} at {where} broke the device: {text}; {fault}")
        reasons.setdefault(f"{name}: {text}", where)
        return None, None


def row(dtype, dim, seqlen, mask, ours, resources):
    batch, heads, causal = max(1, options.tokens // seqlen), max(1, options.hidden // dim), mask == "causal"
    where = f"{dtype} dim {dim} seqlen {seqlen} {mask}"
    kind = {"bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, seqlen, heads, dim, device="cuda").to(kind) for _ in range(3))
    out = torch.empty_like(q)
    rows = torch.randint(0, seqlen, (32,), device="cuda")
    exact = exact_rows(q, k, v, causal, rows)
    named = [RIVALS[r] for r in options.rivals] + [(o.name, o.make) for o in ours]
    entries = [contender(name, make, (q, k, v, out), causal, exact, rows, where) for name, make in named]
    running = [run for run, _ in entries if run]
    times = iter(measure(running))
    seconds = [next(times) if run else None for run, _ in entries]
    work = 4 * seqlen**2 * dim * heads * batch * (0.5 if causal else 1) * 1e-12
    speeds = [work / s if s else None for s in seconds]
    count = len(options.rivals)
    theirs, mine = speeds[:count], speeds[count:]
    cell = lambda value, pattern: "-" if value is None else format(value, pattern)
    over = lambda a, b: None if a is None or not b else a / b
    fa2 = theirs[options.rivals.index("fa2")] if "fa2" in options.rivals else None
    best = max((t for t in theirs if t), default=None)
    cells = [cell(t, ".0f") for t in theirs]
    for speed in mine:
        cells += [cell(speed, ".0f"), cell(over(speed, fa2), ".2f"), cell(over(speed, best), ".2f")]
    largest = lambda part: max((e for _, e in part if e is not None), default=None)
    errors = f"{cell(largest(entries[count:]), '.1e')} / {cell(largest(entries[:count]), '.1e')}"
    if options.resources:
        for o, (run, _) in zip(ours, entries[count:]):
            if run:
                target, schedule, found = run.call.resources()
                numbers = ", ".join(f"{n} {v}" for n, v in found.items())
                resources.setdefault(f"{o.name}, dim {dim}, {mask}: {schedule}: {numbers}", where)
    return f"| {dtype} | {dim} | {seqlen} | {mask} | {' | '.join(cells)} | {errors} |"


def main():
    version, ours = open_ours()
    try:
        import triton
        triton_version = triton.__version__
    except ImportError:
        triton_version = "none"
    machine = (f"{version}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, Triton {triton_version}, "
               f"CUDA {torch.version.cuda}; {torch.cuda.get_device_name()}; {datetime.date.today()}; "
               f"{options.tokens} tokens, hidden {options.hidden}; TFLOP/s")
    header = ["dtype", "dim", "seqlen", "mask", *(RIVALS[r][0] for r in options.rivals)]
    for o in ours:
        header += [o.name, "/FA2", "/best"]
    lines = [machine, "", "| " + " | ".join(header + ["error"]) + " |", "|" + "---|" * (len(header) + 1)]
    print("\n".join(lines), flush=True)
    resources = {}
    for dtype in options.dtypes:
        for dim in options.dims:
            for mask in options.masks:
                for seqlen in options.seqlens:
                    try:
                        lines.append(row(dtype, dim, seqlen, mask, ours, resources))
                    except torch.cuda.OutOfMemoryError as error:
                        lines.append(f"| {dtype} | {dim} | {seqlen} | {mask} |" + " - |" * (len(header) - 3))
                        reasons.setdefault(f"out of memory: {error}"[:200], f"dim {dim} seqlen {seqlen}")
                    print(lines[-1], flush=True)
    notes = [f"* {what} (first at {where})" for what, where in reasons.items()]
    notes += [f"* {what}" for what in resources]
    if notes:
        print("\n" + "\n".join(notes), flush=True)
        lines += ["", *notes]
    if options.out:
        with open(options.out, "w") as file:
            file.write("# Attention forward on an NVIDIA GPU\n\n" + __doc__.split("\n\n", 2)[2] + "\n" +
                       "\n".join(lines) + "\n")
    wanted = len(options.targets) * len(options.schedules)
    if options.library != "none" and (len(ours) < wanted or any(r.startswith("Sectile") for r in reasons)):
        sys.exit("gpu_attention: Sectile could not run everywhere, see above")


if __name__ == "__main__":
    main()
