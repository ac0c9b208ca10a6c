#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the Debian package and the wheel `ringscope` into a minimal Debian without compilers and network.

Usage: debian_test.py SOURCE [PACKAGES]. PACKAGES is build/packages of SOURCE unless it is named. Exit code 77, with the
reason, when there is no package or no root can be made.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
PACKAGES = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build/packages").resolve()
sys.path.insert(0, str(SOURCE / "tests/packaging"))
import bills  # noqa: E402
import fresh_root  # noqa: E402

SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"
DEB = next(iter(sorted(PACKAGES.glob("ringscope_*_amd64.deb"))), None)
WHEEL = next(iter(sorted(PACKAGES.glob("ringscope-*_x86_64.whl"))), None)


class DebianTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        listed = subprocess.run(["dpkg-deb", "-f", DEB, "Depends"], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"(?:^|, )([a-z0-9.+-]+)", listed)
        try:
            cls.root = fresh_root.DebianRoot(f"{cls.temporary.name}/root", [*needed, "python3-venv"])
        except RuntimeError as error:
            cls.temporary.cleanup()
            raise unittest.SkipTest(str(error)) from error
        for path in (DEB, WHEEL, SAMPLE):
            if path:
                shutil.copy(path, cls.root.folder / "tmp")
        cls.installed = cls.root.run("dpkg", "-i", f"/tmp/{DEB.name}")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_the_root_has_no_compiler(self):
        for name in ("cc", "gcc", "c++", "clang"):
            self.assertFalse((self.root.folder / "usr/bin" / name).exists(), name)

    def test_the_package_is_installed_and_draws_every_view(self):
        self.assertEqual(self.installed.returncode, 0, self.installed.stderr)
        doctor = self.root.run("ringscope", "doctor", f"/tmp/{SAMPLE.name}")
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        for view in fresh_root.draw_every_view(self, self.root.run, "ringscope-gui", f"/tmp/{SAMPLE.name}", "/tmp"):
            self.assertTrue((self.root.folder / f"tmp/{view}.png").read_bytes().startswith(b"\x89PNG"), view)

    def test_the_bill_of_materials_lists_every_installed_file(self):
        listed = self.root.run("dpkg", "-L", "ringscope").stdout.split()
        paths = [name for name in listed if (self.root.folder / name[1:]).is_file()]
        files = {name[1:]: (self.root.folder / name[1:]).read_bytes() for name in paths}
        bill = json.loads(files["usr/share/doc/ringscope/ringscope.spdx.json"])
        self.assertEqual(bills.check_files(bill, files), [])
        parts = {package["name"]: package["licenseDeclared"] for package in bill["packages"]}
        self.assertTrue(all(parts.values()))
        for name in ("usr/bin/ringscope", "usr/bin/ringscope-gui"):
            dynamic = {"SQLite", "zlib"}  # libraries of other packages, whose marks come from error messages
            self.assertEqual(bills.linked_parts(files[name]) - dynamic - set(parts), set(), name)

    def test_the_wheel_is_installed_and_diagnoses_the_sample(self):
        if WHEEL is None:
            self.skipTest(f"there is no wheel ringscope in {PACKAGES}")
        made = self.root.run("python3", "-m", "venv", "/tmp/environment")
        self.assertEqual(made.returncode, 0, made.stderr)
        done = self.root.run("/tmp/environment/bin/pip", "install", "--no-index", "-q", f"/tmp/{WHEEL.name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        doctor = self.root.run("/tmp/environment/bin/ringscope", "doctor", f"/tmp/{SAMPLE.name}")
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)


if __name__ == "__main__":
    reason = fresh_root.describe_debian_obstacle() if DEB else f"there is no Debian package in {PACKAGES}"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
