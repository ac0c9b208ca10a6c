# SPDX-License-Identifier: Apache-2.0
"""Streams of the control connection that no program of RingScope would send."""
import json
import random
import struct

from trace_file import signed16

WRONG = (None, 3, -1, 2**63, 1e308, "x", "", [], {}, True, "\u0000", "\u001b[2J")
REQUESTS = ("hello", "pause", "continue", "stop", "state", "tensors", "flush", "step", "break", "inject", "lift", "capture",
            "read", "resend", "non_finite", "nothing", "")
FIELDS = {"step": ("unit",), "break": ("at", "on", "ratio", "train_step", "layer", "direction", "stage"), "inject": ("mistake",),
          "capture": ("policy",), "read": ("rank", "tensor", "layer", "lead", "begin", "end"), "resend": ("first", "last"),
          "non_finite": ("on",), "hello": ("control", "format")}


def frame(body, kind=b"J", length=None):
    return struct.pack("<I", len(body) + 1 if length is None else length) + kind + body


def said(document):
    return frame(document if isinstance(document, bytes) else json.dumps(document).encode())


def chunk_frame(chunk, **turned):
    for name, value in turned.items():
        setattr(chunk, name, value)
    header = struct.pack("<QBhQIQ", chunk.seq, chunk.kind & 255, signed16(chunk.rank), chunk.key & (2**64 - 1),
                         chunk.rows & 0xFFFFFFFF, chunk.checksum)
    return frame(header + chunk.body, b"C")


def streams(table, sample):
    for length in (0, 1, 2, 5, 2**20, 2**29, 2**29 + 1, 2**31, 2**32 - 1):
        yield f"length {length}", frame(b"{}", length=length)
    for kind in (b"\x00", b"j", b"K", b"\xff", b"\n"):
        yield f"type {kind!r}", frame(b"{}", kind)
    for at, text in enumerate((b"", b"{", b"[" * 100_000, b'{"cmd":' * 50_000, b"null", b"3", b"\xff", b"{}", b"[]", b'{"cmd": 3}',
                               b'{"cmd": null}', b'{"cmd": "pause", "id": "x"}', b'{"cmd": "pause", "id": 1e308}',
                               b'{"cmd": "pause", "id": 18446744073709551615}', b'{"cmd": "pause", "cmd": "stop"}',
                               b'{"hello": 3}', b'{"reply": 3}', b'{"waiting": {}, "for": 3}', b'{"stopped": []}',
                               b'{"end": 3}', b'{"error": 3}', b'{"error": "\\ud800"}', b'{"reply": "read", "ok": 7}',
                               b'{"reply": "nothing", "ok": true}', b'{"reply": "state", "ok": true, "ranks": 3}')):
        yield f"text {at}", frame(text)
    for request in REQUESTS:
        yield f"request {request}", said({"cmd": request, "id": 1})
        for field in FIELDS.get(request, ("id",)):
            yield f"request {request} with any {field}", b"".join(
                said({"cmd": request, "id": 1, field: value}) for value in WRONG)
    for message in ("reply", "hello", "waiting", "stopped", "end", "error"):
        yield f"message {message}", b"".join(said({message: value, "id": 1, "ok": True}) for value in WRONG)
        yield f"message {message} of objects", b"".join(
            said({message: {key: value}, "for": [{"rank": value, "place": {key: value}}], "ok": False, "reason": value})
            for value in WRONG for key in ("run_id", "control", "rank", "place", "reason"))
    chunks = sample.copy().chunks()
    yield "all chunks", b"".join(chunk_frame(c) for c in chunks)
    yield "all chunks turned", b"".join(chunk_frame(c) for c in reversed(chunks))
    yield "all chunks three times", b"".join(chunk_frame(c) for c in chunks) * 3
    yield "checksums wrong", b"".join(chunk_frame(c, checksum=c.checksum ^ 1) for c in sample.copy().chunks())
    yield "kinds wrong", b"".join(chunk_frame(c, kind=200) for c in sample.copy().chunks())
    yield "a chunk cut", chunk_frame(chunks[0])[:-3]
    yield "a chunk without a header", frame(b"abc", b"C")
    chance, whole = random.Random(5), b"".join(chunk_frame(c) for c in chunks)
    for i in range(60):
        flipped = bytearray(whole)
        for _ in range(1 << i % 5):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        yield f"flip {i}", bytes(flipped)
    for i in range(20):
        yield f"cut {i}", whole[:chance.randrange(len(whole))]


def cases(table, sample):
    for name, stream in streams(table, sample):
        yield name, lambda folder, s=stream: (folder / "stream").write_bytes(s), [["frames", "stream"]]
