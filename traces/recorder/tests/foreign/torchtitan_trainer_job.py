# SPDX-License-Identifier: Apache-2.0
"""torchtitan's trainer with two layers of its debug model and random tokens: torchtitan_trainer_job.py [MISTAKE].

The switches let it run with PyTorch 2.11 on a CPU. The trainer's backend is partial_dtensor, because the two others
need FSDP over a mesh that PyTorch 2.11 does not have."""

import collections
import sys
import tempfile
import types
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.distributed.fsdp as fsdp
from torch.distributed.tensor.experimental._context_parallel import _attention as context_parallel
from torch.nn.attention import flex_attention as flex

LENGTH, VOCABULARY = 256, 2048
MISTAKE = sys.argv[1] if len(sys.argv) > 1 else ""


class Monitor:
    """The memory monitor of a device without statistics."""

    device_name = "cpu"

    def get_peak_stats(self):
        return metrics.DeviceMemStats(0, 0, 0, 0, 0, 0)

    def reset_peak_stats(self):
        pass


def create_block_mask(*args, separate_full_blocks=None, **kwargs):
    """The option is newer than PyTorch 2.11."""
    return flex.create_block_mask(*args, **kwargs)


if not hasattr(fsdp, "DataParallelMeshDims"):  # imported, but used by the other backends only
    fsdp.DataParallelMeshDims = collections.namedtuple("DataParallelMeshDims", "shard replicate")
datasets = types.ModuleType("datasets")  # of text, which this job does not read
datasets.__file__, datasets.Dataset, datasets.load_dataset = __file__, object, None
datasets.split_dataset_by_node = datasets.interleave_datasets = None
sys.modules["datasets"] = sys.modules["datasets.distributed"] = datasets

from torchtitan.tools import utils  # noqa: E402

utils.device_type, utils.device_module = "cpu", torch.cpu  # before the modules that import them

import torchtitan.trainer as trainers  # noqa: E402
from torchtitan.components import metrics  # noqa: E402
from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.loss import CrossEntropyLoss  # noqa: E402
from torchtitan.components.optimizer import default_adamw  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.config.configs import DebugConfig, ParallelismConfig, TrainingConfig  # noqa: E402
from torchtitan.distributed import utils as distributed  # noqa: E402
from torchtitan.models.common import attention  # noqa: E402
from torchtitan.models.llama3 import model_registry  # noqa: E402

metrics.build_device_memory_monitor = Monitor
distributed.set_pg_timeouts = lambda *args, **kwargs: None
flex._validate_device = lambda *tensors: None  # the eager operator has a backward on a CPU
attention.FlexAttention._compiled_flex_attn = staticmethod(flex.flex_attention)
attention._compiled_create_block_mask = create_block_mask
context_parallel._compiled_create_block_mask = flex.create_block_mask


class RandomTokens(BaseDataLoader):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config, *, seq_len, local_batch_size, **kwargs):
        self.shape = local_batch_size, seq_len + 1

    def __iter__(self):
        random = torch.Generator().manual_seed(7)
        while True:
            tokens = torch.randint(VOCABULARY, self.shape, generator=random)
            positions = torch.arange(self.shape[1] - 1).repeat(self.shape[0], 1)
            yield {"input": tokens[:, :-1], "positions": positions}, tokens[:, 1:]

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class NoTokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **kwargs):
        pass

    def encode(self, *args, **kwargs):
        return []

    def decode(self, *args, **kwargs):
        return ""

    def get_vocab_size(self):
        return VOCABULARY


def make_a_mistake():
    """Changes what the trainer does with the cut batch."""
    right = trainers.prepare_context_parallel_input

    def wrong(inputs, labels, more, mesh, *args):
        inputs, labels, more = right(inputs, labels, more, mesh, *args)
        if MISTAKE == "positions_not_cut":
            more["positions"] = torch.arange(inputs.shape[1])[None]
        else:
            labels = torch.nn.functional.pad(inputs[:, 1:], (0, 1), value=-100)
        return inputs, labels, more

    trainers.prepare_context_parallel_input = wrong


def config():
    spec = model_registry("debugmodel", attn_backend="flex")
    del spec.model.layers[2:]
    return trainers.Trainer.Config(
        model_spec=spec,
        loss=CrossEntropyLoss.Config(),
        optimizer=default_adamw(lr=1e-3),
        training=TrainingConfig(local_batch_size=1, seq_len=LENGTH, steps=2, disable_cuda_graphs=True,
                                mixed_precision_param="float32"),
        parallelism=ParallelismConfig(context_parallel_degree=2, spmd_backend="partial_dtensor",
                                      data_parallel_shard_degree=1),
        dataloader=RandomTokens.Config(),
        tokenizer=NoTokenizer.Config(),
        activation_checkpoint=None,
        debug=DebugConfig(seed=1, enable_structured_logging=False),
        dump_folder=tempfile.mkdtemp(),
    )


if MISTAKE:
    make_a_mistake()
trainer = config().build()
for module in trainer.model_parts[0].modules():
    if hasattr(module, "set_force_sum_reduction_for_comms"):
        module.set_force_sum_reduction_for_comms(True)  # Gloo cannot scale within a sum
trainer.train()
trainer.close()
dist.destroy_process_group()
