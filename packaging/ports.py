#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the command line for other systems with Zig, and prints what each of them lacks.

Usage: `ports.py [--json] [--check] [--jobs N] [--files REGEX] [TARGET]…`. RINGSCOPE_ZIG names Zig.

Without a TARGET all targets are compiled, in the groups of sources in which the portable build compiles them. With
--files, only the groups with a source that matches are compiled, and nothing is linked.
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


@dataclass
class Unit:
    """A source that the portable build compiles: one file, or one that includes several."""

    source: str
    files: list
    flags: list


def list_units():
    """Returns the units of the command line, as the portable build compiles them."""
    if not (PORTABLE / "compile_commands.json").exists():
        sys.exit("ringscope: the portable build is missing; run scripts/package wheels --only ringscope first")
    needed = subprocess.run(["ninja", "-C", PORTABLE, "-t", "inputs", "bin/ringscope"], capture_output=True, text=True)
    objects = set(needed.stdout.split())
    units = []
    for entry in json.loads((PORTABLE / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"].replace("-isystem ", "-isystem"))
        if words[words.index("-o") + 1] not in objects:
            continue
        path = pathlib.Path(entry["file"])
        files = re.findall(r'#include "(.*\.cpp)"', path.read_text()) if "/Unity/" in str(path) else [str(path)]
        flags = [word for word in words if word.startswith(("-I", "-isystem", "-D", "-std=", "-ffile-prefix-map="))]
        units.append(Unit(str(path), files, flags))
    generated = [name for unit in units for name in unit.files if name.startswith(f"{PORTABLE}/")]
    subprocess.run(["ninja", "-C", PORTABLE, *(os.path.relpath(name, PORTABLE) for name in generated)], check=True,
                   stdout=subprocess.DEVNULL)
    return units


def libraries_for(target):
    """Returns the folder of a target's static libraries, and whether they are there."""
    folder = SOURCE / LIBRARIES.get(target, f"build/libraries/{target}")
    return folder, all((folder / name).exists() for name in ("libsqlite3.a", "libz.a"))


def compile_source(source, flags, target, output):
    """Compiles a source into `output`. Returns the reason of a failure."""
    # Zig cannot only check a source: without an output it fails after the check.
    level = "-O1" if libraries_for(target)[1] else "-O0"
    command = [os.environ["RINGSCOPE_ZIG"], "c++", "-target", TARGETS[target], *flags, level, "-c", source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else first_error(done.stderr)


def compile_unit(unit, target, output):
    """Compiles a unit, and the files of one that fails by themselves. Returns {file: reason} of those that fail."""
    problem = compile_source(unit.source, unit.flags, target, output)
    if not problem:
        return {}
    alone = {name: compile_source(name, unit.flags, target, output) for name in unit.files}
    return {name: reason for name, reason in alone.items() if reason} or {unit.source: problem}


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
    units = [unit for unit in list_units() if any(re.search(options.files, name) for name in unit.files)]
    port = Port(target, sum(len(unit.files) for unit in units))
    objects = [str(folder / f"{number}.o") for number in range(len(units))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for failed in pool.map(lambda unit, output: compile_unit(unit, target, output), units, objects):
            named = {str(pathlib.Path(name).relative_to(SOURCE)).replace("build/portable/", ""): name for name in failed}
            port.failed |= {name: failed[path] for name, path in named.items()}
    if port.failed or options.files:
        port.link_problem = "files fail" if port.failed else ""
        return port
    port.link_problem = link(target, objects, str(folder / "ringscope"))
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
