# SPDX-License-Identifier: Apache-2.0
"""picotron's Llama over two ranks of tp, pp or dp, or over dp 2 × cp 2: picotron_job.py cp|tp|pp|dp"""

import os
import sys
import types

import flash_attn_on_cpu
import small
import torch
import torch.nn.functional as F
from transformers import LlamaConfig

flash_attn_on_cpu.install()
for name, function in (("layers.rotary", "apply_rotary_emb"), ("ops.triton.layer_norm", "layer_norm_fn")):
    module = types.ModuleType(f"flash_attn.{name}")
    setattr(module, function, None)  # not called, because FLASH_ATTEN is 0
    sys.modules[f"flash_attn.{name}"] = module
torch.cuda.synchronize = lambda: None  # picotron calls it after messages, also on CPUs
os.environ.update(DTYPE="float32", DEVICE="cpu", FLASH_ATTEN="0")

import picotron.process_group_manager as groups  # noqa: E402
from picotron.context_parallel.context_parallel import apply_context_parallel  # noqa: E402
from picotron.data_parallel.data_parallel import DataParallelBucket  # noqa: E402
from picotron.model import Llama  # noqa: E402
from picotron.pipeline_parallel.pipeline_parallel import PipelineParallel, train_step_pipeline_1f1b  # noqa: E402
from picotron.tensor_parallel.tensor_parallel import apply_tensor_parallel  # noqa: E402

rank, ranks = small.begin()
kind = sys.argv[1]
sizes = {"tp": (2, 1, 1, 1), "cp": (1, 2, 1, 2), "pp": (1, 1, 2, 1), "dp": (1, 1, 1, 2)}[kind]
groups.setup_process_group_manager(*sizes)
here = groups.process_group_manager
config = LlamaConfig(
    vocab_size=small.VOCABULARY, hidden_size=small.HIDDEN, intermediate_size=64, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=small.LENGTH,
)  # fmt: skip
config.rope_theta = 10000.0
model = Llama(config)
if kind == "tp":
    model = apply_tensor_parallel(model)
if kind == "pp":
    model = PipelineParallel(model, config)
model = apply_context_parallel(model)
if kind in ("cp", "dp"):
    model = DataParallelBucket(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
local = small.LENGTH // here.cp_world_size


class Batches:
    """A data loader with the parts that picotron's pipeline uses."""

    grad_acc_steps = 1

    def __next__(self):
        ids, labels = (whole[:, here.cp_rank * local :][:, :local] for whole in small.batch(step, here.dp_rank))
        positions = torch.arange(local)[None]
        return {"input_ids": ids, "target_ids": labels, "position_ids": positions, "hidden_states": None}


for step in range(2):
    optimizer.zero_grad()
    if kind == "pp":
        shape = (1, local, small.HIDDEN)
        train_step_pipeline_1f1b(model, Batches(), shape, torch.device("cpu"), torch.float32)
    else:
        batch = next(Batches())
        logits = model(batch["input_ids"])
        # picotron takes the mean of local means; this is the mean over all targets.
        loss = F.cross_entropy(logits.flatten(0, 1), batch["target_ids"].flatten(), reduction="sum")
        loss = loss * here.cp_world_size / (small.LENGTH - 1)
        loss.backward()
        small.report(loss, ranks)
    optimizer.step()
    if hasattr(model, "reset"):
        model.reset()
