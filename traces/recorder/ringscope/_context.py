# SPDX-License-Identifier: Apache-2.0
"""When PyTorch's context_parallel is active: its attention replaces the usual one only then."""

import sys

from ._pytorch import context_parallel_module
from ._session import observer

# The functions that begin and end it. Before PyTorch 2.10 there are none that can be wrapped.
_BEGINS, _ENDS = "_enable_cp_dtensor_dispatcher", "_disable_cp_dtensor_dispatcher"


class ContextObserver:
    def __init__(self, session, patches):
        self.session = session
        ring = context_parallel_module()
        for name, active in ((_BEGINS, True), (_ENDS, False)):
            patches.wrap(ring, name, self._around(active))

    def _around(self, active):
        def make(original):
            def changes():
                original()
                self.changed(active)

            return changes

        return make

    @observer
    def changed(self, active):
        """Records the change, unless an error leaves the context: the error is then not one of work outside of it."""
        if not active and sys.exc_info()[0] is not None:
            return
        self.session.line("context", **self.session.place(layer=None), active=active)
