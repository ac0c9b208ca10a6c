# SPDX-License-Identifier: Apache-2.0
"""The mesh of a job, as its buffers describe it."""

import sys
import types
import unittest

import torch

from jobs import PACKAGE

sys.path.insert(0, PACKAGE)

from ringscope._buffers import BufferObserver  # noqa: E402
from ringscope._patches import Patches  # noqa: E402


def mesh(names, ranks, root=None):
    made = types.SimpleNamespace(mesh_dim_names=names, mesh=torch.tensor(ranks), get_group=lambda: None)
    made._get_root_mesh = lambda: root or made
    return made


class Meshes(unittest.TestCase):
    def described(self, part):
        lines = []
        session = types.SimpleNamespace(line=lambda kind, **fields: lines.append((kind, fields)), group=lambda _: "0")
        patches = Patches()
        self.addCleanup(patches.undo)
        BufferObserver(session, patches).describe_mesh(part)
        return lines

    def test_a_part_of_a_mesh_is_described_by_the_whole(self):
        whole = mesh(("dp", "cp"), [[0, 1], [2, 3]])
        fields = {"axes": ["dp", "cp"], "ranks": [[0, 1], [2, 3]], "cp_axes": ["cp"], "cp_group": "0"}
        self.assertEqual(self.described(mesh(("cp",), [0, 1], whole)), [("mesh", fields)])

    def test_an_unflattened_mesh_is_left_to_the_groups(self):
        world = mesh(("world",), [0, 1, 2, 3])
        self.assertEqual(self.described(mesh(("cp",), [0, 1], world)), [])


if __name__ == "__main__":
    unittest.main()
