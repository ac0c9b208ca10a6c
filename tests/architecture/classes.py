#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the size of the window's classes: at most 25 methods and 15 fields, in one source file.

Usage: classes.py SOURCE [--list]

Reads the headers and sources under viz/. A class is measured by its declaration; enumerations, types
and friends within it do not count, and inherited members do not either. Constants are no fields.
Structs are values, which have no budget. The definitions of a class that is declared in a header lie in
one .cpp file. LARGER lists the classes that are over budget: they may only become smaller. --list
prints the largest classes.
"""
import collections
import pathlib
import re
import sys

MOST_METHODS, MOST_FIELDS = 25, 15
LARGER = {  # methods, fields
    "CompareView": (34, 15), "JobLink": (25, 16), "Session": (29, 16)}
CLASS = re.compile(r"\bclass\s+(\w+)(?:\s+final)?(?:\s*:\s*[^;{()]*)?\s*\{")
DEFINITION = re.compile(r"^(?!return)(?:\w[\w:<>,]*[&*]* )*[&*]*(\w+)::~?\w+\((?:[^;{}]|\{\})*\{", re.M)
LABEL = re.compile(r"^\s*(?:(?:public|private|protected)(?:\s+Q_SLOTS)?|Q_SIGNALS)\s*:(?!:)")
TYPES = re.compile(r"^(?:using|friend|typedef|enum|class|struct|template\s*<[^;]*>\s*(?:class|struct)|static_assert)\b")


def strip(text):
    """Removes comments, strings and preprocessor lines."""
    text = re.sub(r'R"\((.|\n)*?\)"', '""', text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"//[^\n]*|/\*(.|\n)*?\*/", "", text)
    return re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)


def body_end(text, start):
    """Returns the position after the brace that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def members(body):
    """Yields the declarations at the top level of a class body, without the bodies of functions."""
    declaration, at = "", 0
    while at < len(body):
        if body[at] == "{":
            end = body_end(body, at)
            declaration += "{}"
            at = end
            rest = body[at:].lstrip()
            head = declaration.split("{")[0]
            is_function = ("(" in head and declaration.count("(") == declaration.count(")")
                           and not rest.startswith((",", ";", "{")))
            if is_function:
                yield declaration
                declaration = ""
            continue
        if body[at] == ";":
            yield declaration
            declaration = ""
        else:
            declaration += body[at]
            label = LABEL.match(declaration)
            if label:
                declaration = declaration[label.end():]
        at += 1


def measure(body):
    """Returns the numbers of methods and fields of a class body."""
    methods = fields = 0
    for declaration in members(body):
        words = " ".join(declaration.split())
        words = re.sub(r"^(?:Q_OBJECT|Q_SIGNALS:)\s*", "", words)
        if not words or TYPES.match(words):
            continue
        head = re.sub(r"<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>", "", words)
        if "(" in re.split(r"=(?!=)|\{", head)[0] and not re.match(r"[\w:]+ \(\*", head):
            methods += 1
        elif not re.match(r"(?:inline )?static (?:constexpr|const)\b", words):
            fields += 1 + re.sub(r"\{[^}]*\}|=[^,]*", "", head).count(",")
    return methods, fields


def classes(text):
    """Yields (name, methods, fields) of the classes in a file."""
    text = strip(text)
    for found in CLASS.finditer(text):
        start = found.end() - 1
        if re.search(r"\benum\s*$", text[:found.start()]):
            continue
        yield (found[1], *measure(text[start + 1:body_end(text, start) - 1]))


def check(files):
    """Yields a sentence for each class that is too large or lies in several sources."""
    declared = set()
    for name, text in files.items():
        for found, methods, fields in classes(text):
            if name.endswith(".h"):
                declared.add(found)
            most_methods, most_fields = LARGER.get(found, (MOST_METHODS, MOST_FIELDS))
            if methods > most_methods:
                yield f"{name}: {found} has {methods} methods, more than {most_methods}"
            if fields > most_fields:
                yield f"{name}: {found} has {fields} fields, more than {most_fields}"
    sources = collections.defaultdict(set)
    for name, text in files.items():
        if name.endswith(".cpp"):
            for found in DEFINITION.findall(strip(text)):
                sources[found].add(name)
    for found in sorted(declared):
        if len(sources[found]) > 1:
            yield f"{found} is defined in {len(sources[found])} sources: " + ", ".join(sorted(sources[found]))


def self_test():
    """Yields a sentence for each class that the check measures wrongly."""
    text = """class Sample : public QObject {
  Q_OBJECT
 public:
  explicit Sample(int a = {}) : a_(a) {}
  int a() const { return a_; }
  std::function<void(int)> call_;
  template <typename T> void take(T t);
 Q_SIGNALS:
  void changed();
 private:
  enum class Kind { kOne, kTwo };
  struct Inner { int x, y; };
  static constexpr int kMost = 3;
  int a_ = 0, b_ = 0;
  std::map<int, std::pair<int, int>> map_{};
};"""
    found = {name: counts for name, *counts in classes(text)}
    if found.get("Sample") != [4, 4]:
        yield f"a class of 4 methods and 4 fields is measured as {found.get('Sample')}"
    large = "class Large {\n" + "".join(f"  void m{i}();\n  int f{i}_;\n" for i in range(26)) + "};"
    if len(list(check({"viz/large.h": large}))) != 2:
        yield "a class with too many methods and fields is not reported"
    split = {"viz/a.h": "class A { void b(); void c(); };", "viz/a.cpp": "void A::b() {}", "viz/c.cpp": "void A::c() {}"}
    if len(list(check(split))) != 1:
        yield "a class in two sources is not reported"


def main():
    root = pathlib.Path(sys.argv[1])
    files = {path.relative_to(root).as_posix(): path.read_text() for path in sorted((root / "viz").rglob("*"))
             if path.suffix in (".h", ".cpp")}
    said = list(check(files)) + list(self_test())
    for sentence in said:
        print("✗", sentence)
    measured = sorted(((methods, fields, name) for text in files.values() for name, methods, fields in classes(text)),
                      reverse=True)
    if "--list" in sys.argv:
        for methods, fields, name in measured[:20]:
            print(f"{methods:4} methods {fields:4} fields {name}")
    if not said:
        print(f"✓ {len(measured)} classes of the window keep to {MOST_METHODS} methods and {MOST_FIELDS} fields")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
