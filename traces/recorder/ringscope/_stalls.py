# SPDX-License-Identifier: Apache-2.0
"""Records that a rank makes no progress, while it stands. A job that hangs is killed and cannot write this later."""

import os
import threading
import time

_ROUND_S = 0.1
_LONGEST_NS = 600_000_000_000
DEFAULT_S = 5.0


def asked(seconds):
    """Returns the seconds until a stall is reported, from record()'s option or the environment. Raises ValueError."""
    if seconds is None:
        seconds = os.environ.get("RINGSCOPE_STALLED_AFTER") or DEFAULT_S
    seconds = float(seconds)
    if not 0 <= seconds <= 3600:
        raise ValueError("stalled_after must be a number of seconds from 0 (never) to 3600")
    return seconds


class Stalls:
    """The thread that reports stalls. It writes `stalled` after a time without progress, again each time that this time
    has doubled, and `resumed` when the rank goes on. After a stall that ended, the next one is reported after twice its
    duration, so that a job with regular pauses gets few lines."""

    def __init__(self, session, standing, seconds):
        self._writer = session.writer
        self._standing = standing
        self._after_ns = int(seconds * 1e9)
        self._stop = threading.Event()
        self._writer.line("watched", stalled_after_ns=self._after_ns)
        self._thread = threading.Thread(target=self._run, name="ringscope-stalls", daemon=True)
        self._thread.start()

    def close(self):
        self._stop.set()
        self._thread.join(1)

    def _run(self):
        since_ns, due_ns = None, self._after_ns
        stops = False
        while not stops:
            stops = self._stop.wait(_ROUND_S)  # at the end it looks once more: the rank may have gone on since
            moved_ns = self._standing.moved_ns
            if since_ns is not None and moved_ns != since_ns:
                self._resumed(moved_ns - since_ns)
                since_ns, due_ns = None, self._after_ns
            quiet_ns = time.monotonic_ns() - moved_ns
            if quiet_ns >= due_ns and not stops:
                since_ns, due_ns = moved_ns, 2 * quiet_ns
                self._stalled()

    def _stalled(self):
        said = self._standing.snapshot("stalled")
        self._writer.line(said.pop("line"), **said, after_ns=self._after_ns)

    def _resumed(self, stood_ns):
        self._after_ns = max(self._after_ns, min(2 * stood_ns, _LONGEST_NS))
        self._writer.line("resumed", time_ns=self._writer.now(), stood_ns=stood_ns, after_ns=self._after_ns)
