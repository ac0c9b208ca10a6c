// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringscope::traces {

/// Returns mixsum64, the hash of recorded tensors. It is a sum, so C++, torch and CUDA compute the
/// same value in any order. The bytes, padded with zeros to a multiple of 4, are little-endian
/// words w_i, i = 0, 1, …. In arithmetic modulo 2^64:
///   Let x = w_i · 0x9e3779b97f4a7c15 + (i + 1) · 0xbf58476d1ce4e5b9.
///   Let y = (x xor (x >> 32)) · 0x94d049bb133111eb.
///   Then hash = Σ_i (y xor (y >> 29)) + size · 0xd6e8feb86659fd93.
/// The multipliers and shifts are those of SplitMix64 (Steele et al. 2014).
std::uint64_t mixSum64(const void* data, std::size_t size);

/// Return dotsum64 and gridsum64, the hashes that the recorder of PyTorch jobs computes
/// (traces/recorder/ringscope/_hashing.py). They cost a tenth of mixsum64 there. Let m(n) be the
/// term that a word of 0 at i = n adds to mixsum64, made odd. The bytes, padded with zeros to a
/// multiple of 8, are signed little-endian words w_i. With j = i mod 16384:
///   A = Σ_i m(2^32 + ⌊i / 16384⌋) · (w_i · m(j) + ⌊w_i / 2^32⌋ · m(16384 + j)),
///   and dotsum64 = A + size · 0xd6e8feb86659fd93.
/// The value of gridsum64 is the same for tensors of at most 8192 whole words. A larger tensor is
/// arranged in rows of 1021 whole words. The words of gridsum64 are then the sum of each row, the
/// sum of each column, and the words after the last complete row.
/// Both hashes cover every byte. A change that leaves every sum of a row and of a column as before
/// is not detected by gridsum64.
std::uint64_t dotSum64(const void* data, std::size_t size);
std::uint64_t gridSum64(const void* data, std::size_t size);

/// Returns the hash of a tensor of `size` bytes from the sum of what its parts add. For mixsum64
/// and dotsum64 only.
std::uint64_t hashOfWhole(std::uint64_t sum_of_parts, std::uint64_t size);

}  // namespace ringscope::traces
