# SPDX-License-Identifier: Apache-2.0
"""The decoder of drawn jobs, in the shapes and with the names that people give it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

# The names of embedding, layers, last norm and output projection.
NAMES = (("embed_tokens", "layers", "norm", "lm_head"), ("wte", "h", "ln_f", "lm_head"),
         ("tok_embeddings", "layers", "norm", "output"), ("embedding", "blocks", "final_norm", "head"))


class Rms(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


class Adapted(nn.Module):
    """A frozen projection with a trained one of low rank beside it (LoRA)."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Linear(base.in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.normal_(self.lora_b.weight, std=0.1)

    def forward(self, x):
        return self.base(x) + 2 * self.lora_b(self.lora_a(x))


def rotate(x, cos, sin):
    """Rotates x [B, H, S, D] by cos and sin [B, S, D / 2]."""
    first, second = x.float().chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).type_as(x)


class Attention(nn.Module):
    def __init__(self, drawn, run):
        super().__init__()
        width, self.sizes = drawn.width, (drawn.heads, drawn.kv_heads, drawn.kv_heads)
        self.size, self.fused, self.run = drawn.head_size, drawn.fused, run
        if self.fused:
            self.qkv = nn.Linear(width, sum(self.sizes) * self.size, bias=drawn.bias)
        else:
            for name, heads in zip(("q_proj", "k_proj", "v_proj"), self.sizes):
                setattr(self, name, nn.Linear(width, heads * self.size, bias=drawn.bias))
        self.o_proj = nn.Linear(drawn.heads * self.size, width, bias=False)
        self.sinks = nn.Parameter(torch.randn(drawn.heads)) if drawn.sinks else None
        if drawn.qk_norm:
            self.q_norm, self.k_norm = Rms(self.size), Rms(self.size)

    def forward(self, x, rotations):
        if self.fused:
            parts = self.qkv(x).split([heads * self.size for heads in self.sizes], -1)
        else:
            parts = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part, heads in zip(parts, self.sizes))
        if hasattr(self, "q_norm"):
            q, k = self.q_norm(q), self.k_norm(k)
        if rotations is not None:
            q, k = rotate(q, *rotations), rotate(k, *rotations)
        out = self.run(q, k, v) if self.sinks is None else self.run(q, k, v, self.sinks)
        return self.o_proj(out.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, width, gated):
        super().__init__()
        self.up_proj, self.down_proj = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gate_proj = nn.Linear(width, 2 * width) if gated else None

    def forward(self, x):
        hidden = F.gelu(self.up_proj(x)) if self.gate_proj is None else F.silu(self.gate_proj(x)) * self.up_proj(x)
        return self.down_proj(hidden)


class Layer(nn.Module):
    def __init__(self, drawn, run):
        super().__init__()
        norm = Rms if drawn.rms else nn.LayerNorm
        self.input_norm, self.post_norm = norm(drawn.width), norm(drawn.width)
        self.attn, self.mlp = Attention(drawn, run), Mlp(drawn.width, drawn.rms)

    def forward(self, x, rotations):
        x = x + self.attn(self.input_norm(x), rotations)
        return x + self.mlp(self.post_norm(x))


class Decoder(nn.Module):
    """Made from what was drawn. `run` attends q, k and v over the shards."""

    def __init__(self, drawn, run):
        super().__init__()
        self.drawn, self.names = drawn, NAMES[drawn.names]
        vocabulary, width = drawn.vocabulary, drawn.width
        embedding, layers, norm, head = self.names
        setattr(self, embedding, nn.Embedding(vocabulary, width))
        setattr(self, layers, nn.ModuleList(Layer(drawn, run) for _ in range(drawn.layers)))
        setattr(self, norm, (Rms if drawn.rms else nn.LayerNorm)(width))
        setattr(self, head, nn.Linear(width, vocabulary, bias=False))
        if drawn.positions == "learned":
            self.position_embedding = nn.Embedding(drawn.length, width)
        if drawn.tied:
            getattr(self, head).weight = getattr(self, embedding).weight
        if drawn.lora:
            self.requires_grad_(False)
            for layer in getattr(self, layers):
                for owner, name in ((layer.attn, "o_proj"), (layer.mlp, "down_proj"), (layer.mlp, "up_proj")):
                    setattr(owner, name, Adapted(getattr(owner, name)))

    def rotations(self, position_ids):
        if self.drawn.positions != "rotary":
            return None
        half = self.drawn.head_size // 2
        turns = position_ids[..., None].float() * 10000 ** (-torch.arange(half) / half)
        return turns.cos(), turns.sin()

    def hidden(self, input_ids, position_ids):
        embedding, layers, norm, _ = (getattr(self, name) for name in self.names)
        x = embedding(input_ids)
        if self.drawn.positions == "learned":
            x = x + self.position_embedding(position_ids)
        if self.drawn.lora:
            x = x.requires_grad_()  # as gradient checkpointing of frozen models needs
        rotations = self.rotations(position_ids)
        for layer in layers:
            if self.drawn.checkpoint and self.training:
                x = checkpoint(layer, x, rotations, use_reentrant=self.drawn.checkpoint == "reentrant")
            else:
                x = layer(x, rotations)
        return norm(x)

    def forward(self, input_ids, position_ids):
        logits, cap = getattr(self, self.names[3])(self.hidden(input_ids, position_ids)), self.drawn.logit_cap
        return logits if cap is None else cap * torch.tanh(logits / cap)
