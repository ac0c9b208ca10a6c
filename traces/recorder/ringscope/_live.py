# SPDX-License-Identifier: Apache-2.0
"""Sends a recording, while it is made, to a listening window. FORMAT.md ("Live") describes the protocol.

A separate thread reads the rank's files as they grow. No data is queued for a slow listener, and a late listener gets
the whole recording. The job waits for the listener only at a step border, if it allowed pauses.
"""

import atexit
import json
import os
import select
import socket
import sys
import threading
import time
import weakref

from ._pausing import Pausing

VERSION = 1
_CONNECT_AGAIN_S = 2.0
_ROUND_S = 0.05
_SAY_AGAIN_S = 1.0
_CHUNK = 1 << 18
_MOST_ANSWER = 1 << 16
# At the end of the program, sending is given up without progress for _STALLED_S, or after _LONGEST_S.
_STALLED_S, _LONGEST_S = 0.5, 5.0

_streams = weakref.WeakSet()


def _forget_in_child():
    """Closes the connections in a forked child, such as a data loader's worker."""
    for stream in list(_streams):
        stream.drop()


os.register_at_fork(after_in_child=_forget_in_child)


def address_of(text):
    """Returns ("unix", path) or ("tcp", (host, port)). Raises ValueError for addresses of other machines."""
    if text.startswith("unix:"):
        return "unix", text[5:]
    host, colon, port = text.rpartition(":")
    if "/" in text or not colon or not port.isdigit():
        return "unix", text
    if host not in ("127.0.0.1", "localhost"):
        raise ValueError(
            f"live={text!r} is no address of this machine; a window elsewhere is reached through ssh -R"
        )
    return "tcp", ("127.0.0.1", int(port))


class Live:
    """The connection of a recording to a listener: its stream, the rank's progress, and pauses."""

    @staticmethod
    def asked(address, token, pause):
        """Returns a Live made of record()'s options or of the environment, or None if there is no address. Raises
        ValueError."""
        if address is None:
            address = os.environ.get("RINGSCOPE_LIVE")
        if not address:
            return None
        if token is None:
            token = os.environ.get("RINGSCOPE_TOKEN", "")
        if pause is None:
            pause = os.environ.get("RINGSCOPE_PAUSE", "0") not in ("", "0")
        return Live(address_of(address), token, bool(pause))

    def __init__(self, address, token, pause):
        self._address = address
        self._token = token
        self._pausing = Pausing(pause)
        self._standing = None
        self._stream = None

    def begin(self, session, standing):
        self._standing = standing
        self._stream = Stream(
            self._address, self._token, session, self._pausing, self._standing
        )

    def at_border(self, step):
        """Reports the end of a training step. Returns when the job may go on."""
        self._standing.moved()
        self._pausing.at_border(step)
        self._standing.moved()

    def end(self):
        self._stream.close()


