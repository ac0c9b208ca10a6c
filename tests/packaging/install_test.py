#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheels of `scripts/package wheels` into empty environments and uses them without network and compilers.

Also unpacks the Debian package. debian_test.py and archive_test.py install packages into roots without Qt.

Usage: install_test.py SOURCE [WHEELS]. WHEELS is build/packages of SOURCE unless it is named. Exit code 77, with the
reason, when there are no wheels, or when PySide6 cannot be loaded.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "tests/packaging"))
import bills  # noqa: E402
import fresh_root  # noqa: E402

OFFLINE = SOURCE / "tests/packaging/offline.py"
ISOLATE = ("unshare", "--map-root-user", "--net")
WHEELS = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build/packages").resolve()
RECORDER = SOURCE / ".deps/recorder"  # the environment with PyTorch that scripts/recorder_env makes
SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"
NEWEST_GLIBC = {"ringscope": (2, 28), "ringscope_gui": (2, 34), "ringscope_engine": (2, 34)}
COMMAND_LINE_TESTS = ("test_reading", "test_exchange", "test_remote")  # one of them needs the window: its picture
STARTS = 50
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


def can_isolate():
    """Reports whether programs can be run without network. Without unshare they run with it, which a line says."""
    if shutil.which("unshare") and run(*ISOLATE, sys.executable, OFFLINE, "", "/bin/true").returncode == 0:
        return True
    print("the programs keep the network: unshare cannot make a network namespace here")
    return False


ISOLATED = can_isolate()


def use(program, *arguments, **options):
    """Runs an installed program without network, and with only its own folder as PATH, so without compilers."""
    program = pathlib.Path(program)
    isolate = (*ISOLATE, sys.executable, OFFLINE, program.parent) if ISOLATED else ()
    return run(*isolate, program, *arguments, **options)


def find_wheel(name):
    return next(iter(sorted(WHEELS.glob(f"{name}-*_x86_64.whl"))), None)


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
                print(f"{path.name}: newest glibc symbols {max(versions)[0]}.{max(versions)[1]}")
                self.assertLessEqual(max(versions), newest, path)
                self.assertEqual(bills.machine_paths(path.read_bytes(), SOURCE), [], path.name)

    def test_the_command_line_needs_only_glibc(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", self.environment.program("ringscope")).stdout)
        allowed = r"(libc|libm|libdl|libpthread|librt)\.so\.\d|ld-linux.*"
        self.assertEqual([name for name in needed if not re.fullmatch(allowed, name)], [])

    def test_the_command_line_starts_quickly_and_finds_the_mistake_of_the_sample(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        doctor = use(self.environment.program("ringscope"), "doctor", SAMPLE)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        times = []
        for _ in range(STARTS):
            began = time.monotonic()
            self.assertEqual(run(self.environment.program("ringscope"), "--version").returncode, 0)
            times.append(time.monotonic() - began)
        print(f"ringscope --version, {STARTS} starts: best {min(times) * 1000:.1f} ms, "
              f"median {sorted(times)[STARTS // 2] * 1000:.1f} ms")
        self.assertLess(min(times), MOST_START_SECONDS)

    def test_the_command_line_passes_the_tests_that_need_no_engine(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        for name in COMMAND_LINE_TESTS:
            test = next(SOURCE.glob(f"build/c*/tests/{name}"), None)
            if test is None:
                self.skipTest(f"{name} is not built; scripts/test builds it")
            done = run(test, "--gtest_filter=-McpTest.PicturesAreImages",
                       env={"RINGSCOPE_TEST_PROGRAM": str(self.environment.program("ringscope"))})
            self.assertEqual(done.returncode, 0, f"{name}: {done.stdout[-2000:]}")
            print(f"{name}: {done.stdout.count('[       OK ]')} tests passed")

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
        window = run(self.environment.program("ringscope"), "gui", SAMPLE)
        self.assertIn("there is no display", window.stderr)
        fresh_root.draw_every_view(self, use, gui, SAMPLE, self.environment.folder)
        self.assertLess(seconds, MOST_PICTURE_SECONDS)

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
        files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        bill = json.loads(files["usr/share/doc/ringscope/ringscope.spdx.json"])
        self.assertEqual(bills.check_files(bill, files), [])
        for name in ("usr/bin/ringscope", "usr/bin/ringscope-gui"):
            self.assertEqual(bills.machine_paths(files[name], SOURCE), [], name)
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

    def test_a_recorded_job_runs_without_torchrun(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        self.use_recorders_torch()
        run1 = self.environment.folder / "run1"
        job = self.environment.folder / "job.py"
        job.write_text("import torch\nlayer = torch.nn.Linear(4, 4)\nlayer(torch.ones(2, 4)).sum().backward()\n")
        done = use(self.environment.program("python"), "-m", "ringscope", job, env={"RINGSCOPE_RECORD": str(run1)})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        info = use(self.environment.program("ringscope"), "info", run1)
        self.assertEqual(info.returncode, 0, info.stderr)

    def test_a_job_is_recorded_and_diagnosed(self):
        self.need("ringscope")
        self.install(find_wheel("ringscope"))
        self.use_recorders_torch()
        run1 = self.environment.folder / "run1"
        job = SOURCE / "traces/recorder/examples/no_position_ids.py"
        command = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "ringscope", job)
        done = use(self.environment.program("python"), *command, env={"RINGSCOPE_RECORD": str(run1)}, cwd=job.parent)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        doctor = use(self.environment.program("ringscope"), "doctor", run1)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)

    def test_the_engine_trains_with_the_installed_torch(self):
        self.need("ringscope_engine")
        self.install("--no-deps", "ringscope", "ringscope_engine")
        self.use_recorders_torch()
        trace = self.environment.folder / "run.rscope"
        text = self.environment.folder / "share/ringscope/sample/text.txt"
        command = ("train", "--text", text, "--cp", "2", "--steps", "1", "--seq-len", "64", "--verify", "--trace", trace)
        done = use(self.environment.program("ringscope"), *command)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(use(self.environment.program("ringscope"), "doctor", trace).returncode, 0)

    def test_the_command_line_for_aarch64_runs_under_qemu(self):
        wheel = next(iter(sorted(WHEELS.glob("ringscope-*_aarch64.whl"))), None)
        if wheel is None:
            self.skipTest("there is no wheel for aarch64; scripts/package wheels --target aarch64 makes it")
        self.assertIn("manylinux_2_28_aarch64", wheel.name)
        folder = self.environment.folder / "aarch64"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        program = next(folder.glob("*.data/scripts/ringscope"))
        program.chmod(0o755)
        self.assertEqual(int.from_bytes(program.read_bytes()[18:20], "little"), 183)  # EM_AARCH64
        qemu = shutil.which("qemu-aarch64-static")
        if qemu is None:
            self.skipTest("qemu-user-static is not installed")
        roots = (SOURCE / "build/libraries/arm64", pathlib.Path("/usr/aarch64-linux-gnu"))
        loader = next((root for root in roots if (root / "lib/ld-linux-aarch64.so.1").exists()), None)
        if loader is None:
            self.skipTest("the glibc of aarch64 is missing; scripts/package wheels --target aarch64 loads it")
        doctor = run(qemu, "-L", loader, program, "doctor", SAMPLE)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        self.assertIn("aarch64)", run(qemu, "-L", loader, program, "--version").stdout)


if __name__ == "__main__":
    if find_wheel("ringscope") is None:
        skip(f"there are no wheels in {WHEELS}; scripts/package wheels makes them")
    unittest.main(argv=sys.argv[:1])
