#!/usr/bin/env python3
"""What each option of attention forward costs on an NVIDIA GPU: Sectile through its C interface, PyTorch's tensors.

    tools/bench/gpu_options.py build/release/lib/libsectile.so [--out docs/benchmarks/gpu_options.md]

Every option is measured beside the plain call, in rounds that take turns, L2 flushed before every call; medians of the
times between two CUDA events. The number is the time over that of the plain call with the same mask; a window's is over
that of the full mask. A star says that the kernel's tiles do not come by TMA: it takes the general path.
"""
import argparse
import ctypes
import datetime
import statistics

import torch

import sectile_c

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("library", help="libsectile.so of a release build")
parser.add_argument("--dims", type=int, nargs="+", default=[64, 128, 256])
parser.add_argument("--seqlen", type=int, default=4096)
parser.add_argument("--tokens", type=int, default=16384, help="batch * seqlen")
parser.add_argument("--hidden", type=int, default=2048, help="heads * dim")
parser.add_argument("--masks", nargs="+", default=["full", "causal"], choices=["full", "causal"])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--repeats", type=int, default=4)
parser.add_argument("--out", help="write the table as Markdown")
options = parser.parse_args()

flush = torch.empty(256 * 2**20, dtype=torch.int8, device="cuda")
session = sectile_c.Session(sectile_c.Library(options.library), "cuda")


def array(tensor, kind="f32"):
    rank = tensor.dim()
    return sectile_c.Array(tensor.data_ptr(), sectile_c.TYPES[kind], rank, (ctypes.c_int64 * 6)(*tensor.shape),
                           (ctypes.c_int64 * 6)(*tensor.stride()))


class Case:
    """A call with one option; keeps what the option points to."""

    def __init__(self, dim, causal, kind="bf16", kv_share=1, **fields):
        batch, heads = max(1, options.tokens // options.seqlen), max(1, options.hidden // dim)
        torch_type = torch.bfloat16 if kind == "bf16" else torch.float16
        make = lambda h: torch.randn(batch, options.seqlen, h, dim, device="cuda").to(torch_type)
        self.tensors = [make(heads), make(max(1, heads // kv_share)), make(max(1, heads // kv_share)), make(heads)]
        self.call = sectile_c.Call(session, *self.tensors, kind, causal,
                                   stream=torch.cuda.current_stream().cuda_stream)
        self.kept = []
        shapes = {"alibi_slopes": (heads,), "sink": (heads,), "bias": (batch, heads, options.seqlen, options.seqlen),
                  "key_lengths": (batch,)}
        for name, value in fields.items():
            if name in shapes:
                tensor = value(shapes[name])
                pointed = array(tensor, {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32"}[tensor.dtype])
                self.kept += [tensor, pointed]
                value = ctypes.addressof(pointed)
            setattr(self.call.options, name, value)
        self.star = "" if self.call.resources()[2].get("tensor_maps", 0) else "*"

    def time(self):
        flush.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.call()
        end.record()
        return begin, end


f32 = lambda scale: lambda shape: torch.randn(shape, device="cuda") * scale
CASES = {
    "f16 instead of bf16": {"kind": "f16"},
    "grouped queries, 4 to a key head": {"kv_share": 4},
    "softcap 30": {"softcap": 30.0},
    "ALiBi": {"alibi_slopes": lambda shape: torch.rand(shape, device="cuda")},
    "sink": {"sink": f32(1)},
    "bias, bf16": {"bias": lambda shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)},
    "dropout 0.1": {"dropout": 0.1},
    "window of 1024": {"window_left": 1023, "window_right": 0},
    "key lengths, all of them": {"key_lengths": lambda shape: torch.full(shape, options.seqlen, device="cuda",
                                                                         dtype=torch.int32)},
}


def price(dim, causal, fields):
    plain, other = Case(dim, causal), Case(dim, causal, **fields)
    times = ([], [])
    for turn in range(options.rounds):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            case = (plain, other)[i]
            case.call()
            events = [case.time() for _ in range(options.repeats)]
            torch.cuda.synchronize()
            times[i].extend(b.elapsed_time(e) for b, e in events)
    return f"{statistics.median(times[1]) / statistics.median(times[0]):.2f}{other.star}"


header = ["option"] + [f"{dim} {mask}" for dim in options.dims for mask in options.masks]
lines = [f"Sectile {session.library.version()}, {torch.cuda.get_device_name()}, {datetime.date.today()}; bf16, "
         f"{options.tokens} tokens in sequences of {options.seqlen}, hidden {options.hidden}; time over the plain call's",
         "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
print("\n".join(lines), flush=True)
for name, fields in CASES.items():
    cells = []
    for dim in options.dims:
        for mask in options.masks:
            try:
                skip = mask == "causal" and "window_left" in fields
                cells.append("" if skip else price(dim, mask == "causal", fields))
            except (sectile_c.SectileError, torch.cuda.OutOfMemoryError) as error:
                cells.append("-")
                print(f"{name}, dim {dim}, {mask}: {str(error)[:300]}")
    lines.append(f"| {name} | " + " | ".join(cells) + " |")
    print(lines[-1], flush=True)
if options.out:
    with open(options.out, "w") as file:
        file.write("# What options cost on an NVIDIA GPU\n\n" + __doc__.split("\n\n", 2)[2] + "\n" + "\n".join(lines) + "\n")
