# SPDX-License-Identifier: Apache-2.0
"""Command lines with unknown commands, unknown options and wrong files."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

READING = ("info", "doctor", "diff", "verify")
ODD = ("", " ", "-", "--", "---", "-x", "--x", "--x=1", "-o", "--output", "--json=3", "--json=x", "--json=", "-j", "\n", "%s%n",
       "\x1b[2J", "a" * 5000, "../" * 500 + "etc/passwd", "/", ".", "..", "/dev/null", "/dev/zero", "/dev/tty", "/proc/self/mem",
       "/proc/self/environ", "\u202e", "~", "$HOME", "*", "case.rscope/", "case.rscope/x", "./case.rscope", "missing", "pipe",
       "folder", "text", "empty", "link", "loop", "unreadable", "@case.rscope", "-h=3", "--help=x")


def prepared(sample):
    def make(folder):
        sample.copy().write(folder / "case.rscope")
        (folder / "text").write_text("no trace\n" * 100)
        (folder / "empty").touch()
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        os.symlink("case.rscope", folder / "link")
        os.symlink("loop", folder / "loop")
        (folder / "other.rscope").write_bytes((folder / "case.rscope").read_bytes())
        (folder / "unreadable").touch(0o000)
    return make


def lines():
    for word in ODD:
        yield [word]
        yield ["mistakes", word]
        for command in READING:
            yield [command, word]
        yield ["info", "case.rscope", word]
        yield ["merge", word, "-o", "out.rscope"]
        yield ["merge", "case.rscope", word, "-o", "out.rscope"]
    for command in READING + ("merge", "gui", "mistakes"):
        yield [command, "--help"]
        yield [command, "--version"]
        yield [command, "case.rscope", "case.rscope", "case.rscope"]
        yield [command, "--json", "--json", "case.rscope"]
        yield [command.upper(), "case.rscope"]
        yield [command[:3], "case.rscope"]
    for output in ("case.rscope", "./case.rscope", "link", "folder/../case.rscope", "loop", "folder", "pipe", "text", "empty",
                   "", "/", "/dev/null", "/dev/full", "/proc/x", "missing/x", "x" * 5000, "unreadable", "folder/", "out.rscope\n"):
        yield ["merge", "case.rscope", "-o", output]
        yield ["merge", "case.rscope", "case.rscope", "-o", output]
    yield ["merge", "case.rscope", "other.rscope", "-o", "out.rscope"]
    yield ["merge", "-o", "out.rscope"]
    yield ["merge", "case.rscope"]
    yield ["merge", *["case.rscope"] * 500, "-o", "out.rscope"]
    yield []
    yield ["--version"]
    yield ["--help"]
    yield ["--version", "info"]


def cases(sample):
    for number, words in enumerate(lines()):
        if words == ["info", "/dev/tty"]:
            continue
        yield f"line {number}: {' '.join(words)[:60]!r}", prepared(sample), [["command", *words]]


REFUSED = (
    ["--lr", "nan"], ["--lr", "inf"], ["--lr", "-1"], ["--lr", ""], ["--weight-decay", "nan"], ["--weight-decay", "-1"],
    ["--max-norm", "0"], ["--max-norm", "-1"], ["--max-norm", "nan"], ["--dropout", "nan"], ["--dropout", "1"],
    ["--dropout", "-0.1"], ["--seed", "-1"], ["--seed", "12345678901234567890123"], ["--seed", "x"], ["--ulysses", "2"],
    ["--cp", "0"], ["--cp", "-1"], ["--cp", "x"], ["--cp", "99999999999"], ["--steps", "-1"], ["--steps", "x"],
    ["--batch", "0"], ["--seq-len", "0"], ["--seq-len", "-5"], ["--strategy", "x"], ["--mask", "x"], ["--balance", "x"],
    ["--dtype", "x"], ["--capture", "x"], ["--text", "missing"], ["--text", "."], ["--text", "pipe"], ["--tokens", "text"],
    ["--tokens", "missing"], ["--model", "missing"], ["--model", "."], ["--tokenizer", "text"], ["--mistake", "x"],
    ["--trace", "/missing/x"], ["--log", "/missing/x"], ["--checkpoint", "text"], ["--resume", "missing"], ["--x"], ["x"])


def run_engine(program):
    """Expects that each command line is rejected early: exit code 2, within 60 s, with one sentence.
    """
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="ringscope-hostile-") as scratch:
        os.mkfifo(Path(scratch) / "pipe")
        (Path(scratch) / "text").write_text("words " * 2000)
        for options in REFUSED:
            words = [program, "train", *([] if "--text" in options or "--tokens" in options else ["--text", "text"]),
                     "--steps", "1", *options]
            try:
                done = subprocess.run(words, cwd=scratch, capture_output=True, timeout=60, text=True, errors="replace")
                said = done.stderr.strip().splitlines()
                right = done.returncode == 2 and len(said) == 1 and said[0].startswith("ringscope: ")
                what = f"exit code {done.returncode}: {done.stderr[:200]}"
            except subprocess.TimeoutExpired:
                right, what = False, "took more than 60 s"
            if not right:
                wrong += 1
                print(f"train {' '.join(options)}: {what}")
    print(f"{len(REFUSED)} command lines, {wrong} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run_engine(sys.argv[1]))
