# SPDX-License-Identifier: Apache-2.0
"""ring-flash-attention's rings: ring_flash_attn_job.py ring|zigzag|stripe. In float32, their backward overwrites the sum
of dq, because .to(torch.float32) copies nothing. flash_attn has no float32 anyway."""

import importlib
import sys

import flash_attn_on_cpu
import small

flash_attn_on_cpu.install()
# The package imports this name, which Transformers 5 no longer has, for an adapter that is not used here.
utilities = importlib.import_module("transformers.modeling_flash_attention_utils")
utilities.is_flash_attn_greater_or_equal_2_10 = lambda: True

MODULES = {"ring": "ring_flash_attn", "zigzag": "zigzag_ring_flash_attn", "stripe": "stripe_flash_attn"}
LAYOUTS = {"ring": small.contiguous, "zigzag": small.zigzag, "stripe": small.striped}

rank, ranks = small.begin()
ring = importlib.import_module(f"ring_flash_attn.{MODULES[sys.argv[1]]}")
attend = getattr(ring, f"{MODULES[sys.argv[1]]}_func")
small.train(lambda *qkv: attend(*(x.bfloat16() for x in qkv), causal=True).float(), LAYOUTS[sys.argv[1]](rank, ranks))
