# SPDX-License-Identifier: Apache-2.0
"""The job's name for a tensor, from an annotation, the job's variables, or the model's buffers."""

import sys

_annotated = {}


def annotate(tensor, name):
    """Stores a name for a tensor. An id that a new tensor reuses is never mistaken for the old one, because name_of()
    compares the tensor itself."""
    import weakref

    _annotated[id(tensor)] = (weakref.ref(tensor), name)


def _among(variables, tensor):
    for name, value in variables.items():
        if value is tensor:
            return name
    for value in variables.values():
        if isinstance(value, dict) or type(value).__name__ in ("BatchEncoding", "UserDict"):
            for key in list(value.keys()):
                if value[key] is tensor:
                    return str(key)
    return None


def _is_library(frame):
    module = frame.f_globals.get("__name__", "")
    return module.split(".")[0] in ("torch", "contextlib", "ringscope")


def name_of(tensor, model=None):
    """Returns (name, source of the name), or ("", "") if no name is found."""
    known = _annotated.get(id(tensor))
    if known and known[0]() is tensor:
        return known[1], "annotation"
    if model is not None:
        for name, buffer in model.named_buffers():
            if buffer is tensor:
                return name.rsplit(".", 1)[-1], "model buffer"
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_library(frame):
            name = _among(frame.f_locals, tensor)
            if name:
                return name, "variable"
        frame = frame.f_back
    return "", ""
