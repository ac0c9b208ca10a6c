#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests a recording as the last value of a notebook's cell.

Usage: notebook_test.py SOURCE BIN. Executes a notebook where nbclient and ipykernel are installed. Otherwise it calls
`_repr_html_`, as a notebook does. Exits with 77 where the build has no window.
"""
import html
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest


def load_page_module():
    """Returns the recorder's module of pages. The package itself also imports PyTorch, which pages do not need."""
    spec = importlib.util.spec_from_file_location("_page", PACKAGE / "_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_within(markup):
    """Returns the page within the frame that a cell shows."""
    return html.unescape(re.search(r' srcdoc="([^"]*)"', markup)[1])


class NotebookTest(unittest.TestCase):
    def setUp(self):
        self.module = load_page_module()

    def check(self, markup):
        self.assertTrue(markup.startswith('<iframe sandbox="allow-scripts" srcdoc="'))
        page = page_within(markup)
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn("Position ids restart on every rank", page)
        self.assertIn("default-src 'none'", page)

    def test_a_cell_shows_the_page(self):
        try:
            import nbclient
            import nbformat
            import ipykernel  # noqa: F401: the kernel of the notebook
        except ImportError:
            self.check(self.module.open_page(SAMPLE, views=["ring"])._repr_html_())
            return
        source = (f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\nimport _page\n"
                  f"_page.open_page({str(SAMPLE)!r}, views=['ring'])")
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        nbclient.NotebookClient(notebook, timeout=120).execute()
        self.check(notebook.cells[0].outputs[0]["data"]["text/html"])

    def test_the_choice_of_views_and_ring_steps_reaches_the_page(self):
        page = self.module.open_page(SAMPLE, ["merge", "ring"], "0,0,forward,1", "0,0,forward,2").text()
        self.assertIn('"title":"Merge"', page)
        self.assertIn("The page shows 2 of 16 ring steps", page)
        self.assertNotIn('"title":"Curves"', page)

    def test_a_page_can_be_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "run.html")
            self.module.open_page(SAMPLE, ["ring"]).save(file)
            self.assertIn("<!doctype html>", file.read_text(encoding="utf-8"))

    def test_a_missing_recording_is_reported_at_once(self):
        with self.assertRaisesRegex(FileNotFoundError, "there is no recording nowhere.rscope"):
            self.module.open_page("nowhere.rscope")

    def test_the_reason_of_a_failure_is_the_program_s(self):
        with self.assertRaisesRegex(RuntimeError, "there is no view rings"):
            self.module.open_page(SAMPLE, ["rings"]).text()

    def test_a_missing_program_is_named(self):
        path, os.environ["PATH"] = os.environ["PATH"], ""
        programs = os.environ.pop("RINGSCOPE_PROGRAMS")
        executable, sys.executable = sys.executable, "/nowhere/python"
        try:
            with self.assertRaisesRegex(RuntimeError, r"pip install 'ringscope\[gui\]'"):
                self.module.find_program()
        finally:
            os.environ.update(PATH=path, RINGSCOPE_PROGRAMS=programs)
            sys.executable = executable


if __name__ == "__main__":
    source, programs = (pathlib.Path(argument).absolute() for argument in sys.argv[1:3])
    SAMPLE = source / "resources/sample/missing_position_ids.rscope"
    PACKAGE = source / "traces/recorder/ringscope"
    if not (programs / "ringscope-gui").exists():
        print("skipped: this build has no window")
        sys.exit(77)
    os.environ["RINGSCOPE_PROGRAMS"] = str(programs)
    unittest.main(argv=sys.argv[:1])
