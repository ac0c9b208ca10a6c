// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/huffman.h"

namespace ringscope::traces {

bool HuffmanCode::build(std::span<const std::uint8_t> lengths) {
  count_.fill(0);
  quick_.fill({});
  for (const std::uint8_t length : lengths) ++count_[length];
  count_[0] = 0;
  std::array<std::uint32_t, kMostBits + 2> next{}, place{};  // first code and place of each length
  std::int32_t left = 1;
  for (std::size_t length = 1; length <= kMostBits; ++length) {
    left = left * 2 - count_[length];
    if (left < 0) return false;
    next[length + 1] = (next[length] + count_[length]) * 2;
    place[length + 1] = place[length] + count_[length];
  }
  symbols_.assign(place[kMostBits + 1], 0);
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const std::uint8_t length = lengths[symbol];
    if (length == 0) continue;
    symbols_[place[length]++] = static_cast<std::uint16_t>(symbol);
    const std::uint32_t code = next[length]++;
    if (length > kQuickBits) continue;
    std::uint32_t reversed = 0;
    for (std::uint32_t bit = 0; bit < length; ++bit)
      reversed |= (code >> bit & 1) << (length - 1 - bit);
    for (std::size_t at = reversed; at < quick_.size(); at += std::size_t{1} << length)
      quick_[at] = {static_cast<std::uint16_t>(symbol), length};
  }
  return true;
}

HuffmanCode::Match HuffmanCode::match(std::uint32_t bits) const {
  if (const Match quick = quick_[bits % quick_.size()]; quick.length > 0) return quick;
  std::uint32_t code = 0, first = 0, place = 0;
  for (std::uint8_t length = 1; length <= kMostBits; ++length, bits >>= 1) {
    code |= bits & 1;
    const std::uint32_t count = count_[length];
    if (code - first < count) return {symbols_[place + code - first], length};
    place += count;
    first = (first + count) * 2;
    code *= 2;
  }
  return {};
}

}  // namespace ringscope::traces
