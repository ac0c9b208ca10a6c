# SPDX-License-Identifier: Apache-2.0
"""Runs a job as strangers write it: its own calls of ringscope declare, annotate, log and record nothing.

    RINGSCOPE_RECORD=FOLDER torchrun --nproc-per-node 2 undeclared.py JOB.py
"""

import contextlib
import runpy

import ringscope
import ringscope.__main__  # noqa: F401: it imports what it needs before the names are replaced

record, started = ringscope.record, []


def record_once(*arguments, **options):
    """Records for `python -m ringscope`, which is the first to ask, and not for the job."""
    if started:
        return contextlib.nullcontext()
    started.append(True)
    return record(*arguments, **options)


ringscope.record = record_once
ringscope.log = lambda **_: None
ringscope.buffer = lambda tensor, *_, **__: tensor
ringscope.block = lambda *_, **__: contextlib.nullcontext()
runpy.run_module("ringscope", run_name="__main__")
