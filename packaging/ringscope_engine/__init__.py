# SPDX-License-Identifier: Apache-2.0
"""Starts RingScope's engine with the LibTorch of the same environment."""

import importlib.metadata
import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "ringscope-engine"
TORCH = "2.11"  # the engine is compiled against this version's C++ interface


def describe_torch_problem(version):
    """Returns why the engine cannot use this version of PyTorch, or an empty text. None: PyTorch is not installed."""
    advice = f"run: pip install 'torch=={TORCH}.*'"
    if version is None:
        return f"the engine needs PyTorch {TORCH}, which is not installed in this Python environment; {advice}"
    if version.split(".")[:2] != TORCH.split("."):
        return f"the engine needs PyTorch {TORCH}, and this Python environment has {version}; {advice}"
    return ""


def installed_torch():
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    problem = describe_torch_problem(installed_torch())
    if problem:
        print(f"ringscope: {problem}", file=sys.stderr)
        return 2
    os.environ.setdefault("RINGSCOPE_PROGRAMS", os.path.dirname(os.path.abspath(sys.argv[0])))
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
