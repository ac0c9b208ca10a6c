# SPDX-License-Identifier: Apache-2.0
"""Reads traces/FORMAT.md and encodes chunks as it specifies, independent of the C++ code."""
import re
import struct
from pathlib import Path

M64 = (1 << 64) - 1


class Raw:
    """Bytes in the place of a value."""

    def __init__(self, data):
        self.data = data


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    value &= M64
    return varint((value << 1 & M64) ^ (M64 if value >> 63 else 0))


def split_fields(text):
    """Splits a text at the commas that are not in braces."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text + ","):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [part for part in parts if part]


def parse_type(text):
    text = text.strip()
    if text.startswith("list of "):
        return ("list", parse_type(text[8:]))
    if text.startswith("optional "):
        return ("optional", parse_type(text[9:]))
    if text.startswith("{"):
        return ("record", parse_fields(text[1:text.rindex("}")]))
    if text.startswith("("):
        return ("enum", text[1:-1])
    return (text,)


def parse_fields(text):
    fields = {}
    for part in split_fields(text):
        name, _, rest = part.partition(" ")
        fields[name] = parse_type(rest)
    return fields


class Format:
    def __init__(self, path):
        text = Path(path).read_text(encoding="utf-8")
        self.kinds, self.names, self.by_columns, self.enums = {}, {}, set(), {}
        for number, name, by, fields in re.findall(r"^\| (\d+) (\w+) \| (\w+) \| `(.+)` \|$", text, re.M):
            self.names[name] = int(number)
            self.kinds[name] = parse_fields(fields)
            if by == "columns":
                self.by_columns.add(name)
        self.names["values"] = 2
        for name, values in re.findall(r"^\| ([a-z ]+) \| `(0 .+)` \|$", text, re.M):
            self.enums[name] = {v.split(" ", 1)[1]: int(v.split(" ", 1)[0]) for v in values.split(", ")}
        blocks = re.findall(r"^```\n(.*?)^```", text, re.M | re.S)
        self.schema = tuple(blocks[0].splitlines())

    def default(self, kind_type):
        what = kind_type[0]
        if what == "record":
            return {name: self.default(t) for name, t in kind_type[1].items()}
        return {"int": 0, "enum": 0, "real": 0.0, "text": "", "bytes": b"", "list": [],
                "optional": None}[what] if what != "list" else []

    def record(self, kind, /, **given):
        """Returns a record with these fields; all others are 0, empty or none."""
        made = self.default(("record", self.kinds[kind]))
        for name, value in given.items():
            if name not in made:
                raise KeyError(f"{kind} has no field {name}")
            made[name] = value
        return made

    def number(self, kind_type, value):
        return self.enums[kind_type[1]][value] if isinstance(value, str) else value

    def row(self, kind_type, value):
        if isinstance(value, Raw):
            return value.data
        what = kind_type[0]
        if what in ("int", "enum"):
            return zigzag(self.number(kind_type, value))
        if what == "real":
            return struct.pack("<d", value)
        if what == "text" or what == "bytes":
            data = value.encode() if isinstance(value, str) else bytes(value)
            return varint(len(data)) + data
        if what == "list":
            return varint(len(value)) + b"".join(self.row(kind_type[1], item) for item in value)
        if what == "optional":
            return b"\x00" if value is None else b"\x01" + self.row(kind_type[1], value)
        return b"".join(self.row(t, value[name]) for name, t in kind_type[1].items())

    def body(self, kind, records):
        fields = self.kinds[kind]
        if kind not in self.by_columns:
            return b"".join(self.row(("record", fields), r) for r in records)
        out = b""
        for name, kind_type in fields.items():
            column, previous = b"", 0
            for record in records:
                if isinstance(record[name], Raw):
                    column += record[name].data
                    continue
                value = self.number(kind_type, record[name])
                column += zigzag(value - previous)
                previous = value
            out += varint(len(column)) + column
        return out
