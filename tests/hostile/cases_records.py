# SPDX-License-Identifier: Apache-2.0
"""Records that are valid one by one but contradict each other, or are too many."""
import copy
import json
import struct

import cases_many
import sample as right
from format_table import Raw, varint

NAN, INF = float("nan"), float("inf")
SHAPES = ((), (8,), (2, 8), (1, 2, 8), (1, 1, 1), (1, 2, 0), (1, 2, 0, 4), (0, 2, 8, 4), (3, 2, 8, 4),
          (1, 7, 8, 4), (1, 2, 64, 2), (1, 8, 2, 2), (2, 2, 2, 2, 2), (2**40, 0), (1,) * 16, (1,) * 17)
WRONG_JSON = ("", "null", "3", "[]", "{}", '"x"', "true", "1e999", "-1e400", "[" * 60 + "]" * 60,
              "[" * 200_000, '{"a":' * 100_000, '{"how": 3}', '{"how": "failed", "reason": 7}',
              '{"how": "failed", "reason": ["x"]}', '{"how": "failed", "reason": "\\u001b[2J\\u0007"}',
              '{"how": "finished", "how": "failed"}', '{"how": "FINISHED", "reason": "\\ud800"}',
              '{"boot_id": 3, "steady_ns": "x", "unix_ns": []}', '{"steady_ns": 9223372036854775807}',
              '{"boot_id": "b", "steady_ns": -9223372036854775808, "unix_ns": 9223372036854775807}',
              '{"loss": "x", "grad_norm": {}}', '{"loss": 1e308, "grad_norm": -1}', '{"bytes": "x"}',
              '{"bytes": -1}', b'{"reason": "\xff"}', '{"reason": "' + "x" * 300_000 + '"}')


