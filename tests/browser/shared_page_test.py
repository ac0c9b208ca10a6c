#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the page that `ringscope export --to html` writes, in a headless Chromium.

Usage: shared_page_test.py SOURCE BIN. Exits with 77 and the reason where Chromium is missing.
"""
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import devtools  # noqa: E402: the folder of this file has it

MOST_BYTES = 3_000_000
LEFT, RIGHT, HOME, END, SPACE, TAB, ENTER = 37, 39, 36, 35, 32, 9, 13


class SharedPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ringscope-page-"))
        cls.sample = SOURCE / "resources/sample/missing_position_ids.rscope"
        cls.file = cls.folder / "run.html"
        cls.export(cls.sample, cls.file)
        cls.page = devtools.Page(BROWSER)

    @classmethod
    def tearDownClass(cls):
        cls.page.__exit__()
        shutil.rmtree(cls.folder)

    @classmethod
    def export(cls, recording, output, *options):
        subprocess.run([BIN / "ringscope", "export", recording, "--to", "html", "-o", output, *options], check=True,
                       stdout=subprocess.DEVNULL)

    def setUp(self):
        self.page.requests.clear()
        self.page.errors.clear()
        self.page.open(self.file)

    def step(self):
        return int(self.page.evaluate("document.getElementById('scrubber').value"))

    def picture(self):
        return self.page.evaluate("document.getElementById('frame').innerHTML")

    def test_the_sample_run_fits_into_three_megabytes(self):
        self.assertLessEqual(self.file.stat().st_size, MOST_BYTES)

    def test_nothing_is_requested_and_no_error_is_logged(self):
        for key in ("ArrowRight", "2", "3", "4", "5", "6", "7", "8", "End", "t"):
            self.page.press(key)
        self.assertEqual([url for url in self.page.requests if not url.startswith("data:")], [self.file.as_uri()])
        self.assertEqual(self.page.errors, [])

    def test_arrow_keys_move_the_player(self):
        before = self.picture()
        self.page.press("ArrowRight", RIGHT)
        self.assertEqual(self.step(), 1)
        self.assertNotEqual(self.picture(), before)
        self.page.press("ArrowLeft", LEFT)
        self.assertEqual((self.step(), self.picture()), (0, before))
        self.page.press("ArrowLeft", LEFT)
        self.assertEqual(self.step(), 0, "there is nothing before the first ring step")
        self.page.press("End", END)
        self.assertEqual(self.step(), self.page.evaluate("Number(document.getElementById('scrubber').max)"))
        self.page.press("Home", HOME)
        self.assertEqual(self.step(), 0)

    def test_an_arrow_key_in_the_scrubber_moves_by_one(self):
        self.page.evaluate("document.getElementById('scrubber').focus()")
        self.page.press("ArrowRight", RIGHT)
        self.assertEqual(self.step(), 1)

    def test_space_plays_and_pauses(self):
        self.page.press(" ", SPACE)
        self.assertTrue(self.page.wait_for("Number(document.getElementById('scrubber').value) >= 2"))
        self.page.press(" ", SPACE)
        self.assertEqual(self.page.evaluate("document.getElementById('play').textContent"), "▶ Play")

    def test_digits_choose_a_view(self):
        pictures = set()
        count = self.page.evaluate("document.querySelectorAll('#views button').length")
        self.assertEqual(count, 8)
        for digit in range(1, count + 1):
            self.page.press(str(digit))
            pictures.add(self.picture())
            self.assertEqual(self.page.evaluate("document.querySelector('[aria-selected=true]').textContent"),
                             self.page.evaluate(f"document.querySelectorAll('#views button')[{digit - 1}].textContent"))
        self.assertEqual(len(pictures), count)

    def test_the_theme_changes_every_color_of_a_frame(self):
        color = "getComputedStyle(document.querySelector('#frame rect')).fill"
        first = self.page.evaluate(color)
        self.page.press("t")
        self.assertNotEqual(self.page.evaluate(color), first)
        self.page.press("t")
        self.assertEqual(self.page.evaluate(color), first)

    def test_words_of_a_frame_can_be_found_and_selected(self):
        self.assertTrue(self.page.evaluate("window.find('Rank 2') || window.find('rank 2')"))
        selected = self.page.evaluate("""(() => {
          const range = document.createRange();
          range.selectNodeContents(document.getElementById('frame'));
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          return getSelection().toString();
        })()""")
        self.assertRegex(selected, "(?i)rank 3")

    def test_words_stay_within_the_frame(self):
        for digit in range(1, 9):
            self.page.press(str(digit))
            outside = self.page.evaluate("""(() => {
              const box = document.getElementById('frame').getBoundingClientRect();
              return [...document.querySelectorAll('#frame text')].filter((text) => {
                const at = text.getBoundingClientRect();
                return at.right > box.right + 2 || at.left < box.left - 2 || at.bottom > box.bottom + 2;
              }).map((text) => text.textContent);
            })()""")
            self.assertEqual(outside, [], f"view {digit}")

    def test_a_finding_leads_to_its_view(self):
        self.page.press("End", END)
        view = self.page.evaluate("document.querySelector('.lead').dataset.view")
        self.page.evaluate("document.querySelector('.lead').click()")
        shown = self.page.evaluate("document.querySelector('[aria-selected=true]').textContent")
        self.assertEqual(shown.lower(), view)

    def test_the_tab_key_reaches_every_control_and_shows_where_it_is(self):
        controls = self.page.evaluate("document.querySelectorAll('button, input, a[href], select, summary').length")
        self.assertGreater(controls, 10)
        reached = set()
        for _ in range(2 * controls):
            self.page.press("Tab", TAB)
            focused = json.loads(self.page.evaluate("""JSON.stringify((() => {
              const all = [...document.querySelectorAll('button, input, a[href], select, summary')];
              const style = getComputedStyle(document.activeElement);
              return [all.indexOf(document.activeElement), style.outlineStyle, parseFloat(style.outlineWidth)];
            })())"""))
            if focused[0] < 0:
                continue
            self.assertNotEqual(focused[1], "none", f"control {focused[0]} does not show the focus")
            self.assertGreater(focused[2], 0)
            reached.add(focused[0])
        self.assertEqual(reached, set(range(controls)))

    def test_enter_follows_a_finding(self):
        self.page.press("End", END)
        self.page.evaluate("document.querySelector('.lead').focus()")
        view = self.page.evaluate("document.querySelector('.lead').dataset.view")
        self.page.press("Enter", ENTER)
        shown = self.page.evaluate("document.querySelector('[aria-selected=true]').textContent")
        self.assertEqual(shown.lower(), view)

    def test_findings_say_what_the_doctor_says(self):
        said = subprocess.run([BIN / "ringscope", "doctor", self.sample], capture_output=True, text=True).stdout
        text = " ".join(self.page.evaluate("document.getElementById('findings').textContent").split())
        evidence = said.splitlines()[2].strip()
        self.assertIn(" ".join(evidence.split()), text)

    def test_hostile_names_are_plain_text(self):
        folder = self.folder / "x<"
        folder.mkdir(exist_ok=True)
        name = "script><img src=x onerror=window.hacked=1>.rscope"
        shutil.copyfile(self.sample, folder / name)
        page = self.folder / "hostile.html"
        self.export(folder / name, page, "--view", "ring")
        self.page.open(page)
        self.assertIsNone(self.page.evaluate("window.hacked"))
        self.assertEqual(self.page.evaluate("document.images.length"), 0)
        self.assertEqual(self.page.evaluate("document.querySelector('h1').textContent"), name)
        self.assertIn("x</script><img", self.page.evaluate("document.getElementById('findings').textContent")
                      .replace("'\\''", "'"))
        self.assertEqual(self.page.errors, [])


class LargeAndImportedPagesTest(unittest.TestCase):
    """Pages of a run of 16 ranks and of an imported job: time to open, numbers, keyboard."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ringscope-pages-"))
        cls.page = devtools.Page(BROWSER)

    @classmethod
    def tearDownClass(cls):
        cls.page.__exit__()
        shutil.rmtree(cls.folder)

    def run_program(self, *arguments):
        return subprocess.run([BIN / "ringscope", *arguments], check=False, capture_output=True, text=True)

    def words(self, recording, place):
        """Returns the words of the Ring view that the window draws at a place."""
        picture = self.folder / "ring.svg"
        position = re.fullmatch(r"step (\d+) › layer (\d+) › (\w+) › ring step (\d+)", place).groups()
        made = self.run_program("export", recording, "--to", "svg", "-o", picture, "--view", "ring", "--from",
                                ",".join(position))
        self.assertEqual(made.returncode, 0, made.stderr)
        return ["".join(text.itertext()) for text in xml.etree.ElementTree.parse(picture).iter(
            "{http://www.w3.org/2000/svg}text")]

    def check(self, recording):
        file = self.folder / "page.html"
        made = self.run_program("export", recording, "--to", "html", "-o", file)
        self.assertEqual(made.returncode, 0, made.stderr)
        seconds = []
        for _ in range(3):  # the machine may be busy
            begin = time.monotonic()
            self.page.open(file)
            self.assertTrue(self.page.wait_for("document.querySelector('#frame text') !== null"))
            seconds.append(time.monotonic() - begin)
        self.assertLessEqual(min(seconds), 1)
        steps = int(self.page.evaluate("document.getElementById('scrubber').max")) + 1
        visited = sorted(random.Random(7).sample(range(steps), min(10, steps)))
        at = 0
        for step in visited:
            while at < step:
                self.page.press("ArrowRight", RIGHT)
                at += 1
            place = self.page.evaluate("document.getElementById('place').textContent")
            shown = self.page.evaluate("[...document.querySelectorAll('#frame text')].map((text) => text.textContent)")
            self.assertEqual(shown, self.words(recording, place), place)
        self.page.press("2")
        self.assertNotEqual(self.page.evaluate("document.getElementById('frame').innerHTML"), "")
        self.assertEqual(self.page.errors, [])

    def test_a_page_of_sixteen_ranks_opens_fast_and_shows_the_windows_numbers(self):
        if not (BIN / "ringscope-engine").exists():
            self.skipTest("this build has no engine")
        recording = self.folder / "run.rscope"
        made = self.run_program("train", "--sample-text", "--cp", "16", "--seq-len", "512", "--steps", "1", "--trace",
                                recording)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.check(recording)

    def test_a_page_of_an_imported_job_opens_fast_and_shows_the_windows_numbers(self):
        self.check(SOURCE / "tests/reference/recording")


if __name__ == "__main__":
    SOURCE, BIN = (pathlib.Path(argument).absolute() for argument in sys.argv[1:3])
    BROWSER = devtools.find_browser()
    if BROWSER is None:
        print("skipped: no Chromium is installed (Debian's package chromium)")
        sys.exit(77)
    if not (BIN / "ringscope-gui").exists():
        print("skipped: this build has no window")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
