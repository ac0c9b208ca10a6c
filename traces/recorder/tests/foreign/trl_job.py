# SPDX-License-Identifier: Apache-2.0
"""TRL's SFTTrainer with ParallelismConfig(cp_size=…) around Transformers' Qwen3."""

import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples"))
import small  # noqa: E402
import torch  # noqa: E402
from accelerate.parallelism_config import ParallelismConfig  # noqa: E402
from datasets import Dataset  # noqa: E402
from datasets.table import InMemoryTable  # noqa: E402
from tiny_accelerate import allow_on_cpu  # noqa: E402
from tiny_transformers import make_qwen  # noqa: E402
from tokenizers import Tokenizer, models  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402

torch.manual_seed(0)
words = {f"w{i}": i for i in range(small.VOCABULARY - 2)} | {"<eos>": small.VOCABULARY - 2, "<pad>": small.VOCABULARY - 1}
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<pad>")), eos_token="<eos>", pad_token="<pad>"
)
rows = InMemoryTable.from_pylist([{"input_ids": small.batch(i)[0][0].tolist()} for i in range(4)])
arguments = SFTConfig(
    output_dir=tempfile.mkdtemp(),
    use_cpu=True,
    bf16=False,
    max_steps=2,
    per_device_train_batch_size=1,
    gradient_checkpointing=False,
    max_length=small.LENGTH,
    pad_to_multiple_of=2 * int(os.environ["WORLD_SIZE"]),
    logging_steps=1,
    report_to=[],
    save_strategy="no",
    dataset_kwargs={"skip_prepare_dataset": True},
    parallelism_config=ParallelismConfig(cp_size=int(os.environ["WORLD_SIZE"])),
    fsdp="full_shard",
    fsdp_config={"version": 2, "cpu_ram_efficient_loading": False},
)
allow_on_cpu()
SFTTrainer(
    model=make_qwen(), args=arguments, train_dataset=Dataset(rows, fingerprint="small"), processing_class=tokenizer
).train()
