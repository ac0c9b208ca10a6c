#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks README.md, CONTRIBUTING.md and docs/ against the program.

Usage: `check_docs.py SOURCE BIN [--run]`.

Every option that a command is shown with exists, and every environment variable is read somewhere. Every
relative link leads to a file. Every mistake and view of the program is listed, and no page is too long.
With --run, every block marked `sh` is run as a user would, page by page, in a folder that has the
sources' texts.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE, BIN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "QT_QPA_PLATFORM": "offscreen"}
MOST_LINES = {"README.md": 120}
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.M | re.S)
failed = 0


def complain(page, sentence):
    global failed
    failed = 1
    print(f"✗ {page.relative_to(SOURCE)}: {sentence}")


def output_of(*command):
    return subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True).stdout


def options_of(program, cache={}):
    """The options that a command's --help lists."""
    if program not in cache:
        cache[program] = set(re.findall(r"(--?[a-z][a-z0-9-]*)", output_of(*program, "--help"))) | {"-h", "--help"}
    return cache[program]


def shown_commands(text):
    """Yields the words of each ringscope command in code blocks and in backquotes."""
    pieces = [line for block in BLOCK.finditer(text) for line in block[3].splitlines()]
    pieces += re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))
    for piece in pieces:
        for part in re.split(r"\|\||&&|;|#", piece):
            words = part.split()
            while words and (re.fullmatch(r"[A-Z_]+=\S*", words[0]) or words[0] in ("torchrun", "exec") or
                             (words[0].startswith("--") and "ringscope" in words) or words[0].isdigit()):
                words = words[1:]
            if words and words[0] in ("ringscope", "ringscope-gui"):
                yield words


def check_options(page, text):
    commands = set(re.findall(r"^  ([a-z]+)  +", output_of("ringscope", "--help"), re.M))
    for words in shown_commands(text):
        program = (words[0],)
        if words[0] == "ringscope":
            if len(words) < 2 or words[1].startswith("-"):
                continue
            if words[1] not in commands:
                complain(page, f"there is no command “ringscope {words[1]}”")
                continue
            program = (words[0], words[1])
        for word in words[len(program):]:
            option = re.match(r"(--?[a-z][a-z0-9-]*)", word)
            if option and option[1] not in options_of(program):
                complain(page, f"“{' '.join(program)}” has no option {option[1]}")


def check_variables(page, text):
    for name in set(re.findall(r"\b(?:RINGSCOPE|DP|TP|CP)_[A-Z_]+\b", text)):
        found = subprocess.run(["git", "grep", "-qw", name, "--", ":!*.md"], cwd=SOURCE)
        if found.returncode != 0:
            complain(page, f"nothing reads the variable {name}")


def check_links(page, text):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("http") and not (page.parent / target).exists():
            complain(page, f"the link to {target} leads nowhere")


def check_lists():
    catalogue = {entry["id"] for entry in json.loads(output_of("ringscope", "mistakes", "--json"))}
    page = SOURCE / "docs/reference/mistakes.md"
    listed = set(re.findall(r"^\| \[(\w+)\]", page.read_text(), re.M))
    if listed != catalogue:
        complain(page, "the list is not the catalogue's; it differs in " + ", ".join(sorted(listed ^ catalogue)))
    commands = set(re.findall(r"^  ([a-z]+)  +", output_of("ringscope", "--help"), re.M))
    page = SOURCE / "docs/reference/command-line.md"
    for command in sorted(commands - set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.M))):
        complain(page, f"the command {command} is not listed")


def run_blocks(page, text):
    if any(block[2] == "sh" and "torchrun" in block[3] for block in BLOCK.finditer(text)):
        return  # the recorder's tests run this page, where there is a Python with PyTorch
    with tempfile.TemporaryDirectory() as folder:
        for name in ("README.md", "resources", "tests", "traces"):
            (pathlib.Path(folder) / name).symlink_to(SOURCE / name)
        for block in BLOCK.finditer(text):
            if block[2] != "sh":
                continue
            script = "\n".join(line[len(block[1]):] for line in block[3].splitlines())
            done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=ENVIRONMENT, text=True, capture_output=True)
            if done.returncode != 0:
                complain(page, f"this block ended with exit code {done.returncode}:\n{script}\n{(done.stdout + done.stderr)[-800:]}")


def main():
    for page in PAGES:
        text = page.read_text()
        if text.count("\n") > MOST_LINES.get(page.name if page.parent == SOURCE else "", 200):
            complain(page, f"has {text.count(chr(10))} lines")
        check_options(page, text)
        check_variables(page, text)
        check_links(page, text)
        if "--run" in sys.argv:
            run_blocks(page, text)
    check_lists()
    if not failed:
        print(f"✓ {len(PAGES)} pages agree with the program")
    return failed


if __name__ == "__main__":
    sys.exit(main())
