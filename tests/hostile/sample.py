# SPDX-License-Identifier: Apache-2.0
"""A correct recording: one causal attention of two ranks, forward and backward, computed here."""
import math
import random
import struct

from trace_file import Recording

RANKS, TOKENS, HEADS, KV_HEADS, WIDTH = 2, 16, 2, 1, 2
LOCAL = TOKENS // RANKS
FORWARD, BACKWARD = 0, 1


def attention(q, k, v, dout):
    """Returns causal attention in fp64 over [head][token][element], and its gradients."""
    scale = 1 / math.sqrt(WIDTH)
    zeros = lambda heads: [[[0.0] * WIDTH for _ in range(TOKENS)] for _ in range(heads)]
    out, lse, dq, dk, dv = zeros(HEADS), [[0.0] * TOKENS for _ in range(HEADS)], zeros(HEADS), \
        zeros(KV_HEADS), zeros(KV_HEADS)
    for h in range(HEADS):
        g = h * KV_HEADS // HEADS
        for i in range(TOKENS):
            scores = [scale * sum(a * b for a, b in zip(q[h][i], k[g][j])) for j in range(i + 1)]
            top = max(scores)
            total = sum(math.exp(s - top) for s in scores)
            lse[h][i] = top + math.log(total)
            p = [math.exp(s - lse[h][i]) for s in scores]
            out[h][i] = [sum(p[j] * v[g][j][d] for j in range(i + 1)) for d in range(WIDTH)]
            delta = sum(a * b for a, b in zip(out[h][i], dout[h][i]))
            for j in range(i + 1):
                ds = p[j] * (sum(a * b for a, b in zip(dout[h][i], v[g][j])) - delta) * scale
                for d in range(WIDTH):
                    dq[h][i][d] += ds * k[g][j][d]
                    dk[g][j][d] += ds * q[h][i][d]
                    dv[g][j][d] += p[j] * dout[h][i][d]
    return out, lse, dq, dk, dv


def rows(tensor, rank):
    cut = [head[rank * LOCAL:(rank + 1) * LOCAL] for head in tensor]
    return [x for head in cut for row in head for x in (row if isinstance(row, list) else [row])]


