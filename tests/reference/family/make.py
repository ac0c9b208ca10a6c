# SPDX-License-Identifier: Apache-2.0
"""Writes the reference results beside this file, with PyTorch and Hugging Face Transformers on one
process without sharding. No code of RingScope takes part.

    `pip install torch==2.11.0 transformers==5.23.0`
    `python make.py [MODEL ...]`

The folder model/ of each model is what save_pretrained writes. Its norms and biases are random, so
that an error in any of them shows. Other files are tokens.safetensors, ref.safetensors with `logits`
and `grad.*` of step 0, and ref.json with the loss and gradient norm of each step.

AdamW has lr 1e-3, betas 0.9/0.999, eps 1e-8 and weight decay 0.01. The gradient is clipped at 1.0.
The loss is the mean over targets that are not -100. The first quarter of a sequence has fewer targets.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (AutoModelForCausalLM, DeepseekV3Config, Gemma2Config, GptOssConfig, LlamaConfig,
                          MambaConfig, MistralConfig, MixtralConfig, Qwen2Config, Qwen3Config,
                          Qwen3MoeConfig, Qwen3NextConfig, RecurrentGemmaConfig)

HERE = pathlib.Path(__file__).parent
STEPS, BATCH, LENGTH, VOCABULARY = 3, 2, 32, 64
SHAPE = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2,
             max_position_embeddings=128, attn_implementation="eager", use_cache=False)
LLAMA3 = dict(rope_type="llama3", rope_theta=5000.0, factor=4.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=32)
MODELS = {
    # Biases of q, k and v; the embedding is the output projection too.
    "qwen2": Qwen2Config(**SHAPE, tie_word_embeddings=True,
                         rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    # Norms of the heads, wider heads than hidden size / heads, biases of q, k, v and o.
    "qwen3": Qwen3Config(**SHAPE, head_dim=16, attention_bias=True,
                         rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    # A window, wider heads, stretched rotary wavelengths, another epsilon.
    "mistral": MistralConfig(**SHAPE, head_dim=16, sliding_window=12, rms_norm_eps=1e-5,
                             rope_parameters=LLAMA3),
    # A window in the last layer only, in the old form and in the new one.
    "qwen2_window": Qwen2Config(**SHAPE, use_sliding_window=True, sliding_window=12,
                                max_window_layers=1,
                                rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    "qwen3_layers": Qwen3Config(**SHAPE, head_dim=16, use_sliding_window=True, sliding_window=9,
                                layer_types=["sliding_attention", "full_attention"],
                                rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    # YaRN: another ramp of wavelengths, and larger cos and sin.
    "llama_yarn": LlamaConfig(**SHAPE, head_dim=16,
                              rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=4.0,
                                                   original_max_position_embeddings=16)),
    # Sequences are twice as long as those of pretraining, so the base grows.
    "llama_dynamic": LlamaConfig(**{**SHAPE, "max_position_embeddings": 16}, head_dim=16,
                                 rope_parameters=dict(rope_type="dynamic", rope_theta=1e4,
                                                      factor=4.0)),
    # Softcaps that change scores and logits, another scale of scores, four norms per layer, a window
    # in every other layer, a scaled embedding that is the output projection too.
    "gemma2": Gemma2Config(**SHAPE, head_dim=16, sliding_window=12, query_pre_attn_scalar=8,
                           attn_logit_softcapping=1.5, final_logit_softcapping=4.0,
                           rope_parameters=dict(rope_type="default", rope_theta=1e4)),
    # The same model without softcaps, biases beside the projections, a head of its own.
    "gemma2_uncapped": Gemma2Config(**SHAPE, head_dim=16, attention_bias=True,
                                    attn_logit_softcapping=None, final_logit_softcapping=None,
                                    tie_word_embeddings=False,
                                    layer_types=["full_attention", "full_attention"],
                                    rope_parameters=dict(rope_type="default", rope_theta=1e4)),
    "llama_linear": LlamaConfig(**SHAPE, head_dim=16,
                                rope_parameters=dict(rope_type="linear", rope_theta=1e4,
                                                     factor=4.0)),
}
# Only the configurations of these models are stored, because RingScope refuses them.
UNSUPPORTED = [DeepseekV3Config, GptOssConfig, MambaConfig, MixtralConfig, Qwen3MoeConfig,
               Qwen3NextConfig, RecurrentGemmaConfig]


def tokens():
    ids = torch.randint(0, VOCABULARY, (STEPS, BATCH, LENGTH + 1))
    labels = ids[..., 1:].clone()
    ignored = torch.rand(labels.shape) < 0.1
    ignored[..., :LENGTH // 4] |= torch.rand(ignored[..., :LENGTH // 4].shape) < 0.6
    labels[ignored] = -100
    return {"input_ids": ids[..., :-1].contiguous(), "labels": labels,
            "position_ids": torch.arange(LENGTH).expand(BATCH, LENGTH).contiguous()}


def lively(model):
    """Norms beside 1 and biases beside 0."""
    for name, weight in model.named_parameters():
        if name.endswith(".bias") or "norm" in name:
            weight.data += torch.randn_like(weight) * 0.2


def make(name, config, parent=HERE):
    torch.manual_seed(sum(name.encode()))
    folder = parent / name
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    lively(model)
    model.save_pretrained(folder / "model")
    (folder / "model" / "generation_config.json").unlink(missing_ok=True)
    data = tokens()
    save_file(data, folder / "tokens.safetensors")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    kept, log = {}, []
    for step in range(STEPS):
        logits = model(input_ids=data["input_ids"][step], position_ids=data["position_ids"]).logits
        labels = data["labels"][step]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            kept["logits"] = logits.detach().clone()
            for weight_name, weight in model.named_parameters():
                kept["grad." + weight_name] = weight.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item(),
                    "targets": int((labels >= 0).sum())})
    save_file(kept, folder / "ref.safetensors")
    (folder / "ref.json").write_text(json.dumps({"steps_log": log}, indent=1) + "\n")


def make_unsupported():
    for kind in UNSUPPORTED:
        shape = dict(SHAPE, lru_width=32) if kind is RecurrentGemmaConfig else SHAPE
        (HERE / "unsupported" / (kind.model_type + ".json")).write_text(
            kind(**shape).to_json_string())


if __name__ == "__main__":
    if not sys.argv[1:]:
        make_unsupported()
    for model_name in sys.argv[1:] or MODELS:
        make(model_name, MODELS[model_name])
