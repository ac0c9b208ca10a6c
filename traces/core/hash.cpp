// SPDX-License-Identifier: Apache-2.0
#include "traces/core/hash.h"

#include <cstring>

namespace ringscope::traces {
namespace {

std::uint64_t mixed(std::uint32_t word, std::uint64_t index) {
  std::uint64_t x = word * 0x9e3779b97f4a7c15ULL + (index + 1) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 32)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 29);
}

}  // namespace

std::uint64_t mixSum64OfPart(const void* data, std::size_t size, std::uint64_t first) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t words = size / 4;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    sum += mixed(word, first + i);
  }
  if (size % 4 != 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes + 4 * words, size % 4);
    sum += mixed(word, first + words);
  }
  return sum;
}

std::uint64_t mixSum64OfWhole(std::uint64_t sum_of_parts, std::uint64_t size) {
  return sum_of_parts + size * 0xd6e8feb86659fd93ULL;
}

std::uint64_t mixSum64(const void* data, std::size_t size) {
  return mixSum64OfWhole(mixSum64OfPart(data, size, 0), size);
}

}  // namespace ringscope::traces