class Sample:
    def __init__(self, table):
        self.recording = Recording(table)
        self.ids = 0
        self.time = 1000
        self.flow = 0

    def place(self, direction=FORWARD, layer=0, stage=-1):
        return {"train_step": 0, "layer": layer, "direction": direction, "stage": stage}

    def tensor(self, kind, place, rank, shape, values, name="", source=-1, piece=-1):
        self.ids += 1
        self.recording.add(
            "tensors", id=self.ids, tensor=kind, name=name, place=place, rank=rank, source_rank=source,
            piece=piece, dtype="float64", shape=list(shape),
            stats={"min": min(values), "max": max(values), "mean": sum(values) / len(values),
                   "abs_max": max(map(abs, values)), "nan": 0, "inf": 0},
            **{"pass": 2 * place["direction"]}, has_values=1)
        self.recording.values[self.ids] = struct.pack(f"<{len(values)}d", *values)

    def event(self, kind, place, rank, length=100, **fields):
        given = dict(place)
        given.update({"peer": -1, "source_rank": -1, "group": -1, "piece": -1,
                      "pass": 2 * place["direction"]})
        given.update(fields)
        self.recording.add("events", kind=kind, rank=rank, begin_ns=self.time, start_ns=self.time,
                           end_ns=self.time + length, **given)
        self.time += length // 2

    def run(self):
        add = self.recording.add
        add("run", dp=1, tp=1, cp=RANKS, balance=0, mask="causal", seq_len=TOKENS, batch=1, steps=1,
            dtype="float64", capture="values:steps=0", lr=1e-3, max_norm=1.0, text=["a.txt"], cores=2,
            model={"name": "sample", "layers": 1, "hidden_size": HEADS * WIDTH, "heads": HEADS,
                   "kv_heads": KV_HEADS, "head_dim": WIDTH, "vocab_size": 256})
        add("intent", ranks=list(range(RANKS)), mask="causal", positions="whole_sequence",
            loss="mean_over_targets", gradients_over="dp_cp",
            buffers=[{"name": "input_ids", "seq_dim": 1}])
        add("groups", id=0, axis="world", members=list(range(RANKS)))
        add("groups", id=1, axis="cp", members=list(range(RANKS)))

    def schedule(self, rank, direction):
        self.recording.add(
            "schedule", direction=direction, rank=rank, ring=list(range(RANKS)), ulysses=[rank],
            rows=[{"begin": rank * LOCAL, "count": LOCAL, "stride": 1}], q_head_end=HEADS,
            kv_heads=list(range(KV_HEADS)), stages=[self.stage(rank, step) for step in range(RANKS)])

    def stage(self, rank, step):
        source = (rank - step) % RANKS
        mask = 1 if source == rank else 0
        pieces = [] if source > rank else [{"q_begin": 0, "q_end": LOCAL, "k_begin": 0,
                                            "k_end": LOCAL, "mask": mask, "band_low": 0, "band_high": 0}]
        return {"ring_step": step, "source_rank": source, "forwards_kv": int(step + 1 < RANKS),
                "why_empty": 0 if pieces else 1, "pieces": pieces}

    def buffers(self, rank):
        tokens = range(rank * LOCAL, (rank + 1) * LOCAL)
        place = self.place(layer=-1)
        contents = {"input_ids": [97.0 + t for t in tokens], "labels": [98.0 + t for t in tokens],
                    "position_ids": [float(t) for t in tokens]}
        for name, values in contents.items():
            self.tensor("buffer", place, rank, (1, LOCAL), values, name=name)
            self.recording.add("shards", buffer=name, rank=rank, sharded=1, seq_dim=1,
                               full_shape=[1, TOKENS], local_shape=[1, LOCAL],
                               global_from_local=[{"begin": tokens[0], "end": tokens[-1] + 1}])
        self.tensor("position_ids", place, rank, (1, LOCAL), contents["position_ids"])
        for kind in ("grad", "weight"):
            self.tensor(kind, self.place(BACKWARD, -1), rank, (3,), [0.5, -0.25, 1.0], name="lm_head.weight")

    def ring(self, rank, direction):
        for step in range(RANKS):
            place, source = self.place(direction, 0, step), (rank - step) % RANKS
            # sums of dK and dV travel all the way home
            if step + 1 < RANKS or direction == BACKWARD:
                self.flow += 1
                for kind, me, peer in (("send", rank, 1 - rank), ("receive", 1 - rank, rank)):
                    self.event(kind, place, me, 900, peer=peer, source_rank=source, payload=1 + direction,
                               bytes=512, flow=self.flow, exchange=step + 1, group=1)
            if source <= rank:
                what = {"source_rank": source, "piece": 0, "q_end": LOCAL, "k_end": LOCAL,
                        "mask": 1 if source == rank else 0}
                self.event("attend", place, rank, 700, cpu_ns=600, **what)
                self.event("merge", place, rank, 80, **what)
            self.event("wait", place, rank, 300, peer=1 - rank, payload=1 + direction, exchange=step + 1)

    def blocks(self, rank, q, k, v):
        """Adds every piece's own softmax; merged, the pieces give the layer's result."""
        scale, running = 1 / math.sqrt(WIDTH), None
        for step in range(RANKS):
            source = (rank - step) % RANKS
            if source > rank:
                continue
            out, lse = [], []
            for h in range(HEADS):
                for i in range(LOCAL):
                    keys = range(source * LOCAL, source * LOCAL + (i + 1 if source == rank else LOCAL))
                    s = [scale * sum(a * b for a, b in zip(q[h][rank * LOCAL + i], k[0][j])) for j in keys]
                    top = math.log(sum(map(math.exp, s)))
                    lse.append(top)
                    out += [sum(math.exp(x - top) * v[0][j][d] for x, j in zip(s, keys))
                            for d in range(WIDTH)]
            place = self.place(FORWARD, 0, step)
            self.tensor("block_out", place, rank, (1, HEADS, LOCAL, WIDTH), out, source=source, piece=0)
            self.tensor("block_lse", place, rank, (1, HEADS, LOCAL), lse, source=source, piece=0)
            running = lse if running is None else [math.log(math.exp(a) + math.exp(b))
                                                   for a, b in zip(running, lse)]
            self.tensor("running_lse", place, rank, (1, HEADS, LOCAL), running, source=source)

    def layer(self):
        chance = random.Random(7)
        some = lambda heads: [[[chance.uniform(-1, 1) for _ in range(WIDTH)] for _ in range(TOKENS)]
                              for _ in range(heads)]
        q, k, v, dout = some(HEADS), some(KV_HEADS), some(KV_HEADS), some(HEADS)
        out, lse, dq, dk, dv = attention(q, k, v, dout)
        for rank in range(RANKS):
            for direction, tensors in ((FORWARD, {"q": q, "k": k, "v": v, "out": out}),
                                       (BACKWARD, {"dout": dout, "dq": dq, "dk": dk, "dv": dv})):
                for kind, tensor in tensors.items():
                    self.tensor(kind, self.place(direction), rank, (1, len(tensor), LOCAL, WIDTH),
                                rows(tensor, rank))
            self.tensor("lse", self.place(), rank, (1, HEADS, LOCAL), rows(lse, rank))
            self.blocks(rank, q, k, v)

    def diffs(self):
        for name in ("out", "lse", "dq", "dk", "dv"):
            place = self.place(BACKWARD if name[0] == "d" else FORWARD)
            for isolated in (1, 0):
                self.recording.add("diffs", isolated=isolated, place=place, tensor=name, largest=1e-16, error=1e-16,
                                   limit=1e-16, scale=1.0, ratio=1.0, ratio_by_rank=[1.0, 0.5],
                                   worst_index=[0, 0, 3, 1],
                                   rows={"shape": [1, HEADS, TOKENS], "rows_a_code": 1,
                                         "codes": bytes([127] * (HEADS * TOKENS))})
            self.tensor("other", place, 0, (HEADS, TOKENS), [1e-16] * (HEADS * TOKENS),
                        name="error.abs." + name)

    def made(self):
        self.run()
        for rank in range(RANKS):
            for direction in (FORWARD, BACKWARD):
                self.schedule(rank, direction)
            self.buffers(rank)
        self.layer()
        for direction in (FORWARD, BACKWARD):
            for rank in range(RANKS):
                self.ring(rank, direction)
        pending = self.recording.records["events"][-1]
        pending["pending"] = 1
        self.recording.add("times", rank=pending["rank"], pending=1, begin_ns=self.time,
                           start_ns=self.time, end_ns=self.time + 10)
        for rank in range(RANKS):
            for at, size in ((0, 4096), (self.time // 2, 8192), (self.time, 1024)):
                self.recording.add("memory", time_ns=at, bytes=size, rank=rank, category="kv")
        self.diffs()
        add = self.recording.add
        add("notes", key="step.0", json='{"step": 0, "loss": 2.5, "grad_norm": 1.1456439237389602}')
        add("notes", key="memory.peak.0", json='{"bytes": 8192}')
        add("notes", key="clock", json='{"boot_id": "b", "steady_ns": 1, "unix_ns": 2}')
        add("notes", key="ended", json='{"how": "finished", "reason": ""}')
        return self.recording


def sample(table):
    return Sample(table).made()
