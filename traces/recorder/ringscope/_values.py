# SPDX-License-Identifier: Apache-2.0
"""Files of tensors' elements, which a separate thread writes. The job waits for a disk only if the disk is two files
behind."""

import json
import os
import queue
import struct
import threading

_TYPE_NAMES = {
    "float32": "F32",
    "float64": "F64",
    "bfloat16": "BF16",
    "float16": "F16",
    "int32": "I32",
    "int64": "I64",
}
_A_FILE = 16 << 20


def _written(path, kept):
    """Writes and syncs a temporary file and then renames it, so that a named file is complete. Raises OSError."""
    header, at = {}, 0
    for key, (dtype, shape, data) in kept.items():
        end = at + len(data)
        header[key] = {"dtype": _TYPE_NAMES[dtype], "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    try:
        with open(path + ".part", "xb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, data in kept.values():
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".part", path)
    except OSError:
        try:
            os.unlink(path + ".part")
        except OSError:
            pass
        raise


class ValueFiles:
    """The value files of one rank. Calls `failed` with an OSError, after which nothing more is written."""

    def __init__(self, folder, stem, failed):
        self._folder, self._stem, self._failed = folder, stem, failed
        self._pending, self._size, self._next = {}, 0, 0
        self._given = queue.Queue(maxsize=1)
        self._thread = None
        self._unwritten = 0
        self._lock = threading.Lock()
        self._forgotten = False
        self.files = 0  # number of written files

    @property
    def pending_bytes(self):
        return self._size + self._unwritten

    def name(self, number):
        return f"{self._stem}.values-{number:04d}.safetensors"

    def keep(self, key, dtype, shape, data):
        """Keeps a tensor's bytes for the next file and returns their place in it."""
        at = {"file": self.name(self._next), "key": key}
        self._pending[key] = (dtype, shape, data)
        self._size += len(data)
        if self._size >= _A_FILE:
            self.flush()
        return at

    def flush(self):
        """Hands the kept bytes to the thread that writes files."""
        if not self._pending or self._forgotten:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ringscope-values", daemon=True)
            self._thread.start()
        with self._lock:
            self._unwritten += self._size
        self._given.put((self.name(self._next), self._pending, self._size))
        self._pending, self._size = {}, 0
        self._next += 1

    def settle(self):
        """Waits until all files are written whose bytes were handed over."""
        if self._thread is not None:
            self._given.join()

    def close(self):
        self.flush()
        if self._thread is not None:
            self._given.put(None)
            self._thread.join()
            self._thread = None

    def forget(self):
        """Stops writing in a forked child, which does not have the thread."""
        self._pending, self._size, self._unwritten = {}, 0, 0
        self._given, self._thread, self._lock = queue.Queue(maxsize=1), None, threading.Lock()
        self._forgotten = True

    def _run(self):
        writes = True
        while (given := self._given.get()) is not None:
            name, kept, size = given
            try:
                if writes:
                    _written(os.path.join(self._folder, name), kept)
                    self.files += 1
            except OSError as error:
                writes = False
                self._failed(error)
            with self._lock:
                self._unwritten -= size
            del given, kept
            self._given.task_done()
