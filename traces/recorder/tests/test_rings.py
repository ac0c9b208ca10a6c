# SPDX-License-Identifier: Apache-2.0
"""The doctor's findings in rings and all-to-alls that nothing annotates: the cases in rings/. A few of them, or all with
RINGSCOPE_JOBS=all, which scripts/campaign hand_written_rings sets."""

import os
import sys
import tempfile
import unittest

from jobs import HERE, PACKAGE, findings, program, torchrun

RINGS = os.path.join(HERE, "rings")
_RIGHT = ("ZigzagRing", "StreamingRing", "Ulysses:bfloat16")
_WRONG = ("NaiveSumOfZigzag", "StaleInBackward", "OtherWay")
_NAMED = 0.8  # share of wrong cases whose first finding is their mistake; the others are placed


def forget_modules():
    """Removes modules whose names the cases in strangers/ have too."""
    for name in ("job", "right", "wrong"):
        sys.modules.pop(name, None)


def cases():
    """Returns the right cases and the wrong ones, by name."""
    sys.path[:0] = [RINGS, PACKAGE]
    forget_modules()
    try:
        import right
        import wrong
    finally:
        sys.path.remove(RINGS)
        forget_modules()
    own = {name: case for name, case in vars(right).items() if hasattr(case, "tokens")}
    own.pop("Shared")
    return own, {name: case for name, case in vars(wrong).items() if hasattr(case, "finding")}


class Rings(unittest.TestCase):
    def first_findings(self, processes, names):
        """Returns the first finding of each case, or None."""
        with tempfile.TemporaryDirectory() as place:
            torchrun(os.path.join(RINGS, "job.py"), place, *names, processes=processes)
            found = {name: findings(os.path.join(place, name.replace(":", "_"))) for name in names}
        return {name: rules[0] if rules else None for name, rules in found.items()}

    def sizes(self):
        return (2, 4) if os.environ.get("RINGSCOPE_JOBS") == "all" else (4,)

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_right_cases_have_no_finding(self):
        names = _RIGHT
        if os.environ.get("RINGSCOPE_JOBS") == "all":
            names = [name + dtype for name in cases()[0] for dtype in ("", ":bfloat16")]
        for processes in self.sizes():
            for name, found in self.first_findings(processes, names).items():
                with self.subTest(name, processes=processes):
                    self.assertIsNone(found)

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_wrong_cases_have_their_mistake_first_or_are_placed(self):
        wrong, every = cases()[1], os.environ.get("RINGSCOPE_JOBS") == "all"
        for processes in self.sizes():
            names = [name for name in (wrong if every else _WRONG) if wrong[name].fewest <= processes]
            found = self.first_findings(processes, names)
            for name in names:
                with self.subTest(name, processes=processes):
                    expected = (wrong[name].finding, "unknown_mistake") if wrong[name].is_seen else (None,)
                    self.assertIn(found[name], expected)
            named = [name for name in names if found[name] == wrong[name].finding]
            self.assertGreaterEqual(len(named), _NAMED * len(names) if every else len(names), found)


if __name__ == "__main__":
    unittest.main()
