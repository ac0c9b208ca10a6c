# SPDX-License-Identifier: Apache-2.0
"""Functions with q, k and v that communicate, of which only some are attention over shards. recognition_job.py FOLDER"""

import sys

import torch
import torch.distributed as dist

import ringscope


def gather(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return parts


def gathers_kv(q, k, v, causal=False):
    """Attends its own block before it gathers those of other ranks."""
    torch.nn.functional.scaled_dot_product_attention(q, k, v)
    keys, values = torch.cat(gather(k), 2), torch.cat(gather(v), 2)
    return torch.nn.functional.scaled_dot_product_attention(q, keys, values)


def exchange(x, cut, join):
    sent = torch.stack(x.chunk(dist.get_world_size(), cut))
    arrived = torch.empty_like(sent)
    dist.all_to_all_single(arrived, sent)
    return torch.cat(list(arrived), join)


def exchanges_heads(q, k, v):
    """Attends all tokens with a mask that is a tensor."""
    q, k, v = (exchange(x, 1, 2) for x in (q, k, v))
    seen = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
    return exchange(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen), 2, 1)


def gathers_weights(q, k, v):
    gather(torch.full_like(k, 7))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def fails(q, k, v):
    gather(k)
    raise ArithmeticError


def of_squares(q, k, v):
    gather(k)
    return q


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    q, k, v = (torch.randn(1, 2, 6, 4, requires_grad=True) for _ in range(3))
    with ringscope.record(sys.argv[1]):
        gathers_weights(q, k, v)
        one_kv_head = (q, k[:, :1], v[:, :1])
        try:
            fails(*one_kv_head)
        except ArithmeticError:
            pass
        gathers_kv(*one_kv_head_expanded(q, k, v)).sum().backward()
        exchanges_heads(*one_kv_head_expanded(q, k, v))
        square = torch.randn(1, 4, 4, 4)
        of_squares(square, square + 1, square + 2)
    assert sys.getprofile() is None
    dist.destroy_process_group()


def one_kv_head_expanded(q, k, v):
    """Returns q, k and v whose strides show that heads come before tokens."""
    return tuple(x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))


if __name__ == "__main__":
    main()
