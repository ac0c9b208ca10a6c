// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringscope::traces {

/// mixsum64, the hash of recorded tensors: a sum, so that C++, torch and CUDA compute it alike and
/// in any order. The bytes, filled up with zeros to a multiple of 4, are little-endian words w_i, i
/// = 0, 1, …; in arithmetic modulo 2^64
///   x = w_i · 0x9e3779b97f4a7c15 + (i + 1) · 0xbf58476d1ce4e5b9
///   x = (x xor (x >> 32)) · 0x94d049bb133111eb
///   hash = Σ_i (x xor (x >> 29)) + size · 0xd6e8feb86659fd93
/// (the multipliers and shifts of SplitMix64, Steele et al. 2014).
std::uint64_t mixSum64(const void* data, std::size_t size);

/// Two that the recorder of PyTorch jobs computes (traces/recorder/ringscope/_hashing.py), a tenth
/// as dear there. With m(n) = what a word of 0 at i = n adds above,
/// made odd, and the bytes, filled up with zeros to a multiple of 8, as signed little-endian words
/// w_i:
///   dotsum64  = Σ_i m(2^32 + ⌊i / 16384⌋) · (w_i · m(j) + ⌊w_i / 2^32⌋ · m(16384 + j))
///               + size · 0xd6e8feb86659fd93, where j = i mod 16384
///   gridsum64 = dotsum64, but of tensors of more than 8192 whole words with these in the place of
///               w: the whole words in rows of 1021, the sum of each row, the sum of each column,
///               and the words after the last whole row
/// Both cover every byte. What leaves all sums of rows and columns as they were, gridsum64 does
/// not tell.
std::uint64_t dotSum64(const void* data, std::size_t size);
std::uint64_t gridSum64(const void* data, std::size_t size);

/// The hash of a whole of `size` bytes, of what its parts add; for mixsum64 and dotsum64.
std::uint64_t hashOfWhole(std::uint64_t sum_of_parts, std::uint64_t size);

}  // namespace ringscope::traces
