# SPDX-License-Identifier: Apache-2.0
"""Variables that count as made standard by a rank's own tokens."""

import sys
import unittest

import torch
from jobs import PACKAGE

sys.path.insert(0, PACKAGE)

from ringscope._cut_variables import _is_standard  # noqa: E402


def standard(values):
    return (values - values.mean()) / values.std()


class StandardVariables(unittest.TestCase):
    def setUp(self):
        self.values = torch.randn(2, 16, generator=torch.Generator().manual_seed(3))
        self.all = torch.ones(2, 16, dtype=torch.bool)

    def test_values_with_mean_0_and_deviation_1_together_count(self):
        self.assertTrue(_is_standard(standard(self.values), self.all))
        self.assertFalse(_is_standard(self.values + 1, self.all))

    def test_only_values_under_the_mask_count(self):
        mask = self.all.clone()
        mask[:, :4] = False
        made = torch.zeros(2, 16)
        made[mask] = standard(self.values[mask])
        self.assertTrue(_is_standard(made, mask))
        self.assertFalse(_is_standard(made, self.all))

    def test_one_value_per_sequence_does_not_count(self):
        self.assertFalse(_is_standard(torch.tensor([[-1.0], [1.0]]).expand(2, 16), self.all))

    def test_rows_that_are_standard_each_do_not_count(self):
        self.assertFalse(_is_standard(torch.stack([standard(row) for row in self.values]), self.all))

    def test_values_that_are_not_finite_do_not_count(self):
        values = standard(self.values)
        values[0, 0] = float("nan")
        self.assertFalse(_is_standard(values, self.all))


if __name__ == "__main__":
    unittest.main()
