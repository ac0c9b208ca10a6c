# SPDX-License-Identifier: Apache-2.0
"""Jobs that say by spmd_types what their tensors are, and name nothing for the recorder.

    RINGSCOPE_RECORD=FOLDER torchrun --nproc-per-node 4 -m ringscope typed_job.py [CASE]

Two replicas of two ranks each. Ranks gather keys and values. Gradients are summed over all ranks.
"""

import sys

import spmd_types as spmd
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_gather_tensor_autograd, wait_tensor
from torch.distributed.device_mesh import init_device_mesh

TOKENS, HEADS, WIDTH, VOCABULARY, OFFSETS = 32, 2, 16, 64, 64
EACH_DIM = {"dp": spmd.V, "cp": spmd.V}, spmd.PartitionSpec("dp", "cp")


class Attention(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, positions):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        k, v = (wait_tensor(all_gather_tensor_autograd(part.contiguous(), 2, self.group)) for part in (k, v))
        allowed = positions[0, :, None] >= torch.arange(TOKENS)
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS + OFFSETS, WIDTH)
        self.layers = nn.ModuleList(Attention(group) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, positions, places):
        x = self.tokens(ids) + self.places(places)
        for layer in self.layers:
            x = x + layer(x, positions)
        return self.head(x)


def main(case):
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "cp"))
    replica, seat = mesh["dp"].get_local_rank(), mesh["cp"].get_local_rank()
    torch.manual_seed(0)
    model = Model(mesh["cp"].get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with spmd.set_current_mesh(mesh):
        for parameter in model.parameters():
            spmd.assert_type(parameter, spmd.R)
        for step in range(2):
            torch.manual_seed(1 + step)
            whole = torch.randint(0, VOCABULARY, (2, TOKENS + 1))
            own = slice(seat * TOKENS // 2, (seat + 1) * TOKENS // 2)
            ids, labels = whole[replica : replica + 1, :-1][:, own], whole[replica : replica + 1, 1:][:, own].clone()
            labels[:, : 5 * seat] = -100
            positions = torch.arange(TOKENS)[None, own].contiguous()
            # Learned positions begin at a random offset, as is done to train on longer sequences.
            seed = torch.Generator().manual_seed(step + (100 * seat if case == "offset_of_rank" else 0))
            offset = torch.randint(0, OFFSETS, (1,), generator=seed)
            spmd.assert_type(offset, spmd.R)
            for tensor in (ids, labels, positions):
                spmd.assert_type(tensor, *EACH_DIM)
            targets = (labels != -100).sum()
            if case != "targets_of_rank":
                dist.all_reduce(targets)
            spmd.assert_type(targets, {"dp": spmd.R, "cp": spmd.R})
            logits = model(ids, positions, positions + offset)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / targets
            spmd.assert_type(loss, {"dp": spmd.P, "cp": spmd.P})
            loss.backward()
            for parameter in model.parameters():
                if case != "gradients_of_rank":
                    dist.all_reduce(parameter.grad)
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
