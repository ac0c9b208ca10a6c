# SPDX-License-Identifier: Apache-2.0
"""Writes a recording as a .rscope file that is correct except for the changes of a case."""
import copy
import sqlite3
import struct

from xxh3 import xxh3_64

APPLICATION_ID = 0x52534350
M64 = (1 << 64) - 1


def signed(value):
    value &= M64
    return value - (1 << 64) if value >> 63 else value


BODIES = {}


class Chunk:
    def __init__(self, kind, rows, body, rank=-1, key=0):
        self.kind, self.rank, self.key, self.rows, self.body = kind, rank, key, rows, body
        self.seq, self.checksum = 0, None

    def computed(self):
        header = struct.pack("<QBhQI", self.seq & M64, self.kind & 255, signed16(self.rank),
                             self.key & M64, self.rows & 0xFFFFFFFF)
        return xxh3_64(self.body, xxh3_64(header))


def signed16(value):
    value &= 0xFFFF
    return value - 0x10000 if value >> 15 else value


class Recording:
    """The records by kind, the values by tensor id, and the changes to the end record and the
    summaries.
    """

    ORDER = ("run", "intent", "groups", "schedule", "shards", "tensors", "values", "events", "times",
             "memory", "diffs", "notes", "end", "summaries")

    def __init__(self, table):
        self.table = table
        self.records = {kind: [] for kind in self.ORDER if kind != "values"}
        self.values = {}
        self.version, self.application_id = 4, APPLICATION_ID
        self.tables = table.schema
        self.extra_sql = []
        self.turn_chunks = None  # changes the list of chunks; may be None
        self.apart = []  # records with a chunk of their own, so that the others stay readable
        self.ends = True
        self.summarizes = True
        self.turn_summary = None  # changes a summary; may be None

    def copy(self):
        other = copy.copy(self)
        other.records = {kind: list(records) for kind, records in self.records.items()}
        other.values = dict(self.values)
        other.extra_sql = list(self.extra_sql)
        other.apart = []
        return other

    def replace(self, kind, index, record):
        """Replaces a record and puts it into a chunk of its own."""
        self.records[kind] = list(self.records[kind])
        self.records[kind][index] = record
        self.apart.append(record)

    def groups_of(self, records):
        alone = [r for r in records if any(r is a for a in self.apart)]
        rest = [r for r in records if not any(r is a for a in alone)]
        return ([rest] if rest else []) + [[r] for r in alone]

    def add(self, kind, /, **fields):
        self.records[kind].append(self.table.record(kind, **fields))
        return self.records[kind][-1]

    def chunk(self, kind, records, **header):
        return Chunk(self.table.names[kind], len(records), self.body(kind, records), **header)

    def body(self, kind, records):
        """Returns an encoded body from a cache, since most of a recording is the same in every
        case.
        """
        key = (kind, tuple(map(id, records)))
        if key not in BODIES:
            # the records are kept, so that their ids stay unique
            BODIES[key] = (self.table.body(kind, records), records)
        return BODIES[key][0]

    def event_chunks(self):
        by_rank, made = {}, []
        for event in self.records["events"]:
            alone = any(event is a for a in self.apart)
            by_rank.setdefault(id(event) if alone else ("rank", event["rank"]), []).append(event)
        for events in by_rank.values():
            rank = events[0]["rank"]
            header = rank if isinstance(rank, int) and -1 <= rank < 2**15 else -1
            made.append((rank, events, self.chunk("events", events, rank=header)))
        return made

    def summary(self, chunk, rank, events):
        places = {}
        for event in events:
            place = (event["train_step"], event["direction"],
                     event["layer"] if event["direction"] == 0 else -event["layer"], event["stage"])
            places.setdefault(place, [event, 0])[1] += 1
        listed = [{"place": {name: places[at][0][name] for name in
                             ("train_step", "layer", "direction", "stage")}, "events": places[at][1]}
                  for at in sorted(places)]
        return self.table.record("summaries", checksum=chunk.checksum, ranks=[{
            "rank": rank, "events": len(events), "pending": sum(e["pending"] != 0 for e in events),
            "begin_ns": min(e["begin_ns"] for e in events),
            "end_ns": max(e["end_ns"] for e in events), "places": listed}])

    def chunks(self):
        made, events = [], []
        for kind in self.ORDER[:-2]:
            if kind == "values":
                made += [Chunk(2, 1, body, key=key) for key, body in self.values.items()]
            elif kind == "events":
                events = self.event_chunks()
                made += [chunk for _, _, chunk in events]
            elif self.records[kind]:
                made += [self.chunk(kind, group) for group in self.groups_of(self.records[kind])]
        if self.ends:
            made.append(self.end(made))
        self.number(made)
        if self.summarizes and not self.records["summaries"]:
            self.add_summaries(made, events)
        made += [self.chunk("summaries", [record], key=record.get("key", 0))
                 for record in self.records["summaries"]]
        self.number(made)
        return made

    def add_summaries(self, made, events):
        for rank, records, chunk in events:
            try:
                summary = self.summary(chunk, rank, records)
                if self.turn_summary:
                    self.turn_summary(summary)
                made.append(self.chunk("summaries", [summary], key=chunk.seq))
            except (TypeError, AttributeError):
                pass  # the events hold raw bytes, which cannot be summarised

    def end(self, made):
        rows = [0] * len(self.table.names)
        for chunk in made:
            rows[chunk.kind] += chunk.rows
        end = self.table.record("end", events=len(self.records["events"]), rows_by_kind=rows)
        for given in self.records["end"]:
            end.update(given)
        return self.chunk("end", [end])

    @staticmethod
    def number(chunks):
        for seq, chunk in enumerate(chunks, 1):
            if chunk.seq == 0:
                chunk.seq = seq
            if chunk.checksum is None:
                chunk.checksum = chunk.computed()

    def write(self, path, page_size=1024):
        chunks = self.chunks()
        if self.turn_chunks:
            turned = self.turn_chunks(chunks)
            chunks = chunks if turned is None else turned
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA page_size={page_size}")
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.execute(f"PRAGMA application_id={signed32(self.application_id)}")
        db.execute(f"PRAGMA user_version={self.version}")
        db.execute("BEGIN")
        for sql in self.tables:
            db.execute(sql)
        if self.tables is self.table.schema:
            db.executemany("INSERT INTO chunk VALUES(?,?,?,?,?,?,?)",
                           [(signed(c.seq), c.kind, c.rank, signed(c.key), c.rows, signed(c.checksum),
                             c.body) for c in chunks])
        for sql in self.extra_sql:
            db.execute(sql)
        db.execute("COMMIT")
        db.close()
        return path


def signed32(value):
    return value - (1 << 32) if value >> 31 else value
