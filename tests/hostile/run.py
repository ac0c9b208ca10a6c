#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens hostile files with every command and every view, and checks the output.

  Usage: run.py fields|records|files|tensors|recordings|frames|commands|engine
      --server hostile_server --program ringscope.

Each case must end within 30 s of CPU time and 1 GB of memory, with exit code 0, 1 or 2. It may print
at most one sentence besides the notes that name what is missing. A sanitizer must find nothing. No
file in the case's folder may change except the named output.
"""
import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import cases_commands
import cases_fields
import cases_files
import cases_frames
import cases_recordings
import cases_records
import cases_tensors
from format_table import Format
from sample import sample

HERE = Path(__file__).resolve().parent
# The slowest case takes 0.7 s on an idle machine. A shared one was seen to count ten times as much.
SECONDS, CLOCK_SECONDS, TOGETHER = 30, 240, 5
OUTPUT = "out.rscope"
TRACE_JOBS = [["command", command, "case.rscope", *more] for command in ("info", "doctor", "diff", "verify")
              for more in ([], ["--json"])] + \
    [["command", "merge", "case.rscope", "-o", OUTPUT], ["scenes", "case.rscope"]]
LIBRARY_WORDS = re.compile(r"\[json\.exception|std::|basic_string|vector::|map::at|terminate called|"
                           r"Sanitizer|runtime error|bad_alloc|bad_optional|SQL logic|CLI::|^\s*at /", re.M)


def problems_of(said):
    """Yields the problems of what one job printed."""
    if said["exit"] not in (0, 1, 2):
        yield f"exit code {said['exit']}: {said['err'][:200]}"
    if said["seconds"] > SECONDS:
        yield f"took {said['seconds']:.1f} s"
    lines = said["err"].splitlines()
    sentences = [line for line in lines if not line.startswith("note: ")]
    if len(sentences) > 1 or any(not line.startswith("ringscope: ") for line in sentences):
        yield f"says more than a sentence: {said['err'][:300]}"
    if len(lines) > 100 or len(said["err"]) > 20_000:
        yield f"says {len(lines)} lines, {len(said['err'])} letters"
    if said["exit"] == 2 and not sentences:
        yield "fails without a sentence"
    if LIBRARY_WORDS.search(said["err"]) or LIBRARY_WORDS.search(said["out"]):
        yield f"says a library's words: {(said['err'] or said['out'])[:300]}"
    if not said["plain_text"]:
        yield f"writes control characters or what is not UTF-8: {said['err'][:200]!r} {said['out'][:200]!r}"
    if said["json"] is False:
        yield f"writes what is not JSON: {said['out'][:100]}"


def problems_of_answer(answer, jobs):
    for job, said in zip(jobs, answer["results"]):
        for problem in problems_of(said):
            yield job, problem
    at = min(len(answer["results"]), len(jobs) - 1)
    if answer["exit"] != 0:
        why = {signal.SIGPROF: f"took more than {SECONDS} s of the processor",
               signal.SIGALRM: f"took more than {CLOCK_SECONDS} s"}.get(
                   answer["signal"], f"died of signal {answer['signal']}")
        if answer["exit"] is not None:
            why = "took more than 1 GB" if answer["exit"] == 99 else f"died with {answer['exit']}"
        yield jobs[at], f"{why}: {first_words(answer['errors'])}"
    elif answer["errors"]:
        yield jobs[at], f"it or one before wrote on standard error: {first_words(answer['errors'])}"


def first_words(errors):
    frames = re.findall(r"^\s*#\d+ .*? in (.*)$", errors, re.M)
    ours = [frame for frame in frames if "ringscope::" in frame][:2]
    lines = [line for line in errors.splitlines() if line.strip(" =")]
    return " / ".join(lines[:1] + ours)[:600]


INPUTS = {"case.rscope", "other.rscope", "text", "link", "loop", "pipe", "folder"}


def outputs_of(jobs):
    return {words[words.index("-o") + 1] for words in jobs if "-o" in words[:-1]} - INPUTS


def state_of(folder, jobs):
    """Returns every file's content and all other entries of a folder, without the named outputs."""
    state, outputs = {}, outputs_of(jobs)
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or not path.is_file():
            state[name] = "link" if path.is_symlink() else "folder or pipe"
        elif name not in outputs:
            state[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    if "case.rscope-wal" in state and "case.rscope-shm" in state:
        state.pop("case.rscope-shm")  # the index of a WAL, which SQLite itself writes
    return state


class Server:
    def __init__(self, program):
        environment = dict(os.environ, ASAN_OPTIONS="allocator_may_return_null=0:detect_leaks=0:quarantine_size_mb=16",
                           UBSAN_OPTIONS="print_stacktrace=1")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)

    def ask(self, jobs):
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Campaign:
    def __init__(self, options):
        self.options = options
        self.todo = queue.Queue(maxsize=4)
        self.failures, self.done, self.slowest = [], 0, (0, "")
        self.lock = threading.Lock()

    def work(self):
        server = Server(self.options.server)
        while (cases := self.todo.get()) is not None:
            try:
                self.check(server, cases)
            except Exception as error:  # a case that cannot be run is a failure too
                self.fail(cases[0][0], "the test", repr(error))
                server = Server(self.options.server)
            for _, folder, _ in cases:
                shutil.rmtree(folder, ignore_errors=True)
        server.process.stdin.close()
        server.process.wait()

    def check(self, server, cases):
        """Runs several cases in one process, because each fork takes time."""
        before = [state_of(folder, case) for _, folder, case in cases]
        jobs = [(name, folder, words) for name, folder, case in cases for words in case]
        while jobs:  # a failure of one job must not hide the next
            answer = server.ask([[str(folder), *words] for _, folder, words in jobs])
            for (name, _, words), problem in problems_of_answer(answer, jobs):
                self.fail(name, " ".join(words)[:200], problem)
            for (name, _, words), said in zip(jobs, answer["results"]):
                self.slowest = max(self.slowest, (said["seconds"], f"{name}: {' '.join(words)[:60]}"))
                if name == "right" and said["exit"] != 0:
                    self.fail(name, " ".join(words), f"exit code {said['exit']}: {said['err']}{said['out']}")
            jobs = jobs[len(answer["results"]) + 1:] if answer["exit"] != 0 else []
        for (name, folder, case), was in zip(cases, before):
            after = state_of(folder, case)
            if after != was:
                changed = [n for n in was.keys() | after.keys() if was.get(n) != after.get(n)]
                self.fail(name, "all", f"changed {', '.join(changed)}")
        with self.lock:
            self.done += len(cases)

    def fail(self, name, words, problem):
        with self.lock:
            self.failures.append((name, words, problem))

    def run(self, cases, scratch):
        workers = [threading.Thread(target=self.work) for _ in range(self.options.workers)]
        for worker in workers:
            worker.start()
        together = []
        for number, (name, make, jobs) in enumerate(cases):
            folder = scratch / str(number)
            folder.mkdir()
            try:
                make(folder)
            except Exception as error:
                self.fail(name, "making it", repr(error))
                continue
            together.append((name, folder, jobs))
            if len(together) == TOGETHER:
                self.todo.put(together)
                together = []
        if together:
            self.todo.put(together)
        for _ in workers:
            self.todo.put(None)
        for worker in workers:
            worker.join()


