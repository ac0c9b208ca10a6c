# SPDX-License-Identifier: Apache-2.0
"""Writes random small models of the kinds that RingScope trains, with their results as make.py writes them.

`python drawn.py FOLDER [COUNT [SEED]]`: makes COUNT models (24) below FOLDER."""
import pathlib
import random
import sys

from make import LENGTH, SHAPE, make
from transformers import Gemma2Config, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

FAMILIES = [LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config, Gemma2Config]
ROTARY = ["default", "llama3", "yarn", "dynamic", "linear"]


def rotary(draw, kind):
    """Returns rope_parameters of a kind. Pretraining saw fewer tokens than a sequence has, or more."""
    chosen = dict(rope_type=kind, rope_theta=draw.choice([5e3, 1e4, 5e5, 1e6]))
    if kind != "default":
        chosen["factor"] = draw.choice([1.5, 2.0, 4.0, 8.0])
    if kind in ("llama3", "yarn"):
        chosen["original_max_position_embeddings"] = draw.choice([LENGTH // 4, LENGTH // 2, LENGTH])
    if kind == "llama3":
        chosen.update(low_freq_factor=1.0, high_freq_factor=draw.choice([2.0, 4.0]))
    if kind == "yarn" and draw.random() < 0.5:
        chosen.update(beta_fast=draw.choice([16.0, 32.0]), beta_slow=draw.choice([1.0, 2.0]))
    if kind == "yarn" and draw.random() < 0.3:
        chosen["attention_factor"] = draw.choice([0.9, 1.2])
    return chosen


def windows(draw, family, layers):
    """Returns the settings of a window in all layers, in some, or in none."""
    if family is LlamaConfig or draw.random() < 0.3:
        return {} if family is not MistralConfig else dict(sliding_window=None)
    width = draw.randrange(5, LENGTH)
    if family is MistralConfig:
        return dict(sliding_window=width)
    kinds = [draw.choice(["sliding_attention", "full_attention"]) for _ in range(layers)]
    use = {} if family is Gemma2Config else dict(use_sliding_window=True)
    return dict(sliding_window=width, layer_types=kinds, **use)


def draw_config(draw, number):
    family, kind = FAMILIES[number % len(FAMILIES)], ROTARY[number // len(FAMILIES) % len(ROTARY)]
    layers, heads = draw.choice([1, 2, 3]), draw.choice([4, 8])
    shape = dict(SHAPE, num_hidden_layers=layers, num_attention_heads=heads,
                 num_key_value_heads=draw.choice([n for n in (2, 4, 8) if n <= heads]),
                 hidden_size=draw.choice([32, 64]), intermediate_size=draw.choice([32, 96]),
                 rms_norm_eps=draw.choice([1e-6, 1e-5]), tie_word_embeddings=draw.random() < 0.5,
                 rope_parameters=rotary(draw, kind), **windows(draw, family, layers))
    if kind == "dynamic":
        shape["max_position_embeddings"] = draw.choice([LENGTH // 4, LENGTH // 2, LENGTH * 2])
    if family is not Qwen2Config:
        shape["head_dim"] = draw.choice([8, 16])
    if family in (LlamaConfig, Qwen3Config, Gemma2Config):
        shape["attention_bias"] = draw.random() < 0.5
    if family is Gemma2Config:
        shape.update(query_pre_attn_scalar=draw.choice([4, 8, 16, 64]),
                     attn_logit_softcapping=draw.choice([None, 1.5, 20.0]),
                     final_logit_softcapping=draw.choice([None, 4.0, 30.0]))
    return f"{number:02d}_{family.model_type}_{kind}", family(**shape)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    count, seed = map(int, [*sys.argv[2:], *["24", "1"][len(sys.argv) - 2:]])
    draw = random.Random(seed)
    for number in range(count):
        make(*draw_config(draw, number), folder)
