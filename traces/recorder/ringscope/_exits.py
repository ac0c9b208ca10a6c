# SPDX-License-Identifier: Apache-2.0
"""The way in which the program ends."""

import sys

from ._harmless import described


def reason(error):
    """Returns the end of a recording within which this error was raised."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SystemExit):
        return _exit(error.code)
    try:
        return f"failed: {type(error).__name__}: {error}"[:300]
    except Exception:  # noqa: BLE001: an error whose text cannot be made
        return f"failed: {type(error).__name__}"


def _exit(code):
    """Returns the end by sys.exit(code)."""
    if code is None or code == 0:
        return "finished"
    if isinstance(code, int):
        return f"failed: exited with code {code}"
    return f"failed: exited with code 1: {described(code) if not isinstance(code, str) else code}"[:300]


class Exits:
    """Observes how the program ends if nothing ends the recording before: by an error, sys.exit() or its last line."""

    def __init__(self, patches):
        self._before = getattr(sys, "last_value", None)
        self._code = None
        patches.wrap(sys, "exit", self._exit)

    def _exit(self, original):
        def exit_(status=None, /):
            self._code = status
            return original(status)

        return exit_

    def at_exit(self):
        """Returns the end. Errors of other threads do not end a program."""
        raised = getattr(sys, "last_value", None)
        return reason(raised) if raised is not None and raised is not self._before else _exit(self._code)
