# SPDX-License-Identifier: Apache-2.0
"""RINGSCOPE_RECORD=run1 python -m ringscope train.py …: records a script without changing it.

RINGSCOPE_STEPS=3 records the first three training steps (default: 1). RINGSCOPE_VALUES sets record()'s values.
"""

import os
import runpy
import sys

import ringscope


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: RINGSCOPE_RECORD=FOLDER python -m ringscope SCRIPT [ARGUMENTS]")
    folder = os.environ.get("RINGSCOPE_RECORD")
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    if not folder:
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    steps = range(int(os.environ.get("RINGSCOPE_STEPS", "1")))
    with ringscope.record(folder, steps=steps, values=os.environ.get("RINGSCOPE_VALUES", "auto")):
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
