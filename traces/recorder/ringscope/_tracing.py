# SPDX-License-Identifier: Apache-2.0
"""Whether code is being compiled instead of run. Nothing is recorded then. No code of the recorder may become a part of
the compiled code, because the job would compute with other graphs, or fail if it asked for one graph."""

import torch


def is_traced():
    """Reports whether this is no run of the job's code: Dynamo reads it, or its operators are traced with tensors
    without values. Dynamo takes the first call for a constant, so compiled code has no trace of the caller."""
    return torch.compiler.is_compiling() or torch._guards.TracingContext.try_get() is not None


def unless_compiled(hook):
    """Wraps a function that PyTorch calls as a hook of a module, so that compiled modules have no part of it."""

    def call(*args, **kwargs):
        return None if torch.compiler.is_compiling() else hook(*args, **kwargs)

    return call
