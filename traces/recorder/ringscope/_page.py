# SPDX-License-Identifier: Apache-2.0
"""A recording as the last value of a notebook's cell. Needs the programs `ringscope` and `ringscope-gui`."""

import html
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def find_program():
    """Returns the path of the program `ringscope`: in RINGSCOPE_PROGRAMS, beside this Python, or in PATH."""
    places = [os.environ.get("RINGSCOPE_PROGRAMS", ""), os.path.dirname(sys.executable), os.environ.get("PATH", "")]
    found = shutil.which("ringscope", path=os.pathsep.join(place for place in places if place))
    if found is None:
        raise RuntimeError(
            "the program ringscope, which draws recordings, is not installed; run: pip install 'ringscope[gui]'"
        )
    return found


class Page:
    """A recording that a notebook shows as a page: findings, summary, and a player of the views."""

    def __init__(self, path, views=None, start=None, until=None, height=860):
        self.path = pathlib.Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no recording {path}")
        self.options = []
        for option, value in (("--view", ",".join(views or [])), ("--from", start), ("--until", until)):
            if value:
                self.options.append(f"{option}={value}")
        self.height = int(height)
        self._text = None

    def save(self, output):
        """Writes the page into a file, which any browser opens without a network."""
        command = [find_program(), "export", "--to", "html", *self.options, "-o", str(output), "--", str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"ringscope export ended with code {done.returncode}"]
            raise RuntimeError(lines[-1])

    def text(self):
        """Returns the page as HTML. Draws it once."""
        if self._text is None:
            with tempfile.TemporaryDirectory(prefix="ringscope-") as folder:
                file = pathlib.Path(folder, "page.html")
                self.save(file)
                self._text = file.read_text(encoding="utf-8")
        return self._text

    def _repr_html_(self):
        # The frame has its own origin, so that the page reaches nothing of the notebook.
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(self.text())}" title="RingScope" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def __repr__(self):
        return f"ringscope.open({str(self.path)!r})"


def open_page(path, views=None, start=None, until=None, height=860):
    """Returns a recording that a notebook shows as the last value of a cell, and that save() writes as a page.

    path: A recording of any format that `ringscope info` opens: a recorder's folder or a file.
    views: The names of the views to show, such as ["ring", "merge"]; None: the usual ones.
    start: The first ring step, as "STEP,LAYER,forward|backward,RINGSTEP"; None: the first recorded one.
    until: The last ring step in the same form; None: as many as `ringscope export --to html` shows.
    height: The height of the page in the notebook, in pixels.
    """
    return Page(path, views, start, until, height)
