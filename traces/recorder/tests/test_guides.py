# SPDX-License-Identifier: Apache-2.0
"""Checks the guides: their commands end as they say and print what they quote, and every job, option and command that
they name exists."""

import ast
import glob
import inspect
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from jobs import PACKAGE, ROOT, missing, path_of, program, table

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402
from ringscope._recording import Recording, _checked  # noqa: E402

GUIDES = os.path.join(PACKAGE, "guides")
WORKED = os.path.join(ROOT, "docs", "tutorials", "find-a-mistake-in-your-own-job.md")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def guides():
    """Returns the name and text of each guide."""
    return [(os.path.basename(at), text_of(at)) for at in sorted(glob.glob(os.path.join(GUIDES, "*.md")))]


def blocks(text):
    """Returns the language and content of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def spans(text):
    """Returns code spans in sentences and tables, which may be broken over two lines."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", prose)]


def commands(text):
    """Yields the words and the promised exit code of each command line in sh blocks."""
    for language, content in blocks(text):
        if language != "sh":
            continue
        for line in content.splitlines():
            said = re.search(r"# exit code (\d)$", line)
            words = shlex.split(line, comments=True)
            if words:
                yield words, int(said.group(1)) if said else 0


def without_numbers(text):
    """Replaces numbers, because rounding differs between machines."""
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", " ".join(text.split()))


def named_commands(text):
    """Returns every line or span that is a command of ringscope, as words."""
    lines = [words for words, _ in commands(text)]
    lines += [span.split() for span in spans(text)]
    return [words for words in lines if words[0] == "ringscope" and len(words) > 1]


class WorkedGuide(unittest.TestCase):
    def run_line(self, words, place):
        path = os.path.dirname(program()) + os.pathsep + os.environ["PATH"]
        settings = {"PATH": path, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", "QT_QPA_PLATFORM": "offscreen"}
        if words[0] == "torchrun":
            words = TORCHRUN + words[1:]
        elif words[:2] == ["ringscope", "gui"]:  # it waits for a person, so a screenshot is taken instead
            words = ["ringscope-gui", *words[2:], "--screenshot", os.path.join(place, "window.png")]
        words[0] = os.path.join(os.path.dirname(program()), words[0])
        return subprocess.run(
            words, env={**os.environ, **settings}, cwd=place, capture_output=True, text=True, timeout=300
        )

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_its_commands_end_as_it_says_and_print_what_it_quotes(self):
        if absent := missing("llama"):
            self.skipTest(f"it needs {' and '.join(sorted(absent))}")
        window = os.path.join(os.path.dirname(program()), "ringscope-gui")
        with tempfile.TemporaryDirectory() as place:
            os.symlink(os.path.join(ROOT, "traces"), os.path.join(place, "traces"))
            printed, run = "", 0
            for language, content in blocks(text_of(WORKED)):
                if language == "text":
                    self.check_quoted(content, printed)
                for words, code in commands(f"```{language}\n{content}```\n"):
                    if words[:2] == ["ringscope", "gui"] and not os.path.exists(window):
                        continue
                    done = self.run_line(list(words), place)
                    printed, run = done.stdout, run + 1
                    self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr[-3000:]}")
        self.assertGreaterEqual(run, 8)

    def check_quoted(self, quoted, printed):
        have = without_numbers(printed)
        for line in quoted.splitlines():
            for part in line.split("…"):
                self.assertIn(without_numbers(part), have)


class WhatGuidesName(unittest.TestCase):
    def test_every_guide_is_in_the_index(self):
        index = text_of(os.path.join(GUIDES, "README.md"))
        names = {name for name, _ in guides()} - {"README.md"}
        self.assertEqual(names, set(re.findall(r"\]\((\w+\.md)\)", index)))

    def test_every_link_leads_to_a_file(self):
        for name, text in guides():
            for target in re.findall(r"\]\(([^)#]+)\)", text):
                if not target.startswith("https://"):
                    self.assertTrue(os.path.exists(os.path.join(GUIDES, target)), f"{name}: {target}")

    def test_every_script_and_every_row_of_jobs_is_there(self):
        jobs = {(script, found) for script, _, found in table()}
        rows = 0
        for name, text in guides():
            for script in re.findall(r"\b(\w+)\.py\b", text):
                self.assertTrue(path_of(script), f"{name}: {script}")
            for script, found in re.findall(r"^\| `(\w+)` \| (`\w+`|nothing) \|", text, re.MULTILINE):
                rows += 1
                expected = None if found == "nothing" else found.strip("`")
                self.assertIn((script, expected), jobs, name)
        self.assertGreaterEqual(rows, len({script for script, _ in jobs}), "a job is in no guide")

    def test_every_call_of_the_package_has_these_options(self):
        calls = 0
        for name, text in guides():
            for language, content in blocks(text):
                if language != "python":
                    continue
                for node in ast.walk(ast.parse(content)):
                    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                    if called.startswith("ringscope."):
                        calls += 1
                        self.check_call(name, called.removeprefix("ringscope."), node)
        self.assertGreaterEqual(calls, 6)

    def check_call(self, guide, function, node):
        self.assertIn(function, ringscope.__all__, guide)
        if function == "log":
            return
        known = Recording.__init__ if function in ("record", "start") else getattr(ringscope, function)
        for keyword in node.keywords:
            self.assertIn(keyword.arg, inspect.signature(known).parameters, f"{guide}: {function}")
            if keyword.arg == "declare" and isinstance(keyword.value, ast.Dict):
                _checked(ast.literal_eval(keyword.value))

    def test_every_option_in_a_sentence_exists(self):
        known = {"whole", "group", "layout", "tokens", "seq_dim", "length", "lse", "source", "layer"}
        known |= set(inspect.signature(Recording.__init__).parameters)
        for name, text in guides():
            for span in spans(text):
                option = re.match(r"(\w+)=\S", span)
                if option and option.group(1).islower() and not span.startswith(("buffers=", "loss=")):
                    self.assertIn(option.group(1), known, f"{name}: {span}")
                called = re.match(r"ringscope\.(\w+)", span)
                if called:
                    self.assertIn(called.group(1), ringscope.__all__, f"{name}: {span}")

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_every_command_and_its_options_exist(self):
        helps = {}
        for name, text in [*guides(), (os.path.basename(WORKED), text_of(WORKED))]:
            for words in named_commands(text):
                if words[1] not in helps:
                    asked = subprocess.run([program(), words[1], "--help"], capture_output=True, text=True)
                    self.assertEqual(asked.returncode, 0, f"{name}: {words}")
                    helps[words[1]] = asked.stdout
                for option in words[2:]:
                    if option.startswith("-"):
                        self.assertRegex(helps[words[1]], rf"(?m)[ ,]{option}\b", f"{name}: {words}")
        self.assertGreaterEqual(len(helps), 4)


if __name__ == "__main__":
    unittest.main()
