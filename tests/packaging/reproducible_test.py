#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How packaging/reproducible.py compares packages. `scripts/campaign packages` builds them for real.

Usage: reproducible_test.py SOURCE.
"""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "packaging"))
import reproducible  # noqa: E402


class ReproducibleTest(unittest.TestCase):
    def test_equal_packages_have_no_differences(self):
        self.assertEqual(reproducible.find_differences({"a.whl": "12"}, {"a.whl": "12"}), [])

    def test_packages_that_differ_or_are_missing_are_named(self):
        differences = reproducible.find_differences({"a.whl": "12", "b.deb": "3"}, {"a.whl": "13", "c.gz": "4"})
        self.assertEqual(len(differences), 3)
        self.assertIn("a.whl differs: 12 here, 13 in the other folder", differences)
        self.assertIn("b.deb was built in only one of the folders", differences)

    def test_hashes_are_of_the_content(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("a.whl", b"x"), ("b.whl", b"x"), ("c.whl", b"y")):
                (pathlib.Path(folder) / name).write_bytes(content)
            hashes = reproducible.hash_packages(pathlib.Path(folder))
        self.assertEqual(hashes["a.whl"], hashes["b.whl"])
        self.assertNotEqual(hashes["a.whl"], hashes["c.whl"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
