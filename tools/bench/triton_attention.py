"""Attention forward in Triton: the rival that people write themselves. (batch, seqlen, heads, dim), any unit-stride dim,
dim a power of two, seqlen a multiple of 128."""
import torch
import triton
import triton.language as tl


@triton.jit
def step(acc, l, m, q, keys, values, key_stride, value_stride, j, rows, scale, BN: tl.constexpr, MASK: tl.constexpr):
    k = tl.load(keys + j * key_stride)
    s = tl.dot(q, k) * scale
    if MASK:
        s = tl.where(rows[:, None] >= (j + tl.arange(0, BN))[None, :], s, float("-inf"))
    highest = tl.maximum(m, tl.max(s, 1))
    p = tl.math.exp2(s - highest[:, None])
    alpha = tl.math.exp2(m - highest)
    l = l * alpha + tl.sum(p, 1)
    v = tl.load(values + j * value_stride)
    acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
    return acc, l, highest


@triton.jit
def forward(Q, K, V, O, scale, heads, seqlen, qb, qs, qh, kb, ks, kh, vb, vs, vh, ob, os, oh, D: tl.constexpr,
            CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    if CAUSAL:  # the longest rows first
        block = tl.num_programs(0) - 1 - block
    batch, head = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, columns, dims = block * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(Q + batch * qb + head * qh + rows[:, None] * qs + dims[None, :])
    keys = K + batch * kb + head * kh + columns[None, :] * ks + dims[:, None]
    values = V + batch * vb + head * vh + columns[:, None] * vs + dims[None, :]
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    unmasked = block * BM if CAUSAL else seqlen
    for j in tl.range(0, unmasked, BN):
        acc, l, m = step(acc, l, m, q, keys, values, ks, vs, j, rows, scale, BN, False)
    if CAUSAL:
        for j in tl.range(unmasked, unmasked + BM, BN):
            acc, l, m = step(acc, l, m, q, keys, values, ks, vs, j, rows, scale, BN, True)
    acc = acc / l[:, None]
    tl.store(O + batch * ob + head * oh + rows[:, None] * os + dims[None, :], acc.to(O.dtype.element_ty))


CONFIGS = [triton.Config({"BM": bm, "BN": bn}, num_warps=warps, num_stages=stages)
           for bm, bn, warps, stages in [(128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)]]


def fits(configs, positional, **named):
    """Those whose stages fit in 227 KB of shared memory and whose accumulators fit in registers."""
    dim = {**positional, **named}["D"]
    shared = lambda c: 2 * dim * (c.kwargs["BM"] + 2 * c.num_stages * c.kwargs["BN"])
    registers = lambda c: c.kwargs["BM"] * (dim + c.kwargs["BN"]) / (32 * c.num_warps)
    return [c for c in configs if shared(c) <= 227 * 1024 and registers(c) <= 200] or configs[-1:]


tuned = triton.autotune(CONFIGS, key=["D", "CAUSAL"], prune_configs_by={"early_config_prune": fits})(forward)


def attention(q, k, v, out, causal, config=None):
    """`config`: a (BM, BN, warps, stages) instead of the tuned one."""
    batch, seqlen, heads, dim = q.shape
    assert seqlen % 128 == 0 and k.shape == q.shape == v.shape
    grid = lambda meta: (seqlen // meta["BM"], batch * heads)
    strides = [s for t in (q, k, v, out) for s in t.stride()[:3]]
    arguments = (q, k, v, out, dim**-0.5 * 1.4426950408889634, heads, seqlen, *strides)
    if config:
        bm, bn, warps, stages = config
        forward[grid](*arguments, D=dim, CAUSAL=causal, BM=bm, BN=bn, num_warps=warps, num_stages=stages)
    else:
        tuned[grid](*arguments, D=dim, CAUSAL=causal)
    return out
