# SPDX-License-Identifier: Apache-2.0
"""Models of Transformers with a few thousand random weights, for the jobs beside this file."""

import torch
import transformers

from tiny_llama import VOCABULARY, join

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "attn_implementation": "sdpa",
    "use_cache": False,
    "pad_token_id": None,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def make_mistral(window):
    """Makes a model in which a query sees `window` keys, including its own; None: all earlier keys."""
    torch.manual_seed(0)
    config = transformers.MistralConfig(**SIZES, head_dim=8, sliding_window=window)
    return transformers.MistralForCausalLM(config)


def make_llama():
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))


def make_qwen():
    torch.manual_seed(0)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, head_dim=8))


def begin(model):
    """Begins a job for context_parallel. Returns the cp mesh, the model and its optimizer."""
    import ringscope

    ringscope.cpu_context_parallel()
    return join()["cp"], model, torch.optim.AdamW(model.parameters(), lr=1e-3)
