# SPDX-License-Identifier: Apache-2.0
"""The types that a job asserts of its tensors by spmd_types: per mesh axis, replicated (R), invariant (I), varying (V)
or partial (P). They are read as the job's intent: which axis cuts the sequence, and what ranks must hold alike.

Source: https://github.com/meta-pytorch/spmd_types, docs/local_spmd_types.md.
"""

import functools
import importlib.abc
import importlib.util
import itertools
import sys

import torch
import torch.distributed as dist

from ._hashing import gridsum64
from ._names import name_of
from ._pytorch import local_of
from ._session import observer
from ._tensors import TYPES, can_be_read

_PACKAGE = "spmd_types"
_MOST_LINES = 256  # of a training step
_MOST_ELEMENTS = 1 << 22  # a larger tensor is not hashed
_SEQUENCE_AXES = ("cp", "context")  # how names of axes begin that cut the sequence


class _Finder(importlib.abc.MetaPathFinder):
    """Calls `imported` with the package right after its import."""

    def __init__(self, imported):
        self._imported = imported

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _PACKAGE or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                self._imported(module)

            spec.loader.exec_module = exec_module
        return spec


class AssertedTypes:
    """Records what spmd_types.assert_type() says of tensors, and the mesh on which it says so."""

    def __init__(self, session, patches, buffers):
        self.session = session
        self._patches = patches
        self._buffers = buffers
        self._finder = None
        self._has_mesh = False
        self._step, self._lines = None, 0

    def begin(self):
        """Wraps the package's function now, or when the job imports the package."""
        if _PACKAGE in sys.modules:
            self._wrap(sys.modules[_PACKAGE])
        else:
            self._finder = _Finder(self._wrap)
            sys.meta_path.insert(0, self._finder)

    def end(self):
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)

    def _wrap(self, package):
        self._patches.wrap(package, "assert_type", self._around)

    def _around(self, original):
        def assert_type(tensor, *args, **kwargs):
            result = original(tensor, *args, **kwargs)
            for one in tensor if isinstance(tensor, (list, tuple)) else (tensor,):
                self.asserted(one)
            return result

        return assert_type

    @observer
    def asserted(self, tensor):
        """Records the types that a tensor has after a call of assert_type()."""
        self._write(tensor, name_of(tensor)[0])

    @observer
    def parameters(self, named):
        """Records the types of parameters, which a job asserts before its first step."""
        for name, parameter in named:
            if getattr(local_of(parameter), "_local_type", None):
                self._write(local_of(parameter), name)

    def _write(self, tensor, name):
        if self._step != self.session.step:
            self._step, self._lines = self.session.step, 0
        self._lines += 1
        if self._lines > _MOST_LINES or not isinstance(tensor, torch.Tensor):
            return
        axes = _named_axes(sys.modules[_PACKAGE])
        types = getattr(tensor, "_local_type", None) or {}
        of_axis = {name: types[axis] for name, axis in axes.items() if axis in types}
        if not of_axis:
            return
        dims = _cut_dimensions(sys.modules[_PACKAGE].get_partition_spec(tensor), axes)
        if not tensor.is_floating_point() and tensor.dim():
            self._describe_mesh(axes, of_axis, dims)
        hashed = can_be_read(tensor) and tensor.dtype in TYPES and tensor.numel() <= _MOST_ELEMENTS
        self.session.line(
            "asserted",
            **self.session.place(layer=None),
            name=name,
            dtype=TYPES.get(tensor.dtype, ""),
            shape=list(tensor.shape),
            types={axis: type_.name for axis, type_ in of_axis.items()},
            cut_along=dims,
            members={axis: _members(axes[axis]) for axis in of_axis},
            hash=f"{gridsum64(tensor.detach().contiguous()):016x}" if hashed else "",
        )

    def _describe_mesh(self, axes, types, dims):
        """Records the mesh once that token buffers are cut on, if context_parallel has not said it."""
        if self._has_mesh or self._buffers.shared:
            return
        cut = [name for name, type_ in types.items() if type_.name == "V"]
        shared = [name for name in cut if name.lower().startswith(_SEQUENCE_AXES)]
        shared = shared or [name for name in cut if dims.get(name) == 1]
        ranks = _nested_ranks(list(axes.values()))
        if shared and ranks is not None:
            self._has_mesh = True
            self.session.line("mesh", axes=list(axes), ranks=ranks, cp_axes=shared, cp_group=None)


def _named_axes(package):
    """Returns the axes of the current mesh by name, without those of one rank."""
    axes = package.current_mesh_all_names() or {}
    return {str(name): axis for name, axis in axes.items() if axis.size() > 1}


def _cut_dimensions(spec, axes):
    """Returns the dimension of a tensor that each axis cuts, for those that cut one."""
    names = {axis: name for name, axis in axes.items()}
    found = {}
    for dim, entry in enumerate(spec or ()):
        for axis in entry if isinstance(entry, tuple) else (entry,):
            if axis in names:
                found[names[axis]] = dim
    return found


@functools.lru_cache(maxsize=64)
def _members(axis):
    """Returns the world ranks of an axis that this rank is one of."""
    groups = axis.layout.global_ranks(dist.get_world_size())
    return next((list(group) for group in groups if dist.get_rank() in group), [])


def _nested_ranks(axes):
    """Returns the ranks of a mesh as nested lists, or None if the axes are not those of the whole job."""
    offsets = [list(axis.layout.all_ranks_from_zero()) for axis in axes]
    ranks = torch.tensor([sum(at) for at in itertools.product(*offsets)])
    if sorted(ranks.tolist()) != list(range(dist.get_world_size())):
        return None
    return ranks.reshape([len(offset) for offset in offsets]).tolist()
