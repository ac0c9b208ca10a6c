# SPDX-License-Identifier: Apache-2.0
"""ring-flash-attention's rings: ring_flash_attn_job.py ring|zigzag|stripe"""

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
small.train(lambda q, k, v: attend(q, k, v, causal=True), LAYOUTS[sys.argv[1]](rank, ranks))
