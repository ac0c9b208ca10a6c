# SPDX-License-Identifier: Apache-2.0
"""Folders of recorded PyTorch jobs that are truncated, flipped, inconsistent or beside strange
files.
"""
import json
import os
import random
import shutil
import struct
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "reference" / "recording"
LINES, OTHER, VALUES = "rank-00000.jsonl", "rank-00001.jsonl", "rank-00000.values-0000.safetensors"
ODD = (0, -1, 1, 2**31, 2**40, 2**53, 2**53 + 1, 2**63, 2**64, -2**63, 1e308, 1.5, "x", "", "\x1b[2J\ud800", "../" * 9,
       "x" * 5000, None, True, [], {}, [-1], [2**53, 2**53], [[2**53, 0]], [None] * 3, {"x": 1}, [[]] * 9)
RECORDING_JOBS = [["command", "doctor", "case.rscope", "--json"], ["command", "verify", "case.rscope"],
                  ["command", "import", "case.rscope", "-o", "out.rscope"], ["scenes", "case.rscope"]]


def copied(folder):
    case = folder / "case.rscope"
    shutil.copytree(SOURCE, case)
    return case


def with_bytes(name, turn):
    """Returns a recording in which `turn` has changed the bytes of one file."""
    def go(folder):
        path = copied(folder) / name
        path.write_bytes(turn(path.read_bytes()))
    return go


def with_line(number, line):
    def turn(data):
        lines = data.splitlines(keepends=True)
        lines[number] = json.dumps(line).encode() + b"\n"
        return b"".join(lines)
    return with_bytes(LINES, turn)


def fields():
    """Yields recordings with an odd value in each field of the first line of each kind, and of each
    kind of tensor.
    """
    chance, seen = random.Random(17), set()
    for number, text in enumerate((SOURCE / LINES).read_text(encoding="utf-8").splitlines()):
        line = json.loads(text)
        which = (line["line"], line.get("what"), line.get("direction"))
        if which in seen:
            continue
        seen.add(which)
        name = ".".join(str(word) for word in which if word)
        for field in line:
            odd = chance.choice(ODD)
            yield f"{name}.{field} {str(odd)[:20]!r}", with_line(number, {**line, field: odd})
            if isinstance(line[field], dict) and line[field]:
                inner = chance.choice(sorted(line[field]))
                odd = chance.choice(ODD)
                yield (f"{name}.{field}.{inner} {str(odd)[:20]!r}",
                       with_line(number, {**line, field: {**line[field], inner: odd}}))
        without = chance.choice(sorted(line))
        yield f"{name} without {without}", with_line(number, {k: v for k, v in line.items() if k != without})


def flipped(seed, flips):
    def turn(data):
        dice, data = random.Random(seed), bytearray(data)
        for _ in range(flips):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        return bytes(data)
    return turn


