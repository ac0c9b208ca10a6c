#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheels of `scripts/package wheels` into minimal Debians without compilers, Qt and network.

Usage: root_test.py SOURCE [PACKAGES]. PACKAGES is build/packages of SOURCE unless it is named. Exit code 77, with the
reason, when there is no wheel or no root can be made.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
PACKAGES = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build/packages").resolve()
sys.path.insert(0, str(SOURCE / "tests/packaging"))
import fresh_root  # noqa: E402

SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"
MOST_PICTURE_SECONDS = 15
QT_NEEDS = ("libdbus-1-3", "libegl1", "libfontconfig1", "libgl1", "libglib2.0-0", "libxkbcommon0")


def find_wheel(name):
    return next(iter(sorted(PACKAGES.glob(f"{name}-*_x86_64.whl"))), None)


def make_root(folder, packages=(), **options):
    try:
        return fresh_root.DebianRoot(folder, packages, **options)
    except RuntimeError as error:
        raise unittest.SkipTest(str(error)) from error


class Debian12Test(unittest.TestCase):
    """A Debian 12 with Python and the system libraries of Qt, and the wheels with those of PySide6 at hand."""

    @classmethod
    def setUpClass(cls):
        if find_wheel("ringscope_gui") is None:
            raise unittest.SkipTest(f"there is no wheel ringscope_gui in {PACKAGES}")
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.root = make_root(f"{cls.temporary.name}/root", ("python3-venv", *QT_NEEDS))
        wheels = cls.root.folder / "tmp/wheels"
        wheels.mkdir()
        for name in ("ringscope", "ringscope_gui"):
            shutil.copy(find_wheel(name), wheels)
        shutil.copy(SAMPLE, cls.root.folder / "tmp")
        load = (sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "-d", wheels, "PySide6-Addons")
        loaded = subprocess.run(list(map(str, load)), capture_output=True, text=True, check=False)
        if loaded.returncode != 0:
            raise unittest.SkipTest(f"PySide6-Addons cannot be loaded: {loaded.stderr.strip()[-200:]}")
        made = cls.root.run("python3", "-m", "venv", "/tmp/environment")
        assert made.returncode == 0, made.stderr
        began = time.monotonic()
        done = cls.root.run("/tmp/environment/bin/pip", "install", "-q", "--no-index", "--find-links", "/tmp/wheels",
                            "ringscope[gui]")
        assert done.returncode == 0, done.stderr
        drawn = cls.draw_ring()
        assert drawn.returncode == 0, drawn.stderr
        cls.seconds = time.monotonic() - began

    @classmethod
    def draw_ring(cls):
        return cls.root.run("/tmp/environment/bin/ringscope-gui", f"/tmp/{SAMPLE.name}", "--screenshot", "/tmp/ring.png")

    def test_the_root_has_no_compiler_and_no_other_qt(self):
        for name in ("cc", "gcc", "c++", "clang"):
            self.assertFalse((self.root.folder / "usr/bin" / name).exists(), name)
        self.assertEqual(list((self.root.folder / "usr/lib").rglob("libQt6*")), [])

    def test_the_first_picture_comes_within_15_seconds_of_the_installation(self):
        print(f"pip install and the first picture: {self.seconds:.1f} s")
        self.assertLess(self.seconds, MOST_PICTURE_SECONDS)

    def test_every_view_is_drawn(self):
        gui = "/tmp/environment/bin/ringscope-gui"
        for view in fresh_root.draw_every_view(self, self.root.run, gui, f"/tmp/{SAMPLE.name}", "/tmp"):
            self.assertTrue((self.root.folder / f"tmp/{view}.png").read_bytes().startswith(b"\x89PNG"), view)

    def test_a_missing_system_library_is_named_with_its_package(self):
        library = next((self.root.folder / "usr/lib/x86_64-linux-gnu").glob("libEGL.so.1"))
        hidden = library.rename(library.with_name("hidden"))
        try:
            drawn = self.draw_ring()
        finally:
            hidden.rename(library)
        self.assertEqual(drawn.returncode, 2)
        self.assertIn("libEGL.so.1", drawn.stderr)
        self.assertIn("apt-get install libegl1", drawn.stderr)
        self.assertEqual(drawn.stderr.count("\n"), 1)

    def use_recorders_torch(self):
        """Shows the root the PyTorch of the recorder's environment, and returns the Python of its own; skips without it."""
        if find_wheel("ringscope_engine") is None:
            self.skipTest(f"there is no wheel ringscope_engine in {PACKAGES}")
        python = SOURCE / ".deps/recorder/bin/python"
        code = "import sys, torch; print(torch.__path__[0], sys.version_info[1])"
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False) if python.exists() else None
        if found is None or found.returncode != 0:
            self.skipTest("scripts/recorder_env has not made a Python with PyTorch")
        path, minor = found.stdout.split()
        (own,) = (SOURCE / ".deps/recorder/lib").glob("python3.*/site-packages")
        (packages,) = (self.root.folder / "tmp/environment/lib").glob("python3.*/site-packages")
        if packages.parent.name != f"python3.{minor}":
            self.skipTest(f"the PyTorch at hand is for Python 3.{minor}")
        inside = f"/{packages.relative_to(self.root.folder)}"
        other = pathlib.Path(path).parent
        self.root.binds = {own: "/tmp/packages", other: "/tmp/torch", other / "torch": f"{inside}/torch"}
        if (other / "nvidia").exists():
            self.root.binds[other / "nvidia"] = f"{inside}/nvidia"
        (packages / "torch.pth").write_text("/tmp/packages\n/tmp/torch\n")
        shutil.copy(find_wheel("ringscope_engine"), self.root.folder / "tmp")
        wheel = f"/tmp/{find_wheel('ringscope_engine').name}"
        done = self.root.run("/tmp/environment/bin/pip", "install", "-q", "--no-index", "--no-deps", wheel)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_job_is_recorded_and_the_engine_trains_with_the_installed_torch(self):
        self.use_recorders_torch()
        (self.root.folder / "tmp/job.py").write_text(
            "import torch\nlayer = torch.nn.Linear(4, 4)\nlayer(torch.ones(2, 4)).sum().backward()\n")
        recorded = self.root.run("env", "RINGSCOPE_RECORD=/tmp/run1", "/tmp/environment/bin/python", "-m", "ringscope", "/tmp/job.py")
        self.assertEqual(recorded.returncode, 0, recorded.stderr[-2000:])
        info = self.root.run("/tmp/environment/bin/ringscope", "info", "/tmp/run1")
        self.assertEqual(info.returncode, 0, info.stderr)
        trained = self.root.run("/tmp/environment/bin/ringscope", "train", "--text", "/tmp/environment/share/ringscope/sample/text.txt",
                                "--cp", "2", "--steps", "1", "--seq-len", "64", "--verify", "--trace", "/tmp/run.rscope")
        self.assertEqual(trained.returncode, 0, trained.stderr[-2000:])
        self.assertEqual(self.root.run("/tmp/environment/bin/ringscope", "doctor", "/tmp/run.rscope").returncode, 0)

    def test_the_command_line_diagnoses_the_sample(self):
        doctor = self.root.run("/tmp/environment/bin/ringscope", "doctor", f"/tmp/{SAMPLE.name}")
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)


