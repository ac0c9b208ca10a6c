# SPDX-License-Identifier: Apache-2.0
"""One rank's files of a recording; FORMAT.md describes their contents."""

import json
import math
import os
import sys
import threading
import time
import weakref

import torch.distributed as dist

from ._earlier import lock, set_aside
from ._hashing import HASH, HASH_OF_PARTS
from ._values import ValueFiles

VERSION = 1
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))  # json.dumps() would make one per line


def _finite(value):
    """Returns `value` with null in the place of each number that JSON cannot express (NaN and infinities)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


def _encode(fields):
    try:
        return _ENCODER.encode(fields)
    except ValueError:
        return _ENCODER.encode(_finite(fields))


def _boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def environment_rank():
    """Returns this process's rank and the number of ranks, from torch.distributed or torchrun's environment."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


_writers = weakref.WeakSet()


def _forget_in_child():
    """Stops writing in a forked child, such as a data loader's worker, which has the same files open."""
    for writer in list(_writers):
        writer.broken = True
        writer.value_files.forget()


os.register_at_fork(after_in_child=_forget_in_child)


class RankWriter:
    """The writer of a rank's files. It appends lines without delay, and hands values to their files.

    An earlier recording in the folder is set aside, and nothing is overwritten. Raises FileExistsError if another job
    is recording into the folder. Later errors do not reach the job. If a disk is full, this is printed once on stderr, `broken` becomes true, and the file ends
    with the last complete line.
    """

    def __init__(self, folder, rank, world_size, budget_bytes):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.rank = rank
        self.start_ns = time.monotonic_ns()
        self.left_bytes = budget_bytes
        self.lines = 0
        self.broken = False
        # Two threads write lines. A signal handler of the job may stop the recording during a write.
        self._lock = threading.RLock()
        self._end = 0
        self.stem = f"rank-{rank:05d}"
        set_aside(folder, rank, world_size)
        self._file = open(os.path.join(folder, self.stem + ".jsonl"), "xb", buffering=0)
        lock(self._file)
        self.value_files = ValueFiles(folder, self.stem, self._give_up)
        _writers.add(self)
        self.line(
            "header",
            ringscope="recording",
            version=VERSION,
            hash=HASH,
            hash_of_parts=HASH_OF_PARTS,
            rank=rank,
            world_size=world_size,
            clock={
                "boot_id": _boot_id(),
                "steady_ns": self.start_ns,
                "unix_ns": time.time_ns(),
            },
        )

    def now(self):
        """Returns nanoseconds since this rank's recording began."""
        return time.monotonic_ns() - self.start_ns

    def line(self, kind, **fields):
        text = (_encode({"line": kind, **fields}) + "\n").encode()
        self.left_bytes -= len(text)
        if self.broken:
            return
        with self._lock:
            self._append(text)

    def _append(self, text):
        try:
            size, left = len(text), text
            while left:
                left = left[self._file.write(left) :]
            self._end += size
            self.lines += 1
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error):
        """Stops writing after an error. Also called by the thread that writes values."""
        if self.broken:
            return
        self.broken = True
        try:
            self._file.truncate(self._end)
        except OSError:
            pass
        print(f"ringscope: rank {self.rank} is recorded no further, the job goes on: {error}", file=sys.stderr)

    def values(self, key, dtype, shape, data):
        """Keeps a tensor's bytes for the next file of values and returns their place in it."""
        self.left_bytes -= len(data)
        return self.value_files.keep(key, dtype, shape, data)

    def close(self):
        self.value_files.close()
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            self._give_up(error)
