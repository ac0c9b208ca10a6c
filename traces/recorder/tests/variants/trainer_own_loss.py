# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: a Trainer with its own loss, which shifts the labels that it gets. Under context parallelism, these
are a rank's part, so the target at the end of each part is lost or belongs to another place.

    torchrun --nproc-per-node 2 trainer_own_loss.py [FOLDER]
"""

import torch.nn.functional as F
from transformers import Trainer

import ringscope
from tiny_accelerate import make_trainer
from tiny_llama import finish, folder
from tiny_transformers import make_qwen

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


class OwnLoss(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        inputs.pop("shift_labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1].flatten(0, 1)
        loss = F.cross_entropy(logits, labels[:, 1:].flatten(), reduction="sum")
        loss = loss / num_items_in_batch * self.accelerator.num_processes
        return (loss, outputs) if return_outputs else loss


def main():
    model = make_qwen()
    trainer = make_trainer(model, OwnLoss)
    with ringscope.record(folder(), steps=range(2), declare=MEANT):
        trainer.train()
    finish(trainer.model, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry])


if __name__ == "__main__":
    main()
