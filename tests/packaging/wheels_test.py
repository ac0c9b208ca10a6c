#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the programs of a build into wheels, without network and without Zig, and checks them.

Usage: wheels_test.py SOURCE BIN. BIN may lack the window or the engine.
"""

import base64
import csv
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
SOURCE, BIN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "packaging"))
sys.path.insert(0, str(SOURCE / "tests/packaging"))
import bills  # noqa: E402
import wheel  # noqa: E402
import wheels  # noqa: E402

PROGRAMS = {"ringscope": "command-line", "ringscope-gui": "window", "ringscope-engine": "engine"}
BUILT = {name: option for name, option in PROGRAMS.items() if (BIN / name).exists()}
SAMPLE = SOURCE / "resources/sample/missing_position_ids.rscope"


def pack(folder, epoch):
    """Packs the built programs and returns the wheels' paths by their names."""
    arguments = []
    for name, option in BUILT.items():
        arguments += [f"--{option}", BIN / name]
    command = [sys.executable, SOURCE / "packaging/wheels.py", "--output", folder, *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
    return {path.name.split("-")[0].replace("_", "-"): path for path in pathlib.Path(folder).glob("*.whl")}


def launcher(name):
    """Returns a package of packaging/ as a module."""
    spec = importlib.util.spec_from_file_location(name, SOURCE / "packaging" / name / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WheelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.wheels = pack(cls.folder / "first", 1_700_000_000)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def metadata(self, name, file="METADATA"):
        with zipfile.ZipFile(self.wheels[name]) as archive:
            (path,) = [p for p in archive.namelist() if p.endswith(f".dist-info/{file}")]
            return archive.read(path).decode()

    def test_packs_every_built_program(self):
        self.assertEqual(set(self.wheels), set(BUILT))
        self.assertIn("ringscope", self.wheels)

    def test_the_same_programs_give_the_same_bytes(self):
        again = pack(self.folder / "again", 1_700_000_000)
        for name, path in self.wheels.items():
            self.assertEqual(path.read_bytes(), again[name].read_bytes(), name)
            self.assertEqual(path.name, again[name].name)

    def test_files_have_the_date_of_the_commit(self):
        for path in self.wheels.values():
            with zipfile.ZipFile(path) as archive:
                self.assertEqual({entry.date_time for entry in archive.infolist()}, {(2023, 11, 14, 22, 13, 20)})

    def test_records_have_the_hash_and_size_of_every_file(self):
        for path in self.wheels.values():
            with zipfile.ZipFile(path) as archive:
                (record,) = [name for name in archive.namelist() if name.endswith("/RECORD")]
                rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
                self.assertEqual(set(rows), set(archive.namelist()))
                for name, (digest, size) in rows.items():
                    if name == record:
                        continue
                    content = archive.read(name)
                    expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, int(size)), (f"sha256={expected}", len(content)), name)

    def test_names_say_the_version_and_the_glibc_that_is_needed(self):
        version = wheels.project_version()
        for name, path in self.wheels.items():
            major, minor = wheels.newest_glibc(BIN / name)
            start = f"{name.replace('-', '_')}-{version}-py3-none-manylinux_{major}_{max(minor, 17)}_"
            self.assertTrue(path.name.startswith(start), path.name)
            self.assertIn(f"Tag: {path.stem.split('-', 2)[2]}\n", self.metadata(name, "WHEEL"))

    def test_extras_bring_window_and_engine_of_the_same_version(self):
        metadata = self.metadata("ringscope")
        for extra in ("gui", "engine"):
            self.assertIn(f"Provides-Extra: {extra}\n", metadata)
            self.assertIn(f"Requires-Dist: ringscope-{extra}=={wheels.project_version()}; extra == '{extra}'", metadata)

    def test_licences_agree_with_the_programs(self):
        expected = {"ringscope": "Apache-2.0", "ringscope-engine": "Apache-2.0", "ringscope-gui": "GPL-3.0-or-later"}
        for name in self.wheels:
            self.assertIn(f"License-Expression: {expected[name]}\n", self.metadata(name))
            text = (SOURCE / "LICENSES" / f"{expected[name]}.txt").read_text()
            self.assertEqual(self.metadata(name, f"licenses/{expected[name]}.txt"), text)

    def bill(self, name):
        return json.loads(self.metadata(name, f"sboms/{name.replace('-', '_')}.spdx.json"))

    def test_bills_of_materials_list_what_is_linked(self):
        for name in self.wheels:
            bill = self.bill(name)
            listed = {package["name"]: package["licenseDeclared"] for package in bill["packages"]}
            content = (BIN / name).read_bytes()
            linked = bills.linked_parts(content)
            self.assertTrue(linked, name)
            self.assertEqual(linked - set(listed), set(), name)
            self.assertEqual(listed["SQLite"], "blessing")
            self.assertTrue(all(listed.values()))
            contained = {one["relatedSpdxElement"] for one in bill["relationships"]}
            self.assertEqual(contained, {package["SPDXID"] for package in bill["packages"]})

    def test_bills_of_materials_list_every_file_with_its_hash(self):
        for name, path in self.wheels.items():
            with zipfile.ZipFile(path) as archive:
                files = {entry: archive.read(entry) for entry in archive.namelist()}
            self.assertEqual(bills.check_files(self.bill(name), files), [])
            changed = {**files, "added.txt": b"1"}
            self.assertEqual(bills.check_files(self.bill(name), changed), ["added.txt is not listed"])

    def test_recorder_and_wheel_have_one_name_and_version(self):
        text = (SOURCE / "traces/recorder/pyproject.toml").read_text()
        self.assertEqual(re.search(r'^name = "(.*)"', text, re.M)[1], "ringscope")
        self.assertEqual(re.search(r'^version = "(.*)"', text, re.M)[1], wheels.project_version())

    def test_a_path_is_added_only_once(self):
        one = wheel.Wheel("a-b", "1", "py3-none-any", 0)
        one.add("x", "1")
        with self.assertRaisesRegex(ValueError, "a_b: x is added twice"):
            one.add("x", "2")

    def test_installed_programs_find_each_other(self):
        environment = self.folder / "environment"
        made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no environment can be made: {made.stdout.strip() or made.stderr.strip()}")
        # Wheels of a build for this machine's glibc; other machines need those of scripts/package.
        command = [environment / "bin/pip", "install", "--no-index", "--no-deps", "-q", *self.wheels.values()]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("RINGSCOPE_")}
        doctor = subprocess.run([environment / "bin/ringscope", "doctor", SAMPLE], capture_output=True, text=True, env=clean)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertIn("missing_position_ids", doctor.stdout)
        if "ringscope-gui" in BUILT:
            picture = self.folder / "ring.png"
            command = [environment / "bin/ringscope-gui", SAMPLE, "--screenshot", picture]
            drawn = subprocess.run(command, capture_output=True, text=True, env=clean)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
            bare = {key: value for key, value in clean.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
            command = [environment / "bin/ringscope", "gui", SAMPLE]
            window = subprocess.run(command, capture_output=True, text=True, env=bare)
            self.assertEqual(window.returncode, 2)
            self.assertIn("ringscope-gui: there is no display", window.stderr)
        if "ringscope-engine" in BUILT:
            train = subprocess.run([environment / "bin/ringscope", "train"], capture_output=True, text=True, env=clean)
            self.assertEqual(train.returncode, 2)
            self.assertIn("the engine needs PyTorch 2.11, which is not installed", train.stderr)


class ProgramsTest(unittest.TestCase):
    def test_programs_of_packages_have_no_path_of_the_building_machine(self):
        built = sorted([*(BIN.parent / "wheel").glob("ringscope*"), *SOURCE.glob("build/portable*/bin/ringscope")])
        if not built:
            self.skipTest("no programs of packages are built; scripts/package builds them")
        for program in built:
            self.assertEqual(bills.machine_paths(program.read_bytes(), SOURCE, BIN), [], program)

    def test_paths_of_the_building_machine_are_found(self):
        content = b"\0/home/build/x.cpp\0traces/a.cpp\0/src/ringscope/b.cpp\0"
        self.assertEqual(bills.machine_paths(content, "/src/ringscope"), ["/home/build/x.cpp", "/src/ringscope/b.cpp"])


class ScriptTest(unittest.TestCase):
    def refuse(self, *arguments):
        done = subprocess.run([SOURCE / "scripts/package", "--cpu", *arguments], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        return done.stderr

    def test_wrong_arguments_are_refused_in_one_sentence(self):
        self.assertIn("builds wheels, deb, archive and ports; not 'rpm'", self.refuse("rpm"))
        self.assertIn("--target needs aarch64", self.refuse("wheels", "--target", "sparc"))
        self.assertIn("ringscope-gui is only built for x86_64", self.refuse("wheels", "--target", "aarch64", "--only", "ringscope-gui"))
        self.assertIn("scripts/package archive does not know '--only'", self.refuse("archive", "--only"))


class LauncherTest(unittest.TestCase):
    def test_the_loader_names_every_library_that_a_program_lacks(self):
        gui = launcher("ringscope_gui")
        if shutil.which("cc") is None:
            self.skipTest("there is no compiler")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "empty.c").write_text("int main(void) { return 0; }\n")
            for name in ("one", "two"):
                subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", folder / f"lib{name}.so"], check=True)
            command = ["cc", folder / "empty.c", "-o", folder / "program", f"-L{folder}", "-Wl,--no-as-needed", "-lone", "-ltwo"]
            subprocess.run(command, check=True)
            for name in ("one", "two"):
                (folder / f"lib{name}.so").unlink()
            listing = gui.list_libraries(folder / "program")
        self.assertEqual(gui.missing_libraries(listing), ["libone.so", "libtwo.so"])

    def test_names_missing_libraries_and_their_packages_in_one_sentence(self):
        gui = launcher("ringscope_gui")
        listing = "\tlibEGL.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\tlibodd.so.9 => not found\n"
        missing = gui.missing_libraries(listing)
        self.assertEqual(missing, ["libEGL.so.1", "libodd.so.9"])
        self.assertEqual(
            gui.describe_missing(missing),
            "the window needs libEGL.so.1, libodd.so.9, which this system does not have; "
            "on Debian and Ubuntu, run: apt-get install libegl1",
        )
        self.assertIn("pip install PySide6-Addons", gui.describe_missing(["libQt6Core.so.6"]))

    def test_only_a_window_needs_a_display(self):
        gui = launcher("ringscope_gui")
        self.assertTrue(gui.needs_display(["run.rscope", "--view", "ring"]))
        self.assertFalse(gui.needs_display(["run.rscope", "--screenshot=a.png"]))
        self.assertFalse(gui.needs_display(["--list-views"]))

    def test_the_engine_refuses_another_pytorch_in_one_sentence(self):
        engine = launcher("ringscope_engine")
        self.assertEqual(engine.describe_torch_problem("2.11.0+cpu"), "")
        self.assertIn("has 2.9.1; run: pip install 'torch==2.11.*'", engine.describe_torch_problem("2.9.1"))
        self.assertIn("is not installed", engine.describe_torch_problem(None))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