class Debian11Test(unittest.TestCase):
    """A Debian 11, whose glibc is 2.31. Its Python is older than the recorder needs, so the command line runs alone."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.root = make_root(f"{cls.temporary.name}/root", release="bullseye")
        with zipfile.ZipFile(find_wheel("ringscope")) as wheel:
            wheel.extractall(cls.root.folder / "tmp/wheel")
        (program,) = (cls.root.folder / "tmp/wheel").glob("*.data/scripts/ringscope")
        program.chmod(0o755)
        cls.program = f"/{program.relative_to(cls.root.folder)}"
        shutil.copy(SAMPLE, cls.root.folder / "tmp")

    def test_its_glibc_is_2_31(self):
        self.assertIn("2.31", self.root.run("ldd", "--version").stdout.splitlines()[0])

    def test_the_command_line_diagnoses_and_verifies_the_sample(self):
        doctor = self.root.run(self.program, "doctor", f"/tmp/{SAMPLE.name}")
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        for command in (("info",), ("verify",), ("query", "SELECT count(*) FROM events")):
            done = self.root.run(self.program, command[0], f"/tmp/{SAMPLE.name}", *command[1:])
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertTrue(done.stdout, command)


if __name__ == "__main__":
    reason = fresh_root.describe_debian_obstacle() if find_wheel("ringscope") else f"there is no wheel in {PACKAGES}"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
