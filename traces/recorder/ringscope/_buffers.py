# SPDX-License-Identifier: Apache-2.0
"""Buffers that PyTorch's context_parallel cuts: their contents before and after, and the tokens of each part."""

import torch
import torch.distributed as dist

from ._hashing import gridsum64
from ._names import name_of
from ._pytorch import context_parallel_module, load_balance, local_of
from ._session import observer
from ._tensors import can_be_read


def runs_of(indices):
    """Returns ranges of consecutive indices: [3, 4, 5, 9] becomes [[3, 6], [9, 10]]."""
    runs = []
    for index in indices:
        if runs and runs[-1][1] == index:
            runs[-1][1] = index + 1
        else:
            runs.append([index, index + 1])
    return runs


class BufferObserver:
    def __init__(self, session, patches):
        self.session = session
        self.model = None
        self.named = {}
        self.orders = {}  # by length: the token ids of all ranks' parts, one after the other
        self._meshes = set()
        self._known_tokens = {}
        self._cut = None
        self.shared = None  # the group for which context_parallel cut buffers, this rank in it, and its size
        ring = context_parallel_module()
        if ring is not None:
            patches.wrap(ring, "_context_parallel_buffers", self._around)

    def name_of(self, tensor):
        """Returns the name of the cut buffer that contains this tensor; empty: it is in none."""
        value = local_of(tensor)
        if not can_be_read(value):
            return ""
        return self.named.get(value.untyped_storage().data_ptr(), "")

    def _around(self, original):
        self._cut = original

        def context_parallel_buffers(mesh, buffers, buffer_seq_dims, *args, **kwargs):
            before = self.before(mesh, buffers, buffer_seq_dims)
            try:
                results = original(mesh, buffers, buffer_seq_dims, *args, **kwargs)
            except Exception:
                self.refused(buffer_seq_dims, before)
                raise
            self.after(mesh, buffers, buffer_seq_dims, args, kwargs, before, results)
            return results

        return context_parallel_buffers

    @observer
    def before(self, mesh, buffers, seq_dims):
        self.describe_mesh(mesh)
        whole = []
        for buffer in buffers:
            if not isinstance(buffer, torch.Tensor):
                whole.append(None)
                continue
            name, how = name_of(buffer, self.model)
            number = self.session.tensor(
                "whole_buffer", buffer, name=name, layer=None, keep=not buffer.is_floating_point()
            )
            whole.append((name, how, list(buffer.shape), number))
        return whole

    @observer
    def after(self, mesh, buffers, seq_dims, args, kwargs, before, results):
        balance, order = load_balance(args, kwargs)
        lengths, group = {}, mesh.get_group()
        self.shared = self.session.group(group), dist.get_rank(group), group.size()
        for index, (buffer, seq_dim, shard) in enumerate(zip(buffers, seq_dims, results)):
            if before is None or before[index] is None:
                continue
            name, how, shape, number = before[index]
            length = shape[seq_dim]
            if length not in lengths:
                lengths[length] = self._tokens(mesh, length, buffer.device, order, args, kwargs)
            tokens, one_map = lengths[length]
            self.orders[length] = self._order(length, balance, order)
            # Known by storage, so that a view of the buffer is recognized too.
            self.named[buffer.untyped_storage().data_ptr()] = name
            self.named[shard.untyped_storage().data_ptr()] = name
            self.session.line(
                "buffer",
                step=self.session.step,
                index=index,
                name=name,
                named_by=how,
                seq_dim=seq_dim % len(shape),
                full_shape=shape,
                local_shape=list(shard.shape),
                whole=number,
                shard=self.session.tensor(
                    "buffer", shard, name=name, layer=None, keep=not shard.is_floating_point()
                ),
                tokens=tokens if one_map else None,
                balance=balance,
                group=self.session.group(mesh.get_group()),
            )

    @observer
    def refused(self, seq_dims, before):
        """Records the buffers of a call that raised an error."""
        for index, (buffer, seq_dim) in enumerate(zip(before or (), seq_dims)):
            if buffer is not None:
                name, how, shape, number = buffer
                self.session.line(
                    "uncut",
                    step=self.session.step,
                    index=index,
                    name=name,
                    named_by=how,
                    seq_dim=seq_dim % len(shape),
                    full_shape=shape,
                    whole=number,
                )

    @observer
    def annotated(self, tensor, name, tokens, seq_dim, length, group, whole):
        """Records a rank's part that the job cut by itself."""
        if group is None and dist.is_available() and dist.is_initialized():
            group = dist.group.WORLD
        ranks = dist.get_world_size(group) if group is not None else 1
        shape = list(tensor.shape)
        shape[seq_dim] = length or len(tokens) * ranks
        self.named[tensor.untyped_storage().data_ptr()] = name
        keep = not tensor.is_floating_point()
        parts = {"whole_buffer": whole, "buffer": tensor}
        ids = {
            what: self.session.tensor(what, part, name=name, layer=None, keep=keep)
            for what, part in parts.items()
            if part is not None
        }
        self.session.line(
            "buffer",
            step=self.session.step,
            name=name,
            named_by="annotation",
            seq_dim=seq_dim,
            full_shape=shape if whole is None else list(whole.shape),
            local_shape=list(tensor.shape),
            whole=ids.get("whole_buffer"),
            shard=ids["buffer"],
            tokens=runs_of(tokens),
            balance="",
            group=self.session.group(group) if group is not None else None,
        )

    @staticmethod
    def _order(length, balance, order):
        """Returns the order in which a sequence is cut, or None if it is unknown or differs between sequences."""
        if order is None:
            return torch.arange(length) if not balance else None
        return order[0].detach().cpu() if order.size(0) == 1 and order.size(1) == length else None

    def _tokens(self, mesh, length, device, order, args, kwargs):
        """Returns the tokens of this rank's part of a sequence, found by cutting their indices in the same way. The
        second value says whether all rows of a batch share these tokens."""
        if order is not None and order.size(0) != 1:
            return None, False
        key = (mesh, length, None if order is None else gridsum64(order))
        known = self._known_tokens if args or kwargs else {}  # before PyTorch 2.9, an option also affects the cut
        if key not in known:
            indices = torch.arange(length, device=device)
            own = self._cut(mesh, [indices], [0], *args, **kwargs)[0]
            known[key] = runs_of(own.tolist())
        return known[key], True

    def describe_mesh(self, mesh):
        """Records the whole mesh of a part once: its axes and the rank at each place. A mesh that was unflattened has
        axes that the whole mesh does not name; then readers know the ranks from the group of the buffers."""
        if id(mesh) in self._meshes:
            return
        self._meshes.add(id(mesh))
        root = _root_of(mesh)
        if not set(mesh.mesh_dim_names or ()) <= set(root.mesh_dim_names or ()):
            return
        self.session.line(
            "mesh",
            axes=list(root.mesh_dim_names or []),
            ranks=root.mesh.tolist(),
            cp_axes=list(mesh.mesh_dim_names or []),
            cp_group=self.session.group(mesh.get_group()),
        )


def _root_of(mesh):
    for way in (
        lambda: mesh._get_root_mesh(),
        lambda: __import__("torch.distributed.device_mesh", fromlist=["_mesh_resources"])
        ._mesh_resources.get_root_mesh(mesh),
    ):
        try:
            root = way()
        except (AttributeError, ImportError, RuntimeError):
            continue
        if root is not None:
            return root
    return mesh
