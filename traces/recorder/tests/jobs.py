# SPDX-License-Identifier: Apache-2.0
"""Runs example jobs in processes of their own, and asks the doctor about their recordings."""

import glob
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
EXAMPLES = os.path.join(PACKAGE, "examples")
VARIANTS = os.path.join(HERE, "variants")  # jobs that import modules of the examples
ROOT = os.path.dirname(os.path.dirname(PACKAGE))
# The PyTorch version that a job's text needs, by a word in it, with the reason.
_FSDP2 = ((2, 7), "PyTorch 2.7, whose FSDP2 takes tensors of a CPU")
_SINCE = {
    "._ContextParallel": ((2, 10), "PyTorch 2.10, which has a ContextParallel plan for modules"),
    "import shard": _FSDP2,
    "fsdp_version=2": _FSDP2,
    "num_key_value_heads": ((2, 9), "PyTorch 2.9, whose flash operator of a CPU takes fewer KV heads"),
}


def path_of(script):
    """Returns the path of a job or module by its name without .py, or None."""
    paths = (os.path.join(folder, script + ".py") for folder in (EXAMPLES, VARIANTS))
    return next(filter(os.path.exists, paths), None)


def torchrun(script, *arguments, processes=2, **environment):
    """Runs a script. Raises AssertionError with its output if the job fails."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), path_of(script[:-3]) or script, *arguments]
    paths = os.pathsep.join((PACKAGE, EXAMPLES))
    settings = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        command, env=settings, cwd=EXAMPLES, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr[-3000:])


def table():
    """Returns (script, processes, finding or None) of every job."""
    with open(os.path.join(EXAMPLES, "JOBS"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [(s, int(count), None if found == "-" else found) for s, count, found in lines]


def missing(script):
    """Returns the requirements of a job, and of modules beside it, that are missing: imported packages, or features of
    later versions of PyTorch."""
    with open(path_of(script), encoding="utf-8") as file:
        text = file.read()
    imported = set(re.findall(r"^(?:import (?=\w)|from (?=[\w.]+ import ))(\w+)", text, re.MULTILINE))
    beside = {name for name in imported if path_of(name)}
    absent = {n for n in imported - beside - {"ringscope"} if importlib.util.find_spec(n) is None}
    absent |= {why for word, (first, why) in _SINCE.items() if word in text and torch_version() < first}
    return absent.union(*(missing(name) for name in beside))


def torch_version():
    """Returns the version as a tuple, such as (2, 11)."""
    return tuple(map(int, importlib.metadata.version("torch").split(".")[:2]))


def program():
    """Returns the built command line: from RINGSCOPE_BUILD, else the newest; None if there is none."""
    folder = os.environ.get("RINGSCOPE_BUILD", os.path.join(ROOT, "build", "*"))
    found = glob.glob(os.path.join(folder, "bin", "ringscope"))
    return max(found, key=os.path.getmtime) if found else None


def findings(folder):
    """Returns the rules that the doctor reports, in its order."""
    done = subprocess.run(
        [program(), "doctor", folder, "--json"], capture_output=True, text=True, timeout=120
    )
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr[-3000:])
    return [finding["rule"] for finding in json.loads(done.stdout)["findings"]]


def ask_agents_tool(folder, tool="doctor"):
    """Returns the text with which a tool of `ringscope mcp` answers about a recording. Raises AssertionError with the
    text of an error."""
    arguments = {"name": tool, "arguments": {"file": os.path.basename(folder)}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}) + "\n"
    done = subprocess.run(
        [program(), "mcp", os.path.dirname(folder)], input=message, capture_output=True, text=True, timeout=120
    )
    result = json.loads(done.stdout)["result"]
    text = result["content"][0]["text"]
    if result.get("isError"):
        raise AssertionError(text)
    return text
