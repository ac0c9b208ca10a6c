// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/hash.h"

#include <cstring>
#include <vector>

namespace ringscope::traces {
namespace {

std::uint64_t mixed(std::uint32_t word, std::uint64_t index) {
  std::uint64_t x = word * 0x9e3779b97f4a7c15ULL + (index + 1) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 32)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 29);
}

/// Returns m(n) of dotsum64.
std::uint64_t factor(std::uint64_t n) {
  return mixed(0, n) | 1;
}

std::vector<std::uint64_t> wordsOf(const void* data, std::size_t size) {
  std::vector<std::uint64_t> words((size + 7) / 8);
  if (size > 0) std::memcpy(words.data(), data, size);
  return words;
}

constexpr std::size_t kBlock = 16384;

/// Returns m(n) for the words of one block and then for their upper halves.
const std::vector<std::uint64_t>& factors() {
  static const std::vector<std::uint64_t> kFactors = [] {
    std::vector<std::uint64_t> made(2 * kBlock);
    for (std::size_t n = 0; n < made.size(); ++n) made[n] = factor(n);
    return made;
  }();
  return kFactors;
}

/// Returns the sum that dotsum64 adds over its words.
std::uint64_t dots(const std::vector<std::uint64_t>& words) {
  const std::vector<std::uint64_t>& of = factors();
  std::uint64_t total = 0;
  for (std::size_t begin = 0; begin < words.size(); begin += kBlock) {
    std::uint64_t sum = 0;
    for (std::size_t j = 0; j < kBlock && begin + j < words.size(); ++j) {
      const std::uint64_t word = words[begin + j];
      const auto upper = static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> 32);
      sum += word * of[j] + upper * of[kBlock + j];
    }
    total += sum * factor((std::uint64_t{1} << 32) + begin / kBlock);
  }
  return total;
}

/// Returns the words that gridsum64 hashes in place of `words`, of which the first `whole` are
/// complete.
std::vector<std::uint64_t> gridOf(const std::vector<std::uint64_t>& words, std::size_t whole) {
  constexpr std::size_t kRow = 1021, kFewWords = 8192;
  if (whole <= kFewWords) return words;
  const std::size_t rows = whole / kRow;
  std::vector<std::uint64_t> grid(rows + kRow);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < kRow; ++column) {
      const std::uint64_t word = words[row * kRow + column];
      grid[row] += word;
      grid[rows + column] += word;
    }
  grid.insert(grid.end(), words.begin() + static_cast<std::ptrdiff_t>(rows * kRow), words.end());
  return grid;
}

}  // namespace

std::uint64_t mixSum64(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t words = size / 4;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    sum += mixed(word, i);
  }
  if (size % 4 != 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes + 4 * words, size % 4);
    sum += mixed(word, words);
  }
  return hashOfWhole(sum, size);
}

std::uint64_t dotSum64(const void* data, std::size_t size) {
  return hashOfWhole(dots(wordsOf(data, size)), size);
}

std::uint64_t gridSum64(const void* data, std::size_t size) {
  return hashOfWhole(dots(gridOf(wordsOf(data, size), size / 8)), size);
}

std::uint64_t hashOfWhole(std::uint64_t sum_of_parts, std::uint64_t size) {
  return sum_of_parts + size * 0xd6e8feb86659fd93ULL;
}

}  // namespace ringscope::traces
