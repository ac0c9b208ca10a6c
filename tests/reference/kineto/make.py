# SPDX-License-Identifier: Apache-2.0
"""Makes the profiles of this folder and the dumps beside it (../flight_recorder) again. The job has four
processes over Gloo. It trains for a few steps, calls collectives of all ranks and of pairs, and sends
messages round a ring.

Usage, in an empty folder:
  `python -m torch.distributed.run --nproc-per-node 4 .../make.py .../tests/reference`

The files keep only the fields that the importers read, so that they contain no path and no name of a machine."""
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

ARGS = {"External id", "Concrete Inputs", "Input Dims", "Input type"}
KEPT = ("c10d::", "gloo:", "ProfilerStep", "Optimizer.step", "aten::embedding",
        "aten::cross_entropy_loss", "aten::scaled_dot_product", "aten::_scaled_dot_product", "autograd::engine::evaluate_function")


def communicate(rank, size, pair):
    """Calls collectives and sends messages: with train(), 27 collectives and 54 messages of all ranks in three steps."""
    right, left = (rank + 1) % size, (rank - 1) % size
    dist.broadcast(torch.zeros(100), 2)
    dist.all_gather([torch.empty(64) for _ in range(size)], torch.ones(64))
    dist.reduce_scatter(torch.empty(32, dtype=torch.bfloat16),
                        [torch.ones(32, dtype=torch.bfloat16) for _ in range(size)])
    mine, other = torch.ones(128), torch.empty(128)
    for tag in range(2):
        for work in [dist.isend(mine, right, tag=tag), dist.irecv(other, left, tag=tag)]:
            work.wait()
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, other, left)]):
        work.wait()
    dist.all_reduce(torch.ones(50), group=pair)
    across = rank ^ 1
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine[:96], across, group=pair),
                                        dist.P2POp(dist.irecv, other[:96], across, group=pair)]):
        work.wait()
    if rank < 2:
        dist.send(mine[:7], rank + 2)
    else:
        dist.recv(other[:7], rank - 2)
    dist.barrier()
    dist.all_to_all_single(torch.empty(4 * size), torch.ones(4 * size))


def train(embedding, optimizer):
    ids = torch.arange(16).reshape(2, 8)
    x = embedding(ids)
    q = x.view(2, 8, 2, 8).transpose(1, 2)
    out = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    logits = out.transpose(1, 2).reshape(16, 16) @ embedding.weight.T
    torch.nn.functional.cross_entropy(logits, ids.flatten()).backward()
    for work in [dist.all_reduce(embedding.weight.grad, async_op=True),
                 dist.all_reduce(torch.ones(1, dtype=torch.float64), async_op=True)]:
        work.wait()
    optimizer.step()


def trimmed(path):
    whole = json.loads(path.read_text())
    events = [{key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")} |
              {"args": {key: value for key, value in event["args"].items() if key in ARGS}}
              for event in whole["traceEvents"] if event["ph"] == "X" and event["name"].startswith(KEPT)]
    head = {key: whole[key] for key in ("schemaVersion", "record_shapes", "distributedInfo")}
    tail = {key: whole[key] for key in ("displayTimeUnit", "baseTimeNanoseconds")}
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    return json.dumps(head)[:-1] + ',"traceEvents":[\n' + lines + "\n]," + json.dumps(tail)[1:] + "\n"


def trimmed_dump(dump):
    for entry in dump["entries"]:
        entry["thread_id"] = "0"
    return json.dumps(dump, separators=(",", ":")).replace('{"collective_seq_id"', '\n{"collective_seq_id"') + "\n"


def main(folder):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in (0, 2)]
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(16, 16)
    optimizer = torch.optim.AdamW(embedding.parameters())
    train(embedding, optimizer)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(f"{rank}.json")) as profiler:
        for _ in range(4):
            train(embedding, optimizer)
            communicate(rank, size, pairs[rank // 2])
            profiler.step()
    (folder / "kineto" / f"rank{rank}.json").write_text(trimmed(Path(f"{rank}.json")))
    dump = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    (folder / "flight_recorder" / f"gloo_rank_{rank}.json").write_text(trimmed_dump(dump))


main(Path(sys.argv[1]))
