# SPDX-License-Identifier: Apache-2.0
"""The hashes of recorded tensors agree with traces/format/core/hash.h and detect the changes that matter."""

import sys
import unittest

import torch

from jobs import PACKAGE

sys.path.insert(0, PACKAGE)

from ringscope import _hashing  # noqa: E402
from ringscope._hashing import dotsum64, dotsum64_of_part, gridsum64  # noqa: E402
from ringscope._tensors import raw_bytes  # noqa: E402

_MOST = (1 << 64) - 1


def factor(n):
    x = (n + 1) * 0xBF58476D1CE4E5B9 & _MOST
    x = (x ^ (x >> 32)) * 0x94D049BB133111EB & _MOST
    return (x ^ (x >> 29)) | 1


def words_of(data):
    data = bytes(data) + bytes(-len(data) % 8)
    return [int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data), 8)]


def dots(words, size):
    """Computes dotsum64 word by word, by its definition."""
    total = size * 0xD6E8FEB86659FD93
    for i, word in enumerate(words):
        block, j = divmod(i, 16384)
        value = word * factor(j) + (word >> 32) * factor(16384 + j)
        total += value * factor((1 << 32) + block)
    return total & _MOST


def signed(value):
    value &= _MOST
    return value - (1 << 64) if value >> 63 else value


def grid(data):
    words = words_of(data)
    whole = len(data) // 8 // 1021 * 1021
    if len(data) // 8 > 8192:
        rows = [words[at : at + 1021] for at in range(0, whole, 1021)]
        sums = [signed(sum(row)) for row in rows] + [signed(sum(column)) for column in zip(*rows)]
        words = sums + words[whole:]
    return dots(words, len(data))


class Hash(unittest.TestCase):
    def test_they_are_those_of_the_traces(self):
        for tensor in (
            torch.randn(5, 3),
            torch.randn(7).to(torch.bfloat16),
            torch.arange(-3, 9),
            torch.zeros(0),
            torch.tensor(3.0),
            torch.randn(9)[1:],
            torch.randn(33).to(torch.bfloat16)[1:],
            torch.randn(4, 6).t()[1:, 2:],
            torch.randn(8192),
            torch.randn(16384),
            torch.randn(16385),
            torch.randn(70001),
        ):
            data = raw_bytes(tensor)
            self.assertEqual(dotsum64(tensor), dots(words_of(data), len(data)), tensor.shape)
            self.assertEqual(gridsum64(tensor), grid(data), tensor.shape)

    def test_other_devices_compute_many_blocks_at_once_and_alike(self):
        words = torch.randint(-(1 << 62), 1 << 62, (50000,))
        for at in (0, 1, 16383, 100000):
            some, many = (
                [(block, value & _MOST) for block, value in sums(words, at)]
                for sums in (_hashing._sums_on_cpu, _hashing._sums)
            )
            self.assertEqual(some, many)

    def test_what_parts_add_makes_the_whole_wherever_they_are_cut(self):
        whole = torch.randn(40001)
        for cut in (1, 2, 7, 32768, 40000):
            parts = dotsum64_of_part(whole[:cut], 0), dotsum64_of_part(whole[cut:], 4 * cut)
            self.assertEqual(sum(parts) & _MOST, dotsum64_of_part(whole, 0))

    def test_signs_order_and_place_of_elements_count(self):
        for rows in (8, 128):
            tensor = torch.randn(rows, 1024)
            changed = [tensor.clone() for _ in range(6)]
            changed[0][3, 1::2] *= -1  # upper halves of words
            changed[1][:, 1::2] *= -1
            changed[2] = tensor.flip(0)
            changed[3] = tensor.roll(1)
            changed[4][[5, 4]] = tensor[[4, 5]]
            changed[5][5, [3, 101]] = tensor[5, [101, 3]]
            for hashed in (dotsum64, gridsum64):
                self.assertEqual(len({hashed(each) for each in (tensor, *changed)}), 7)


if __name__ == "__main__":
    unittest.main()
