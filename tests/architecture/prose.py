#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports sentences and names that are hard to read.

Usage: `prose.py SOURCE [--count] [FOLDER ...]`.

The check reads comments of C++, CUDA, Python and CMake files, docstrings, and the text of Markdown files.
It reports sentences that begin with a relative clause or preposition (Of, What, Where, Who, Whose, Those,
Such), and sentences of more than 30 words. It also reports declared names that end in "Of" and test names
of more than 60 characters. The option --count prints the number of findings per kind and folder.

The check fails on any finding. When FOLDERs are given, it reads only these.
"""
import ast
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
    """Yields (line number, text) for each paragraph and list item of a comment. Skips formulas, which are indented."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        found = re.match(r"\s*%s ?(.*)$" % mark, line)
        said = found[1] if found and not found[1].startswith("SPDX") else ""
        formula = re.match(r" {3,}[^ ]+ .*[Σ²√]", said)
        if block and (not said or formula or said.startswith("- ")):
            yield first, " ".join(block)
            block = []
        if said and not formula:
            if not block:
                first = number
            block.append(said.removeprefix("- "))
        if not found and mark.startswith("//"):
            after = re.search(r"[;{},)] *//[/<!]* ?(.+)$", line)
            if after:
                yield number, after[1]


def docstrings(text):
    """Yields (line number, text) for each docstring of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())


def markdown_blocks(text):
    """Yields (line number, text) for each paragraph, list item and table cell outside of code and comments."""
    block, first, code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        line = re.sub(r"<!--.*?-->", "", line)
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
    for sentence in re.split(r"(?<=[.!?:;]) +(?=[A-ZΑ-Ω√|(\"“])", text):
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
        if suffix == ".py":
            blocks += docstrings(text)
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


def findings(source, folders):
    """Yields (file, line number, kind, what is wrong) for all files under version control in the folders."""
    command = ["git", "ls-files", *folders]
    for name in subprocess.run(command, cwd=source, text=True, capture_output=True, check=True).stdout.split():
        read = name.endswith((".h", ".cpp", ".cu", ".py", ".md", ".cmake", "CMakeLists.txt"))
        if read and not name.startswith("LICENSES/") and (source / name).exists():
            for finding in check_file(name, (source / name).read_text(errors="replace")):
                yield name, *finding


def self_test():
    """Yields a sentence for each example that the check judges wrongly."""
    long = " ".join(["word"] * (MOST_WORDS + 1))
    examples = (
        ("a.cpp", f"// Of these there is none.\nint a;  // {long}\nTEST(ATest, {'A' * (MOST_NAME + 1)}) {{}}\n", 3),
        ("a.h", "/// Returns the rows. Where rows are, they count.\nint rowsOf(int a);\n", 2),
        ("a.py", f'def a():\n    """{long}"""\n    # Who calls this waits.\n', 2),
        ("long.cpp", f"// - {long}\n//\n// {long}\n//   Σ² {long}\n", 2),
        ("a.md", f"# Such is the title\n\n{long}\n\n| a | Those of a rank count |\n", 3),
        ("right.cpp", "// Where does a block go?\nint a;  // of a rank\nint rowsOf(int a);\n", 0),
        ("right.py", 'TEXT = """What is in a string is no docstring."""\n', 0))
    for name, text, number in examples:
        if len(list(check_file(name, text))) != number:
            yield f"the example {name} does not have {number} findings"


def main():
    source = pathlib.Path(sys.argv[1])
    folders = [argument for argument in sys.argv[2:] if not argument.startswith("--")]
    found = list(findings(source, folders))
    if "--count" in sys.argv:
        counts = collections.Counter((kind, "/".join(name.split("/")[:2])) for name, _, kind, _ in found)
        for (kind, folder), number in sorted(counts.items()):
            print(f"{number:6} {kind:10} {folder}")
    said = [f"{name}:{line}: {said}" for name, line, _, said in found] + list(self_test())
    if "--count" not in sys.argv:
        for sentence in said:
            print("✗", sentence)
    print(f"{len(found)} findings")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
