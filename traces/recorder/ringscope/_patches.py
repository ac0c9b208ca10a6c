# SPDX-License-Identifier: Apache-2.0
"""Attributes that a recording replaces, and their return."""


class Patches:
    """Puts a wrapper in the place of an attribute, and at the end what was there back.

    An attribute that somebody else replaced meanwhile is left as it is; our wrapper beneath it only
    passes calls on, since the session has ended.
    """

    def __init__(self):
        self._made = []

    def wrap(self, owner, name, make):
        """`make` gets the original and returns what stands before it. Nothing happens where the
        owner has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        wrapper = make(original)
        wrapper.__wrapped__ = original
        setattr(owner, name, wrapper)
        self._made.append((owner, name, original, wrapper))

    def undo(self):
        while self._made:
            owner, name, original, wrapper = self._made.pop()
            if getattr(owner, name, None) is wrapper:
                setattr(owner, name, original)
