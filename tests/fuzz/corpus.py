#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzzers start from into a folder: right inputs, by the writers of tests/hostile."""
import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hostile"))


import cases_frames  # noqa: E402
import cases_tensors  # noqa: E402
from format_table import Format  # noqa: E402
from sample import sample  # noqa: E402


def main(folder):
    recording = sample(Format(HERE.parent.parent / "traces" / "FORMAT.md"))
    chunks = recording.chunks()
    inputs = {
        "chunk": [bytes([c.kind]) + struct.pack("<H", c.rows) + c.body for c in chunks if c.kind != 2],
        "safetensors": [data for name, data in cases_tensors.tensor_files() if len(data) < 4096],
        "json": [b'{"cp": 4, "strategy": "ring", "lr": 0.001, "text": ["a"], "model": {"layers": 2}}'] +
                [text if isinstance(text, bytes) else text.encode() for text in
                 (r.get("json") for r in recording.records["notes"])],
        "frame": [cases_frames.chunk_frame(chunks[0])] + [
            cases_frames.said({"cmd": name, "id": 1, **{f: 1 for f in cases_frames.FIELDS.get(name, ())}})
            for name in cases_frames.REQUESTS] + [
            cases_frames.said({"hello": {"control": 0, "format": 0, "run_id": "a", "capabilities": ["x"]}}),
            cases_frames.said({"end": {"run_id": "a", "stopped": False, "reason": ""}}), cases_frames.said({"error": "x"})]}
    for target, files in inputs.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(files):
            (folder / target / str(number)).write_bytes(data)
    json.dump({target: len(files) for target, files in inputs.items()}, sys.stdout)
    print()


main(Path(sys.argv[1]))
