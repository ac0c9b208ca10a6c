#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extends copies of the sources by the patches in tests/architecture/samples, one per kind of extension.

Usage: samples.py SOURCE BUILD [--all | --kind KIND].

Every patch must apply and keep to FLOORS and to the roles of views, and touch as many files as docs/extending.md says.
The sources that one patch touches must also compile, and the extended program must do what the patch adds. The hash of
the current commit chooses that kind, or --kind does; --all takes every kind. Exit codes: 0 good, 1 not good, 77 no git.
"""
import argparse
import concurrent.futures
import dataclasses
import importlib.machinery
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SAMPLES = "tests/architecture/samples"
TABLE = "docs/extending.md"
ROW = re.compile(r"^\| \[.*\]\(\.\./tests/architecture/samples/(\w+)\.patch\) \| (\d+) \|", re.M)


@dataclasses.dataclass
class Proof:
    """A program of the build, linked anew with some sources of the copy, and what it must print."""
    target: str
    arguments: str  # {copy} stands for the copy of the sources
    prints: str  # a regular expression
    sources: tuple  # their definitions replace those of the build
    alone: bool = False  # without the other object files of the target, only with its libraries


PROOFS = {
    "command": Proof("bin/ringscope", "hello {copy}/resources/sample/missing_position_ids.rscope",
                     r"^hello from 4 ranks with \d+ events$",
                     ("app/ringscope/commands/hello.cpp", "app/ringscope/main.cpp")),
    "importer": Proof("bin/ringscope", "info {copy}/events.txt", r"^2 events of 2 ranks",
                      ("traces/exchange/import/event_lines.cpp", "traces/exchange/import/registry.cpp")),
    "recorded_field": Proof("tests/test_traces", "--gtest_filter=FormatTest.*", r"PASSED  \] 3 tests",
                            ("tests/traces/format_test.cpp", "tests/support/places.cpp"), alone=True),
    "rule": Proof("tests/test_traces", "--gtest_filter=LossRulesTest.TheLoggedLoss*", r"PASSED  \] 1 test",
                  ("tests/traces/doctor_loss_test.cpp", "tests/support/trace_builder.cpp",
                   "traces/analysis/mistakes/catalogue/loss_and_gradients.cpp",
                   "traces/analysis/mistakes/catalogue/detection.cpp", "traces/analysis/doctor/rules/losses.cpp"),
                  alone=True),
    "strategy": Proof("bin/ringscope",
                      "predict --cp 4 --seq-len 1024 --link nvlink4 --model {copy}/tests/reference/llama/model",
                      r"^ *early_gather ",
                      ("traces/plan/strategy.cpp", "traces/plan/strategy_choices.cpp", "traces/plan/layer_plan.cpp")),
    "view": Proof("bin/ringscope-gui", "--list-views", r"^ending$",
                  ("viz/views/registry.cpp", "viz/views/ending/ending_view.cpp",
                   "viz/views/ending/ending_painter.cpp", "viz/views/ending/ending_scene.cpp")),
}


class Wrong(Exception):
    pass


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)


class Copy:
    """The sources of SOURCE in a folder of their own, extended by one sample at a time."""

    def __init__(self, source, folder):
        self.source, self.root, self.touched = source, folder / "sources", []
        listed = run("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
        for name in filter(None, listed.split("\0")):
            if (source / name).is_file():
                self.take(name)
        (self.root / "events.txt").write_text("#event-lines 1\n0 attend 0 1500\n1 wait 100 1700\n")

    def take(self, name):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.source / name, self.root / name)

    def extend(self, kind):
        """Applies a sample in place of the sample before."""
        for name in self.touched:
            (self.root / name).unlink(missing_ok=True)
            if (self.source / name).is_file():
                self.take(name)
        self.touched = []
        name = f"{SAMPLES}/{kind}.patch"
        alone = dict(os.environ, GIT_CEILING_DIRECTORIES=str(self.root.parent))  # the copy is no repository
        applied = run("git", "apply", "-C1", "--whitespace=nowarn", name, cwd=self.root, env=alone)
        if applied.returncode != 0:
            raise Wrong(f"{name} no longer applies. Renew it in a clean checkout: `git apply --reject {name}`, then do "
                        f"by hand what the .rej files say and remove them, then `git add -AN && git diff "
                        f">/tmp/{kind}.patch`, and replace {name} by that file.\n{applied.stdout.strip()}")
        numbers = run("git", "apply", "--numstat", name, cwd=self.root, env=alone).stdout
        self.touched = [line.split("\t")[2] for line in numbers.splitlines()]

    def check(self, told):
        """Checks the number of touched files against `told`, and the architecture of the extended sources."""
        if len(self.touched) != told:
            raise Wrong(f"{TABLE} says {told} files for this kind, and its sample touches {len(self.touched)}: "
                        + ", ".join(self.touched) + f". Correct the number in {TABLE}.")
        for script in ("floors.py", "roles.py"):
            checked = run(sys.executable, f"tests/architecture/{script}", ".", cwd=self.root)
            if checked.returncode != 0:
                raise Wrong(f"the sample breaks {script}:\n{checked.stdout.strip()}")


class Compiler:
    """The compile commands of a build, for a copy of its sources."""

    def __init__(self, build, source):
        self.build = build
        cache = (build / "CMakeCache.txt").read_text()
        self.home = pathlib.Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1])
        tidy = importlib.machinery.SourceFileLoader("tidy", str(source / "scripts/tidy")).load_module()
        self.words = {}  # of the first command, by source
        for entry in json.loads((build / "compile_commands.json").read_text()):
            for path in tidy.sources_of(pathlib.Path(entry["file"])):
                if path.is_relative_to(self.home) and not path.is_relative_to(build):
                    self.words.setdefault(path.relative_to(self.home).as_posix(), shlex.split(entry["command"]))

    def neighbour(self, name):
        """Returns the compiled source with the flags that a source has or, if new, will have, or None."""
        if name in self.words:
            return name
        place, role = pathlib.PurePath(name), name.rsplit("_", 1)[-1]
        for folder in (str(place.parent), str(place.parent.parent)):
            near = [other for other in self.words if other.startswith(folder + "/") and other.endswith(".cpp")]
            if near:
                return min(near, key=lambda other: (not other.endswith("_" + role), other.count("/"), other))
        return None

    def moved(self, word, copy):
        """Returns a word of a command with the copy in place of the sources, but not in place of built files."""
        flag, path = re.fullmatch(r"(-I|-DRINGSCOPE_SOURCE_DIR=\"?|)(.*)", word, re.S).groups()
        is_source = flag and pathlib.PurePath(path.rstrip('"')).is_relative_to(self.home)
        if not is_source or pathlib.PurePath(path).is_relative_to(self.build) or path.startswith(f"{self.home}/.deps"):
            return word
        return flag + str(copy) + path[len(str(self.home)):]

    def compile(self, name, copy, output=None):
        """Compiles a source of the copy, or with `output` None only checks it."""
        words = iter(self.words[self.neighbour(name)])
        command = []
        for word in words:
            if word in ("-o", "-MF", "-MT", "-MQ", "-c"):
                next(words)
            elif word != "-MD":
                command.append(self.moved(word, copy))
        command += ["-c", str(copy / name), "-o", str(output)] if output else ["-fsyntax-only", str(copy / name)]
        return run(*command, cwd=self.build)

    def link(self, proof, objects, program):
        """Links the target of a proof anew. Its first definitions win: those of `objects`."""
        text = run("ninja", "-t", "commands", proof.target, cwd=self.build).stdout.splitlines()[-1]
        words = shlex.split(text.split(" && ")[1])  # between ":" and what is done after linking
        words[words.index("-o") + 1] = str(program)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        rest = [word for word in words[first:] if not (proof.alone and word.endswith(".o"))]
        return run(*words[:first], "-Wl,-z,muldefs", *objects, *rest, cwd=self.build)


def prove(kind, copy, compiler, folder):
    """Compiles what a sample touches, and runs the extended program."""
    proof = PROOFS.get(kind)
    objects = {name: folder / f"{number}.o" for number, name in enumerate(proof.sources)} if proof else {}
    names = sorted({name for name in copy.touched if name.endswith(".cpp")} | set(objects))
    skipped = [name for name in names if compiler.neighbour(name) is None]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {name: pool.submit(compiler.compile, name, copy.root, objects.get(name))
                for name in names if name not in skipped}
    for name, job in jobs.items():
        if job.result().returncode != 0:
            raise Wrong(f"{name} does not compile with the sample:\n{job.result().stdout.strip()}")
    said = f"{len(jobs)} sources compile"
    if skipped:
        said += f", without {', '.join(skipped)}, which this build lacks"
    program = folder / "program"
    if not proof or set(skipped) & set(objects) or not (compiler.build / proof.target).exists():
        return said
    linked = compiler.link(proof, objects.values(), program)
    if linked.returncode != 0:
        raise Wrong(f"{proof.target} does not link with the sample. Is the build as new as the sources?\n"
                    + linked.stdout.strip())
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", ASAN_OPTIONS="detect_odr_violation=0")
    shown = run(program, *proof.arguments.format(copy=copy.root).split(), env=environment)
    if not re.search(proof.prints, shown.stdout, re.M):
        raise Wrong(f"“{proof.target} {proof.arguments}” prints no line “{proof.prints}”:\n{shown.stdout.strip()}")
    return said + f", and {pathlib.PurePath(proof.target).name} does what is added"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("build", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--all", action="store_true", help="compile every kind")
    parser.add_argument("--kind", help="compile this kind")
    return parser.parse_args()


def main():
    options = parse()
    head = run("git", "-C", options.source, "rev-parse", "HEAD")
    if head.returncode != 0:
        print("skipped: the sources are no git checkout")
        return 77
    kinds = sorted(path.stem for path in (options.source / SAMPLES).glob("*.patch"))
    told = {kind: int(number) for kind, number in ROW.findall((options.source / TABLE).read_text())}
    if sorted(told) != kinds or not set(PROOFS) <= set(kinds):
        print(f"✗ {TABLE} lists other samples than {SAMPLES} holds: " + ", ".join(sorted(set(told) ^ set(kinds))))
        return 1
    chosen = kinds if options.all else [options.kind or kinds[int(head.stdout, 16) % len(kinds)]]
    compiler = Compiler(options.build, options.source)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        copy = Copy(options.source, folder)
        for kind in kinds:
            try:
                copy.extend(kind)
                copy.check(told[kind])
                said = prove(kind, copy, compiler, folder) if kind in chosen else "it was not compiled this time"
                print(f"✓ {kind}: {len(copy.touched)} files; {said}", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"✗ {kind}: {wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
