# SPDX-License-Identifier: Apache-2.0
"""RINGSCOPE_RECORD=run1 python -m ringscope train.py …: records a script without changing it.

RINGSCOPE_STEPS=3 records the first three training steps (default: 1). RINGSCOPE_VALUES sets record()'s values.
"""

import os
import runpy
import sys

import ringscope


def run(script):
    try:
        runpy.run_path(script, run_name="__main__")
    except NotImplementedError as error:
        if "flash_attention_for_cpu" in str(error) and hasattr(error, "add_note"):
            error.add_note(
                "RingScope: PyTorch's context_parallel has no ring for tensors on the CPU. To try a job without a GPU, "
                "call ringscope.cpu_context_parallel() once before training."
            )
        raise


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: RINGSCOPE_RECORD=FOLDER python -m ringscope SCRIPT [ARGUMENTS]")
    folder = os.environ.get("RINGSCOPE_RECORD")
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    if not folder:
        run(sys.argv[0])
        return
    steps = range(int(os.environ.get("RINGSCOPE_STEPS", "1")))
    with ringscope.record(folder, steps=steps, values=os.environ.get("RINGSCOPE_VALUES", "auto")):
        run(sys.argv[0])


if __name__ == "__main__":
    main()
