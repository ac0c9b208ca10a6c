#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the logs of PyTorch's DebugMode of two ranks, rank0.json and rank1.json, beside this file.

The records are those of the installed PyTorch. DebugMode.save_logs writes them where PyTorch has it. PyTorch 2.11 lacks
it, so this file then writes the fields of its format, version 1 (torch/utils/_debug_mode of PyTorch's main branch).
"""
import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.multiprocessing as processes
from torch.utils._debug_mode import DebugMode

HERE = Path(__file__).resolve().parent


def value(given):
    """Returns a value of a log with its type, as save_logs writes it."""
    if isinstance(given, float) and (given != given or given in (float("inf"), float("-inf"))):
        return {"type": "nonfinite_float", "value": str(given)}
    if isinstance(given, (tuple, list)):
        return {"type": type(given).__name__, "items": [value(item) for item in given]}
    if isinstance(given, dict):
        return {"type": "dict", "items": [[key, value(item)] for key, item in given.items()]}
    return {"type": "scalar", "value": given}


def record(call):
    fields = {"call_depth": call.call_depth, "log": None if call.log is None else value(call.log),
              "output_str": call.output_str, "stack_trace": None, "fwd_stack_trace": None}
    if type(call).__name__ == "_AnnotateCall":
        return {**fields, "type": "annotate", "tag": str(call.tag), "header": call.header}
    return {**fields, "type": "op", "op_name": call.op.__qualname__, "args_str": call.args_str,
            "kwargs_str": call.kwargs_str, "tensor_hash_leaves": value({})}


def save(calls, path):
    if hasattr(DebugMode, "save_logs"):
        DebugMode.save_logs(calls, path)
        return
    log = {"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": [record(call) for call in calls]}
    path.write_text(json.dumps(log, allow_nan=False) + "\n", encoding="utf-8")


def step(model, optimizer, rank):
    query, key, value_ = model(torch.ones(1, 2, 8, 4)).chunk(3, dim=-1)
    held = torch.stack([key, value_]).detach()
    received = torch.empty_like(held)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, held, 1 - rank), dist.P2POp(dist.irecv, received, 1 - rank)]):
        work.wait()
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value_, is_causal=True)
    out.square().mean().backward()
    weight = model.weight.grad
    weight.copy_(functional.all_reduce(weight, "avg", dist.group.WORLD))
    dist.all_gather_into_tensor(torch.empty(2), out.detach().sum().reshape(1))
    dist.reduce_scatter_tensor(torch.empty(6), model.weight.grad.flatten()[:12].clone())
    optimizer.step()


def run(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29713")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 12, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with DebugMode(record_nn_module=True) as mode, DebugMode.log_tensor_hashes():
        for number in range(2):
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                step(model, optimizer, rank)
        dist.barrier()
    save(mode.operators, HERE / f"rank{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    processes.spawn(run, nprocs=2)
