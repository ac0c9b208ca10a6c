#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports sentences and names that are hard to read.

Usage: prose.py SOURCE [--count] [FOLDER ...]

Checks comments of C++, CUDA, Python and CMake files and the text of Markdown files for sentences that
begin with a relative clause or preposition (Of, What, Where, Who, Whose, Those, Such) and for
sentences of more than 30 words. Checks declared names that end in "Of" and test names of more than 60
characters. --count prints the number of findings per kind and folder.
"""
import collections
import pathlib
import re
import subprocess
import sys

OPENERS = ("Of", "What", "Where", "Who", "Whose", "Whoever", "Those", "Such")
MOST_WORDS = 30
MOST_NAME = 60
QUESTION = re.compile(r"\?\s*$")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)", re.M)
NAME = re.compile(r"\b([a-z]\w*Of)\(")
FOREIGN = {"indexOf", "lastIndexOf", "containerOf", "valueOf"}  # names of Qt and of other libraries


def comment_blocks(text, mark):
    """Yields (line number, text) for each run of comment lines."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        found = re.match(r"\s*%s ?(.*)$" % mark, line)
        if found and not found[1].startswith("SPDX"):
            if not block:
                first = number
            block.append(found[1])
        elif block:
            yield first, " ".join(block)
            block = []
        if not found and mark.startswith("//"):
            after = re.search(r"[;{},)] *//[/<!]* ?(.+)$", line)
            if after:
                yield number, after[1]


def markdown_blocks(text):
    """Yields (line number, text) for each paragraph, list item and table cell outside of code."""
    block, first, code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            code = not code
            continue
        if code:
            continue
        starts = re.match(r"\s*(?:[-*] |\d+\. |\||#)", line)
        if (starts or not line.strip()) and block:
            yield first, " ".join(block)
            block = []
        if line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in line.strip().strip("|").split("|"))
        elif line.strip():
            if not block:
                first = number
            block.append(re.sub(r"^\s*(?:[-*] |\d+\. |#+ )", "", line).strip())


def sentences(text):
    """Splits text at the ends of sentences. Code in backquotes counts as one word."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for sentence in re.split(r"(?<=[.!?:;]) +(?=[A-Z(\"“])", text):
        if sentence.strip():
            yield sentence.strip()


def check_sentence(sentence):
    """Returns (kind, what is wrong) or None."""
    words = re.findall(r"[A-Za-z0-9_’'-]+", sentence)
    opener = re.match(r"[\W_]*(\w+)", sentence)
    if opener and opener[1] in OPENERS and not QUESTION.search(sentence) and len(words) > 3:
        return "opener", f"begins with “{opener[1]}”: {sentence[:90]}"
    if len(words) > MOST_WORDS:
        return "length", f"has {len(words)} words: {sentence[:90]}…"
    return None


def check_file(name, text):
    suffix = pathlib.PurePosixPath(name).suffix
    if suffix in (".h", ".cpp", ".cu"):
        blocks = list(comment_blocks(text, "//[/<!]*"))
    elif suffix == ".py" or name.endswith(("CMakeLists.txt", ".cmake")):
        blocks = list(comment_blocks(text, "#"))
        blocks += [(text.count("\n", 0, m.start()) + 1, " ".join(m[1].split()))
                   for m in re.finditer(r'"""(.*?)"""', text, re.S)]
    else:
        blocks = list(markdown_blocks(text))
    for line, block in blocks:
        for sentence in sentences(block):
            wrong = check_sentence(sentence)
            if wrong:
                yield line, *wrong
    if suffix == ".h":
        for found in NAME.finditer(re.sub(r"//.*", "", text)):
            if found[1] not in FOREIGN:
                yield text.count("\n", 0, found.start()) + 1, "name", f"“{found[1]}” ends in Of"
    if suffix == ".cpp":
        for found in TEST.finditer(text):
            if len(found[1]) > MOST_NAME:
                yield text.count("\n", 0, found.start()) + 1, "test name", f"“{found[1]}” has {len(found[1])} characters"


def main():
    source = pathlib.Path(sys.argv[1])
    folders = [argument for argument in sys.argv[2:] if not argument.startswith("--")]
    listed = subprocess.run(["git", "ls-files", *folders], cwd=source, text=True, capture_output=True, check=True).stdout.split()
    counts = collections.Counter()
    for name in listed:
        if not name.endswith((".h", ".cpp", ".cu", ".py", ".md", ".cmake", "CMakeLists.txt")) or name.startswith("LICENSES/"):
            continue
        for line, kind, said in check_file(name, (source / name).read_text(errors="replace")):
            counts[kind, "/".join(name.split("/")[:2])] += 1
            if "--count" not in sys.argv:
                print(f"{name}:{line}: {said}")
    if "--count" in sys.argv:
        for (kind, folder), number in sorted(counts.items()):
            print(f"{number:6} {kind:10} {folder}")
    print(f"{sum(counts.values())} findings")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