def bytes_of():
    for name in (LINES, VALUES):
        size = (SOURCE / name).stat().st_size
        for part in (0, 1, 7, 8, 9, 100, size // 3, size // 2, size - 100, size - 1):
            yield f"{name} cut at {part}", with_bytes(name, lambda data, part=part: data[:part])
        for i in range(20):
            yield f"{name} flip {i}", with_bytes(name, flipped(i, 1 << i % 7))
        for what, data in (("zeros", bytes(5000)), ("text", b"hello\n" * 9), ("twice", None), ("turned", None)):
            turn = {"twice": lambda old: old + old, "turned": lambda old: old[::-1]}.get(what, lambda _, data=data: data)
            yield f"{name} {what}", with_bytes(name, turn)
    for at, text in enumerate((b"null", b"[]", b'{"line":"block"', b"[" * 10**6, b'{"a":' * 10**6, b"\xff\xfe", b"x" * 9_000_000,
                               b'{"line":"header"}', b'{"line":"log","values":{"a":NaN}}', b'{"line":"log","step":1e999}',
                               b'{"line":"' + b"k" * 100_000 + b'"}', b'{"line":"tensor","id":1,"values":{"parts":[{}]}}')):
        yield f"line {at}", with_bytes(LINES, lambda data, text=text: data + text + b"\n" + data[data.rfind(b"\n", 0, -1) + 1:])
    for length in (0, 1, 2**20, 2**31, 2**62, 2**63, 2**64 - 1):
        yield f"values' header of {length}", with_bytes(VALUES, lambda data, n=length: struct.pack("<Q", n) + data[8:])


def many():
    """Yields recordings with more of something than a job has."""
    def repeated(make, count):
        return with_bytes(LINES, lambda data: data + b"".join(json.dumps(make(i)).encode() + b"\n" for i in range(count)))
    place = {"step": 0, "microbatch": 0, "layer": 0, "ring_step": 0}
    yield "many groups", repeated(lambda i: {"line": "group", "name": str(i), "members": list(range(100))}, 5000)
    yield "many buffers", repeated(lambda i: {"line": "buffer", **place, "name": f"b{i}", "local_shape": [i]}, 20_000)
    yield "many calls", repeated(lambda i: {"line": "attention", "call": i, "direction": "forward", **place,
                                            "q_shape": [1, 4, 8, 8], "k_shape": [1, 4, 8, 8], "ring": {"group": str(i)}}, 20_000)
    yield "many ring steps", repeated(lambda i: {"line": "attention_end", "call": i, "ring_steps": 8192}, 2000)
    yield "many troubles", repeated(lambda i: {"line": "trouble", "where": f"w{i}", "error": "e" * 100}, 20_000)
    yield "many files", repeated(lambda i: {"line": "tensor", "id": 10_000 + i, "what": "q", **place, "piece": i, "dtype": "float32",
                                            "shape": [1], "stats": {}, "values": {"file": f"rank-{i}.values-.safetensors", "key": "a"}}, 5000)
    yield "many steps", repeated(lambda i: {"line": "loss", "step": i, "sum": 1e308, "targets": 2**53}, 20_000)
    yield "many of no step", repeated(lambda i: {"line": "loss", "step": 0, "sum": 1e308, "targets": 2**53}, 5000)
    ranks = list(range(4096))
    yield "a part of all ranks", repeated(lambda i: {"line": "tensor", "id": 10_000 + i, "what": "grad", "name": f"w{i}", **place,
                                                     "dtype": "float32", "shape": [0, 0], "hash": "0" * 16, "stats": {},
                                                     "part": {"of": [2**53, 0], "begin": 0, "ranks": [0] * 2000, "hash": "0" * 16}}, 20)
    yield "a mesh of all ranks", repeated(lambda i: {"line": "mesh", "axes": ["tp"], "ranks": ranks, "cp_axes": []}, 2)


def company():
    def beside(make):
        return lambda folder: make(copied(folder), folder)
    def instead(name, make):
        return beside(lambda case, folder: (os.remove(case / name), make(case / name)))
    for name in (LINES, OTHER, VALUES):
        yield f"{name} missing", instead(name, lambda path: None)
        yield f"{name} a pipe", instead(name, os.mkfifo)
        yield f"{name} a folder", instead(name, os.mkdir)
        yield f"{name} a link to nothing", instead(name, lambda path: os.symlink("nowhere", path))
        yield f"{name} a link to itself", instead(name, lambda path: os.symlink(path, path))
        yield f"{name} a link to /dev/zero", instead(name, lambda path: os.symlink("/dev/zero", path))
        yield f"{name} a large hole", beside(lambda case, folder, name=name: os.truncate(case / name, 2**25))
    for name in ("rank-99999.jsonl", "rank-0000x.jsonl", "rank-00002.jsonl", "rank-00000.values-0001.safetensors", "\x1b[2J"):
        yield f"with {name!r}", beside(lambda case, folder, name=name: shutil.copy(case / LINES, case / name))
    yield "many ranks' files", beside(lambda case, folder: [(case / f"rank-{i:05}.jsonl").write_text("") for i in range(2, 3000)])
    yield "values of another folder", beside(lambda case, folder: (
        shutil.move(case / VALUES, folder / VALUES),
        (case / LINES).write_bytes((case / LINES).read_bytes().replace(VALUES.encode(), b"../" + VALUES.encode()))))


def cases():
    yield "whole", copied, RECORDING_JOBS
    for part in (fields, bytes_of, many, company):
        for number, (name, make) in enumerate(part()):
            few = RECORDING_JOBS if part is not fields else [RECORDING_JOBS[number % 4]]
            yield name, make, few
