# SPDX-License-Identifier: Apache-2.0
"""Small models of Transformers, with the interface of Decoder."""

import torch
from torch import nn

KINDS = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}


class Pretrained(nn.Module):
    names = ("embed_tokens", "layers", "norm", "lm_head")

    def __init__(self, drawn):
        import transformers  # takes seconds, which few cases need

        super().__init__()
        settings = {
            "vocab_size": drawn.vocabulary, "hidden_size": drawn.heads * drawn.head_size,
            "intermediate_size": 2 * drawn.width, "num_hidden_layers": drawn.layers,
            "num_attention_heads": drawn.heads, "num_key_value_heads": drawn.kv_heads, "head_dim": drawn.head_size,
            "max_position_embeddings": drawn.length, "attn_implementation": "sdpa", "use_cache": False,
            "pad_token_id": None, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": drawn.tied,
        }
        if drawn.model == "mistral":
            settings["sliding_window"] = None  # the ring of context_parallel has none
        config = getattr(transformers, KINDS[drawn.model] + "Config")(**settings)
        self.lm = getattr(transformers, KINDS[drawn.model] + "ForCausalLM")(config)
        if drawn.checkpoint:
            how = {"use_reentrant": drawn.checkpoint == "reentrant"}
            self.lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs=how)

    @property
    def layers(self):
        return self.lm.model.layers

    @property
    def lm_head(self):
        return self.lm.lm_head

    def given(self, input_ids, position_ids):
        # Without a mask, Transformers takes a rank's head-tail order for packed documents.
        return {"input_ids": input_ids, "position_ids": position_ids, "attention_mask": torch.ones_like(input_ids)}

    def hidden(self, input_ids, position_ids):
        return self.lm.model(**self.given(input_ids, position_ids)).last_hidden_state

    def forward(self, input_ids, position_ids):
        return self.lm(**self.given(input_ids, position_ids)).logits
