# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py that exchange heads for tokens (Ulysses), in functions that do not know what they
exchange. Ranks have equal parts of the tokens or a zigzag; one case gathers within the exchange."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

from job import HEADS, LENGTH, Block, angles, rotate
from right import Gather, Gathering


class Exchange(torch.autograd.Function):
    """Chunk i along dimension 0 goes to rank i of the group, and chunk i of the result came from it."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        sent = x.contiguous()
        came = torch.empty_like(sent)
        dist.all_to_all_single(came, sent, group=group)
        return came

    @staticmethod
    def backward(ctx, gradient):
        return Exchange.apply(gradient, ctx.group), None


class HelperBlock(Block):
    group = None

    def to_heads(self, x):
        size = dist.get_world_size(self.group)
        parts = x.unflatten(1, (size, -1)).transpose(0, 1)
        return torch.cat(list(Exchange.apply(parts, self.group)), 2)

    def to_tokens(self, x):
        size = dist.get_world_size(self.group)
        parts = x.unflatten(2, (size, -1)).permute(2, 0, 1, 3, 4)
        return torch.cat(list(Exchange.apply(parts, self.group)), 1)

    def heads(self, x, rotations):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1))
        return rotate(q, rotations), rotate(k, rotations), v

    def whole(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x, rotations):
        out = self.to_tokens(self.whole(*(self.to_heads(part) for part in self.heads(x, rotations))))
        x = x + self.c_proj(out.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class HeadsByAHelper(Gathering):
    block = HelperBlock


class HeadsByAHelperInBfloat16(HeadsByAHelper):
    def logits(self, buffers):
        with torch.autocast("cpu", torch.bfloat16):
            return super().logits(buffers)


class AllHeadsAtOnce(Gathering):
    """One exchange moves q, k and v. Ranks have head and tail of a zigzag, put in order for attention."""

    class block(HelperBlock):
        def forward(self, x, rotations):
            size = dist.get_world_size()
            order = torch.cat([dealt(LENGTH, rank, size) for rank in range(size)])
            qkv = torch.stack(self.heads(x, rotations)).unflatten(2, (size, -1)).permute(2, 4, 0, 1, 3, 5)
            q, k, v = Exchange.apply(qkv, None).flatten(0, 1)[self.restored(order)].permute(1, 2, 3, 0, 4)
            out = self.whole(q, k, v).permute(2, 0, 1, 3)[order].unflatten(0, (size, -1))
            out = Exchange.apply(out, None).permute(1, 2, 0, 3, 4).flatten(2)  # [S, B, heads and head_dim]
            x = x + self.c_proj(out.transpose(0, 1))
            return x + self.mlp(self.ln_2(x))

        def restored(self, order):
            return order.argsort()

    def train_on(self, buffers, count):
        tokens = dealt(LENGTH, self.cp.get_local_rank(), self.cp.size())
        own = {name: part.index_select(self.dimension(name), tokens) for name, part in buffers.items()}
        loss = self.forward(own, count)
        loss.backward()
        return loss


class LossMask(AllHeadsAtOnce):
    """A mask says which targets count. It is cut with the tokens, and the whole remains in a variable."""

    def part(self, mask):
        return mask[:, dealt(LENGTH, self.cp.get_local_rank(), self.cp.size())]

    def train_on(self, buffers, count):
        whole_mask = (torch.arange(LENGTH) % 5 < 3).float()[None]
        loss_mask = self.part(whole_mask)
        tokens = dealt(LENGTH, self.cp.get_local_rank(), self.cp.size())
        own = {name: part.index_select(self.dimension(name), tokens) for name, part in buffers.items()}
        each = F.cross_entropy(self.logits(own).transpose(1, 2), own["labels"], reduction="none")
        loss = (each * loss_mask).sum() / whole_mask.sum()
        loss.backward()
        return loss


class LossMaskCutInOrder(LossMask):
    finding = "companion_cut_otherwise"

    def part(self, mask):
        return mask.chunk(self.cp.size(), 1)[self.cp.get_local_rank()]


def dealt(length, rank, size):
    """Returns the tokens of a rank that has head and tail."""
    parts = torch.arange(length).chunk(2 * size)
    return torch.cat([parts[rank], parts[-1 - rank]])


class AroundAGather(Gathering):
    """Two ranks exchange heads, and two such pairs gather keys and values: no one group has all ranks of a sequence."""

    ranks = 4

    class block(HelperBlock):
        others = None

        def forward(self, x, rotations):
            out = self.attended(*self.heads(x, rotations))
            x = x + self.c_proj(out.transpose(1, 2).flatten(2))
            return x + self.mlp(self.ln_2(x))

        def attended(self, q, k, v):
            q, k, v = self.to_heads(q), self.to_heads(k), self.to_heads(v)
            rows = torch.arange(q.shape[2]) + q.shape[2] * dist.get_rank(self.others)
            k, v = Gather.apply(k, self.others), Gather.apply(v, self.others)
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.arange(LENGTH) <= rows[:, None])
            return self.to_tokens(out)

    def make_model(self):
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        others = [dist.new_group([0, 2]), dist.new_group([1, 3])]
        rank = dist.get_rank()
        self.block.group, self.block.others = pairs[rank // 2], others[rank % 2]
        return super().make_model()


class ExchangedTokensStayAZigzag(AllHeadsAtOnce):
    """Attention takes tokens in the order in which ranks brought them."""

    finding = ("mask_dropped", "causal_on_every_block", "unbalanced_unshard")

    class block(AllHeadsAtOnce.block):
        def whole(self, q, k, v):
            order = torch.cat([dealt(LENGTH, rank, dist.get_world_size()) for rank in range(dist.get_world_size())])
            out = F.scaled_dot_product_attention(q[:, :, order], k[:, :, order], v[:, :, order], is_causal=True)
            return out[:, :, order.argsort()]


class ExchangedAttentionIsNotCausal(HeadsByAHelper):
    finding = "mask_dropped"

    class block(HelperBlock):
        def whole(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v)


class ExchangedPositionsRestart(HeadsByAHelper):
    finding = ("missing_position_ids", "missing_rope_buffer")

    def logits(self, buffers):
        return self.model(buffers["ids"], angles(torch.arange(buffers["ids"].shape[1])))


class ExchangedLabelsShiftedInTheShard(HeadsByAHelper):
    ranks = 4
    finding = "shift_labels_per_shard"

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), self.own_ids[:, 1:].flatten(), reduction="sum") / count

    def logits(self, buffers):
        self.own_ids = buffers["ids"]
        return super().logits(buffers)


class RotationsCutInOrder(AllHeadsAtOnce):
    """Tokens are a zigzag, and rotations are equal parts."""

    finding = "balance_differs_between_buffers"

    def logits(self, buffers):
        rank, size = self.cp.get_local_rank(), self.cp.size()
        return self.model(buffers["ids"], angles(torch.arange(LENGTH)).chunk(size)[rank])
