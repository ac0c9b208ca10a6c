#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheels of `scripts/package wheels` into empty environments and uses them, also the Debian package.

Usage: install_test.py SOURCE [WHEELS]. WHEELS is build/packages of SOURCE unless it is named. Exit code 77, with the
reason, when there are no wheels, or when PySide6 cannot be loaded.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
WHEELS = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build/packages").resolve()
RECORDER = SOURCE / ".deps/recorder"  # the environment with PyTorch that scripts/recorder_env makes
SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"
NEWEST_GLIBC = {"ringscope": (2, 28), "ringscope_gui": (2, 34), "ringscope_engine": (2, 34)}
MOST_START_SECONDS = 0.010
MOST_PICTURE_SECONDS = 15


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, **options):
    """Runs a command without the settings of this checkout, and without a display."""
    hidden = ("RINGSCOPE_", "DISPLAY", "WAYLAND_DISPLAY", "QT_", "PYTHONPATH", "LD_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    clean |= options.pop("env", {})
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=clean, **options)


def find_wheel(name):
    return next(iter(sorted(WHEELS.glob(f"{name}-*.whl"))), None)


class Environment:
    """An empty environment of Python, and the wheels that are installed into it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.packages = next(self.folder.glob("lib/python*/site-packages"))

    def install(self, *arguments):
        return run(self.folder / "bin/pip", "install", "-q", "--disable-pip-version-check", *arguments)

    def program(self, name):
        return self.folder / "bin" / name


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.environment = Environment(f"{self.temporary.name}/environment")

    def tearDown(self):
        self.temporary.cleanup()

    def need(self, name):
        if find_wheel(name) is None:
            self.skipTest(f"there is no wheel {name} in {WHEELS}")

    def install(self, *arguments):
        done = self.environment.install("--no-index", "--find-links", WHEELS, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def use_recorders_torch(self):
        """Puts the PyTorch of the recorder's environment into this one; skips without it."""
        found = run(RECORDER / "bin/python", "-c", "import torch; print(torch.__path__[0])") if RECORDER.exists() else None
        if found is None or found.returncode != 0:
            self.skipTest("scripts/recorder_env has not made a Python with PyTorch")
        other = pathlib.Path(found.stdout.strip()).parent
        own = next(RECORDER.glob("lib/python*/site-packages"))
        (self.environment.packages / "torch.pth").write_text(f"{own}\n{other}\n")
        for name in ("torch", "nvidia"):
            if (other / name).exists():
                (self.environment.packages / name).symlink_to(other / name)

    def test_programs_need_no_newer_glibc_than_promised(self):
        self.need("ringscope")
        for name, newest in NEWEST_GLIBC.items():
            if find_wheel(name) is None:
                continue
            self.install("--no-deps", find_wheel(name))
            folder = self.environment.packages / name
            program = self.environment.program(name) if name == "ringscope" else folder / name.replace("_", "-")
            for path in (program, *folder.glob("*.so*")):
                listing = run("objdump", "-T", path).stdout
                versions = [(int(a), int(b)) for a, b in re.findall(r"\bGLIBC_(\d+)\.(\d+)", listing)]
                self.assertTrue(versions, path)
                self.assertLessEqual(max(versions), newest, path)

    def test_the_command_line_needs_only_glibc(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", self.environment.program("ringscope")).stdout)
        allowed = r"(libc|libm|libdl|libpthread|librt)\.so\.\d|ld-linux.*"
        self.assertEqual([name for name in needed if not re.fullmatch(allowed, name)], [])

    def test_the_command_line_starts_quickly_and_finds_the_mistake_of_the_sample(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        doctor = run(self.environment.program("ringscope"), "doctor", SAMPLE)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        times = []
        for _ in range(20):
            began = time.monotonic()
            self.assertEqual(run(self.environment.program("ringscope"), "--version").returncode, 0)
            times.append(time.monotonic() - began)
        print(f"ringscope --version: {min(times) * 1000:.1f} ms")
        self.assertLess(min(times), MOST_START_SECONDS)

    def test_the_window_draws_every_view_within_15_seconds_of_the_installation(self):
        self.need("ringscope_gui")
        began = time.monotonic()
        loaded = self.environment.install("PySide6-Addons")
        if loaded.returncode != 0:
            self.skipTest(f"PySide6-Addons cannot be loaded: {loaded.stderr.strip()[-200:]}")
        self.install("ringscope[gui]")
        gui = self.environment.program("ringscope-gui")
        picture = self.environment.folder / "ring.png"
        drawn = run(gui, SAMPLE, "--screenshot", picture)
        seconds = time.monotonic() - began
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        print(f"pip install and the first picture: {seconds:.1f} s")
        self.assertLess(seconds, MOST_PICTURE_SECONDS)
        window = run(self.environment.program("ringscope"), "gui", SAMPLE)
        self.assertIn("there is no display", window.stderr)
        views = run(gui, "--list-views").stdout.split()
        self.assertIn("ring", views)
        for view in views:
            against = ("--against", SAMPLE) if view == "compare" else ()
            drawn = run(gui, SAMPLE, "--screenshot", picture, "--view", view, *against)
            self.assertEqual(drawn.returncode, 0, f"{view}: {drawn.stderr}")

    def test_the_window_without_qt_says_what_to_install(self):
        self.need("ringscope_gui")
        self.install("--no-deps", "ringscope", "ringscope_gui")
        drawn = run(self.environment.program("ringscope-gui"), "--list-views")
        if drawn.returncode == 0:
            self.skipTest("this system has a Qt of its own")
        self.assertIn("pip install PySide6-Addons", drawn.stderr)
        self.assertEqual(drawn.stderr.count("\n"), 1)

    def test_the_debian_package_runs_from_any_folder(self):
        package = next(iter(sorted(WHEELS.glob("ringscope_*.deb"))), None)
        if package is None:
            self.skipTest(f"there is no Debian package in {WHEELS}; scripts/package deb makes one")
        root = self.environment.folder / "root"
        self.assertEqual(run("dpkg-deb", "-x", package, root).returncode, 0)
        picture = self.environment.folder / "ring.png"
        drawn = run(root / "usr/bin/ringscope-gui", SAMPLE, "--screenshot", picture)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertEqual(run(root / "usr/bin/ringscope", "doctor", SAMPLE).returncode, 1)
        self.assertIn("there is no display", run(root / "usr/bin/ringscope", "gui", SAMPLE).stderr)
        for name in ("applications/ringscope.desktop", "mime/packages/ringscope.xml", "man/man1/ringscope.1"):
            self.assertTrue((root / "usr/share" / name).exists(), name)
        mime = root / "usr/share/mime"
        updated = run("update-mime-database", mime) if shutil.which("update-mime-database") else None
        if updated:
            self.assertEqual(updated.returncode, 0, updated.stderr)
            self.assertIn("60:application/x-ringscope:*.rscope", (mime / "globs2").read_text())

    def test_a_job_is_recorded_and_diagnosed(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        self.use_recorders_torch()
        run1 = self.environment.folder / "run1"
        job = SOURCE / "traces/recorder/examples/no_position_ids.py"
        command = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "ringscope", job)
        done = run(self.environment.program("python"), *command, env={"RINGSCOPE_RECORD": str(run1)}, cwd=job.parent)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        doctor = run(self.environment.program("ringscope"), "doctor", run1)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)

    def test_the_engine_trains_with_the_installed_torch(self):
        self.need("ringscope_engine")
        self.install("--no-deps", "ringscope", "ringscope_engine")
        self.use_recorders_torch()
        trace = self.environment.folder / "run.rscope"
        text = self.environment.folder / "share/ringscope/sample/text.txt"
        command = ("train", "--text", text, "--cp", "2", "--steps", "1", "--seq-len", "64", "--verify", "--trace", trace)
        done = run(self.environment.program("ringscope"), *command)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(run(self.environment.program("ringscope"), "doctor", trace).returncode, 0)


if __name__ == "__main__":
    if find_wheel("ringscope") is None:
        skip(f"there are no wheels in {WHEELS}; scripts/package wheels makes them")
    unittest.main(argv=sys.argv[:1])
