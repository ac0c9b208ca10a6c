#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions that packaging/manuals.py writes from the programs of a build.

Usage: manuals_test.py SOURCE BIN. BIN may lack the window or the engine.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE, BIN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "packaging"))
import manuals  # noqa: E402

READING = {"info", "doctor", "verify", "diff", "query", "import", "export", "merge", "mcp", "serve", "gui"}


class ManualsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        programs = cls.folder / "programs"  # without the engine, as in the Debian package
        programs.mkdir()
        for name in ("ringscope", "ringscope-gui"):
            if (BIN / name).exists():
                shutil.copy(BIN / name, programs)
        if not (programs / "ringscope-gui").exists():
            (programs / "ringscope-gui").write_text("#!/bin/sh\necho the window\n")
            (programs / "ringscope-gui").chmod(0o755)
        manuals.write_manuals(programs, cls.folder, "2026-01-01")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, name):
        return (self.folder / name).read_text()

    def complete(self, *words):
        """Returns what bash proposes for the last of the words."""
        script = f"source {self.folder}/bash/ringscope; COMP_WORDS=(ringscope \"$@\"); COMP_CWORD=$#; _ringscope; "
        script += 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_bash_completes_commands_and_their_options(self):
        self.assertEqual(self.complete("doc"), ["doctor"])
        self.assertTrue(READING <= set(self.complete("")))
        self.assertEqual(self.complete("doctor", "--sa"), ["--sarif"])
        self.assertEqual(self.complete("info", "--sa"), [])

    def test_commands_without_their_program_get_no_page(self):
        self.assertNotIn("train", self.complete(""))
        self.assertNotIn(".SH TRAIN", self.read("man/ringscope.1"))

    def test_zsh_and_fish_know_every_command(self):
        for command in READING:
            self.assertIn(f"'{command}:", self.read("zsh/_ringscope"))
            self.assertIn(f" -a {command} -d '", self.read("fish/ringscope.fish"))
        self.assertIn("seen_subcommand_from doctor' -l strict", self.read("fish/ringscope.fish"))

    def test_fish_completes_commands_and_their_options(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        for line, completed in (("doc", "doctor"), ("doctor --st", "--strict")):
            script = f"source {self.folder}/fish/ringscope.fish; complete -C 'ringscope {line}'"
            done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True)
            self.assertEqual([word.split("\t")[0] for word in done.stdout.splitlines()], [completed])

    def test_zsh_completes_commands_and_their_options(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        for line, completed in (("doc", "doctor"), ("doctor --stri", "--strict")):
            # A terminal of its own, in which the key Tab completes the line, and Ctrl-X prints it.
            script = f"""
              zmodload zsh/zpty
              zpty terminal zsh -f -i
              zpty -w terminal 'fpath=({self.folder}/zsh $fpath); autoload -Uz compinit; compinit -u -D'
              zpty -w terminal 'show() {{ print -r -- "<<$BUFFER>>"; exit }}; zle -N show; bindkey "^X" show; print rea""dy'
              zpty -r terminal output '*ready*'
              zpty -w -n terminal $'ringscope {line}\\t\\x18'
              zpty -r terminal output '*>>*'
              print -r -- $output
            """
            done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=60)
            words = done.stdout.rpartition("<<")[2].partition(">>")[0].split()
            self.assertEqual(words[-1:], [completed], done.stdout + done.stderr)

    def test_pages_have_a_section_per_command(self):
        page = self.read("man/ringscope.1")
        self.assertTrue(page.startswith('.TH "RINGSCOPE" "1" "2026-01-01"'))
        for command in READING:
            self.assertIn(f".SH {command.upper()}\n", page)
        self.assertIn("\\-\\-sarif", page)

    def test_text_that_troff_would_obey_is_escaped(self):
        self.assertEqual(manuals.escape(".x\n'y\na\\b-c"), "\\&.x\n\\&'y\na\\eb\\-c")

    def test_every_option_of_a_line_is_found(self):
        text = "Options:\n  -h,--help    Print\n  --timeout,--seconds FLOAT  Stop --not this\n  --named X Excludes: --sql"
        self.assertEqual(manuals.find_options(text), ["--help", "--timeout", "--seconds", "--named"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
