# SPDX-License-Identifier: Apache-2.0
"""Guards around everything that the job calls, so that no error of the recorder, or in its use, reaches the job."""

import functools
import sys

import torch

import ringscope

from ._tensors import has_values
from ._tracing import is_traced


def harmless(function, passes_on=None):
    """Wraps a public function: an error is recorded and not raised. The result is then None, or the first argument if
    `passes_on` names it."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001: the job must go on
            tell(f"{function.__name__}()", error)
            return None if passes_on is None else args[0] if args else kwargs.get(passes_on)

    return call


def check_values(**given):
    """Raises ValueError for a tensor without values, such as one whose storage the job has released. Its contents
    cannot even be printed."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and not has_values(value):
            raise ValueError(f"{name} is a tensor without values")


def described(value):
    """Returns a value as text. Tensors are not read for it."""
    plain = value is None or isinstance(value, (str, float, bool)) or (isinstance(value, int) and abs(value) < 2**64)
    return repr(value)[:100] if plain else f"of type {type(value).__name__}"


def tell(where, error):
    """Writes an error into the recording in progress, if there is one."""
    recording = getattr(ringscope, "_current", None)
    if recording is not None and recording.session.running:
        recording.session.trouble(where, error)


def print_error(what, error):
    """Prints an error on stderr."""
    try:
        print(f"ringscope: {what}, the job goes on: {error}"[:500], file=sys.stderr, flush=True)
    except Exception:  # noqa: BLE001, S110: stderr may be closed
        pass


def guarded(hook):
    """Wraps a method that PyTorch or the job calls as a hook, which returns nothing and needs no other guard."""

    @functools.wraps(hook)
    def call(self, *args, **kwargs):
        if is_traced():
            return
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001: the job must go on
            session = getattr(self, "session", self)
            session.trouble(hook.__name__.strip("_"), error)

    return call
