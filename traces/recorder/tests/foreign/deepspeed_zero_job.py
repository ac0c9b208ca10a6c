# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's ZeRO without context parallelism: deepspeed_zero_job.py 1|2|3"""

import sys

import small

rank, ranks = small.begin()

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

deepspeed.init_distributed("gloo")
model = small.Llama(small.causal)
engine, *_ = deepspeed.initialize(
    model=model,
    optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
    config={
        "train_batch_size": ranks,
        "zero_optimization": {"stage": int(sys.argv[1])},
        "zero_allow_untested_optimizer": True,
    },
)
for step in range(2):
    ids, labels = small.batch(step, rank)
    logits = engine(ids, torch.arange(small.LENGTH))
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
    engine.backward(loss)
    engine.step()
    small.report(loss, ranks)
