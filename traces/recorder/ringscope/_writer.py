# SPDX-License-Identifier: Apache-2.0
"""One rank's files of a recording; FORMAT.md says what they hold."""

import json
import os
import struct
import time

VERSION = 1
_TYPE_NAMES = {
    "float32": "F32",
    "float64": "F64",
    "bfloat16": "BF16",
    "float16": "F16",
    "int32": "I32",
    "int64": "I64",
}
_VALUES_A_FILE = 16 << 20
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))  # dumps() makes one a line


def _boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class RankWriter:
    """Appends lines, each flushed, and writes values aside before they get their name.

    Raises FileExistsError where this rank has a file in the folder already: nothing is overwritten.
    """

    def __init__(self, folder, rank, world_size, budget_bytes):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.rank = rank
        self.start_ns = time.monotonic_ns()
        self.left_bytes = budget_bytes
        self.lines = 0
        self.stem = f"rank-{rank:05d}"
        self._file = open(os.path.join(folder, self.stem + ".jsonl"), "x", encoding="utf-8")
        self._pending = {}
        self.pending_bytes = 0
        self.files = 0
        self.line(
            "header",
            ringscope="recording",
            version=VERSION,
            rank=rank,
            world_size=world_size,
            clock={
                "boot_id": _boot_id(),
                "steady_ns": self.start_ns,
                "unix_ns": time.time_ns(),
            },
        )

    def now(self):
        """Nanoseconds since this rank's recording began."""
        return time.monotonic_ns() - self.start_ns

    def line(self, kind, **fields):
        text = _ENCODER.encode({"line": kind, **fields}) + "\n"
        self._file.write(text)
        self._file.flush()
        self.left_bytes -= len(text)
        self.lines += 1

    def values_name(self, number):
        return f"{self.stem}.values-{number:04d}.safetensors"

    def values(self, key, dtype, shape, data):
        """Keeps a tensor's bytes for the next file of values; returns where they will be."""
        name = self.values_name(self.files)
        self._pending[key] = (dtype, shape, data)
        self.pending_bytes += len(data)
        self.left_bytes -= len(data)
        if self.pending_bytes >= _VALUES_A_FILE:
            self.flush_values()
        return {"file": name, "key": key}

    def flush_values(self):
        if not self._pending:
            return
        path = os.path.join(self.folder, self.values_name(self.files))
        header, at = {}, 0
        for key, (dtype, shape, data) in self._pending.items():
            header[key] = {
                "dtype": _TYPE_NAMES[dtype],
                "shape": shape,
                "data_offsets": [at, at + len(data)],
            }
            at += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path + ".part", "xb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, data in self._pending.values():
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".part", path)
        self._pending, self.pending_bytes = {}, 0
        self.files += 1

    def close(self):
        self.flush_values()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
