# SPDX-License-Identifier: Apache-2.0
"""Holds a rank at a step border while the window asks for it.

All ranks stop at the same border. A rank that is asked to hold promises not to leave its current training step, and
reports the step. All ranks stop after the latest reported step. A rank that is behind continues as soon as that step is
known, so no rank waits for a held one.
"""

import threading
import time

# A listener that holds a job repeats its request. Without a request for this long, the job goes on.
_LEASE_S = 10.0


class Pausing:
    """The state of a pause. `asked` says whether the job accepts pauses. Commands come from the connection's thread."""

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
        """Waits at the end of a training step until the job may go on. Called by the job."""
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
        """Obeys a command of the listener."""
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
        """Lets the job go on, because the listener has gone."""
        with self._changed:
            self._hold, self._until = False, None
            self._answers = []
            self._changed.notify_all()
