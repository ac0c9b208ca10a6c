# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording a job of two processes over Gloo. See tests/bench/README.md.

Blocks of training steps alternate between three kinds: with a recorder that records them, with a recorder that records
none of them, and without a recorder. With --jobs each block is like a whole job, and its start and end count too. The
kinds are then a recorder with defaults, a recorder that takes fingerprints of the steps that it does not record, and
none. Each pair of neighbours gives a ratio of wall time and a ratio of the process's CPU time. The program prints the
medians over all pairs and ranks, with the interval that contains the true median in 19 of 20 cases. With --device cuda,
the job is one process on a GPU over NCCL, and its attention is in bfloat16.

Usage: python bench_overhead.py [--pairs 30] [--steps 5] [--width 256] [--layers 4] [--tokens 512]
                                [--device cuda] [--jobs | --profile]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# The options of ringscope.start() by kind of block; None: no recorder.
WITHIN = {"without": None, "recorded": {"steps": None}, "beside": {"steps": []}}
JOBS = {"without": None, "defaults": {}, "fingerprints": {"fingerprints": True}}
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
sys.path[:0] = [PACKAGE, os.path.join(PACKAGE, "examples")]


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=5, help="training steps of a block")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=512, help="of the whole sequence")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", action="store_true", help="by default settings, from the start to the end")
    parser.add_argument("--profile", action="store_true", help="where recorded steps spend their time")
    return parser.parse_args()


def begin_on_gpu(tiny):
    """Does the same as tiny_llama.begin() on a GPU."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_default_device("cuda")
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("cp",))

    def attention(q, k, v):
        return tiny.whole_attention(*(t.bfloat16() for t in (q, k, v))).to(q.dtype)

    return mesh, *tiny.make_model(attention)


class Job:
    """A Llama under PyTorch's ring."""

    def __init__(self, asked):
        import tiny_llama

        tiny_llama.WIDTH, tiny_llama.LAYERS = asked.width, asked.layers
        self.tiny, self.tokens, self.device = tiny_llama, asked.tokens, asked.device
        begun = begin_on_gpu(tiny_llama) if asked.device == "cuda" else tiny_llama.begin()
        self.mesh, self.model, self.optimizer = begun

    def step(self, number):
        import torch
        import torch.nn.functional as F
        from torch.distributed.tensor.experimental import context_parallel

        with torch.device("cpu"):
            batch = self.tiny.make_batch(number, self.tokens)
        ids, labels = (t.to(self.device) for t in batch)
        positions = torch.arange(self.tokens)[None]
        with context_parallel(self.mesh, buffers=[ids, labels, positions], buffer_seq_dims=[1, 1, 1]):
            logits = self.model(ids, positions)
            loss = F.cross_entropy(logits.view(-1, self.tiny.VOCABULARY), labels.view(-1), reduction="sum")
            (loss / self.tokens).backward()
        self.tiny.sum_gradients(self.model, self.mesh.get_group())
        self.optimizer.step()
        self.optimizer.zero_grad()

    def run(self, steps):
        for number in range(steps):
            self.step(number)


def timed(work, steps):
    """Returns seconds of wall time and of this process's CPU time per step."""
    import torch
    import torch.distributed as dist

    def all_is_done():
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    dist.barrier()
    all_is_done()
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    all_is_done()
    return (time.perf_counter() - begin) / steps, (time.process_time() - cpu) / steps


def block(job, asked, options, folder):
    """Runs one block and returns its times. As a whole job, they include the recorder's start and end."""
    import ringscope

    def begin():
        if options is not None:
            ringscope.start(folder, job.model, **options)

    def whole_job():
        begin()
        job.run(asked.steps)
        ringscope.stop()

    if asked.jobs:
        return timed(whole_job, asked.steps)
    begin()
    time_of_it = timed(lambda: job.run(asked.steps), asked.steps)
    ringscope.stop()
    return time_of_it


def measure(asked, place):
    """Returns the blocks of one rank by kind."""
    job = Job(asked)
    job.run(asked.steps)
    kinds = JOBS if asked.jobs else WITHIN
    blocks = {kind: [] for kind in kinds}
    for pair in range(asked.pairs):
        for kind in list(kinds)[:: 1 if pair % 2 else -1]:
            folder = os.path.join(place, f"{kind}-{pair}")
            blocks[kind].append(block(job, asked, kinds[kind], folder))
    return blocks


def median_with_interval(values):
    """Returns the median, and the ordered values that enclose it in 19 of 20 cases."""
    values = sorted(values)
    reach = 0.98 * len(values) ** 0.5
    low, high = int(len(values) / 2 - reach), int(len(values) / 2 + reach)
    return statistics.median(values), values[max(low, 0)], values[min(high, len(values) - 1)]


def tell(ranks):
    for at, name in enumerate(("wall", "CPU")):
        step = statistics.median(block[at] for rank in ranks for block in rank["without"])
        print(f"{name}: a step takes {1000 * step:.1f} ms")
        for kind in (kind for kind in ranks[0] if kind != "without"):
            ratios = [
                100 * (with_it[at] / plain[at] - 1)
                for rank in ranks
                for with_it, plain in zip(rank[kind], rank["without"])
            ]
            print("  %-12s %+.1f %% (%+.1f to %+.1f)" % (kind, *median_with_interval(ratios)))


def profiled(asked, place):
    import cProfile
    import pstats

    import ringscope

    job = Job(asked)
    job.run(asked.steps)
    profile = cProfile.Profile()
    with ringscope.record(os.path.join(place, "profiled"), job.model, None):
        profile.enable()
        job.run(asked.steps)
        profile.disable()
    if os.environ["RANK"] == "0":
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def main():
    asked = options()
    if "RANK" in os.environ:
        place = os.environ["BENCH_PLACE"]
        if asked.profile:
            return profiled(asked, place)
        with open(os.path.join(place, f"blocks-{os.environ['RANK']}.json"), "w", encoding="utf-8") as file:
            json.dump(measure(asked, place), file)
        return
    with tempfile.TemporaryDirectory() as place:
        count = 1 if asked.device == "cuda" else 2
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
        settings = {**os.environ, "BENCH_PLACE": place, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, __file__, *sys.argv[1:]], env=settings, check=True)
        if asked.profile:
            return
        ranks = []
        for rank in range(count):
            with open(os.path.join(place, f"blocks-{rank}.json"), encoding="utf-8") as file:
                ranks.append(json.load(file))
        tell(ranks)


if __name__ == "__main__":
    main()
