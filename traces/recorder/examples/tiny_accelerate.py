# SPDX-License-Identifier: Apache-2.0
"""Accelerate with ParallelismConfig(cp_size=…) on CPU processes, for the jobs beside this file."""

import os
import tempfile

import torch
from accelerate import Accelerator, DistributedType, FullyShardedDataParallelPlugin, PartialState
from accelerate.parallelism_config import ParallelismConfig
from transformers import Trainer, TrainerCallback, TrainingArguments

import ringscope
from tiny_llama import make_batch


def allow_on_cpu():
    """Lets Accelerate use context parallelism on CPU processes. It rejects processes of type MULTI_CPU
    ("ParallelismConfig is only compatible DistributedType.FSDP (version 2) …"), so their type is set to one with a
    device each. Nothing else changes."""
    torch.set_num_threads(1)
    ringscope.cpu_context_parallel()
    PartialState(cpu=True).distributed_type = DistributedType.MULTI_GPU


def sharded():
    """Returns the FSDP2 plugin. All ranks start with the same weights, so none are sent."""
    return FullyShardedDataParallelPlugin(fsdp_version=2, cpu_ram_efficient_loading=False)


def make_accelerator(replicate=1, shard=1):
    """Returns an Accelerator over a mesh of dp_replicate × dp_shard × cp."""
    allow_on_cpu()
    cp = PartialState().num_processes // (replicate * shard)
    mesh = ParallelismConfig(cp_size=cp, dp_replicate_size=replicate, dp_shard_size=shard)
    return Accelerator(cpu=True, parallelism_config=mesh, fsdp_plugin=sharded())


class Sequences(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        input_ids, _ = make_batch(index)
        return {"input_ids": input_ids[0], "labels": input_ids[0].clone()}


class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **others):
        """Passes the numbers that the Trainer logs for a training step to the recorder."""
        ringscope.log(**{name: logs[name] for name in ("loss", "grad_norm") if name in logs})


def make_trainer(model, kind=Trainer, **settings):
    """Returns Transformers' Trainer for two training steps, with all processes in cp."""
    processes = int(os.environ["WORLD_SIZE"])
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        use_cpu=True,
        max_steps=2,
        per_device_train_batch_size=1,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        parallelism_config=ParallelismConfig(cp_size=processes),
        fsdp="full_shard",
        fsdp_config={"version": 2, "cpu_ram_efficient_loading": False},
        **settings,
    )
    allow_on_cpu()
    return kind(model=model, args=arguments, train_dataset=Sequences(), callbacks=[Log()])
