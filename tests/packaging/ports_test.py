#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How packaging/ports.py reads compilers' messages and its page. `scripts/campaign ports` compiles for real.

Usage: ports_test.py SOURCE.
"""

import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "packaging"))
import ports  # noqa: E402

PAGE = """
| target | files that fail | links | needs |
| `x86_64-macos` | `a/b.cpp`, `c.cpp` | no | nothing |
| `aarch64-linux` | none | yes | nothing |
"""


class PortsTest(unittest.TestCase):
    def test_the_reason_of_a_failure_is_the_first_error_without_its_place(self):
        text = "In file included from x.cpp:1:\nx.h:3:10: fatal error: 'poll.h' file not found\ny.cpp:1: error: second\n"
        self.assertEqual(ports.first_error(text), "'poll.h' file not found")
        self.assertEqual(ports.first_error("\nSegmentation fault\n"), "Segmentation fault")

    def test_a_page_that_agrees_has_no_differences(self):
        failed = {"a/b.cpp": "1", "c.cpp": "2"}
        self.assertEqual(ports.find_differences(ports.Port("x86_64-macos", 9, failed), PAGE), [])
        self.assertEqual(ports.find_differences(ports.Port("aarch64-linux", 9, {}, True), PAGE), [])

    def test_each_difference_to_the_page_is_named(self):
        port = ports.Port("x86_64-macos", 9, {"a/b.cpp": "1", "new.cpp": "2"}, True)
        self.assertEqual(
            ports.find_differences(port, PAGE),
            [
                "x86_64-macos: new.cpp fails, which the page does not say",
                "x86_64-macos: c.cpp compiles, but the page says that it fails",
                "x86_64-macos is linked, but the page says 'no'",
            ],
        )
        self.assertEqual(ports.find_differences(ports.Port("sparc"), PAGE), ["sparc has no row"])

    def test_the_table_names_failures_and_whether_a_port_is_linked(self):
        lines = ports.describe(ports.Port("x86_64-macos", 9, {"c.cpp": "'poll.h' file not found"}, False, "files fail"))
        self.assertEqual(lines[0].split(), "x86_64-macos 8 of 9 files compiled not linked: files fail".split())
        self.assertEqual(lines[1], "  c.cpp: 'poll.h' file not found")

    def test_the_page_has_every_target_and_names_existing_files(self):
        text = ports.PAGE.read_text()
        for target in ports.TARGETS:
            names = ports.find_differences(ports.Port(target), text)
            self.assertNotIn(f"{target} has no row", names)
            for name in (problem.split()[1] for problem in names if "compiles, but" in problem):
                self.assertTrue((SOURCE / name).exists(), name)

    def test_unknown_targets_are_refused_by_name(self):
        done = subprocess.run([sys.executable, SOURCE / "packaging/ports.py", "vax"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no target vax; choose from aarch64-linux", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