class Cases:
    def __init__(self, table, sample):
        self.table, self.sample = table, sample
        self.made = []

    def new(self, name):
        recording = self.sample.copy()
        self.made.append((name, recording))
        return recording

    def index(self, kind, /, **having):
        return [i for i, r in enumerate(self.sample.records[kind])
                if all(self.number(kind, f, r[f]) == self.number(kind, f, v) for f, v in having.items())]

    def number(self, kind, field, value):
        kind_type = self.table.kinds[kind][field]
        return self.table.enums[kind_type[1]][value] if kind_type[0] == "enum" and isinstance(value, str) else value

    def change(self, name, kind, having, /, **fields):
        """Changes fields in every record that matches `having`."""
        recording = self.new(name)
        for i in self.index(kind, **having):
            record = copy.deepcopy(recording.records[kind][i])
            record.update(fields)
            recording.replace(kind, i, record)
        return recording

    def tensors(self):
        kinds = ("q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv", "block_out", "block_lse",
                 "running_lse", "position_ids", "buffer", "other", "grad")
        for at, kind in enumerate(kinds):
            for number in range(3):
                shape = SHAPES[(at * 3 + number) % len(SHAPES)]
                recording = self.change(f"tensor.{kind}.shape.{shape}", "tensors", {"tensor": kind}, shape=list(shape))
                count = 1
                for extent in shape:
                    count *= extent
                for i in self.index("tensors", tensor=kind):
                    recording.values[recording.records["tensors"][i]["id"]] = b"\x00" * (8 * min(count, 10**5))
            odd = (NAN, INF, -INF, 1e308, -1e300, -1.0)[at % 6]
            recording = self.new(f"tensor.{kind}.values.{odd}")
            for i in self.index("tensors", tensor=kind):
                size = len(recording.values[recording.records["tensors"][i]["id"]]) // 8
                recording.values[recording.records["tensors"][i]["id"]] = struct.pack(f"<{size}d", *[odd] * size)
            self.change(f"tensor.{kind}.rank", "tensors", {"tensor": kind}, rank=(4095, 4096, -1)[at % 3])
            self.change(f"tensor.{kind}.dtype", "tensors", {"tensor": kind}, dtype=at % 6)
        for dtype in range(6):
            self.change(f"tensor.q.dtype.{dtype}", "tensors", {"tensor": "q"}, dtype=dtype)

    def values(self):
        for name, values in (("none", {}), ("unknown", {10**6: b"x"}), ("key -1", {2**64 - 1: b""}),
                             ("key 2^63", {2**63: b"y"})):
            recording = self.new(f"values.{name}")
            recording.values = values
        recording = self.new("values.empty")
        recording.values = {i: b"" for i in recording.values}
        recording = self.new("values.one short")
        recording.values = {i: v[:-1] for i, v in recording.values.items()}
        self.change("values.one id for all", "tensors", {}, id=1)
        self.change("values.id -1", "tensors", {}, id=-1)
        self.change("values.said not to be there", "tensors", {}, has_values=0)

    def schedules(self):
        extremes = {"begin": 0, "count": 2**39, "stride": 1}
        for name, rows in (("none", []), ("negative", [{"begin": -5, "count": 8, "stride": 1}]),
                           ("stride 0", [{"begin": 0, "count": 8, "stride": 0}]),
                           ("stride -1", [{"begin": 8, "count": 8, "stride": -1}]),
                           ("stride huge", [{"begin": 0, "count": 2, "stride": 2**39}]),
                           ("2^39 tokens", [extremes]), ("2^39 twice", [extremes, extremes]),
                           ("2^62 tokens", [{"begin": 0, "count": 2**62, "stride": 1}]),
                           ("the same twice", [{"begin": 0, "count": 8, "stride": 1}] * 2),
                           ("empty ones", [{"begin": 0, "count": 0, "stride": 1}] * 3000),
                           ("interleaved", [{"begin": 2 * i, "count": 300, "stride": 7} for i in range(600)]),
                           ("single tokens", [{"begin": 2 * i, "count": 1, "stride": 1} for i in range(1200)])):
            self.change(f"schedule.rows.{name}", "schedule", {}, rows=rows)
            self.change(f"schedule.rows.{name} of rank 0", "schedule", {"rank": 0}, rows=rows)
        for name, fields in (("ring none", {"ring": []}), ("ring of strangers", {"ring": [7, 4095]}),
                             ("ring twice", {"ring": [0, 0, 1, 1]}), ("ring alone", {"ring": [1]}),
                             ("ulysses none", {"ulysses": []}), ("ulysses all", {"ulysses": [0, 1]}),
                             ("ulysses many", {"ulysses": list(range(4096))}), ("ulysses strangers", {"ulysses": [9]}),
                             ("heads beyond", {"q_head_begin": 5, "q_head_end": 2**39}),
                             ("heads turned", {"q_head_begin": 2, "q_head_end": 1}),
                             ("kv heads", {"kv_heads": [2**62, -1]}), ("stages none", {"stages": []}),
                             ("rank of none", {"rank": 300}), ("step far", {"train_step": 2**31 - 1})):
            self.change(f"schedule.{name}", "schedule", {}, **fields)
        self.stages()

    def stages(self):
        first = self.sample.records["schedule"][0]["stages"][0]
        piece = first["pieces"][0]
        odd = {"source 4095": {"source_rank": 4095}, "source none": {"source_rank": -1},
               "ring step 8191": {"ring_step": 8191}, "ring step 32767": {"ring_step": 32767},
               "ring step -1": {"ring_step": -1}, "empty": {"pieces": []}, "why": {"why_empty": 4},
               "many pieces": {"pieces": [piece] * 3000},
               "keys beyond": {"pieces": [dict(piece, k_end=2**40)]},
               "queries beyond": {"pieces": [dict(piece, q_end=2**40)]},
               "turned": {"pieces": [dict(piece, q_begin=8, q_end=0)]},
               "band": {"pieces": [dict(piece, mask=3, band_low=-2**63, band_high=2**63 - 1)]},
               "band turned": {"pieces": [dict(piece, mask=3, band_low=2**63 - 1, band_high=-2**63)]}}
        for name, fields in odd.items():
            self.change(f"stage.{name}", "schedule", {}, stages=[dict(first, **fields)] * 2)
        self.change("stage.4000 of them", "schedule", {}, stages=[dict(first, ring_step=i) for i in range(4000)])

    def groups(self):
        for name, members in (("none", []), ("one", [0]), ("stranger", [0, 1, 2]), ("far", [4095]),
                              ("beyond", [4096]), ("twice", [0, 0, 0]), ("turned", [1, 0]),
                              ("everybody", list(range(4096))), ("too many", [0] * 5000)):
            self.change(f"groups.cp {name}", "groups", {"axis": "cp"}, members=members)
        recording = self.new("groups.overlap")
        for i in range(50):
            recording.add("groups", id=2 + i, axis="cp", members=[i % 2, 1 - i % 2])
        self.change("groups.same number", "groups", {}, id=0)
        for name, microbatches in (("first", [(0, 0)]), ("other", [(0, 7)]), ("negative", [(0, -1)]), ("step -1", [(-1, 0)]),
                                   ("the same", [(0, 0)] * 5000), ("many", [(i, i) for i in range(5000)])):
            self.change(f"groups.microbatches {name}", "groups", {"axis": "cp"},
                        microbatches=[{"train_step": step, "microbatch": m} for step, m in microbatches])
        for kind in ("intent", "schedule", "shards"):
            for microbatch in (0, 7, -1, 2**31 - 1):
                self.change(f"{kind}.microbatch {microbatch}", kind, {}, microbatch=microbatch)

    def events(self):
        far = 2**53
        for name, having, fields in (
                ("attend beyond", {"kind": "attend"}, {"q_end": 2**31 - 1, "k_end": 2**31 - 1}),
                ("attend nothing", {"kind": "attend"}, {"q_end": 0, "k_end": 0}),
                ("attend turned", {"kind": "attend"}, {"q_begin": 9, "q_end": 1}),
                ("attend a stranger's", {"kind": "attend"}, {"source_rank": 4000}),
                ("attend nobody's", {"kind": "attend"}, {"source_rank": -1}),
                ("attend a piece", {"kind": "attend"}, {"piece": 2**31 - 1}),
                ("attend tile mask", {"kind": "attend"}, {"mask": 3, "piece": -1}),
                ("send to self", {"kind": "send"}, {"peer": 0}), ("send to nobody", {"kind": "send"}, {"peer": -1}),
                ("send to 4095", {"kind": "send"}, {"peer": 4095}), ("send flow 0", {"kind": "send"}, {"flow": 0}),
                ("one flow", {}, {"flow": 7}), ("bytes", {"kind": "send"}, {"bytes": 2**53}),
                ("bytes -1", {"kind": "send"}, {"bytes": -1}), ("group far", {}, {"group": 2**31 - 1}),
                ("end far", {"kind": "attend"}, {"end_ns": far}), ("begin far", {"kind": "attend"}, {"begin_ns": -far}),
                ("end farthest", {"kind": "attend"}, {"end_ns": 2**63 - 1}),
                ("begin farthest", {"kind": "attend"}, {"begin_ns": -2**63}),
                ("both farthest", {}, {"begin_ns": -2**63, "end_ns": 2**63 - 1}),
                ("start far", {"kind": "send"}, {"start_ns": far}), ("cpu far", {}, {"cpu_ns": far}),
                ("before itself", {"kind": "wait"}, {"end_ns": 0}), ("layer 32767", {}, {"layer": 32767}),
                ("layer 32768", {}, {"layer": 32768}), ("layer none", {}, {"layer": -1}),
                ("stage 8191", {}, {"stage": 8191}), ("stage 8192", {}, {"stage": 8192}),
                ("stage 32767", {}, {"stage": 32767}), ("stage none", {}, {"stage": -1}),
                ("step 2^31", {}, {"train_step": 2**31 - 1}), ("step -1", {}, {"train_step": -1}),
                ("rank 4095", {"kind": "wait"}, {"rank": 4095}), ("rank 300", {"rank": 1}, {"rank": 300}),
                ("rank 32000", {"rank": 1}, {"rank": 32000}), ("one rank", {}, {"rank": 0}),
                ("queue", {}, {"queue": 255}), ("all pending", {}, {"pending": 1}),
                ("all collectives", {}, {"kind": "collective", "flow": 3}), ("all pauses", {}, {"kind": "pause"}),
                ("all waits", {}, {"kind": "wait", "exchange": 2**32 - 1}), ("microbatch", {}, {"microbatch": -2**31})):
            self.change(f"events.{name}", "events", having, **fields)
        self.new("events.none").records["events"] = []
        for kind in ("attend", "send", "receive", "merge", "wait"):
            recording = self.new(f"events.no {kind}")
            recording.records["events"] = [e for e in recording.records["events"] if e["kind"] != kind]
        for pending in (1, 2, 2**32 - 1):
            self.change(f"times.pending.{pending}", "times", {}, pending=pending, begin_ns=-2**53, end_ns=2**53)

    def shards(self):
        for name, fields in (("runs none", {"global_from_local": []}),
                             ("runs 2^39", {"global_from_local": [{"begin": 0, "end": 2**39}]}),
                             ("runs 2^62", {"global_from_local": [{"begin": 0, "end": 2**62}]}),
                             ("runs turned", {"global_from_local": [{"begin": 8, "end": 0}]}),
                             ("runs negative", {"global_from_local": [{"begin": -8, "end": 0}]}),
                             ("runs empty", {"global_from_local": [{"begin": 3, "end": 3}] * 5000}),
                             ("runs the same", {"global_from_local": [{"begin": 0, "end": 1}] * 8}),
                             ("runs far", {"global_from_local": [{"begin": 2**40 - 8, "end": 2**40}]}),
                             ("dim -1", {"seq_dim": -1}), ("dim 99", {"seq_dim": 99}), ("dim 2^31", {"seq_dim": 2**31 - 1}),
                             ("full none", {"full_shape": []}), ("local none", {"local_shape": []}),
                             ("full 2^40", {"full_shape": [2**20, 2**20]}), ("local zero", {"local_shape": [0, 8]}),
                             ("full 0 and 2^62", {"full_shape": [0, 2**62]}), ("full -1", {"full_shape": [-1, 16]}),
                             ("rank 4095", {"rank": 4095}), ("step -1", {"train_step": -1}), ("one name", {"buffer": "labels"})):
            self.change(f"shards.{name}", "shards", {}, **fields)

    def run_and_intent(self):
        for name, fields in (("ulysses", {"ulysses": 2 * 10**9, "strategy": "hybrid"}), ("cp 0", {"cp": 0}),
                             ("cp 4096", {"cp": 4096}), ("all 4096", {"dp": 4096, "tp": 4096, "cp": 4096}),
                             ("cp -1", {"cp": -1}), ("balance none", {"balance": None}), ("length", {"seq_len": 2**40}),
                             ("window", {"window": 2**40, "mask": "window"}), ("steps", {"steps": 2**31 - 1}),
                             ("lr", {"lr": NAN, "weight_decay": INF, "max_norm": -1.0, "dropout": 1e308}),
                             ("texts", {"text": ["x" * 1000] * 1000}), ("capture", {"capture": "\x1b[31m" * 100}),
                             ("separator", {"separator": b"\xff\xfe"}), ("cores", {"cores": -1})):
            self.change(f"run.{name}", "run", {}, **fields)
        model = self.sample.records["run"][0]["model"]
        for name, value in (("layers", 2**31), ("layers", 32767), ("heads", 0), ("kv_heads", 0), ("head_dim", 0),
                            ("heads", 2**40), ("kv_heads", 3), ("head_dim", 2**40), ("vocab_size", 0),
                            ("vocab_size", 2**40), ("hidden_size", -1)):
            self.change(f"run.model.{name}.{value}", "run", {}, model=dict(model, **{name: value}))
        self.new("run.twice").add("run", cp=3)
        self.new("run.none").records["run"] = []
        self.new("run.two in one chunk").records["run"] *= 2
        many = [{"begin": i, "end": i + 1} for i in range(0, 4000, 2)]
        for name, documents in (("none", []), ("one", [{"begin": 0, "end": 16}]), ("overlap", [{"begin": 0, "end": 12}] * 3),
                                ("turned", [{"begin": 8, "end": 16}, {"begin": 0, "end": 8}]),
                                ("far", [{"begin": 2**39, "end": 2**40}]), ("many", many), ("empty", [{"begin": 4, "end": 4}] * 100)):
            self.change(f"intent.documents.{name}", "intent", {}, documents=documents, mask="documents",
                        positions="each_document")
        for name, fields in (("window 0", {"mask": "window"}), ("window 2^40", {"mask": "window", "window": 2**40}),
                             ("ranks far", {"ranks": [4095]}), ("ranks none", {"ranks": []}),
                             ("layers far", {"layers": [2**30, -1]}), ("layers other", {"layers": [7]}), ("step", {"train_step": 2**31 - 1}),
                             ("striped", {"balance": "striped"}), ("axis", {"gradients_over": "other"})):
            self.change(f"intent.{name}", "intent", {}, **fields)
        self.new("intent.none").records["intent"] = []

    def notes(self):
        for at, text in enumerate(WRONG_JSON):
            for key in ("ended", "step.0", "memory.peak.0", "clock", "run")[at % 5:][:2] + ("ended",):
                self.new(f"notes.{key}.{at}").add("notes", key=key, json=text)
        for at, key in enumerate((b"\xff\xfe", b"", b"x" * 100_000, b"a\x00b", b"\x1b]0;x\x07", b"step.", b"step.-1",
                                  b"step.99999999999999999999", b"memory.peak.4096", b"memory.peak.x")):
            self.new(f"notes.key.{at}").add("notes", key=key, json="{")
            self.new(f"notes.key.{at}.valid").add("notes", key=key, json="{}")

    def ends(self):
        for name, fields in (("events", {"events": 2**63 - 1}), ("dropped", {"dropped_events": 2**64 - 1,
                                                                            "dropped_tensors": 2**64 - 1}),
                             ("quantisation", {"quantisation": NAN}), ("quantisation below 0", {"quantisation": -INF}),
                             ("rows none", {"rows_by_kind": []}), ("rows many", {"rows_by_kind": [2**64 - 1] * 5000}),
                             ("clock", {"run_clock_ns": -2**63})):
            self.new(f"end.{name}").records["end"] = [fields]
        self.new("end.none").ends = False
        self.new("summaries.none").summarizes = False

    def diffs(self):
        for name, fields in (("nan", {"ratio": NAN, "error": NAN, "limit": NAN, "scale": NAN}), ("inf", {"ratio": INF}),
                             ("negative", {"ratio": -1.0, "limit": -1.0}), ("zero", {"limit": 0.0, "scale": 0.0}),
                             ("by rank", {"ratio_by_rank": [NAN] * 5000}), ("index", {"worst_index": [-2**63, 2**63 - 1] * 9}),
                             ("names", {"tensor": "grad." + "x" * 500}), ("layer", {"place": dict(self.sample.records["diffs"][0]["place"], layer=32767)}),
                             ("rows of other size", {"rows": {"shape": [2**20, 2**20], "rows_a_code": 1, "codes": b"x"}}),
                             ("rows packed", {"rows": {"shape": [2**20, 2**20], "rows_a_code": 2**40, "codes": b"x"}}),
                             ("rows a code 0", {"rows": {"shape": [4], "rows_a_code": 0, "codes": b"xxxx"}}),
                             ("rows a code max", {"rows": {"shape": [4], "rows_a_code": 2**63 - 1, "codes": b"x"}}),
                             ("rows none", {"rows": {"shape": [], "rows_a_code": 1, "codes": b""}})):
            self.change(f"diffs.{name}", "diffs", {}, **fields)

    def summaries(self):
        """Yields chunks of events with a wrong summary whose checksum is right."""
        def lie(name, turn):
            recording = self.new(f"summaries.{name}")
            recording.turn_summary = turn
        lie("another rank", lambda s: s["ranks"][0].update(rank=4095))
        lie("other times", lambda s: s["ranks"][0].update(begin_ns=-2**53, end_ns=2**53))
        lie("times farthest", lambda s: s["ranks"][0].update(begin_ns=-2**63, end_ns=2**63 - 1))
        lie("all pending", lambda s: s["ranks"][0].update(pending=s["ranks"][0]["events"]))
        lie("too many pending", lambda s: s["ranks"][0].update(pending=2**32 - 1))
        lie("no ranks", lambda s: s.update(ranks=[]))
        lie("rank twice", lambda s: s.update(ranks=s["ranks"] * 2))
        lie("no places", lambda s: s["ranks"][0].update(places=[]))
        lie("another place", lambda s: s["ranks"][0]["places"][0]["place"].update(layer=77))
        lie("stage 8191", lambda s: s["ranks"][0]["places"][-1]["place"].update(stage=8191))
        lie("places turned", lambda s: s["ranks"][0]["places"].reverse())
        lie("4294967295 events", lambda s: (s["ranks"][0].update(events=2**32 - 1),
                                            s["ranks"][0]["places"][0].update(events=2**32 - 1)))
        lie("checksum", lambda s: s.update(checksum=1))


def cases(table, sample):
    made = Cases(table, sample)
    for part in (made.tensors, made.values, made.schedules, made.groups, made.events, made.shards,
                 made.run_and_intent, made.notes, made.ends, made.diffs, made.summaries):
        part()
    yield from made.made
    yield from cases_many.cases(table, sample)
