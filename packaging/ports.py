#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the command line for other systems with Zig, and prints what each of them lacks.

Usage: `ports.py [--json] [--check] [--jobs N] [--files REGEX] [TARGET]…`. RINGSCOPE_ZIG names Zig.

Without a TARGET all targets are compiled. With --files, only the sources that match are compiled, and nothing is linked.
With --check, the exit code is 1 if docs/reference/ports.md says something else about a target.
The portable build says which sources there are. build/libraries/TARGET may have libsqlite3.a and libz.a of the target;
without them a target cannot link.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field

SOURCE = pathlib.Path(__file__).resolve().parents[1]
PORTABLE = SOURCE / "build/portable"
PAGE = SOURCE / "docs/reference/ports.md"
TARGETS = {  # name -> Zig's name of the target
    "aarch64-linux": "aarch64-linux-gnu.2.28",
    "aarch64-macos": "aarch64-macos",
    "x86_64-macos": "x86_64-macos",
    "x86_64-windows": "x86_64-windows-gnu",
}
LIBRARIES = {"aarch64-linux": "build/libraries/arm64/usr/lib/aarch64-linux-gnu"}


@dataclass
class Port:
    """The result of compiling for one target."""

    target: str
    files: int = 0
    failed: dict = field(default_factory=dict)  # source -> first line of the reason
    linked: bool = False
    link_problem: str = ""


def first_error(text):
    """Returns the first error of a compiler or a linker, without its place."""
    for line in text.splitlines():
        found = re.search(r"(?:fatal )?error: (.*)", line)
        if found:
            return found[1].strip()
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason was printed")


def list_sources():
    """Returns {source: flags} of the command line, as the portable build compiles it."""
    if not (PORTABLE / "compile_commands.json").exists():
        sys.exit("ringscope: the portable build is missing; run scripts/package wheels --only ringscope first")
    needed = subprocess.run(["ninja", "-C", PORTABLE, "-t", "inputs", "bin/ringscope"], capture_output=True, text=True)
    objects = set(needed.stdout.split())
    sources = {}
    for entry in json.loads((PORTABLE / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"].replace("-isystem ", "-isystem"))
        if words[words.index("-o") + 1] not in objects:
            continue
        path = pathlib.Path(entry["file"])
        group = re.findall(r'#include "(.*\.cpp)"', path.read_text()) if "/Unity/" in str(path) else [str(path)]
        flags = [word for word in words if word.startswith(("-I", "-isystem", "-D", "-std=", "-ffile-prefix-map="))]
        sources |= {name: flags for name in group}
    generated = [name for name in sources if name.startswith(f"{PORTABLE}/")]
    subprocess.run(["ninja", "-C", PORTABLE, *(os.path.relpath(name, PORTABLE) for name in generated)], check=True,
                   stdout=subprocess.DEVNULL)
    return sources


def libraries_for(target):
    """Returns the folder of a target's static libraries, and whether they are there."""
    folder = SOURCE / LIBRARIES.get(target, f"build/libraries/{target}")
    return folder, all((folder / name).exists() for name in ("libsqlite3.a", "libz.a"))


def compile_file(source, flags, target, output):
    """Compiles a file into `output`, or only checks it if the target cannot link. Returns the reason of a failure."""
    made = ["-O1", "-c", source, "-o", output] if libraries_for(target)[1] else ["-fsyntax-only", source]
    command = [os.environ["RINGSCOPE_ZIG"], "c++", "-target", TARGETS[target], *flags, *made]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else first_error(done.stderr)


def link(target, objects, program):
    """Links the command line. Returns the reason of a failure."""
    libraries, are_there = libraries_for(target)
    if not are_there:
        return f"{libraries.relative_to(SOURCE)} has no libsqlite3.a and libz.a"
    command = [os.environ["RINGSCOPE_ZIG"], "c++", "-target", TARGETS[target], *objects, "-o", program]
    done = subprocess.run([*command, f"-L{libraries}", "-lsqlite3", "-lz"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else first_error(done.stderr)


def compile_port(target, options):
    folder = SOURCE / "build/ports" / target
    folder.mkdir(parents=True, exist_ok=True)
    sources = {name: flags for name, flags in list_sources().items() if re.search(options.files, name)}
    port = Port(target, len(sources))
    outputs = {name: folder / f"{number}.o" for number, name in enumerate(sorted(sources))}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = pool.map(lambda name: compile_file(name, sources[name], target, outputs[name]), outputs)
        named = {str(pathlib.Path(name).relative_to(SOURCE)).replace("build/portable/", ""): name for name in outputs}
        port.failed = {name: problem for name, problem in zip(named, problems) if problem}
    if port.failed or options.files:
        port.link_problem = "files fail" if port.failed else ""
        return port
    port.link_problem = link(target, list(map(str, outputs.values())), str(folder / "ringscope"))
    port.linked = not port.link_problem
    return port


def describe(port):
    """Returns the lines of a port in the table."""
    linked = "linked" if port.linked else f"not linked: {port.link_problem or 'only some files were compiled'}"
    lines = [f"{port.target:16} {port.files - len(port.failed):4} of {port.files} files compiled   {linked}"]
    return lines + [f"  {source}: {reason}" for source, reason in sorted(port.failed.items())]


def find_differences(port, text):
    """Returns sentences about what a page says differently about a port."""
    row = re.search(rf"^\| `{port.target}` \|(.*)\|(.*)\|(.*)\|$", text, re.M)
    if not row:
        return [f"{port.target} has no row"]
    named = set(re.findall(r"`([\w/.-]+\.cpp)`", row[1]))
    problems = [f"{port.target}: {name} fails, which the page does not say" for name in sorted(set(port.failed) - named)]
    problems += [f"{port.target}: {name} compiles, but the page says that it fails" for name in sorted(named - set(port.failed))]
    if (row[2].strip() == "yes") != port.linked:
        problems.append(f"{port.target} is {'' if port.linked else 'not '}linked, but the page says '{row[2].strip()}'")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--files", default="")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; choose from {', '.join(TARGETS)}")
    if "RINGSCOPE_ZIG" not in os.environ:
        parser.error("RINGSCOPE_ZIG does not name Zig; run scripts/package ports")
    problems = []
    ports = []
    for target in options.targets or TARGETS:
        port = compile_port(target, options)
        ports.append(port)
        if not options.json:
            print("\n".join(describe(port)), flush=True)
        problems += find_differences(port, PAGE.read_text()) if options.check else []
    if options.json:
        print(json.dumps([vars(port) for port in ports], indent=1))
    for problem in problems:
        print(f"✗ {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
