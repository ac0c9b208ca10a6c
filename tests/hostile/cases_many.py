# SPDX-License-Identifier: Apache-2.0
"""So many records that any step with more than linear cost takes minutes."""
import struct

from format_table import varint, zigzag
from trace_file import Chunk

MANY = 40_000


def columns(table, kind, count, /, **given):
    """Returns a body by columns: for each field one value for all rows, or a list of values."""
    body = b""
    for name, kind_type in table.kinds[kind].items():
        value = given.get(name, table.default(kind_type))
        if isinstance(value, (range, list)):
            steps, previous = [], 0
            for v in value:
                steps.append(zigzag(v - previous))
                previous = v
            column = b"".join(steps)
        else:
            column = zigzag(table.number(kind_type, value)) + b"\x00" * (count - 1)
        body += varint(len(column)) + column
    return body


def rows(table, kind, records):
    fields = ("record", table.kinds[kind])
    return b"".join(table.row(fields, r) for r in records)


def numbered(table, kind, record, field, values):
    """Returns rows that differ in one field. Only that field is encoded again."""
    parts, fields = [], table.kinds[kind]
    before, after, seen = b"", b"", False
    for name, kind_type in fields.items():
        if name == field:
            seen = True
        elif seen:
            after += table.row(kind_type, record[name])
        else:
            before += table.row(kind_type, record[name])
    for value in values:
        parts.append(before + table.row(fields[field], value) + after)
    return b"".join(parts)


def many(sample, name, kind, count, body, summaries=True, **header):
    recording = sample.copy()
    recording.summarizes = summaries

    def add(chunks):
        chunks[:] = [c for c in chunks if c.kind != 7]  # cut: no end record that counts rows
        extra = Chunk(sample.table.names[kind], count, body, **header)
        extra.seq = max(c.seq for c in chunks) + 1
        extra.checksum = extra.computed()
        chunks.append(extra)
    recording.turn_chunks = add
    return "many." + name, recording


def cases(table, sample):
    event = {"kind": "attend", "end_ns": 1, "source_rank": -1, "peer": -1, "group": -1, "piece": -1}
    up = range(MANY)
    down = range(MANY - 1, -1, -1)
    places = {"places up": dict(train_step=up), "places down": dict(train_step=down),
              "places all over": dict(train_step=[i * 7919 % MANY for i in up]),
              "places in two ranks": dict(train_step=[i * 7919 % MANY for i in up], rank=[i % 2 for i in up]),
              "layers": dict(layer=[i % 32768 for i in up]), "stages": dict(stage=[i % 8192 for i in up]),
              "ranks": dict(rank=[i % 4096 for i in up])}
    for name, fields in places.items():
        given = dict(event, **dict({"stage": 0}, **fields))
        yield many(sample, name, "events", MANY, columns(table, "events", MANY, **given))
    pending = dict(event, stage=0, pending=range(1, MANY + 1))
    yield many(sample, "pending", "events", MANY, columns(table, "events", MANY, **pending))
    yield many(sample, "one pending", "events", MANY, columns(table, "events", MANY, **dict(event, pending=1)))
    for name, fields in (("sends of one flow", dict(kind="send", flow=5, peer=1, stage=0, layer=0)),
                         ("sends of many", dict(kind="send", flow=up, peer=1, stage=0, layer=0)),
                         ("receives of one", dict(kind="receive", flow=1, peer=1, stage=0, layer=0)),
                         ("waits", dict(kind="wait", peer=1, stage=0, layer=0, exchange=up)),
                         ("attends", dict(q_end=8, k_end=8, source_rank=0, stage=0, layer=0, piece=0)),
                         ("merges", dict(kind="merge", q_end=8, k_end=8, source_rank=0, stage=0, layer=0)),
                         ("collectives", dict(kind="collective", flow=9, group=1, stage=0, layer=0))):
        yield many(sample, name, "events", MANY, columns(table, "events", MANY, **dict(event, **fields)))
    yield many(sample, "times of nothing", "times", MANY, columns(table, "times", MANY, pending=range(5, MANY + 5)))
    yield many(sample, "memory", "memory", MANY, columns(table, "memory", MANY, time_ns=down, bytes=up))
    yield many(sample, "memory of all", "memory", MANY,
               columns(table, "memory", MANY, time_ns=up, rank=[i % 4096 for i in up]))
    yield from lists(table, sample)
    yield from single(table, sample)


