#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the direction of dependencies between folders against FLOORS.

Usage: `floors.py SOURCE [--self-test]`.

A folder includes only its own headers and those of folders on lower floors. Folders that are apart
never include each other. No folders form a cycle, whether sub-folders are counted by themselves or
with the folder that holds them. The option --self-test adds one wrong include for each pair of
neighbouring floors and checks that each is reported.
"""
import collections
import pathlib
import re
import sys

TOP = ("traces", "engine", "viz", "app")
INCLUDE = re.compile(r'^\s*#include "((?:%s)/[^"]+)"' % "|".join(TOP), re.M)


def read_floors(path):
    """Returns the folders from the lowest to the highest, and the pairs that are apart."""
    floors, apart = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "apart":
            apart.append((words[1], words[2]))
        else:
            floors.append(words[0])
    return floors, apart


def read_includes(source):
    """Returns (including file, included header) for every include within the sources."""
    found = []
    for top in TOP:
        for path in sorted((source / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
                name = path.relative_to(source).as_posix()
                found += [(name, header) for header in INCLUDE.findall(path.read_text())]
    return found


def folder(path):
    return path.rsplit("/", 1)[0]


def is_in(path, place):
    return path == place or path.startswith(place + "/")


def check_floors(includes, floors, apart):
    """Yields a sentence for each include that goes upwards, or between folders that are apart."""
    height = {place: i for i, place in enumerate(floors)}
    for file, header in includes:
        here, there = folder(file), folder(header)
        if here not in height or there not in height:
            yield f"{here if here not in height else there} has no floor in FLOORS ({file})"
        elif height[there] > height[here]:
            yield f"{file} includes {header}, which is on a higher floor"
        for a, b in apart:
            if (is_in(here, a) and is_in(there, b)) or (is_in(here, b) and is_in(there, a)):
                yield f"{file} includes {header}; {a} and {b} are apart"


def check_cycles(includes):
    """Yields a sentence for each cycle of folders, at every depth of folders."""
    deepest = max(folder(file).count("/") for file, _ in includes) + 1
    for depth in range(1, deepest + 1):
        uses = collections.defaultdict(set)
        for file, header in includes:
            here, there = ("/".join(folder(p).split("/")[:depth]) for p in (file, header))
            if here != there:
                uses[here].add(there)
        for start in sorted(uses):
            reached, todo = set(), list(uses[start])
            while todo:
                place = todo.pop()
                if place not in reached:
                    reached.add(place)
                    todo += uses.get(place, ())
            if start in reached:
                yield f"folders form a cycle through {start}"


def check(includes, floors, apart):
    return sorted(set(check_floors(includes, floors, apart)) | set(check_cycles(includes)))


def self_test(includes, floors, apart):
    """Yields a sentence for each wrong include that the check does not report."""
    for low, high in zip(floors, floors[1:]):
        wrong = (f"{low}/added.cpp", f"{high}/added.h")
        if not any(wrong[0] in said for said in check(includes + [wrong], floors, apart)):
            yield f"an include of {high} in {low} is not reported"
    for a, b in apart:
        for wrong in ((f"{a}/added.cpp", f"{b}/added.h"), (f"{b}/added.cpp", f"{a}/added.h")):
            if not any("are apart" in said for said in check_floors([wrong], floors, apart)):
                yield f"an include of {wrong[1]} in {wrong[0]} is not reported"


def main():
    source = pathlib.Path(sys.argv[1])
    floors, apart = read_floors(source / "FLOORS")
    includes = read_includes(source)
    said = check(includes, floors, apart)
    said += [f"{place} is named in FLOORS and does not exist" for place in floors if not (source / place).is_dir()]
    if "--self-test" in sys.argv:
        said += self_test(includes, floors, apart)
    for sentence in said:
        print("✗", sentence)
    if not said:
        print(f"✓ {len(includes)} includes keep to {len(floors)} floors")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
