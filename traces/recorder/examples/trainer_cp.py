# SPDX-License-Identifier: Apache-2.0
"""Qwen3 under context parallelism in Transformers' Trainer, without mistakes. The Trainer shifts labels in the whole
sequence, makes position ids, and counts targets over all ranks.

    torchrun --nproc-per-node 2 trainer_cp.py [FOLDER]
"""

import ringscope
from tiny_accelerate import make_trainer
from tiny_llama import finish, folder
from tiny_transformers import make_qwen

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def main():
    model = make_qwen()
    trainer = make_trainer(model)
    with ringscope.record(folder(), steps=range(2), declare=MEANT):
        trainer.train()
    finish(trainer.model, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry])


if __name__ == "__main__":
    main()
