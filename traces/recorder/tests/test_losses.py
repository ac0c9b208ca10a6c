# SPDX-License-Identifier: Apache-2.0
"""The recorded losses of a job: their arguments, and the weight of one target."""

import json
import os
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn

from jobs import EXAMPLES, PACKAGE

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402

CLASSES = 16


class Losses(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(place.name, "run1")
        torch.manual_seed(0)
        self.head = nn.Linear(8, CLASSES, bias=False)
        self.hidden = torch.randn(2, 5, 8)
        self.labels = torch.randint(0, CLASSES, (2, 5))
        self.labels[0, :2] = -100

    def record(self, loss):
        """Records a step whose loss is loss(logits, labels). Returns its lines by kind, and the loss."""
        optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)
        with ringscope.record(self.folder, model=self.head):
            value = loss(self.head(self.hidden), self.labels)
            value.backward()
            optimizer.step()
        with open(os.path.join(self.folder, "rank-00000.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line for line in lines if line["line"] == "trouble"], [])
        kinds = ("loss", "loss_gradient", "auxiliary_loss")
        return {kind: [line for line in lines if line["line"] == kind] for kind in kinds}, value

    def test_a_plain_loss_gives_each_target_the_same_weight(self):
        lines, _ = self.record(lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten()))
        loss, gradient = lines["loss"][0], lines["loss_gradient"][0]
        self.assertTrue(loss["grad"])
        self.assertEqual(loss["smoothing"], 0)
        self.assertEqual(loss["made"]["parameter"], "weight")
        self.assertEqual(loss["made"]["dtype"], "float32")
        for name in ("least", "most", "mean"):
            self.assertAlmostEqual(gradient["weight"][name], 1 / 8, places=6)
        self.assertLess(gradient["off"], 1e-6)

    def test_classes_may_come_before_the_tokens(self):
        lines, _ = self.record(lambda z, y: F.cross_entropy(z.transpose(1, 2), y))
        gradient = lines["loss_gradient"][0]
        self.assertAlmostEqual(gradient["weight"]["mean"], 1 / 8, places=6)
        self.assertLess(gradient["off"], 1e-6)

    def test_a_mask_after_the_loss_decides_which_targets_count(self):
        mask = torch.tensor([[0, 0, 1, 1, 0], [1, 1, 1, 0, 0]])

        def loss(z, y):
            each = F.cross_entropy(z.transpose(1, 2), y, reduction="none")
            return (each * mask).sum() / mask.sum()

        lines, _ = self.record(loss)
        gradient = lines["loss_gradient"][0]
        self.assertEqual(gradient["targets"], 5)
        for name in ("least", "most", "mean"):
            self.assertAlmostEqual(gradient["weight"][name], 1 / 5, places=6)

    def test_the_gradient_of_a_small_parameter_is_followed_to_the_optimizer(self):
        self.head = nn.Sequential(nn.Linear(8, CLASSES), nn.LayerNorm(CLASSES))
        optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)
        with ringscope.record(self.folder, model=self.head):
            self.head(self.hidden).square().sum().backward()
            self.head[1].bias.grad *= 3
            optimizer.step()
        with open(os.path.join(self.folder, "rank-00000.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        (line,) = (line for line in lines if line["line"] == "reference_gradient")
        self.assertEqual(line["parameter"], "1.bias")
        self.assertAlmostEqual(line["given"], 3 * line["local"], places=5)
        self.assertGreater(abs(line["local"]), 1e-3)

    def test_label_smoothing_is_part_of_the_sum(self):
        def loss(z, y):
            return F.cross_entropy(z.flatten(0, 1), y.flatten(), reduction="sum", label_smoothing=0.25)

        lines, value = self.record(loss)
        self.assertEqual(lines["loss"][0]["smoothing"], 0.25)
        self.assertAlmostEqual(lines["loss"][0]["sum"], value.item(), places=4)
        self.assertLess(lines["loss_gradient"][0]["off"], 1e-6)

    def test_a_z_loss_shows_in_the_gradient_of_the_logits(self):
        def loss(z, y):
            return F.cross_entropy(z.flatten(0, 1), y.flatten()) + 0.01 * z.logsumexp(-1).square().mean()

        self.assertGreater(self.record(loss)[0]["loss_gradient"][0]["off"], 1e-3)

    def test_an_evaluation_has_no_gradient(self):
        def loss(z, y):
            with torch.no_grad():
                F.cross_entropy(self.head(self.hidden).flatten(0, 1), y.flatten())
            return F.cross_entropy(z.flatten(0, 1), y.flatten())

        lines, _ = self.record(loss)
        self.assertEqual([line["grad"] for line in lines["loss"]], [False, True])
        self.assertEqual([line["number"] for line in lines["loss_gradient"]], [2])

    def test_an_auxiliary_loss_is_recorded_with_the_gradient_that_it_gets(self):
        def loss(z, y):
            aux = ringscope.auxiliary_loss(z.square().mean(), weight=0.5, part=True)
            return F.cross_entropy(z.flatten(0, 1), y.flatten()) + 0.25 * aux

        (line,) = self.record(loss)[0]["auxiliary_loss"]
        self.assertEqual((line["weight"], line["gradient"], line["part"]), (0.5, 0.25, True))

    def test_an_auxiliary_loss_of_several_elements_is_passed_on(self):
        several = torch.ones(2)
        self.assertIs(ringscope.auxiliary_loss(several, weight=0.5), several)

    def test_changes_of_the_logits_after_the_projection_are_named(self):
        def loss(z, y):
            return F.cross_entropy((3 * torch.tanh(z / 3)).float().flatten(0, 1), y.flatten())

        made = self.record(loss)[0]["loss"][0]["made"]
        self.assertEqual(made["between"], ["Mul", "Tanh", "Div"])

    def test_the_product_has_the_type_in_which_autocast_ran_it(self):
        def loss(z, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                z = self.head(self.hidden)
            return F.cross_entropy(z.float().flatten(0, 1), y.flatten())

        self.assertEqual(self.record(loss)[0]["loss"][0]["made"]["dtype"], "bfloat16")

    def picked(self, pick):
        """Returns the lines of a loss from `pick`(logits, tokens), and the tokens that count."""
        kept, tokens = self.labels >= 0, self.labels.clamp(min=0)

        def loss(z, y):
            return -(pick(z, tokens) * kept).sum() / 8

        lines, _ = self.record(loss)
        return lines, kept

    def check_picked(self, pick):
        lines, kept = self.picked(pick)
        (loss,), (gradient,) = lines["loss"], lines["loss_gradient"]
        self.assertEqual((loss["operator"], loss["shape"], loss["sum"]), ("picked", [2, 5], None))
        self.assertEqual(loss["made"]["parameter"], "weight")
        self.assertEqual(gradient["targets"], int(kept.sum()))
        for name in ("least", "most", "mean"):
            self.assertAlmostEqual(gradient["weight"][name], 1 / 8, places=6)
        self.assertLess(gradient["off"], 1e-6)

    def test_tokens_picked_from_log_softmax_are_targets(self):
        self.check_picked(lambda z, y: z.log_softmax(-1).gather(-1, y[..., None])[..., 0])

    def test_tokens_picked_from_logits_are_targets_beside_logsumexp(self):
        self.check_picked(lambda z, y: z.gather(-1, y[..., None])[..., 0] - z.logsumexp(-1))

    def test_tokens_picked_after_logsumexp_are_targets(self):
        self.check_picked(lambda z, y: -(z.logsumexp(-1) - z.gather(-1, y[..., None])[..., 0]))

    def test_a_gather_without_normalization_is_no_loss(self):
        lines, _ = self.picked(lambda z, y: z.gather(-1, y[..., None])[..., 0])
        self.assertEqual(lines["loss"], [])

    def test_advantages_show_as_weights(self):
        advantages = torch.randn(2, 5)
        lines, _ = self.picked(
            lambda z, y: advantages * z.log_softmax(-1).gather(-1, y[..., None])[..., 0]
        )
        weight = lines["loss_gradient"][0]["weight"]
        self.assertGreater(weight["most"] - weight["least"], 0.01)
        self.assertLess(lines["loss_gradient"][0]["off"], 1e-6)


if __name__ == "__main__":
    unittest.main()