def lists(table, sample):
    few = range(10_000)
    group = table.record("groups", axis="cp", members=[0, 1])
    yield many(sample, "groups down", "groups", MANY, numbered(table, "groups", group, "id", range(MANY, 0, -1)))
    yield many(sample, "groups up", "groups", MANY, numbered(table, "groups", group, "id", range(2, MANY + 2)))
    tensor = dict(sample.records["tensors"][0])
    yield many(sample, "the same tensor", "tensors", len(few), table.body("tensors", [tensor]) * len(few))
    tensor["microbatch"] = 1
    for name, field in (("microbatches", "microbatch"), ("pieces", "piece")):
        yield many(sample, "tensors of " + name, "tensors", len(few), numbered(table, "tensors", tensor, field, few))
    named = dict(tensor, tensor="other", has_values=0)
    yield many(sample, "tensors of names", "tensors", len(few),
               numbered(table, "tensors", named, "name", (f"t{i}" for i in few)))
    shard = sample.records["shards"][0]
    yield many(sample, "shards", "shards", len(few), numbered(table, "shards", shard, "train_step", few))
    yield many(sample, "shards of names", "shards", len(few),
               numbered(table, "shards", shard, "buffer", (f"b{i}" for i in few)))
    diff = sample.records["diffs"][0]
    yield many(sample, "diffs of names", "diffs", len(few), numbered(table, "diffs", dict(diff, rows=dict(
        diff["rows"], shape=[], codes=b"")), "tensor", (f"t{i}" for i in few)))
    intent = sample.records["intent"][0]
    yield many(sample, "intents", "intent", len(few), numbered(table, "intent", intent, "train_step", few))
    schedule = sample.records["schedule"][0]
    yield many(sample, "schedules", "schedule", len(few),
               numbered(table, "schedule", schedule, "train_step", few))
    yield many(sample, "notes", "notes", MANY, table.body("notes", [{"key": "step.0", "json": "{}"}]) * MANY)
    yield many(sample, "notes that are wrong", "notes", MANY, table.body("notes", [{"key": "a", "json": "{"}]) * MANY)
    yield many(sample, "ended notes", "notes", MANY,
               table.body("notes", [{"key": "ended", "json": '{"how": "failed", "reason": "x"}'}]) * MANY)


def single(table, sample):
    """Yields one record with a very long list."""
    shard = dict(sample.records["shards"][0])
    for name, run in (("empty runs", b"\x00\x00"), ("runs of one", b"\x00\x02")):
        record = dict(shard, global_from_local=[])
        body = table.body("shards", [record])[:-1] + varint(300_000) + run * 300_000
        yield many(sample, name, "shards", 1, body)
        turned = sample.copy()
        turned.records["shards"] = [s for s in turned.records["shards"] if s["buffer"] != "input_ids"]
        tensor = next(t for t in turned.records["tensors"] if t["tensor"] == "position_ids")
        size = 40_000
        turned.replace("tensors", turned.records["tensors"].index(tensor), dict(tensor, shape=[1, size]))
        turned.values[tensor["id"]] = struct.pack(f"<{size}d", *range(size))
        yield many(turned, name + " and many positions", "shards", 1, body)
    schedule = dict(sample.records["schedule"][0])
    for count in (1200, 4000, 40_000):
        cut = [{"begin": 3 * i, "count": 1, "stride": 1} for i in range(count)]
        yield many(sample, f"{count} chunks", "schedule", 1, table.body("schedule", [dict(schedule, rows=cut)]))
        both = [dict(schedule, rank=r, direction=d, rows=[dict(c, begin=c["begin"] + r) for c in cut])
                for r in (0, 1) for d in (0, 1)]
        yield many(sample, f"{count} chunks of each", "schedule", 4, table.body("schedule", both))
    piece = schedule["stages"][0]["pieces"][0]
    for count in (2000, 50_000):
        stages = [dict(schedule["stages"][0], pieces=[piece] * count)] * 2
        yield many(sample, f"{count} pieces", "schedule", 1, table.body("schedule", [dict(schedule, stages=stages)]))
    stages = [dict(schedule["stages"][0], ring_step=i % 8192, source_rank=i % 2) for i in range(20_000)]
    yield many(sample, "stages", "schedule", 1, table.body("schedule", [dict(schedule, stages=stages)]))
    documents = [{"begin": i, "end": i + 1} for i in range(100_000)]
    yield many(sample, "documents", "intent", 1, table.body("intent", [dict(
        sample.records["intent"][0], documents=documents, mask="documents", positions="each_document")]))
