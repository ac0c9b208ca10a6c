#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version, commit and kind of build that the programs print, and where the commit comes from.

Usage: version_test.py SOURCE BIN. BIN may lack the window or the engine.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BIN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
NAMES = {"ringscope": "ringscope", "ringscope-engine": "ringscope", "ringscope-gui": "ringscope-gui"}
SHAPE = re.compile(r"(\S+) (\S+) \(commit ([0-9a-f]{8}|unknown), ([a-z]+), (x86_64|aarch64)\)\n")


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)


class ProgramsTest(unittest.TestCase):
    def test_every_program_names_version_commit_and_build(self):
        version = re.search(r"project\(RingScope VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        generated = (BIN.parent / "generated/commit.cpp").read_text()
        built = re.search(r'kCommit = "(.*)"', generated)[1]
        kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", (BIN.parent / "CMakeCache.txt").read_text(), re.M)[1].lower()
        for name, shown_name in NAMES.items():
            if not (BIN / name).exists():
                continue
            shown = run(BIN / name, "--version")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            fields = SHAPE.fullmatch(shown.stdout)
            self.assertIsNotNone(fields, shown.stdout)
            self.assertEqual(fields.groups()[:4], (shown_name, version, built, kind))

    def test_a_commit_compiles_one_file_again(self):
        ninja = shutil.which("ninja")
        if not ninja or not (BIN.parent / "build.ninja").exists():
            self.skipTest("the build folder is not one of ninja")
        listing = run(ninja, "-C", BIN.parent, "-t", "inputs", "bin/ringscope").stdout
        self.assertIn("generated/commit.cpp", listing)
        commands = run(ninja, "-C", BIN.parent, "-t", "commands", "bin/ringscope").stdout.splitlines()
        compiled = [line for line in commands if " -c " in line and "generated/commit.cpp" in line.split(" -c ")[1]]
        self.assertEqual(len(compiled), 1)
        self.assertFalse([line for line in commands if "RINGSCOPE_COMMIT" in line])


class CommitTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.source = pathlib.Path(self.temporary.name) / "source"
        (self.source / "cmake").mkdir(parents=True)
        shutil.copy(SOURCE / "cmake/commit.txt", self.source / "cmake")
        shutil.copy(SOURCE / ".gitattributes", self.source)

    def tearDown(self):
        self.temporary.cleanup()

    def name_commit(self, source, *definitions):
        output = pathlib.Path(self.temporary.name) / "commit.cpp"
        script = SOURCE / "cmake/WriteCommit.cmake"
        done = run("cmake", f"-DSOURCE={source}", f"-DOUTPUT={output}", *definitions, "-P", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r'kCommit = "(.*)"', output.read_text())[1]

    def make_repository(self):
        """Makes a repository with one commit, and returns the commit's first eight digits."""
        nobody = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
        for command in (("init", "-q"), ("add", "-A"), (*nobody, "commit", "-q", "-m", "One")):
            done = run("git", "-C", self.source, *command)
            self.assertEqual(done.returncode, 0, done.stderr)
        return run("git", "-C", self.source, "rev-parse", "HEAD").stdout[:8]

    def test_git_names_the_commit(self):
        self.assertEqual(self.name_commit(self.source), "unknown")
        self.assertEqual(self.make_repository(), self.name_commit(self.source))

    def test_an_archive_without_git_names_its_commit(self):
        commit = self.make_repository()
        unpacked = pathlib.Path(self.temporary.name) / "unpacked"
        unpacked.mkdir()
        archive = subprocess.run(["git", "-C", self.source, "archive", "HEAD"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", unpacked], input=archive, check=True)
        self.assertEqual(self.name_commit(unpacked), commit)

    def test_the_setting_names_the_commit_of_a_build_without_git(self):
        self.make_repository()
        self.assertEqual(self.name_commit(self.source, "-DCOMMIT=0123456789abcdef"), "01234567")
        self.assertEqual(self.name_commit(self.source, "-DCOMMIT=not a commit"), "unknown")


if __name__ == "__main__":
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    unittest.main(argv=sys.argv[:1])
