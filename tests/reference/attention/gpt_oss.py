#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gpt_oss.safetensors and gpt_oss_window.safetensors beside this file: attention with sinks by the eager function
that Transformers has for GPT-OSS, in fp64 on one process. No code of RingScope takes part.

    `pip install torch==2.11.0 transformers==5.24.0`
"""
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import save_file
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

HERE = Path(__file__).resolve().parent
HEADS, KV_HEADS, LENGTH, WIDTH, SCALE = 4, 2, 64, 8, 0.5


def reference(window):
    torch.manual_seed(4)
    query, dout = torch.randn(2, 1, HEADS, LENGTH, WIDTH)
    key, value = torch.randn(2, 1, KV_HEADS, LENGTH, WIDTH)
    sinks = torch.tensor([-1.0, 0.5, 2.0, 6.0])
    given = {"q": query, "k": key, "v": value, "sinks": sinks}
    leaves = {name: tensor.double().requires_grad_() for name, tensor in given.items()}
    places = torch.arange(LENGTH)
    apart = places[:, None] - places[None, :]
    allowed = (apart >= 0) & (apart < (window or LENGTH))
    mask = torch.zeros(LENGTH, LENGTH, dtype=torch.float64).masked_fill(~allowed, float("-inf"))
    layer = SimpleNamespace(num_key_value_groups=HEADS // KV_HEADS, sinks=leaves["sinks"], training=False)
    out, weights = eager_attention_forward(layer, leaves["q"], leaves["k"], leaves["v"], mask, SCALE)
    out = out.transpose(1, 2)
    out.backward(dout.double())
    # The weight of a key is exp(score - lse). Each query attends its own key.
    scores = (leaves["q"] * leaves["k"].repeat_interleave(HEADS // KV_HEADS, 1)).sum(-1) * SCALE
    lse = scores - weights.diagonal(dim1=-2, dim2=-1).log()
    found = {"out": out, "lse": lse, **{"d" + name: leaf.grad for name, leaf in leaves.items()}}
    tensors = {name: tensor.detach().contiguous() for name, tensor in {**given, "dout": dout, **found}.items()}
    name, mask = ("gpt_oss_window", "window") if window else ("gpt_oss", "causal")
    save_file(tensors, HERE / (name + ".safetensors"),
              {"mask": mask, "window": str(window), "scale": str(SCALE)})


if __name__ == "__main__":
    reference(0)
    reference(20)
