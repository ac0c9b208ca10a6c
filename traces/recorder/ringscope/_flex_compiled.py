# SPDX-License-Identifier: Apache-2.0
"""Compiled flex_attention: torch.compile makes one kernel of it, and nothing within a kernel can be observed. It is
therefore recorded where the job calls it.

Jobs keep the compiled function under names of their own, mostly from before the recording, so the function cannot be
replaced. Its code object is replaced instead, for as long as the recording looks. The new code hands the call over. It
has the same free variables, because Python otherwise rejects it."""

import gc
import inspect
import os
import sys
import threading
import types

import torch

from ._flex import what_it_attends
from ._flex_mask import mask_of_blocks
from ._operators import is_of_another

_FLEX = "torch.nn.attention.flex_attention"
_SOURCE = """def made({names}):
    def compiled(*args, **kwargs):
        ({names})
        from ringscope._flex_compiled import hand_over
        return hand_over({number}, args, kwargs)
    return compiled"""

_BY_CALLS = 3  # references to a function while its references are counted: two calls, and the counting
_NOT_OF_THE_JOB = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (torch.__file__, __file__))

_standing = {}  # by number: the object that takes the calls


def hand_over(number, args, kwargs):
    return _standing[number].called(args, kwargs)


def _flex_attention():
    """Returns PyTorch's flex_attention, or None if the job has not loaded it."""
    return getattr(sys.modules.get(_FLEX), "flex_attention", None)


def _functions_made_of(function):
    """Yields the functions that torch.compile made of `function`. Searching all objects of Python takes a tenth of a
    second, so it is skipped if only modules refer to the function."""
    modules = [m for m in list(sys.modules.values()) if type(m) is types.ModuleType]
    known = sum(m.__dict__.get(function.__name__) is function for m in modules)
    if sys.getrefcount(function) <= known + _BY_CALLS:
        return
    for made in gc.get_objects():
        if _is_made_of(made, function):
            yield made


def _is_made_of(made, function):
    if type(made) is not types.FunctionType or made.__dict__.get("_torchdynamo_disable"):
        return False
    return made.__dict__.get("_torchdynamo_orig_callable") is function


def compiled_elsewhere():
    """Returns the names of the job's functions that torch.compile has compiled."""
    try:
        from torch._dynamo.convert_frame import input_codes
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        codes = {code for reference in input_codes.seen if (code := reference()) is not None}
        return {
            getattr(code, "co_qualname", code.co_name)
            for code in codes
            if not code.co_filename.startswith(_NOT_OF_THE_JOB) and _debug_get_cache_entry_list(code)
        }
    except (ImportError, AttributeError, TypeError):  # private API, which may change
        return set()


class CompiledFlexOperator:
    """The interface of _operators.Operator for calls of the compiled flex_attention."""

    is_math = False
    is_followed = True
    direction = "forward"
    func = full_name = name = "flex_attention"

    def __init__(self, original):
        self._signature = inspect.signature(original)

    def bound(self, args, kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def named(self, args, kwargs):
        return self.bound(args, kwargs).arguments

    @staticmethod
    def mask_function(blocks):
        return blocks.mask_mod if blocks is not None else None

    def given(self, args, kwargs):
        given = self.named(args, kwargs)
        q, k, blocks = given["query"], given["key"], given["block_mask"]
        mask = mask_of_blocks(blocks, q, k)
        found = what_it_attends(q, k, mask, blocks and blocks.as_tuple(), given["score_mod"])
        found["flex"]["compiled"] = True
        return {**given, **found}

    @staticmethod
    def lse_of(results):
        """Returns lse to the base e, if the job asked for it."""
        more = results[1] if len(results) > 1 else None
        return getattr(more, "lse", more)

    @staticmethod
    def says(given):
        return {"flex": given["flex"]}


class _Standing:
    """The replaced code of one compiled flex_attention."""

    def __init__(self, gate, function):
        self._gate = gate
        self._function = function
        self._code = function.__code__
        self._itself = types.FunctionType(
            self._code, function.__globals__, function.__name__, None, function.__closure__
        )
        self._number = 1 + max(_standing, default=0)
        _standing[self._number] = self
        names = ", ".join(self._code.co_freevars)
        made = {}
        exec(_SOURCE.format(names=names, number=self._number), made)  # noqa: S102: of names of PyTorch's
        self._before = made["made"](*[None] * len(self._code.co_freevars)).__code__
        function.__code__ = self._before

    def called(self, args, kwargs):
        return self._gate.called(lambda: self._itself(*args, **kwargs), args, kwargs)

    def leave(self):
        """Restores the code. If other code has replaced ours meanwhile, both stay, because that code may call ours."""
        if self._function.__code__ is self._before:
            self._function.__code__ = self._code
            del _standing[self._number]


class CompiledFlexGate:
    """A gate like _operators.Gate: while open, calls `seen(operator, args, kwargs, run)` in place of each compiled
    flex_attention. It finds existing functions, and with `patches` also later ones. Calls `limit` for other functions
    that were compiled and ran."""

    def __init__(self, seen, patches, limit):
        self._seen = seen
        self._limit = limit
        self._thread = threading.get_ident()
        self._looks = False
        self._operator = None
        self._known, self._told = {}, set()
        self._standing = []
        patches.wrap(torch, "compile", self._compile)
        flex = _flex_attention()
        if flex is not None and "torch._dynamo" in sys.modules:
            for made in _functions_made_of(flex):
                self._know(made, flex)

    def _compile(self, original):
        def compile(*args, **kwargs):
            made = original(*args, **kwargs)
            flex = _flex_attention()
            if flex is not None and _is_made_of(made, flex):
                self._know(made, flex)
            return made

        return compile

    def _know(self, made, flex):
        self._operator = self._operator or CompiledFlexOperator(flex)
        self._known[id(made)] = made
        if self._looks:
            self._standing.append(_Standing(self, made))

    def _tell_others(self):
        """Reports each compiled function once."""
        if "torch._dynamo" in sys.modules:
            for name in sorted(compiled_elsewhere() - self._told):
                self._told.add(name)
                self._limit(f"{name} is compiled: only its attention operators, collectives and losses are observed")

    def look(self, looks):
        """Opens or closes the gate."""
        if looks == self._looks:
            return
        self._looks = looks
        for function in self._known.values() if looks else ():
            self._standing.append(_Standing(self, function))
        while not looks and self._standing:
            self._standing.pop().leave()
        if not looks:
            self._tell_others()

    def called(self, run, args, kwargs):
        if is_of_another(self._thread):
            return run()
        came = []

        def results():
            came.append(run())
            return came[0] if isinstance(came[0], tuple) else (came[0],)

        try:
            bound = self._operator.bound(args, kwargs)
        except TypeError:  # an error of the job, which PyTorch reports
            return run()
        self._seen(self._operator, bound.args, bound.kwargs, results)
        return came[0]
