#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks the archive of `scripts/package archive` and uses it, also in a root that has only glibc.

Usage: archive_test.py SOURCE [PACKAGES]. PACKAGES is build/packages of SOURCE unless it is named. Exit code 77, with the
reason, when there is no archive.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
PACKAGES = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build/packages").resolve()
sys.path[:0] = [str(SOURCE / "packaging"), str(SOURCE / "tests/packaging")]
import archive as packer  # noqa: E402
import bills  # noqa: E402
import fresh_root  # noqa: E402

SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"
ARCHIVE = next(iter(sorted(PACKAGES.glob("ringscope-*-x86_64-linux.tar.gz"))), None)


class ArchiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        with tarfile.open(ARCHIVE) as tar:
            cls.entries = tar.getmembers()
        subprocess.run(["tar", "-xzf", ARCHIVE, "-C", cls.folder], check=True)
        (cls.top,) = cls.folder.iterdir()
        cls.files = {str(p.relative_to(cls.top)): p.read_bytes() for p in cls.top.rglob("*") if p.is_file()}
        cls.bill = json.loads(cls.files["share/doc/ringscope/ringscope.spdx.json"])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def use(self, run, top, sample, folder):
        """Checks that a recording can be diagnosed and drawn. `run` starts a program; paths are as it sees them."""
        doctor = run(f"{top}/bin/ringscope", "doctor", sample)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        return fresh_root.draw_every_view(self, run, f"{top}/bin/ringscope-gui", sample, folder)

    def test_runs_from_any_folder_without_variables(self):
        def run(*command):
            return subprocess.run(["env", "-i", *map(str, command)], capture_output=True, text=True, check=False)

        for view in self.use(run, self.top, SAMPLE, self.folder):
            self.assertTrue((self.folder / f"{view}.png").read_bytes().startswith(b"\x89PNG"), view)

    def test_runs_in_a_root_that_has_only_glibc(self):
        obstacle = fresh_root.describe_obstacle()
        if obstacle:
            self.skipTest(obstacle)
        with tempfile.TemporaryDirectory() as folder:
            root = fresh_root.FreshRoot(folder)
            self.top.rename(root.folder / "ringscope")
            try:
                (root.folder / "sample.rscope").write_bytes(SAMPLE.read_bytes())
                for view in self.use(root.run, "/ringscope", "/sample.rscope", "/tmp"):
                    self.assertTrue((root.folder / f"tmp/{view}.png").read_bytes().startswith(b"\x89PNG"), view)
                version = root.run("/ringscope/bin/ringscope-gui", "--version").stdout.split()[1:]
                self.assertEqual(root.run("/ringscope/bin/ringscope", "--version").stdout.split()[1:], version)
            finally:
                (root.folder / "ringscope").rename(self.top)

    def test_brings_every_library_but_those_of_glibc_and_of_drivers(self):
        """The loader must find each library in the archive, or it is one that the archive leaves out."""
        paths = [name for name in self.files if name.endswith("ringscope-gui") or "/plugins/" in name]
        self.assertIn("lib/ringscope/plugins/platforms/libqoffscreen.so", paths)
        self.assertIn("lib/ringscope/plugins/platforms/libqxcb.so", paths)
        needed = set()
        for name in [*paths, *(name for name in self.files if re.match(r"lib/ringscope/lib[^/]*$", name))]:
            listing = subprocess.run(["objdump", "-p", self.top / name], capture_output=True, text=True, check=True).stdout
            needed |= set(re.findall(r"NEEDED +(\S+)", listing))
        own = {name.rpartition("/")[2] for name in self.files if name.startswith("lib/ringscope/")}
        self.assertEqual({name for name in needed - own if not packer.LEFT_OUT.fullmatch(name)}, set())
        self.assertEqual([name for name in own if packer.LEFT_OUT.fullmatch(name)], [])

    def test_the_bill_of_materials_lists_every_file_and_library(self):
        self.assertEqual(bills.check_files(self.bill, self.files), [])
        listed = {package["name"] for package in self.bill["packages"]}
        for name in ("bin/ringscope", "bin/ringscope-gui"):
            self.assertEqual(bills.linked_parts(self.files[name]) - listed, set())
        for name in ("libqt6core6", "libqt6gui6", "libqt6charts6", "libxcb1", "libc++", "Inter"):
            self.assertIn(name, listed)
        licences = {name.rpartition("/")[2].removesuffix(".txt") for name in self.files if "/licenses/" in name}
        self.assertEqual(listed - licences, {"ringscope"})

    def test_files_have_one_date_and_no_owner_and_are_sorted(self):
        self.assertEqual(len({entry.mtime for entry in self.entries}), 1)
        self.assertEqual({(entry.uid, entry.gid, entry.uname, entry.gname) for entry in self.entries}, {(0, 0, "", "")})
        names = [entry.name for entry in self.entries]
        self.assertEqual(names, sorted(names))
        self.assertEqual(ARCHIVE.read_bytes()[4:8], bytes(4))  # gzip's date

    def test_the_same_files_give_the_same_bytes(self):
        again = packer.Archive("1", {})
        for name, content in self.files.items():
            again.add(name, content, mode=0o755 if name.startswith("bin/ringscope") else 0o644)
        path = self.folder / ARCHIVE.name
        again.write(path, self.entries[0].mtime)
        digest = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, ARCHIVE)]
        path.unlink()
        self.assertEqual(*digest)

    def test_programs_have_no_path_of_the_building_machine(self):
        for name in ("bin/ringscope", "bin/ringscope-gui"):
            self.assertEqual(bills.machine_paths(self.files[name], SOURCE), [], name)

    def test_the_command_line_starts_within_10_ms(self):
        times = []
        for _ in range(50):
            began = time.monotonic()
            subprocess.run([self.top / "bin/ringscope", "--version"], capture_output=True, check=True)
            times.append(time.monotonic() - began)
        print(f"ringscope --version, best of 50 starts: {min(times) * 1000:.1f} ms")
        self.assertLess(min(times), 0.010)


if __name__ == "__main__":
    if ARCHIVE is None:
        print(f"skipped: there is no archive in {PACKAGES}; scripts/package archive makes it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
