#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the files that name each rule, view, strategy and import format, so that a new one stays a
small change.

A rule with its mistake is named in at most five files, a strategy in five, and an import format in
four. A view is named in its own folder and in at most two other files. A header and its source count
as one file. The catalogue of mistakes counts as one file too, because its entries name their effects.
Tests and documents are not counted.

Usage: extension_points.py SOURCE"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("traces", "engine", "viz", "app")
SUFFIXES = {".cpp", ".h", ".cu", ".cmake", ".txt"}


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


TEXTS = {path: path.read_text() for path in sources()}


def counted_as(path):
    place = path.relative_to(ROOT)
    if place.parent == pathlib.Path("traces/analysis/mistakes/catalogue"):
        return str(place.parent)
    return str(place.with_suffix("") if path.suffix in {".cpp", ".h"} else place)


def known_in(pattern):
    """Returns the files whose text or name matches, headers and sources as one."""
    expression = re.compile(pattern)
    return sorted({counted_as(path) for path, text in TEXTS.items()
                   if expression.search(text) or expression.search(path.stem)})


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def entries(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text())


def check(what, name, pattern, most, least, own_folder=None):
    files = [file for file in known_in(pattern) if not own_folder or not file.startswith(own_folder)]
    if least <= len(files) <= most:
        return 0
    print(f"✗ the {what} {name} is known in {len(files)} files, not in {least} to {most}: " + ", ".join(files))
    return 1


def main():
    failed = counted = 0
    for rule in entries("traces/analysis/mistakes/catalogue/detection.cpp", r'\{"(\w+)", check\w+[,}]'):
        counted += 1
        failed += check("rule", rule, rf"\b({rule}|check{camel(rule)})\b", 5, 3)
    for strategy in entries("engine/attention/strategies/registry.cpp", r"\{Strategy::k(\w+), make"):
        if strategy == "Hybrid":  # made by Ulysses' file
            continue
        counted += 1
        failed += check("strategy", strategy, rf"\b(Strategy::k{strategy}|{strategy}Attention)\b", 5, 2)
    for view in entries("viz/views/registry.cpp", r'\{"(\w+)", "\w+", make\w+View\}'):
        if view == "ring":  # other views and panels show parts of the ring too
            continue
        counted += 1
        failed += check("view", view, rf'\b({view}_(painter|scene|view)\b|paint{camel(view)}\b|make{camel(view)}View\b)',
                        2, 1, f"viz/views/{view}/")
    registry = ROOT / "traces/exchange/import/registry.cpp"
    for form in entries(registry, r'\{"(\w+)", ') if registry.is_file() else []:
        counted += 1
        failed += check("import format", form, rf"\b(open|import){camel(form)}\b", 4, 2)
    if counted < 15:
        print(f"✗ only {counted} rules, strategies and views were found; is the check blind?")
        failed += 1
    print("✓ a new rule, view or strategy is a small change" if not failed else "", end="\n")
    return 1 if failed else 0


sys.exit(main())
