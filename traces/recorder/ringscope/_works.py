# SPDX-License-Identifier: Apache-2.0
"""The waits for collectives and messages that were posted through torch.distributed."""

import weakref

import torch.distributed as dist

# Methods of ProcessGroup that post an operation and return a Work.
_POSTING = (
    "send",
    "recv",
    "allreduce",
    "allgather",
    "_allgather_base",
    "reduce_scatter",
    "_reduce_scatter_base",
    "alltoall",
    "alltoall_base",
    "broadcast",
)


class WorkObserver:
    """An observer that remembers the collective of each Work, and calls each of `heard` for every wait for one."""

    def __init__(self, session, patches, collectives, heard):
        self.session = session
        self._collectives = collectives
        self._heard = heard
        self._numbers = weakref.WeakKeyDictionary()
        for name in _POSTING:
            patches.wrap(dist.ProcessGroup, name, self._posting)
        patches.wrap(dist.distributed_c10d.Work, "wait", self._wait)

    def _posting(self, original):
        def post(*args, **kwargs):
            before = self._collectives.number
            work = original(*args, **kwargs)
            # NCCL returns no Work if the job asked for a synchronous operation.
            if self._collectives.number != before and work is not None:
                self._numbers[work] = self._collectives.number
            return work

        return post

    def _wait(self, original):
        def wait(work, *args, **kwargs):
            number = self._numbers.pop(work, None)
            if number is None:
                return original(work, *args, **kwargs)
            begin_ns = self.session.now()
            result = original(work, *args, **kwargs)
            end_ns = self.session.now()
            self.session.line("waited", number=number, begin_ns=begin_ns, end_ns=end_ns)
            for hear in self._heard:
                hear(number, begin_ns, end_ns)
            return result

        return wait
