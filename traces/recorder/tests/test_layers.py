# SPDX-License-Identifier: Apache-2.0
"""The layers of models of many shapes, which are known from their attention calls."""

import os
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402

WIDTH = 8


def attend(x):
    q = x.view(1, -1, 2, WIDTH // 2).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return out.transpose(1, 2).reshape(1, -1, WIDTH)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.out(attend(x))


class Block(nn.Module):
    def __init__(self, attention=None, experts=0):
        super().__init__()
        self.attention = Attention() if attention is None else attention
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH)) for _ in range(experts))

    def forward(self, x):
        x = self.attention(x)
        for expert in self.experts:
            x = x + expert(x)
        return x


class Chain(nn.Module):
    def __init__(self, layers, through=lambda layer, x: layer(x)):
        super().__init__()
        self.layers, self.through = layers, through

    def forward(self, x):
        for layer in self.layers.values() if isinstance(self.layers, nn.ModuleDict) else self.layers:
            x = self.through(layer, x)
        return x


class Functional(nn.Module):
    """A model that calls attention from the root, in one loop."""

    def __init__(self, layers):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.eye(WIDTH)) for _ in range(layers))

    def forward(self, x):
        for weight in self.weights:
            x = attend(x @ weight)
        return x


class Layers(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        torch.manual_seed(0)

    def run_of(self, model, passes=1):
        """Returns the recorded lines of a job that calls the model `passes` times and differentiates its results."""
        folder = os.path.join(self.place.name, "run")
        with ringscope.record(folder, model=model if isinstance(model, nn.Module) else None):
            for _ in range(passes):
                model(torch.randn(1, 6, WIDTH, requires_grad=True)).sum().backward()
        lines = lines_of(folder)
        self.assertEqual(of_kind(lines, "trouble"), [])
        return lines

    def layers_in(self, lines, direction="forward"):
        return [line["layer"] for line in of_kind(lines, "attention") if line["direction"] == direction]

    def test_experts_within_a_layer_do_not_hide_its_attention(self):
        lines = self.run_of(Chain(nn.ModuleList(Block(experts=8) for _ in range(2))))
        self.assertEqual(self.layers_in(lines), [0, 1])
        self.assertEqual(self.layers_in(lines, "backward"), [1, 0])
        modules = [line["module"] for line in of_kind(lines, "layer")]
        self.assertEqual(modules, ["layers.0.attention", "layers.1.attention"])

    def test_layers_in_a_dictionary_and_of_different_classes_are_counted(self):
        layers = nn.ModuleDict({"0": Block(), "1": nn.Sequential(nn.Linear(WIDTH, WIDTH)), "2": Attention()})
        self.assertEqual(self.layers_in(self.run_of(Chain(layers))), [0, 1])

    def test_layers_of_an_encoder_and_a_decoder_are_counted_together(self):
        halves = [Chain(nn.ModuleList(Block() for _ in range(2))) for _ in range(2)]
        self.assertEqual(self.layers_in(self.run_of(nn.Sequential(*halves))), [0, 1, 2, 3])

    def test_attention_outside_of_modules_is_numbered_by_its_order(self):
        lines = self.run_of(lambda x: attend(attend(x)), passes=18)
        self.assertEqual(self.layers_in(lines), list(range(36)))
        self.assertEqual(sorted(self.layers_in(lines, "backward")), list(range(36)))

    def test_attention_in_one_loop_of_the_root_is_numbered_by_its_order(self):
        self.assertEqual(self.layers_in(self.run_of(Functional(3), passes=2)), [0, 1, 2, 0, 1, 2])

    def test_a_module_that_layers_share_counts_once_for_each(self):
        shared = Attention()
        lines = self.run_of(Chain(nn.ModuleList(Block(shared) for _ in range(2))), passes=2)
        self.assertEqual(self.layers_in(lines), [0, 1, 0, 1])
        again = Block()
        lines = self.again(Chain(nn.ModuleList([again]), lambda layer, x: layer(layer(x))))
        self.assertEqual(self.layers_in(lines), [0, 1])

    def again(self, model):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        return self.run_of(model)

    def test_a_recomputed_layer_has_the_number_of_its_first_computation(self):
        def again(layer, x):
            return checkpoint(layer, x, use_reentrant=False)

        def within(layer, x):
            return layer.attention(x) if not torch.is_grad_enabled() else again(layer.attention, x)

        for through in (again, within):
            lines = self.again(Chain(nn.ModuleList(Block() for _ in range(3)), through))
            self.assertEqual(self.layers_in(lines), [0, 1, 2, 2, 1, 0])
        lines = self.again(lambda x: again(lambda y: attend(attend(y)), x))
        self.assertEqual(self.layers_in(lines)[:2], [0, 1])
        self.assertLessEqual(set(self.layers_in(lines)[2:]), {0, 1})

    def test_two_hundred_layers_are_recorded(self):
        lines = self.run_of(Chain(nn.ModuleList(Block() for _ in range(200))))
        self.assertEqual(self.layers_in(lines), list(range(200)))

    def test_a_model_called_without_its_wrapper_keeps_its_layers(self):
        inner = Chain(nn.ModuleList(Block() for _ in range(2)))
        outer = nn.Sequential(inner)
        lines = self.run_of(lambda x: inner(x) + outer(x))
        self.assertEqual(self.layers_in(lines), [0, 1, 0, 1])

    def test_no_hook_stays_on_a_module_that_called_attention(self):
        model = Chain(nn.ModuleList(Block() for _ in range(2)))
        self.run_of(model)
        for module in model.modules():
            self.assertEqual(len(module._forward_hooks) + len(module._forward_pre_hooks), 0)


if __name__ == "__main__":
    unittest.main()
