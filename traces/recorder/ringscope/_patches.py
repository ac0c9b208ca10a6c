# SPDX-License-Identifier: Apache-2.0
"""Attributes that a recording replaces and later restores."""

import torch


class Patches:
    """The attributes that are replaced by wrappers, and their originals, which undo() restores.

    An attribute that other code replaced meanwhile is not restored. The wrapper beneath it then only passes calls on,
    because the session has ended.
    """

    def __init__(self):
        self._made = []

    def wrap(self, owner, name, make):
        """Replaces an attribute by make(original). Does nothing if the owner has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        made = make(original)

        def wrapper(*args, **kwargs):
            return original(*args, **kwargs) if torch.compiler.is_compiling() else made(*args, **kwargs)

        wrapper.__wrapped__ = original
        setattr(owner, name, wrapper)
        self._made.append((owner, name, original, wrapper))

    def undo(self):
        while self._made:
            owner, name, original, wrapper = self._made.pop()
            if getattr(owner, name, None) is wrapper:
                setattr(owner, name, original)
