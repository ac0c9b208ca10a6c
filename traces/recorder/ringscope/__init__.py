# SPDX-License-Identifier: Apache-2.0
"""Records how a PyTorch training job under context parallelism actually ran, for RingScope to open.

Without a recording, check_merge() says whether a tensor is the merge of partial attention outputs. simulate() runs an
attention function over the shards of a ring. The function open() shows a recording in a notebook.

Each rank writes its own files into the folder; FORMAT.md describes them. Recording does not change the job's numbers.
At the end, everything that was wrapped is restored.

    import ringscope
    with ringscope.record("run1", model=model, steps=range(3)):
        train()
"""

import contextlib

from ._exits import reason
from ._harmless import described, harmless, print_error
from ._merge_check import MergeCheck, check_merge
from ._merge_mistakes import MergeKind
from ._page import open_page as open  # noqa: A004: the name that users call
from ._recording import Recording
from ._simulate import RankVerdict, Simulation, StepVerdict, simulate
from .annotations import attention, auxiliary_loss, block, buffer
from .cpu_ring import cpu_context_parallel

__all__ = [
    "MergeCheck",
    "MergeKind",
    "RankVerdict",
    "Simulation",
    "StepVerdict",
    "attention",
    "auxiliary_loss",
    "block",
    "buffer",
    "check_merge",
    "cpu_context_parallel",
    "log",
    "open",
    "record",
    "simulate",
    "start",
    "stop",
]

_current = None


def start(folder, model=None, steps=range(1), **options):
    """Begins to record into `folder`; see record(). Does not raise. If the recording cannot begin, prints the reason on
    stderr: an option is unknown, the folder has files of this rank, or a recording is in progress."""
    global _current
    if _current is not None:
        print_error("nothing more is recorded", "a recording is in progress; ringscope.stop() ends it")
        return
    try:
        _current = Recording(folder, model, steps, **options)
    except Exception as error:  # noqa: BLE001: the job must go on
        print_error(f"nothing is recorded into {described(folder)}", error)


@harmless
def stop(why="finished"):
    """Ends the recording that start() began. Does nothing if there is none."""
    global _current
    recording, _current = _current, None
    if recording is not None:
        recording.close(why if isinstance(why, str) else described(why))


@contextlib.contextmanager
def record(folder, model=None, steps=range(1), **options):
    """Records the training steps within the `with` block.

    Does not raise: start() says what it does instead.

    folder: The folder for this rank's files. An earlier recording there is moved into its folder before-1, before-2, ….
    model: The root module; by default the first module that is called.
    steps: The training steps to record, counted from 0 by the optimizer's steps; None: all.
    values: "auto" keeps token ids, positions and tensors up to max_tensor_bytes; "all"; "none".
    max_tensor_bytes: The size limit of one tensor's values (1 MiB).
    fingerprints: Whether steps outside `steps` get a fingerprint. It has a hash and statistics of some elements of
        every gradient and weight and of their norms, and the numbers given to log(). It shows the first step in
        which ranks differ or a number is not finite. Gradients that ranks hold in parts (FSDP2) are left out.
    budget_bytes: The size limit of all files of this rank (256 MiB). Data over the limit is left out and counted.
    live: The address of a listener that receives the recording while it is made. It is the path of a Unix socket or
        "127.0.0.1:PORT" (RINGSCOPE_LIVE, as printed by `ringscope listen`). The job does not wait for the listener.
    token: The token that the listener asks for over TCP (RINGSCOPE_TOKEN).
    pause: Whether the listener may hold the job at a step border (RINGSCOPE_PAUSE=1).
    stalled_after: The number of seconds without progress of this rank after which its file gets the line `stalled`
        (5; RINGSCOPE_STALLED_AFTER); 0: never. The line names the collective and the line of the job where the rank
        stands. It remains if the job hangs and is killed.
    declare: The job's intent, where it cannot be observed. Keys and values are loss="mean_over_targets" and
        positions="whole_sequence" or "each_document". The key mask="causal", "full" or "window" needs for a window
        also window=, the number of keys that a query sees, including its own. The key balance is "none",
        "head_tail", "striped" or "per_document".
    """
    start(folder, model, steps, **options)
    try:
        yield
    except BaseException as error:
        stop(reason(error))
        raise
    stop()


@harmless
def log(**numbers):
    """Records the numbers that the job logs for this training step, for instance loss=… and grad_norm=…. Reads
    tensors of one element. Does not raise: a value that is no number is reported in the recording and left out."""
    if _current is not None:
        _current.log(numbers)
