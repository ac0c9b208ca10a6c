# SPDX-License-Identifier: Apache-2.0
"""Records what a PyTorch training under context parallelism really did, for RingScope to open.

    import ringscope
    with ringscope.record("run1", model=model, steps=range(3)):
        train()

Each rank writes its own files into the folder; FORMAT.md describes them. Nothing that is recorded
changes the job's numbers, and at the end everything that was wrapped is as it was.
"""

import contextlib

from ._recording import Recording
from .annotations import attention, block, buffer
from .cpu_ring import cpu_context_parallel

__all__ = [
    "attention",
    "block",
    "buffer",
    "cpu_context_parallel",
    "log",
    "record",
    "start",
    "stop",
]

_current = None


def start(folder, model=None, steps=range(1), **options):
    """Begins to record into `folder`; see record(). Raises RuntimeError while one is under way."""
    global _current
    if _current is not None:
        raise RuntimeError("a recording is under way already; ringscope.stop() ends it")
    _current = Recording(folder, model, steps, **options)


def stop(why="finished"):
    """Ends the recording that start() began; nothing where there is none."""
    global _current
    recording, _current = _current, None
    if recording is not None:
        recording.close(why)


@contextlib.contextmanager
def record(folder, model=None, steps=range(1), **options):
    """Records what happens within it.

    folder: gets this rank's files; nothing in it is overwritten (FileExistsError).
    model: the root module; without it the first module that is called is taken.
    steps: training steps to record, counted from 0 by the optimizer's steps; None: all.
    values: "auto" keeps token ids, positions and tensors up to max_tensor_bytes; "all"; "none".
    max_tensor_bytes: of one tensor's values (1 MiB).
    fingerprints: of all steps that are not recorded a hash and statistics of some elements of every gradient
        and weight and of their norms, and what log() is told: the first step in which ranks differ, or
        numbers are no numbers. Of gradients that ranks hold in parts (FSDP2) none is taken.
    budget_bytes: of all that this rank writes (256 MiB); what does not fit is left out and counted.
    live: where somebody listens, who gets all this while it is recorded: the path of a Unix socket or
        "127.0.0.1:PORT" (RINGSCOPE_LIVE, as `ringscope listen` says it); token: what it asks for
        over TCP (RINGSCOPE_TOKEN). Nothing waits for it.
    pause: whether whoever listens may hold the job at a step border (RINGSCOPE_PAUSE=1).
    stalled_after: seconds (5; RINGSCOPE_STALLED_AFTER) without a sign of this rank after which its file gets the line
        `stalled`: in which collective it stands and at which line of the job; 0: never. What a job that hung and
        was killed leaves behind.
    declare: what the job means to do, for what cannot be seen: loss="mean_over_targets",
        positions="whole_sequence" or "each_document", mask="causal", "full" or (with window=, the
        keys that a query sees, itself too) "window", balance="none", "head_tail", "striped" or
        "per_document".
    """
    start(folder, model, steps, **options)
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            stop()
            raise
        stop(f"failed: {type(error).__name__}: {error}"[:300])
        raise
    stop()


def log(**numbers):
    """Says what the job logs of this training step, for instance loss=… and grad_norm=…. Tensors of
    one element are read."""
    if _current is not None:
        _current.log(numbers)
