#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each file of a view keeps to the role that its suffix names.

Usage: roles.py SOURCE

A scene (viz/scene, *_scene) is a value that is made without Qt. A painter (*_painter, viz/kit/page,
viz/style) draws scenes: it reaches no trace, no session, no view and no widget, by whatever header. The
sources of headers that a painter includes are painters too, except for those of scenes.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "((?:traces|viz)/[^"]+)"', re.M)
QT = re.compile(r"^#include <Q[A-Z]", re.M)
WIDGET = re.compile(r"^#include <Q[A-Za-z]*(?:Widget|View|Window|Dialog|Delegate)\b", re.M)
SCENE = re.compile(r"viz/scene/|viz/views/\w+/\w+_scene\.")
PAINTER = re.compile(r"viz/views/\w+/\w+_painter\.|viz/kit/page\.|viz/style/")
FORBIDDEN = re.compile(r"traces/(?:query|diff|storage|stream|recording)/|traces/analysis/doctor/(?:rule|diagnosis)|"
                       r"traces/format/trace/trace\.h|viz/(?:session|link|window|views/base)/|"
                       r"viz/views/.*_(?:view|model)\.")


def reach(texts, starts, with_sources):
    """Returns all files that the starts include, directly or not, and the starts."""
    reached, todo = set(starts), list(starts)
    while todo:
        name = todo.pop()
        found = INCLUDE.findall(texts.get(name, ""))
        source = name[:-2] + ".cpp"
        if with_sources and name.startswith("viz/") and name.endswith(".h") and not SCENE.match(name) and source in texts:
            found.append(source)
        for each in found:
            if each not in reached:
                reached.add(each)
                todo.append(each)
    return reached


def check(texts):
    """Yields a sentence for each file that leaves its role."""
    scenes = [name for name in texts if SCENE.match(name)]
    painters = [name for name in texts if PAINTER.match(name)]
    if len(scenes) < 60 or len(painters) < 40:
        yield f"only {len(scenes)} scenes and {len(painters)} painters are left; is the check blind?"
    for name in sorted(reach(texts, scenes, False)):
        if QT.search(texts.get(name, "")):
            yield f"scenes reach Qt by {name}"
    for name in sorted(reach(texts, painters, True)):
        if FORBIDDEN.match(name):
            yield f"painters reach {name}, which computes or shows"
        if name.startswith("viz/") and WIDGET.search(texts.get(name, "")):
            yield f"painters reach a widget by {name}"


def self_test(texts):
    """Yields a sentence for each wrong include that the check does not report."""
    for name, line in (("viz/scene/chunks.cpp", "#include <QString>\n"),
                       ("viz/views/ring/ring_card.cpp", '#include "viz/session/session.h"\n'),
                       ("viz/views/merge/merge_painter.cpp", '#include "traces/format/trace/trace.h"\n'),
                       ("viz/kit/page.cpp", "#include <QWidget>\n")):
        if not list(check({**texts, name: line + texts[name]})):
            yield f"{line.strip()} in {name} is not reported"


def main():
    root = pathlib.Path(sys.argv[1])
    texts = {path.relative_to(root).as_posix(): path.read_text() for top in ("traces", "viz")
             for path in (root / top).rglob("*") if path.suffix in (".h", ".cpp")}
    said = list(check(texts))
    said += [] if said else list(self_test(texts))
    for sentence in said:
        print("✗", sentence)
    if not said:
        print("✓ the files of views keep to their roles")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
