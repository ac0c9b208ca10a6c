# SPDX-License-Identifier: Apache-2.0
"""Holding a rank at a step border while the window says so.

All ranks stop at one border. Asked to hold, a rank promises not to leave the training step that it is
in; each says which that is, and the latest of them is where all stop. A rank that is behind is let on
as soon as that is known, so none waits for one that is held.
"""

import threading
import time

# Whoever holds a job says so again and again; without a word for this long the job goes on.
_LEASE_S = 10.0


class Pausing:
    """`asked`: whether the job takes pauses. Commands come from the connection's thread."""

    def __init__(self, asked):
        self.asked = asked
        self.border = -1
        self._step = 0
        self._changed = threading.Condition()
        self._hold = False
        self._until = None
        self._heard = 0.0
        self._answers = []

    def at_border(self, step):
        """Called by the job when a training step has ended; returns when it may go on."""
        with self._changed:
            self.border = step
            said = False
            while self.asked and self._holds(step):
                if self._until is not None and not said:
                    said = True
                    self._answers.append({"line": "paused", "step": step})
                self._changed.wait(0.2)
                said = said and self._until is not None
            self._step = step + 1
            if said:
                self._answers.append({"line": "went on", "step": step})

    def _holds(self, step):
        if time.monotonic() - self._heard > _LEASE_S:
            self._hold = False
        return self._hold and (self._until is None or step >= self._until)

    def obey(self, command):
        """Takes a line of the listener."""
        what = command.get("line")
        with self._changed:
            self._heard = time.monotonic()
            if what == "hold" and self.asked:
                self._hold, self._until = True, None
                self._answers.append({"line": "held", "step": self._step})
            elif what == "pause" and self.asked and isinstance(command.get("step"), int):
                self._hold, self._until = True, command["step"]
            elif what == "go":
                self._hold, self._until = False, None
            self._changed.notify_all()

    def answers(self):
        with self._changed:
            answers, self._answers = self._answers, []
        return answers

    def go(self):
        """Whoever held it has gone."""
        with self._changed:
            self._hold, self._until = False, None
            self._answers = []
            self._changed.notify_all()