def trace_cases(right, recordings):
    yield "right", lambda folder: right.copy().write(folder / "case.rscope"), TRACE_JOBS
    for number, (name, recording) in enumerate(recordings):
        yield name, lambda folder, r=recording: r.write(folder / "case.rscope"), half_of(number)


def half_of(number):
    """Returns the text jobs or the JSON jobs in turn, because hundreds of traces take long, and
    every view.
    """
    return [words for words in TRACE_JOBS if (words[-1] == "--json") == (number % 2 == 1) or words[0] == "scenes"]


def all_cases(options):
    table = Format(HERE.parent.parent / "traces" / "FORMAT.md")
    right = sample(table)
    return {"fields": lambda: trace_cases(right, cases_fields.cases(table, right)),
            "records": lambda: trace_cases(right, cases_records.cases(table, right)),
            "files": lambda: ((case, make, half_of(number)) for number, (case, make)
                               in enumerate(cases_files.cases(table, right))),
            "tensors": cases_tensors.cases,
            "recordings": cases_recordings.cases,
            "frames": lambda: cases_frames.cases(table, right),
            "commands": lambda: cases_commands.cases(right)}[options.cases]()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--server")
    parser.add_argument("--program")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.cases == "engine":
        return cases_commands.run_engine(options.program)
    campaign = Campaign(options)
    with tempfile.TemporaryDirectory(prefix="ringscope-hostile-") as scratch:
        chosen = (case for case in all_cases(options) if options.only in case[0])
        campaign.run(chosen, Path(scratch))
    shown = {}
    for name, words, problem in campaign.failures:
        shown.setdefault(name, []).append(f"{words}: {problem}")
    for name, said in shown.items():
        print(f"{name}\n    {said[0]}" + (f"\n    and {len(said) - 1} more" if len(said) > 1 else ""))
    print(f"{campaign.done} cases, {len(campaign.failures)} failures; slowest "
          f"{campaign.slowest[0]:.2f} s ({campaign.slowest[1]})")
    return 1 if campaign.failures or campaign.done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
