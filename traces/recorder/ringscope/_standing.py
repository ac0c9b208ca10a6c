# SPDX-License-Identifier: Apache-2.0
"""The progress of this rank among others: the operations that it has posted in each process group, and the operation
that it waits for. A listener gets it continuously. The rank's file gets it while the rank makes no progress
(_stalls.py)."""

import collections
import functools
import os
import sys
import threading
import time
import weakref

import torch
import torch.distributed as dist

import ringscope

from ._operators import is_of_another, kind_of, tensors_in

_POSTING = (
    "send",
    "recv",
    "recv_anysource",
    "allreduce",
    "allreduce_coalesced",
    "allgather",
    "_allgather_base",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "alltoall",
    "alltoall_base",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "barrier",
    "monitored_barrier",
)
_LAST = 8  # per group: enough to compare with a rank that is slightly behind
_MOST_MEETINGS = 256
_MOST_WAITED = 1024
_PASSED_OVER = tuple(
    os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (ringscope, torch)
)


class Standing:
    """Counters of posted operations. Ranks meet in a group; for messages, in a sender, receiver and tag of the group.
    They meet in the same operations in the same order, so equal numbers belong together.

    Methods of ProcessGroup count the operations that they post. A gate in front of operators costs four times as much,
    and counts the others: those of DistributedDataParallel and functional collectives, for example. `elsewhere` has their
    operators."""

    def __init__(self, session, patches):
        self.session = session
        self.changed = True
        self.moved_ns = time.monotonic_ns()
        self._thread = threading.get_ident()
        self._posted = {}
        self._members = {}
        self._in = None
        self._works = weakref.WeakKeyDictionary()
        self._within = threading.local()
        self.elsewhere = set()
        self._functional = collections.OrderedDict()
        self._newest = None
        for name in _POSTING:
            patches.wrap(dist.ProcessGroup, name, functools.partial(self._posting, name))
        patches.wrap(dist.distributed_c10d.Work, "wait", self._wait)

    def moved(self):
        self.moved_ns = time.monotonic_ns()
        self.changed = True

    def around(self, operator, args, kwargs, tensors, run):
        """Runs an operator of c10d. Its operation is counted before it is posted, unless it belongs to one that was
        counted. `tensors` are those of `args`."""
        if self._is_counted():
            return run()
        self.elsewhere.add(operator)
        if operator.name == "wait_tensor":
            post = self._functional.pop(args[0].data_ptr(), None)
            return self._while_in(post, run)
        given = operator.given(args, kwargs)
        ends = given.get("dst", given.get("src")), given.get("tag", 0)
        post = self._post(operator.kind, given.get("process_group", given.get("group_name")), ends, tensors)
        results = self._alone(operator.name, post, run)
        if post and operator.namespace == "_c10d_functional":
            for tensor in tensors_in(results):
                self._functional[tensor.data_ptr()] = post
                while len(self._functional) > _MOST_WAITED:
                    self._functional.popitem(last=False)
        return results

    def _while_in(self, post, run):
        if post is None:
            return run()
        before, self._in = self._in, (post, time.monotonic_ns())
        self.moved()
        try:
            result = run()
        except Exception:
            self._broke()
            raise
        finally:
            self._in = before
        self.moved()  # not after an error, because the rank did not get through
        return result

    def _broke(self):
        """Writes where the rank stands when a wait ends in an error, because the job may end with it."""
        try:
            said = self.snapshot("stalled", with_place=True)
            self.session.writer.line(said.pop("line"), **said, broken=True)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.session.trouble("standing", error)

    def _is_counted(self):
        """Reports whether this thread is within an operation that was counted. A functional collective posts another."""
        return getattr(self._within, "operation", None) is not None

    def _alone(self, name, post, run):
        """Posts an operation without counting the operations within it."""
        self._within.operation = name
        try:
            return self._while_in(post, run)
        finally:
            self._within.operation = None

    def _post(self, kind, group, ends, tensors):
        """Counts an operation; `ends` are the other rank of a message within its group, and the tag. Returns None if it
        cannot be counted."""
        try:
            self._newest = self._counted(kind, group, ends, tensors)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.session.trouble("standing", error)
            return None
        return self._newest

    def _counted(self, kind, group, ends, tensors):
        if isinstance(group, str):
            group = dist.distributed_c10d._resolve_process_group(group)
        elif not isinstance(group, dist.ProcessGroup):
            group = dist.ProcessGroup.unbox(group)
        ranks = dist.get_process_group_ranks(group)
        self._members[group.group_name] = ranks
        key, message = (group.group_name,), {}
        if kind in ("send", "receive"):
            own, (peer, tag) = ranks[dist.get_rank(group)], ends
            peer = None if peer is None else ranks[int(peer)]
            message = {"from": own, "to": peer} if kind == "send" else {"from": peer, "to": own}
            message["tag"] = int(tag or 0)
            key += (kind, *message.values())
        size = max((t.numel() * t.element_size() for t in tensors), default=0)
        count, last = self._posted.pop(key, (0, ()))
        count += 1
        self._posted[key] = (count, (*last[1 - _LAST :], (count, kind, size)))
        while len(self._posted) > _MOST_MEETINGS:
            self._posted.pop(next(iter(self._posted)))
        place = self.session.place()
        return {
            "operator": kind,
            "group": group.group_name,
            "nth": count,
            **message,
            "bytes": size,
            "layer": place["layer"],
            "pass": place["pass"],
        }

    def _posting(self, name, original):
        kind, takes_peer = kind_of(name), name in ("send", "recv")

        def post(*args, **kwargs):
            if is_of_another(self._thread) or self._is_counted():
                return original(*args, **kwargs)
            group, tensors, *more = (*args, None, None, None)[: max(len(args), 4)]
            ends = (more[0], more[1]) if takes_peer else (None, more[0])
            post = self._post(kind, group, ends, tensors_in((tensors, more[0])))
            work = self._alone(name, post, lambda: original(*args, **kwargs))
            if post is not None and work is not None:
                self._works[work] = post
            return work

        return post

    def _wait(self, original):
        def wait(work, *args, **kwargs):
            post = self._works.pop(work, None)
            return self._while_in(post, lambda: original(work, *args, **kwargs))

        return wait

    def news(self):
        """Returns the snapshot for a listener, which gets another one after a change."""
        self.changed = False
        return self.snapshot("stands")

    def snapshot(self, line, with_place=False):
        """Returns a line of kind `line` with the rank's progress. Called from other threads. The line of the job's code is
        added if `with_place`, or if nothing has happened for a while."""
        now = time.monotonic_ns()
        start = self.session.writer.start_ns
        quiet_ns = now - self.moved_ns
        inside = self._in
        said = {
            "line": line,
            "time_ns": now - start,
            "quiet_ns": quiet_ns,
            "step": self.session.step,
            "in": None,
            "last": self._newest,
            "groups": self._members.copy(),
            "posted": self._counts(),
        }
        if inside is not None:
            said["in"] = {**inside[0], "since_ns": now - inside[1]}
        if with_place or quiet_ns > 300_000_000:
            said["at"] = self._line_of_the_job()
        return said

    def _counts(self):
        return [
            {"group": key[0], **dict(zip(("kind", "from", "to", "tag"), key[1:])), "nth": n, "last": last}
            for key, (n, last) in self._posted.copy().items()
        ]

    def _line_of_the_job(self):
        """Returns the line where the recorded thread is in the job's own code: the innermost line outside of libraries,
        or else outside of PyTorch and this package. Contains the file's name without its path."""
        frame = sys._current_frames().get(self._thread)
        within = None
        while frame is not None:
            path = os.path.abspath(frame.f_code.co_filename)
            if not path.startswith(_PASSED_OVER):
                of_a_library = "-packages" + os.sep in path
                within = within or frame
                if not of_a_library:
                    within = frame
                    break
            frame = frame.f_back
        if within is None:
            return None
        code = within.f_code
        return {"file": os.path.basename(code.co_filename), "number": within.f_lineno, "function": code.co_name}
