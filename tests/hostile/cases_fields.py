# SPDX-License-Identifier: Apache-2.0
"""Every field of every record at its limits, one field per trace. The fields come from the table in
FORMAT.md.
"""
import copy

from format_table import Raw, varint

MOST = 1 << 63
NUMBERS = (-2, 2**31 - 1, MOST - 1, -MOST, 2**53 + 1, 2**40, 2**15, 2**32, -(2**31) - 1, 2**48)
REALS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -1.0)
TEXTS = (b"", b"\xff\xfe\x80", b"x" * 600, b"y" * 200_000, "\x1b]0;owned\x07\x1b[2J".encode(),
         b"<img src='/etc/passwd'>", b"a\x00b", "\u202egnp.exe\u2028".encode(), b"{" * 300)
LONG = 5000


def values_for(kind_type, value, table, turn):
    """Returns some replacements for `value`; `turn` rotates through them from field to field."""
    what = kind_type[0]
    if what == "int":
        return [NUMBERS[(turn + i * 3) % len(NUMBERS)] for i in range(3)]
    if what == "enum":
        return [len(table.enums[kind_type[1]]), (-1, 255, 2**31, MOST - 1)[turn % 4]]
    if what == "real":
        return [REALS[(turn + i) % len(REALS)] for i in (0, 3)]
    if what == "text":
        return [TEXTS[(turn + i * 2) % len(TEXTS)] for i in range(4)] + [Raw(varint(2**62)), Raw(b"\x80" * 11)]
    if what == "bytes":
        return [b"", b"\xff" * 3, Raw(varint(2**40))]
    if what == "list":
        many = [value[0]] * LONG if value else [0] * LONG if kind_type[1][0] in ("int", "real") else []
        return [[], many, Raw(varint((2**62, 2**32, 2**64 - 1)[turn % 3]))]
    if what == "optional" and kind_type[1][0] == "int":
        return [None, Raw(b"\x02\x00"), *values_for(kind_type[1], value, table, turn)]
    if what == "optional":
        wrong = len(table.enums[kind_type[1][1]]) if kind_type[1][0] == "enum" else REALS[turn % len(REALS)]
        return [None, Raw(b"\x02\x00"), wrong]
    return []


def leaves(kind_type, value, path=()):
    """Yields every value of a record with its path and type."""
    if kind_type[0] == "record":
        for name, field in kind_type[1].items():
            yield from leaves(field, value[name], path + (name,))
        return
    yield path, kind_type, value
    if kind_type[0] == "list" and value:
        yield from leaves(kind_type[1], value[0], path + (0,))


def put(record, path, value):
    for step in path[:-1]:
        record = record[step]
    record[path[-1]] = value


def fullest(table, kind, records):
    """Returns the index of the record with the most values, such as one with pieces."""
    return max(range(len(records)), key=lambda i: len(list(leaves(("record", table.kinds[kind]), records[i]))))


def cases(table, sample):
    turn = 0
    for kind, fields in table.kinds.items():
        records = sample.records[kind] or [summary_or_end(table, sample, kind)]
        index = fullest(table, kind, records)
        for path, kind_type, value in leaves(("record", fields), records[index]):
            turn += 1
            for number, other in enumerate(values_for(kind_type, value, table, turn)):
                record = copy.deepcopy(records[index])
                put(record, path, other)
                turned = sample.copy()
                if sample.records[kind]:
                    turned.replace(kind, index, record)
                else:
                    turned.records[kind] = [record]
                name = f"{kind}.{'.'.join(map(str, path))}.{number}"
                yield name, turned


def summary_or_end(table, sample, kind):
    """Returns the record as the writer itself would make it."""
    chunks = sample.copy().chunks()
    if kind == "end":
        return table.record("end", events=len(sample.records["events"]),
                            rows_by_kind=[sum(c.rows for c in chunks if c.kind == k) for k in range(14)])
    events = next(c for c in chunks if c.kind == table.names["events"])
    own = [e for e in sample.records["events"] if e["rank"] == events.rank]
    return dict(sample.summary(events, events.rank, own), key=events.seq)
