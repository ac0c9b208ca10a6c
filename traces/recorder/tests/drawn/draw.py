# SPDX-License-Identifier: Apache-2.0
"""Draws the settings of a job from a seed and the number of the case."""

import dataclasses
import importlib.util
import random

WORLDS = (2, 4, 2, 3, 4, 2, 6, 2, 4, 8, 5, 2, 4, 2, 7)
BATCH = 10  # number of successive cases that have as many processes


def world_of(case):
    return WORLDS[case // BATCH % len(WORLDS)]


@dataclasses.dataclass
class Drawn:
    world: int
    dp: int
    model: str  # own, or a kind of pretrained.py
    attention: str  # context_parallel, flex_plan (PyTorch's plan for modules), or a kind of attention.py
    layout: str
    length: int
    batch: int
    vocabulary: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    layers: int
    names: int
    fused: bool
    bias: bool
    rms: bool
    qk_norm: bool
    positions: str  # rotary, learned, none
    tied: bool
    lora: bool
    checkpoint: str
    sinks: bool
    scale: float
    softcap: float
    logit_cap: float
    window: int
    documents: int  # number of packed documents
    equal_documents: bool  # of equal lengths, so borders may be those of shards
    documents_differ: bool  # between the sequences of a batch
    labels: tuple  # tokens without a target: prompts, padding, random, borders of documents
    loss: str
    precision: str
    microbatches: int
    sync: str
    clip: bool
    optimizer: str
    evaluation: bool
    steps: int
    seed: int
    rotate_method: str
    balanced: bool


def draw(seed, case):
    """Returns the case, whose number of processes depends on its number alone."""
    drawn = draw_own(seed, case)
    rng = random.Random(f"models:{seed}:{case}")
    chance = rng.random()
    if drawn.attention == "context_parallel" and chance < 0.35 and importlib.util.find_spec("transformers"):
        return pretrained(drawn, rng)
    if drawn.attention == "context_parallel" and 0.35 <= chance < 0.45 and drawn.world <= 4 and has_flex_plan():
        return flex_plan(drawn, rng)
    if drawn.attention == "ulysses" and not drawn.sinks and chance < 0.5:
        # In eager mode, flex_attention's backward with a softcap gives NaN in some shapes (PyTorch 2.11).
        return dataclasses.replace(drawn, attention="flex", softcap=None, equal_documents=chance < 0.25,
                                   layers=min(drawn.layers, 4))
    deepest = 48 if drawn.world == 2 else 12  # deep models take long in many processes
    differ = drawn.documents > 1 and drawn.attention != "ulysses" and chance > 0.5
    return dataclasses.replace(drawn, equal_documents=chance < 0.3, documents_differ=differ,
                               layers=min(drawn.layers, deepest))


def has_flex_plan():
    """Reports whether PyTorch has a plan for modules with flex_attention."""
    return importlib.util.find_spec("torch.distributed.tensor.experimental._context_parallel") is not None


def pretrained(drawn, rng):
    """Returns the case with a small model of Transformers."""
    return dataclasses.replace(
        drawn, model=rng.choice(("llama", "mistral", "qwen2", "qwen3")), layers=rng.choice((1, 2, 4)), names=0,
        positions="rotary", fused=False, rms=True, qk_norm=False, lora=False, scale=None, logit_cap=None)


def flex_plan(drawn, rng):
    """Returns the case with flex_attention of long sequences, whose blocks have 128 tokens."""
    cp = drawn.world // drawn.dp
    length = 256 * cp
    return dataclasses.replace(
        drawn, attention="flex_plan", length=length, layers=rng.choice((1, 2)), batch=1, microbatches=1, steps=1,
        checkpoint="", documents=rng.choice((1, 1, 3)), window=rng.choice((None, rng.randrange(2, length))))


def draw_own(seed, case):
    rng = random.Random(f"{seed}:{case}")
    world = world_of(case)
    chance = lambda p: rng.random() < p  # noqa: E731
    dp = rng.choice([d for d in (1, 1, 2, 4) if world % d == 0 and world // d > 1])
    cp = world // dp
    attention = rng.choice(("context_parallel",) * 4 + ("gather", "ulysses", "ring", "ring_function"))
    balanced = chance(0.7)
    layout = rng.choice(("contiguous", "zigzag", "striped"))
    if attention == "context_parallel":
        layout = "zigzag" if balanced else "contiguous"
    heads = cp * rng.choice((1, 2)) if attention == "ulysses" else rng.choice((1, 2, 4, 6))
    kv_heads = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    own = attention != "context_parallel"
    grouped = rng.choice(("", "", "prompts", "padding", "random", "prompts padding", "prompts random"))
    lora = chance(0.12)
    sync = rng.choice(("sum", "sum", "mean", "flat", "two_stages", "ddp", "fsdp"))
    length = 2 * cp * rng.choice((2, 3, 4, 6, 8))
    return Drawn(
        world=world, dp=dp, model="own", attention=attention, layout=layout, length=length,
        batch=rng.choice((1, 1, 2, 3)), vocabulary=rng.choice((32, 61, 96, 128)), width=rng.choice((16, 24, 32)),
        heads=heads, kv_heads=kv_heads, head_size=rng.choice((4, 8, 16)),
        layers=rng.choice((1, 1, 2, 2, 2, 3, 4, 6, 12, 24, 48)),
        names=rng.randrange(4), fused=chance(0.5), bias=chance(0.5), rms=chance(0.5), qk_norm=chance(0.2),
        positions=rng.choice(("rotary", "rotary", "rotary", "learned", "none")),
        tied=chance(0.25) and not lora, lora=lora, checkpoint=rng.choice(("", "", "", "reentrant", "plain")),
        sinks=own and attention != "ring_function" and chance(0.25),
        scale=rng.choice((0.05, 0.5, 1.0)) if chance(0.25) else None,
        softcap=rng.choice((5.0, 20.0)) if own and attention != "ring_function" and chance(0.15) else None,
        logit_cap=rng.choice((5.0, 30.0)) if chance(0.1) else None,
        window=rng.randrange(2, length) if own and chance(0.25) else None,
        documents=rng.choice((2, 3, 5)) if own and chance(0.35) else 1, equal_documents=False,
        documents_differ=False,
        labels=tuple(grouped.split()),
        loss=rng.choice(("cross_entropy",) * 4 + ("smoothing", "z", "chunked", "log_softmax", "by_hand", "masked",
                                                  "fused")),
        precision=rng.choice(("float32",) * 3 + ("bfloat16", "autocast", "autocast_upcast", "float16_scaler")),
        microbatches=rng.choice((1, 1, 1, 2, 3)), sync=sync, clip=chance(0.3),
        optimizer=rng.choice(("adamw", "adamw", "sgd", "momentum")), evaluation=chance(0.25), steps=rng.choice((1, 2)),
        seed=rng.randrange(1000000), rotate_method=rng.choice(("allgather", "alltoall")), balanced=balanced)


def draw_labels(seed, case):
    """Returns a small job under context_parallel with many kinds of labels."""
    rng = random.Random(f"labels:{seed}:{case}")
    drawn = draw_own(seed, case)
    cp = drawn.world
    kinds = rng.choice(("", "prompts", "padding", "random", "borders", "prompts padding", "prompts random",
                        "padding random", "borders prompts", "borders random"))
    return dataclasses.replace(
        drawn, dp=1, attention="context_parallel", layout="zigzag" if drawn.balanced else "contiguous", layers=1,
        width=16, heads=1, kv_heads=1, head_size=8, qk_norm=False, tied=False, lora=False, checkpoint="", sinks=False,
        softcap=None, window=None, documents=1, length=2 * cp * rng.choice((8, 12, 16)), batch=rng.choice((2, 3, 4)),
        vocabulary=rng.choice((61, 128, 256)), labels=tuple(kinds.split()), microbatches=1, steps=12, sync="sum",
        loss=rng.choice(("cross_entropy", "smoothing", "z", "log_softmax")), precision="float32", evaluation=False)