class Stream:
    """A rank's connection to the listener, retried until it succeeds."""

    def __init__(self, address, token, session, pausing, stands):
        self._address = address
        self._writer = session.writer
        self._folder = os.path.abspath(session.writer.folder)
        self._pausing = pausing
        self._stands = stands
        self._hello = {
            "line": "hello",
            "ringscope": "live",
            "version": VERSION,
            "rank": session.rank,
            "world_size": session.world_size,
            "token": token,
            "pauses": pausing.asked,
        }
        self._socket = None
        self._closing = False
        self._sent = 0
        _streams.add(self)
        self._thread = threading.Thread(target=self._run, name="ringscope-live", daemon=True)
        self._thread.start()

    def close(self):
        """Starts to finish after the files got their last lines. The rest is sent in the background; the job waits for
        it at the program's end only, and for a limited time."""
        self._closing = True
        atexit.register(self._finish)

    def _finish(self):
        begin = progress = time.monotonic()
        sent = self._sent
        while self._thread.is_alive() and self._socket is not None:
            self._thread.join(0.02)
            now = time.monotonic()
            if self._sent != sent:
                sent, progress = self._sent, now
            if now - progress > _STALLED_S or now - begin > _LONGEST_S:
                break

    def drop(self):
        """Closes this process's copy of the connection. The other end notices nothing while a parent process has
        one."""
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def _run(self):
        try:
            while True:
                try:
                    if self._connect():
                        self._send_all()
                        return
                except OSError:
                    pass
                except ValueError as error:
                    print(f"ringscope: not followed: {error}", file=sys.stderr)
                    return
                finally:
                    self.drop()
                    self._pausing.go()
                if self._closing:
                    return
                time.sleep(_CONNECT_AGAIN_S)
        finally:
            _streams.discard(self)
            if self._closing:
                atexit.unregister(self._finish)

    def _connect(self):
        """Returns whether a listener accepts this rank. Raises ValueError if it is refused."""
        family, where = self._address
        kind = socket.AF_UNIX if family == "unix" else socket.AF_INET
        connection = socket.socket(kind, socket.SOCK_STREAM)
        self._socket = connection
        connection.settimeout(5)
        connection.connect(where)
        connection.sendall(_encoded(self._hello))
        self._heard = b""
        deadline = time.monotonic() + 5
        while b"\n" not in self._heard and time.monotonic() < deadline:
            if not self._hear(0.2):
                return False
        answer = self._answers()
        if not answer:
            return False
        if answer[0].get("line") == "refused":
            raise ValueError(str(answer[0].get("why", "")))
        for command in answer[1:]:
            self._pausing.obey(command)
        connection.settimeout(None)
        return answer[0].get("line") == "welcome"

    def _hear(self, longest):
        """Reads the listener's messages. Returns False if the listener has gone."""
        connection = self._socket
        if connection is None:
            return False
        if not select.select([connection], [], [], longest)[0]:
            return True
        heard = connection.recv(4096)
        self._heard += heard
        return len(heard) > 0 and len(self._heard) <= _MOST_ANSWER

    def _answers(self):
        *whole, self._heard = self._heard.split(b"\n")
        answers = (json.loads(line) for line in whole)
        return [answer for answer in answers if isinstance(answer, dict)]

    def _send_all(self):
        """Sends the files until their last line is sent or the listener goes."""
        path = os.path.join(self._folder, self._writer.stem + ".jsonl")
        self._values = 0
        self._border = -1
        self._said = 0.0
        with open(path, "rb") as file:
            while True:
                closing = self._closing
                border = self._pausing.border
                more = self._send_lines(file)
                if not more:
                    self._send_values()
                    self._send_border(border)
                if closing and not more:
                    self._send(_encoded({"line": "bye"}))
                    return
                self._say_where()
                if not self._hear(0 if more else _ROUND_S):
                    return
                for command in self._answers():
                    self._pausing.obey(command)
                for answer in self._pausing.answers():
                    self._send(_encoded(answer))

    def _send(self, data):
        connection = self._socket
        if connection is None:
            raise OSError("the connection was closed")
        connection.sendall(data)
        self._sent += len(data)

    def _send_lines(self, file):
        """Sends the complete lines that were added to the file. Returns whether there may be more."""
        at = file.tell()
        data = file.read(_CHUNK)
        if len(data) == _CHUNK and b"\n" not in data:
            data += file.readline()
        end = data.rfind(b"\n") + 1
        file.seek(at + end)
        if end:
            self._send(data[:end])
        return len(data) == _CHUNK

    def _send_values(self):
        while self._values < self._writer.value_files.files:
            name = self._writer.value_files.name(self._values)
            with open(os.path.join(self._folder, name), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._send(_encoded({"line": "values", "file": name, "bytes": size}))
                while size > 0:
                    data = file.read(min(size, _CHUNK))
                    if not data:
                        raise OSError(f"{name} became shorter")
                    self._send(data)
                    size -= len(data)
            self._values += 1

    def _send_border(self, border):
        if border > self._border:
            self._border = border
            self._send(_encoded({"line": "border", "step": border}))

    def _say_where(self):
        """Sends the rank's progress when it has changed, and at least every _SAY_AGAIN_S."""
        now = time.monotonic()
        if now - self._said < _ROUND_S or not (
            self._stands.changed or now - self._said > _SAY_AGAIN_S
        ):
            return
        self._said = now
        self._send(_encoded(self._stands.news()))


def _encoded(message):
    return (json.dumps(message, separators=(",", ":")) + "\n").encode()
